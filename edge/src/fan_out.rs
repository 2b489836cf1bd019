//! One question to many operations objects at once, for what operators see.
//!
//! Bounded in how many are asked, how many at a time, and how long each may take; who does not answer is counted and
//! never hidden.

use futures_util::StreamExt;
use futures_util::stream;
use shared::placement::ObjectName;

use crate::message_fleet::{FleetAnswer, FleetMessage, ListObjects, Registration};
use crate::message_operator::{OperatorAnswer, OperatorMessage};
use crate::object_client::{CallError, Objects};
use crate::telemetry::{Level, event};

/// Objects asked for one answer (X5). A request may make 10,000 calls on the paid plan, but somebody waits for it:
/// <https://developers.cloudflare.com/workers/platform/limits/#subrequests>.
const ASKED_MAX: usize = 1_024;
/// Objects asked at a time: the platform opens six connections for one request.
/// <https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>
const AT_ONCE: usize = 6;

/// What came back.
pub(crate) struct Answers {
    /// Who answered, and what.
    pub(crate) answers: Vec<(Registration, OperatorAnswer)>,
    /// How many did not answer, or were too many to ask.
    pub(crate) silent: u32,
}

/// Which objects are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only this tenant's.
    pub(crate) tenant: Option<String>,
    /// Only this route's.
    pub(crate) route: Option<String>,
}

/// Asks all objects that match. An error means that the fleet did not say which there are.
pub(crate) async fn ask(
    to: &Objects,
    filter: Filter,
    question: &OperatorMessage,
) -> Result<Answers, CallError> {
    let (objects, left) = objects(to, filter).await?;
    let mut asked = stream::iter(objects)
        .map(|object| async move {
            let answer = ask_one(to, &object, question).await;
            (object, answer)
        })
        .buffer_unordered(AT_ONCE);
    let mut result = Answers {
        answers: Vec::new(),
        silent: u32::try_from(left).unwrap_or(u32::MAX),
    };
    while let Some((object, answer)) = asked.next().await {
        match answer {
            Some(answer) => result.answers.push((object, answer)),
            None => result.silent = result.silent.saturating_add(1),
        }
    }
    Ok(result)
}

/// Asks one object; nothing if it has no answer, which is logged.
pub(crate) async fn ask_one(
    to: &Objects,
    object: &Registration,
    question: &OperatorMessage,
) -> Option<OperatorAnswer> {
    let name = ObjectName::parse(&object.name)?;
    let circumstances = |error: &dyn std::fmt::Display| {
        let route: &dyn std::fmt::Display = &object.route;
        event(
            Level::Warn,
            "object_silent",
            &[("object", &object.name), ("route", route), ("error", error)],
        );
    };
    match to.operator::<_, OperatorAnswer>(&name, question).await {
        Ok(OperatorAnswer::Failed(error)) => {
            circumstances(&error);
            None
        }
        Ok(answer) => Some(answer),
        Err(error) => {
            circumstances(&error);
            None
        }
    }
}

/// The objects to ask, and how many more there are.
async fn objects(to: &Objects, filter: Filter) -> Result<(Vec<Registration>, u64), CallError> {
    let Filter { tenant, route } = filter;
    let mut list = ListObjects {
        tenant,
        route,
        after: None,
    };
    let mut objects: Vec<Registration> = Vec::new();
    loop {
        let question = FleetMessage::List(list.clone());
        let FleetAnswer::Objects(page) = to.fleet(&question).await? else {
            return Err(unexpected());
        };
        let is_last = page.objects.is_empty() || page.left == 0;
        objects.extend(page.objects);
        if is_last || objects.len() >= ASKED_MAX {
            return Ok((objects, page.left));
        }
        list.after = objects.last().map(|object| object.name.clone());
    }
}

/// An answer to another question: the fleet is of another version.
pub(crate) fn unexpected() -> CallError {
    CallError::Failed(String::from("an answer to another question"))
}
