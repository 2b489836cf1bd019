//! What makes a route none, one row per mistake.

use alloc::string::ToString;
use alloc::vec;

use super::*;
use crate::key::Presence;
use crate::pointer::Pointer;
use crate::policy::PolicyParts;
use crate::probe::{Absent, Expected, Template};

fn parts(kind: RouteKind, on_unknown: OnUnknown) -> RouteParts {
    let policy = PolicyParts::defaults(kind.kind(), on_unknown);
    RouteParts {
        name: RouteName::parse("orders").unwrap(),
        kind,
        methods: vec![Method::Post],
        path: PathPattern::parse("/v1/orders").unwrap(),
        origin: OriginName::parse("sample").unwrap(),
        shards: 1,
        policy: Policy::new(policy).unwrap(),
        timeout: Millis::from_secs(20),
        request_body_max: 1024,
        outcome_body_max: 1024,
        statuses: vec![],
        phases: vec![],
        resolver_credential: None,
        reference: HeaderName::parse("location").unwrap(),
        probe: None,
    }
}

fn api() -> ApiRoute {
    ApiRoute {
        key: KeyRule::default(),
        key_exception: None,
        best_effort: None,
        tenant: TenantSource::ApiKey,
        exclusions: vec![],
    }
}

fn webhook() -> WebhookRoute {
    WebhookRoute {
        scheme: Scheme::Stripe,
        secret_names: vec![SecretName::parse("STRIPE").unwrap()],
        tolerance: Millis::from_secs(300),
        tenant: TenantId::parse("default").unwrap(),
    }
}

fn moved(status: u16, moved_to: MovedTo) -> StatusMove {
    StatusMove {
        status,
        moved_to,
        until: Timestamp::from_millis(1),
        reason: "why".to_string(),
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut RouteParts), expected: &[RouteError]) {
    let mut parts = parts(RouteKind::Api(api()), OnUnknown::Park);
    change(&mut parts);
    assert_eq!(Route::new(parts).err().unwrap_or_default(), expected);
}

#[track_caller]
fn check_api_route(change: impl FnOnce(&mut ApiRoute), expected: &[RouteError]) {
    let mut api = api();
    change(&mut api);
    check(|parts| parts.kind = RouteKind::Api(api), expected);
}

#[track_caller]
fn check_webhook_route(change: impl FnOnce(&mut WebhookRoute), expected: &[RouteError]) {
    let mut webhook = webhook();
    change(&mut webhook);
    let parts = parts(RouteKind::Webhook(webhook), OnUnknown::Rerun);
    assert_eq!(Route::new(parts).err().unwrap_or_default(), expected);
}

#[test]
fn a_route_is_checked_on_construction() {
    check(|_| (), &[]);
    check(|parts| parts.methods.clear(), &[RouteError::NoMethod]);
    check(|parts| parts.shards = 0, &[RouteError::Shards { found: 0 }]);
    check(
        |parts| parts.shards = 65,
        &[RouteError::Shards { found: 65 }],
    );
    check(
        |parts| parts.request_body_max = 0,
        &[RouteError::RequestBody { found: 0 }],
    );
    check(|parts| parts.outcome_body_max = 0, &[]);
    let found = OUTCOME_BODY_MAX + 1;
    check(
        |parts| parts.outcome_body_max = found,
        &[RouteError::OutcomeBody { found }],
    );
    check(
        |parts| parts.kind = RouteKind::Webhook(webhook()),
        &[RouteError::Kind],
    );
    check(
        |parts| (parts.shards, parts.methods) = (0, vec![]),
        &[RouteError::NoMethod, RouteError::Shards { found: 0 }],
    );
}

#[test]
fn timeout_and_margin_fit_into_the_lease() {
    let lease = Millis::from_secs(22);
    let parts = PolicyParts {
        lease,
        ..PolicyParts::defaults(Kind::Api, OnUnknown::Park)
    };
    let policy = Policy::new(parts).unwrap();
    check(|parts| parts.policy = policy, &[]); // L2
    let timeout = Millis::new(20_001);
    check(
        |parts| (parts.policy, parts.timeout) = (policy, timeout),
        &[RouteError::LeaseWithinTimeout { lease, timeout }],
    );
    check(|parts| parts.timeout = TIMEOUT_MAX, &[]);
    let found = Millis::new(25_001);
    check(
        |parts| parts.timeout = found,
        &[RouteError::Timeout { found }],
    );
    let found = Millis::new(0);
    check(
        |parts| parts.timeout = found,
        &[RouteError::Timeout { found }],
    );
}

#[test]
fn no_success_is_moved_to_what_is_forgotten() {
    check(
        |parts| parts.statuses = vec![moved(503, MovedTo::NotRun), moved(409, MovedTo::Final)],
        &[],
    );
    check(
        |parts| parts.statuses = vec![moved(202, MovedTo::Unknown)],
        &[],
    );
    check(
        |parts| parts.statuses = vec![moved(202, MovedTo::NotRun)],
        &[RouteError::SuccessNotRun { found: 202 }],
    );
    check(
        |parts| parts.statuses = vec![moved(199, MovedTo::Final), moved(600, MovedTo::Final)],
        &[
            RouteError::Status { found: 199 },
            RouteError::Status { found: 600 },
        ],
    );
    check(
        |parts| parts.statuses = vec![moved(409, MovedTo::Final), moved(409, MovedTo::Unknown)],
        &[RouteError::Status { found: 409 }],
    );
    check(
        |parts| {
            parts.statuses = (400..433)
                .map(|status| moved(status, MovedTo::Final))
                .collect();
        },
        &[RouteError::Exceptions { found: 33 }],
    );
}

