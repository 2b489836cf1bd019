//! A list of operations over all objects: what is asked of each, and one page made of their answers.
//!
//! Pure. The whole list is ordered by the first claim and then by id, both falling; a cursor is a place in it, so a
//! page does not move when newer operations come.

use shared::time::Timestamp;
use shared::wire::{AuditEntry, AuditPage, OperationPage, OperationRow, UnknownPage};

use crate::fan_out::Answers;
use crate::message_operator::{ListOperations, OperatorAnswer, Position, StateFilter};
use crate::object_queries::{PAGE_MAX, add_to_group};
use crate::request::Inbound;

/// Operations in a page (X5): some screens full.
pub(crate) const PAGE: usize = 50;
/// What an object is asked for: one more than is shown tells whether there is a next page.
pub(crate) const LIMIT: u32 = 51;

/// What a request's query asks for: an error names the parameter that can't be read.
pub(crate) fn asked(inbound: &Inbound) -> Result<ListOperations, String> {
    let given = |name: &str| inbound.parameter(name).filter(|value| !value.is_empty());
    let moment = |name: &str| match given(name) {
        None => Ok(None),
        Some(text) => match text.parse() {
            Ok(millis) => Ok(Some(Timestamp::from_millis(millis))),
            Err(_not_a_number) => Err(format!("{name} is not a number of milliseconds since 1970")),
        },
    };
    let state = match given("state") {
        None => None,
        Some(text) => Some(StateFilter::parse(&text).ok_or_else(|| {
            String::from("state is none of in_progress, indeterminate, stuck and completed")
        })?),
    };
    Ok(ListOperations {
        limit: LIMIT,
        before: place(inbound, "cursor")?,
        state,
        from: moment("from")?,
        to: moment("to")?,
        key: given("q").map(|key| String::from(key.trim())),
    })
}

/// The place in a list that a request's query names.
pub(crate) fn place(inbound: &Inbound, name: &str) -> Result<Option<Position>, String> {
    match inbound.parameter(name).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(text) => match position(&text) {
            Some(position) => Ok(Some(position)),
            None => Err(format!("{name} is not one of an earlier page")),
        },
    }
}

/// The longest unknown of what the objects answered (U6).
pub(crate) fn unknown(answers: Answers, now: Timestamp) -> UnknownPage {
    let mut page = UnknownPage {
        now: Some(now),
        objects_silent: answers.silent,
        ..UnknownPage::default()
    };
    for (_object, answer) in answers.answers {
        if let OperatorAnswer::Unknown {
            total,
            rows,
            groups,
        } = answer
        {
            page.total += total;
            page.operations.extend(rows);
            for group in groups {
                let (last_answer, count) = (&group.last_answer, group.count);
                add_to_group(&mut page.groups, last_answer, count, group.oldest);
            }
        } else {
            page.objects_silent = page.objects_silent.saturating_add(1);
        }
    }
    page.operations
        .sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
    page.operations
        .truncate(usize::try_from(PAGE_MAX).unwrap_or(usize::MAX));
    page.groups
        .sort_by(|a, b| (b.count, &a.last_answer).cmp(&(a.count, &b.last_answer)));
    page
}

/// The newest entries of what the objects answered.
pub(crate) fn audit(answers: Answers, now: Timestamp) -> AuditPage {
    let mut silent = answers.silent;
    let mut entries: Vec<AuditEntry> = Vec::new();
    for (_object, answer) in answers.answers {
        if let OperatorAnswer::Audit(some) = answer {
            entries.extend(some);
        } else {
            silent = silent.saturating_add(1);
        }
    }
    entries.sort_by(|a, b| (b.at, &b.operation).cmp(&(a.at, &a.operation)));
    let more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let cursor = |entry: &AuditEntry| format!("{}-{}", entry.at.as_millis(), entry.operation);
    AuditPage {
        now: Some(now),
        next: entries.last().filter(|_| more).map(cursor),
        entries,
        objects_silent: silent,
    }
}

