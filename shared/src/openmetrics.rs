//! The text that a metrics collector reads: contract M's names, by tenant and route.
//!
//! Not the counting (`metrics`, `live`). Follows OpenMetrics 1.0:
//! <https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md>.

use alloc::string::String;
use core::fmt::{self, Write};

use crate::live::{AGE_NAMES, Ages, LiveState};
use crate::metrics::{Histogram, KEY_AGE_BOUNDS, LATENCY_BOUNDS, Sums};
use crate::time::Millis;

/// The media type of [`render`]'s text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What one tenant's calls through one route summed up to, and what is left of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// Whose.
    pub tenant: String,
    /// Through which route.
    pub route: String,
    /// Since the beginning.
    pub sums: Sums,
    /// Now.
    pub live: LiveState,
}

/// What the gateway knows of its own sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// How many objects answered.
    pub answered: u64,
    /// How many did not: their numbers are missing.
    pub silent: u64,
}

/// A sum of a [`Sums`], its name and what it says.
type Counter = (&'static str, &'static str, fn(&Sums) -> u64);
/// A number of a [`LiveState`] by age, its name and what it says.
type AgeGauge = (&'static str, &'static str, fn(&LiveState) -> &Ages);
/// A number of a [`LiveState`], its name and what it says.
type Gauge = (&'static str, &'static str, fn(&LiveState) -> u64);

/// Counters with S1's names first, then ours. Their samples end in `_total`.
const COUNTERS: [Counter; 18] = [
    (
        "idempotency_replay",
        "Calls answered from the record.",
        |sums| sums.replayed,
    ),
    (
        "idempotency_conflict_409",
        "Calls that met their own running twin.",
        |sums| sums.conflicts,
    ),
    (
        "idempotency_fingerprint_mismatch",
        "Calls whose key named another request.",
        |sums| sums.mismatches,
    ),
    (
        "idempotency_expired_key_rejections",
        "Calls whose key was older than the memory of it.",
        |sums| sums.expired,
    ),
    (
        "idempotency_takeover",
        "Attempts that took over from one whose outcome is unknown.",
        |sums| sums.takeovers,
    ),
    (
        "oncegate_applied",
        "Calls whose work ran and whose outcome is kept.",
        |sums| sums.applied,
    ),
    (
        "oncegate_failed",
        "Webhook deliveries whose work failed.",
        |sums| sums.failed,
    ),
    (
        "oncegate_released",
        "Calls that did not run, of which nothing is kept.",
        |sums| sums.released,
    ),
    (
        "oncegate_stale",
        "Answers of attempts that had been taken over.",
        |sums| sums.superseded,
    ),
    (
        "oncegate_resolver_sends",
        "What the resolver sent or asked by itself.",
        |sums| sums.resolver_sends,
    ),
    (
        "oncegate_resolver_gave_up",
        "Operations that the resolver gave up: they need a person.",
        |sums| sums.resolver_gave_up,
    ),
    (
        "oncegate_late_finals",
        "Final reports of attempts that had been fenced off, kept as evidence.",
        |sums| sums.late_finals,
    ),
    (
        "oncegate_contradictions",
        "Late reports that contradict a release or a settlement: somebody has to look.",
        |sums| sums.contradictions,
    ),
    (
        "oncegate_changed_on_redelivery",
        "Webhook duplicates that came with another body.",
        |sums| sums.changed,
    ),
    (
        "oncegate_missing_keys",
        "Calls that brought no key.",
        |sums| sums.keys_missing,
    ),
    (
        "oncegate_refused",
        "Calls refused before any record was looked at.",
        |sums| sums.refused,
    ),
    (
        "oncegate_unprotected",
        "Calls passed on without protection.",
        |sums| sums.unprotected,
    ),
    (
        "oncegate_calls",
        "All calls: the sum of the partition.",
        Sums::calls,
    ),
];

const AGE_GAUGES: [AgeGauge; 2] = [
    (
        "idempotency_stuck_in_progress",
        "Attempts whose lease ran out with no word of how they ended.",
        |live| &live.stuck,
    ),
    (
        "ops_unknown_outcome",
        "Operations whose outcome nobody knows.",
        |live| &live.unknown,
    ),
];

const GAUGES: [Gauge; 3] = [
    ("oncegate_tracked", "Records kept.", |live| live.tracked),
    (
        "oncegate_needs_a_person",
        "Operations whose outcome nobody knows and that nothing happens to by itself.",
        |live| live.needs_a_person,
    ),
    ("oncegate_running", "Attempts under a live lease.", |live| {
        live.running
    }),
];

/// The whole text, with its end mark.
#[must_use]
pub fn render(rows: &[Labelled], objects: Objects) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _written = write_all(&mut text, rows, objects);
    text
}

