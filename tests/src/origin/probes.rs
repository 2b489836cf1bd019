//! What the origin answers when the gateway asks what became of an operation (U3): the truth, or what a test plans.
//!
//! By its truth it also promises: an attempt that it said had not run, it refuses from then on.

use super::request::Seen;
use super::{Shared, answer, wait, write};
use crate::plan::{Body, Plan};
use std::collections::BTreeMap;
use tokio::net::TcpStream;

/// The questions that came, and what they are answered.
#[derive(Default)]
pub(super) struct Probes {
    seen: Vec<Seen>,
    plans: BTreeMap<String, Plan>,
    /// The highest attempt of each operation that was said not to have run.
    refused: BTreeMap<String, u64>,
}

impl Probes {
    pub(super) fn of(&self, operation: &str) -> Vec<Seen> {
        let of_it = |seen: &&Seen| seen.header("oncegate-operation") == Some(operation);
        self.seen.iter().filter(of_it).cloned().collect()
    }

    pub(super) fn plan(&mut self, operation: &str, plan: Plan) {
        self.plans.insert(operation.to_owned(), plan);
    }

    pub(super) fn no_plan(&mut self, operation: &str) {
        self.plans.remove(operation);
    }

    pub(super) fn refuses(&self, attempt: &Seen) -> bool {
        let refused = attempt
            .header("oncegate-operation")
            .and_then(|operation| self.refused.get(operation));
        refused.is_some_and(|refused| attempt.attempt_number() <= *refused)
    }
}

/// Answers one question; says whether the line may carry another request.
pub(super) async fn answer(stream: &mut TcpStream, seen: &Seen, shared: &Shared) -> bool {
    let operation = seen.header("oncegate-operation").unwrap_or_default();
    shared.log(|log| log.probes.seen.push(seen.clone()));
    let plan = match shared.log(|log| log.probes.plans.get(operation).cloned()) {
        Some(plan) => plan,
        None => truth(operation, seen, shared),
    };
    wait(&plan, shared).await;
    write(stream, &plan, &answer::bytes(&plan, seen, 0)).await
}

fn truth(operation: &str, seen: &Seen, shared: &Shared) -> Plan {
    if let Some(done) = shared.done(operation) {
        let text = String::from_utf8_lossy(&answer::ordinary(&done.seen, done.serial)).into_owned();
        let answer = Plan {
            body: Some(Body::Text(text)),
            ..Plan::refuse(200)
        };
        return answer
            .with_header("Oncegate-Outcome", "final")
            .with_header("Oncegate-Outcome-Status", "201");
    }
    let number = seen.attempt_number();
    shared.log(|log| {
        let refused = log.probes.refused.entry(operation.to_owned()).or_default();
        *refused = number.max(*refused);
    });
    Plan::refuse(200).with_header("Oncegate-Outcome", "not-run")
}