/// The newest of what the objects answered, and where the next page begins.
pub(crate) fn page(answers: Answers, now: Timestamp) -> OperationPage {
    let mut silent = answers.silent;
    let mut operations: Vec<OperationRow> = Vec::new();
    for (_object, answer) in answers.answers {
        match answer {
            OperatorAnswer::Operations(rows) => operations.extend(rows),
            OperatorAnswer::Overview { .. }
            | OperatorAnswer::Totals { .. }
            | OperatorAnswer::Unknown { .. }
            | OperatorAnswer::Audit(_)
            | OperatorAnswer::Settled { .. }
            | OperatorAnswer::Ticked
            | OperatorAnswer::Failed(_) => silent = silent.saturating_add(1),
        }
    }
    operations.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
    let more = operations.len() > PAGE;
    operations.truncate(PAGE);
    let next = operations.last().filter(|_| more).map(cursor);
    OperationPage {
        now: Some(now),
        operations,
        next,
        objects_silent: silent,
    }
}

/// The place of a row, as text that needs no escapes in a query.
fn cursor(row: &OperationRow) -> String {
    format!("{}-{}", row.created_at.as_millis(), row.id)
}

fn position(cursor: &str) -> Option<Position> {
    let (millis, id) = cursor.split_once('-')?;
    let created_at = Timestamp::from_millis(millis.parse().ok()?);
    shared::placement::OperationId::parse(id)?;
    Some(Position {
        created_at,
        id: String::from(id),
    })
}

#[cfg(test)]
mod tests {
    use shared::wire::{OperationState, RouteKind};

    use super::*;
    use crate::message_fleet::Registration;

    fn id(digit: char) -> String {
        format!("op_{}", digit.to_string().repeat(64))
    }

    fn row(created_at: i64, digit: char) -> OperationRow {
        let created_at = Timestamp::from_millis(created_at);
        OperationRow {
            id: id(digit),
            tenant: String::from("acme"),
            route: String::from("orders"),
            kind: RouteKind::Api,
            key: String::from("k"),
            state: OperationState::Completed,
            stuck: false,
            created_at,
            since: created_at,
            attempts: 1,
            status: Some(201),
            unknown: None,
        }
    }

    fn answers(objects: Vec<Vec<OperationRow>>) -> Answers {
        let object = |rows| {
            let named = |text: &str| String::from(text);
            let (name, tenant, route) = (named("o"), named("acme"), named("orders"));
            (
                Registration {
                    name,
                    tenant,
                    route,
                    shard: 0,
                },
                OperatorAnswer::Operations(rows),
            )
        };
        Answers {
            answers: objects.into_iter().map(object).collect(),
            silent: 2,
        }
    }

    #[test]
    fn a_page_is_the_newest_of_all_and_ties_fall_by_id() {
        let now = Timestamp::from_millis(9);
        let page = page(
            answers(vec![
                vec![row(5, 'a'), row(1, 'a')],
                vec![row(5, 'b'), row(3, 'b')],
            ]),
            now,
        );
        let shown: Vec<_> = page
            .operations
            .iter()
            .map(|row| (row.created_at.as_millis(), row.id.clone()))
            .collect();
        assert_eq!(
            shown,
            [(5, id('b')), (5, id('a')), (3, id('b')), (1, id('a'))]
        );
        assert_eq!((page.next, page.objects_silent), (None, 2));
    }

    #[test]
    fn a_full_page_says_where_the_next_begins() {
        let rows = |from: i64| (0..26).map(|n| row(from + 2 * n, 'c')).collect();
        let page = page(answers(vec![rows(0), rows(1)]), Timestamp::from_millis(9));
        assert_eq!(page.operations.len(), PAGE);
        let next = page.next.unwrap_or_default();
        assert_eq!(next, format!("2-{}", id('c')));
        let expected = Position {
            created_at: Timestamp::from_millis(2),
            id: id('c'),
        };
        assert_eq!(position(&next), Some(expected));
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["", "-", "5", "5-op_1", "x-op_1", &format!("5-{}x", id('a'))] {
            assert_eq!(position(text), None, "{text}");
        }
    }
}
