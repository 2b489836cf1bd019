// Signs webhook payloads with the senders' own libraries, so that no code of ours vouches for itself.
// Reads one JSON object a line from standard input: {scheme, payload, secret, timestamp, id?};
// writes one JSON object a line: the headers of that delivery.
import { createInterface } from "node:readline";
import Stripe from "stripe";
import { Webhook } from "standardwebhooks";

const stripe = new Stripe("sk_test_never_sent");

const schemes = {
  stripe: ({ payload, secret, timestamp }) => ({
    "Stripe-Signature": stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }),
  }),
  "standard-webhooks": ({ payload, secret, timestamp, id }) => ({
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": new Webhook(secret).sign(id, new Date(timestamp * 1000), payload),
  }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  process.stdout.write(JSON.stringify(schemes[job.scheme](job)) + "\n");
}
