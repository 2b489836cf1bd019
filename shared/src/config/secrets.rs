//! The secrets that routes name, and the tables of credentials. Nothing of a value is ever repeated (X4).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Reader;
use super::fields::{self, Field};
use crate::canonical::{NoCanonicalForm, canonical_form};
use crate::json;
use crate::policy::TenantSource;
use crate::scope::{ApiKeys, Credentials, RouteName, SecretName, TenantId};
use crate::webhook::{Scheme, Secret};
use crate::wire;

/// The fewest bytes of a secret that a trusted front shares with us: 128 bits in hex have twice as many.
const FRONT_SECRET_BYTES_MIN: usize = 16;

/// The most bytes of an operator's name (X5).
pub const OPERATOR_NAME_BYTES_MAX: usize = 64;

/// Whom an operator's token admits (X3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// What the token allows.
    pub role: wire::Role,
    /// Who did it, for the log of what operators change (U6); several tokens may be one person's.
    pub name: Option<String>,
}

impl Operator {
    /// `operator`, `viewer`, or one of them with a name: `operator:alice`.
    fn parse(text: &str) -> Option<Self> {
        let (role, name) = match text.split_once(':') {
            Some((role, name)) => (role, Some(name)),
            None => (text, None),
        };
        let role = match role {
            "operator" => wire::Role::Operator,
            "viewer" => wire::Role::Viewer,
            _ => return None,
        };
        let is_name = |name: &str| {
            (1..=OPERATOR_NAME_BYTES_MAX).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_graphic())
        };
        name.is_none_or(is_name).then(|| Self {
            role,
            name: name.map(String::from),
        })
    }
}

/// The secrets that were seen.
#[derive(Clone, Default)]
pub(super) struct Vault {
    webhooks: BTreeMap<RouteName, Vec<Secret>>,
    fronts: BTreeMap<SecretName, [u8; 32]>,
    resolvers: BTreeMap<SecretName, String>,
}

impl Vault {
    pub(super) fn webhook_secrets(&self, route: &RouteName) -> &[Secret] {
        self.webhooks.get(route).map_or(&[], Vec::as_slice)
    }

    pub(super) fn front_secret_holds(&self, name: &SecretName, presented: &[u8]) -> bool {
        let presented: [u8; 32] = Sha256::digest(presented).into();
        self.fronts
            .get(name)
            .is_some_and(|secret| secret.ct_eq(&presented).into())
    }

    pub(super) fn resolver_credential(&self, name: &SecretName) -> Option<&str> {
        self.resolvers.get(name).map(String::as_str)
    }

    /// Takes in what a route's own sends carry as `Authorization`, and notes what is missing or none (U5).
    pub(super) fn fill_resolver(
        &mut self,
        reader: &Reader<'_>,
        route: &RouteName,
        name: &SecretName,
    ) {
        let field = &fields::RESOLVER_CREDENTIAL;
        let Some(text) = reader.secret(route, field, name) else {
            return;
        };
        if is_header_value(text) {
            self.resolvers.insert(name.clone(), text.to_owned());
            return;
        }
        let found = format!("{name} that is no header's value");
        let remedy = format!(
            "set {name} to the whole value of Authorization, such as \"Bearer …\", in visible ASCII"
        );
        reader
            .notes
            .note(Some(route.as_str()), field.name, found, &remedy);
    }

    /// Takes in the secrets of a webhook route, and notes what is missing or none.
    pub(super) fn fill_webhook(
        &mut self,
        reader: &Reader<'_>,
        route: &RouteName,
        scheme: Option<Scheme>,
        names: &[SecretName],
    ) {
        let mut secrets = Vec::new();
        for name in names {
            let text = reader.secret(route, &fields::SECRETS, name);
            let (Some(text), Some(scheme)) = (text, scheme) else {
                continue;
            };
            match scheme.secret(text) {
                Ok(secret) => secrets.push(secret),
                Err(error) => {
                    let found = format!("{name}: {error}");
                    let remedy =
                        format!("set {name} to the endpoint's secret as the sender shows it");
                    reader
                        .notes
                        .note(Some(route.as_str()), fields::SECRETS.name, found, &remedy);
                }
            }
        }
        self.webhooks.insert(route.clone(), secrets);
    }

