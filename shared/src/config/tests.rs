//! Each mistake as a row: what is changed in a good configuration, and which one line is said.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::key::{KeyRule, Presence};
use crate::policy::{Kind, Method, OnUnknown, RouteKind, TenantSource};
use crate::time::Millis;
use crate::webhook::Scheme;

const SHA256_OF_ONE: &str = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";

fn good() -> Map<String, Value> {
    let vars = json!({
        "ORIGIN_sample": "http://127.0.0.1:9000",
        "OPERATOR_HOST": "localhost:8787",
        "API_KEYS": format!("{{\"{SHA256_OF_ONE}\":\"acme\"}}"),
        "STRIPE": "whsec_x",
        "FRONT": "0123456789abcdef",
        "ROUTE_orders": {
            "kind": "api", "path": "/v1/orders", "origin": "sample", "tenant": "api-key", "on_unknown": "park",
        },
        "ROUTE_stripe": {
            "kind": "webhook", "path": "/webhooks/stripe", "origin": "sample", "scheme": "stripe",
            "secrets": ["STRIPE"],
        },
    });
    vars.as_object().unwrap().clone()
}

/// The good configuration with these fields set, or taken out by a null.
fn changed(variable: &str, fields: &Value) -> Map<String, Value> {
    let mut vars = good();
    let Some(fields) = fields.as_object() else {
        vars.insert(variable.to_owned(), fields.clone());
        return vars;
    };
    let table = vars
        .entry(variable)
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .unwrap();
    for (field, value) in fields {
        match value {
            Value::Null => table.remove(field),
            given => table.insert(field.clone(), given.clone()),
        };
    }
    vars
}

fn read(vars: &Map<String, Value>) -> Result<Config, Vec<String>> {
    Config::read(vars, Some(&[]))
        .map_err(|mistakes| mistakes.iter().map(Mistake::to_string).collect())
}

#[track_caller]
fn check(variable: &str, fields: Value, expected: &[&str]) {
    let mistakes = read(&changed(variable, &fields)).err().unwrap_or_default();
    assert_eq!(mistakes, expected);
}

#[track_caller]
fn orders(fields: Value, expected: &[&str]) {
    check("ROUTE_orders", fields, expected);
}

#[track_caller]
fn stripe(fields: Value, expected: &[&str]) {
    check("ROUTE_stripe", fields, expected);
}

#[track_caller]
fn route(variable: &str, fields: Value) -> Route {
    let config = read(&changed(variable, &fields)).unwrap();
    config
        .routes
        .named(&variable["ROUTE_".len()..])
        .unwrap()
        .clone()
}

#[test]
fn a_good_configuration_has_the_defaults_of_the_contract() {
    let config = read(&good()).unwrap();
    assert_eq!(config.route_names(), ["orders", "stripe"]);
    let orders = config.routes.named("orders").unwrap();
    assert_eq!(orders.methods(), [Method::Post]);
    assert_eq!(orders.shards(), 1);
    assert_eq!(orders.timeout(), Millis::from_secs(20));
    assert_eq!(orders.policy().lease(), Millis::from_secs(30));
    assert_eq!(orders.policy().wait(), Millis::from_secs(1));
    assert_eq!(
        orders.policy().retention().span(),
        Some(Millis::from_hours(72))
    ); // R2
    assert_eq!(orders.policy().on_unknown(), OnUnknown::Park);
    assert_eq!(
        (orders.request_body_max(), orders.outcome_body_max()),
        (1 << 20, 256 << 10)
    );
    let RouteKind::Api(api) = orders.kind() else {
        panic!("{orders:?}")
    };
    assert_eq!(
        (api.key, &api.tenant),
        (KeyRule::default(), &TenantSource::ApiKey)
    );
    let stripe = config.routes.named("stripe").unwrap();
    assert_eq!(stripe.policy().kind(), Kind::Webhook);
    assert_eq!(
        stripe.policy().retention().span(),
        Some(Millis::from_hours(45 * 24))
    ); // W5
    assert_eq!(stripe.policy().on_unknown(), OnUnknown::Rerun);
    let RouteKind::Webhook(webhook) = stripe.kind() else {
        panic!("{stripe:?}")
    };
    assert_eq!(
        (webhook.scheme, webhook.tolerance),
        (Scheme::Stripe, Millis::from_secs(300))
    );
    assert_eq!(webhook.tenant.as_str(), "default");
    assert_eq!(config.webhook_secrets(stripe).len(), 1);
    assert_eq!(config.webhook_secrets(orders).len(), 0);
    assert_eq!(config.api_keys.tenant_of(b"one").unwrap().as_str(), "acme");
    assert_eq!(config.operator_host.as_deref(), Some("localhost:8787"));
    assert_eq!(
        config.origin_of(orders).unwrap().as_str(),
        "http://127.0.0.1:9000"
    );
    assert_eq!(config.fallback_origin(), None);
    assert!(config.operator_tokens.is_empty());
    assert!(!format!("{config:?}").contains("whsec"));
}
