//! What is asked of the browser besides fetching: its clock, its parser, the address, the theme, focus.
//!
//! Every call gives a sensible default where a browser refuses: a closed storage is no reason not to show numbers.

use js_sys::{Array, JSON, Object};
use leptos::prelude::{document, window};
use shared::time::Timestamp;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlDialogElement, HtmlElement, HtmlInputElement, VisibilityState};

use crate::forms::Json;

/// Where the choice of theme is kept; `boot.js` reads it before the first paint.
const THEME_KEY: &str = "oncegate-theme";

/// The two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// The one in use: the operator's choice, else the system's.
    pub(crate) fn current() -> Self {
        let chosen = document()
            .document_element()
            .and_then(|root| root.get_attribute("data-theme"));
        let system_dark = || {
            let query = window().match_media("(prefers-color-scheme: dark)");
            query.ok().flatten().is_some_and(|query| query.matches())
        };
        match chosen.as_deref() {
            Some("dark") => Self::Dark,
            Some("light") => Self::Light,
            _ if system_dark() => Self::Dark,
            _ => Self::Light,
        }
    }

    /// The other one.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Light => Self::Dark,
            Self::Dark => Self::Light,
        }
    }

    /// The name in the page and in the storage.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Uses it from now on, in later visits too.
    pub(crate) fn choose(self) {
        if let Some(root) = document().document_element() {
            let _ = root.set_attribute("data-theme", self.name());
        }
        if let Ok(Some(storage)) = window().local_storage() {
            let _ = storage.set_item(THEME_KEY, self.name());
        }
    }
}

/// The browser's clock.
pub(crate) fn now() -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole milliseconds, far below 2^53"
    )]
    Timestamp::from_millis(js_sys::Date::now() as i64)
}

/// Whether anyone can see the page.
pub(crate) fn is_visible() -> bool {
    document().visibility_state() == VisibilityState::Visible
}

/// The page's path and query.
pub(crate) fn address() -> String {
    let location = window().location();
    let path = location.pathname().unwrap_or_default();
    path + &location.search().unwrap_or_default()
}

/// Scheme, host and port of the page.
pub(crate) fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// Takes the login token out of the address's fragment, so that neither the history nor a screenshot keeps it (X3).
pub(crate) fn take_token() -> Option<String> {
    let fragment = window().location().hash().ok()?;
    let token = fragment.strip_prefix("#token=")?;
    let token = js_sys::decode_uri_component(token).ok()?.as_string()?;
    let history = window().history().ok()?;
    let _ = history.replace_state_with_url(&history.state().ok()?, "", Some(&address()));
    Some(token)
}

/// Parses JSON; nothing when it is none.
pub(crate) fn parse(text: &str) -> Option<Json> {
    JSON::parse(text).ok().as_ref().map(json)
}

fn json(value: &JsValue) -> Json {
    if let Some(text) = value.as_string() {
        Json::Text(text)
    } else if let Some(number) = value.as_f64() {
        Json::Number(number)
    } else if let Some(truth) = value.as_bool() {
        Json::Truth(truth)
    } else if let Some(items) = value.dyn_ref::<Array>() {
        Json::List(items.iter().map(|item| json(&item)).collect())
    } else if let Some(object) = value.dyn_ref::<Object>() {
        let members = Object::entries(object);
        let member = |pair: JsValue| {
            let pair: Array = pair.unchecked_into();
            (
                pair.get(0).as_string().unwrap_or_default(),
                json(&pair.get(1)),
            )
        };
        Json::Object(members.iter().map(member).collect())
    } else {
        Json::Null
    }
}

/// Names the browser's tab.
pub(crate) fn set_title(title: &str) {
    document().set_title(title);
}

/// Moves the focus to the element with this id, if it is there.
pub(crate) fn focus(id: &str) {
    let element = document().get_element_by_id(id);
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = element.focus();
    }
}

/// Whether the focus is nowhere, or within a dialog that has just been closed.
pub(crate) fn has_lost_focus() -> bool {
    document()
        .active_element()
        .and_then(|element| element.closest("body, dialog").ok().flatten())
        .is_none_or(|around| around.tag_name() == "DIALOG" || has_focus(&around))
}

fn has_focus(element: &Element) -> bool {
    document().active_element().as_ref() == Some(element)
}

/// Shows the dialog with this id above all else; the rest of the page rests until it is closed.
pub(crate) fn show_dialog(id: &str) {
    if let Some(dialog) = dialog(id) {
        let _ = dialog.show_modal();
    }
}

/// Closes the dialog with this id; the focus goes back to where it was.
pub(crate) fn close_dialog(id: &str) {
    if let Some(dialog) = dialog(id) {
        dialog.close();
    }
}

fn dialog(id: &str) -> Option<HtmlDialogElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

/// Selects the text of the field with this id.
pub(crate) fn select_text(id: &str) {
    let element = document().get_element_by_id(id);
    if let Some(field) = element.and_then(|element| element.dyn_into::<HtmlInputElement>().ok()) {
        field.select();
    }
}

/// Whether what is typed goes into a field.
pub(crate) fn is_typing() -> bool {
    document().active_element().is_some_and(|element| {
        ["INPUT", "SELECT", "TEXTAREA"].contains(&element.tag_name().as_str())
    })
}

/// Puts text on the clipboard; nothing happens where the browser refuses.
pub(crate) fn copy(text: &str) {
    // The promise's failure shows in the browser's console; there is no better place.
    let _ = window().navigator().clipboard().write_text(text);
}
