//! One operation: a client that retries to its end, and what has to hold of it then.

use crate::world::{Route, World};
use serde_json::json;
use std::time::Duration;
use tests::client::{Answer, Call};
use tests::deadline::eventually_each;
use tests::keys::{key, number};
use tests::plan::Plan;
use tokio::task::JoinHandle;

/// The pause between two retries of a client.
const PAUSE: Duration = Duration::from_millis(150);
/// An operation that has no end within this is stuck: leases last three seconds.
const STUCK: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) route: Route,
    pub(crate) call: Call,
}

/// An operation that has come to its end.
pub(crate) struct Ended {
    pub(crate) operation: Operation,
    /// What was acknowledged.
    pub(crate) answer: Answer,
}

/// A client that is on it.
pub(crate) struct Client {
    pub(crate) operation: Operation,
    end: JoinHandle<Answer>,
}

impl Operation {
    pub(crate) fn new(world: &World, route: Route) -> Self {
        let name = key("lost");
        let client = world.session.client("acme");
        let body = json!({ "amount": number() });
        let call = client.post(route.path()).key(&name).json(&body);
        Self { name, route, call }
    }

    /// Sends it with this plan, and then again as a client does that must know, until it is acknowledged.
    pub(crate) fn start(self, world: &'static World, plan: &Plan) -> Client {
        let (operation, first) = (self.clone(), self.call.clone().plan(plan));
        let end = tokio::spawn(async move { operation.retried(world, first).await });
        let operation = self;
        Client { operation, end }
    }

    async fn retried(&self, world: &World, first: Call) -> Answer {
        let mut calls = std::iter::once(first);
        let what = format!("{} is acknowledged", self.name);
        eventually_each(PAUSE, &what, STUCK, || {
            let call = calls.next().unwrap_or_else(|| self.call.clone());
            async move { self.end(world, call.try_send().await.ok()?).await }
        })
        .await
    }

    // Every answer is one that the contract knows; an acknowledgement ends it.
    async fn end(&self, world: &World, answer: Answer) -> Option<Answer> {
        match (answer.status, answer.verdict()) {
            (201, Some("created" | "replayed")) => return Some(answer),
            (429, Some("released")) | (202 | 503, _) => return None,
            _ => {}
        }
        let code = answer.json()["code"].as_str().map(String::from);
        match (answer.status, code.as_deref()) {
            (409, Some("outcome_unknown")) => {
                if self.route == Route::Parked {
                    self.settle(world, &answer.operation()).await;
                }
                None
            }
            (409, Some("in_progress")) => None,
            _ => panic!("{}: {} {}", self.name, answer.status, answer.text()),
        }
    }

    // The operator looks at what the origin did, and says so. Refused while a lease runs (U6).
    async fn settle(&self, world: &World, operation: &str) {
        let order = match world.origin(self.route).outcome_of(operation) {
            Some(body) => {
                let outcome =
                    json!({ "status": 201, "content_type": "application/json", "body": body });
                world.desk.order(operation, "succeeded", Some(outcome))
            }
            None => world.desk.order(operation, "did_not_happen", None),
        };
        if let Ok(answer) = order.try_send().await {
            assert!(
                answer.status == 200 || answer.status == 503,
                "{}: {} {}",
                self.name,
                answer.status,
                answer.text()
            );
        }
    }

    /// Its id, once the origin has seen it.
    pub(crate) fn id(&self, world: &World) -> Option<String> {
        let seen = world.origin(self.route).seen_with_key(&self.name);
        seen.first()?.header("oncegate-operation").map(String::from)
    }
}

impl Client {
    /// Waits for its end, and looks at what the origin did.
    pub(crate) async fn end(self, world: &World) -> Ended {
        let answer = match self.end.await {
            Ok(answer) => answer,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        };
        let operation = self.operation;
        let effects = world
            .origin(operation.route)
            .effects_of_operation(&answer.operation());
        assert_eq!(effects, 1, "{operation:?} was done {effects} times");
        let ended = Ended { operation, answer };
        ended.replays(world).await;
        ended
    }
}

impl Ended {
    /// What was acknowledged is replayed to the byte, and nothing was done since.
    pub(crate) async fn replays(&self, world: &World) {
        let Operation { name, route, call } = &self.operation;
        let replay = call.send_until_heard().await;
        assert_eq!(
            replay.verdict(),
            Some("replayed"),
            "acknowledged and lost: {name}: {} {}",
            replay.status,
            replay.text()
        );
        replay.assert_replay_of(&self.answer);
        let effects = world
            .origin(*route)
            .effects_of_operation(&self.answer.operation());
        assert_eq!(effects, 1, "{name} was done {effects} times");
    }
}
