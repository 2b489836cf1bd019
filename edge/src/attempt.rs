//! One request at a protected route, from its key to its answer: *begin*, dispatch, report (design: "One request, room
//! by room").
//!
//! It decides nothing: the object says whether the request runs, `shared::classify` what the origin's answer means. It
//! dispatches at most once (A4), and whatever a report meets, it never claims again (L3).

use shared::fingerprint::Fingerprint;
use shared::placement::{OperationId, Place};
use shared::policy::{Kind, Route, Tier};
use shared::problem::Code;
use shared::record::{AttemptId, UnknownCause};
use shared::scope::OperationKey;
use shared::time::{Millis, Timestamp};
use worker::Response;

use crate::dispatch::{self, Final, Judged, Told};
use crate::headers::{self, HeaderList};
use crate::message::{Answer, Ask, Call, Ended, Question, Token, VERSION};
use crate::object_client::{CallError, PATIENCE};
use crate::origin::{self, Arrival, Dispatch};
use crate::probing;
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
    /// The origin's address, without a slash at its end.
    pub(crate) origin: String,
    /// The path and the query.
    pub(crate) target: String,
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
    /// How far an attempt before said it came.
    point: Option<String>,
    /// When *begin* was sent. The lease runs at least until then and its span, by whichever clock (L2).
    since: Timestamp,
    lease: Millis,
}

/// Takes a request from its key to its answer.
pub(crate) async fn run(attempt: Attempt<'_>) -> Response {
    for _the_first_may_only_ask in 0..2 {
        if let Begun::Answered(response) = attempt.begin().await {
            return response;
        }
    }
    attempt.unknown_now("the origin was asked, and another request came in between")
}

/// How far a request came at once.
enum Begun {
    /// To its answer.
    Answered(Response),
    /// The origin was asked and says that nothing ran: the request may begin anew. It has dispatched nothing yet (A4).
    NotRun,
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

    async fn begin(&self) -> Begun {
        let Ok(token) = entropy::attempt_token() else {
            event(Level::Error, "no_entropy", &[]);
            return Begun::Answered(respond::internal());
        };
        // A client without time is refused before its claim: a take-over for nothing would fence an origin off that works.
        if self.time_within(self.route.timeout()).is_none() {
            return Begun::Answered(self.no_time());
        }
        let since = clock::now();
        let (begin, request) = self.begin_call(token);
        let patience = Millis::new(PATIENCE.get() + self.route.policy().wait().get());
        #[cfg(feature = "testing")]
        crate::testing::maybe_twice(self, &begin, &request, "begin-twice").await;
        Begun::Answered(
            match self.site.objects.ask(&begin, &request, patience).await {
                Ok((
                    Answer::Execute {
                        number,
                        lease,
                        took_over,
                        point,
                    },
                    _,
                )) => {
                    let held = Held {
                        token,
                        number,
                        took_over,
                        point,
                        since,
                        lease,
                    };
                    self.execute(held).await
                }
                Ok((Answer::Ask(question), _)) => return self.ask_origin(token, question).await,
                Ok((answer, body)) => self.refused(answer, body),
                Err(error) => self.not_begun(token, &error).await,
            },
        )
    }

    /// The message, and what the resolver would send, which follows it.
    fn begin_call(&self, token: AttemptId) -> (Call, Vec<u8>) {
        let Outgoing {
            method,
            target,
            headers,
            body,
            ..
        } = &self.outgoing;
        let begin = self.call(Ask::Begin {
            key: self.key.clone(),
            token: Token(token),
            fingerprint: self.fingerprint,
            minted_at: self.minted_at,
            wait: self.wait(),
        });
        let kept = dispatch::to_keep(self.route, method, target, headers, body);
        (begin, kept)
    }

    /// How long the caller waits for somebody else.
    fn wait(&self) -> Millis {
        let wait = self.route.policy().wait();
        self.patience.map_or(wait, |left| left.min(wait))
    }

