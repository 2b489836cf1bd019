//! What the Worker and the operations objects say to the fleet, and what it answers: JSON inside one deployment.
//!
//! A new Worker may talk to an old object for minutes after a deploy: fields that are added later have defaults.

use serde::{Deserialize, Serialize};
use shared::time::{Millis, Timestamp};

/// A question or a command to the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FleetMessage {
    /// An object exists from now on. Saying so again changes nothing (L7).
    Register(Registration),
    /// A page of the objects that exist, in the order of their names.
    List(ListObjects),
    /// The object of this name.
    Find {
        /// As `shared::placement` makes it.
        name: String,
    },
    /// All tenants that were ever seen, up to a bound.
    Tenants,
    /// Somebody wants to sign in.
    OpenSession(OpenSession),
    /// Whose session it is.
    LookUpSession {
        /// The SHA-256 of the session's token, in hex.
        session: String,
    },
    /// The session ends now. One that does not exist has ended.
    CloseSession {
        /// The SHA-256 of the session's token, in hex.
        session: String,
    },
}

/// One operations object: a (tenant, route, shard).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registration {
    /// As `shared::placement` makes it.
    pub(crate) name: String,
    /// Whose keys it keeps.
    pub(crate) tenant: String,
    /// Of which route.
    pub(crate) route: String,
    /// Which of the route's shards.
    #[serde(default)]
    pub(crate) shard: u16,
}

/// Which objects to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListObjects {
    /// Only this tenant's.
    pub(crate) tenant: Option<String>,
    /// Only this route's.
    pub(crate) route: Option<String>,
    /// Those behind this name.
    pub(crate) after: Option<String>,
}

/// A login: the Worker has looked the token up, the fleet counts failures and keeps the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenSession {
    /// The address it came from, for counting failures.
    pub(crate) from: String,
    /// The SHA-256 of the operator's token in hex, if there is such an operator.
    pub(crate) token: Option<String>,
    /// The SHA-256 of the new session's token, in hex.
    pub(crate) session: String,
}

/// What the fleet answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FleetAnswer {
    /// It is so.
    Done,
    /// A page of objects.
    Objects(ObjectsPage),
    /// The object asked for, or none.
    Object(Option<Registration>),
    /// Names of tenants, in order.
    Tenants(Vec<String>),
    /// The session is open.
    Opened {
        /// How long from now it lasts; the fleet's clock is not the Worker's.
        life: Millis,
    },
    /// There is no such operator.
    Refused,
    /// Too many failed logins from there.
    Throttled {
        /// After how long the next one is looked at.
        retry: Millis,
    },
    /// The session, or none.
    Session(Option<KeptSession>),
}

/// A page of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ObjectsPage {
    /// Those of this page.
    pub(crate) objects: Vec<Registration>,
    /// How many match and come behind them.
    pub(crate) left: u64,
}

/// A session as the fleet keeps it. What it may do is read from the configuration at each request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptSession {
    /// The SHA-256 of the operator's token, in hex: once that token is no longer configured, the session is void.
    pub(crate) token: String,
    /// When it ends by itself.
    pub(crate) expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &FleetMessage, json: &str) {
        assert_eq!(serde_json::to_string(message).unwrap_or_default(), json);
        assert_eq!(
            serde_json::from_str::<FleetMessage>(json).ok().as_ref(),
            Some(message)
        );
    }

    #[test]
    fn the_forms_between_two_deployments_are_pinned() {
        let (name, tenant, route) = ("ab".into(), "acme".into(), "orders".into());
        check(
            &FleetMessage::Register(Registration {
                name,
                tenant,
                route,
                shard: 2,
            }),
            r#"{"register":{"name":"ab","tenant":"acme","route":"orders","shard":2}}"#,
        );
        check(
            &FleetMessage::List(ListObjects {
                tenant: Some("acme".into()),
                ..ListObjects::default()
            }),
            r#"{"list":{"tenant":"acme","route":null,"after":null}}"#,
        );
        check(
            &FleetMessage::OpenSession(OpenSession {
                from: "::1".into(),
                token: None,
                session: "00".into(),
            }),
            r#"{"open_session":{"from":"::1","token":null,"session":"00"}}"#,
        );
    }

    #[test]
    fn a_message_of_a_newer_or_older_version_is_read() {
        let list = serde_json::from_str(r#"{"list":{"route":"orders","colour":"red"}}"#);
        let route = Some(String::from("orders"));
        let expected = ListObjects {
            route,
            ..ListObjects::default()
        };
        assert_eq!(list.ok(), Some(FleetMessage::List(expected)));
    }
}
