//! Settling unknown outcomes by hand (U6): the request that a form makes, what may be confirmed of it, and all of it in
//! words.
//!
//! Not the settling itself: the gateway decides, each time anew. What is confirmed is what a preview said would be
//! done, and no more.

use shared::wire::{
    GivenOutcome, Matching, SettleAs, SettlementResult, SettlementWord, Settlements,
    SettlementsDone,
};

use super::number::plural;
use super::words;

/// The status that the form begins with.
pub(crate) const STATUS: u16 = 200;

/// So many operations one request may name; the gateway refuses more.
const NAMED_MAX: usize = 200;

/// Which operations are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// These.
    These(Vec<String>),
    /// All that match, those too that the list has no room for.
    Matching(Matching),
}

/// What an operator filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) settle_as: SettleAs,
    pub(crate) reason: String,
    /// Only for `succeeded`, as are the next two.
    pub(crate) status: String,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

impl Form {
    /// An empty form.
    pub(crate) fn new(settle_as: SettleAs) -> Self {
        Self {
            settle_as,
            reason: String::new(),
            status: STATUS.to_string(),
            content_type: "application/json".to_owned(),
            body: String::new(),
        }
    }

    /// The request that asks what would happen, and changes nothing.
    pub(crate) fn preview(&self, chosen: &Chosen) -> Settlements {
        let given = || GivenOutcome {
            // The field takes whole numbers only; for none the gateway says what a status is.
            status: self.status.trim().parse().unwrap_or(0),
            content_type: Some(self.content_type.trim().to_owned()).filter(|text| !text.is_empty()),
            body: self.body.clone(),
        };
        let (operations, matching) = match chosen {
            Chosen::These(ids) => (ids.clone(), None),
            Chosen::Matching(matching) => (Vec::new(), Some(matching.clone())),
        };
        Settlements {
            settle_as: self.settle_as,
            reason: self.reason.trim().to_owned(),
            outcome: (self.settle_as == SettleAs::Succeeded).then(given),
            operations,
            matching,
            preview: true,
        }
    }
}

/// The request that does what the preview of `asked` said would be done: of exactly those operations, by their ids, as many
/// as one request may name. None when nothing would be.
pub(crate) fn confirmed(asked: &Settlements, told: &SettlementsDone) -> Option<Settlements> {
    let mut operations = settled(told);
    operations.truncate(NAMED_MAX);
    (!operations.is_empty()).then(|| Settlements {
        operations,
        matching: None,
        preview: false,
        ..asked.clone()
    })
}

/// The ids of those that are, or would be, settled.
pub(crate) fn settled(told: &SettlementsDone) -> Vec<String> {
    let is_settled = |each: &&SettlementResult| each.result == SettlementWord::Settled;
    let settled = told.results.iter().filter(is_settled);
    settled.map(|each| each.operation.clone()).collect()
}

/// Whether more match than one request settles.
pub(crate) fn is_partial(told: &SettlementsDone) -> bool {
    told.more || settled(told).len() > NAMED_MAX
}

/// The results with those that need a look first.
pub(crate) fn in_order(told: &SettlementsDone) -> impl Iterator<Item = &SettlementResult> {
    let of = |settled: bool| {
        let results = told.results.iter();
        results.filter(move |each| (each.result == SettlementWord::Settled) == settled)
    };
    of(false).chain(of(true))
}

/// How many there are of each kind: `10 would be settled, 2 would not`.
pub(crate) fn summary(told: &SettlementsDone, preview: bool) -> String {
    let settled = settled(told).len();
    let others = told.results.len() - settled;
    let (is, is_not) = if preview {
        (" would be settled", " would not")
    } else {
        (" settled", " not settled")
    };
    match (settled, others) {
        (0, 0) => "Nothing matches".to_owned(),
        (0, _) => format!(
            "{others}{is_not}{}",
            if preview { " be settled" } else { "" }
        ),
        (_, 0) => format!("{settled}{is}"),
        (_, _) => format!("{settled}{is}, {others}{is_not}"),
    }
}

/// The name of a way to settle.
pub(crate) const fn name(settle_as: SettleAs) -> &'static str {
    match settle_as {
        SettleAs::Succeeded => "Succeeded",
        SettleAs::DidNotHappen => "Did not happen",
        SettleAs::TryAgain => "Try again",
    }
}

/// What follows from it, said before anything else.
pub(crate) const fn consequence(settle_as: SettleAs) -> &'static str {
    match settle_as {
        SettleAs::Succeeded => {
            "Every retry will be answered what you give here, and nothing runs. Look at the origin first: if the work was not done, it will not be done under this key."
        }
        SettleAs::DidNotHappen => {
            "The record is forgotten and the next request with the same key runs again. If the work was done after all, it is done twice."
        }
        SettleAs::TryAgain => {
            "The next retry or delivery runs it once more, whatever the route says. If the work was done and the origin does not dedupe, it is done twice."
        }
    }
}

/// What the confirming button does.
pub(crate) fn act(asked: &Settlements) -> String {
    let number = u64::try_from(asked.operations.len()).unwrap_or(u64::MAX);
    let operations = plural(number, "operation", "operations");
    match (asked.settle_as, &asked.outcome) {
        (SettleAs::Succeeded, Some(given)) => {
            format!("Mark {operations} as succeeded with {}", given.status)
        }
        (SettleAs::Succeeded, None) => format!("Mark {operations} as succeeded"),
        (SettleAs::DidNotHappen, _) => format!("Mark {operations} as not happened"),
        (SettleAs::TryAgain, _) => format!("Let {operations} run once more"),
    }
}

