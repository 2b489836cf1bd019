//! Which headers pass: from a caller to an origin, from an origin to a caller, and into a record.
//!
//! Pure, and the only list of its kind. Names are lower case here; the platform gives them so.
//! Sources: RFC 9110 7.6.1 for hop-by-hop fields; contract A1, L4, X2.

/// The name of an operation on requests to origins and on answers to callers.
pub(crate) const OPERATION: &str = "oncegate-operation";
/// The token of an attempt, to the origin (L4).
pub(crate) const ATTEMPT: &str = "oncegate-attempt";
/// The number of an attempt, to the origin (L4).
pub(crate) const ATTEMPT_NUMBER: &str = "oncegate-attempt-number";
/// Milliseconds left, from a client (A4) and to the origin (L4).
pub(crate) const DEADLINE: &str = "oncegate-deadline";
/// The name of the recovery point from which an attempt may go on, to the origin (L4).
pub(crate) const RECOVERY_POINT: &str = "oncegate-recovery-point";
/// That the origin is asked about an operation, and not asked to do it (U3).
pub(crate) const PROBE: &str = "oncegate-probe";
/// The status of an outcome that an origin tells by a request of its own (L5), or when it was asked (U3).
pub(crate) const OUTCOME_STATUS: &str = "oncegate-outcome-status";
/// Whose operation it is, to the origin (L4).
pub(crate) const TENANT: &str = "oncegate-tenant";
/// What the origin says about its answer (U1).
pub(crate) const OUTCOME: &str = "oncegate-outcome";
/// How the gateway came to an answer.
pub(crate) const STATUS: &str = "idempotency-status";
/// `true` on an answer from the record.
pub(crate) const REPLAYED: &str = "idempotent-replayed";
/// Until when the record answers.
pub(crate) const EXPIRES: &str = "idempotency-expires";
/// `omitted` where the body was too large to keep (A2).
pub(crate) const BODY: &str = "idempotency-body";
/// The client's key (K1).
pub(crate) const KEY: &str = "idempotency-key";

/// Headers of one message, in the platform's order, names in lower case.
pub(crate) type HeaderList = Vec<(String, String)>;

/// What of a caller's request an origin hears. `dropped` is a header that is between the caller's side and the gateway
/// alone, such as a front's secret (K6).
pub(crate) fn to_origin(request: HeaderList, dropped: Option<&str>) -> HeaderList {
    let named = named_by_connection(&request);
    let passes = |name: &str| {
        !is_hop_by_hop(name)
            && !named.iter().any(|hop| hop == name)
            && !is_ours(name)
            && !is_forwarding(name)
            && !matches!(
                name,
                "host" | "content-length" | "expect" | "accept-encoding"
            )
            && dropped.is_none_or(|secret| !secret.eq_ignore_ascii_case(&name.replace('_', "-")))
    };
    let mut sent: HeaderList = request;
    sent.retain(|(name, _)| passes(name));
    // A1: the bytes that are kept must be the ones that were sent, and not one of their codings.
    sent.push((String::from("accept-encoding"), String::from("identity")));
    sent
}

/// What of an origin's answer the first caller hears. The body that goes with it is the decoded one.
pub(crate) fn to_caller(mut answer: HeaderList) -> HeaderList {
    let named = named_by_connection(&answer);
    // The platform decodes these two while the body is read.
    let coded = answer
        .iter()
        .any(|(name, value)| name == "content-encoding" && matches!(value.as_str(), "gzip" | "br"));
    answer.retain(|(name, _)| {
        !is_hop_by_hop(name)
            && !named.iter().any(|hop| hop == name)
            && !is_ours(name)
            && name != "content-length"
            && (name != "content-encoding" || !coded)
    });
    answer
}

/// What of the first caller's headers every later one hears (A1).
pub(crate) fn to_record(mut answer: HeaderList) -> HeaderList {
    answer.retain(|(name, _)| !matches!(name.as_str(), "set-cookie" | "date"));
    answer
}

/// RFC 9110 7.6.1, with the names that came before it.
fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// Names that only the gateway may set (L4, X2). Servers behind CGI and its kin read `_` as `-`.
fn is_ours(name: &str) -> bool {
    let read = name.replace('_', "-");
    read.starts_with("oncegate-") || matches!(read.as_str(), STATUS | REPLAYED | EXPIRES | BODY)
}

/// What a caller claims about where its request came from (X2).
fn is_forwarding(name: &str) -> bool {
    name == "forwarded" || name.replace('_', "-").starts_with("x-forwarded-")
}

fn named_by_connection(headers: &[(String, String)]) -> Vec<String> {
    let connection = headers.iter().filter(|(name, _)| name == "connection");
    connection
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> HeaderList {
        let header = |name: &&str| (String::from(*name), format!("value of {name}"));
        names.iter().map(header).collect()
    }

    #[track_caller]
    fn check(passed: &HeaderList, expected: &[&str]) {
        let names: Vec<&str> = passed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_client_cannot_speak_for_the_gateway_or_for_a_proxy() {
        let request = list(&[
            "accept-encoding",
            "authorization",
            "content-length",
            "content-type",
            "expect",
            "forwarded",
            "host",
            "idempotency-key",
            "oncegate-attempt",
            "oncegate-deadline",
            "oncegate-tenant",
            "oncegate_tenant",
            "x_forwarded_for",
            "x_front_secret",
            "te",
            "x-forwarded-for",
            "x-front-secret",
        ]);
        let expected = [
            "authorization",
            "content-type",
            "idempotency-key",
            "accept-encoding",
        ];
        let passed = to_origin(request, Some("X-Front-Secret"));
        check(&passed, &expected);
        assert_eq!(passed[3].1, "identity");
    }

    #[test]
    fn what_connection_names_stays_on_its_hop() {
        let mut request = list(&["x-a", "x-b"]);
        request.push((String::from("connection"), String::from("close, X-A")));
        check(
            &to_origin(request.clone(), None),
            &["x-b", "accept-encoding"],
        );
        check(&to_caller(request), &["x-b"]);
    }

    #[test]
    fn an_origin_cannot_speak_for_the_gateway() {
        let answer = list(&[
            "content-length",
            "content-type",
            "date",
            "idempotency-status",
            "idempotent-replayed",
            "oncegate-operation",
            "oncegate-outcome",
            "set-cookie",
            "transfer-encoding",
        ]);
        check(&to_caller(answer), &["content-type", "date", "set-cookie"]);
    }

    #[test]
    fn cookies_and_dates_are_the_first_callers_alone() {
        let answer = list(&["content-type", "date", "location", "set-cookie"]);
        check(&to_record(answer), &["content-type", "location"]);
    }

    #[test]
    fn a_coding_that_the_platform_undoes_is_not_claimed() {
        let coded = |coding: &str| vec![(String::from("content-encoding"), String::from(coding))];
        check(&to_caller(coded("gzip")), &[]);
        check(&to_caller(coded("zstd")), &["content-encoding"]);
    }
}
