//! Settling by hand over HTTP (U6): one or many, by id or by what the origin last answered, with a preview.

use shared::audit::REASON_CHARS_MAX;
use shared::placement::OperationId;
use shared::policy::OUTCOME_BODY_MAX;
use shared::problem::Code;
use shared::wire::{
    Session, SettleAs, SettlementResult, SettlementWord, Settlements, SettlementsDone,
};
use worker::Response;

use crate::body::{self, Body};
use crate::fan_out::{self, Filter};
use crate::message_fleet::Registration;
use crate::message_operator::{OperatorAnswer, OperatorMessage, Order, Preview, SettleMany};
use crate::object::SETTLED_MAX;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;

use super::operator::{fleet_silent, object_of};

/// The most bytes of a request (X5): an outcome's body, escaped, and the ids.
const BYTES_MAX: usize = 2 * OUTCOME_BODY_MAX;

/// Settles what the request names. Who asks has the role that it takes.
pub(crate) async fn handle(
    mut inbound: Inbound,
    session: &Session,
    site: &Site,
) -> Result<Response, Response> {
    let asked: Settlements = match body::read(inbound.body.take(), BYTES_MAX).await {
        Body::Whole(bytes) => {
            shared::json::read(&bytes).map_err(|error| malformed(&error.to_string()))?
        }
        Body::TooLarge(_) => {
            let detail = format!("a settlement has {BYTES_MAX} bytes at most");
            return Err(respond::problem(Code::BodyTooLarge, &detail));
        }
        Body::Broken(_) => return Err(malformed("the body ended before it was whole")),
    };
    let order = SettleMany {
        operations: Vec::new(),
        last_answer: None,
        order: order(&asked)?,
        reason: reason(&asked.reason)?,
        operator: session.name.clone(),
        preview: if asked.preview {
            Preview::Only
        } else {
            Preview::No
        },
    };
    let done = match (asked.matching, asked.operations.as_slice()) {
        (Some(matching), []) => {
            let filter = Filter {
                tenant: matching.tenant,
                route: matching.route,
            };
            let last_answer = Some(matching.last_answer);
            let order = SettleMany {
                last_answer,
                ..order
            };
            all(filter, order, site).await?
        }
        (None, ids @ [_, ..]) => named(ids, &order, site).await?,
        (Some(_), [_, ..]) | (None, []) => {
            return Err(malformed(
                "name either operations, by their ids, or where: { last_answer }",
            ));
        }
    };
    Ok(respond::json(200, &done))
}

fn order(asked: &Settlements) -> Result<Order, Response> {
    match (asked.settle_as, &asked.outcome) {
        (SettleAs::Succeeded, Some(outcome)) if !(200..600).contains(&outcome.status) => {
            let found = outcome.status;
            Err(malformed(&format!(
                "outcome.status {found} is not within 200 and 599"
            )))
        }
        (SettleAs::Succeeded, Some(outcome)) if outcome.body.len() > OUTCOME_BODY_MAX => {
            let found = outcome.body.len();
            Err(malformed(&format!(
                "outcome.body has {found} bytes, more than {OUTCOME_BODY_MAX}"
            )))
        }
        (SettleAs::Succeeded, Some(outcome)) => {
            let media = outcome.content_type.as_deref().unwrap_or_default();
            if !media.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                return Err(malformed("outcome.content_type is not visible ASCII"));
            }
            Ok(Order::Succeeded(outcome.clone()))
        }
        (SettleAs::Succeeded, None) => Err(malformed(
            "as: \"succeeded\" needs an outcome, which every retry is answered",
        )),
        (SettleAs::DidNotHappen | SettleAs::TryAgain, Some(_)) => {
            Err(malformed("only as: \"succeeded\" has an outcome"))
        }
        (SettleAs::DidNotHappen, None) => Ok(Order::DidNotHappen),
        (SettleAs::TryAgain, None) => Ok(Order::TryAgain),
    }
}

