//! Every variable and every field of a route: the one table of their names, defaults and meanings.
//!
//! The readers take names and defaults from here, the nearest known name is looked for here, and the table in
//! docs/configuration.md is rendered from here.

use alloc::string::String;
use core::fmt::Write;

use serde_json::Value;

use crate::policy::Kind;

/// A variable of the Worker.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name; `<name>` stands for one that is chosen.
    pub name: &'static str,
    /// Whether it is a secret, and so never in `wrangler.toml`.
    pub secret: bool,
    /// What it is, in Markdown.
    pub doc: &'static str,
}

/// All variables.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "ROUTE_<name>",
        secret: false,
        doc: "One protected endpoint, as a table. `<name>` is `[a-z0-9_-]{1,48}`; it is part of every key, so it never changes.",
    },
    Variable {
        name: "ORIGIN_<name>",
        secret: false,
        doc: "Where work is done: `https://host` or `http://host:port`, without a path.",
    },
    Variable {
        name: "FALLBACK_ORIGIN",
        secret: false,
        doc: "The `<name>` of the origin to which unmatched paths are passed on. Without it they are answered 404.",
    },
    Variable {
        name: "OPERATOR_HOST",
        secret: false,
        doc: "The only host (with its port, if it has one) on which the dashboard and the metrics answer. Without it, none does.",
    },
    Variable {
        name: "API_KEYS",
        secret: true,
        doc: "JSON: `{\"<SHA-256 of an API key, hex>\": \"<tenant>\"}`. Several keys may be one tenant.",
    },
    Variable {
        name: "OPERATOR_TOKENS",
        secret: true,
        doc: "JSON: `{\"<SHA-256 of a token, hex>\": \"operator\"}` or `\"viewer\"`, with the name that the log shows if there is one: `\"operator:alice\"`.",
    },
];

/// Which routes have a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// All routes.
    Both,
    /// API routes.
    Api,
    /// Webhook routes.
    Webhook,
}

/// What counts where a field is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// Nothing: it has to be given.
    Required,
    /// Nothing, and that is fine.
    Absent,
    /// This text.
    Text(&'static str),
    /// This number.
    Number(u64),
    /// This answer.
    Flag(bool),
    /// A list of this one text.
    List(&'static str),
}

/// A field of a route, or of a table inside it (`exclude.until`).
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, behind the name of its table if it is inside one.
    pub name: &'static str,
    /// Which routes have it.
    pub applies: Applies,
    /// What it takes, as it follows "give".
    pub value: &'static str,
    /// What counts without it.
    pub default: Default,
    /// What it does, in Markdown.
    pub doc: &'static str,
    /// The rules of the contract that it sets.
    pub rule: &'static str,
}

impl Field {
    const fn new(name: &'static str, applies: Applies, default: Default) -> Self {
        Self {
            name,
            applies,
            value: "",
            default,
            doc: "",
            rule: "",
        }
    }

    const fn takes(self, value: &'static str) -> Self {
        Self { value, ..self }
    }

    /// A Worker ships no documentation.
    const fn says(self, doc: &'static str, rule: &'static str) -> Self {
        if cfg!(target_family = "wasm") {
            return self;
        }
        Self { doc, rule, ..self }
    }

    /// The name inside its table.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// The table that it is inside, or "" for a field of the route itself.
    #[must_use]
    pub fn table(&self) -> &'static str {
        self.name.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Whether a route of this kind has it; where the kind is unknown, it may.
    pub(super) fn belongs_to(&self, kind: Option<Kind>) -> bool {
        match (self.applies, kind) {
            (Applies::Both, _) | (_, None) => true,
            (Applies::Api, Some(kind)) => kind == Kind::Api,
            (Applies::Webhook, Some(kind)) => kind == Kind::Webhook,
        }
    }

    /// The default as the value that would have to be given.
    pub(super) fn default_value(&self) -> Option<Value> {
        match self.default {
            Default::Required | Default::Absent => None,
            Default::Text(text) => Some(Value::from(text)),
            Default::Number(number) => Some(Value::from(number)),
            Default::Flag(flag) => Some(Value::from(flag)),
            Default::List(text) => Some(Value::from([text].as_slice())),
        }
    }
}

macro_rules! fields {
    ($($constant:ident: $name:literal, $applies:ident, $default:expr, takes $value:literal, $rule:literal, $doc:literal;)*) => {
        $(pub(super) const $constant: Field =
            Field::new($name, Applies::$applies, $default).takes($value).says($doc, $rule);)*
        /// All fields, in the order of the documentation.
        pub const FIELDS: &[Field] = &[$($constant),*];
    };
}

