//! One `ROUTE_<name>` table, from its fields to a route.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::fields::{self, Field};
use super::origin::{self, OriginUrl};
use super::secrets::Vault;
use super::section::{Noted, Section};
use super::{Reader, mistake, probe, quantity, tenant};
use crate::fingerprint::Exclusion;
use crate::key::{KeyRule, Presence};
use crate::path::PathPattern;
use crate::pointer::Pointer;
use crate::policy::{
    ApiRoute, Granted, Kind, Method, MovedTo, OnUnknown, Policy, PolicyError, PolicyParts,
    Retention, Route, RouteError, RouteKind, RouteParts, StatusMove, Tier, WebhookRoute,
};
use crate::probe::Probe;
use crate::scope::{HeaderName, OriginName, PhaseName, RouteName, SecretName, TenantId};
use crate::webhook::Scheme;

/// Reads a route, and notes all that is wrong with it.
pub(super) fn read(
    reader: &Reader<'_>,
    vault: &mut Vault,
    name: &RouteName,
    table: &Map<String, Value>,
    origins: &BTreeMap<OriginName, OriginUrl>,
) -> Option<Route> {
    let section = Section::new(reader.notes, name.as_str(), table);
    let kind = section.choice(
        &fields::KIND,
        &[("api", Kind::Api), ("webhook", Kind::Webhook)],
    );
    section.check_names("", kind);
    let shared = Shared::read(reader, vault, name, &section, origins);
    // Which fields there are, and what their defaults are, depends on the kind.
    let kind = kind?;
    let details = match kind {
        Kind::Api => api(reader, vault, name, &section).map(RouteKind::Api),
        Kind::Webhook => webhook(reader, vault, name, &section).map(RouteKind::Webhook),
    };
    let policy = policy(&section, kind);
    if let Some(RouteKind::Webhook(webhook)) = &details {
        check_horizon(&section, webhook.scheme, policy);
    }
    let parts = shared?.with(name.clone(), details?, policy?);
    Route::new(parts)
        .map_err(|errors| note_errors(&section, kind, &errors))
        .ok()
}

/// The fields that both kinds have, but for the policy's.
struct Shared {
    methods: Vec<Method>,
    path: PathPattern,
    origin: OriginName,
    shards: u16,
    timeout: crate::time::Millis,
    request_body_max: usize,
    outcome_body_max: usize,
    statuses: Vec<StatusMove>,
    phases: Vec<PhaseName>,
    resolver_credential: Option<SecretName>,
    reference: HeaderName,
    probe: Option<Probe>,
}

impl Shared {
    fn read(
        reader: &Reader<'_>,
        vault: &mut Vault,
        name: &RouteName,
        section: &Section<'_>,
        origins: &BTreeMap<OriginName, OriginUrl>,
    ) -> Option<Self> {
        let methods = section.list(&fields::METHODS, |name| {
            Method::named(name).ok_or_else(|| mistake::shown(&Value::from(name)))
        });
        let path = section.parsed(&fields::PATH, PathPattern::parse);
        let origin = origin(reader, section, origins);
        let shards = section.number(&fields::SHARDS);
        let timeout = section.span(&fields::TIMEOUT);
        let request_body_max = section.size(&fields::REQUEST_BODY_MAX);
        let outcome_body_max = section.size(&fields::OUTCOME_BODY_MAX);
        let statuses = statuses(section);
        let phases = phases(section);
        let resolver_credential = resolver_credential(reader, vault, name, section);
        let reference = section.parsed(&fields::REFERENCE, HeaderName::parse);
        let probe = probe::read(section);
        Some(Self {
            methods: methods?,
            path: path?,
            origin: origin?,
            shards: u16::try_from(shards?).unwrap_or(u16::MAX), // refused as too many
            timeout: timeout?,
            request_body_max: request_body_max?,
            outcome_body_max: outcome_body_max?,
            statuses: statuses?,
            phases: phases?,
            resolver_credential: resolver_credential.ok()?,
            reference: reference?,
            probe: probe.ok()?,
        })
    }

