//! Asks an origin what became of an operation (U3), for a caller's retry and for the resolver alike.
//!
//! It judges nothing: `shared::probe` says what an answer proves. One question is one request, and is never a dispatch of
//! the operation itself.

use shared::config::Config;
use shared::placement::OperationId;
use shared::policy::Route;
use shared::probe::{Finding as Proven, Probe, ProbeAnswer};
use shared::scope::TenantId;
use shared::time::Millis;

use crate::dispatch::{self, Final};
use crate::headers::{self, HeaderList};
use crate::message::{Finding, Question};
use crate::origin::{self, Answer, Arrival, Dispatch};
use crate::telemetry::{Level, event};

/// What came of asking.
pub(crate) struct Asked {
    /// What the origin said.
    pub(crate) finding: Finding,
    /// The outcome, where it has one.
    pub(crate) done: Option<Final>,
    /// Whether it answered at all.
    pub(crate) answered: bool,
}

/// What the origin says. Whatever goes wrong on the way proves nothing.
pub(crate) async fn ask(
    settings: &Config,
    route: &Route,
    operation: &OperationId,
    tenant: &TenantId,
    question: &Question,
    deadline: Millis,
) -> Asked {
    let unproven = |why: &str, answered: bool| {
        let why: &dyn std::fmt::Display = &why;
        event(
            Level::Warn,
            "probe_proved_nothing",
            &[("operation", operation), ("reason", why)],
        );
        Asked {
            finding: Finding::Unknown,
            done: None,
            answered,
        }
    };
    let (Some(probe), Some(base)) = (route.probe(), settings.origin_of(route)) else {
        return unproven("the route has no probe", true);
    };
    let (reference, point) = (question.reference.as_deref(), question.point.as_deref());
    let target = match probe.expand(&operation.to_string(), reference, point) {
        Ok(target) => target,
        Err(missing) => return unproven(&missing.to_string(), true),
    };
    let deadline = deadline.min(question.lease);
    let mut sent = own_headers(settings, route);
    for (name, value) in [
        (headers::OPERATION, operation.to_string()),
        (headers::ATTEMPT_NUMBER, question.number.to_string()),
        (headers::TENANT, tenant.to_string()),
        (headers::DEADLINE, deadline.get().to_string()),
        (headers::PROBE, String::from("1")),
    ] {
        sent.push((String::from(name), value));
    }
    let arrival = origin::send(Dispatch {
        url: format!("{base}{target}"),
        method: String::from("GET"),
        headers: sent,
        body: Vec::new(),
        deadline,
    });
    match arrival.await {
        Arrival::Answered(answer) => match judge(probe, &answer, question) {
            Proven::Final => {
                let done = found(probe, route, answer, question);
                Asked {
                    finding: Finding::Final(done.outcome.clone()),
                    done: Some(done),
                    answered: true,
                }
            }
            Proven::NotRun => Asked {
                finding: Finding::NotRun,
                done: None,
                answered: true,
            },
            Proven::Unknown(why) => unproven(why.as_str(), true),
        },
        Arrival::Timeout => unproven("the origin did not answer in time", false),
        Arrival::BrokenLine(why) => unproven(&why, false),
    }
}

/// What the gateway's own requests carry: the route's credential and no caller's (U5).
pub(crate) fn own_headers(settings: &Config, route: &Route) -> HeaderList {
    let mut list = vec![(String::from("accept-encoding"), String::from("identity"))];
    if let Some(credential) = settings.resolver_credential(route) {
        list.push((String::from("authorization"), String::from(credential)));
    }
    list
}

fn judge(probe: &Probe, answer: &Answer, question: &Question) -> Proven {
    let Some(body) = &answer.body else {
        return Proven::Unknown(shared::probe::Unproven::TooLarge);
    };
    let judged = ProbeAnswer {
        status: answer.status,
        outcome: dispatch::header(answer, headers::OUTCOME),
        body,
    };
    probe.judge(judged, question.since_dispatch)
}

/// The outcome that the origin tells: with the status that it names, or that the route names, or the answer's own.
fn found(probe: &Probe, route: &Route, mut answer: Answer, question: &Question) -> Final {
    let named = dispatch::header(&answer, headers::OUTCOME_STATUS).and_then(outcome_status);
    answer.status = named.or(probe.status()).unwrap_or(answer.status);
    dispatch::outcome(route, answer, question.reference.clone())
}

/// A status that an outcome can have.
pub(crate) fn outcome_status(text: &str) -> Option<u16> {
    let is_plain = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let status = text.parse().ok().filter(|_| is_plain);
    status.filter(|status| (200..600).contains(status))
}
