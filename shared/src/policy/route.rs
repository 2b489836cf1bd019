//! One protected endpoint, as the Worker knows it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{
    Kind, LEASE_MARGIN, OUTCOME_BODY_MAX, OnUnknown, Policy, REQUEST_BODY_MAX, SHARDS_MAX,
    TIMEOUT_MAX,
};
use crate::classify::Verdict;
use crate::fingerprint::Exclusion;
use crate::key::KeyRule;
use crate::path::PathPattern;
use crate::probe::Probe;
use crate::record::UnknownCause;
use crate::scope::{HeaderName, OriginName, PhaseName, RouteName, SecretName, TenantId};
use crate::time::{Millis, Timestamp};
use crate::webhook::Scheme;

/// The widest tolerance of a webhook route (X5): beyond it, a captured delivery is good for too long.
pub const TOLERANCE_MAX: Millis = Millis::from_hours(1);
/// The most secrets of a webhook route (X5): a rotation needs two.
pub const SECRETS_MAX: usize = 8;
/// The most phases that a route may name (X5): each is a step of one piece of work.
pub const PHASES_MAX: usize = 16;
/// The most exceptions of one sort that a route may take (X5).
pub const EXCEPTIONS_MAX: usize = 32;

/// A method whose requests change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

impl Method {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Post, Self::Put, Self::Patch, Self::Delete];

    /// As it stands in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// The method of this name; methods are told apart by case (RFC 9110 §9.1).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|method| method.as_str() == name)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something less than the full promise, granted for a time and a reason (G).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// What is excepted, in words.
    pub what: String,
    /// The moment from which it is flagged.
    pub until: Timestamp,
    /// Why.
    pub reason: String,
}

/// What a status means that the route moves out of the table of U1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovedTo {
    /// The work is done, and this is its answer.
    Final,
    /// The work was refused before it began.
    NotRun,
    /// Nobody knows.
    Unknown,
}

impl MovedTo {
    /// As it stands in the configuration, and in `Oncegate-Outcome`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Final => "final",
            Self::NotRun => "not-run",
            Self::Unknown => "unknown",
        }
    }
}

/// One status that means something else on this route (U1); an exception (G).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusMove {
    /// The status, 200 to 599.
    pub status: u16,
    /// What it means here.
    pub moved_to: MovedTo,
    /// The moment from which it is flagged.
    pub until: Timestamp,
    /// Why.
    pub reason: String,
}

/// Where the tenant of an API request comes from (K6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantSource {
    /// The API key in `X-Api-Key` or `Authorization: Bearer`.
    ApiKey,
    /// A header that a trusted front sets, believed only beside a shared secret.
    Header {
        /// The header with the tenant.
        header: HeaderName,
        /// The header with the secret.
        secret_header: HeaderName,
        /// The name of the secret.
        secret: SecretName,
    },
    /// The digest of a credential that is declared never to change.
    CredentialDigest {
        /// The header with the credential.
        header: HeaderName,
    },
}

/// What only an API route has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRoute {
    /// What is asked of the `Idempotency-Key` (K1–K3).
    pub key: KeyRule,
    /// Until when and why requests may pass without one; there if, and only if, they may (K3, G).
    pub key_exception: Option<Granted>,
    /// Until when and why requests pass unprotected while the store is down; there if, and only if, they do (G).
    pub best_effort: Option<Granted>,
    /// Where the tenant comes from (K6).
    pub tenant: TenantSource,
    /// What is left out of the fingerprint (F3).
    pub exclusions: Vec<Exclusion>,
}

/// Until when and why less than the full promise is kept (G).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The moment from which it is flagged.
    pub until: Timestamp,
    /// Why.
    pub reason: String,
}

/// What becomes of a request while the store does not answer (G).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// It is refused, and nothing is sent (fail closed).
    Full,
    /// It passes unprotected.
    BestEffort,
}

impl Tier {
    /// As it stands in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::BestEffort => "best-effort",
        }
    }
}

/// What only a webhook route has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookRoute {
    /// How the sender signs.
    pub scheme: Scheme,
    /// The names of the secrets, any of which may have signed.
    pub secret_names: Vec<SecretName>,
    /// How far the sender's time may be from the arrival, either way (W1).
    pub tolerance: Millis,
    /// Whose events they are.
    pub tenant: TenantId,
}

/// What the two kinds of route do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// A route of clients.
    Api(ApiRoute),
    /// A route of a webhook sender.
    Webhook(WebhookRoute),
}

impl RouteKind {
    /// Which of the two.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Api(_) => Kind::Api,
            Self::Webhook(_) => Kind::Webhook,
        }
    }
}

