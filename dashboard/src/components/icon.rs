//! The one sign that goes with words of warning, so that colour is never alone.

use leptos::prelude::*;

/// A triangle with an exclamation mark.
pub(crate) fn warning() -> AnyView {
    view! {
        <svg class="sign" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
            <path d="M8 1.500l7 12.500h-14zM8 6v4M8 11.500v1"/>
        </svg>
    }
    .into_any()
}