fn reason(given: &str) -> Result<String, Response> {
    let reason = given.trim();
    match reason.chars().count() {
        0 => Err(malformed("a settlement needs a reason, which is logged")),
        found if found > REASON_CHARS_MAX => Err(malformed(&format!(
            "the reason has {found} characters, more than {REASON_CHARS_MAX}"
        ))),
        _ => Ok(String::from(reason)),
    }
}

async fn all(filter: Filter, order: SettleMany, site: &Site) -> Result<SettlementsDone, Response> {
    let question = OperatorMessage::Settle(order);
    let answers = fan_out::ask(&site.objects, filter, &question)
        .await
        .map_err(|error| fleet_silent(&error))?;
    let mut done = SettlementsDone {
        objects_silent: answers.silent,
        ..SettlementsDone::default()
    };
    for (_object, answer) in answers.answers {
        take(&mut done, answer, &[]);
    }
    Ok(done)
}

/// Each object settles what it keeps; what is no id, or of no object, has nothing to settle.
async fn named(
    ids: &[String],
    order: &SettleMany,
    site: &Site,
) -> Result<SettlementsDone, Response> {
    if ids.len() > SETTLED_MAX {
        let found = ids.len();
        return Err(malformed(&format!(
            "{found} operations are more than {SETTLED_MAX}"
        )));
    }
    let mut done = SettlementsDone::default();
    let mut by_object: Vec<(OperationId, Vec<String>)> = Vec::new();
    for text in ids {
        match OperationId::parse(text) {
            None => done
                .results
                .push(unsettled(text, SettlementWord::NothingToSettle)),
            Some(id) => match by_object
                .iter_mut()
                .find(|(known, _)| known.object == id.object)
            {
                Some((_, of_it)) => of_it.push(text.clone()),
                None => by_object.push((id, vec![text.clone()])),
            },
        }
    }
    for (first, of_it) in by_object {
        let Some(object) = object_of(&first, site).await? else {
            let nothing = |id: &String| unsettled(id, SettlementWord::NothingToSettle);
            done.results.extend(of_it.iter().map(nothing));
            continue;
        };
        let answer = settle_in(&object, of_it.clone(), order, site).await;
        take(&mut done, answer, &of_it);
    }
    Ok(done)
}

async fn settle_in(
    object: &Registration,
    operations: Vec<String>,
    order: &SettleMany,
    site: &Site,
) -> OperatorAnswer {
    let question = OperatorMessage::Settle(SettleMany {
        operations,
        ..order.clone()
    });
    let answer = fan_out::ask_one(&site.objects, object, &question).await;
    answer.unwrap_or_else(|| OperatorAnswer::Failed(String::new()))
}

/// Adds what one object answered; `asked` is what it was asked to settle, where it was named.
fn take(done: &mut SettlementsDone, answer: OperatorAnswer, asked: &[String]) {
    match answer {
        OperatorAnswer::Settled { results, more } => {
            done.results.extend(results);
            done.more |= more;
        }
        OperatorAnswer::Overview { .. }
        | OperatorAnswer::Totals { .. }
        | OperatorAnswer::Operations(_)
        | OperatorAnswer::Unknown { .. }
        | OperatorAnswer::Audit(_)
        | OperatorAnswer::Ticked
        | OperatorAnswer::Failed(_) => {
            done.objects_silent = done.objects_silent.saturating_add(1);
            let failed = |id: &String| unsettled(id, SettlementWord::Failed);
            done.results.extend(asked.iter().map(failed));
        }
    }
}

fn unsettled(id: &str, result: SettlementWord) -> SettlementResult {
    let detail = match result {
        SettlementWord::Failed => {
            "The object that keeps it did not answer; look before you settle it again."
        }
        SettlementWord::Settled | SettlementWord::Running | SettlementWord::NothingToSettle => {
            "There is no record of it."
        }
    };
    SettlementResult {
        operation: String::from(id),
        key: String::new(),
        result,
        detail: String::from(detail),
    }
}

fn malformed(detail: &str) -> Response {
    respond::problem(Code::RequestMalformed, detail)
}