use self::Default::{Absent, Flag, List, Number, Required, Text};

fields! {
    KIND: "kind", Both, Required, takes "\"api\" or \"webhook\"", "",
        "Whether clients call it with an `Idempotency-Key`, or a sender delivers events to it.";
    METHODS: "methods", Both, List("POST"), takes "a list of \"POST\", \"PUT\", \"PATCH\" and \"DELETE\"", "",
        "The methods that are protected; another method on the path is not.";
    PATH: "path", Both, Required, takes "a path such as \"/v1/orders/{id}\", where {id} takes one segment", "A5",
        "The path that is protected, in normal form. Other ways to write it are refused.";
    ORIGIN: "origin", Both, Required, takes "the <name> of an ORIGIN_<name>", "X2",
        "Where the work is done.";
    SHARDS: "shards", Both, Number(1), takes "a whole number, 1 to 64", "",
        "How many objects share the route's keys of one tenant. One takes some hundred writes a second. It never changes: a key is looked for where it was put.";
    TIMEOUT: "timeout", Both, Text("20s"), takes "a span such as \"20s\", at most \"25s\"", "L2",
        "How long the origin may take; after that the outcome is unknown.";
    LEASE: "lease", Both, Text("30s"), takes "a span such as \"30s\", at least the timeout and 2s, at most \"1h\"", "L2",
        "How long one attempt keeps all others out, if it is never heard of again.";
    MAX_LEASE: "max_lease", Both, Text("10m"), takes "a span such as \"10m\", at least the lease, at most \"24h\"", "L5",
        "How long one attempt may keep all others out with the extensions that the origin asks for. Where the lease is longer, the default is the lease.";
    WAIT: "wait", Both, Text("1s"), takes "a span such as \"1s\", at most \"2s\"", "A, B",
        "How long an equal request waits for the running one before it is answered 409 (a delivery: 503).";
    RETENTION_API: "retention", Api, Text("72h"), takes "a span such as \"72h\", at most \"3660d\", or \"forever\"", "R2, P6",
        "How long an outcome is replayed. Afterwards the key is forgotten; a UUIDv7 key of that age is refused.";
    RETENTION_WEBHOOK: "retention", Webhook, Text("45d"), takes "a span such as \"45d\", at most \"3660d\", or \"forever\"", "W5, P6",
        "How long an event is remembered; longer than its sender may resend it, or else with a `retention_reason`.";
    RETENTION_REASON: "retention_reason", Webhook, Absent, takes "the reason, as a text", "W5",
        "Why a retention shorter than the sender's resends is right here.";
    REQUEST_BODY_MAX: "request_body_max", Both, Text("1MiB"), takes "a size such as \"1MiB\", at most \"16MiB\"", "A, X5",
        "The largest request body; a larger one is answered 413 before anything is claimed.";
    OUTCOME_BODY_MAX: "outcome_body_max", Both, Text("256KiB"), takes "a size such as \"256KiB\", at most \"1MiB\"", "A2",
        "The largest body of an outcome that is kept. A larger one is still an outcome: its replay has an empty body.";
    STATUSES: "statuses", Both, Absent, takes "a list of { status, as, until, reason }", "U1, G",
        "Statuses of the origin that mean something else than usual.";
    STATUS: "statuses.status", Both, Required, takes "a status, 200 to 599", "U1",
        "The status.";
    STATUS_AS: "statuses.as", Both, Required, takes "\"final\", \"not-run\" or \"unknown\"", "U1",
        "What it means: the work is done; it was refused before it began; nobody knows.";
    STATUS_UNTIL: "statuses.until", Both, Required, takes "a date such as \"2027-06-30\"", "G",
        "The last day on which the exception is not flagged. It applies afterwards, too.";
    STATUS_REASON: "statuses.reason", Both, Required, takes "the reason, as a text", "G",
        "Why.";
    PHASES: "phases", Both, Absent, takes "a list of 1 to 16 names, each 1 to 64 of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"", "L5",
        "The steps of the work, in their order: the names under which the origin saves recovery points.";
    REFERENCE: "reference", Both, Text("location"), takes "the name of a header, but no cookie's", "U3, U6",
        "The header of the origin's answer whose value is kept as the origin's own reference for what it made.";
    ON_UNKNOWN_API: "on_unknown", Api, Required, takes "\"resume\", \"probe\" or \"park\"", "U3",
        "What happens after an outcome that nobody knows; see above.";
    ON_UNKNOWN_WEBHOOK: "on_unknown", Webhook, Text("rerun"), takes "\"rerun\", \"resume\", \"probe\" or \"park\"", "U3",
        "The same for deliveries; see above.";
    ORIGIN_DEDUPES: "origin_dedupes", Both, Flag(false), takes "true or false", "U3",
        "Whether the origin does the work of one operation id once, however often it is asked. `on_unknown = \"resume\"` needs it.";
    PROBE: "probe", Both, Absent, takes "a table { path, found, absent, quiet, status }", "U3",
        "How the origin is asked about an operation whose outcome nobody knows. `on_unknown = \"probe\"` needs it; see above.";
    PROBE_PATH: "probe.path", Both, Required, takes "a path at the origin that names the operation, such as \"/v1/orders/by-operation/{operation}\"", "U3",
        "Where the origin is asked, with a query if need be. `{operation}` is the operation's id, `{reference}` the origin's own reference, `{point:/id}` a member of the recovery point's data.";
    PROBE_FOUND: "probe.found", Both, Absent, takes "a table { status, pointer, equals }", "U3",
        "The answer that proves that the work was done, where the origin gives no `Oncegate-Outcome`. A status alone proves nothing.";
    FOUND_STATUS: "probe.found.status", Both, Required, takes "a status, 200 to 599", "U3",
        "The status of that answer.";
    FOUND_POINTER: "probe.found.pointer", Both, Required, takes "a JSON Pointer such as \"/order/state\"", "U3",
        "The member of its JSON body that is looked at.";
    FOUND_EQUALS: "probe.found.equals", Both, Required, takes "a text, a number, or true or false", "U3",
        "What that member is; a number by its value.";
    PROBE_ABSENT: "probe.absent", Both, Absent, takes "a table { status, pointer, equals }", "U3",
        "The answer that proves that the work was not done, likewise, once `quiet` has passed.";
    ABSENT_STATUS: "probe.absent.status", Both, Required, takes "a status, 200 to 599", "U3",
        "The status of that answer.";
    ABSENT_POINTER: "probe.absent.pointer", Both, Required, takes "a JSON Pointer such as \"/order/state\"", "U3",
        "The member of its JSON body that is looked at.";
    ABSENT_EQUALS: "probe.absent.equals", Both, Required, takes "a text, a number, or true or false", "U3",
        "What that member is; a number by its value.";
    PROBE_QUIET: "probe.quiet", Both, Text("5m"), takes "a span such as \"5m\", at least the timeout, at most \"24h\"", "U3",
        "How long after the last dispatch `absent` proves nothing yet: what was sent may still arrive.";
    PROBE_STATUS: "probe.status", Both, Absent, takes "a status, 200 to 599", "U3",
        "The status with which an outcome that the probe found is replayed. Without it, that of the probe's own answer.";
    RESOLVE_AFTER: "resolve_after", Both, Text("5m"), takes "a span such as \"5m\", at most \"6h\"", "U5",
        "How long after an outcome became unknown, and no retry came, the resolver first acts. Its pauses grow from there.";
    RESOLVE_TRIES: "resolve_tries", Both, Number(8), takes "a whole number, 0 to 32", "U5",
        "How often the resolver tries before the operation needs a person; 0 for never.";
    RESOLVER_CREDENTIAL: "resolver_credential", Both, Absent, takes "the name of a secret, of A-Z, 0-9 and \"_\"", "U5",
        "The name of the secret that the gateway's own sends carry as `Authorization`: the probe's and the resolver's. A client's credential is not kept.";
    TENANT: "tenant", Api, Required, takes "\"api-key\", or a table { from = … }", "K6",
        "Whose keys a request's are; see above.";
    TENANT_FROM: "tenant.from", Api, Required, takes "\"api-key\", \"header\" or \"credential-digest\"", "K6",
        "Where the tenant comes from.";
    TENANT_HEADER: "tenant.header", Api, Absent, takes "the name of a header", "K6",
        "For `header`: the one with the tenant. For `credential-digest`: the one with the credential.";
    TENANT_SECRET_HEADER: "tenant.secret_header", Api, Absent, takes "the name of a header", "K6",
        "For `header`: the one in which the front shows that it is the front.";
    TENANT_SECRET: "tenant.secret", Api, Absent, takes "the name of a secret, of A-Z, 0-9 and \"_\"", "K6",
        "For `header`: the name of the secret that the front shows.";
    TENANT_STATIC: "tenant.static", Api, Flag(false), takes "true, if the credential never changes", "K6",
        "For `credential-digest`: a credential that changes would make each retry a new operation.";
    KEY: "key", Api, Text("required"), takes "\"required\", \"report\" or \"optional\"", "K3",
        "Whether a request without a key is refused. `report` lets a missing and a malformed key pass unprotected, `optional` a missing one.";
    KEY_UNTIL: "key_until", Api, Absent, takes "a date such as \"2027-06-30\"", "G",
        "For `report` and `optional`: the last day on which that is not flagged.";
    KEY_REASON: "key_reason", Api, Absent, takes "the reason, as a text", "G",
        "For `report` and `optional`: why.";
    TIER: "tier", Api, Text("full"), takes "\"full\" or \"best-effort\"", "G",
        "What becomes of a request while the store is down. `full` refuses it with 503; `best-effort` passes it unprotected, so that it may run twice.";
    TIER_UNTIL: "tier_until", Api, Absent, takes "a date such as \"2027-06-30\"", "G",
        "For `best-effort`: the last day on which that is not flagged.";
    TIER_REASON: "tier_reason", Api, Absent, takes "the reason, as a text", "G",
        "For `best-effort`: why.";
    STRICT: "strict", Api, Flag(false), takes "true or false", "K1",
        "Whether only a key in quotes (RFC 9651) is taken.";
    KEY_LENGTH_MIN: "key_length_min", Api, Number(16), takes "a whole number, 1 to 512", "K2",
        "The fewest characters of a key.";
    KEY_LENGTH_MAX: "key_length_max", Api, Number(255), takes "a whole number, 1 to 512", "K2",
        "The most characters of a key.";
    EXCLUDE: "exclude", Api, Absent, takes "a list of { pointer, until, reason }", "F3, G",
        "Members of a JSON body that do not make it another request.";
    EXCLUDE_POINTER: "exclude.pointer", Api, Required, takes "a JSON Pointer such as \"/sent_at\"", "F3",
        "What is left out; not the whole document.";
    EXCLUDE_UNTIL: "exclude.until", Api, Required, takes "a date such as \"2027-06-30\"", "G",
        "The last day on which the exception is not flagged. It applies afterwards, too.";
    EXCLUDE_REASON: "exclude.reason", Api, Required, takes "the reason, as a text", "G",
        "Why.";
    SCHEME: "scheme", Webhook, Required, takes "\"stripe\" or \"standard-webhooks\"", "W1",
        "How the sender signs.";
    SECRETS: "secrets", Webhook, Required, takes "a list of 1 to 8 names of secrets, of A-Z, 0-9 and \"_\"", "W1",
        "The names of the secrets any of which may have signed: two while one is rotated.";
    TOLERANCE: "tolerance", Webhook, Text("300s"), takes "a span such as \"300s\", at most \"1h\"", "W1",
        "How far the time in the signature may be from the arrival, either way.";
    TENANT_NAME: "tenant_name", Webhook, Text("default"), takes "1 to 128 visible ASCII characters", "K6",
        "The tenant under which the events are kept.";
}

