//! What a route promises: how long a claim is held, how long an answer is kept, what happens after an unknown
//! outcome. Checked on construction, so that no decision checks it again.
//!
//! [`Policy`] travels to the object that keeps the records with each *begin*, and is kept there, so that its
//! alarm works without a request; [`Route`] stays in the Worker. Not the parsing of configuration and
//! its mistakes (`config`).

mod route;

use serde::{Deserialize, Serialize};

pub use self::route::{
    ApiRoute, EXCEPTIONS_MAX, Exception, Granted, Method, MovedTo, PHASES_MAX, Route, RouteError,
    RouteKind, RouteParts, SECRETS_MAX, StatusMove, TOLERANCE_MAX, TenantSource, Tier,
    WebhookRoute,
};
use crate::time::{Millis, Timestamp};

/// L2: how long a claim is held when the route says nothing.
pub const LEASE_DEFAULT: Millis = Millis::from_secs(30);
/// The longest lease that a route may ask for (X5): so long may an operation stay blocked after a crash.
pub const LEASE_MAX: Millis = Millis::from_hours(1);
/// L5: how long one attempt may hold an operation, its extensions included, when the route says nothing.
pub const MAX_LEASE_DEFAULT: Millis = Millis::from_mins(10);
/// L5: the longest that a route may allow.
pub const MAX_LEASE_MAX: Millis = Millis::from_hours(24);
/// U5: how long after an outcome became unknown the resolver first acts, when the route says nothing.
pub const RESOLVE_AFTER_DEFAULT: Millis = Millis::from_mins(5);
/// U5: the longest pause between two tries of the resolver, and the longest first one that a route may ask for.
pub const RESOLVE_PAUSE_MAX: Millis = Millis::from_hours(6);
/// U5: how often the resolver tries before an operation needs a person, when the route says nothing.
pub const RESOLVE_TRIES_DEFAULT: u16 = 8;
/// U5: the most tries that a route may ask for (X5): with growing pauses these last for days.
pub const RESOLVE_TRIES_MAX: u16 = 32;
/// L2: the time left for *complete* after the origin answered, between a route's timeout and its lease.
pub const LEASE_MARGIN: Millis = Millis::from_secs(2);
/// How long an origin may take when the route says nothing.
pub const TIMEOUT_DEFAULT: Millis = Millis::from_secs(20);
/// L2: the longest that an origin may take. A plain request should end within 30 s of wall time on Workers:
/// <https://developers.cloudflare.com/workers/platform/limits/>.
pub const TIMEOUT_MAX: Millis = Millis::from_secs(25);
/// A: how long an equal request waits for the running one when the route says nothing.
pub const WAIT_DEFAULT: Millis = Millis::from_secs(1);
/// A: the cap on that waiting (S1 caps it at 1 to 2 s, since a waiter holds memory of the object).
pub const WAIT_MAX: Millis = Millis::from_secs(2);
/// R2: how long an API outcome is kept when the route says nothing (S1).
pub const RETENTION_API_DEFAULT: Millis = Millis::from_hours(72);
/// W5: how long a webhook outcome is kept when the route says nothing: longer than Stripe's longest resend.
pub const RETENTION_WEBHOOK_DEFAULT: Millis = Millis::from_hours(45 * 24);
/// The longest retention with an end; what should be kept longer is kept forever. It keeps `expires_at` inside
/// the integers that a double holds, which is how the storage binds them.
pub const RETENTION_MAX: Millis = Millis::from_hours(3_660 * 24);
/// The most bytes of a request body when the route says nothing.
pub const REQUEST_BODY_DEFAULT: usize = 1024 * 1024;
/// The most bytes of a request body that a route may allow: memory of a Worker is 128 MB for all its requests.
/// <https://developers.cloudflare.com/workers/platform/limits/>
pub const REQUEST_BODY_MAX: usize = 16 * 1024 * 1024;
/// A2: the most bytes of an outcome's body that are kept when the route says nothing.
pub const OUTCOME_BODY_DEFAULT: usize = 256 * 1024;
/// The most bytes of an outcome's body that a route may keep: a row takes 2 MB, its headers included.
/// <https://developers.cloudflare.com/durable-objects/platform/limits/>
pub const OUTCOME_BODY_MAX: usize = 1024 * 1024;
/// The most objects that share a route of one tenant (X5): 64 of them take over 10,000 writes a second.
pub const SHARDS_MAX: u16 = 64;

/// Whose requests a route takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Requests of clients, keyed by their `Idempotency-Key` (contract K and A).
    #[default]
    Api,
    /// Deliveries of a webhook sender, keyed by the event id (contract P, B and W).
    Webhook,
}

