//! What the caller of a protected route is answered (contract A and B), once it is known.

use shared::policy::Kind;
use shared::problem::Code;
use shared::record::UnknownCause;
use shared::time::{Millis, Timestamp};
use worker::Response;

use super::Attempt;
use crate::headers::{self, HeaderList};
use crate::message::Answer;
use crate::origin;
use crate::respond::{self, Problem};
use crate::telemetry::{Level, event};

/// When to ask again about an outcome that a person must settle.
const PARKED_RETRY: Millis = Millis::from_mins(1);

impl Attempt<'_> {
    /// The request does not run: what the object said instead.
    pub(super) fn refused(&self, answer: Answer, body: Vec<u8>) -> Response {
        let id = self.id();
        match answer {
            Answer::Replay {
                outcome,
                expires_at,
                ..
            } => respond::replay(outcome.with(body), expires_at, &id),
            // A twin that did not run leaves nothing to answer from; the caller comes again and runs.
            Answer::Running { .. } | Answer::Absent => {
                let detail = "the same request is still running; send it again with the same key";
                let problem = Problem::new(Code::InProgress, detail).about(&id);
                let problem = problem.retry_after(Millis::from_secs(1));
                match self.kind() {
                    Kind::Api => problem,
                    Kind::Webhook => problem.with_status(503), // B: never 2xx
                }
                .response()
            }
            Answer::Mismatch => {
                let detail =
                    "this key names a request with another method, path, media type or body";
                Problem::new(Code::KeyReused, detail).about(&id).response()
            }
            Answer::Unknown { cause, retry } => self.unknown_still(cause.into(), retry),
            Answer::Expired => {
                let detail = "the key was minted longer ago than outcomes are kept, and there is no record of it";
                Problem::new(Code::KeyExpired, detail).about(&id).response()
            }
            Answer::FromTheFuture => {
                let detail = "the key's own time lies more than 5 minutes ahead";
                Problem::new(Code::KeyMalformed, detail)
                    .about(&id)
                    .response()
            }
            Answer::Abandoned => respond::unavailable(
                "the operation could not be claimed in time; nothing was sent on",
            ),
            Answer::Execute { .. }
            | Answer::Ask(_)
            | Answer::Recorded { .. }
            | Answer::Released
            | Answer::Suspended
            | Answer::Superseded
            | Answer::Status
            | Answer::Done
            | Answer::Failed { .. } => {
                event(Level::Error, "unexpected_answer", &[("operation", &id)]);
                respond::internal()
            }
        }
    }

    /// The origin works on: the client polls, or sends the same request again; a sender delivers again (L5, B).
    pub(super) fn accepted(&self) -> Response {
        let id = self.id();
        match self.kind() {
            Kind::Api => respond::accepted(&id),
            Kind::Webhook => {
                let detail = "the origin is still working on this event; deliver it again";
                let problem = Problem::new(Code::InProgress, detail).about(&id);
                let problem = problem.retry_after(Millis::from_secs(1));
                problem.with_status(503).response()
            }
        }
    }

    /// The first caller of a final outcome (A). Without a body it was larger than a Worker holds.
    pub(super) fn created(
        &self,
        status: u16,
        heard: &HeaderList,
        body: Option<Vec<u8>>,
        expires_at: Option<Timestamp>,
    ) -> Response {
        let (id, expires) = (self.id().to_string(), expires_at.map(|at| at.to_string()));
        let mut ours = vec![
            (headers::STATUS, "created"),
            (headers::OPERATION, id.as_str()),
        ];
        ours.extend(expires.as_deref().map(|at| (headers::EXPIRES, at)));
        if body.is_none() {
            ours.push((headers::BODY, "omitted"));
        }
        respond::origin_answer(status, heard, &ours, body.unwrap_or_default())
    }

    /// The origin's own answer, of which nothing is kept: the request did not run (P3, U1), or under no claim (G).
    pub(super) fn unkept(&self, answer: origin::Answer, status: Option<&str>) -> Response {
        let id = self.id().to_string();
        let mut ours = vec![(headers::OPERATION, id.as_str())];
        ours.extend(status.map(|status| (headers::STATUS, status)));
        if answer.body.is_none() {
            ours.push((headers::BODY, "omitted"));
        }
        let heard = headers::to_caller(answer.headers);
        respond::origin_answer(
            answer.status,
            &heard,
            &ours,
            answer.body.unwrap_or_default(),
        )
    }

    /// To the request that found out: 503, which retry loops repeat (A).
    pub(super) fn unknown_now(&self, why: &str) -> Response {
        let id = self.id();
        Problem::new(
            Code::OutcomeUnknown,
            format!("the outcome is unknown: {why}"),
        )
        .about(&id)
        .retry_after(Millis::from_secs(2))
        .located(&id)
        .response()
    }

    /// To a retry: 409, because it has to wait (A); to a webhook's sender 503, so that it sends again (B).
    pub(super) fn unknown_still(&self, cause: UnknownCause, retry: Option<Millis>) -> Response {
        let id = self.id();
        let problem = Problem::new(
            Code::OutcomeUnknown,
            format!("the outcome is unknown: {cause}"),
        )
        .about(&id)
        .retry_after(retry.unwrap_or(PARKED_RETRY))
        .located(&id);
        match self.kind() {
            Kind::Api => problem.with_status(409),
            Kind::Webhook => problem,
        }
        .response()
    }
}