    fn with(self, name: RouteName, kind: RouteKind, policy: Policy) -> RouteParts {
        RouteParts {
            name,
            kind,
            methods: self.methods,
            path: self.path,
            origin: self.origin,
            shards: self.shards,
            policy,
            timeout: self.timeout,
            request_body_max: self.request_body_max,
            outcome_body_max: self.outcome_body_max,
            statuses: self.statuses,
            phases: self.phases,
            resolver_credential: self.resolver_credential,
            reference: self.reference,
            probe: self.probe,
        }
    }
}

fn origin(
    reader: &Reader<'_>,
    section: &Section<'_>,
    origins: &BTreeMap<OriginName, OriginUrl>,
) -> Option<OriginName> {
    let name = section.parsed(&fields::ORIGIN, OriginName::parse)?;
    if origins.contains_key(&name) {
        return Some(name);
    }
    // One that is there, but wrong, is noted where it stands.
    if !reader.vars.contains_key(&format!("ORIGIN_{name}")) {
        let remedy = origin::remedy(origins, name.as_str());
        section.note(&fields::ORIGIN, format!("no ORIGIN_{name}"), &remedy);
    }
    None
}

fn statuses(section: &Section<'_>) -> Option<Vec<StatusMove>> {
    let read = |table: Section<'_>| {
        table.check_names(fields::STATUSES.name, None);
        let choices =
            [MovedTo::Final, MovedTo::NotRun, MovedTo::Unknown].map(|to| (to.as_str(), to));
        let status = table.number(&fields::STATUS);
        let moved_to = table.choice(&fields::STATUS_AS, &choices);
        let until = table.date(&fields::STATUS_UNTIL);
        let reason = table.reason(&fields::STATUS_REASON);
        Some(StatusMove {
            status: u16::try_from(status?).unwrap_or(u16::MAX), // refused as none
            moved_to: moved_to?,
            until: until?,
            reason: reason?,
        })
    };
    let read: Vec<Option<StatusMove>> = section
        .tables(&fields::STATUSES)?
        .into_iter()
        .map(read)
        .collect();
    read.into_iter().collect()
}

/// None where they are not named; a list that names none is a mistake (L5).
fn phases(section: &Section<'_>) -> Option<Vec<PhaseName>> {
    if !section.has(&fields::PHASES) {
        return Some(Vec::new());
    }
    let phases = section.list(&fields::PHASES, PhaseName::parse)?;
    if phases.is_empty() {
        section.refuse(&fields::PHASES, "an empty list");
        return None;
    }
    Some(phases)
}

/// U5: whose word the gateway's own sends carry, if anyone's.
fn resolver_credential(
    reader: &Reader<'_>,
    vault: &mut Vault,
    route: &RouteName,
    section: &Section<'_>,
) -> Result<Option<SecretName>, Noted> {
    if !section.has(&fields::RESOLVER_CREDENTIAL) {
        return Ok(None);
    }
    let name = section.parsed(&fields::RESOLVER_CREDENTIAL, SecretName::parse);
    let name = name.ok_or(Noted)?;
    vault.fill_resolver(reader, route, &name);
    Ok(Some(name))
}

