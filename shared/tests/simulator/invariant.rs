//! What must hold after every step, as sentences, and how a breach of one is told.

/// L1, L2.
pub(crate) const ONE_LEASE: &str = "at most one live lease per key";
/// L3.
pub(crate) const STALE: &str = "a stale attempt changes nothing";
/// L4.
pub(crate) const NUMBER_RISES: &str = "an attempt's number only ever rises";
/// L4, L5.
pub(crate) const POINT_GOES_ON: &str = "who takes over is told how far the one before came";
/// L5.
pub(crate) const EXTENSION_BOUNDED: &str =
    "an extension never shortens a lease nor outlasts the longest";
/// A1, P7.
pub(crate) const SAME_BYTES: &str = "same key and request: same bytes for the whole retention";
/// A, F.
pub(crate) const OTHER_REQUEST: &str =
    "another request never executes under a key, nor is answered with its outcome";
/// U2.
pub(crate) const NOT_FORGOTTEN: &str = "what is unknown is never forgotten";
/// U3.
pub(crate) const NOT_RETRIED: &str = "what is unknown is never silently retried";
/// U3.
pub(crate) const ONE_QUESTION: &str =
    "one at a time asks the origin, and nobody while an attempt holds a lease";
/// U3.
pub(crate) const NO_FALSE_UNKNOWN: &str = "nobody is told unknown of what is known, running or new";
/// U4.
pub(crate) const RELEASE_IS_ONE: &str = "a release speaks of one attempt";
/// U5.
pub(crate) const HAS_A_DUE_MOMENT: &str =
    "what is not settled has a due moment, unless only a person or a retry can act";
/// U5.
pub(crate) const GIVES_UP_LAST: &str =
    "the resolver gives up only what it has tried enough or cannot send";
/// U5.
pub(crate) const ALARM_ARMED: &str = "an alarm is armed no later than the first due moment";
/// U5.
pub(crate) const REQUEST_KEPT: &str =
    "the request is kept until its operation is settled, and no longer";
/// U6, L3.
pub(crate) const SETTLED_STAYS: &str = "a settled record changes only by an operator's logged act";
/// U6.
pub(crate) const NOT_WHILE_RUNNING: &str = "nobody settles what an attempt still works on";
/// U6, L3.
pub(crate) const LOG_APPENDED: &str = "the log is append-only, and an act is in it once";
/// L3.
pub(crate) const CONTRADICTION_SEEN: &str =
    "a late success that contradicts a settlement is kept and raises an alarm";
/// K4, X1.
pub(crate) const TENANTS_APART: &str = "tenants never meet";
/// K5.
pub(crate) const NO_SECOND_LIFE: &str =
    "a key that tells its age never runs again once its outcome was kept";
/// L7.
pub(crate) const ABANDONED: &str = "nothing runs under a token that was given up";
/// P4, P8.
pub(crate) const COUNTED_ONCE: &str =
    "counts only rise, and a report that comes once more counts nothing";
/// P5.
pub(crate) const HALF_OPEN: &str =
    "an outcome is live until its retention has passed, and gone at that moment";
/// G.
pub(crate) const ONE_EFFECT: &str =
    "no second effect without the word of a person, a release or a probe";

/// A sentence that is not true any more.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    pub(crate) sentence: &'static str,
    pub(crate) detail: String,
}

/// What a check comes to.
pub(crate) type Held = Result<(), Broken>;

/// `sentence` holds if `holds`; `detail` says what was found.
pub(crate) fn must(holds: bool, sentence: &'static str, detail: impl FnOnce() -> String) -> Held {
    if holds {
        return Ok(());
    }
    Err(Broken {
        sentence,
        detail: detail(),
    })
}
