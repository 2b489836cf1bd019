//! Which route a request is for (A5).

use alloc::format;
use alloc::vec::Vec;

use super::mistake::Notes;
use crate::path::{loosest_form, normal_form};
use crate::policy::{Method, Route};

/// The routes of a configuration, sorted by name; no request is for two of them.
#[derive(Clone, Debug, Default)]
pub struct Routes(Vec<Route>);

/// What a method and a path are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// This route.
    Route(&'a Route),
    /// A protected path, under a method that is not protected; these are.
    WrongMethod(Vec<Method>),
    /// Another way to write the method or path of this route: refused, and never passed on (A5).
    NotCanonical(&'a Route),
    /// Nothing that is protected.
    None,
}

impl Routes {
    /// Notes routes that one request could be for both of.
    pub(super) fn new(mut routes: Vec<Route>, notes: &Notes) -> Self {
        routes.sort_by(|one, other| one.name().cmp(other.name()));
        for (at, route) in routes.iter().enumerate() {
            for earlier in &routes[..at] {
                let shared = route
                    .methods()
                    .iter()
                    .find(|method| earlier.methods().contains(method));
                if let Some(method) = shared
                    && route.path().overlaps(earlier.path())
                {
                    let found = format!(
                        "{method} {}, as route {} has {}",
                        route.path(),
                        earlier.name(),
                        earlier.path()
                    );
                    let remedy = "let each method and path belong to one route";
                    notes.note(Some(route.name().as_str()), "path", found, remedy);
                }
            }
        }
        Self(routes)
    }

    /// What a request with this method and path (without its query) is for.
    #[must_use]
    pub fn find(&self, method: &str, path: &str) -> Found<'_> {
        // A `post` becomes a `POST` on its way: fetch spells methods as the standard does.
        let sent_on = Method::named(&method.to_ascii_uppercase());
        let takes = |route: &&Route| sent_on.is_some_and(|sent| route.methods().contains(&sent));
        let normal = normal_form(path);
        if normal == path
            && sent_on.is_some_and(|sent| sent.as_str() == method)
            && let Some(route) = self.of_path(path).find(takes)
        {
            return Found::Route(route);
        }
        // A5, before the methods of this path: an origin may read the path as another one than we do.
        let otherwise = self
            .of_path(&normal)
            .find(takes)
            .or_else(|| self.of_path(&loosest_form(path)).find(takes));
        if let Some(route) = otherwise {
            return Found::NotCanonical(route);
        }
        let here = self.of_path(path).flat_map(Route::methods);
        let mut allowed: Vec<Method> = here.copied().collect();
        if allowed.is_empty() {
            return Found::None;
        }
        allowed.sort_unstable();
        Found::WrongMethod(allowed)
    }

    fn of_path(&self, path: &str) -> impl Iterator<Item = &Route> {
        self.0
            .iter()
            .filter(move |route| route.path().matches(path))
    }

    /// All routes by name.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.iter()
    }

    /// The route of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Route> {
        self.0.iter().find(|route| route.name().as_str() == name)
    }
}