fn policy(section: &Section<'_>, kind: Kind) -> Option<Policy> {
    let retention = match kind {
        Kind::Api => &fields::RETENTION_API,
        Kind::Webhook => &fields::RETENTION_WEBHOOK,
    };
    let lease = section.span(&fields::LEASE);
    let max_lease = section.span(&fields::MAX_LEASE);
    let wait = section.span(&fields::WAIT);
    let resolve_after = section.span(&fields::RESOLVE_AFTER);
    let resolve_tries = section.number(&fields::RESOLVE_TRIES);
    let retention = section.parsed(retention, |text| match text {
        "forever" => Ok(Retention::FOREVER),
        text => quantity::span(text)
            .and_then(|span| Retention::of(span).map_err(|error| error.to_string())),
    });
    let on_unknown = on_unknown(section, kind);
    let (lease, mut max_lease) = (lease?, max_lease?);
    if !section.has(&fields::MAX_LEASE) {
        max_lease = max_lease.max(lease);
    }
    let parts = PolicyParts {
        kind,
        lease,
        wait: wait?,
        retention: retention?,
        on_unknown: on_unknown?,
        max_lease,
        resolve_after: resolve_after?,
        resolve_tries: u16::try_from(resolve_tries?).unwrap_or(u16::MAX), // refused as too many
    };
    Policy::new(parts)
        .map_err(|error| {
            let field = match error {
                PolicyError::Lease { .. } => &fields::LEASE,
                PolicyError::MaxLease { .. } => &fields::MAX_LEASE,
                PolicyError::ResolveAfter { .. } => &fields::RESOLVE_AFTER,
                PolicyError::ResolveTries { .. } => &fields::RESOLVE_TRIES,
                PolicyError::Wait { .. } => &fields::WAIT,
                PolicyError::Retention { .. } => &fields::RETENTION_API,
                PolicyError::RerunOnApi => &fields::ON_UNKNOWN_API,
            };
            section.refuse(field, error.to_string());
        })
        .ok()
}

/// What each choice costs (U3).
const RESUME: &str = "\"resume\": the next retry runs again, which is right only if the origin does the work of one operation id once, and origin_dedupes = true says so";
const PROBE: &str = "\"probe\": the origin is asked by operation id, at the path of a table probe, and only its explicit word settles it, so that word has to be built there, and what it leaves open stays unknown until a person looks";
const PARK: &str = "\"park\": nothing runs again before an operator has settled it, so nothing happens twice, but somebody has to look";
const RERUN: &str = "\"rerun\": the next delivery runs again, so the work may happen twice";

fn on_unknown(section: &Section<'_>, kind: Kind) -> Option<OnUnknown> {
    let chosen = chosen_on_unknown(section, kind)?;
    if chosen != OnUnknown::Probe && section.has(&fields::PROBE) {
        let remedy = "leave it out, or set on_unknown = \"probe\"";
        section.note(&fields::PROBE, "a probe that would never be sent", remedy);
        return None;
    }
    Some(chosen)
}

fn chosen_on_unknown(section: &Section<'_>, kind: Kind) -> Option<OnUnknown> {
    let dedupes = section.flag(&fields::ORIGIN_DEDUPES);
    let (field, prices) = match kind {
        Kind::Api => (
            &fields::ON_UNKNOWN_API,
            format!("choose {RESUME}; or {PROBE}; or {PARK}"),
        ),
        Kind::Webhook => (
            &fields::ON_UNKNOWN_WEBHOOK,
            format!("choose {RERUN}; or {RESUME}; or {PROBE}; or {PARK}"),
        ),
    };
    if kind == Kind::Api && !section.has(field) {
        section.note(field, "nothing", &prices);
        return None;
    }
    let chosen = section.parsed(field, |text| {
        Ok::<_, String>(match text {
            "resume" => Ok(OnUnknown::Resume),
            "probe" => Ok(OnUnknown::Probe),
            "park" => Ok(OnUnknown::Park),
            "rerun" => Ok(OnUnknown::Rerun),
            other => Err(mistake::shown(&Value::from(other))),
        })
    })?;
    match (chosen, kind) {
        (Ok(OnUnknown::Rerun), Kind::Api) => {
            section.note(field, "\"rerun\", which only webhook routes have", &prices);
            None
        }
        (Ok(OnUnknown::Resume), Kind::Api | Kind::Webhook) => match dedupes {
            Some(true) => Some(OnUnknown::Resume),
            Some(false) => {
                section.note(field, "\"resume\" without origin_dedupes = true", &prices);
                None
            }
            None => None,
        },
        (Ok(OnUnknown::Probe), Kind::Api | Kind::Webhook) if !section.has(&fields::PROBE) => {
            section.note(field, "\"probe\" without a table probe", &prices);
            None
        }
        (Ok(chosen @ (OnUnknown::Park | OnUnknown::Probe)), Kind::Api | Kind::Webhook)
        | (Ok(chosen @ OnUnknown::Rerun), Kind::Webhook) => Some(chosen),
        (Err(found), Kind::Api | Kind::Webhook) => {
            section.note(field, found, &prices);
            None
        }
    }
}

