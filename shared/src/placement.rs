//! Which object owns an operation, and the public id that tells it.
//!
//! An object keeps the operations of one (tenant, route, shard). Its name is a digest of these, so that no name
//! can be mistaken for another, and an operation's id is the object's name and the digest of the key: it is of
//! fixed length, tells where the operation lives, and shows neither tenant nor key. Names never change: tests
//! pin them.

use core::fmt;

use sha2::{Digest, Sha256};

use crate::scope::{OperationKey, RouteName, TenantId};

/// How an id begins, so that a person knows one when they see it.
const ID_PREFIX: &str = "op_";

/// The name of one object: half a SHA-256 over its length-prefixed (tenant, route, shard).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName([u8; 16]);

/// The name of an operation inside its object: half a SHA-256 over its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDigest([u8; 16]);

/// The public id of an operation: the same for the same (tenant, route, key), always (L4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId {
    /// The object that owns it.
    pub object: ObjectName,
    /// Its name there.
    pub key: KeyDigest,
}

/// One of the objects that a route of one tenant is spread over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Whose keys.
    pub tenant: TenantId,
    /// Which route.
    pub route: RouteName,
    /// Which of the route's shards, from 0.
    pub shard: u16,
}

impl Place {
    /// Where the operation under `key` lives on a route with `shards` shards.
    #[must_use]
    pub fn of(tenant: &TenantId, route: &RouteName, shards: u16, key: &OperationKey) -> Self {
        Self {
            tenant: tenant.clone(),
            route: route.clone(),
            shard: KeyDigest::of(key).shard(shards),
        }
    }

    /// The object's name.
    #[must_use]
    pub fn object(&self) -> ObjectName {
        let mut hash = Sha256::new();
        for part in [
            b"oncegate object 1".as_slice(),
            self.tenant.as_str().as_bytes(),
            self.route.as_str().as_bytes(),
            &self.shard.to_be_bytes(),
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        ObjectName(first_half(&hash.finalize()))
    }

    /// Finds the place whose object `id` names among all that `tenant` can have on these routes.
    ///
    /// An id of another tenant, of no route, or made up finds nothing, by the same work (X1).
    #[must_use]
    pub fn find<'a>(
        id: &OperationId,
        tenant: &TenantId,
        routes: impl IntoIterator<Item = (&'a RouteName, u16)>,
    ) -> Option<Self> {
        let mut found = None;
        for (route, shards) in routes {
            for shard in 0..shards {
                let place = Self {
                    tenant: tenant.clone(),
                    route: route.clone(),
                    shard,
                };
                if place.object() == id.object {
                    found = Some(place);
                }
            }
        }
        found
    }
}

impl ObjectName {
    /// Reads the 32 hex digits that [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        half_from_hex(text).map(Self)
    }
}

impl KeyDigest {
    /// The digest of `key`.
    #[must_use]
    pub fn of(key: &OperationKey) -> Self {
        Self(first_half(&Sha256::digest(key.as_str().as_bytes())))
    }

    /// The digest with these bits, as [`KeyDigest::as_bytes`] gave them.
    #[must_use]
    pub const fn from_bytes(bits: [u8; 16]) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Which of `shards` shards the key belongs to; shard 0 where there is none to choose from.
    #[must_use]
    pub fn shard(&self, shards: u16) -> u16 {
        let [.., high, low] = self.0;
        u16::from_be_bytes([high, low])
            .checked_rem(shards)
            .unwrap_or(0)
    }
}

impl OperationId {
    /// The id of the operation under `key` at `place`.
    #[must_use]
    pub fn new(place: &Place, key: &OperationKey) -> Self {
        Self {
            object: place.object(),
            key: KeyDigest::of(key),
        }
    }

    /// Reads what [`Display`](fmt::Display) writes; nothing for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (object, key) = text.strip_prefix(ID_PREFIX)?.split_at_checked(32)?;
        Some(Self {
            object: ObjectName(half_from_hex(object)?),
            key: KeyDigest(half_from_hex(key)?),
        })
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ID_PREFIX}{}{}", self.object, self.key)
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectName({self})")
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyDigest({self})")
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperationId({self})")
    }
}

