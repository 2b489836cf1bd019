//! What an operator has chosen in a list. Only the operator changes it: a list that is drawn anew leaves it alone.

use leptos::prelude::*;

/// The chosen operations.
#[derive(Clone, Copy)]
pub(crate) struct Selection {
    ids: RwSignal<Vec<String>>,
    /// Whether all that match are meant, those too that the list has no room for.
    beyond: RwSignal<bool>,
}

impl Selection {
    /// Nothing is chosen.
    pub(crate) fn new() -> Self {
        Self {
            ids: RwSignal::new(Vec::new()),
            beyond: RwSignal::new(false),
        }
    }

    /// The ids, in the order of choosing.
    pub(crate) fn ids(self) -> Vec<String> {
        self.ids.get()
    }

    /// How many.
    pub(crate) fn len(self) -> usize {
        self.ids.with(Vec::len)
    }

    /// Whether this one is.
    pub(crate) fn has(self, id: &String) -> bool {
        self.ids.with(|ids| ids.contains(id))
    }

    /// Whether all that match are.
    pub(crate) fn is_beyond(self) -> bool {
        self.beyond.get()
    }

    /// Chooses all that match.
    pub(crate) fn go_beyond(self) {
        self.beyond.set(true);
    }

    /// Chooses exactly these.
    pub(crate) fn set(self, ids: Vec<String>) {
        self.beyond.set(false);
        self.ids.set(ids);
    }

    /// Chooses one besides the others, or leaves it out.
    pub(crate) fn toggle(self, id: &str) {
        self.beyond.set(false);
        self.ids.update(|ids| {
            let before = ids.len();
            ids.retain(|chosen| chosen != id);
            if ids.len() == before {
                ids.push(id.to_owned());
            }
        });
    }

    /// Leaves out those that are settled.
    pub(crate) fn drop(self, settled: &[String]) {
        self.beyond.set(false);
        self.ids
            .update(|ids| ids.retain(|id| !settled.contains(id)));
    }
}
