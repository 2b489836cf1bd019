//! Values that are computed anew when what they come from changes, and that tell only of their own changes.
//!
//! Leptos' own `Memo` with its type hidden, so that the browser downloads its code once and not once for each type.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude::*;

/// A kept value.
pub(crate) struct Kept<T: 'static> {
    memo: Memo<Shared>,
    of: PhantomData<fn() -> T>,
}

impl<T: 'static> Clone for Kept<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for Kept<T> {}

impl<T: PartialEq + Send + Sync + 'static> Kept<T> {
    /// Computes it; from its earlier self too, if that helps.
    pub(crate) fn new(compute: impl Fn(Option<&T>) -> T + Send + Sync + 'static) -> Self {
        let compute = move |before: Option<&Shared>| {
            Shared(Arc::new(compute(before.and_then(Shared::as_ref))))
        };
        Self {
            memo: memo(Box::new(compute)),
            of: PhantomData,
        }
    }

    /// A part of it.
    pub(crate) fn with<U>(self, pick: impl FnOnce(&T) -> U) -> U {
        self.memo.get().pick(pick)
    }

    /// The same, once: the caller is not told of changes.
    pub(crate) fn with_untracked<U>(self, pick: impl FnOnce(&T) -> U) -> U {
        self.memo.get_untracked().pick(pick)
    }

    /// Only to be told of changes.
    pub(crate) fn track(self) {
        self.memo.track();
    }
}

impl<T: Clone + PartialEq + Send + Sync + 'static> Kept<T> {
    /// The value.
    pub(crate) fn get(self) -> T {
        self.with(T::clone)
    }

    /// The value, once: the caller is not told of changes.
    pub(crate) fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }
}

impl<T: Clone + PartialEq + Send + Sync + 'static> From<Kept<T>> for Signal<T> {
    fn from(kept: Kept<T>) -> Self {
        Self::derive(move || kept.get())
    }
}

type Compute = Box<dyn Fn(Option<&Shared>) -> Shared + Send + Sync>;

fn memo(compute: Compute) -> Memo<Shared> {
    Memo::new(compute)
}

#[derive(Clone)]
struct Shared(Arc<dyn Value>);

impl Shared {
    fn as_ref<T: 'static>(&self) -> Option<&T> {
        (*self.0).any().downcast_ref()
    }

    fn pick<T: 'static, U>(&self, pick: impl FnOnce(&T) -> U) -> U {
        match self.as_ref() {
            Some(value) => pick(value),
            None => unreachable!("made with this type, above"),
        }
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        (*self.0).is(&*other.0)
    }
}

trait Value: Send + Sync {
    fn any(&self) -> &dyn Any;
    fn is(&self, other: &dyn Value) -> bool;
}

impl<T: PartialEq + Send + Sync + 'static> Value for T {
    fn any(&self) -> &dyn Any {
        self
    }

    fn is(&self, other: &dyn Value) -> bool {
        other.any().downcast_ref() == Some(self)
    }
}
