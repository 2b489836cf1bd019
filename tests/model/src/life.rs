//! What an observer may believe of one key, by the answers alone.

/// From a claim until the key may be forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Life {
    pub(crate) print: u8,
    pub(crate) holder: u8,
    pub(crate) lease_until: u8,
    pub(crate) standing: Standing,
    /// Whether an attempt before the holder's is unknown.
    pub(crate) earlier_unknown: bool,
    /// Whether the holder said that it did not run, and an earlier one is unknown.
    pub(crate) said_not_run: bool,
    /// Whether a person lets the next retry run.
    pub(crate) retry_allowed: bool,
    pub(crate) asking: Option<(u8, u8)>,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    /// The holder has not said how it ended.
    Open,
    /// Somebody said that nobody knows.
    Unknown,
    /// The outcome of this token is kept.
    Settled {
        outcome: u8,
        until: u8,
        by_hand: bool,
    },
}

impl Life {
    pub(crate) fn is_running(&self, now: u8) -> bool {
        self.standing == Standing::Open && now < self.lease_until
    }

    pub(crate) fn is_unknown(&self, now: u8) -> bool {
        match self.standing {
            Standing::Open => self.lease_until <= now,
            Standing::Unknown => true,
            Standing::Settled { .. } => false,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        match self.standing {
            Standing::Settled { .. } => true,
            Standing::Open | Standing::Unknown => false,
        }
    }

    pub(crate) fn is_live(&self, now: u8) -> bool {
        match self.standing {
            Standing::Settled { until, .. } => now < until,
            Standing::Open | Standing::Unknown => true,
        }
    }
}
