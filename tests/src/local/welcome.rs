//! What a developer reads once the gateway answers: where it is, and what to paste.

use super::{Arguments, Credentials};
use crate::keys;

/// The whole text.
pub(super) fn text(arguments: &Arguments, origin: &str, credentials: &Credentials) -> String {
    let port = arguments.port;
    let gateway = super::gateway_url(port);
    let sample = if arguments.origin.is_some() {
        "your service"
    } else {
        "a sample origin; it prints every effect below"
    };
    let token = &credentials.operator_token;
    let mut text = format!(
        "\nGateway    {gateway}  before {origin} ({sample})\n\
         Dashboard  http://localhost:{port}/_oncegate/login#token={token}\n\
         Records    {}\n",
        arguments.state.display()
    );
    text.push_str(&commands(&gateway, credentials));
    if arguments.demo {
        text.push_str(
            "\nThe traffic from here on is GENERATED: no real client or sender is behind it.\n",
        );
    }
    text.push_str("\nCtrl-C ends all of it.\n\n");
    text
}

fn commands(gateway: &str, credentials: &Credentials) -> String {
    // A fresh key with each start: the state survives, and a first request should be a first one.
    let key = keys::key("order");
    let api_key = credentials.first_api_key();
    let order = |body: &str| {
        format!(
            "curl -i {gateway}/v1/orders -H 'X-Api-Key: {api_key}' -H 'Idempotency-Key: \"{key}\"' \
             -H 'Content-Type: application/json' -d '{body}'"
        )
    };
    let first = order(r#"{"sku":"tea","quantity":1}"#);
    let reused = order(r#"{"sku":"tea","quantity":2}"#);
    let stripe = stripe(gateway, &credentials.stripe_secret);
    format!(
        "\n# 1. A first request: the origin does its work once.\n{first}\n\
         \n# 2. Its retry: paste the same line again; the stored answer comes back, the origin hears nothing.\n\
         \n# 3. The same key for another request: 422.\n{reused}\n\
         \n# 4. A signed Stripe event; paste it twice.\n{stripe}\n"
    )
}

fn stripe(gateway: &str, secret: &str) -> String {
    let id = keys::key("evt").replace('-', "_");
    format!(
        "T=$(date +%s); B='{{\"id\":\"{id}\",\"object\":\"event\",\"type\":\"invoice.paid\",\"data\":{{\"object\":{{\"id\":\"in_1\"}}}}}}'; \
         V=$(printf '%s.%s' \"$T\" \"$B\" | openssl dgst -sha256 -hmac {secret} -r | cut -d' ' -f1); \
         curl -i {gateway}/webhooks/stripe -H \"Stripe-Signature: t=$T,v1=$V\" -H 'Content-Type: application/json' -d \"$B\""
    )
}
