use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec;

use super::*;

const FINGERPRINT: Fingerprint = Fingerprint {
    recipe: 1,
    digest: [0xab; 32],
};

const HEAD: &str = r#"{"v":1,"fingerprint":"v1:abababababababababababababababababababababababababababababababab","attempt":"07070707070707070707070707070707","number":2,"created_at":1000,"#;

fn unknown(cause: UnknownCause) -> Unknown {
    Unknown {
        since: Timestamp::from_millis(5_000),
        cause,
        number: AttemptNumber::new(1),
    }
}

fn record(state: State) -> Record {
    Record {
        fingerprint: FINGERPRINT,
        attempt: AttemptId::from_bytes([7; 16]),
        number: AttemptNumber::new(2),
        created_at: Timestamp::from_millis(1_000),
        state,
        unknown_before: None,
        history: vec![],
        superseded: vec![],
        point: None,
        reference: None,
        tries: 0,
    }
}

#[track_caller]
fn check(record: &Record, rest: &str) {
    let (text, body) = write(record);
    assert_eq!(text, format!("{HEAD}{rest}"));
    assert_eq!(
        read(&text, body.unwrap_or_default().to_vec()).as_ref(),
        Ok(record)
    );
}

#[test]
fn the_form_of_each_state_is_pinned() {
    let lease_until = Timestamp::from_millis(31_000);
    check(
        &record(State::InProgress { lease_until }),
        r#""state":{"in_progress":{"lease_until":31000}},"history":[]}"#,
    );
    check(
        &record(State::Indeterminate {
            unknown: unknown(UnknownCause::Status(502)),
            lease_until,
            next: Next::Nobody,
        }),
        r#""state":{"indeterminate":{"unknown":{"since":5000,"cause":{"status":502},"number":1},"lease_until":31000,"next":"nobody"}},"history":[]}"#,
    );
    let outcome = |body| Outcome {
        status: 201,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body,
    };
    let completed = |body, expires_at| State::Completed {
        at: Timestamp::from_millis(2_000),
        by: SettledBy::Attempt,
        expires_at,
        outcome: outcome(body),
    };
    let expires_at = Some(Timestamp::from_millis(9_000));
    check(
        &record(completed(Body::Kept(vec![0, 255]), expires_at)),
        r#""state":{"completed":{"at":2000,"expires_at":9000,"status":201,"headers":[["content-type","text/plain"]]}},"history":[]}"#,
    );
    check(
        &record(completed(Body::Omitted { bytes: 300_000 }, None)),
        r#""state":{"completed":{"at":2000,"status":201,"headers":[["content-type","text/plain"]],"omitted":300000}},"history":[]}"#,
    );
}

#[test]
fn the_form_of_history_and_of_an_earlier_unknown_is_pinned() {
    let mut full = record(State::InProgress {
        lease_until: Timestamp::from_millis(31_000),
    });
    full.unknown_before = Some(unknown(UnknownCause::LeaseRanOut));
    let end = |ending| {
        Some(AttemptEnd {
            at: Timestamp::from_millis(3),
            ending,
        })
    };
    full.history = [
        end(Ending::Unknown(UnknownCause::Timeout)),
        end(Ending::NotRun(Some(429))),
        end(Ending::NotRun(None)),
        end(Ending::Final(200)),
        None,
    ]
    .into_iter()
    .zip(1..)
    .map(|(end, number)| PastAttempt {
        number: AttemptNumber::new(number),
        started_at: Timestamp::from_millis(2),
        end,
    })
    .collect();
    check(
        &full,
        concat!(
            r#""state":{"in_progress":{"lease_until":31000}},"unknown_before":{"since":5000,"cause":"lease_ran_out","number":1},"history":["#,
            r#"{"number":1,"started_at":2,"end":{"at":3,"ending":{"unknown":"timeout"}}},"#,
            r#"{"number":2,"started_at":2,"end":{"at":3,"ending":{"not_run":429}}},"#,
            r#"{"number":3,"started_at":2,"end":{"at":3,"ending":{"not_run":null}}},"#,
            r#"{"number":4,"started_at":2,"end":{"at":3,"ending":{"final":200}}},"#,
            r#"{"number":5,"started_at":2}]}"#,
        ),
    );
}

