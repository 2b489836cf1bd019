//! The fingerprint that a key is bound to, and under it those of other requests that came with the key.

use leptos::prelude::*;
use shared::wire::{OperationDetail, RouteKind};

use crate::view::fingerprint::{self, Group};
use crate::view::{age, words};

/// The fingerprints.
#[component]
pub(crate) fn Fingerprints(
    /// The operation.
    detail: Memo<OperationDetail>,
) -> impl IntoView {
    let bound = Memo::new(move |_| detail.with(|detail| detail.fingerprint.clone()));
    let others = Memo::new(move |_| detail.with(|detail| detail.others.clone()));
    let kind = Memo::new(move |_| detail.with(|detail| detail.row.kind));
    let explained = move || match kind.get() {
        RouteKind::Api => {
            "A key names one request. Marked groups differ from the request that the key is bound to."
        }
        RouteKind::Webhook => {
            "Providers may write the same event anew (F5). Marked groups differ from the first delivery."
        }
    };
    let rows =
        move || {
            let bound = bound.get();
            let kind = kind.get();
            others.get().into_iter().map(move |other| {
            view! {
                <div class="other">
                    <dt>
                        {words::other_request(kind)}
                        <span class="faint">" first at " {age::moment(other.first_at)}</span>
                    </dt>
                    <dd data-test="other-fingerprint">{digits(&other.fingerprint, &bound)}</dd>
                </div>
            }
        }).collect_view()
        };
    view! {
        <dl class="fingerprints">
            <div>
                <dt>"Bound to this key"</dt>
                <dd data-test="fingerprint">{move || digits(&bound.get(), &bound.get())}</dd>
            </div>
            {rows}
        </dl>
        <Show when=move || !others.with(Vec::is_empty)>
            <p class="faint">{explained}</p>
        </Show>
    }
}

fn digits(shown: &str, against: &str) -> impl IntoView + use<> {
    let pieces = fingerprint::compare(shown, against);
    let recipe = (!pieces.recipe.digits.is_empty()).then(|| {
        view! { <span class="faint">{group(pieces.recipe)} ":"</span> }
    });
    view! { <code class="digits">{recipe} {pieces.groups.into_iter().map(group).collect_view()}</code> }
}

fn group(group: Group) -> AnyView {
    if group.differs {
        view! { <mark>{group.digits}</mark> }.into_any()
    } else {
        view! { <span>{group.digits}</span> }.into_any()
    }
}
