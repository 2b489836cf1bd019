//! How often each interesting thing happened: a workload in which one of them stops happening has rotted.

use std::fmt::Write as _;

/// What a rule speaks of, and a seed may or may not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    Claimed,
    BegunTwice,
    ClaimedAgainByACopy,
    Replayed,
    ReplayedChanged,
    WaitedForTwin,
    OtherRequestRefused,
    UnknownAnswered,
    TakenOverByRetry,
    TakenOverByResolver,
    RunOnAPersonsWord,
    RunFromAPoint,
    CallerAsks,
    ResolverAsks,
    ResolverGaveUp,
    ProbeFoundFinal,
    ProbeFoundNotRun,
    ProbeFoundNotRunButAStep,
    ProbeFoundNothing,
    ProbeSuperseded,
    KeyExpired,
    KeyFromTheFuture,
    BeganAbandoned,
    Abandoned,
    Completed,
    CompletedLate,
    CompletedTwice,
    CompletedSuperseded,
    LateFinalKept,
    Contradiction,
    Released,
    ReleasedStillUnknown,
    ReleasedPartly,
    ReleasedTwice,
    ReleasedSuperseded,
    Suspended,
    SuspendedTwice,
    SuspendedSuperseded,
    SuspendedAfterTheAlarm,
    Extended,
    ExtendedTooLate,
    PointSaved,
    PointSuperseded,
    SettledSucceeded,
    SettledDidNotHappen,
    SettledTryAgain,
    SettledWrongly,
    SettledAgain,
    SettledTwice,
    SettleRefusedWhileRunning,
    SettleFoundNothing,
    LeaseExpiredByAlarm,
    SweptAway,
    AlarmLate,
    AlarmTwice,
    AlarmLost,
    WorkerDied,
    ObjectDied,
    MessageLost,
    AnswerLost,
    MessageTwice,
    OriginLied,
    OriginRefused,
    OriginDeduped,
    EffectAfterTheLease,
    EffectUnheard,
    ClientAnswered,
    GaveBackTooLate,
}

impl Situation {
    /// The last one, for the number of them.
    const LAST: Self = Self::GaveBackTooLate;
}

const COUNT: usize = Situation::LAST as usize + 1;

/// How often each was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Coverage {
    counts: [u64; COUNT],
    names: [Option<Situation>; COUNT],
}

impl Coverage {
    pub(crate) const fn new() -> Self {
        Self {
            counts: [0; COUNT],
            names: [None; COUNT],
        }
    }

    pub(crate) fn note(&mut self, situation: Situation) {
        let place = situation as usize;
        self.counts[place] += 1;
        self.names[place] = Some(situation);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for place in 0..COUNT {
            self.counts[place] += other.counts[place];
            self.names[place] = self.names[place].or(other.names[place]);
        }
    }

    /// How many kinds of situation were met fewer than `least` times.
    pub(crate) fn rare(&self, least: u64) -> usize {
        self.counts.iter().filter(|count| **count < least).count()
    }

    /// A line for each, the rarest first; one that never happened has only its place.
    pub(crate) fn table(&self) -> String {
        let mut rows: Vec<(u64, String)> = (0..COUNT)
            .map(|place| {
                let name = self.names[place].map_or_else(
                    || format!("situation {place}, which never happened"),
                    |situation| format!("{situation:?}"),
                );
                (self.counts[place], name)
            })
            .collect();
        rows.sort();
        rows.iter().fold(String::new(), |mut text, (count, name)| {
            let _written = writeln!(text, "{count:>10}  {name}");
            text
        })
    }
}