    /// Nobody knows what came of an attempt before: the origin is asked, and its explicit word settles it (U3).
    async fn ask_origin(&self, token: AttemptId, question: Question) -> Begun {
        let place = &self.place;
        let settings = &self.site.settings;
        let deadline = self
            .time_within(self.route.timeout())
            .unwrap_or(DISPATCH_MIN);
        let (id, tenant) = (self.id(), &place.tenant);
        let asked = probing::ask(settings, self.route, &id, tenant, &question, deadline).await;
        let (finding, answer) = (asked.finding, asked.done);
        let (key, token) = (self.key.clone(), Token(token));
        let kept = answer.as_ref().map_or(&[][..], |answer| &answer.kept);
        let call = self.call(Ask::Probed {
            key,
            token,
            finding,
        });
        let told = self.site.objects.ask(&call, kept, PATIENCE).await;
        Begun::Answered(match (told, answer) {
            (Ok((Answer::Recorded { expires_at }, _)), Some(answer)) => {
                respond::replay(answer.outcome.with(answer.kept), expires_at, &self.id())
            }
            (Ok((Answer::Released, _)), _) => return Begun::NotRun,
            (Ok((Answer::Unknown { cause, retry }, _)), _) => {
                self.unknown_still(cause.into(), retry)
            }
            (Ok(_superseded), _) => self.look().await,
            (Err(_), _) => {
                self.unknown_now("the origin was asked, and what it said could not be kept")
            }
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
            Arrival::BrokenLine(why) => dispatch::note_broken_line(&id.to_string(), &why),
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
        #[cfg(feature = "testing")]
        crate::testing::pass("before-dispatch").await;
        let sent_at = clock::now();
        let arrival = origin::send(self.dispatch(Some(&held), deadline)).await;
        #[cfg(feature = "testing")]
        crate::testing::pass("answer-received").await;
        let latency = clock::now().since(sent_at);
        match dispatch::judge(self.route, &self.id().to_string(), arrival) {
            Judged::Final(done) => self.complete(&held, done, latency).await,
            Judged::NotRun(answer) => self.release(&held, answer, latency).await,
            Judged::Unknown { cause, reference } => {
                self.suspend(&held, cause, reference, latency).await
            }
            Judged::Pending { reference } => self.pending(&held, reference).await,
        }
    }

    /// L2: what is left of the lease and of the client's patience, and no more than the route's timeout.
    fn time_left(&self, held: &Held) -> Option<Millis> {
        let lease = held.lease.saturating_sub(clock::now().since(held.since));
        self.time_within(self.route.time_within(lease))
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

    /// L4; without a claim there is no attempt to name.
    fn dispatch(&self, held: Option<&Held>, deadline: Millis) -> Dispatch {
        let Outgoing {
            method,
            origin,
            target,
            headers,
            body,
        } = &self.outgoing;
        let told = Told {
            operation: self.id().to_string(),
            attempt: held.map(|held| (held.token, held.number)),
            deadline,
            tenant: self.place.tenant.as_str(),
            point: held.and_then(|held| held.point.clone()),
        };
        let mut headers = headers.clone();
        headers.extend(told.headers());
        Dispatch {
            url: format!("{origin}{target}"),
            method: method.clone(),
            headers,
            body: body.clone(),
            deadline,
        }
    }

    async fn complete(&self, held: &Held, done: Final, latency: Millis) -> Response {
        let (key, token) = (self.key.clone(), Token(held.token));
        let status = done.outcome.status;
        let call = self.call(Ask::Complete {
            key,
            token,
            outcome: done.outcome,
            reference: done.reference,
            latency,
        });
        match report::report(self, held, call, done.kept).await {
            Ok((Answer::Recorded { expires_at }, _)) => {
                self.created(status, &done.heard, done.body, expires_at)
            }
            Ok(_superseded) => self.look().await,
            Err(_) => self.unknown_now("the outcome could not be kept yet"),
        }
    }

    /// The origin works on and completes by itself: its caller waits a moment, and then comes back for it (L5).
    async fn pending(&self, held: &Held, reference: Option<String>) -> Response {
        let (key, token) = (self.key.clone(), Token(held.token));
        let wait = self.wait();
        let call = self.call(Ask::Pending {
            key,
            token,
            reference,
            wait,
        });
        let patience = Millis::new(PATIENCE.get() + wait.get());
        match self.site.objects.ask(&call, &[], patience).await {
            Ok((Answer::Running { .. }, _)) | Err(_) => self.accepted(),
            Ok((answer, body)) => self.refused(answer, body),
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

    async fn suspend(
        &self,
        held: &Held,
        cause: UnknownCause,
        reference: Option<String>,
        latency: Millis,
    ) -> Response {
        let (key, token) = (self.key.clone(), Token(held.token));
        let ask = Ask::Suspend {
            key,
            token,
            cause: cause.into(),
            reference,
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
        self.no_time()
    }

    fn no_time(&self) -> Response {
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
            Ok((Answer::Absent, _)) => {
                self.unknown_now("this attempt was ended by a report or a settlement")
            }
            Err(_) => {
                self.unknown_now("another attempt took over, and its outcome is not known here")
            }
            Ok((answer, body)) => self.refused(answer, body),
        }
    }
}
