//! One request at a protected route, from its key to its answer: *begin*, dispatch, report (design: "One request, room
//! by room").
//!
//! It decides nothing: the object says whether the request runs, `shared::classify` what the origin's answer means. It
//! dispatches at most once (A4), and whatever a report meets, it never claims again (L3).

use shared::classify::{OriginAnswer, Verdict, classify};
use shared::fingerprint::Fingerprint;
use shared::placement::{OperationId, Place};
use shared::policy::{Kind, LEASE_MARGIN, Route, Tier};
use shared::problem::Code;
use shared::record::{AttemptId, UnknownCause};
use shared::scope::OperationKey;
use shared::time::{Millis, Timestamp};
use worker::Response;

use crate::headers::{self, HeaderList};
use crate::message::{Answer, Ask, Call, Ended, OutcomeHead, Token, VERSION};
use crate::object_client::{CallError, PATIENCE};
use crate::origin::{self, Arrival, Dispatch};
use crate::respond::{self, Problem};
use crate::site::Site;
use crate::telemetry::{Level, event};
use crate::{clock, entropy, handlers};

mod answers;
mod report;

/// The least time for which it is worth asking an origin; with less the claim is given back (L2).
const DISPATCH_MIN: Millis = Millis::new(50);

/// How long an object that did not answer *begin* is told that the token is given up: as long as the platform lets work go
/// on after the answer. <https://developers.cloudflare.com/workers/runtime-apis/context/#waituntil>
const ABANDON_SPAN: Millis = Millis::from_secs(30);

/// A request at a protected route, as typed values.
pub(crate) struct Attempt<'a> {
    /// What is around it.
    pub(crate) site: &'a Site,
    /// The route that it came by.
    pub(crate) route: &'a Route,
    /// Where its operation lives.
    pub(crate) place: Place,
    /// Its key.
    pub(crate) key: OperationKey,
    /// What it looks like.
    pub(crate) fingerprint: Fingerprint,
    /// When the key was minted, where it says so.
    pub(crate) minted_at: Option<Timestamp>,
    /// How long the client waits, where it says so (A4).
    pub(crate) patience: Option<Millis>,
    /// What the origin is sent.
    pub(crate) outgoing: Outgoing,
    /// A fault that a test asks for.
    pub(crate) fault: Option<String>,
}

/// What the origin is sent, without what an attempt adds.
pub(crate) struct Outgoing {
    /// In upper case.
    pub(crate) method: String,
    /// The whole address.
    pub(crate) url: String,
    /// The client's headers that pass.
    pub(crate) headers: HeaderList,
    /// The body.
    pub(crate) body: Vec<u8>,
}

/// The right to run, as the Worker holds it.
pub(crate) struct Held {
    token: AttemptId,
    number: u64,
    /// Whether an attempt before this one may have run.
    took_over: bool,
    /// When *begin* was sent. The lease runs at least until then and its span, by whichever clock (L2).
    since: Timestamp,
    lease: Millis,
}

/// Takes a request from its key to its answer.
pub(crate) async fn run(attempt: Attempt<'_>) -> Response {
    let Ok(token) = entropy::attempt_token() else {
        event(Level::Error, "no_entropy", &[]);
        return respond::internal();
    };
    let since = clock::now();
    let begin = attempt.begin(token);
    let patience = Millis::new(PATIENCE.get() + attempt.route.policy().wait().get());
    #[cfg(feature = "testing")]
    crate::testing::maybe_twice(&attempt, &begin, &[], "begin-twice").await;
    match attempt.site.objects.ask(&begin, &[], patience).await {
        Ok((
            Answer::Execute {
                number,
                lease,
                took_over,
            },
            _,
        )) => {
            let held = Held {
                token,
                number,
                took_over,
                since,
                lease,
            };
            attempt.execute(held).await
        }
        Ok((answer, body)) => attempt.refused(answer, body),
        Err(error) => attempt.not_begun(token, &error).await,
    }
}

