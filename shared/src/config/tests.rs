//! Each mistake as a row: what is changed in a good configuration, and which one line is said.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::key::{KeyRule, Presence};
use crate::policy::{Kind, Method, OnUnknown, RouteKind, TenantSource, Tier};
use crate::scope::PhaseName;
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
        if value.is_null() {
            table.remove(field);
        } else {
            table.insert(field.clone(), value.clone());
        }
    }
    vars
}

fn read(vars: &Map<String, Value>) -> Result<Config, Vec<String>> {
    Config::read(vars, Some(&[]))
        .map_err(|mistakes| mistakes.iter().map(Mistake::to_string).collect())
}

#[track_caller]
fn check(variable: &str, fields: &Value, expected: &[&str]) {
    let mistakes = read(&changed(variable, fields)).err().unwrap_or_default();
    assert_eq!(mistakes, expected);
}

#[track_caller]
fn orders(fields: &Value, expected: &[&str]) {
    check("ROUTE_orders", fields, expected);
}

#[track_caller]
fn stripe(fields: &Value, expected: &[&str]) {
    check("ROUTE_stripe", fields, expected);
}

#[track_caller]
fn route(variable: &str, fields: &Value) -> Route {
    let config = read(&changed(variable, fields)).unwrap();
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
    assert_eq!(orders.policy().max_lease(), Millis::from_mins(10)); // L5
    assert_eq!(orders.policy().resolve_after(), Millis::from_mins(5)); // U5
    assert_eq!(orders.policy().resolve_tries(), 8);
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

#[test]
fn variables_are_checked() {
    check(
        "ORIGIN_sample",
        &json!("127.0.0.1:9000"),
        &[
            "ORIGIN_sample: found \"127.0.0.1:9000\": it has no \"https://\" or \"http://\"; give \"https://host\" or \"http://host:port\", without a path",
        ],
    );
    check(
        "ORIGIN_other",
        &json!(7),
        &["ORIGIN_other: found 7; give \"https://host\" or \"http://host:port\", without a path"],
    );
    check(
        "ORIGIN_Other",
        &json!("http://a"),
        &[
            "ORIGIN_Other: found origin name \"Other\" is not 1 to 48 of a-z, 0-9, \"_\" and \"-\"; rename it: ORIGIN_<name>",
        ],
    );
    check("FALLBACK_ORIGIN", &json!("sample"), &[]);
    check(
        "FALLBACK_ORIGIN",
        &json!("sampel"),
        &["FALLBACK_ORIGIN: found no ORIGIN_sampel; did you mean \"sample\"?"],
    );
    check(
        "FALLBACK_ORIGIN",
        &json!("x"),
        &["FALLBACK_ORIGIN: found no ORIGIN_x; set ORIGIN_x, or name one of: sample"],
    );
    check(
        "FALLBACK_ORIGIN",
        &json!([]),
        &["FALLBACK_ORIGIN: found []; give the <name> of an ORIGIN_<name>"],
    );
    check(
        "OPERATOR_HOST",
        &json!("https://ops"),
        &[
            "OPERATOR_HOST: found \"https://ops\"; give a host, with its port if it is not the usual one: \"ops.example.com\"",
        ],
    );
    check(
        "OPERATR_HOST",
        &json!("ops"),
        &["OPERATR_HOST: found an unknown variable; did you mean OPERATOR_HOST?"],
    );
    check(
        "Route_x",
        &json!({}),
        &["Route_x: found an unknown variable; did you mean ROUTE_<name>?"],
    );
    check("SOMEBODY_ELSES", &json!({"a": 1}), &[]);
    check(
        "SOMEBODY_ELSES",
        &json!("x".repeat(5_121)),
        &["SOMEBODY_ELSES: found 5121 bytes; the platform takes 5120 bytes in one variable"],
    );
}

#[test]
fn routes_are_tables_with_names() {
    check(
        "ROUTE_Orders",
        &json!({}),
        &[
            "ROUTE_Orders: found route name \"Orders\" is not 1 to 48 of a-z, 0-9, \"_\" and \"-\"; rename it: ROUTE_<name>",
        ],
    );
    check(
        "ROUTE_x",
        &json!("{}"),
        &["route x: kind: found \"{}\"; write it as a table [vars.ROUTE_x]"],
    );
    let none = read(json!({}).as_object().unwrap()).unwrap_err();
    assert_eq!(
        none,
        [
            "ROUTE_<name>: found no route; write one as [vars.ROUTE_<name>]; a named environment of wrangler inherits no [vars]",
        ]
    );
}

#[test]
fn credentials_are_tables_of_digests_and_are_not_repeated() {
    let remedy = "give a JSON object from the SHA-256 of each credential, in hex, to whose it is";
    check(
        "API_KEYS",
        &json!("sk_live_secret"),
        &[&format!(
            "API_KEYS: found a text that is no JSON object; {remedy}"
        )],
    );
    check(
        "API_KEYS",
        &json!(7),
        &[&format!(
            "API_KEYS: found neither a text nor a table; {remedy}"
        )],
    );
    check(
        "API_KEYS",
        &json!("{\"sk_live_secret\":\"acme\"}"),
        &[&format!(
            "API_KEYS: found a credential's entry is not the 64 hex digits of a sha-256 but 14 bytes of text; {remedy}"
        )],
    );
    check(
        "API_KEYS",
        &json!(format!("{{\"{SHA256_OF_ONE}\":\"a b\"}}")),
        &[&format!(
            "API_KEYS: found an entry whose value is not a tenant of visible ascii; {remedy}"
        )],
    );
    let twice = format!("{{\"{SHA256_OF_ONE}\":\"a\",\"{SHA256_OF_ONE}\":\"b\"}}");
    check(
        "API_KEYS",
        &json!(twice),
        &[&format!(
            "API_KEYS: found a credential that is listed twice; {remedy}"
        )],
    );
}

#[test]
fn operators_have_a_role_and_may_have_a_name() {
    let tokens = |holder: &str| {
        let table = json!({ SHA256_OF_ONE: holder });
        read(&changed("OPERATOR_TOKENS", &json!(table.to_string())))
    };
    let operator = |role, name: Option<&str>| Operator {
        role,
        name: name.map(ToOwned::to_owned),
    };
    let long = "x".repeat(64);
    for (holder, role, name) in [
        ("viewer", wire::Role::Viewer, None),
        ("operator", wire::Role::Operator, None),
        ("viewer:bob", wire::Role::Viewer, Some("bob")),
        (
            "operator:alice@example.com",
            wire::Role::Operator,
            Some("alice@example.com"),
        ),
        ("operator:a:b", wire::Role::Operator, Some("a:b")),
        (
            &format!("operator:{long}"),
            wire::Role::Operator,
            Some(long.as_str()),
        ),
    ] {
        let config = tokens(holder).unwrap();
        let known = config.operator_tokens.holder_of(b"one");
        assert_eq!(known, Some(&operator(role, name)), "{holder}"); // X3
        assert_eq!(config.operator_tokens.holder_of(b"two"), None);
    }
    let refused = "OPERATOR_TOKENS: found an entry whose value is not \"operator\" or \"viewer\", nor one of them with a name of 1 to 64 visible ascii characters behind \":\"; give a JSON object from the SHA-256 of each credential, in hex, to whose it is";
    for holder in [
        "admin",
        "Operator",
        "",
        "operator:",
        "operator:a b",
        "operator:é",
        "admin:alice",
        " operator",
        &format!("operator:{long}x"),
    ] {
        assert_eq!(tokens(holder).unwrap_err(), [refused], "{holder}");
    }
    let number = json!({ SHA256_OF_ONE: 1 });
    check("OPERATOR_TOKENS", &json!(number.to_string()), &[refused]);
}

#[test]
fn unknown_fields_name_the_nearest_known_one() {
    orders(
        &json!({ "leese": "30s" }),
        &["route orders: leese: found an unknown field; did you mean \"lease\"?"],
    );
    orders(
        &json!({ "on-unknown": "park" }),
        &["route orders: on-unknown: found an unknown field; did you mean \"on_unknown\"?"],
    );
    orders(
        &json!({ "scheme": "stripe" }),
        &[
            "route orders: scheme: found an unknown field; leave it out: only webhook routes have it",
        ],
    );
    stripe(
        &json!({ "strict": true }),
        &["route stripe: strict: found an unknown field; leave it out: only api routes have it"],
    );
    stripe(
        &json!({ "colour": 1 }),
        &[
            "route stripe: colour: found an unknown field; the fields here are: kind, methods, path, origin, shards, timeout, \
         lease, max_lease, wait, retention, retention_reason, request_body_max, outcome_body_max, statuses, phases, \
         reference, on_unknown, origin_dedupes, probe, resolve_after, resolve_tries, resolver_credential, scheme, secrets, tolerance, tenant_name",
        ],
    );
    orders(
        &json!({ "exclude": [{ "pointer": "/a", "until": "2099-01-01", "reason": "x", "reson": "y" }] }),
        &["route orders: exclude[0].reson: found an unknown field; did you mean \"reason\"?"],
    );
    orders(
        &json!({ "tenant": { "from": "api-key", "heder": "x" } }),
        &["route orders: tenant.heder: found an unknown field; did you mean \"header\"?"],
    );
}

#[test]
fn what_every_route_needs_is_asked_for() {
    orders(
        &json!({ "kind": null }),
        &["route orders: kind: found nothing; give \"api\" or \"webhook\""],
    );
    orders(
        &json!({ "kind": "rest" }),
        &["route orders: kind: found \"rest\"; give \"api\" or \"webhook\""],
    );
    let path = "give a path such as \"/v1/orders/{id}\", where {id} takes one segment";
    orders(
        &json!({ "path": null }),
        &[&format!("route orders: path: found nothing; {path}")],
    );
    orders(
        &json!({ "path": "v1" }),
        &[&format!(
            "route orders: path: found \"v1\" is not a path: it does not start with \"/\"; {path}"
        )],
    );
    orders(
        &json!({ "origin": null }),
        &["route orders: origin: found nothing; give the <name> of an ORIGIN_<name>"],
    );
    orders(
        &json!({ "origin": "sampl" }),
        &["route orders: origin: found no ORIGIN_sampl; did you mean \"sample\"?"],
    );
    orders(
        &json!({ "methods": [] }),
        &[
            "route orders: methods: found it protects no method; give a list of \"POST\", \"PUT\", \"PATCH\" and \"DELETE\"",
        ],
    );
    orders(
        &json!({ "methods": ["GET"] }),
        &[
            "route orders: methods: found \"GET\"; give a list of \"POST\", \"PUT\", \"PATCH\" and \"DELETE\"",
        ],
    );
    orders(
        &json!({ "methods": "POST" }),
        &[
            "route orders: methods: found no list; give a list of \"POST\", \"PUT\", \"PATCH\" and \"DELETE\"",
        ],
    );
    orders(
        &json!({ "tenant": null }),
        &["route orders: tenant: found nothing; give \"api-key\", or a table { from = … }"],
    );
    let scheme = "give \"stripe\" or \"standard-webhooks\"";
    stripe(
        &json!({ "scheme": null }),
        &[&format!("route stripe: scheme: found nothing; {scheme}")],
    );
    stripe(
        &json!({ "scheme": "github" }),
        &[&format!("route stripe: scheme: found \"github\"; {scheme}")],
    );
}

#[test]
fn numbers_spans_and_sizes_have_bounds_and_units() {
    orders(
        &json!({ "shards": 0 }),
        &["route orders: shards: found 0 shards are not 1 to 64; give a whole number, 1 to 64"],
    );
    orders(
        &json!({ "shards": 70_000 }),
        &["route orders: shards: found 65535 shards are not 1 to 64; give a whole number, 1 to 64"],
    );
    orders(
        &json!({ "shards": "1" }),
        &["route orders: shards: found \"1\"; give a whole number, 1 to 64"],
    );
    let timeout = "give a span such as \"20s\", at most \"25s\"";
    orders(
        &json!({ "timeout": 20 }),
        &[&format!("route orders: timeout: found 20; {timeout}")],
    );
    orders(
        &json!({ "timeout": "20" }),
        &[&format!("route orders: timeout: found \"20\"; {timeout}")],
    );
    orders(
        &json!({ "timeout": "26s" }),
        &[&format!(
            "route orders: timeout: found a timeout of 26000 ms is not within 1 and 25000 ms; {timeout}"
        )],
    );
    let lease = "give a span such as \"30s\", at least the timeout and 2s, at most \"1h\"";
    orders(
        &json!({ "lease": "21s" }),
        &[&format!(
            "route orders: lease: found a lease of 21000 ms ends before the timeout of 20000 ms and the margin of 2000 ms; {lease}"
        )],
    ); // L2
    orders(
        &json!({ "lease": "2h" }),
        &[&format!(
            "route orders: lease: found lease of 7200000 ms is not within 1 and 3600000 ms; {lease}"
        )],
    );
    orders(
        &json!({ "wait": "3s" }),
        &[
            "route orders: wait: found wait of 3000 ms is longer than 2000 ms; give a span such as \"1s\", at most \"2s\"",
        ],
    );
    let retention = "give a span such as \"72h\", at most \"3660d\", or \"forever\"";
    orders(
        &json!({ "retention": "0s" }),
        &[&format!(
            "route orders: retention: found retention of 0 ms is not within 1 ms and 316224000000 ms; without an end it is forever; {retention}"
        )],
    ); // P6
    orders(
        &json!({ "retention": "3d12h" }),
        &[&format!(
            "route orders: retention: found \"3d12h\"; {retention}"
        )],
    );
    let size = "give a size such as \"1MiB\", at most \"16MiB\"";
    orders(
        &json!({ "request_body_max": "1MB" }),
        &[&format!(
            "route orders: request_body_max: found \"1MB\"; {size}"
        )],
    );
    orders(
        &json!({ "request_body_max": "17MiB" }),
        &[&format!(
            "route orders: request_body_max: found 17825792 bytes of request body are not 1 to 16777216; {size}"
        )],
    );
    orders(
        &json!({ "outcome_body_max": "2MiB" }),
        &[
            "route orders: outcome_body_max: found 2097152 bytes of outcome body are more than 1048576; give a size such as \"256KiB\", at most \"1MiB\"",
        ],
    );
    orders(
        &json!({ "key_length_min": 0 }),
        &[
            "route orders: key_length_min: found keys of 0 to 255 characters are not within 1 and 512; give a whole number, 1 to 512",
        ],
    );
    orders(
        &json!({ "strict": "yes" }),
        &["route orders: strict: found \"yes\"; give true or false"],
    );
    stripe(
        &json!({ "tolerance": "2h" }),
        &[
            "route stripe: tolerance: found a tolerance of 7200000 ms is not within 1 and 3600000 ms; give a span such as \"300s\", at most \"1h\"",
        ],
    );
    stripe(
        &json!({ "tenant_name": "a b" }),
        &[
            "route stripe: tenant_name: found tenant \"a b\" is not 1 to 128 visible ascii characters; give 1 to 128 visible ASCII characters",
        ],
    );
}

#[test]
fn an_attempt_may_be_extended_and_the_resolver_has_a_pace() {
    let max_lease = "give a span such as \"10m\", at least the lease, at most \"24h\"";
    orders(
        &json!({ "max_lease": "29s" }),
        &[&format!(
            "route orders: max_lease: found max_lease of 29000 ms is not within the lease of 30000 ms and 86400000 ms; {max_lease}"
        )],
    ); // L5
    orders(
        &json!({ "max_lease": "25h" }),
        &[&format!(
            "route orders: max_lease: found max_lease of 90000000 ms is not within the lease of 30000 ms and 86400000 ms; {max_lease}"
        )],
    );
    let resolve_after = "give a span such as \"5m\", at most \"6h\"";
    stripe(
        &json!({ "resolve_after": "0s" }),
        &[&format!(
            "route stripe: resolve_after: found resolve_after of 0 ms is not within 1 and 21600000 ms; {resolve_after}"
        )],
    ); // U5
    let resolve_tries = "give a whole number, 0 to 32";
    orders(
        &json!({ "resolve_tries": 33 }),
        &[&format!(
            "route orders: resolve_tries: found 33 resolve_tries are more than 32; {resolve_tries}"
        )],
    );
    orders(
        &json!({ "resolve_tries": 1_000_000 }),
        &[&format!(
            "route orders: resolve_tries: found 65535 resolve_tries are more than 32; {resolve_tries}"
        )],
    );
    let policy = |fields: Value| route("ROUTE_orders", &fields).policy();
    let paced = policy(json!({ "max_lease": "1h", "resolve_after": "6h", "resolve_tries": 0 }));
    assert_eq!(
        (
            paced.max_lease(),
            paced.resolve_after(),
            paced.resolve_tries()
        ),
        (Millis::from_hours(1), Millis::from_hours(6), 0)
    );
    let long = policy(json!({ "lease": "20m" }));
    assert_eq!(long.max_lease(), Millis::from_mins(20)); // never less than the lease
}

#[test]
fn an_api_route_chooses_what_happens_after_an_unknown_outcome() {
    let resume = "\"resume\": the next retry runs again, which is right only if the origin does the work of one operation id once, and origin_dedupes = true says so";
    let probe = "\"probe\": the origin is asked by operation id, at the path of a table probe, and only its explicit word settles it, so that word has to be built there, and what it leaves open stays unknown until a person looks";
    let park = "\"park\": nothing runs again before an operator has settled it, so nothing happens twice, but somebody has to look";
    let rerun = "\"rerun\": the next delivery runs again, so the work may happen twice";
    let api = |found: &str| {
        format!("route orders: on_unknown: found {found}; choose {resume}; or {probe}; or {park}")
    };
    let webhook = |found: &str| {
        format!(
            "route stripe: on_unknown: found {found}; choose {rerun}; or {resume}; or {probe}; or {park}"
        )
    };
    orders(&json!({ "on_unknown": null }), &[&api("nothing")]); // U3
    orders(
        &json!({ "on_unknown": "probe" }),
        &[&api("\"probe\" without a table probe")],
    );
    stripe(
        &json!({ "on_unknown": "probe" }),
        &[&webhook("\"probe\" without a table probe")],
    );
    orders(
        &json!({ "on_unknown": "rerun" }),
        &[&api("\"rerun\", which only webhook routes have")],
    );
    orders(
        &json!({ "on_unknown": "resume" }),
        &[&api("\"resume\" without origin_dedupes = true")],
    );
    orders(
        &json!({ "on_unknown": "resume", "origin_dedupes": true }),
        &[],
    );
    orders(
        &json!({ "origin_dedupes": "yes" }),
        &["route orders: origin_dedupes: found \"yes\"; give true or false"],
    );
    stripe(
        &json!({ "on_unknown": "ignore" }),
        &[&webhook("\"ignore\"")],
    );
    stripe(
        &json!({ "on_unknown": "resume" }),
        &[&webhook("\"resume\" without origin_dedupes = true")],
    );
    stripe(&json!({ "on_unknown": "park" }), &[]);
}

/// The probe of a route that asks, with one field set.
fn asking(field: &str, value: Value) -> Value {
    let mut probe = json!({
        "path": "/v1/orders/by-operation/{operation}",
        "found": { "status": 200, "pointer": "/order/state", "equals": "made" },
        "absent": { "status": 404, "pointer": "/error", "equals": 17 },
    });
    probe[field] = value;
    json!({ "on_unknown": "probe", "probe": probe })
}

#[test]
fn a_probe_asks_for_an_operation_and_says_what_answers_prove() {
    for variable in ["ROUTE_orders", "ROUTE_stripe"] {
        let parsed = route(variable, &asking("status", json!(201)));
        assert_eq!(parsed.policy().on_unknown(), OnUnknown::Probe);
        let probe = parsed.probe().unwrap();
        assert_eq!(probe.status(), Some(201));
        assert_eq!(probe.quiet(), Some(Millis::from_mins(5))); // U3
        assert_eq!(
            probe.expand("op", None, None).as_deref(),
            Ok("/v1/orders/by-operation/op")
        );
    }
    assert_eq!(route("ROUTE_orders", &json!({})).probe(), None);
    orders(
        &json!({ "on_unknown": "probe", "probe": { "path": "/{operation}" } }),
        &[],
    );
    let unsent =
        "found a probe that would never be sent; leave it out, or set on_unknown = \"probe\"";
    let table = json!({ "probe": { "path": "/{operation}" } });
    orders(&table, &[&format!("route orders: probe: {unsent}")]);
    stripe(&table, &[&format!("route stripe: probe: {unsent}")]);
    orders(
        &json!({ "on_unknown": "probe", "probe": "/{operation}" }),
        &[
            "route orders: probe: found \"/{operation}\"; give a table { path, found, absent, quiet, status }",
        ],
    );
}

#[test]
fn a_probe_says_what_is_wrong_with_it() {
    let path = "give a path at the origin that names the operation, such as \"/v1/orders/by-operation/{operation}\"";
    for (text, problem) in [
        (
            "/v1/orders",
            "it has no placeholder, so it asks about no operation",
        ),
        (
            "/v1/{order}",
            "\"{order}\" is no placeholder; there are {operation}, {reference} and {point:/json/pointer}",
        ),
        ("/v1/{operation", "a \"{\" is not closed"),
    ] {
        orders(
            &asking("path", json!(text)),
            &[&format!(
                "route orders: probe.path: found \"{text}\": {problem}; {path}"
            )],
        );
    }
    orders(
        &json!({ "on_unknown": "probe", "probe": {} }),
        &[&format!("route orders: probe.path: found nothing; {path}")],
    );
    let status = "give a status, 200 to 599";
    orders(
        &asking("found", json!({ "status": 200 })),
        &[
            "route orders: probe.found.pointer: found nothing; give a JSON Pointer such as \"/order/state\"",
            "route orders: probe.found.equals: found nothing; give a text, a number, or true or false",
        ],
    ); // a status alone proves nothing
    orders(
        &asking(
            "absent",
            json!({ "status": 99, "pointer": "/a", "equals": 1 }),
        ),
        &[&format!(
            "route orders: probe.absent.status: found status 99 is not within 200 and 599; {status}"
        )],
    );
    orders(
        &asking(
            "absent",
            json!({ "status": 404, "pointer": "/a", "equals": [1] }),
        ),
        &[
            "route orders: probe.absent.equals: found [1] is no text, truth value or null, nor a number that a double holds; give a text, a number, or true or false",
        ],
    );
    orders(
        &asking(
            "found",
            json!({ "status": 404, "pointer": "/error", "equals": 17.0 }),
        ),
        &[
            "route orders: probe.absent: found the same answer would be both found and absent; give a table { status, pointer, equals }",
        ],
    );
    orders(
        &asking(
            "found",
            json!({ "status": 200, "pointr": "/a", "pointer": "/a", "equals": 1 }),
        ),
        &["route orders: probe.found.pointr: found an unknown field; did you mean \"pointer\"?"],
    );
    orders(
        &asking("found", json!(200)),
        &["route orders: probe.found: found 200; give a table { status, pointer, equals }"],
    );
    orders(
        &asking("status", json!(600)),
        &[&format!(
            "route orders: probe.status: found status 600 is not within 200 and 599; {status}"
        )],
    );
    let quiet = "give a span such as \"5m\", at least the timeout, at most \"24h\"";
    orders(
        &asking("quiet", json!("25h")),
        &[&format!(
            "route orders: probe.quiet: found quiet of 90000000 ms is not within 1 and 86400000 ms; {quiet}"
        )],
    );
    orders(
        &asking("quiet", json!("19s")),
        &[&format!(
            "route orders: probe.quiet: found a quiet of 19000 ms ends before the timeout of 20000 ms; {quiet}"
        )],
    );
    orders(
        &json!({ "on_unknown": "probe", "probe": { "path": "/{operation}", "quiet": "5m" } }),
        &[
            "route orders: probe.quiet: found a quiet time without absent; leave it out: it is how long an absent proves nothing",
        ],
    );
}

#[test]
fn a_tenant_has_one_source_with_all_its_parts() {
    orders(
        &json!({ "tenant": "jwt" }),
        &["route orders: tenant: found \"jwt\"; give \"api-key\", or a table { from = … }"],
    );
    orders(
        &json!({ "tenant": {} }),
        &[
            "route orders: tenant.from: found nothing; give \"api-key\", \"header\" or \"credential-digest\"",
        ],
    );
    orders(
        &json!({ "tenant": { "from": "header" } }),
        &[
            "route orders: tenant.header: found nothing; give the name of a header",
            "route orders: tenant.secret_header: found nothing; give the name of a header",
            "route orders: tenant.secret: found nothing; give the name of a secret, of A-Z, 0-9 and \"_\"",
        ],
    );
    let front = |secret: &str| json!({ "tenant": { "from": "header", "header": "X-Tenant", "secret_header": "X-Front", "secret": secret } });
    orders(&front("FRONT"), &[]);
    orders(
        &front("my-secret"),
        &[
            "route orders: tenant.secret: found a text of 9 bytes is not 1 to 64 of A-Z, 0-9 and \"_\", with a letter first; give the name of a secret, of A-Z, 0-9 and \"_\"",
        ],
    );
    orders(
        &front("NONE"),
        &[
            "route orders: tenant.secret: found no secret NONE; set it: wrangler secret put NONE; for local runs a line NONE=… in .dev.vars",
        ],
    );
    let digest = |fields: Value| {
        let mut tenant =
            json!({ "from": "credential-digest", "header": "Authorization", "static": true });
        tenant
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({ "tenant": tenant })
    };
    orders(&digest(json!({})), &[]);
    orders(
        &digest(json!({ "static": false })),
        &[
            "route orders: tenant.static: found no static = true; say static = true if the credential never changes; one that changes would make each retry a new operation, so then use \"api-key\" or \"header\"",
        ],
    );
    orders(
        &digest(json!({ "secret": "FRONT" })),
        &[
            "route orders: tenant.secret: found a field of another way; leave it out, or set from = \"header\"",
        ],
    );
    orders(
        &digest(json!({ "header": "a b" })),
        &[
            "route orders: tenant.header: found header name \"a b\" is not 1 to 64 of the characters of RFC 9110; give the name of a header",
        ],
    );
    let parsed = route("ROUTE_orders", &digest(json!({})));
    let RouteKind::Api(api) = parsed.kind() else {
        panic!("{parsed:?}")
    };
    assert!(
        matches!(&api.tenant, TenantSource::CredentialDigest { header } if header.as_str() == "authorization")
    );
}

#[test]
fn a_front_shows_its_secret() {
    let fields = json!({ "tenant": { "from": "header", "header": "X-Tenant", "secret_header": "X-Front", "secret": "FRONT" } });
    let config = read(&changed("ROUTE_orders", &fields)).unwrap();
    let name = SecretName::parse("FRONT").unwrap();
    assert!(config.front_secret_holds(&name, b"0123456789abcdef"));
    assert!(!config.front_secret_holds(&name, b"0123456789abcdeg"));
    assert!(!config.front_secret_holds(&name, b""));
    assert!(!config.front_secret_holds(&SecretName::parse("OTHER").unwrap(), b"0123456789abcdef"));
    let mut short = changed("ROUTE_orders", &fields);
    short.insert("FRONT".to_owned(), json!("short"));
    assert_eq!(
        read(&short).unwrap_err(),
        [
            "route orders: tenant.secret: found FRONT of 5 bytes; set it to 16 random bytes or more, in hex or base64",
        ]
    );
}

#[test]
fn the_gateways_own_sends_have_a_credential() {
    let fields = json!({ "resolver_credential": "RESOLVER" });
    let missing = "route orders: resolver_credential: found no secret RESOLVER; set it: wrangler secret put RESOLVER; for local runs a line RESOLVER=… in .dev.vars";
    orders(&fields, &[missing]);
    orders(
        &json!({ "resolver_credential": "Bearer x" }),
        &[
            "route orders: resolver_credential: found a text of 8 bytes is not 1 to 64 of A-Z, 0-9 and \"_\", with a letter first; give the name of a secret, of A-Z, 0-9 and \"_\"",
        ],
    );
    let with = |secret: &str| {
        let mut vars = changed("ROUTE_orders", &fields);
        vars.insert("RESOLVER".to_owned(), json!(secret));
        read(&vars)
    };
    let config = with("Bearer s3cret").unwrap();
    let [orders, stripe] = ["orders", "stripe"].map(|name| config.routes.named(name).unwrap());
    assert_eq!(config.resolver_credential(orders), Some("Bearer s3cret")); // U5
    assert_eq!(config.resolver_credential(stripe), None);
    assert!(!format!("{config:?}").contains("s3cret")); // X4
    for text in ["", " ", "Bearer x\n", " x", "a\r\nHost: b", "Bearer é"] {
        assert_eq!(
            with(text).unwrap_err(),
            [
                "route orders: resolver_credential: found RESOLVER that is no header's value; set RESOLVER to the whole value of Authorization, such as \"Bearer …\", in visible ASCII"
            ]
        );
    }
}

#[test]
fn phases_and_the_reference_have_names() {
    let phases =
        "give a list of 1 to 16 names, each 1 to 64 of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"";
    orders(
        &json!({ "phases": [] }),
        &[&format!(
            "route orders: phases: found an empty list; {phases}"
        )],
    );
    orders(
        &json!({ "phases": ["charge", "a b"] }),
        &[&format!(
            "route orders: phases: found phase \"a b\" is not 1 to 64 of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"; {phases}"
        )],
    );
    stripe(
        &json!({ "phases": ["charge", "charge"] }),
        &[&format!(
            "route stripe: phases: found 2 phases are more than 16, or one of them is named twice; {phases}"
        )],
    );
    orders(
        &json!({ "reference": "a b" }),
        &[
            "route orders: reference: found header name \"a b\" is not 1 to 64 of the characters of RFC 9110; give the name of a header, but no cookie's",
        ],
    );
    orders(
        &json!({ "reference": "Set-Cookie" }),
        &[
            "route orders: reference: found \"set-cookie\" is never kept; give the name of a header, but no cookie's",
        ],
    ); // A1, X4
    let fields = json!({ "phases": ["charge", "mail"], "reference": "X-Charge-Id" });
    let parsed = route("ROUTE_stripe", &fields);
    let names: Vec<&str> = parsed.phases().iter().map(PhaseName::as_str).collect();
    assert_eq!(names, ["charge", "mail"]); // L5
    assert_eq!(parsed.reference_header().as_str(), "x-charge-id");
    let plain = route("ROUTE_orders", &json!({}));
    assert_eq!(plain.phases(), []);
    assert_eq!(plain.reference_header().as_str(), "location");
}

#[test]
fn secrets_exist_and_are_what_the_sender_shows() {
    let names = "give a list of 1 to 8 names of secrets, of A-Z, 0-9 and \"_\"";
    stripe(
        &json!({ "secrets": null }),
        &[&format!("route stripe: secrets: found nothing; {names}")],
    );
    stripe(
        &json!({ "secrets": [] }),
        &[&format!(
            "route stripe: secrets: found 0 secrets are not 1 to 8; {names}"
        )],
    );
    stripe(
        &json!({ "secrets": ["whsec_abc"] }),
        &[&format!(
            "route stripe: secrets: found a text of 9 bytes is not 1 to 64 of A-Z, 0-9 and \"_\", with a letter first; {names}"
        )],
    );
    stripe(
        &json!({ "secrets": "whsec_abc" }),
        &[&format!("route stripe: secrets: found no list; {names}")],
    );
    stripe(
        &json!({ "secrets": [1] }),
        &[&format!(
            "route stripe: secrets: found an item that is no text; {names}"
        )],
    );
    stripe(
        &json!({ "secrets": ["STRIPE", "NONE"] }),
        &[
            "route stripe: secrets: found no secret NONE; set it: wrangler secret put NONE; for local runs a line NONE=… in .dev.vars",
        ],
    );
    check(
        "STRIPE",
        &json!("whsec_x\n"),
        &[
            "route stripe: secrets: found STRIPE: the secret has space in or around it; set STRIPE to the endpoint's secret as the sender shows it",
        ],
    );
    let mut vars = good();
    vars.insert("STRIPE".to_owned(), json!({}));
    assert_eq!(
        read(&vars).unwrap_err(),
        ["route stripe: secrets: found STRIPE that is no text; set it as a secret"]
    );
    vars.remove("API_KEYS");
    vars.remove("STRIPE");
    let missing =
        |names: Option<&[String]>| Config::read(&vars, names).err().unwrap_or_default().len();
    assert_eq!(missing(Some(&[])), 2);
    assert_eq!(missing(Some(&["STRIPE".to_owned()])), 1);
    assert_eq!(
        missing(Some(&["STRIPE".to_owned(), "API_KEYS".to_owned()])),
        0
    );
    assert_eq!(missing(None), 0);
}

#[test]
fn a_retention_outlives_the_senders_resends_or_says_why_not() {
    let short = "route stripe: retention: found 720 h, and resends for 720 h; give more, or a retention_reason: Stripe resends for 3 days by itself, for 15 from its dashboard and for 30 by its CLI: https://docs.stripe.com/webhooks#retries";
    stripe(&json!({ "retention": "30d" }), &[short]); // W5
    stripe(&json!({ "retention": "721h" }), &[]);
    stripe(&json!({ "retention": "forever" }), &[]);
    stripe(
        &json!({ "retention": "72h", "retention_reason": "test events only" }),
        &[],
    );
    stripe(
        &json!({ "retention": "72h", "retention_reason": " " }),
        &["route stripe: retention_reason: found an empty text; give the reason, as a text"],
    );
    orders(&json!({ "retention": "1h" }), &[]);
}

#[test]
fn exceptions_have_an_end_and_a_reason() {
    orders(
        &json!({ "exclude": [{ "pointer": "" }] }),
        &[
            "route orders: exclude[0].pointer: found pointer \"\" names the whole document; give a JSON Pointer such as \"/sent_at\"",
            "route orders: exclude[0].until: found nothing; give a date such as \"2027-06-30\"",
            "route orders: exclude[0].reason: found nothing; give the reason, as a text",
        ],
    );
    orders(
        &json!({ "exclude": "/a" }),
        &["route orders: exclude: found \"/a\"; give a list of { pointer, until, reason }"],
    );
    orders(
        &json!({ "exclude": ["/a"] }),
        &["route orders: exclude: found [\"/a\"]; give a list of { pointer, until, reason }"],
    );
    let status = |status: u32, moved: &str| json!({ "statuses": [{ "status": status, "as": moved, "until": "2099-01-01", "reason": "x" }] });
    orders(&status(503, "not-run"), &[]);
    orders(
        &status(503, "done"),
        &[
            "route orders: statuses[0].as: found \"done\"; give \"final\", \"not-run\" or \"unknown\"",
        ],
    );
    orders(
        &status(700, "final"),
        &[
            "route orders: statuses: found status 700 is not within 200 and 599, or is moved twice; give a list of { status, as, until, reason }",
        ],
    );
    orders(
        &status(200, "not-run"),
        &[
            "route orders: statuses: found status 200 says that the work was done, so it cannot be moved to \"not-run\"; give a list of { status, as, until, reason }",
        ],
    );
    orders(
        &json!({ "key": "sometimes" }),
        &["route orders: key: found \"sometimes\"; give \"required\", \"report\" or \"optional\""],
    );
    orders(
        &json!({ "key": "report" }),
        &[
            "route orders: key_until: found nothing; key = \"report\" is an exception: give a date such as \"2027-06-30\"",
            "route orders: key_reason: found nothing; key = \"report\" is an exception: give the reason, as a text",
        ],
    );
    orders(
        &json!({ "key": "optional", "key_until": "30.6.2027", "key_reason": "x".repeat(501) }),
        &[
            "route orders: key_until: found \"30.6.2027\"; give a date such as \"2027-06-30\"",
            "route orders: key_reason: found 501 bytes; give the reason, as a text",
        ],
    );
    orders(
        &json!({ "tier": "none" }),
        &["route orders: tier: found \"none\"; give \"full\" or \"best-effort\""],
    );
    orders(
        &json!({ "tier": "best-effort" }),
        &[
            "route orders: tier_until: found nothing; tier = \"best-effort\" is an exception: give a date such as \"2027-06-30\"",
            "route orders: tier_reason: found nothing; tier = \"best-effort\" is an exception: give the reason, as a text",
        ],
    );
    orders(
        &json!({ "tier": "full", "tier_reason": "x" }),
        &[
            "route orders: tier_reason: found an exception without one; leave it out: the tier is \"full\"",
        ],
    );
    stripe(
        &json!({ "tier": "best-effort" }),
        &["route stripe: tier: found an unknown field; leave it out: only api routes have it"],
    );
    let fields = json!({ "tier": "best-effort", "tier_until": "2027-06-30", "tier_reason": "x" });
    assert_eq!(route("ROUTE_orders", &fields).tier(), Tier::BestEffort);
    assert_eq!(route("ROUTE_orders", &json!({})).tier(), Tier::Full);
    assert_eq!(route("ROUTE_stripe", &json!({})).tier(), Tier::Full);
    orders(
        &json!({ "key_until": "2027-06-30" }),
        &[
            "route orders: key_until: found an exception without one; leave it out: keys are required",
        ],
    );
}

#[test]
fn exceptions_are_listed_and_flagged_once_past() {
    let fields = json!({
        "key": "report", "key_until": "1970-01-01", "key_reason": "clients are on their way",
        "exclude": [{ "pointer": "/sent_at", "until": "1970-01-02", "reason": "stamped" }],
    });
    let config = read(&changed("ROUTE_orders", &fields)).unwrap();
    let overdue = |now: i64| {
        let exceptions = config.exceptions(Timestamp::from_millis(now));
        exceptions
            .iter()
            .map(|exception| exception.overdue)
            .collect::<Vec<_>>()
    };
    assert_eq!(overdue(86_399_999), [false, false]);
    assert_eq!(overdue(86_400_000), [true, false]);
    assert_eq!(overdue(172_800_000), [true, true]);
    let first = &config.exceptions(Timestamp::from_millis(0))[0];
    assert_eq!(
        (first.route.as_str(), first.reason.as_str()),
        ("orders", "clients are on their way")
    );
    let RouteKind::Api(api) = config.routes.named("orders").unwrap().kind() else {
        panic!()
    };
    assert_eq!(api.key.presence, Presence::Report);
}

#[test]
fn no_request_is_for_two_routes() {
    let other = |methods: &[&str], path: &str| {
        json!({
            "kind": "api", "methods": methods, "path": path, "origin": "sample", "tenant": "api-key", "on_unknown": "park",
        })
    };
    let twice = "let each method and path belong to one route";
    check(
        "ROUTE_x",
        &other(&["POST"], "/v1/orders"),
        &[&format!(
            "route x: path: found POST /v1/orders, as route orders has /v1/orders; {twice}"
        )],
    );
    check(
        "ROUTE_x",
        &other(&["PUT", "POST"], "/v1/{any}"),
        &[&format!(
            "route x: path: found POST /v1/{{any}}, as route orders has /v1/orders; {twice}"
        )],
    );
    check("ROUTE_x", &other(&["PUT"], "/v1/orders"), &[]);
    check("ROUTE_x", &other(&["POST"], "/v1/orders/{id}"), &[]);
}

#[test]
fn all_mistakes_are_said_at_once() {
    let mut vars = changed(
        "ROUTE_orders",
        &json!({ "lease": 1, "path": "x", "shards": 0, "tenant": null, "colour": 1, "on_unknown": null }),
    );
    vars.insert("ORIGIN_sample".to_owned(), json!("nowhere"));
    vars["ROUTE_stripe"]["secrets"] = json!(["NONE"]);
    vars["ROUTE_stripe"]["wait"] = json!("1h");
    let mistakes = Config::read(&vars, Some(&[])).unwrap_err();
    let fields: Vec<String> = mistakes.into_iter().map(|mistake| mistake.field).collect();
    assert_eq!(
        fields,
        [
            "ORIGIN_sample",
            "colour",
            "path",
            "tenant",
            "lease",
            "on_unknown",
            "secrets",
            "wait"
        ]
    );
}

#[test]
fn requests_find_their_route() {
    let mut vars = good();
    let capture = json!({
        "kind": "api", "methods": ["POST", "PUT"], "path": "/v1/orders/{id}/capture", "origin": "sample", "tenant": "api-key",
        "on_unknown": "park",
    });
    vars.insert("ROUTE_capture".to_owned(), capture);
    let config = read(&vars).unwrap();
    let find = |method: &str, path: &str| match config.routes.find(method, path) {
        Found::Route(route) => route.name().to_string(),
        Found::WrongMethod(allowed) => {
            let allowed: Vec<&str> = allowed.iter().map(|method| method.as_str()).collect();
            format!("only {}", allowed.join(", "))
        }
        Found::NotCanonical(route) => format!("not {}", route.name()),
        Found::None => String::from("none"),
    };
    assert_eq!(find("POST", "/v1/orders"), "orders");
    assert_eq!(find("GET", "/v1/orders"), "only POST");
    assert_eq!(find("get", "/v1/orders"), "only POST");
    assert_eq!(find("PUT", "/v1/orders/7/capture"), "capture");
    assert_eq!(find("DELETE", "/v1/orders/7/capture"), "only POST, PUT");
    assert_eq!(find("POST", "/v1/orders/7"), "none");
    assert_eq!(find("POST", "/"), "none");
    assert_eq!(find("POST", "/v1/orders/a%2Fb/capture"), "capture");
    // A5
    for path in [
        "//v1/orders",
        "/v1/orders/",
        "/v1//orders",
        "/v1/./orders",
        "/v1/x/../orders",
        "/v1/%6Frders",
        "/v1%2Forders",
        "/v1%2forders",
        "/v1\\orders",
    ] {
        assert_eq!(find("POST", path), "not orders", "{path}");
    }
    assert_eq!(find("POST", "/v1/orders/%37/capture"), "not capture");
    assert_eq!(find("POST", "/v1/orders/a%2fb/capture"), "not capture");
    assert_eq!(find("post", "/v1/orders"), "not orders");
    assert_eq!(find("GET", "//v1/orders"), "none");
}

#[test]
fn a5_another_routes_path_under_another_method_hides_no_protected_one() {
    let mut vars = good();
    for (name, method, path) in [
        ("put", "PUT", "/v1/{x}"),
        ("post", "POST", "/v1/orders/{id}"),
    ] {
        let fields = json!({
            "kind": "api", "methods": [method], "path": path, "origin": "sample", "tenant": "api-key",
            "on_unknown": "park",
        });
        vars.insert(format!("ROUTE_{name}"), fields);
    }
    let config = read(&vars).unwrap();
    let found = config.routes.find("POST", "/v1/orders%2F7");
    assert!(
        matches!(found, Found::NotCanonical(route) if route.name().as_str() == "post"),
        "{found:?}"
    );
}

#[test]
fn every_default_is_one_that_its_field_takes() {
    let mut fields = json!({});
    for field in FIELDS
        .iter()
        .filter(|field| field.table().is_empty() && field.belongs_to(Some(Kind::Api)))
    {
        if let Some(value) = field.default_value() {
            fields[field.name] = value;
        }
    }
    assert_eq!(
        route("ROUTE_orders", &fields),
        route("ROUTE_orders", &json!({}))
    );
}

#[test]
fn the_documentation_shows_this_table() {
    const BEGIN: &str = "<!-- fields: rendered by `cargo run -p shared --example fields` -->\n";
    const END: &str = "<!-- end of fields -->";
    let page = include_str!("../../../docs/configuration.md");
    let (_, behind) = page.split_once(BEGIN).unwrap();
    let (table, _) = behind.split_once(END).unwrap();
    assert_eq!(
        table.trim(),
        fields_markdown().trim(),
        "docs/configuration.md is not up to date"
    );
}

#[test]
fn every_field_is_documented() {
    for field in FIELDS {
        assert!(
            !field.doc.is_empty() && !field.value.is_empty(),
            "{}",
            field.name
        );
        assert!(
            !field.doc.contains('|') && !field.value.contains('|'),
            "{}",
            field.name
        );
    }
}

proptest! {
    #[test]
    fn any_values_are_read_without_panic(field in 0..FIELDS.len(), text in ".{0,20}", number in any::<i64>(), variant in 0..7) {
        let value = match variant {
            0 => json!(text),
            1 => json!(number),
            2 => json!([text]),
            3 => json!({ "from": text }),
            4 => json!([{ "pointer": text, "status": number }]),
            5 => json!({ "path": text, "found": { "status": number, "pointer": text, "equals": text }, "status": number }),
            _ => json!(true),
        };
        for variable in ["ROUTE_orders", "ROUTE_stripe"] {
            let _config = read(&changed(variable, &json!({ FIELDS[field].key(): value.clone() })));
        }
    }
}