/// The tables of docs/configuration.md: variables, then fields.
#[must_use]
pub fn fields_markdown() -> String {
    let mut text = String::from("| variable | | what it is |\n|---|---|---|\n");
    for variable in VARIABLES {
        let secret = if variable.secret { "secret" } else { "" };
        append(
            &mut text,
            format_args!("| `{}` | {secret} | {} |\n", variable.name, variable.doc),
        );
    }
    text.push_str("\n| field | routes | takes | default | what it does | rules |\n|---|---|---|---|---|---|\n");
    for field in FIELDS {
        let routes = match field.applies {
            Applies::Both => "all",
            Applies::Api => "api",
            Applies::Webhook => "webhook",
        };
        append(
            &mut text,
            format_args!(
                "| `{}` | {routes} | {} | ",
                field.name,
                escaped(field.value)
            ),
        );
        append_default(&mut text, field.default);
        append(
            &mut text,
            format_args!(" | {} | {} |\n", field.doc, field.rule),
        );
    }
    text
}

/// A name in angle brackets is no tag.
fn escaped(value: &str) -> String {
    value.replace('<', "&lt;")
}

fn append_default(text: &mut String, default: Default) {
    match default {
        Default::Required => append(text, format_args!("*required*")),
        Default::Absent => append(text, format_args!("none")),
        Default::Text(value) => append(text, format_args!("`\"{value}\"`")),
        Default::Number(value) => append(text, format_args!("`{value}`")),
        Default::Flag(value) => append(text, format_args!("`{value}`")),
        Default::List(value) => append(text, format_args!("`[\"{value}\"]`")),
    }
}

fn append(text: &mut String, arguments: core::fmt::Arguments<'_>) {
    // A String takes all that it is given.
    let _written = text.write_fmt(arguments);
}
