//! The `tenant` of an API route (K6).

use alloc::format;

use super::fields::{
    Field, TENANT, TENANT_FROM, TENANT_HEADER, TENANT_SECRET, TENANT_SECRET_HEADER, TENANT_STATIC,
};
use super::section::Section;
use crate::policy::{Kind, TenantSource};
use crate::scope::{HeaderName, SecretName};

/// The ways to name a tenant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    ApiKey,
    Header,
    CredentialDigest,
}

/// Reads `tenant = "api-key"` or `tenant = { from = …, … }`.
pub(super) fn read(route: &Section<'_>) -> Option<TenantSource> {
    let Some(table) = route.table(&TENANT) else {
        return route
            .choice(&TENANT, &[("api-key", ())])
            .map(|()| TenantSource::ApiKey);
    };
    table.check_names(TENANT.name, Some(Kind::Api));
    let ways = [
        ("api-key", From::ApiKey),
        ("header", From::Header),
        ("credential-digest", From::CredentialDigest),
    ];
    let from = table.choice(&TENANT_FROM, &ways)?;
    check_fields(&table, from);
    match from {
        From::ApiKey => Some(TenantSource::ApiKey),
        From::Header => read_header(&table),
        From::CredentialDigest => read_credential(&table),
    }
}

/// Notes the fields that another way to name a tenant has.
fn check_fields(table: &Section<'_>, from: From) {
    let fields: [(&Field, &[From], &str); 4] = [
        (
            &TENANT_HEADER,
            &[From::Header, From::CredentialDigest],
            "\"header\" or \"credential-digest\"",
        ),
        (&TENANT_SECRET_HEADER, &[From::Header], "\"header\""),
        (&TENANT_SECRET, &[From::Header], "\"header\""),
        (
            &TENANT_STATIC,
            &[From::CredentialDigest],
            "\"credential-digest\"",
        ),
    ];
    for (field, ways, names) in fields {
        if table.has(field) && !ways.contains(&from) {
            table.note(
                field,
                "a field of another way",
                &format!("leave it out, or set from = {names}"),
            );
        }
    }
}

/// A trusted front: both headers and the secret, or nobody is believed.
fn read_header(table: &Section<'_>) -> Option<TenantSource> {
    let header = required(table, &TENANT_HEADER, HeaderName::parse);
    let secret_header = required(table, &TENANT_SECRET_HEADER, HeaderName::parse);
    let secret = required(table, &TENANT_SECRET, SecretName::parse);
    Some(TenantSource::Header {
        header: header?,
        secret_header: secret_header?,
        secret: secret?,
    })
}

fn read_credential(table: &Section<'_>) -> Option<TenantSource> {
    let header = required(table, &TENANT_HEADER, HeaderName::parse);
    if !table.flag(&TENANT_STATIC)? {
        let remedy = "say static = true if the credential never changes; one that changes would make each retry a new operation, so then use \"api-key\" or \"header\"";
        table.note(&TENANT_STATIC, "no static = true", remedy);
        return None;
    }
    header.map(|header| TenantSource::CredentialDigest { header })
}

/// A field that this way needs, though not every way does.
fn required<T>(
    table: &Section<'_>,
    field: &Field,
    parse: fn(&str) -> Result<T, crate::scope::ScopeError>,
) -> Option<T> {
    if !table.has(field) {
        table.refuse(field, "nothing");
        return None;
    }
    table.parsed(field, parse)
}