fn first_half(digest: &[u8]) -> [u8; 16] {
    core::array::from_fn(|at| digest.get(at).copied().unwrap_or_default())
}

/// Only lower-case digits, so that one operation has one id.
fn half_from_hex(text: &str) -> Option<[u8; 16]> {
    let mut half = [0; 16];
    hex::decode_to_slice(text, &mut half).ok()?;
    (hex::encode(half) == text).then_some(half)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;

    fn place(tenant: &str, route: &str, shard: u16) -> Place {
        Place {
            tenant: TenantId::parse(tenant).unwrap(),
            route: RouteName::parse(route).unwrap(),
            shard,
        }
    }

    fn key(text: &str) -> OperationKey {
        OperationKey::parse(text).unwrap()
    }

    #[test]
    fn names_are_pinned_for_good() {
        let id = OperationId::new(&place("acme", "orders", 0), &key("0190f3a2-7c1e"));
        assert_eq!(
            id.to_string(),
            "op_5edfb292ba5fe1a489cfbcd9ac046965f13d731bc74097d618e7ccf6d0eb446b"
        );
        assert_eq!(OperationId::parse(&id.to_string()), Some(id));
        assert_eq!(ObjectName::parse(&id.object.to_string()), Some(id.object));
        assert_eq!(KeyDigest::from_bytes(*id.key.as_bytes()), id.key);
    }

    #[test]
    fn k4_no_two_places_share_an_object() {
        let places = [
            place("acme", "orders", 0),
            place("acme", "orders", 1),
            place("acme", "refunds", 0),
            place("other", "orders", 0),
            // Parts that would run together without their lengths.
            place("ab", "c", 0),
            place("a", "bc", 0),
        ];
        let objects: BTreeSet<ObjectName> = places.iter().map(Place::object).collect();
        assert_eq!(objects.len(), places.len());
    }

    #[test]
    fn x1_an_id_is_found_by_its_own_tenant_only() {
        let (acme, other) = (
            TenantId::parse("acme").unwrap(),
            TenantId::parse("other").unwrap(),
        );
        let routes = [
            RouteName::parse("orders").unwrap(),
            RouteName::parse("refunds").unwrap(),
        ];
        let routes = || routes.iter().zip([1, 8]);
        for name in ["orders", "refunds"] {
            let (route, shards) = routes().find(|(route, _)| route.as_str() == name).unwrap();
            let home = Place::of(&acme, route, shards, &key("an-operation"));
            let id = OperationId::new(&home, &key("an-operation"));
            assert_eq!(Place::find(&id, &acme, routes()), Some(home));
            assert_eq!(Place::find(&id, &other, routes()), None);
        }
    }

    #[test]
    fn every_shard_gets_keys_and_a_key_keeps_its_shard() {
        let shards = |count: u16| -> BTreeSet<u16> {
            let keys = (0..500).map(|number| key(&alloc::format!("key-{number}")));
            keys.map(|key| KeyDigest::of(&key).shard(count)).collect()
        };
        assert_eq!(shards(8), (0..8).collect());
        assert_eq!(shards(1), BTreeSet::from([0]));
        assert_eq!(shards(0), BTreeSet::from([0]));
    }

    #[test]
    fn what_is_not_an_id_is_not_read_as_one() {
        let id = OperationId::new(&place("acme", "orders", 0), &key("k")).to_string();
        let (cut, upper) = (&id[..id.len() - 1], id.to_uppercase());
        let longer = alloc::format!("{id}0");
        for text in [
            "",
            "op_",
            "op_ä",
            cut,
            &upper,
            &longer,
            &id.replace("op_", "oq_"),
        ] {
            assert_eq!(OperationId::parse(text), None, "{text}");
        }
        assert!(alloc::format!("{:?}", OperationId::parse(&id)).contains(&id));
        let shown: Vec<_> = OperationId::parse(&id)
            .into_iter()
            .map(|id| alloc::format!("{:?} {:?}", id.object, id.key))
            .collect();
        assert_eq!(shown.len(), 1);
    }
}