/// The parts of a [`Route`], not yet checked against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteParts {
    /// Its name and id.
    pub name: RouteName,
    /// What the two kinds do not share.
    pub kind: RouteKind,
    /// The methods protected.
    pub methods: Vec<Method>,
    /// The paths protected.
    pub path: PathPattern,
    /// Where the work is done.
    pub origin: OriginName,
    /// How many objects share the route of one tenant; fixed for its life.
    pub shards: u16,
    /// What it promises about its records.
    pub policy: Policy,
    /// How long the origin may take.
    pub timeout: Millis,
    /// The most bytes of a request's body.
    pub request_body_max: usize,
    /// The most bytes of an outcome's body that are kept (A2).
    pub outcome_body_max: usize,
    /// Statuses that mean something else here (U1).
    pub statuses: Vec<StatusMove>,
    /// The steps of its work, under whose names the origin saves recovery points (L5).
    pub phases: Vec<PhaseName>,
    /// The name of the secret that the gateway's own sends carry as `Authorization` (U5).
    pub resolver_credential: Option<SecretName>,
    /// The header of an origin's answer whose value is kept as the origin's own reference.
    pub reference: HeaderName,
    /// How the origin is asked after an unknown outcome; there if, and only if, it is (U3).
    pub probe: Option<Probe>,
}

/// One protected endpoint. It holds what [`Route::new`] checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route(RouteParts);

/// A route that contradicts the contract or itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No method is protected.
    #[error("it protects no method")]
    NoMethod,
    /// No shard, or too many.
    #[error("{found} shards are not 1 to {SHARDS_MAX}")]
    Shards {
        /// The offending number.
        found: u16,
    },
    /// L2: a timeout of zero or beyond the longest.
    #[error("a timeout of {} ms is not within 1 and {} ms", found.get(), TIMEOUT_MAX.get())]
    Timeout {
        /// The offending span.
        found: Millis,
    },
    /// L2: a lease that ends while the origin may still be working.
    #[error(
        "a lease of {} ms ends before the timeout of {} ms and the margin of {} ms",
        lease.get(),
        timeout.get(),
        LEASE_MARGIN.get()
    )]
    LeaseWithinTimeout {
        /// The lease found.
        lease: Millis,
        /// The timeout found.
        timeout: Millis,
    },
    /// X5: no body could pass, or one too large.
    #[error("{found} bytes of request body are not 1 to {REQUEST_BODY_MAX}")]
    RequestBody {
        /// The offending number.
        found: usize,
    },
    /// A2, X5: more than a row holds.
    #[error("{found} bytes of outcome body are more than {OUTCOME_BODY_MAX}")]
    OutcomeBody {
        /// The offending number.
        found: usize,
    },
    /// The policy is of the other kind of route.
    #[error("its policy is of the other kind")]
    Kind,
    /// K2: no key could have such a length.
    #[error(
        "keys of {min} to {max} characters are not within 1 and {}",
        crate::key::KEY_LENGTH_LIMIT
    )]
    KeyLength {
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
    /// G: keys are required and yet excepted, or the other way round.
    #[error("that requests may pass without a key, and until when and why, go together")]
    KeyException,
    /// W1: no secret, or too many.
    #[error("{found} secrets are not 1 to {SECRETS_MAX}")]
    Secrets {
        /// The offending number.
        found: usize,
    },
    /// W1: a tolerance of zero or beyond the widest.
    #[error("a tolerance of {} ms is not within 1 and {} ms", found.get(), TOLERANCE_MAX.get())]
    Tolerance {
        /// The offending span.
        found: Millis,
    },
    /// U1: a status that no final answer has, or that is moved twice.
    #[error("status {found} is not within 200 and 599, or is moved twice")]
    Status {
        /// The offending status.
        found: u16,
    },
    /// U1: work that was done and would be forgotten.
    #[error("status {found} says that the work was done, so it cannot be moved to \"not-run\"")]
    SuccessNotRun {
        /// The offending status.
        found: u16,
    },
    /// U3: the origin would be asked, and nobody knows how, or the other way round.
    #[error("that the origin is asked after an unknown outcome, and how, go together")]
    Probe,
    /// U3: an absence that would be believed while the origin may still be working.
    #[error(
        "a quiet of {} ms ends before the timeout of {} ms",
        quiet.get(),
        timeout.get()
    )]
    QuietWithinTimeout {
        /// The quiet time found.
        quiet: Millis,
        /// The timeout found.
        timeout: Millis,
    },
    /// A1, X4: a cookie is its first caller's alone, and no reference to what was made.
    #[error("\"set-cookie\" is never kept")]
    Reference,
    /// L5, X5: more phases than a piece of work has, or one twice.
    #[error("{found} phases are more than {PHASES_MAX}, or one of them is named twice")]
    Phases {
        /// The offending number.
        found: usize,
    },
    /// X5: more exceptions than promises.
    #[error("{found} exceptions of one sort are more than {EXCEPTIONS_MAX}")]
    Exceptions {
        /// The offending number.
        found: usize,
    },
}

