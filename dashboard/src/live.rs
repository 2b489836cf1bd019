//! Keeps an answer fresh: asks, shows, and asks again while somebody looks.
//!
//! The last good answer stays while a later one fails, and is marked as old. One question is under way at a time; an
//! answer to a question that is no longer asked is dropped. What does not depend on the answer's type is in `Poll`, so
//! that the browser downloads it once.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use shared::time::{Millis, Timestamp};

use crate::api::{self, Answer, Failure};
use crate::browser;
use crate::forms::Form;
use crate::kept::Kept;
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

/// Something that may tell the gateway's time.
pub(crate) trait Dated {
    /// The gateway's clock when it answered.
    fn gateway_now(&self) -> Option<Timestamp>;
}

/// The latest good answer; there is one once the poll is ready, and from then on.
///
/// What it is lies behind a pointer, so that the browser downloads the asking once and not once for each form.
pub(crate) struct Latest<T: 'static> {
    shown: RwSignal<Option<Shown>>,
    of: PhantomData<fn() -> T>,
}

type Shown = Arc<dyn Any + Send + Sync>;

impl<T: 'static> Clone for Latest<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for Latest<T> {}

impl<T: Send + Sync + 'static> Latest<T> {
    /// A part of it; the default of nothing before the first answer.
    pub(crate) fn with<U: Default>(self, pick: impl FnOnce(&T) -> U) -> U {
        let shown = self.shown.get();
        let shown = shown.as_ref().and_then(|shown| shown.downcast_ref());
        shown.map(pick).unwrap_or_default()
    }
}

/// Asks `address`, now and whenever it changes, and again and again while the page can be seen.
pub(crate) fn use_live<T>(address: Kept<String>) -> (Poll, Latest<T>)
where
    T: Form + Dated + Send + Sync + 'static,
{
    let shown = RwSignal::new(None);
    let latest = Latest {
        shown,
        of: PhantomData,
    };
    (Poll::start(address, shown, take::<T>), latest)
}

/// Reads an answer, and says what time the gateway told.
fn take<T>(answer: &Answer) -> Result<(Shown, Option<Timestamp>), Failure>
where
    T: Form + Dated + Send + Sync + 'static,
{
    let read: T = answer.read()?;
    let now = read.gateway_now();
    Ok((Arc::new(read), now))
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

type Take = fn(&Answer) -> Result<(Shown, Option<Timestamp>), Failure>;

/// The asking, whatever is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Poll {
    address: Kept<String>,
    answered: RwSignal<Option<Answered>>,
    failure: RwSignal<Option<Failure>>,
    clock: Clock,
    shown: RwSignal<Option<Shown>>,
    take: Take,
    round: StoredValue<Round>,
    sign_in: StoredValue<Arc<dyn Fn() + Send + Sync>>,
}

/// What is known of the shown answer beside itself.
#[derive(Clone)]
struct Answered {
    address: String,
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

impl Poll {
    fn start(address: Kept<String>, shown: RwSignal<Option<Shown>>, take: Take) -> Self {
        let poll = Self {
            address,
            answered: RwSignal::new(None),
            failure: RwSignal::new(None),
            clock: expect_context(),
            shown,
            take,
            round: StoredValue::new(Round::default()),
            sign_in: StoredValue::new(use_sign_in()),
        };
        Effect::new(move |earlier: Option<()>| {
            address.track();
            if earlier.is_some() {
                poll.failure.set(None);
            }
            poll.ask();
        });
        let wake = move |_| {
            if browser::is_visible() {
                poll.ask();
            } else {
                poll.rest();
            }
        };
        let seen = window_event_listener_untyped("visibilitychange", wake);
        let online = window_event_listener_untyped("online", wake);
        on_cleanup(move || {
            seen.remove();
            online.remove();
            poll.rest();
        });
        poll
    }

    /// What to draw.
    pub(crate) fn phase(self) -> Kept<Phase> {
        Kept::new(move |_| match (self.fits(), self.failure.get()) {
            (Some(true), _) | (Some(false), None) => Phase::Ready,
            (None, None) => Phase::Loading,
            (None | Some(false), Some(failure)) => Phase::Failed(failure),
        })
    }

    /// Whether what is shown answers an earlier question.
    pub(crate) fn is_pending(self) -> bool {
        self.fits() == Some(false)
    }

    /// Why the latest question failed, if it did.
    pub(crate) fn failure(self) -> Option<Failure> {
        self.failure.get()
    }

    /// How old the shown answer is.
    pub(crate) fn age(self) -> Option<Millis> {
        let now = self.clock.0.get();
        self.answered
            .with(|answered| Some(now.since(answered.as_ref()?.arrived)))
    }

    /// The gateway's clock as far as it is known, ticking: what ages are measured by.
    pub(crate) fn now(self) -> Signal<Timestamp> {
        Signal::derive(move || {
            let now = self.clock.0.get();
            self.answered.with(|answered| match answered {
                Some(Answered {
                    arrived,
                    gateway_now: Some(gateway),
                    ..
                }) => gateway.plus(now.since(*arrived)),
                Some(Answered {
                    gateway_now: None, ..
                })
                | None => now,
            })
        })
    }

    /// Asks now.
    pub(crate) fn ask(self) {
        if self.round.is_disposed() {
            return;
        }
        let address = self.address.get_untracked();
        self.rest();
        self.round.update_value(|round| round.number += 1);
        let number = self.round.with_value(|round| round.number);
        spawn_local(async move {
            let result = api::get(address.clone()).await;
            // Gone, or asked anew in the meantime.
            if self.round.try_with_value(|round| round.number) == Some(number) {
                self.settle(address, result);
            }
        });
    }

    /// Whether the shown answer is one to the question that is asked now.
    fn fits(self) -> Option<bool> {
        self.answered.with(|answered| {
            let answered = answered.as_ref()?;
            Some(self.address.with(|address| *address == answered.address))
        })
    }

    fn settle(self, address: String, result: Result<Answer, Failure>) {
        let taken = result.and_then(|answer| (self.take)(&answer));
        match taken {
            Ok((shown, gateway_now)) => {
                self.shown.set(Some(shown));
                self.round.update_value(|round| round.failures = 0);
                self.answered.set(Some(Answered {
                    address,
                    arrived: browser::now(),
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
        let timer = set_timeout_with_handle(move || self.ask(), pause).ok();
        self.round.update_value(|round| round.timer = timer);
    }

    /// Stops asking until somebody looks again.
    fn rest(self) {
        let timer = self.round.try_update_value(|round| round.timer.take());
        if let Some(Some(timer)) = timer {
            timer.clear();
        }
    }
}
