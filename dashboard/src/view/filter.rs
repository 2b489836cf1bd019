//! What a page asks for, and its two query strings: the page's own (readable, for sharing) and the gateway's.

use shared::time::Timestamp;
use shared::wire::{Matching, OperationState};

use super::{age, link};

/// How many earlier pages an address remembers, so that it stays below the 8 kB that servers take.
const TRAIL_MAX: usize = 50;
/// Parts the cursors of earlier pages; no cursor has it.
const TRAIL_SEPARATOR: char = '~';

/// How far back the overview looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Range {
    /// One hour.
    #[default]
    Hour,
    /// 24 hours.
    Day,
    /// Seven days.
    Week,
}

impl Range {
    /// All, shortest first.
    pub(crate) const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// The range's name in both query strings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// After "in": the last hour.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Hour => "the last hour",
            Self::Day => "the last 24 hours",
            Self::Week => "the last 7 days",
        }
    }

    fn parse(text: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|range| range.name() == text)
            .unwrap_or_default()
    }
}

/// What the overview shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OverviewFilter {
    /// How far back.
    pub(crate) range: Range,
    /// One route only; all when empty.
    pub(crate) route: String,
    /// One tenant only; all when empty.
    pub(crate) tenant: String,
}

impl OverviewFilter {
    /// Reads the page's query; what cannot be read is left at its default.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            range: Range::parse(&get("range").unwrap_or_default()),
            route: get("route").unwrap_or_default(),
            tenant: get("tenant").unwrap_or_default(),
        }
    }

    /// The page's address with this filter.
    pub(crate) fn href(&self) -> String {
        let range = if self.range == Range::default() {
            String::new()
        } else {
            self.range.name().to_owned()
        };
        link::with_query(
            link::OVERVIEW,
            &[
                ("range", range),
                ("route", self.route.clone()),
                ("tenant", self.tenant.clone()),
            ],
        )
    }

    /// The gateway's address that answers it.
    pub(crate) fn ask(&self, path: &str) -> String {
        link::with_query(
            path,
            &[
                ("range", self.range.name().to_owned()),
                ("route", self.route.clone()),
                ("tenant", self.tenant.clone()),
            ],
        )
    }
}

/// Which unknown outcomes are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnknownFilter {
    /// One route only; all when empty.
    pub(crate) route: String,
    /// One tenant only; all when empty.
    pub(crate) tenant: String,
    /// Only after this last word of the origin's; all when empty.
    pub(crate) last_answer: String,
}

impl UnknownFilter {
    /// Reads the page's query.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            route: get("route").unwrap_or_default(),
            tenant: get("tenant").unwrap_or_default(),
            last_answer: get("last_answer").unwrap_or_default(),
        }
    }

    /// The page's address with this filter.
    pub(crate) fn href(&self) -> String {
        self.ask(link::UNKNOWN)
    }

    /// The gateway's address that answers it.
    pub(crate) fn ask(&self, path: &str) -> String {
        link::with_query(
            path,
            &[
                ("route", self.route.clone()),
                ("tenant", self.tenant.clone()),
                ("last_answer", self.last_answer.clone()),
            ],
        )
    }

    /// The same for settling all that match; only after one last answer.
    pub(crate) fn matching(&self) -> Option<Matching> {
        let named = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        Some(Matching {
            tenant: named(&self.tenant),
            route: named(&self.route),
            last_answer: named(&self.last_answer)?,
        })
    }
}

/// Which entries of the audit log are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuditFilter {
    /// One route only; all when empty.
    pub(crate) route: String,
    /// One tenant only; all when empty.
    pub(crate) tenant: String,
    /// The page, as the gateway named it; the newest when empty.
    pub(crate) before: String,
}

impl AuditFilter {
    /// Reads the page's query.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            route: get("route").unwrap_or_default(),
            tenant: get("tenant").unwrap_or_default(),
            before: get("before").unwrap_or_default(),
        }
    }

    /// The page's address with this filter.
    pub(crate) fn href(&self) -> String {
        self.ask(link::AUDIT)
    }

    /// The gateway's address that answers it.
    pub(crate) fn ask(&self, path: &str) -> String {
        link::with_query(
            path,
            &[
                ("route", self.route.clone()),
                ("tenant", self.tenant.clone()),
                ("before", self.before.clone()),
            ],
        )
    }

    /// The same filter from another page on; from the newest entry on when it has no name.
    pub(crate) fn page(mut self, before: String) -> Self {
        self.before = before;
        self
    }
}