impl Attempt<'_> {
    /// The operation's public id.
    pub(crate) fn id(&self) -> OperationId {
        OperationId::new(&self.place, &self.key)
    }

    fn kind(&self) -> Kind {
        self.route.policy().kind()
    }

    fn call(&self, ask: Ask) -> Call {
        Call {
            v: VERSION,
            tenant: self.place.tenant.clone(),
            route: self.place.route.clone(),
            shard: self.place.shard,
            policy: Some(self.route.policy()),
            ask,
            fault: self.fault.clone(),
        }
    }

    fn begin(&self, token: AttemptId) -> Call {
        let wait = self.route.policy().wait();
        self.call(Ask::Begin {
            key: self.key.clone(),
            token: Token(token),
            fingerprint: self.fingerprint,
            minted_at: self.minted_at,
            wait: self.patience.map_or(wait, |left| left.min(wait)),
        })
    }

    /// *begin* was not answered, or the object failed: the token is given up, so that a *begin* that still arrives claims
    /// nothing (L7), and nothing is sent (fail closed), unless the route lets requests pass then (G).
    async fn not_begun(&self, token: AttemptId, error: &CallError) -> Response {
        let id = self.id();
        event(
            Level::Error,
            "not_begun",
            &[("operation", &id), ("error", error)],
        );
        let (key, token) = (self.key.clone(), Token(token));
        report::in_background(
            self.site,
            self.call(Ask::Abandon { key, token }),
            ABANDON_SPAN,
        );
        match (error, self.route.tier()) {
            // A panic is a defect and no outage: the same request would meet it at each retry, and run each time.
            (CallError::Panicked, Tier::Full | Tier::BestEffort) => Problem::new(
                Code::Internal,
                "the object that keeps this operation failed; nothing was sent on",
            )
            .about(&id)
            .response(),
            (CallError::Unanswered | CallError::Failed(_), Tier::BestEffort) => {
                match self.time_within(self.route.timeout()) {
                    Some(deadline) => self.pass_unprotected(deadline).await,
                    None => self.store_unavailable(),
                }
            }
            (CallError::Unanswered | CallError::Failed(_), Tier::Full) => self.store_unavailable(),
        }
    }

    fn store_unavailable(&self) -> Response {
        Problem::new(
            Code::StoreUnavailable,
            "the operation could not be claimed; nothing was sent on",
        )
        .retry_after(Millis::from_secs(1))
        .about(&self.id())
        .response()
    }

    /// G: sends it to the origin, once (A4), under no claim. Nothing of the answer is kept, so a retry may run again. No
    /// attempt is named, for an origin must not take it for one that it can fence.
    async fn pass_unprotected(&self, deadline: Millis) -> Response {
        let id = self.id();
        event(Level::Warn, "passed_unprotected", &[("operation", &id)]);
        let tenant = &self.place.tenant;
        handlers::api::note(self.site, self.route, tenant, Ended::Unprotected, false);
        match origin::send(self.dispatch(None, deadline)).await {
            Arrival::Answered(answer) => return self.unkept(answer, Some("unprotected")),
            Arrival::Timeout => {}
            Arrival::BrokenLine(why) => self.note_broken_line(&why),
        }
        handlers::passing::unanswered()
            .about(&id)
            .header(headers::STATUS, "unprotected")
            .response()
    }

    /// Sends it to the origin, once, and reports what came of it.
    async fn execute(&self, held: Held) -> Response {
        let Some(deadline) = self.time_left(&held) else {
            return self.gave_back(&held).await;
        };
        let sent_at = clock::now();
        let arrival = origin::send(self.dispatch(Some(&held), deadline)).await;
        let latency = clock::now().since(sent_at);
        let answer = match arrival {
            Arrival::Answered(answer) => answer,
            Arrival::Timeout => return self.suspend(&held, UnknownCause::Timeout, latency).await,
            Arrival::BrokenLine(why) => {
                self.note_broken_line(&why);
                return self.suspend(&held, UnknownCause::BrokenLine, latency).await;
            }
        };
        let said = answer
            .headers
            .iter()
            .find(|(name, _)| name == headers::OUTCOME);
        let judged = OriginAnswer {
            status: answer.status,
            outcome: said.map(|(_, value)| value.as_str()),
        };
        match classify(self.kind(), judged, self.route.verdict_moved(answer.status)) {
            Verdict::Final => self.complete(&held, answer, latency).await,
            Verdict::NotRun => self.release(&held, answer, latency).await,
            Verdict::Unknown(cause) => self.suspend(&held, cause, latency).await,
        }
    }

    /// L2: what is left of the lease and of the client's patience, and no more than the route's timeout.
    fn time_left(&self, held: &Held) -> Option<Millis> {
        let lease = held.lease.saturating_sub(clock::now().since(held.since));
        let lease = lease.saturating_sub(LEASE_MARGIN);
        self.time_within(self.route.timeout().min(lease))
    }

    /// What is left of the client's patience, and no more than `most`; nothing if it is not worth asking (A4).
    fn time_within(&self, most: Millis) -> Option<Millis> {
        let waited = clock::now().since(self.site.now);
        let left = match self.patience {
            Some(patience) => most.min(patience.saturating_sub(waited)),
            None => most,
        };
        (left >= DISPATCH_MIN).then_some(left)
    }

    fn note_broken_line(&self, why: &str) {
        event(
            Level::Warn,
            "broken_line",
            &[("operation", &self.id()), ("error", &why)],
        );
    }

    /// L4; without a claim there is no attempt to name.
    fn dispatch(&self, held: Option<&Held>, deadline: Millis) -> Dispatch {
        let mut sent = self.outgoing.headers.clone();
        let mut add = |name: &str, value: String| sent.push((String::from(name), value));
        add(headers::OPERATION, self.id().to_string());
        if let Some(held) = held {
            add(headers::ATTEMPT, held.token.to_string());
            add(headers::ATTEMPT_NUMBER, held.number.to_string());
        }
        add(headers::DEADLINE, deadline.get().to_string());
        add(headers::TENANT, self.place.tenant.to_string());
        Dispatch {
            url: self.outgoing.url.clone(),
            method: self.outgoing.method.clone(),
            headers: sent,
            body: self.outgoing.body.clone(),
            deadline,
        }
    }

    async fn complete(&self, held: &Held, answer: origin::Answer, latency: Millis) -> Response {
        let heard = headers::to_caller(answer.headers);
        let (body, omitted) = match answer.body {
            Some(body) if body.len() <= self.route.outcome_body_max() => (Some(body), None),
            Some(body) => {
                let bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
                (Some(body), Some(bytes)) // A2: the first caller gets it all the same
            }
            None => (
                None,
                Some(u64::try_from(origin::ANSWER_BYTES_MAX).unwrap_or(u64::MAX)),
            ),
        };
        let outcome = OutcomeHead {
            status: answer.status,
            headers: headers::to_record(heard.clone()),
            omitted,
        };
        let (key, token) = (self.key.clone(), Token(held.token));
        let call = self.call(Ask::Complete {
            key,
            token,
            outcome,
            latency,
        });
        let kept = if omitted.is_none() {
            body.clone().unwrap_or_default()
        } else {
            Vec::new()
        };
        match report::report(self, held, call, kept).await {
            Ok((Answer::Recorded { expires_at }, _)) => {
                self.created(answer.status, &heard, body, expires_at)
            }
            Ok(_superseded) => self.look().await,
            Err(_) => self.unknown_now("the outcome could not be kept yet"),
        }
    }

    async fn release(&self, held: &Held, answer: origin::Answer, latency: Millis) -> Response {
        let (key, token) = (self.key.clone(), Token(held.token));
        let (status, latency) = (Some(answer.status), Some(latency));
        let call = self.call(Ask::Release {
            key,
            token,
            status,
            latency,
        });
        match report::report(self, held, call, Vec::new()).await {
            // U4: an earlier attempt may have run, so this failure is not the operation's. A webhook's sender hears of it
            // all the same, for it sends again (P3).
            Ok((Answer::Unknown { cause, retry }, _)) => match self.kind() {
                Kind::Api => self.unknown_still(cause.into(), retry),
                Kind::Webhook => self.unkept(answer, None),
            },
            Err(_) if held.took_over && self.kind() == Kind::Api => {
                self.unknown_now("this attempt did not run, and an earlier one may have")
            }
            // Nothing ran: that much is certain, whether the object has heard of it or not.
            Ok((Answer::Released, _)) | Err(_) => self.unkept(answer, Some("released")),
            Ok(_superseded) => self.look().await,
        }
    }

    async fn suspend(&self, held: &Held, cause: UnknownCause, latency: Millis) -> Response {
        let (key, token) = (self.key.clone(), Token(held.token));
        let ask = Ask::Suspend {
            key,
            token,
            cause: cause.into(),
            latency: Some(latency),
        };
        match report::report(self, held, self.call(ask), Vec::new()).await {
            Ok((Answer::Suspended, _)) | Err(_) => self.unknown_now(&cause.to_string()),
            Ok(_superseded) => self.look().await,
        }
    }

    /// Too little time is left to ask the origin: the claim is given back, and nothing was sent (L2).
    async fn gave_back(&self, held: &Held) -> Response {
        let (key, token) = (self.key.clone(), Token(held.token));
        let call = self.call(Ask::Release {
            key,
            token,
            status: None,
            latency: None,
        });
        let _given_back_now_or_in_background = report::report(self, held, call, Vec::new()).await;
        Problem::new(
            Code::StoreUnavailable,
            "too little time was left to ask the origin; nothing was sent on",
        )
        .about(&self.id())
        .retry_after(Millis::from_secs(1))
        .response()
    }

    /// L3: somebody else's attempt counts now. This caller is answered from the record, and never claims again.
    async fn look(&self) -> Response {
        let (key, fingerprint) = (self.key.clone(), Some(self.fingerprint));
        let call = self.call(Ask::Look { key, fingerprint });
        match self.site.objects.ask(&call, &[], PATIENCE).await {
            Ok((Answer::Absent, _)) | Err(_) => {
                self.unknown_now("another attempt took over, and its outcome is not known here")
            }
            Ok((answer, body)) => self.refused(answer, body),
        }
    }
}
