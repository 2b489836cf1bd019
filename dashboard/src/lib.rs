//! What operators see of Oncegate, rendered in the browser from the gateway's JSON.
//!
//! `app` has routes and layout, `api` is the only fetcher, `forms` reads what it fetched, `live` asks again and again, `browser` is the rest of what is
//! asked of the browser; `pages` fetch, `components` show, `view` computes. The state of a page lies in its address.
//!
//! Not here: any decision about operations. The gateway makes them; this shows them.

#![expect(
    unreachable_pub,
    reason = "Leptos' #[component] widens the functions that it is put on"
)]
#![expect(
    clippy::redundant_closure,
    reason = "with `erase_components`, closures written in place are drawn by shared code: a quarter of the download"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "a component owns its properties"
)]

mod api;
mod app;
mod browser;
mod components;
mod forms;
mod kept;
mod live;
mod pages;
mod view;

use leptos::mount::mount_to_body;

/// Draws the dashboard into the page's body. Should it ever panic, `boot.js` says that it stopped.
pub fn start() {
    mount_to_body(app::App);
}