impl Route {
    /// Checks the parts against each other, and says all that is wrong.
    pub fn new(parts: RouteParts) -> Result<Self, Vec<RouteError>> {
        let mut errors = Vec::new();
        let mut check = |holds: bool, error: RouteError| {
            if !holds {
                errors.push(error);
            }
        };
        check(!parts.methods.is_empty(), RouteError::NoMethod);
        let found = parts.shards;
        check(
            (1..=SHARDS_MAX).contains(&found),
            RouteError::Shards { found },
        );
        let found = parts.request_body_max;
        check(
            (1..=REQUEST_BODY_MAX).contains(&found),
            RouteError::RequestBody { found },
        );
        let found = parts.outcome_body_max;
        check(found <= OUTCOME_BODY_MAX, RouteError::OutcomeBody { found });
        check(parts.kind.kind() == parts.policy.kind(), RouteError::Kind);
        check_times(&parts, &mut check);
        check_statuses(&parts.statuses, &mut check);
        check_phases(&parts.phases, &mut check);
        let kept = parts.reference.as_str() != "set-cookie";
        check(kept, RouteError::Reference);
        check_probe(&parts, &mut check);
        match &parts.kind {
            RouteKind::Api(api) => check_api(api, &mut check),
            RouteKind::Webhook(webhook) => check_webhook(webhook, &mut check),
        }
        if errors.is_empty() {
            Ok(Self(parts))
        } else {
            Err(errors)
        }
    }

    /// Its name and id.
    #[must_use]
    pub const fn name(&self) -> &RouteName {
        &self.0.name
    }

    /// What the two kinds do not share.
    #[must_use]
    pub const fn kind(&self) -> &RouteKind {
        &self.0.kind
    }

    /// The methods protected; at least one.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.0.methods
    }

    /// The paths protected.
    #[must_use]
    pub const fn path(&self) -> &PathPattern {
        &self.0.path
    }

    /// Where the work is done.
    #[must_use]
    pub const fn origin(&self) -> &OriginName {
        &self.0.origin
    }

    /// How many objects share the route of one tenant, 1 to 64.
    #[must_use]
    pub const fn shards(&self) -> u16 {
        self.0.shards
    }

    /// What it promises about its records.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.0.policy
    }

    /// How long the origin may take.
    #[must_use]
    pub const fn timeout(&self) -> Millis {
        self.0.timeout
    }

    /// The most bytes of a request's body.
    #[must_use]
    pub const fn request_body_max(&self) -> usize {
        self.0.request_body_max
    }

    /// The most bytes of an outcome's body that are kept (A2).
    #[must_use]
    pub const fn outcome_body_max(&self) -> usize {
        self.0.outcome_body_max
    }

    /// How the origin is asked after an unknown outcome, if it is (U3).
    #[must_use]
    pub const fn probe(&self) -> Option<&Probe> {
        self.0.probe.as_ref()
    }

    /// The steps of its work, if it names any (L5).
    #[must_use]
    pub fn phases(&self) -> &[PhaseName] {
        &self.0.phases
    }

    /// The name of the secret that the gateway's own sends carry as `Authorization`, if any (U5).
    #[must_use]
    pub const fn resolver_credential(&self) -> Option<&SecretName> {
        self.0.resolver_credential.as_ref()
    }

    /// The header of an origin's answer whose value is kept as the origin's own reference.
    #[must_use]
    pub const fn reference_header(&self) -> &HeaderName {
        &self.0.reference
    }

    /// What becomes of a request while the store does not answer (G); a delivery is never passed then, since its
    /// sender comes again.
    #[must_use]
    pub const fn tier(&self) -> Tier {
        match &self.0.kind {
            RouteKind::Api(ApiRoute {
                best_effort: Some(_),
                ..
            }) => Tier::BestEffort,
            RouteKind::Api(_) | RouteKind::Webhook(_) => Tier::Full,
        }
    }

    /// How long an attempt whose lease still runs `lease` may wait for the origin (L2): the margin is for *complete*.
    #[must_use]
    pub fn time_within(&self, lease: Millis) -> Millis {
        self.0.timeout.min(lease.saturating_sub(LEASE_MARGIN))
    }

    /// What this route says of a status, where it says anything (U1).
    #[must_use]
    pub fn verdict_moved(&self, status: u16) -> Option<Verdict> {
        let moved = self
            .0
            .statuses
            .iter()
            .find(|moved| moved.status == status)?;
        Some(match moved.moved_to {
            MovedTo::Final => Verdict::Final,
            MovedTo::NotRun => Verdict::NotRun,
            MovedTo::Unknown => Verdict::Unknown(UnknownCause::Status(status)),
        })
    }

    /// All that it takes from the full promise (G).
    #[must_use]
    pub fn exceptions(&self) -> Vec<Exception> {
        let mut exceptions = match &self.0.kind {
            RouteKind::Api(api) => api.exceptions(),
            RouteKind::Webhook(_) => Vec::new(),
        };
        exceptions.extend(self.0.statuses.iter().map(|moved| Exception {
            what: format!(
                "status {} counts as {}",
                moved.status,
                moved.moved_to.as_str()
            ),
            until: moved.until,
            reason: moved.reason.clone(),
        }));
        exceptions
    }
}

