//! Keeps an answer fresh: asks, shows, and asks again while somebody looks.
//!
//! The last good answer stays while a later one fails, and is marked as old. One question is under way at a time; an
//! answer to a question that is no longer asked is dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use shared::time::{Millis, Timestamp};

use crate::api::Failure;
use crate::browser;
use crate::view::link;

/// Between an answer and the next question.
const PAUSE: Duration = Duration::from_secs(2);
/// The same after failures: it doubles up to this, so that a gateway in trouble is not hammered by dashboards.
const PAUSE_MAX: Duration = Duration::from_secs(16);
const TICK: Duration = Duration::from_secs(1);

/// The browser's clock, ticking once a second while the page can be seen.
#[derive(Clone, Copy)]
pub(crate) struct Clock(RwSignal<Timestamp>);

impl Clock {
    /// Starts it, for all below.
    pub(crate) fn provide() {
        let clock = RwSignal::new(browser::now());
        let tick = move || {
            if browser::is_visible() {
                clock.set(browser::now());
            }
        };
        if let Ok(ticking) = set_interval_with_handle(tick, TICK) {
            on_cleanup(move || ticking.clear());
        }
        provide_context(Self(clock));
    }

    fn get(self) -> Timestamp {
        self.0.get()
    }
}

/// What a page has to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Asked for the first time.
    Loading,
    /// Nothing to show, because of this.
    Failed(Failure),
    /// There is an answer.
    Ready,
}

type Asking<T> = Pin<Box<dyn Future<Output = Result<T, Failure>>>>;

/// A question with its latest answer.
pub(crate) struct Live<Q: Send + Sync + 'static, T: 'static> {
    question: Memo<Q>,
    answer: RwSignal<Option<Answer<Q, T>>>,
    failure: RwSignal<Option<Failure>>,
    clock: Clock,
    ask: StoredValue<Arc<dyn Fn(Q) -> Asking<T> + Send + Sync>>,
    round: StoredValue<Round>,
    sign_in: StoredValue<Arc<dyn Fn() + Send + Sync>>,
}

impl<Q: Send + Sync + 'static, T: 'static> Clone for Live<Q, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Q: Send + Sync + 'static, T: 'static> Copy for Live<Q, T> {}

#[derive(Clone)]
struct Answer<Q, T> {
    question: Q,
    value: T,
    /// By the browser's clock.
    arrived: Timestamp,
    /// By the gateway's clock, where it told.
    gateway_now: Option<Timestamp>,
}

#[derive(Clone, Copy, Default)]
struct Round {
    /// Counts questions; an answer to an earlier one is dropped.
    number: u64,
    failures: u32,
    timer: Option<TimeoutHandle>,
}

/// Something that may tell the gateway's time.
pub(crate) trait Dated {
    /// The gateway's clock when it answered.
    fn gateway_now(&self) -> Option<Timestamp>;
}

/// Asks `question` by `ask`, now and whenever it changes, and again and again while the page can be seen.
pub(crate) fn use_live<Q, T, F, Fut>(question: Memo<Q>, ask: F) -> Live<Q, T>
where
    Q: Clone + PartialEq + Send + Sync + 'static,
    T: Clone + PartialEq + Dated + Send + Sync + 'static,
    F: Fn(Q) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, Failure>> + 'static,
{
    let ask: Arc<dyn Fn(Q) -> Asking<T> + Send + Sync> =
        Arc::new(move |question| Box::pin(ask(question)));
    let live = Live {
        question,
        answer: RwSignal::new(None),
        failure: RwSignal::new(None),
        clock: expect_context(),
        ask: StoredValue::new(ask),
        round: StoredValue::new(Round::default()),
        sign_in: StoredValue::new(use_sign_in()),
    };
    Effect::new(move |earlier: Option<()>| {
        question.track();
        if earlier.is_some() {
            live.failure.set(None);
        }
        live.start();
    });
    let wake = move || {
        if browser::is_visible() {
            live.start()
        } else {
            live.rest()
        }
    };
    let seen = window_event_listener_untyped("visibilitychange", move |_| wake());
    let online = window_event_listener_untyped("online", move |_| wake());
    on_cleanup(move || {
        seen.remove();
        online.remove();
        live.rest();
    });
    live
}

/// Leads to the login, and back here afterwards.
pub(crate) fn use_sign_in() -> Arc<dyn Fn() + Send + Sync> {
    let navigate = use_navigate();
    Arc::new(move || {
        let options = NavigateOptions {
            resolve: false,
            replace: true,
            ..NavigateOptions::default()
        };
        navigate(&link::login_from(&browser::address()), options);
    })
}

