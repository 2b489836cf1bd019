//! The bar above every page: where one is, the search, the theme, who one is.

use std::time::Duration;

use leptos::ev;
use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;
use shared::wire::Role;

use crate::app::SEARCH;
use crate::browser::Theme;
use crate::view::link;

/// How long typing must pause before the list follows it.
const TYPING_PAUSE: Duration = Duration::from_millis(250);

/// The pages, with their hooks for tests.
const PAGES: [(&str, &str, &str); 4] = [
    ("Overview", link::OVERVIEW, "nav-overview"),
    ("Unknown", link::UNKNOWN, "nav-unknown"),
    ("Operations", link::OPERATIONS, "nav-operations"),
    ("Audit", link::AUDIT, "nav-audit"),
];

/// The bar.
#[component]
pub(crate) fn Header(
    /// The page's path.
    pathname: Memo<String>,
    /// What the session may do, once known.
    role: RwSignal<Option<Role>>,
    /// The session's name, as the audit log has it.
    who: RwSignal<String>,
    /// What is searched for.
    q: Signal<String>,
    /// Whether the page lists operations, so that it can follow the typing.
    listing: Signal<bool>,
    /// Called with what to search for.
    search: Callback<String>,
    /// Called to end the session.
    sign_out: Callback<()>,
) -> impl IntoView {
    let pages = PAGES.map(|(name, href, test)| {
        let is_here =
            move |path: &String| path == href || (href != link::OVERVIEW && path.starts_with(href));
        let current = move || pathname.with(is_here).then_some("page");
        view! { <a href=href aria-current=move || current() data-test=test>{name}</a> }.into_any()
    });
    let shown_role = move || {
        let role = match role.get() {
            None => return String::new(),
            Some(Role::Viewer) => "viewer",
            Some(Role::Operator) => "operator",
        };
        match who.get() {
            name if name.is_empty() || name == role => role.to_owned(),
            name => format!("{name}, {role}"),
        }
    };
    view! {
        <header class="top">
            <a class="brand" href=link::OVERVIEW>
                <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
                    <path d="M3 3v14M17 3v14" class="posts"/>
                    <path d="M6 10h7M10 6.500l3.500 3.500l-3.500 3.500" class="arrow"/>
                </svg>
                "Oncegate"
            </a>
            <nav aria-label="Pages">
                {pages.collect_view()}
            </nav>
            <Search q listing search/>
            <div class="self">
                <span class="role" title=move || who.get()>{move || shown_role()}</span>
                <ThemeToggle/>
                <button type="button" class="quiet" data-test="sign-out" on:click=move |_| sign_out.run(())>
                    "Sign out"
                </button>
            </div>
        </header>
    }
}

#[component]
fn Search(q: Signal<String>, listing: Signal<bool>, search: Callback<String>) -> impl IntoView {
    let field = NodeRef::<leptos::html::Input>::new();
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let settle = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    let submit = move || {
        settle();
        if let Some(field) = field.get_untracked() {
            search.run(field.value().trim().to_owned());
        }
    };
    let typed = move |_| {
        settle();
        if listing.get_untracked() {
            let pending = set_timeout_with_handle(submit, TYPING_PAUSE).ok();
            timer.set_value(pending);
        }
    };
    // The field follows the address, but never pulls letters from under the operator's fingers.
    Effect::new(move |_| {
        let q = q.get();
        if let Some(field) = field.get()
            && field.value().trim() != q
        {
            field.set_value(&q);
        }
    });
    on_cleanup(settle);
    let submitted = move |event: ev::SubmitEvent| {
        event.prevent_default();
        submit();
    };
    view! {
        <form class="search" role="search" on:submit=submitted>
            <label class="hidden" for=SEARCH>"Search operations by key, operation id or event id"</label>
            <input
                id=SEARCH
                node_ref=field
                type="search"
                data-test="filter-q"
                placeholder="Key, operation id or event id"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                aria-keyshortcuts="/"
                on:input=typed
            />
            <kbd aria-hidden="true">"/"</kbd>
        </form>
    }
}

#[component]
fn ThemeToggle() -> impl IntoView {
    let theme = RwSignal::new(Theme::current());
    let toggle = move |_| {
        let other = theme.get_untracked().other();
        other.choose();
        theme.set(other);
    };
    let label = move || format!("Use the {} theme", theme.get().other().name());
    let drawing = move || match theme.get() {
        Theme::Light => "M16 12.500A7 7 0 0 1 7.500 4a6.500 6.500 0 1 0 8.500 8.500z",
        Theme::Dark => {
            "M10 6.500a3.500 3.500 0 1 0 .01 0M10 1.500v2M10 16.500v2M1.500 10h2M16.500 10h2M4 4l1.400 1.400M14.600 14.600L16 16M4 16l1.400-1.400M14.600 5.400L16 4"
        }
    };
    view! {
        <button
            type="button"
            class="quiet icon"
            data-test="theme-toggle"
            aria-label=move || label()
            title=move || label()
            on:click=toggle
        >
            <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
                <path d=move || drawing()/>
            </svg>
        </button>
    }
}