impl ApiRoute {
    fn exceptions(&self) -> Vec<Exception> {
        let keys = self.key_exception.iter().map(|exception| Exception {
            what: format!(
                "requests without a key pass (key = \"{}\")",
                self.key.presence
            ),
            until: exception.until,
            reason: exception.reason.clone(),
        });
        let tier = self.best_effort.iter().map(|granted| Exception {
            what: format!(
                "requests pass unprotected while the store is down (tier = \"{}\")",
                Tier::BestEffort.as_str()
            ),
            until: granted.until,
            reason: granted.reason.clone(),
        });
        let exclusions = self.exclusions.iter().map(|exclusion| Exception {
            what: format!("{} is left out of the fingerprint", exclusion.pointer),
            until: exclusion.until,
            reason: exclusion.reason.clone(),
        });
        keys.chain(tier).chain(exclusions).collect()
    }
}

fn check_times(parts: &RouteParts, check: &mut impl FnMut(bool, RouteError)) {
    let (timeout, lease) = (parts.timeout, parts.policy.lease());
    let within = timeout.get() > 0 && timeout <= TIMEOUT_MAX;
    check(within, RouteError::Timeout { found: timeout });
    let enough = timeout.get().saturating_add(LEASE_MARGIN.get()) <= lease.get(); // L2
    check(enough, RouteError::LeaseWithinTimeout { lease, timeout });
}

fn check_statuses(statuses: &[StatusMove], check: &mut impl FnMut(bool, RouteError)) {
    let found = statuses.len();
    check(found <= EXCEPTIONS_MAX, RouteError::Exceptions { found });
    for (at, moved) in statuses.iter().enumerate() {
        let found = moved.status;
        let first = statuses[..at].iter().all(|earlier| earlier.status != found);
        check(
            first && (200..600).contains(&found),
            RouteError::Status { found },
        );
        let forgets_success = (200..300).contains(&found) && moved.moved_to == MovedTo::NotRun;
        check(!forgets_success, RouteError::SuccessNotRun { found });
    }
}

fn check_probe(parts: &RouteParts, check: &mut impl FnMut(bool, RouteError)) {
    let asks = parts.policy.on_unknown() == OnUnknown::Probe;
    check(asks == parts.probe.is_some(), RouteError::Probe);
    if let Some(quiet) = parts.probe.as_ref().and_then(Probe::quiet) {
        let timeout = parts.timeout;
        check(
            quiet >= timeout,
            RouteError::QuietWithinTimeout { quiet, timeout },
        );
    }
}

fn check_phases(phases: &[PhaseName], check: &mut impl FnMut(bool, RouteError)) {
    let found = phases.len();
    let once = (1..found).all(|at| !phases[..at].contains(&phases[at]));
    check(found <= PHASES_MAX && once, RouteError::Phases { found });
}

fn check_api(api: &ApiRoute, check: &mut impl FnMut(bool, RouteError)) {
    let (min, max) = (api.key.length_min, api.key.length_max);
    let possible = 1 <= min && min <= max && max <= crate::key::KEY_LENGTH_LIMIT;
    check(possible, RouteError::KeyLength { min, max });
    let excepted = match api.key.presence {
        crate::key::Presence::Required => false,
        crate::key::Presence::Report | crate::key::Presence::Optional => true,
    };
    check(
        excepted == api.key_exception.is_some(),
        RouteError::KeyException,
    );
    let found = api.exclusions.len();
    check(found <= EXCEPTIONS_MAX, RouteError::Exceptions { found });
}

fn check_webhook(webhook: &WebhookRoute, check: &mut impl FnMut(bool, RouteError)) {
    let found = webhook.secret_names.len();
    check(
        (1..=SECRETS_MAX).contains(&found),
        RouteError::Secrets { found },
    );
    let found = webhook.tolerance;
    check(
        found.get() > 0 && found <= TOLERANCE_MAX,
        RouteError::Tolerance { found },
    );
}

#[cfg(test)]
mod tests;