#[test]
fn what_happens_next_to_an_unknown_outcome_is_pinned() {
    let token = AttemptId::from_bytes([9; 16]);
    let until = Timestamp::from_millis(61_000);
    for (next, form) in [
        (Next::Nobody, r#""nobody""#),
        (Next::Retry, r#""retry""#),
        (Next::Resolver(until), r#"{"resolver":61000}"#),
        (
            Next::Asking { token, until },
            r#"{"asking":{"token":"09090909090909090909090909090909","until":61000}}"#,
        ),
    ] {
        let state = State::Indeterminate {
            unknown: unknown(UnknownCause::Partly),
            lease_until: Timestamp::from_millis(31_000),
            next,
        };
        let rest = format!(
            r#""state":{{"indeterminate":{{"unknown":{{"since":5000,"cause":"partly","number":1}},"lease_until":31000,"next":{form}}}}},"history":[]}}"#
        );
        check(&record(state), &rest);
    }
}

#[test]
fn by_whose_word_it_is_completed_is_pinned() {
    for (by, form) in [
        (SettledBy::Attempt, ""),
        (SettledBy::Probe, r#""by":"probe","#),
        (SettledBy::Operator, r#""by":"operator","#),
    ] {
        let state = State::Completed {
            at: Timestamp::from_millis(2_000),
            by,
            expires_at: None,
            outcome: Outcome {
                status: 201,
                headers: vec![],
                body: Body::Kept(vec![]),
            },
        };
        let rest = format!(
            r#""state":{{"completed":{{"at":2000,{form}"status":201,"headers":[]}}}},"history":[]}}"#
        );
        check(&record(state), &rest);
    }
}

#[test]
fn the_form_of_what_a_take_over_goes_on_from_is_pinned() {
    let mut full = record(State::InProgress {
        lease_until: Timestamp::from_millis(31_000),
    });
    full.superseded = vec![
        AttemptId::from_bytes([5; 16]),
        AttemptId::from_bytes([6; 16]),
    ];
    full.point =
        Some(RecoveryPoint::new("charged".to_owned(), r#"{"id":"ch_1"}"#.to_owned()).unwrap());
    full.reference = Some("ch_1".to_owned());
    full.tries = 3;
    check(
        &full,
        concat!(
            r#""state":{"in_progress":{"lease_until":31000}},"history":[],"#,
            r#""superseded":["05050505050505050505050505050505","06060606060606060606060606060606"],"#,
            r#""point":["charged","{\"id\":\"ch_1\"}"],"reference":"ch_1","tries":3}"#,
        ),
    );
}

/// What the version before this one wrote, without what was not there yet.
#[track_caller]
fn check_earlier(rest: &str, expected: &Record) {
    assert_eq!(
        read(&format!("{HEAD}{rest}"), vec![]).as_ref(),
        Ok(expected)
    );
}

#[test]
fn what_an_earlier_version_wrote_is_read_and_nothing_happens_to_it_by_itself() {
    let unknown_by = |cause| {
        record(State::Indeterminate {
            unknown: unknown(cause),
            lease_until: Timestamp::from_millis(31_000),
            next: Next::Nobody,
        })
    };
    check_earlier(
        r#""state":{"indeterminate":{"unknown":{"since":5000,"cause":{"status":502},"number":1},"lease_until":31000}},"history":[]}"#,
        &unknown_by(UnknownCause::Status(502)),
    );
    // An origin that works on was called unknown once: it said so itself.
    check_earlier(
        r#""state":{"indeterminate":{"unknown":{"since":5000,"cause":"pending","number":1},"lease_until":31000}},"history":[]}"#,
        &unknown_by(UnknownCause::OriginSaid),
    );
    check_earlier(
        r#""state":{"completed":{"at":2000,"expires_at":9000,"status":201,"headers":[]}},"history":[]}"#,
        &record(State::Completed {
            at: Timestamp::from_millis(2_000),
            by: SettledBy::Attempt,
            expires_at: Some(Timestamp::from_millis(9_000)),
            outcome: Outcome {
                status: 201,
                headers: vec![],
                body: Body::Kept(vec![]),
            },
        }),
    );
}

#[test]
fn every_cause_keeps_its_name() {
    for cause in [
        UnknownCause::Timeout,
        UnknownCause::BrokenLine,
        UnknownCause::Status(500),
        UnknownCause::OriginSaid,
        UnknownCause::LeaseRanOut,
        UnknownCause::Partly,
    ] {
        let lease_until = Timestamp::from_millis(1);
        let written = record(State::Indeterminate {
            unknown: unknown(cause),
            lease_until,
            next: Next::Nobody,
        });
        assert_eq!(read(&write(&written).0, vec![]), Ok(written), "{cause}");
    }
}

#[test]
fn what_cannot_be_read_is_said_and_not_taken_for_nothing() {
    let (text, _) = write(&record(State::InProgress {
        lease_until: Timestamp::from_millis(1),
    }));
    let later = text.replace(r#""v":1"#, r#""v":2"#);
    assert_eq!(read(&later, vec![]), Err(StoredError::Later { found: 2 }));
    for bad in [
        "",
        "null",
        &text.replace("0707", "zz"),
        &text.replace("v1:", ""),
    ] {
        assert!(
            matches!(read(bad, vec![]), Err(StoredError::Unreadable { .. })),
            "{bad}"
        );
    }
    // A point that no take-over could be given is not passed over in silence.
    let pointless = text.replacen('{', r#"{"point":["",""],"#, 1);
    assert!(matches!(
        read(&pointless, vec![]),
        Err(StoredError::Unreadable { .. })
    ));
    let more = text.replacen('{', r#"{"added_later":true,"#, 1);
    assert!(read(&more, vec![]).is_ok());
}