fn api(
    reader: &Reader<'_>,
    vault: &mut Vault,
    name: &RouteName,
    section: &Section<'_>,
) -> Option<ApiRoute> {
    let tenant = tenant::read(section);
    if let Some(tenant) = &tenant {
        vault.fill_tenant(reader, name, tenant);
    }
    let presence = presence(section);
    let strict = section.flag(&fields::STRICT);
    let length_min = section.number(&fields::KEY_LENGTH_MIN);
    let length_max = section.number(&fields::KEY_LENGTH_MAX);
    let exclusions = exclusions(section);
    let length = |number: u64| usize::try_from(number).unwrap_or(usize::MAX); // refused as too long
    let tier = tier(section);
    let (presence, key_exception) = presence?;
    Some(ApiRoute {
        key: KeyRule {
            presence,
            length_min: length(length_min?),
            length_max: length(length_max?),
            strict: strict?,
        },
        key_exception,
        best_effort: tier.ok()?,
        tenant: tenant?,
        exclusions: exclusions?,
    })
}

/// Whether there has to be a key (K3), and what passes without one: until a date and for a reason (G).
fn presence(section: &Section<'_>) -> Option<(Presence, Option<Granted>)> {
    let presences = [Presence::Required, Presence::Report, Presence::Optional];
    let presence = section.parsed(&fields::KEY, |text| {
        let found = presences
            .into_iter()
            .find(|presence| presence.to_string() == text);
        found.ok_or_else(|| mistake::shown(&Value::from(text)))
    })?;
    let (until, reason) = (&fields::KEY_UNTIL, &fields::KEY_REASON);
    match presence {
        Presence::Required => {
            refuse_grant(section, until, reason, "keys are required");
            Some((presence, None))
        }
        Presence::Report | Presence::Optional => {
            let what = format!("key = \"{presence}\"");
            let granted = granted(section, until, reason, &what)?;
            Some((presence, Some(granted)))
        }
    }
}

/// What becomes of requests while the store is down: only for a time and a reason do they pass (G).
fn tier(section: &Section<'_>) -> Result<Option<Granted>, Noted> {
    let tiers = [Tier::Full, Tier::BestEffort].map(|tier| (tier.as_str(), tier));
    let (until, reason) = (&fields::TIER_UNTIL, &fields::TIER_REASON);
    match section.choice(&fields::TIER, &tiers).ok_or(Noted)? {
        Tier::Full => {
            refuse_grant(section, until, reason, "the tier is \"full\"");
            Ok(None)
        }
        Tier::BestEffort => granted(section, until, reason, "tier = \"best-effort\"")
            .map(Some)
            .ok_or(Noted),
    }
}

/// Until when and why `what` is, both of which have to be given (G).
fn granted(section: &Section<'_>, until: &Field, reason: &Field, what: &str) -> Option<Granted> {
    for field in [until, reason] {
        if !section.has(field) {
            let remedy = format!("{what} is an exception: give {}", field.value);
            section.note(field, "nothing", &remedy);
        }
    }
    let (until, reason) = (section.date(until), section.reason(reason));
    Some(Granted {
        until: until?,
        reason: reason?,
    })
}

/// Notes the end and the reason of an exception that is none.
fn refuse_grant(section: &Section<'_>, until: &Field, reason: &Field, why: &str) {
    for field in [until, reason] {
        if section.has(field) {
            let remedy = format!("leave it out: {why}");
            section.note(field, "an exception without one", &remedy);
        }
    }
}

