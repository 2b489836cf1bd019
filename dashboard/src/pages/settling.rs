//! Settling by hand, for the pages that offer it: asks the gateway what would happen, then to do it.
//!
//! Not a page of its own; what is shown is `components::settle`.

use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::wire::{Settlements, SettlementsDone};

use crate::api::{self, Failure};
use crate::components::settle::{Opened, Stage};
use crate::live::Poll;
use crate::view::settle;

/// One page's dialog.
#[derive(Clone, Copy)]
pub(crate) struct Settling {
    /// What it is opened for.
    pub(crate) opened: RwSignal<Option<Opened>>,
    /// How far it is.
    pub(crate) stage: RwSignal<Stage>,
    /// Asks the gateway.
    pub(crate) send: Callback<Settlements>,
    /// Counts openings; what an earlier one asked is not told in a later one.
    round: StoredValue<u32>,
}

impl Settling {
    /// Opens it.
    pub(crate) fn open(self, opened: Opened) {
        self.round.update_value(|round| *round += 1);
        self.stage.set(Stage::Filling);
        self.opened.set(Some(opened));
    }
}

/// A dialog whose settlements are told to `settled` by the ids of what was settled; `poll` then asks anew.
pub(crate) fn use_settling(poll: Poll, settled: Callback<Vec<String>>) -> Settling {
    let opened = RwSignal::new(None);
    let stage = RwSignal::new(Stage::Filling);
    let round = StoredValue::new(0_u32);
    let send = Callback::new(move |asked: Settlements| {
        stage.set(Stage::Asking);
        let asked_in = round.get_value();
        spawn_local(async move {
            let answer = api::settle(&asked).await;
            let Some(now_in) = round.try_get_value() else {
                return; // The page is gone.
            };
            if !asked.preview {
                if let Ok(told) = &answer {
                    settled.run(settle::settled(told));
                }
                poll.ask();
            }
            if now_in == asked_in {
                stage.set(told(asked, answer));
            }
        });
    });
    Settling {
        opened,
        stage,
        send,
        round,
    }
}

fn told(asked: Settlements, answer: Result<SettlementsDone, Failure>) -> Stage {
    match answer {
        Err(failure) => Stage::Failed(asked, failure),
        Ok(told) if asked.preview => Stage::Previewed(asked, told),
        Ok(told) => Stage::Done(told),
    }
}
