//! The configuration: from a Worker's variables to routes that cannot be wrong, or to all mistakes at once.
//!
//! Not where the variables come from: the Worker takes them from its environment, the developer commands from
//! `wrangler.toml`, and both come here. `fields` is the one table of names and defaults.

mod fields;
mod mistake;
mod nearest;
mod origin;
mod probe;
mod quantity;
mod route;
mod routes;
mod secrets;
mod section;
mod tenant;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value};

pub use self::fields::{FIELDS, Field, VARIABLES, Variable, fields_markdown};
pub use self::mistake::Mistake;
pub use self::origin::{OriginUrl, OriginUrlError};
pub use self::routes::{Found, Routes};
pub use self::secrets::{OPERATOR_NAME_BYTES_MAX, Operator};
pub use crate::path;

use self::mistake::Notes;
use self::secrets::Vault;
use crate::json;
use crate::policy::Route;
use crate::scope::{ApiKeys, Credentials, OriginName, RouteName, SecretName};
use crate::time::Timestamp;
use crate::webhook::Secret;
use crate::wire;

/// The most bytes of one variable: <https://developers.cloudflare.com/workers/platform/limits/>.
pub const VARIABLE_BYTES_MAX: usize = 5 * 1024;

/// A configuration without mistakes.
#[derive(Clone, Debug)]
pub struct Config {
    /// The protected endpoints.
    pub routes: Routes,
    /// Where work is done; each route's origin is among them (X2).
    pub origins: BTreeMap<OriginName, OriginUrl>,
    /// The origin to which unmatched paths are passed on, if any.
    pub fallback: Option<OriginName>,
    /// The only host on which operators are answered, in lower case with its port if it has one (X3).
    pub operator_host: Option<String>,
    /// The API keys and whose they are (K6).
    pub api_keys: ApiKeys,
    /// The operators' tokens, what they may do and who they are (X3).
    pub operator_tokens: Credentials<Operator>,
    vault: Vault,
}

impl Config {
    /// Reads the variables and the secrets that are seen, by name, or says everything that is wrong with them.
    ///
    /// `secret_names` are the secrets that exist without being seen. Where it is not known which exist (`None`), one
    /// that is not seen is no mistake.
    pub fn read(
        vars: &Map<String, Value>,
        secret_names: Option<&[String]>,
    ) -> Result<Self, Vec<Mistake>> {
        let notes = Notes::new();
        let reader = Reader {
            vars,
            secret_names,
            notes: &notes,
        };
        reader.check_variables();
        let origins = reader.origins();
        let (routes, vault) = reader.routes(&origins);
        let config = Self {
            routes,
            fallback: reader.fallback(&origins),
            operator_host: reader.operator_host(),
            api_keys: reader.credentials("API_KEYS", secrets::api_keys),
            operator_tokens: reader.credentials("OPERATOR_TOKENS", secrets::operator_tokens),
            origins,
            vault,
        };
        match notes.into_mistakes() {
            mistakes if mistakes.is_empty() => Ok(config),
            mistakes => Err(mistakes),
        }
    }

    /// Where the work of `route` is done.
    #[must_use]
    pub fn origin_of(&self, route: &Route) -> Option<&OriginUrl> {
        self.origins.get(route.origin())
    }

    /// Where unmatched paths are passed on to, if anywhere.
    #[must_use]
    pub fn fallback_origin(&self) -> Option<&OriginUrl> {
        self.origins.get(self.fallback.as_ref()?)
    }

    /// What may have signed deliveries of `route`; nothing where the secrets were not seen.
    #[must_use]
    pub fn webhook_secrets(&self, route: &Route) -> &[Secret] {
        self.vault.webhook_secrets(route.name())
    }

    /// Whether `presented` is the secret that a trusted front shares with us, in constant time (K6).
    #[must_use]
    pub fn front_secret_holds(&self, name: &SecretName, presented: &[u8]) -> bool {
        self.vault.front_secret_holds(name, presented)
    }

    /// What the gateway's own sends for `route` carry as `Authorization`, if anything; nothing where the secret was not
    /// seen (U5).
    #[must_use]
    pub fn resolver_credential(&self, route: &Route) -> Option<&str> {
        self.vault.resolver_credential(route.resolver_credential()?)
    }

    /// The names of all routes, sorted.
    #[must_use]
    pub fn route_names(&self) -> Vec<String> {
        self.routes
            .iter()
            .map(|route| route.name().to_string())
            .collect()
    }

    /// What the routes take from the full promise, for operators to see (G).
    #[must_use]
    pub fn exceptions(&self, now: Timestamp) -> Vec<wire::Exception> {
        let of_route = |route: &Route| {
            let name = route.name().to_string();
            route
                .exceptions()
                .into_iter()
                .map(move |exception| wire::Exception {
                    route: name.clone(),
                    what: exception.what,
                    reason: exception.reason,
                    until: exception.until,
                    overdue: exception.until <= now,
                })
        };
        self.routes.iter().flat_map(of_route).collect()
    }
}