    /// Takes in what the tenants of an API route are known by, and notes what is missing or none.
    pub(super) fn fill_tenant(
        &mut self,
        reader: &Reader<'_>,
        route: &RouteName,
        tenant: &TenantSource,
    ) {
        match tenant {
            TenantSource::Header { secret, .. } => self.fill_front(reader, route, secret),
            TenantSource::ApiKey => reader.note_if_missing(route, &fields::TENANT, "API_KEYS"),
            TenantSource::CredentialDigest { .. } => {}
        }
    }

    fn fill_front(&mut self, reader: &Reader<'_>, route: &RouteName, name: &SecretName) {
        let field = &fields::TENANT_SECRET;
        let Some(text) = reader.secret(route, field, name) else {
            return;
        };
        if text.len() < FRONT_SECRET_BYTES_MIN {
            let found = format!("{name} of {} bytes", text.len());
            let remedy = "set it to 16 random bytes or more, in hex or base64";
            reader
                .notes
                .note(Some(route.as_str()), field.name, found, remedy);
        }
        self.fronts
            .insert(name.clone(), Sha256::digest(text).into());
    }
}

/// RFC 9110 §5.5 without what is obsolete: visible ASCII, with spaces inside only.
fn is_header_value(text: &str) -> bool {
    !text.is_empty()
        && text == text.trim()
        && text
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "secrets of {} routes, {} fronts and {} resolvers",
            self.webhooks.len(),
            self.fronts.len(),
            self.resolvers.len()
        )
    }
}

impl Reader<'_> {
    /// The text of a secret, if it is seen; notes one that is missing.
    fn secret(&self, route: &RouteName, field: &Field, name: &SecretName) -> Option<&str> {
        let Some(value) = self.vars.get(name.as_str()) else {
            self.note_if_missing(route, field, name.as_str());
            return None;
        };
        let text = value.as_str();
        if text.is_none() {
            let found = format!("{name} that is no text");
            self.notes.note(
                Some(route.as_str()),
                field.name,
                found,
                "set it as a secret",
            );
        }
        text
    }

    /// Notes a secret of which it is known that there is none.
    fn note_if_missing(&self, route: &RouteName, field: &Field, name: &str) {
        let exists = |names: &[String]| names.iter().any(|known| known == name);
        if self.vars.contains_key(name) || self.secret_names.is_none_or(exists) {
            return;
        }
        let found = format!("no secret {name}");
        let remedy = format!(
            "set it: wrangler secret put {name}; for local runs a line {name}=… in .dev.vars"
        );
        self.notes
            .note(Some(route.as_str()), field.name, found, &remedy);
    }
}

/// `{"<sha256 of the key, hex>": "<tenant>"}`.
pub(super) fn api_keys(text: &str) -> Result<ApiKeys, String> {
    let table: Vec<(String, TenantId)> = table(text, "a tenant of visible ascii")?;
    Credentials::from_hex(table).map_err(|error| error.to_string())
}

/// `{"<sha256 of the token, hex>": "operator" | "viewer" | "operator:<name>" | "viewer:<name>"}`.
pub(super) fn operator_tokens(text: &str) -> Result<Credentials<Operator>, String> {
    const HOLDER: &str = "\"operator\" or \"viewer\", nor one of them with a name of 1 to 64 visible ascii characters behind \":\"";
    let table: Vec<(String, String)> = table(text, HOLDER)?;
    let operators: Option<Vec<(String, Operator)>> = table
        .into_iter()
        .map(|(digest, holder)| Some((digest, Operator::parse(&holder)?)))
        .collect();
    let operators = operators.ok_or_else(|| entry_is_not(HOLDER))?;
    Credentials::from_hex(operators).map_err(|error| error.to_string())
}

fn table<T: DeserializeOwned>(text: &str, holder: &str) -> Result<Vec<(String, T)>, String> {
    if canonical_form(text.as_bytes(), &[]) == Err(NoCanonicalForm::DuplicateName) {
        return Err("a credential that is listed twice".to_owned());
    }
    let Ok(Value::Object(values)) = serde_json::from_slice(text.as_bytes()) else {
        return Err("a text that is no JSON object".to_owned());
    };
    let mut table = Vec::new();
    for (digest, value) in values {
        let value = json::read_value(value).map_err(|_not_shown| entry_is_not(holder))?;
        table.push((digest, value));
    }
    Ok(table)
}

fn entry_is_not(holder: &str) -> String {
    format!("an entry whose value is not {holder}")
}