fn write_all(out: &mut String, rows: &[Labelled], objects: Objects) -> fmt::Result {
    write_requests(out, rows)?;
    write_settled(out, rows)?;
    for (name, help, value) in COUNTERS {
        family(out, name, "counter", help)?;
        for row in rows {
            writeln!(
                out,
                "{name}_total{{{}}} {}",
                Labels(row, &[]),
                value(&row.sums)
            )?;
        }
    }
    // A counter family `ops_unknown_outcome` would clash with the gauge of that name, so the sum that S1 names
    // so stands as a family of its own, of no declared type.
    let unknown = "ops_unknown_outcome_total";
    family(
        out,
        unknown,
        "unknown",
        "Calls that ended with nobody knowing the outcome; only rises.",
    )?;
    for row in rows {
        writeln!(
            out,
            "{unknown}{{{}}} {}",
            Labels(row, &[]),
            row.sums.unknown
        )?;
    }
    for (name, help, value) in GAUGES {
        family(out, name, "gauge", help)?;
        for row in rows {
            writeln!(out, "{name}{{{}}} {}", Labels(row, &[]), value(&row.live))?;
        }
    }
    for (name, help, ages) in AGE_GAUGES {
        family(out, name, "gauge", help)?;
        for row in rows {
            for (bucket, count) in AGE_NAMES.iter().zip(ages(&row.live).counts) {
                writeln!(
                    out,
                    "{name}{{{}}} {count}",
                    Labels(row, &[("age_bucket", bucket)])
                )?;
            }
        }
    }
    write_histograms(out, rows)?;
    family(
        out,
        "oncegate_objects",
        "gauge",
        "Objects asked for these numbers, by whether they answered.",
    )?;
    writeln!(
        out,
        "oncegate_objects{{answered=\"true\"}} {}",
        objects.answered
    )?;
    writeln!(
        out,
        "oncegate_objects{{answered=\"false\"}} {}",
        objects.silent
    )?;
    writeln!(out, "# EOF")
}

fn write_requests(out: &mut String, rows: &[Labelled]) -> fmt::Result {
    let name = "idempotency_requests";
    family(
        out,
        name,
        "counter",
        "Calls, by whether they brought a key.",
    )?;
    for row in rows {
        let unkeyed = row.sums.keys_missing;
        let keyed = row.sums.calls().saturating_sub(unkeyed);
        writeln!(
            out,
            "{name}_total{{{}}} {keyed}",
            Labels(row, &[("keyed", "true")])
        )?;
        writeln!(
            out,
            "{name}_total{{{}}} {unkeyed}",
            Labels(row, &[("keyed", "false")])
        )?;
    }
    Ok(())
}

fn write_settled(out: &mut String, rows: &[Labelled]) -> fmt::Result {
    let name = "oncegate_settled";
    family(
        out,
        name,
        "counter",
        "Unknown outcomes that were settled, by whose word.",
    )?;
    for row in rows {
        for (by, settled) in [
            ("operator", row.sums.settled_by_operator),
            ("probe", row.sums.settled_by_probe),
        ] {
            writeln!(
                out,
                "{name}_total{{{}}} {settled}",
                Labels(row, &[("by", by)])
            )?;
        }
    }
    Ok(())
}

fn write_histograms(out: &mut String, rows: &[Labelled]) -> fmt::Result {
    let name = "idempotency_key_age_at_request_seconds";
    family(
        out,
        name,
        "histogram",
        "How old keys that carry a timestamp were when they came.",
    )?;
    for row in rows {
        write_histogram(out, name, row, &row.sums.key_age, &KEY_AGE_BOUNDS)?;
    }
    let name = "oncegate_origin_latency_seconds";
    family(out, name, "histogram", "How long origins took to answer.")?;
    for row in rows {
        write_histogram(out, name, row, &row.sums.origin_latency, &LATENCY_BOUNDS)?;
    }
    Ok(())
}

fn write_histogram<const N: usize>(
    out: &mut String,
    name: &str,
    row: &Labelled,
    histogram: &Histogram<N>,
    bounds: &[Millis; N],
) -> fmt::Result {
    for (bound, count) in bounds.iter().zip(histogram.cumulative()) {
        writeln!(
            out,
            "{name}_bucket{{{},le=\"{}\"}} {count}",
            Labels(row, &[]),
            Seconds(*bound)
        )?;
    }
    let labels = Labels(row, &[]);
    writeln!(
        out,
        "{name}_bucket{{{labels},le=\"+Inf\"}} {}",
        histogram.count()
    )?;
    writeln!(out, "{name}_sum{{{labels}}} {}", Seconds(histogram.sum()))?;
    writeln!(out, "{name}_count{{{labels}}} {}", histogram.count())
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) -> fmt::Result {
    writeln!(out, "# TYPE {name} {kind}")?;
    if name.ends_with("_seconds") {
        writeln!(out, "# UNIT {name} seconds")?;
    }
    writeln!(out, "# HELP {name} {help}")
}

/// `tenant` and `route`, and further labels.
struct Labels<'a>(&'a Labelled, &'a [(&'a str, &'a str)]);

impl fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tenant, route) = (Escaped(&self.0.tenant), Escaped(&self.0.route));
        write!(f, "tenant=\"{tenant}\",route=\"{route}\"")?;
        for (name, value) in self.1 {
            write!(f, ",{name}=\"{}\"", Escaped(value))?;
        }
        Ok(())
    }
}

/// A label's value: a tenant may be any visible text.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            char => f.write_char(char),
        })
    }
}

