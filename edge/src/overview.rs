//! The overview of all objects together, from what each of them answered.
//!
//! Pure: the asking is done by `fan_out`, the arithmetic of sums by `shared`.

use std::cmp::Reverse;

use shared::live::LiveState;
use shared::metrics::{Sums, settled_counts, wire_counts};
use shared::openmetrics::Labelled;
use shared::series::{Happened, Window};
use shared::time::Timestamp;
use shared::wire::{Overview, RouteCounts};

use crate::fan_out::Answers;
use crate::message_fleet::Registration;
use crate::message_operator::OperatorAnswer;

/// What came back, put together. What only the configuration and the fleet know is left empty.
pub(crate) fn overview(answers: Answers, window: Window, now: Timestamp) -> Overview {
    let mut all = LiveState::default();
    let mut sums = Sums::default();
    let mut parts: Vec<Happened> = Vec::new();
    let mut silent = answers.silent;
    let mut rows: Rows = Vec::new();
    for (object, answer) in answers.answers {
        let OperatorAnswer::Overview { happened, live } = answer else {
            silent = silent.saturating_add(1);
            continue;
        };
        all.add(&live);
        sums.add(&happened.sums);
        add(&mut rows, object, &happened.sums, &live);
        parts.push(happened);
    }
    Overview {
        now,
        totals: wire_counts(&sums),
        by_route: by_route(rows),
        series: window.points(&parts),
        step_ms: window.step_ms(),
        live: all.to_wire(),
        tenants: Vec::new(),
        routes: Vec::new(),
        exceptions: Vec::new(),
        settled: settled_counts(&sums),
        objects_silent: silent,
    }
}

/// One for each (tenant, route).
type Rows = Vec<Labelled>;

/// Adds what an object answered to the row of its tenant and route.
fn add(rows: &mut Rows, object: Registration, sums: &Sums, live: &LiveState) {
    let (tenant, route) = (object.tenant, object.route);
    let known = rows
        .iter_mut()
        .find(|row| row.tenant == tenant && row.route == route);
    if let Some(row) = known {
        row.sums.add(sums);
        row.live.add(live);
    } else {
        let (sums, live) = (sums.clone(), *live);
        rows.push(Labelled {
            tenant,
            route,
            sums,
            live,
        });
    }
}

fn by_name(rows: &mut Rows) {
    rows.sort_by(|one, other| (&one.tenant, &one.route).cmp(&(&other.tenant, &other.route)));
}

/// Largest first, then by name.
fn by_route(mut rows: Rows) -> Vec<RouteCounts> {
    by_name(&mut rows);
    let row = |row: Labelled| RouteCounts {
        tenant: row.tenant,
        route: row.route,
        counts: wire_counts(&row.sums),
        changed: row.sums.changed,
        takeovers: row.sums.takeovers,
        live: row.live.to_wire(),
    };
    let mut rows: Vec<RouteCounts> = rows.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.counts.calls()));
    rows
}

/// The totals of each (tenant, route) for a collector of metrics, in the order of their names; and how many objects
/// did not answer.
pub(crate) fn labelled(answers: Answers) -> (Vec<Labelled>, u32) {
    let mut silent = answers.silent;
    let mut rows: Rows = Vec::new();
    for (object, answer) in answers.answers {
        let OperatorAnswer::Totals { sums, live } = answer else {
            silent = silent.saturating_add(1);
            continue;
        };
        add(&mut rows, object, &sums, &live);
    }
    by_name(&mut rows);
    (rows, silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(tenant: &str, shard: u16) -> Registration {
        let (tenant, route) = (String::from(tenant), String::from("orders"));
        Registration {
            name: format!("{tenant}{shard}"),
            tenant,
            route,
            shard,
        }
    }

    fn sums(applied: u64) -> Sums {
        Sums {
            applied,
            changed: 1,
            ..Sums::default()
        }
    }

    fn overview_answer(applied: u64) -> OperatorAnswer {
        let counts = wire_counts(&sums(applied));
        let happened = Happened {
            sums: sums(applied),
            steps: vec![(1, counts)],
        };
        let live = LiveState {
            tracked: applied,
            ..LiveState::default()
        };
        OperatorAnswer::Overview { happened, live }
    }

    #[test]
    fn shards_are_one_row_and_the_largest_comes_first() {
        let window = Window {
            first_minute: 10,
            step_minutes: 1,
            steps: 3,
        };
        let answers = Answers {
            answers: vec![
                (object("acme", 0), overview_answer(1)),
                (object("other", 0), overview_answer(5)),
                (object("acme", 1), overview_answer(2)),
                (object("acme", 2), OperatorAnswer::Operations(Vec::new())),
            ],
            silent: 1,
        };
        let overview = overview(answers, window, Timestamp::from_millis(1));
        assert_eq!((overview.totals.applied, overview.live.tracked), (8, 8));
        let rows: Vec<_> = overview
            .by_route
            .iter()
            .map(|row| (row.tenant.as_str(), row.counts.applied, row.changed))
            .collect();
        assert_eq!(rows, [("other", 5, 1), ("acme", 3, 2)]);
        let points: Vec<_> = overview
            .series
            .iter()
            .map(|point| point.counts.applied)
            .collect();
        assert_eq!(points, [0, 8, 0]);
        assert_eq!((overview.step_ms, overview.objects_silent), (60_000, 2));
    }

    #[test]
    fn totals_are_labelled_by_tenant_and_route() {
        let totals = |applied| OperatorAnswer::Totals {
            sums: sums(applied),
            live: LiveState::default(),
        };
        let answers = Answers {
            answers: vec![
                (object("b", 0), totals(1)),
                (object("a", 0), totals(2)),
                (object("b", 1), totals(3)),
                (object("c", 1), OperatorAnswer::Operations(Vec::new())),
            ],
            silent: 0,
        };
        let (rows, silent) = labelled(answers);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.tenant.as_str(), row.sums.applied))
            .collect();
        assert_eq!((shown, silent), (vec![("a", 2), ("b", 4)], 1));
    }
}