#[test]
fn u3_an_origin_is_asked_where_it_is_known_how() {
    let probe = |quiet: u64| {
        let pointer = Pointer::parse("/error").unwrap();
        let expected = Expected::new(404, pointer, &"gone".into()).unwrap();
        let quiet = Millis::from_secs(quiet);
        let absent = Some(Absent { expected, quiet });
        let template = Template::parse("/v1/orders/{operation}").unwrap();
        Probe::new(template, None, absent, None).unwrap()
    };
    let asking = PolicyParts::defaults(Kind::Api, OnUnknown::Probe);
    let asking = Policy::new(asking).unwrap();
    check(
        |parts| (parts.policy, parts.probe) = (asking, Some(probe(20))),
        &[],
    );
    check(|parts| parts.policy = asking, &[RouteError::Probe]);
    check(|parts| parts.probe = Some(probe(20)), &[RouteError::Probe]);
    let (quiet, timeout) = (Millis::from_secs(19), Millis::from_secs(20));
    check(
        |parts| (parts.policy, parts.probe) = (asking, Some(probe(19))),
        &[RouteError::QuietWithinTimeout { quiet, timeout }],
    );
}

#[test]
fn phases_are_few_and_have_names_of_their_own() {
    let phase = |at: usize| PhaseName::parse(&alloc::format!("phase-{at}")).unwrap();
    check(|parts| parts.phases = (0..16).map(phase).collect(), &[]);
    check(
        |parts| parts.phases = (0..17).map(phase).collect(),
        &[RouteError::Phases { found: 17 }],
    );
    check(
        |parts| parts.phases = vec![phase(1), phase(2), phase(1)],
        &[RouteError::Phases { found: 3 }],
    );
}

#[test]
fn an_api_route_says_why_requests_pass_without_a_key() {
    let exception = || {
        Some(Granted {
            until: Timestamp::from_millis(1),
            reason: "why".to_string(),
        })
    };
    check_api_route(
        |api| api.key.presence = Presence::Report,
        &[RouteError::KeyException],
    );
    check_api_route(
        |api| api.key_exception = exception(),
        &[RouteError::KeyException],
    );
    check_api_route(
        |api| (api.key.presence, api.key_exception) = (Presence::Optional, exception()),
        &[],
    );
}

#[test]
fn key_lengths_are_possible() {
    let lengths =
        |min, max| move |api: &mut ApiRoute| (api.key.length_min, api.key.length_max) = (min, max);
    check_api_route(lengths(1, 512), &[]);
    for (min, max) in [(0, 10), (11, 10), (1, 513)] {
        check_api_route(lengths(min, max), &[RouteError::KeyLength { min, max }]);
    }
}

#[test]
fn a_webhook_route_can_verify() {
    check_webhook_route(|_| (), &[]);
    check_webhook_route(
        |webhook| webhook.secret_names.clear(),
        &[RouteError::Secrets { found: 0 }],
    );
    let found = Millis::new(0);
    check_webhook_route(
        |webhook| webhook.tolerance = found,
        &[RouteError::Tolerance { found }],
    );
    let found = Millis::new(TOLERANCE_MAX.get() + 1);
    check_webhook_route(
        |webhook| webhook.tolerance = found,
        &[RouteError::Tolerance { found }],
    );
}

#[test]
fn a_moved_status_has_its_verdict_and_no_other_has() {
    let mut parts = parts(RouteKind::Api(api()), OnUnknown::Park);
    parts.statuses = vec![
        moved(503, MovedTo::NotRun),
        moved(409, MovedTo::Final),
        moved(202, MovedTo::Unknown),
    ];
    let route = Route::new(parts).unwrap();
    assert_eq!(route.verdict_moved(503), Some(Verdict::NotRun));
    assert_eq!(route.verdict_moved(409), Some(Verdict::Final));
    assert_eq!(
        route.verdict_moved(202),
        Some(Verdict::Unknown(UnknownCause::Status(202)))
    );
    assert_eq!(route.verdict_moved(200), None);
}

#[test]
fn exceptions_are_listed_in_words() {
    let (until, reason) = (Timestamp::from_millis(1), "why".to_string());
    let mut api = api();
    api.key.presence = Presence::Report;
    api.key_exception = Some(Granted {
        until,
        reason: reason.clone(),
    });
    api.best_effort = Some(Granted {
        until,
        reason: reason.clone(),
    });
    api.exclusions = vec![Exclusion {
        pointer: Pointer::parse("/sent_at").unwrap(),
        until,
        reason: reason.clone(),
    }];
    let mut parts = parts(RouteKind::Api(api), OnUnknown::Park);
    parts.statuses = vec![moved(503, MovedTo::NotRun)];
    let route = Route::new(parts).unwrap();
    assert_eq!(route.tier(), Tier::BestEffort);
    let exceptions = [
        "requests without a key pass (key = \"report\")",
        "requests pass unprotected while the store is down (tier = \"best-effort\")",
        "/sent_at is left out of the fingerprint",
        "status 503 counts as not-run",
    ];
    let expected = exceptions.map(|what| Exception {
        what: what.to_string(),
        until,
        reason: reason.clone(),
    });
    assert_eq!(route.exceptions(), expected);
}

#[test]
fn methods_are_named_exactly() {
    for &method in Method::ALL {
        assert_eq!(Method::named(&method.to_string()), Some(method));
    }
    assert_eq!(Method::named("post"), None);
    assert_eq!(Method::named("GET"), None);
}
