//! What an object remembers about itself, so that its alarm and its lists work without a request.

use serde::{Deserialize, Serialize};
use shared::json;
use shared::placement::Place;
use shared::policy::Policy;
use shared::scope::{RouteName, TenantId};

use crate::sql::{Sql, SqlError, Value};

/// Which object it is and what its route promised last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Whose operations, through which route, in which shard.
    pub(crate) place: Place,
    /// The route's promise as the last request brought it.
    pub(crate) policy: Policy,
    /// Whether the fleet has answered that it knows this object.
    pub(crate) registered: bool,
}

impl Identity {
    /// What is remembered, if this object ever had a record.
    pub(crate) fn load(sql: &Sql) -> Result<Option<Self>, SqlError> {
        let rows = sql.exec("SELECT value FROM meta WHERE name = 'identity'", &[])?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let form: Form = json::read(row.text(0)?.as_bytes()).map_err(SqlError::unreadable)?;
        Ok(Some(Self {
            place: Place {
                tenant: form.tenant,
                route: form.route,
                shard: form.shard,
            },
            policy: form.policy,
            registered: form.registered,
        }))
    }

    /// Remembers it: one row.
    pub(crate) fn save(&self, sql: &Sql) -> Result<(), SqlError> {
        let form = Form {
            tenant: self.place.tenant.clone(),
            route: self.place.route.clone(),
            shard: self.place.shard,
            policy: self.policy,
            registered: self.registered,
        };
        let text = serde_json::to_string(&form).map_err(SqlError::unreadable)?;
        sql.exec(
            "INSERT INTO meta (name, value) VALUES ('identity', ?)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            &[Value::Text(text)],
        )
        .map(|_none| ())
    }
}

/// The form at rest.
#[derive(Serialize, Deserialize)]
struct Form {
    tenant: TenantId,
    route: RouteName,
    #[serde(default)]
    shard: u16,
    policy: Policy,
    #[serde(default)]
    registered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_at_rest_is_pinned() {
        let literal = r#"{"tenant":"acme","route":"orders","shard":2,"policy":{"kind":"api","lease":30000,"wait":1000,"retention":"forever","on_unknown":"park","max_lease":600000,"resolve_after":300000,"resolve_tries":8},"registered":true}"#;
        let form: Form = serde_json::from_str(literal).unwrap();
        assert_eq!(serde_json::to_string(&form).unwrap(), literal);
        let oldest = r#"{"tenant":"acme","route":"orders","policy":{}}"#;
        let form: Form = serde_json::from_str(oldest).unwrap();
        assert_eq!((form.shard, form.registered), (0, false));
    }
}