/// What a reading has at hand.
struct Reader<'a> {
    vars: &'a Map<String, Value>,
    secret_names: Option<&'a [String]>,
    notes: &'a Notes,
}

const ROUTE: &str = "ROUTE_";
const ORIGIN: &str = "ORIGIN_";

impl Reader<'_> {
    /// Sizes, and names that are nearly one of ours.
    fn check_variables(&self) {
        for (name, value) in self.vars {
            let bytes = value
                .as_str()
                .map_or_else(|| json::text(value).len(), str::len);
            if bytes > VARIABLE_BYTES_MAX {
                let found = format!("{bytes} bytes");
                self.notes.note(
                    None,
                    name,
                    found,
                    "the platform takes 5120 bytes in one variable",
                );
            }
            if let Some(known) = nearest::variable(name) {
                let remedy = format!("did you mean {known}?");
                self.notes
                    .note(None, name, "an unknown variable".to_owned(), &remedy);
            }
        }
    }

    fn origins(&self) -> BTreeMap<OriginName, OriginUrl> {
        let mut origins = BTreeMap::new();
        for (variable, value) in self.vars {
            let Some(name) = variable.strip_prefix(ORIGIN) else {
                continue;
            };
            let name = self.noted(
                variable,
                OriginName::parse(name),
                "rename it: ORIGIN_<name>",
            );
            let url = match value.as_str() {
                Some(text) => OriginUrl::parse(text).map_err(|error| error.to_string()),
                None => Err(mistake::shown(value)),
            };
            let url = self.noted(
                variable,
                url,
                "give \"https://host\" or \"http://host:port\", without a path",
            );
            if let (Some(name), Some(url)) = (name, url) {
                origins.insert(name, url);
            }
        }
        origins
    }

    fn routes(&self, origins: &BTreeMap<OriginName, OriginUrl>) -> (Routes, Vault) {
        let mut routes = Vec::new();
        let mut vault = Vault::default();
        let mut seen = false;
        for (variable, value) in self.vars {
            let Some(text) = variable.strip_prefix(ROUTE) else {
                continue;
            };
            seen = true;
            let name = self.noted(variable, RouteName::parse(text), "rename it: ROUTE_<name>");
            let Value::Object(table) = value else {
                let found = mistake::shown(value);
                self.notes.note(
                    Some(text),
                    "kind",
                    found,
                    &format!("write it as a table [vars.{variable}]"),
                );
                continue;
            };
            let Some(name) = name else { continue };
            routes.extend(route::read(self, &mut vault, &name, table, origins));
        }
        if !seen {
            let remedy = "write one as [vars.ROUTE_<name>]; a named environment of wrangler inherits no [vars]";
            self.notes
                .note(None, "ROUTE_<name>", "no route".to_owned(), remedy);
        }
        (Routes::new(routes, self.notes), vault)
    }

    fn fallback(&self, origins: &BTreeMap<OriginName, OriginUrl>) -> Option<OriginName> {
        let text = self.text("FALLBACK_ORIGIN", "give the <name> of an ORIGIN_<name>")?;
        let known = origins.keys().find(|name| name.as_str() == text);
        if known.is_none() && !self.vars.contains_key(&format!("{ORIGIN}{text}")) {
            let found = format!("no ORIGIN_{text}");
            self.notes.note(
                None,
                "FALLBACK_ORIGIN",
                found,
                &origin::remedy(origins, text),
            );
        }
        known.cloned()
    }

    fn operator_host(&self) -> Option<String> {
        let remedy = "give a host, with its port if it is not the usual one: \"ops.example.com\"";
        let text = self.text("OPERATOR_HOST", remedy)?;
        self.noted("OPERATOR_HOST", origin::host_and_port(text), remedy)
    }

    /// A variable that is a text and may be absent.
    fn text(&self, variable: &str, remedy: &str) -> Option<&str> {
        let value = self.vars.get(variable)?;
        let text = value.as_str();
        if text.is_none() {
            self.notes
                .note(None, variable, mistake::shown(value), remedy);
        }
        text
    }

    /// A secret that is a table of credentials; nobody, where it is not there.
    fn credentials<T>(
        &self,
        variable: &str,
        parse: fn(&str) -> Result<Credentials<T>, String>,
    ) -> Credentials<T> {
        let remedy =
            "give a JSON object from the SHA-256 of each credential, in hex, to whose it is";
        let found = match self.vars.get(variable) {
            None => return Credentials::none(),
            Some(Value::String(text)) => parse(text),
            Some(table @ Value::Object(_)) => parse(&json::text(table)),
            Some(_) => Err("neither a text nor a table".to_owned()), // X4: not the value
        };
        self.noted(variable, found, remedy)
            .unwrap_or_else(Credentials::none)
    }

    /// The value, or nothing and a note.
    fn noted<T, E: ToString>(
        &self,
        variable: &str,
        parsed: Result<T, E>,
        remedy: &str,
    ) -> Option<T> {
        parsed
            .map_err(|error| self.notes.note(None, variable, error.to_string(), remedy))
            .ok()
    }
}

#[cfg(test)]
mod tests;