/// A state as operators filter by it: stuck is a kind of in progress that deserves its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// An attempt runs under a live lease, or ran out of it (the gateway's `in_progress`).
    InProgress,
    /// An attempt's lease ran out with no word.
    Stuck,
    /// Nobody knows the outcome.
    Unknown,
    /// The outcome is kept.
    Completed,
}

impl Standing {
    /// All, in the order of the filter: what needs a look first.
    pub(crate) const ALL: [Self; 4] = [
        Self::Unknown,
        Self::Stuck,
        Self::InProgress,
        Self::Completed,
    ];

    /// Where an operation stands.
    pub(crate) const fn of(state: OperationState, stuck: bool) -> Self {
        match state {
            OperationState::InProgress if stuck => Self::Stuck,
            OperationState::InProgress => Self::InProgress,
            OperationState::Indeterminate => Self::Unknown,
            OperationState::Completed => Self::Completed,
        }
    }

    /// The name in both query strings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Stuck => "stuck",
            Self::Unknown => "indeterminate",
            Self::Completed => "completed",
        }
    }

    /// Reads the name; nothing when there is no such state.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|standing| standing.name() == text)
    }
}

/// Which operations the list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OperationFilter {
    /// A key, an operation's id or an event's id.
    pub(crate) q: String,
    /// One state only.
    pub(crate) standing: Option<Standing>,
    /// One route only; all when empty.
    pub(crate) route: String,
    /// One tenant only; all when empty.
    pub(crate) tenant: String,
    /// First claimed at or after.
    pub(crate) from: Option<Timestamp>,
    /// First claimed before.
    pub(crate) to: Option<Timestamp>,
    /// The page, as the gateway named it; the first when empty.
    pub(crate) cursor: String,
    /// The cursors of the pages before this one, oldest first; the first page's is empty.
    pub(crate) trail: Vec<String>,
}