/// U3: what happens to an operation of which nobody knows whether it took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnknown {
    /// The origin dedupes by operation id: the next retry runs again.
    Resume,
    /// The origin is asked by operation id whether it took effect, and only its explicit word settles it.
    Probe,
    /// It never runs again by itself. The answer when nothing was said, because it never runs twice.
    #[default]
    Park,
    /// Webhooks only: the next delivery runs again, and is shown as one that may have run twice.
    Rerun,
}

/// How long a settled record is kept: forever, or a span that is not zero (P6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RetentionForm", into = "RetentionForm")]
pub struct Retention(Option<Millis>);

/// The form of a retention on its way and at rest: `"forever"` or `{"for_ms":259200000}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RetentionForm {
    Forever,
    ForMs(Millis),
}

impl Retention {
    /// No ttl: kept until the object is deleted (P6).
    pub const FOREVER: Self = Self(None);

    /// Kept for `span`; zero is refused, as is a span over [`RETENTION_MAX`] (P6, X5).
    pub const fn of(span: Millis) -> Result<Self, PolicyError> {
        if span.get() == 0 || span.get() > RETENTION_MAX.get() {
            return Err(PolicyError::Retention { found: span });
        }
        Ok(Self(Some(span)))
    }

    /// The span, or nothing for forever.
    #[must_use]
    pub const fn span(self) -> Option<Millis> {
        self.0
    }

    /// The first moment at which what was recorded at `recorded` is gone (P5: the window is half-open), or
    /// nothing for forever.
    #[must_use]
    pub const fn expires_at(self, recorded: Timestamp) -> Option<Timestamp> {
        match self.0 {
            Some(span) => Some(recorded.plus(span)),
            None => None,
        }
    }
}

impl TryFrom<RetentionForm> for Retention {
    type Error = PolicyError;

    fn try_from(form: RetentionForm) -> Result<Self, PolicyError> {
        match form {
            RetentionForm::Forever => Ok(Self::FOREVER),
            RetentionForm::ForMs(span) => Self::of(span),
        }
    }
}

impl From<Retention> for RetentionForm {
    fn from(retention: Retention) -> Self {
        retention.0.map_or(Self::Forever, Self::ForMs)
    }
}

/// A promise that contradicts the contract or itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// L2: no lease, or one that blocks an operation for too long.
    #[error("lease of {} ms is not within 1 and {} ms", found.get(), LEASE_MAX.get())]
    Lease {
        /// The offending span.
        found: Millis,
    },
    /// A: a wait beyond the cap.
    #[error("wait of {} ms is longer than {} ms", found.get(), WAIT_MAX.get())]
    Wait {
        /// The offending span.
        found: Millis,
    },
    /// L5: an attempt that could not even hold its first lease, or one that blocks an operation for too long.
    #[error("max_lease of {} ms is not within the lease of {} ms and {} ms", found.get(), lease.get(), MAX_LEASE_MAX.get())]
    MaxLease {
        /// The offending span.
        found: Millis,
        /// The lease.
        lease: Millis,
    },
    /// U5: a resolver that would act at once, or too late.
    #[error("resolve_after of {} ms is not within 1 and {} ms", found.get(), RESOLVE_PAUSE_MAX.get())]
    ResolveAfter {
        /// The offending span.
        found: Millis,
    },
    /// U5: more tries than a resolver may make.
    #[error("{found} resolve_tries are more than {RESOLVE_TRIES_MAX}")]
    ResolveTries {
        /// The offending number.
        found: u16,
    },
    /// P6: a retention of zero, or one beyond the longest.
    #[error(
        "retention of {} ms is not within 1 ms and {} ms; without an end it is forever",
        found.get(),
        RETENTION_MAX.get()
    )]
    Retention {
        /// The offending span.
        found: Millis,
    },
    /// U3: an API route that would run again on its own.
    #[error(
        "on_unknown \"rerun\" is for webhooks; an api route has \"resume\", \"probe\" and \"park\""
    )]
    RerunOnApi,
}

/// The parts of a [`Policy`], not yet checked against each other.
///
/// It is also the form that travels and is kept; a field that an older sender leaves out takes the value that
/// never runs an operation twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyParts {
    /// Whose requests.
    #[serde(default)]
    pub kind: Kind,
    /// How long a claim is held (L2).
    #[serde(default = "lease_default")]
    pub lease: Millis,
    /// How long an equal request waits for the running one.
    #[serde(default = "wait_default")]
    pub wait: Millis,
    /// How long a settled record is kept.
    #[serde(default = "retention_absent")]
    pub retention: Retention,
    /// What happens after an unknown outcome (U3).
    #[serde(default)]
    pub on_unknown: OnUnknown,
    /// How long one attempt may hold the operation, its extensions included (L5). A sender that leaves it out may have any
    /// lease, so its default depends on that.
    #[serde(default = "max_lease_absent")]
    pub max_lease: Millis,
    /// How long after an outcome became unknown the resolver first acts (U5).
    #[serde(default = "resolve_after_default")]
    pub resolve_after: Millis,
    /// How often it tries before the operation needs a person (U5); zero for never.
    #[serde(default = "resolve_tries_default")]
    pub resolve_tries: u16,
}

