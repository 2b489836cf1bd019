//! What an origin's answer says of its attempt: final, not run, or unknown (U1, P3).
//!
//! Not what is done about it (`decide`). An answer that proves nothing is unknown; the safe direction is never
//! to call something "not run" that may have run.

use crate::policy::Kind;
use crate::record::UnknownCause;

/// The answer of an origin, as far as it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginAnswer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Oncegate-Outcome`, if there was one.
    pub outcome: Option<&'a str>,
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done, and this answer is its outcome.
    Final,
    /// It did not run, or (for a webhook) it failed: nothing is kept.
    NotRun,
    /// Nobody knows.
    Unknown(UnknownCause),
    /// The origin works on, and completes by itself (L5).
    Pending,
}

/// The statuses that say "refused before any work" (U1).
const NOT_RUN: [u16; 20] = [
    400, 401, 403, 404, 405, 407, 409, 411, 413, 414, 415, 417, 421, 422, 423, 425, 426, 428, 429,
    431,
];

/// Judges an answer. `moved` is what the route says of this status, where it says anything.
#[must_use]
pub fn classify(kind: Kind, answer: OriginAnswer<'_>, moved: Option<Verdict>) -> Verdict {
    if let Some(said) = answer.outcome {
        return of_word(said);
    }
    if let Some(moved) = moved {
        return moved;
    }
    match kind {
        Kind::Api => of_request(answer.status),
        Kind::Webhook if (200..300).contains(&answer.status) => Verdict::Final,
        Kind::Webhook => Verdict::NotRun, // P3: only success is done
    }
}

/// What the origin's own word says. One that is none of the four proves nothing.
pub(crate) fn of_word(said: &str) -> Verdict {
    match said.trim().to_ascii_lowercase().as_str() {
        "final" => Verdict::Final,
        "not-run" => Verdict::NotRun,
        "pending" => Verdict::Pending,
        _ => Verdict::Unknown(UnknownCause::OriginSaid),
    }
}

fn of_request(status: u16) -> Verdict {
    match status {
        200..300 | 303 => Verdict::Final,
        408 => Verdict::Unknown(UnknownCause::Status(status)),
        300..400 => Verdict::NotRun, // 303 names the result of work that was done; no other redirect does
        400..500 if NOT_RUN.contains(&status) => Verdict::NotRun,
        400..500 => Verdict::Final, // 402: a declined card is an outcome
        _ => Verdict::Unknown(UnknownCause::Status(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, statuses: impl IntoIterator<Item = u16>, expected: fn(u16) -> Verdict) {
        for status in statuses {
            let answer = OriginAnswer {
                status,
                outcome: None,
            };
            assert_eq!(
                classify(kind, answer, None),
                expected(status),
                "{kind:?} {status}"
            );
        }
    }

    #[test]
    fn u1_an_api_answer_is_final_not_run_or_unknown() {
        check(
            Kind::Api,
            (200..300).chain([303, 402, 406, 410, 412, 418, 424, 451]),
            |_| Verdict::Final,
        );
        let refusals = [
            400, 401, 403, 404, 405, 407, 409, 411, 413, 414, 415, 417, 421, 422, 423, 425, 426,
            428, 429, 431,
        ];
        let redirects = (300..400).filter(|status| *status != 303);
        check(Kind::Api, redirects.chain(refusals), |_| Verdict::NotRun);
        check(
            Kind::Api,
            (500..600).chain([100, 101, 199, 408, 600, 999]),
            |status| Verdict::Unknown(UnknownCause::Status(status)),
        );
    }

    #[test]
    fn p3_only_success_of_a_webhook_is_done() {
        check(Kind::Webhook, 200..300, |_| Verdict::Final);
        check(Kind::Webhook, (100..200).chain(300..600), |_| {
            Verdict::NotRun
        });
    }

    #[test]
    fn u1_the_origins_word_wins_over_the_routes_and_the_routes_over_the_table() {
        let rows = [
            (Some("final"), Verdict::Final),
            (Some(" not-run "), Verdict::NotRun),
            (Some("unknown"), Verdict::Unknown(UnknownCause::OriginSaid)),
            (Some("pending"), Verdict::Pending),
            (Some("Final"), Verdict::Final),
            (
                Some("unknown, final"),
                Verdict::Unknown(UnknownCause::OriginSaid),
            ),
            (Some("maybe"), Verdict::Unknown(UnknownCause::OriginSaid)),
            (None, Verdict::NotRun),
        ];
        for kind in [Kind::Api, Kind::Webhook] {
            for (outcome, expected) in rows {
                let answer = OriginAnswer {
                    status: 503,
                    outcome,
                };
                let verdict = classify(kind, answer, Some(Verdict::NotRun));
                assert_eq!(verdict, expected, "{kind:?} {outcome:?}");
            }
        }
    }
}
