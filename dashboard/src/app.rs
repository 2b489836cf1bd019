//! Routes and the frame around every page.

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::{FlatRoutes, Route, Router};
use leptos_router::hooks::{use_location, use_navigate, use_query_map};
use leptos_router::{NavigateOptions, path};
use shared::wire::{Overview, Role};

use crate::api::Failure;
use crate::components::header::Header;
use crate::kept::Kept;
use crate::live::Clock;
use crate::pages::audit::AuditPage;
use crate::pages::login::LoginPage;
use crate::pages::not_found::NotFoundPage;
use crate::pages::operation::OperationPage;
use crate::pages::operations::OperationsPage;
use crate::pages::overview::OverviewPage;
use crate::pages::unknown::UnknownPage;
use crate::view::filter::{OperationFilter, OverviewFilter};
use crate::view::link;
use crate::{api, browser};

/// The element that holds a page; the skip link and every change of page put the focus there.
pub(crate) const MAIN: &str = "main";
/// The search field, on every page.
pub(crate) const SEARCH: &str = "search";

/// Names to filter by, kept from page to page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// All configured routes.
    pub(crate) routes: Vec<String>,
    /// All tenants ever seen.
    pub(crate) tenants: Vec<String>,
}

/// The names to filter by: from the overview if it was open before, else asked for once.
pub(crate) fn names_to_choose() -> Signal<Names> {
    let names: RwSignal<Option<Names>> = expect_context();
    if names.with_untracked(Option::is_none) {
        spawn_local(async move {
            // Without an answer the filters offer what the address names; the page says what is wrong.
            if let Ok(overview) = ask_overview().await {
                let known = Names {
                    routes: overview.routes,
                    tenants: overview.tenants,
                };
                names.try_set(Some(known));
            }
        });
    }
    Signal::derive(move || names.get().unwrap_or_default())
}

async fn ask_overview() -> Result<Overview, Failure> {
    api::get(api::overview(&OverviewFilter::default()))
        .await?
        .read()
}

/// What the session may do, once known.
pub(crate) fn use_role() -> RwSignal<Option<Role>> {
    expect_context()
}

/// Goes to another address of the same page, which stays where it is scrolled to.
pub(crate) fn use_go() -> Callback<String> {
    let navigate = use_navigate();
    Callback::new(move |href: String| {
        let options = NavigateOptions {
            resolve: false,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&href, options);
    })
}

/// What screen readers are told of changes that nobody asked for.
#[derive(Clone, Copy)]
pub(crate) struct Announcer(RwSignal<String>);

impl Announcer {
    /// Says it, once whatever is being said has ended.
    pub(crate) fn say(self, text: &str) {
        self.0.try_set(text.to_owned());
    }
}

/// The dashboard.
#[component]
pub(crate) fn App() -> impl IntoView {
    Clock::provide();
    provide_context(RwSignal::new(None::<Names>));
    provide_context(RwSignal::new(None::<Role>));
    let announced = RwSignal::new(String::new());
    provide_context(Announcer(announced));
    view! {
        <Router base=link::BASE>
            <Frame/>
            <p class="hidden" role="status" aria-live="polite">{move || announced.get()}</p>
        </Router>
    }
}

#[component]
fn Frame() -> impl IntoView {
    let pathname = use_location().pathname;
    let signed_in = Memo::new(move |_| pathname.with(|path| path != link::LOGIN));
    // A new page takes the focus, so that keyboards and screen readers start at its top; the first one does not.
    Effect::new(move |earlier: Option<()>| {
        pathname.track();
        if earlier.is_some() {
            browser::focus(MAIN);
        }
    });
    let skip = move |event: ev::MouseEvent| {
        event.prevent_default();
        browser::focus(MAIN);
    };
    view! {
        <a class="skip" href="#main" on:click=skip>"Skip to content"</a>
        {move || signed_in.get().then(|| view! { <Top/> }.into_any())}
        <main id=MAIN tabindex="-1">
            <FlatRoutes fallback=NotFoundPage>
                <Route path=path!("/") view=OverviewPage/>
                <Route path=path!("/login") view=LoginPage/>
                <Route path=path!("/operations") view=OperationsPage/>
                <Route path=path!("/operations/:id") view=OperationPage/>
                <Route path=path!("/unknown") view=UnknownPage/>
                <Route path=path!("/audit") view=AuditPage/>
            </FlatRoutes>
        </main>
    }
}

/// The header with what it does: search, sign out, and the `/` key.
#[component]
fn Top() -> impl IntoView {
    let role = use_role();
    role.set(None);
    let who = RwSignal::new(String::new());
    spawn_local(async move {
        // Without an answer the header shows no role; the page below says what is wrong.
        if let Ok(session) = api::session().await {
            who.try_set(session.name);
            role.try_set(Some(session.role));
        }
    });

    let pathname = use_location().pathname;
    let query = use_query_map();
    let go = use_navigate();
    let listing = Memo::new(move |_| pathname.with(|path| path == link::OPERATIONS));
    let filter = Kept::new(move |_| {
        if listing.get() {
            query.with(|query| OperationFilter::read(|name| query.get(name)))
        } else {
            OperationFilter::default()
        }
    });
    let search = {
        let go = go.clone();
        Callback::new(move |q: String| {
            let filter = OperationFilter {
                q,
                ..filter.get_untracked()
            }
            .first_page();
            let replace = listing.get_untracked();
            let options = NavigateOptions {
                resolve: false,
                replace,
                ..NavigateOptions::default()
            };
            go(&filter.href(), options);
        })
    };
    let sign_out = Callback::new(move |()| {
        let go = go.clone();
        spawn_local(async move {
            // A session that could not be ended here is over at the latest when its cookie is.
            let _ = api::logout().await;
            go(
                link::LOGIN,
                NavigateOptions {
                    resolve: false,
                    ..NavigateOptions::default()
                },
            );
        });
    });
    let shortcut = window_event_listener(ev::keydown, move |event| {
        let plain = !event.ctrl_key() && !event.meta_key() && !event.alt_key();
        if event.key() == "/" && plain && !browser::is_typing() {
            event.prevent_default();
            browser::focus(SEARCH);
            browser::select_text(SEARCH);
        }
    });
    on_cleanup(move || shortcut.remove());
    let q = Signal::derive(move || filter.get().q);
    view! { <Header pathname role who q listing=listing.into() search sign_out/> }
}