impl OperationFilter {
    /// Reads the page's query; what cannot be read is left out.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name| get(name).unwrap_or_default();
        let time = |name| get(name).as_deref().and_then(age::from_field);
        let cursor = text("cursor");
        let trail = if cursor.is_empty() {
            Vec::new()
        } else {
            text("trail")
                .split(TRAIL_SEPARATOR)
                .map(str::to_owned)
                .collect()
        };
        Self {
            q: text("q").trim().to_owned(),
            standing: get("state").as_deref().and_then(Standing::parse),
            route: text("route"),
            tenant: text("tenant"),
            from: time("from"),
            to: time("to"),
            cursor,
            trail,
        }
    }

    /// The page's address with this filter.
    pub(crate) fn href(&self) -> String {
        let mut pairs = self.pairs(|at| age::to_field(at));
        pairs.push(("trail", self.trail.join(&TRAIL_SEPARATOR.to_string())));
        link::with_query(link::OPERATIONS, &pairs)
    }

    /// The gateway's address that answers it.
    pub(crate) fn ask(&self, path: &str) -> String {
        link::with_query(path, &self.pairs(|at| at.as_millis().to_string()))
    }

    /// The same filter from its first page on.
    pub(crate) fn first_page(mut self) -> Self {
        self.cursor.clear();
        self.trail.clear();
        self
    }

    /// The page after this one.
    pub(crate) fn next_page(mut self, cursor: String) -> Self {
        self.trail.push(std::mem::replace(&mut self.cursor, cursor));
        let over = self.trail.len().saturating_sub(TRAIL_MAX);
        self.trail.drain(..over);
        self
    }

    /// The page before this one; none on the first.
    pub(crate) fn previous_page(mut self) -> Option<Self> {
        if self.cursor.is_empty() {
            return None;
        }
        self.cursor = self.trail.pop().unwrap_or_default();
        Some(self)
    }

    /// Whether it leaves out anything but other pages.
    pub(crate) fn narrows(&self) -> bool {
        self.clone().first_page() != Self::default()
    }

    fn pairs(&self, time: impl Fn(Timestamp) -> String) -> Vec<(&'static str, String)> {
        vec![
            ("q", self.q.clone()),
            (
                "state",
                self.standing
                    .map(|standing| standing.name().to_owned())
                    .unwrap_or_default(),
            ),
            ("route", self.route.clone()),
            ("tenant", self.tenant.clone()),
            ("from", self.from.map(&time).unwrap_or_default()),
            ("to", self.to.map(&time).unwrap_or_default()),
            ("cursor", self.cursor.clone()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads back the unescaped pairs of an address that needs no escapes but those of `:` and `~`.
    fn query(address: &str) -> impl Fn(&str) -> Option<String> {
        let pairs: Vec<(String, String)> = address
            .split_once('?')
            .map_or("", |(_, query)| query)
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.replace("%3A", ":")))
            .collect();
        move |name| {
            pairs
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        }
    }

    fn filter() -> OperationFilter {
        OperationFilter {
            q: "order-1".to_owned(),
            standing: Some(Standing::Stuck),
            route: "orders".to_owned(),
            tenant: "acme".to_owned(),
            from: Some(Timestamp::from_millis(1_796_043_909_000)),
            to: Some(Timestamp::from_millis(1_796_043_960_000)),
            ..OperationFilter::default()
        }
    }

    #[test]
    fn a_filter_reads_back_from_its_address() {
        let deep = filter()
            .next_page("c2".to_owned())
            .next_page("c3".to_owned());
        for filter in [filter(), deep, OperationFilter::default()] {
            assert_eq!(OperationFilter::read(query(&filter.href())), filter);
        }
        for range in Range::ALL {
            let filter = OverviewFilter {
                range,
                route: "orders".to_owned(),
                tenant: String::new(),
            };
            assert_eq!(OverviewFilter::read(query(&filter.href())), filter);
        }
    }

    #[test]
    fn filters_of_unknown_outcomes_and_of_the_log_read_back() {
        let unknown = UnknownFilter {
            route: "orders".to_owned(),
            tenant: "acme".to_owned(),
            last_answer: "502".to_owned(),
        };
        let everything = UnknownFilter::default();
        for filter in [&unknown, &everything] {
            assert_eq!(UnknownFilter::read(query(&filter.href())), *filter);
        }
        assert_eq!(
            unknown.ask("/x"),
            "/x?route=orders&tenant=acme&last_answer=502"
        );
        assert_eq!(everything.matching(), None);
        let matching = UnknownFilter {
            tenant: String::new(),
            ..unknown
        }
        .matching();
        let expected = Matching {
            tenant: None,
            route: Some("orders".to_owned()),
            last_answer: "502".to_owned(),
        };
        assert_eq!(matching, Some(expected));
        let log = AuditFilter {
            route: "orders".to_owned(),
            ..AuditFilter::default()
        };
        let older = log.clone().page("c2".to_owned());
        assert_eq!(older.ask("/x"), "/x?route=orders&before=c2");
        assert_eq!(AuditFilter::read(query(&older.href())), older);
        assert_eq!(older.page(String::new()), log);
    }

    #[test]
    fn the_gateway_is_asked_in_milliseconds_and_without_the_trail() {
        let ask = filter().next_page("c2".to_owned()).ask("/x");
        assert_eq!(
            ask,
            "/x?q=order-1&state=stuck&route=orders&tenant=acme&from=1796043909000&to=1796043960000&cursor=c2"
        );
        assert_eq!(OverviewFilter::default().ask("/x"), "/x?range=1h");
    }

    #[test]
    fn unreadable_values_are_left_out() {
        let read = OperationFilter::read(query("/x?state=odd&from=soon&trail=a~b"));
        assert_eq!(read, OperationFilter::default());
        assert_eq!(
            OverviewFilter::read(query("/x?range=1y")),
            OverviewFilter::default()
        );
    }

    #[test]
    fn pages_lead_on_and_back() {
        let first = filter();
        let third = first
            .clone()
            .next_page("c2".to_owned())
            .next_page("c3".to_owned());
        let second = third.clone().previous_page();
        assert_eq!(second.as_ref().map(|page| page.cursor.as_str()), Some("c2"));
        assert_eq!(
            second.and_then(OperationFilter::previous_page),
            Some(first.clone())
        );
        assert_eq!(first.clone().previous_page(), None);
        assert_eq!(third.first_page(), first);
        assert!(
            first.narrows()
                && !OperationFilter::default()
                    .next_page("c".to_owned())
                    .narrows()
        );
        let far = (0..200).fold(filter(), |page, n| page.next_page(format!("c{n}")));
        assert_eq!(far.trail.len(), TRAIL_MAX);
    }

    #[test]
    fn stuck_is_a_state_of_its_own() {
        for (state, stuck, standing) in [
            (OperationState::InProgress, true, Standing::Stuck),
            (OperationState::InProgress, false, Standing::InProgress),
            (OperationState::Indeterminate, false, Standing::Unknown),
            (OperationState::Completed, false, Standing::Completed),
        ] {
            assert_eq!(Standing::of(state, stuck), standing);
            assert_eq!(Standing::parse(standing.name()), Some(standing));
        }
    }
}
