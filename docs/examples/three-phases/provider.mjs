// Somebody else's payment service: it charges once for each Idempotency-Key, however often it is asked, and counts
// how often that was. It keeps its charges in memory, since it is not what is killed here.

import { createServer } from "node:http";

const PORT = Number(process.env.PORT ?? 9100);
const LIMIT = 50_000; // more is declined
const charges = new Map(); // key → the charge and how often it was asked for

createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const answer = (status, value) => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  };
  if (request.method === "GET" && request.url === "/charges") return answer(200, [...charges.values()]);
  if (request.method !== "POST" || request.url !== "/charges") return answer(404, { error: "there is nothing here" });

  const key = request.headers["idempotency-key"];
  const { amount } = JSON.parse(body);
  const known = charges.get(key);
  const charge = known ?? { id: `ch_${charges.size + 1}`, key, amount, declined: amount > LIMIT, asked: 0 };
  charge.asked += 1;
  charges.set(key, charge);
  answer(charge.declined ? 402 : 201, { id: charge.id, amount: charge.amount });
}).listen(PORT, "127.0.0.1", () => console.log(`payments at http://127.0.0.1:${PORT}`));