/// All that match, in words: `all 1,204 unknown after 502 of route orders and tenant acme`.
pub(crate) fn all_that_match(matching: &Matching, total: u64) -> String {
    let mut text = format!(
        "All {} unknown after {}",
        super::number::count(total),
        words::last_answer(&matching.last_answer)
    );
    let named = [
        (" of route ", &matching.route),
        (" of tenant ", &matching.tenant),
    ];
    for (what, name) in named {
        if let Some(name) = name {
            text.push_str(what);
            text.push_str(name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(settle_as: SettleAs) -> Form {
        Form {
            reason: " 502s of the 14:00 deploy ".to_owned(),
            ..Form::new(settle_as)
        }
    }

    fn these(ids: &[&str]) -> Chosen {
        Chosen::These(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    fn told(results: &[(&str, SettlementWord)]) -> SettlementsDone {
        let result = |(id, result): &(&str, SettlementWord)| SettlementResult {
            operation: (*id).to_owned(),
            key: String::new(),
            result: *result,
            detail: String::new(),
        };
        SettlementsDone {
            results: results.iter().map(result).collect(),
            ..SettlementsDone::default()
        }
    }

    #[track_caller]
    fn check(settlements: &Settlements, literal: &str) {
        assert_eq!(serde_json::to_string(settlements).unwrap(), literal);
    }

    #[test]
    fn a_form_asks_for_a_preview_first() {
        let mut succeeded = form(SettleAs::Succeeded);
        succeeded.status = "201".to_owned();
        succeeded.body = "{}".to_owned();
        check(
            &succeeded.preview(&these(&["op_1"])),
            r#"{"as":"succeeded","reason":"502s of the 14:00 deploy","outcome":{"status":201,"content_type":"application/json","body":"{}"},"operations":["op_1"],"preview":true}"#,
        );
        succeeded.content_type = " ".to_owned();
        let given = succeeded.preview(&these(&["op_1"])).outcome.unwrap();
        assert_eq!(given.content_type, None);
        check(
            &form(SettleAs::DidNotHappen).preview(&these(&["op_1", "op_2"])),
            r#"{"as":"did_not_happen","reason":"502s of the 14:00 deploy","operations":["op_1","op_2"],"preview":true}"#,
        );
        let matching = Chosen::Matching(Matching {
            route: Some("orders".to_owned()),
            last_answer: "502".to_owned(),
            ..Matching::default()
        });
        check(
            &form(SettleAs::TryAgain).preview(&matching),
            r#"{"as":"try_again","reason":"502s of the 14:00 deploy","where":{"route":"orders","last_answer":"502"},"preview":true}"#,
        );
    }

    #[test]
    fn only_what_the_preview_named_is_confirmed() {
        let matching = Chosen::Matching(Matching::default());
        let asked = form(SettleAs::DidNotHappen).preview(&matching);
        let seen = told(&[
            ("op_1", SettlementWord::Settled),
            ("op_2", SettlementWord::Running),
            ("op_3", SettlementWord::Settled),
        ]);
        check(
            &confirmed(&asked, &seen).unwrap(),
            r#"{"as":"did_not_happen","reason":"502s of the 14:00 deploy","operations":["op_1","op_3"],"preview":false}"#,
        );
        let many = told(&[("op_1", SettlementWord::Settled); NAMED_MAX + 1]);
        let named = confirmed(&asked, &many).unwrap().operations;
        assert_eq!((named.len(), is_partial(&many)), (NAMED_MAX, true));
        assert!(!is_partial(&seen));
        let refused = told(&[("op_2", SettlementWord::NothingToSettle)]);
        assert_eq!(confirmed(&asked, &refused), None);
        let first: Vec<&str> = in_order(&seen).map(|each| &*each.operation).collect();
        assert_eq!(first, ["op_2", "op_1", "op_3"]);
    }

    #[test]
    fn buttons_say_exactly_what_they_do() {
        let ids = ["a"; 12];
        for (settle_as, chosen, said) in [
            (
                SettleAs::Succeeded,
                &ids[..1],
                "Mark 1 operation as succeeded with 200",
            ),
            (
                SettleAs::DidNotHappen,
                &ids[..],
                "Mark 12 operations as not happened",
            ),
            (
                SettleAs::TryAgain,
                &ids[..2],
                "Let 2 operations run once more",
            ),
        ] {
            assert_eq!(act(&form(settle_as).preview(&these(chosen))), said);
        }
    }

    #[test]
    fn summaries_count_both_kinds() {
        use SettlementWord::{Failed, Settled};
        for (results, before, after) in [
            (&[][..], "Nothing matches", "Nothing matches"),
            (&[("a", Settled)][..], "1 would be settled", "1 settled"),
            (
                &[("a", Failed)][..],
                "1 would not be settled",
                "1 not settled",
            ),
            (
                &[("a", Settled), ("b", Failed)][..],
                "1 would be settled, 1 would not",
                "1 settled, 1 not settled",
            ),
        ] {
            assert_eq!(summary(&told(results), true), before);
            assert_eq!(summary(&told(results), false), after);
        }
    }

    #[test]
    fn all_that_match_are_said_in_words() {
        let mut matching = Matching {
            last_answer: "broken-line".to_owned(),
            ..Matching::default()
        };
        assert_eq!(
            all_that_match(&matching, 1_204),
            "All 1,204 unknown after broken line"
        );
        matching.route = Some("orders".to_owned());
        matching.tenant = Some("acme".to_owned());
        assert_eq!(
            all_that_match(&matching, 201),
            "All 201 unknown after broken line of route orders of tenant acme"
        );
    }
}
