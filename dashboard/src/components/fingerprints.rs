//! The fingerprint that a key is bound to, and under it those of other requests that came with the key.

use leptos::prelude::*;
use shared::wire::{OperationDetail, OtherFingerprint, RouteKind};

use crate::kept::Kept;
use crate::live::Latest;
use crate::view::fingerprint::{self, Group};
use crate::view::{age, words};

/// The fingerprints.
#[component]
pub(crate) fn Fingerprints(
    /// The operation.
    detail: Latest<OperationDetail>,
) -> impl IntoView {
    // They change seldom: without this, every answer would draw them anew.
    let shown = Kept::new(move |_| {
        detail.with(|detail| {
            Some((
                detail.row.kind,
                detail.fingerprint.clone(),
                detail.others.clone(),
            ))
        })
    });
    view! {
        {move || {
            shown.with(|shown| {
                let (kind, bound, others) = shown.as_ref()?;
                Some(list(*kind, bound, others))
            })
        }}
    }
}

fn list(kind: RouteKind, bound: &str, others: &[OtherFingerprint]) -> AnyView {
    let explained = match (others.is_empty(), kind) {
        (true, _) => "",
        (false, RouteKind::Api) => {
            "A key names one request. Marked groups differ from the request that the key is bound to."
        }
        (false, RouteKind::Webhook) => {
            "Providers may write the same event anew (F5). Marked groups differ from the first delivery."
        }
    };
    let others = others.iter().map(|other| {
        view! {
            <div class="other">
                <dt>
                    {words::other_request(kind)}
                    <span class="faint">" first at " {age::moment(other.first_at)}</span>
                </dt>
                <dd data-test="other-fingerprint">{digits(&other.fingerprint, bound)}</dd>
            </div>
        }
        .into_any()
    });
    view! {
        <dl class="fingerprints">
            <div>
                <dt>"Bound to this key"</dt>
                <dd data-test="fingerprint">{digits(bound, bound)}</dd>
            </div>
            {others.collect_view()}
        </dl>
        <p class="faint">{explained}</p>
    }
    .into_any()
}

fn digits(shown: &str, against: &str) -> AnyView {
    let pieces = fingerprint::compare(shown, against);
    let recipe = (!pieces.recipe.digits.is_empty())
        .then(|| view! { <span class="faint">{group(pieces.recipe)} ":"</span> }.into_any());
    view! {
        <code class="digits">
            {recipe} {pieces.groups.into_iter().map(group).collect_view()}
        </code>
    }
    .into_any()
}

fn group(group: Group) -> AnyView {
    if group.differs {
        view! { <mark>{group.digits}</mark> }.into_any()
    } else {
        view! { <span>{group.digits}</span> }.into_any()
    }
}