const fn lease_default() -> Millis {
    LEASE_DEFAULT
}

const fn wait_default() -> Millis {
    WAIT_DEFAULT
}

const fn max_lease_absent() -> Millis {
    Millis::new(0)
}

const fn resolve_after_default() -> Millis {
    RESOLVE_AFTER_DEFAULT
}

const fn resolve_tries_default() -> u16 {
    RESOLVE_TRIES_DEFAULT
}

const fn retention_absent() -> Retention {
    Retention::FOREVER
}

impl PolicyParts {
    /// The defaults of a kind of route; what happens after an unknown outcome has none for API routes (U3).
    #[must_use]
    pub const fn defaults(kind: Kind, on_unknown: OnUnknown) -> Self {
        let retention = match kind {
            Kind::Api => RETENTION_API_DEFAULT,
            Kind::Webhook => RETENTION_WEBHOOK_DEFAULT,
        };
        Self {
            kind,
            lease: LEASE_DEFAULT,
            wait: WAIT_DEFAULT,
            retention: Retention(Some(retention)),
            on_unknown,
            max_lease: MAX_LEASE_DEFAULT,
            resolve_after: RESOLVE_AFTER_DEFAULT,
            resolve_tries: RESOLVE_TRIES_DEFAULT,
        }
    }
}

/// What a route promises about its records. It holds what [`Policy::new`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PolicyParts", into = "PolicyParts")]
pub struct Policy(PolicyParts);

impl Policy {
    /// Checks that the lease is within (0, 1 h], its longest extension and the resolver's pace are bounded, the wait is at
    /// most 2 s, and that no API route reruns (U3).
    pub fn new(parts: PolicyParts) -> Result<Self, PolicyError> {
        if parts.lease.get() == 0 || parts.lease > LEASE_MAX {
            return Err(PolicyError::Lease { found: parts.lease });
        }
        let (found, lease) = (parts.max_lease, parts.lease);
        if found < lease || found > MAX_LEASE_MAX {
            return Err(PolicyError::MaxLease { found, lease });
        }
        let found = parts.resolve_after;
        if found.get() == 0 || found > RESOLVE_PAUSE_MAX {
            return Err(PolicyError::ResolveAfter { found });
        }
        let found = parts.resolve_tries;
        if found > RESOLVE_TRIES_MAX {
            return Err(PolicyError::ResolveTries { found });
        }
        if parts.wait > WAIT_MAX {
            return Err(PolicyError::Wait { found: parts.wait });
        }
        match (parts.kind, parts.on_unknown) {
            (Kind::Api, OnUnknown::Rerun) => Err(PolicyError::RerunOnApi),
            (Kind::Webhook, OnUnknown::Rerun)
            | (Kind::Api | Kind::Webhook, OnUnknown::Resume | OnUnknown::Probe | OnUnknown::Park) => {
                Ok(Self(parts))
            }
        }
    }

    /// Whose requests.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.0.kind
    }

    /// How long a claim is held (L2).
    #[must_use]
    pub const fn lease(self) -> Millis {
        self.0.lease
    }

    /// How long an equal request waits for the running one.
    #[must_use]
    pub const fn wait(self) -> Millis {
        self.0.wait
    }

    /// How long a settled record is kept.
    #[must_use]
    pub const fn retention(self) -> Retention {
        self.0.retention
    }

    /// What happens after an unknown outcome (U3).
    #[must_use]
    pub const fn on_unknown(self) -> OnUnknown {
        self.0.on_unknown
    }

    /// Whether requests are kept with their claims, for the resolver to send again (U5).
    #[must_use]
    pub fn keeps_requests(self) -> bool {
        self.0.on_unknown == OnUnknown::Resume
    }

    /// How long one attempt may hold the operation, its extensions included (L5).
    #[must_use]
    pub const fn max_lease(self) -> Millis {
        self.0.max_lease
    }

    /// How long after an outcome became unknown the resolver first acts (U5).
    #[must_use]
    pub const fn resolve_after(self) -> Millis {
        self.0.resolve_after
    }

    /// How often the resolver tries before the operation needs a person (U5).
    #[must_use]
    pub const fn resolve_tries(self) -> u16 {
        self.0.resolve_tries
    }
}

impl TryFrom<PolicyParts> for Policy {
    type Error = PolicyError;

    fn try_from(mut parts: PolicyParts) -> Result<Self, PolicyError> {
        if parts.max_lease == max_lease_absent() {
            parts.max_lease = MAX_LEASE_DEFAULT.max(parts.lease);
        }
        Self::new(parts)
    }
}

