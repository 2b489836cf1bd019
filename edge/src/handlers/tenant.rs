//! Whose request it is (K6): the credential in its headers, as its route reads it.

use shared::config::Config;
use shared::policy::{ApiRoute, TenantSource};
use shared::scope::{TenantId, credential_digest_tenant};

use crate::request::Inbound;

/// The tenant, or nothing for a caller that is not authenticated; why is not told.
pub(crate) fn of(inbound: &Inbound, route: &ApiRoute, config: &Config) -> Option<TenantId> {
    match &route.tenant {
        TenantSource::ApiKey => config
            .api_keys
            .tenant_of(api_key(inbound)?.as_bytes())
            .cloned(),
        TenantSource::Header {
            header,
            secret_header,
            secret,
        } => {
            let presented = inbound.header(secret_header.as_str())?;
            let is_front = config.front_secret_holds(secret, presented.as_bytes());
            let named = inbound.header(header.as_str())?;
            TenantId::parse(named).ok().filter(|_| is_front)
        }
        TenantSource::CredentialDigest { header } => {
            let credential = inbound.header(header.as_str())?;
            (!credential.is_empty()).then(|| credential_digest_tenant(credential.as_bytes()))
        }
    }
}

/// The header that is between a front and the gateway alone.
pub(crate) fn front_secret(route: &ApiRoute) -> Option<&str> {
    match &route.tenant {
        TenantSource::Header { secret_header, .. } => Some(secret_header.as_str()),
        TenantSource::ApiKey | TenantSource::CredentialDigest { .. } => None,
    }
}

/// `X-Api-Key`, or the token of `Authorization: Bearer`.
fn api_key(inbound: &Inbound) -> Option<&str> {
    if let Some(key) = inbound.header("x-api-key") {
        return Some(key);
    }
    let (scheme, token) = inbound.header("authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