fn exclusions(section: &Section<'_>) -> Option<Vec<Exclusion>> {
    let read = |table: Section<'_>| {
        table.check_names(fields::EXCLUDE.name, None);
        let pointer = table.parsed(&fields::EXCLUDE_POINTER, Pointer::parse);
        let until = table.date(&fields::EXCLUDE_UNTIL);
        let reason = table.reason(&fields::EXCLUDE_REASON);
        Some(Exclusion {
            pointer: pointer?,
            until: until?,
            reason: reason?,
        })
    };
    let read: Vec<Option<Exclusion>> = section
        .tables(&fields::EXCLUDE)?
        .into_iter()
        .map(read)
        .collect();
    read.into_iter().collect()
}

fn webhook(
    reader: &Reader<'_>,
    vault: &mut Vault,
    name: &RouteName,
    section: &Section<'_>,
) -> Option<WebhookRoute> {
    let schemes: Vec<(&str, Scheme)> = Scheme::ALL
        .iter()
        .map(|&scheme| (scheme.as_str(), scheme))
        .collect();
    let scheme = section.choice(&fields::SCHEME, &schemes);
    let secret_names = section.list(&fields::SECRETS, SecretName::parse);
    vault.fill_webhook(
        reader,
        name,
        scheme,
        secret_names.as_deref().unwrap_or_default(),
    );
    let tolerance = section.span(&fields::TOLERANCE);
    let tenant = section.parsed(&fields::TENANT_NAME, TenantId::parse);
    Some(WebhookRoute {
        scheme: scheme?,
        secret_names: secret_names?,
        tolerance: tolerance?,
        tenant: tenant?,
    })
}

/// W5: an event is remembered for longer than its sender may resend it, or there is a reason.
fn check_horizon(section: &Section<'_>, scheme: Scheme, policy: Option<Policy>) {
    if section.has(&fields::RETENTION_REASON) {
        section.reason(&fields::RETENTION_REASON);
        return;
    }
    let Some(span) = policy.and_then(|policy| policy.retention().span()) else {
        return;
    };
    if span <= scheme.resend_horizon() {
        let hours = |millis: u64| millis / crate::time::Millis::from_hours(1).get();
        let found = format!(
            "{} h, and resends for {} h",
            hours(span.get()),
            hours(scheme.resend_horizon().get())
        );
        let remedy = format!(
            "give more, or a retention_reason: {}",
            scheme.resend_source()
        );
        section.note(&fields::RETENTION_WEBHOOK, found, &remedy);
    }
}

fn note_errors(section: &Section<'_>, kind: Kind, errors: &[RouteError]) {
    for error in errors {
        section.refuse(field_of(error, kind), error.to_string());
    }
}

/// The field in which an error of the whole route shows.
fn field_of(error: &RouteError, kind: Kind) -> &'static Field {
    match error {
        RouteError::NoMethod => &fields::METHODS,
        RouteError::Shards { .. } => &fields::SHARDS,
        RouteError::Timeout { .. } => &fields::TIMEOUT,
        RouteError::LeaseWithinTimeout { .. } => &fields::LEASE,
        RouteError::RequestBody { .. } => &fields::REQUEST_BODY_MAX,
        RouteError::OutcomeBody { .. } => &fields::OUTCOME_BODY_MAX,
        RouteError::Kind => &fields::KIND,
        RouteError::KeyLength { .. } => &fields::KEY_LENGTH_MIN,
        RouteError::KeyException => &fields::KEY,
        RouteError::Secrets { .. } => &fields::SECRETS,
        RouteError::Tolerance { .. } => &fields::TOLERANCE,
        RouteError::Status { .. } | RouteError::SuccessNotRun { .. } => &fields::STATUSES,
        RouteError::Reference => &fields::REFERENCE,
        RouteError::Probe => &fields::PROBE,
        RouteError::QuietWithinTimeout { .. } => &fields::PROBE_QUIET,
        RouteError::Phases { .. } => &fields::PHASES,
        RouteError::Exceptions { .. } => match kind {
            Kind::Api => &fields::EXCLUDE,
            Kind::Webhook => &fields::STATUSES,
        },
    }
}