/// A span as a decimal number of seconds, exact: `le="1.0"` is a float in `OpenMetrics`, always with a point.
struct Seconds(Millis);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, millis) = (self.0.get() / 1_000, self.0.get() % 1_000);
        let mut digits = 3;
        let mut fraction = millis;
        while digits > 1 && fraction % 10 == 0 {
            fraction /= 10;
            digits -= 1;
        }
        write!(f, "{whole}.{fraction:0digits$}")
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;
    use crate::metrics::Call;
    use crate::time::Timestamp;

    fn row(tenant: &str) -> Labelled {
        let mut sums = Sums::default();
        for (call, times) in [(Call::Applied, 3), (Call::Replayed, 2), (Call::Unknown, 1)] {
            (0..times).for_each(|_| sums.count(call));
        }
        sums.count(Call::Unprotected);
        sums.keys_missing = 1;
        sums.key_age.observe(Millis::new(1_500));
        sums.origin_latency.observe(Millis::new(40));
        let mut live = LiveState {
            tracked: 5,
            running: 1,
            ..LiveState::default()
        };
        live.unknown
            .observe(Timestamp::from_millis(0), Timestamp::from_millis(61_000));
        Labelled {
            tenant: tenant.to_string(),
            route: "orders".to_string(),
            sums,
            live,
        }
    }

    #[track_caller]
    fn check(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(
                text.lines().any(|found| found == *line),
                "{line:?} is not in\n{text}"
            );
        }
    }

    #[test]
    fn the_names_of_contract_m_are_there() {
        let text = render(
            &[row("acme")],
            Objects {
                answered: 1,
                silent: 2,
            },
        );
        let of = "tenant=\"acme\",route=\"orders\"";
        let expected = [
            "# TYPE idempotency_requests counter".to_string(),
            alloc::format!("idempotency_requests_total{{{of},keyed=\"true\"}} 6"),
            alloc::format!("idempotency_requests_total{{{of},keyed=\"false\"}} 1"),
            alloc::format!("idempotency_replay_total{{{of}}} 2"),
            alloc::format!("idempotency_conflict_409_total{{{of}}} 0"),
            alloc::format!("idempotency_fingerprint_mismatch_total{{{of}}} 0"),
            alloc::format!("idempotency_expired_key_rejections_total{{{of}}} 0"),
            alloc::format!("idempotency_takeover_total{{{of}}} 0"),
            "# UNIT idempotency_key_age_at_request_seconds seconds".to_string(),
            alloc::format!("idempotency_key_age_at_request_seconds_bucket{{{of},le=\"1.0\"}} 0"),
            alloc::format!("idempotency_key_age_at_request_seconds_bucket{{{of},le=\"10.0\"}} 1"),
            alloc::format!("idempotency_key_age_at_request_seconds_bucket{{{of},le=\"+Inf\"}} 1"),
            alloc::format!("idempotency_key_age_at_request_seconds_sum{{{of}}} 1.5"),
            alloc::format!("idempotency_key_age_at_request_seconds_count{{{of}}} 1"),
            alloc::format!("oncegate_origin_latency_seconds_bucket{{{of},le=\"0.01\"}} 0"),
            alloc::format!("oncegate_origin_latency_seconds_bucket{{{of},le=\"0.05\"}} 1"),
            alloc::format!("idempotency_stuck_in_progress{{{of},age_bucket=\"1m\"}} 0"),
            alloc::format!("ops_unknown_outcome{{{of},age_bucket=\"5m\"}} 1"),
            alloc::format!("ops_unknown_outcome_total{{{of}}} 1"),
            alloc::format!("oncegate_calls_total{{{of}}} 7"),
            alloc::format!("oncegate_tracked{{{of}}} 5"),
            "oncegate_objects{answered=\"false\"} 2".to_string(),
        ];
        check(
            &text,
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn families_are_declared_once_and_stay_together() {
        let text = render(&[row("a"), row("b")], Objects::default());
        let declared = |line: &str| line.strip_prefix("# TYPE ").map(ToString::to_string);
        let types: Vec<String> = text.lines().filter_map(declared).collect();
        assert_eq!(types.iter().collect::<BTreeSet<_>>().len(), types.len());
        let replay = text
            .lines()
            .position(|line| line.starts_with("idempotency_replay_total{tenant=\"a\""));
        let other = text
            .lines()
            .position(|line| line.starts_with("idempotency_replay_total{tenant=\"b\""));
        assert_eq!(replay.map(|at| at + 1), other);
    }

    #[test]
    fn values_of_labels_are_escaped() {
        let text = render(&[row("a\"b\\c")], Objects::default());
        assert!(text.contains(r#"{tenant="a\"b\\c",route="orders"}"#));
        assert_eq!(Escaped("a\nb").to_string(), "a\\nb");
    }

    #[test]
    fn seconds_are_exact() {
        let rows = [
            (0, "0.0"),
            (10, "0.01"),
            (250, "0.25"),
            (1_500, "1.5"),
            (61_007, "61.007"),
        ];
        for (millis, shown) in rows {
            assert_eq!(Seconds(Millis::new(millis)).to_string(), shown);
        }
    }
}