impl<Q, T> Live<Q, T>
where
    Q: Clone + PartialEq + Send + Sync + 'static,
    T: Clone + PartialEq + Dated + Send + Sync + 'static,
{
    /// What to draw.
    pub(crate) fn phase(self) -> Memo<Phase> {
        Memo::new(move |_| {
            let fits = self.answer.with(|answer| {
                answer
                    .as_ref()
                    .map(|answer| self.question.with(|asked| *asked == answer.question))
            });
            match (fits, self.failure.get()) {
                (Some(true), _) | (Some(false), None) => Phase::Ready,
                (None, None) => Phase::Loading,
                (None | Some(false), Some(failure)) => Phase::Failed(failure),
            }
        })
    }

    /// The answer, once there is one; it keeps its last value from then on.
    pub(crate) fn value(self) -> Option<Memo<T>> {
        let first = self
            .answer
            .with_untracked(|answer| Some(answer.as_ref()?.value.clone()))?;
        Some(Memo::new(move |_| {
            self.answer.with(|answer| {
                answer
                    .as_ref()
                    .map_or_else(|| first.clone(), |answer| answer.value.clone())
            })
        }))
    }

    /// Whether what is shown answers an earlier question.
    pub(crate) fn is_pending(self) -> Signal<bool> {
        Signal::derive(move || {
            let pending = |answer: &Answer<Q, T>| self.question.with(|q| *q != answer.question);
            self.answer
                .with(|answer| answer.as_ref().is_some_and(pending))
        })
    }

    /// Why the latest question failed, if it did.
    pub(crate) fn failure(self) -> Signal<Option<Failure>> {
        self.failure.into()
    }

    /// How old the shown answer is.
    pub(crate) fn age(self) -> Signal<Option<Millis>> {
        Signal::derive(move || {
            let now = self.clock.get();
            self.answer
                .with(|answer| Some(now.since(answer.as_ref()?.arrived)))
        })
    }

    /// The gateway's clock as far as it is known, ticking: what ages are measured by.
    pub(crate) fn now(self) -> Signal<Timestamp> {
        Signal::derive(move || {
            let now = self.clock.get();
            let told = self.answer.with(|answer| {
                answer
                    .as_ref()
                    .and_then(|answer| Some((answer.gateway_now?, answer.arrived)))
            });
            told.map_or(now, |(gateway, arrived)| gateway.plus(now.since(arrived)))
        })
    }

    /// Asks now.
    pub(crate) fn start(self) {
        let Some(ask) = self.ask.try_get_value() else {
            return;
        };
        let Some(question) = self.question.try_get_untracked() else {
            return;
        };
        self.rest();
        self.round.update_value(|round| round.number += 1);
        let number = self.round.with_value(|round| round.number);
        spawn_local(async move {
            let result = ask(question.clone()).await;
            // Gone, or asked anew in the meantime.
            if self.round.try_with_value(|round| round.number) == Some(number) {
                self.settle(question, result);
            }
        });
    }

    fn settle(self, question: Q, result: Result<T, Failure>) {
        match result {
            Ok(value) => {
                self.round.update_value(|round| round.failures = 0);
                let gateway_now = value.gateway_now();
                let arrived = browser::now();
                self.answer.set(Some(Answer {
                    question,
                    value,
                    arrived,
                    gateway_now,
                }));
                if self.failure.with_untracked(Option::is_some) {
                    self.failure.set(None);
                }
            }
            Err(Failure::SignedOut(_)) => return self.sign_in.with_value(|sign_in| sign_in()),
            Err(failure) => {
                self.round.update_value(|round| round.failures += 1);
                self.failure.set(Some(failure));
            }
        }
        if browser::is_visible() {
            self.schedule();
        }
    }

    fn schedule(self) {
        let failures = self.round.with_value(|round| round.failures);
        let pause = PAUSE.saturating_mul(1 << failures.min(8)).min(PAUSE_MAX);
        let timer = set_timeout_with_handle(move || self.start(), pause).ok();
        self.round.update_value(|round| round.timer = timer);
    }
}

impl<Q: Send + Sync + 'static, T: 'static> Live<Q, T> {
    /// Stops asking until somebody looks again.
    fn rest(self) {
        let timer = self.round.try_update_value(|round| round.timer.take());
        if let Some(Some(timer)) = timer {
            timer.clear();
        }
    }
}
