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