impl From<Policy> for PolicyParts {
    fn from(policy: Policy) -> Self {
        policy.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: PolicyParts = PolicyParts::defaults(Kind::Api, OnUnknown::Park);

    #[track_caller]
    fn check(parts: PolicyParts, expected: Result<(), PolicyError>) {
        assert_eq!(Policy::new(parts).map(|_policy| ()), expected);
        let form = serde_json::to_string(&parts).unwrap();
        let again = serde_json::from_str::<Policy>(&form);
        assert_eq!(
            again.map(PolicyParts::from).ok(),
            expected.is_ok().then_some(parts)
        );
    }

    #[test]
    fn a_policy_is_checked_on_construction_and_on_arrival() {
        let webhook = PolicyParts::defaults(Kind::Webhook, OnUnknown::Rerun);
        check(API, Ok(()));
        check(webhook, Ok(()));
        check(
            PolicyParts {
                on_unknown: OnUnknown::Resume,
                ..API
            },
            Ok(()),
        );
        check(
            PolicyParts {
                on_unknown: OnUnknown::Rerun,
                ..API
            },
            Err(PolicyError::RerunOnApi),
        );
        check(
            PolicyParts {
                lease: LEASE_MAX,
                max_lease: LEASE_MAX,
                wait: WAIT_MAX,
                ..API
            },
            Ok(()),
        );
        let (found, lease) = (Millis::new(API.lease.get() - 1), API.lease);
        check(
            PolicyParts {
                max_lease: found,
                ..API
            },
            Err(PolicyError::MaxLease { found, lease }),
        );
        let found = Millis::new(0);
        check(
            PolicyParts {
                resolve_after: found,
                ..API
            },
            Err(PolicyError::ResolveAfter { found }),
        );
        let found = RESOLVE_TRIES_MAX + 1;
        check(
            PolicyParts {
                resolve_tries: found,
                ..API
            },
            Err(PolicyError::ResolveTries { found }),
        );
        let found = Millis::new(0);
        check(
            PolicyParts {
                lease: found,
                ..API
            },
            Err(PolicyError::Lease { found }),
        );
        let found = Millis::new(LEASE_MAX.get() + 1);
        check(
            PolicyParts {
                lease: found,
                ..API
            },
            Err(PolicyError::Lease { found }),
        );
        check(
            PolicyParts {
                wait: Millis::new(0),
                ..API
            },
            Ok(()),
        );
        let found = Millis::new(2_001);
        check(
            PolicyParts { wait: found, ..API },
            Err(PolicyError::Wait { found }),
        );
    }

    #[test]
    fn no_retention_is_zero_and_none_means_forever() {
        let found = Millis::new(0);
        assert_eq!(Retention::of(found), Err(PolicyError::Retention { found })); // P6
        let found = Millis::new(RETENTION_MAX.get() + 1);
        assert_eq!(Retention::of(found), Err(PolicyError::Retention { found }));
        assert_eq!(
            Retention::of(RETENTION_MAX).unwrap().span(),
            Some(RETENTION_MAX)
        );
        assert_eq!(
            Retention::FOREVER.expires_at(Timestamp::from_millis(1)),
            None
        );
        let expires = Retention::of(Millis::new(5))
            .unwrap()
            .expires_at(Timestamp::from_millis(1));
        assert_eq!(expires, Some(Timestamp::from_millis(6)));
        assert!(serde_json::from_str::<Retention>(r#"{"for_ms":0}"#).is_err());
    }

    #[test]
    fn the_form_is_pinned() {
        assert_eq!(
            serde_json::to_string(&Policy::new(API).unwrap()).unwrap(),
            r#"{"kind":"api","lease":30000,"wait":1000,"retention":{"for_ms":259200000},"on_unknown":"park","max_lease":600000,"resolve_after":300000,"resolve_tries":8}"#
        );
        assert_eq!(
            serde_json::to_string(&Retention::FOREVER).unwrap(),
            "\"forever\""
        );
    }

    #[test]
    fn what_is_left_out_takes_the_value_that_never_runs_twice() {
        let policy: Policy = serde_json::from_str("{}").unwrap();
        assert_eq!(policy.kind(), Kind::Api);
        assert_eq!(policy.lease(), LEASE_DEFAULT);
        assert_eq!(policy.wait(), WAIT_DEFAULT);
        assert_eq!(policy.retention(), Retention::FOREVER);
        assert_eq!(policy.on_unknown(), OnUnknown::Park);
        assert_eq!(policy.max_lease(), MAX_LEASE_DEFAULT);
        let long: Policy = serde_json::from_str(r#"{"lease":3600000}"#).unwrap();
        assert_eq!(long.max_lease(), LEASE_MAX); // one of before there was a max_lease
    }
}
