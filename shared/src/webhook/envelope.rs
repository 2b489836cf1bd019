//! The members of a body that say which event it is; everything else is skipped.
//!
//! Not the event: what its members must be is said where they are used. It is read by hand, because a derived form brings
//! all of `serde_json`'s words for wrong types into a Worker.

use core::fmt;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The members, as they are.
#[derive(Debug, Default)]
pub(super) struct Envelope {
    /// `id`, where there is one.
    pub(super) id: Option<Value>,
    /// `type`, where there is one.
    pub(super) kind: Option<Value>,
}

impl Envelope {
    /// Reads a JSON object that has each of the members once at most.
    pub(super) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let envelope = json.deserialize_any(Self::default())?;
        json.end()?;
        Ok(envelope)
    }
}

const NO_OBJECT: &str = "no object";

impl<'de> Visitor<'de> for Envelope {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self, A::Error> {
        while let Some(name) = members.next_key::<alloc::string::String>()? {
            let slot = match name.as_str() {
                "id" => &mut self.id,
                "type" => &mut self.kind,
                _ => {
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if slot.is_some() {
                return Err(A::Error::custom("a member twice"));
            }
            *slot = Some(members.next_value()?);
        }
        let given = |member: Option<Value>| member.filter(|value| !value.is_null());
        Ok(Self {
            id: given(self.id),
            kind: given(self.kind),
        })
    }

    fn visit_bool<E: Error>(self, _found: bool) -> Result<Self, E> {
        Err(E::custom(NO_OBJECT))
    }

    fn visit_i64<E: Error>(self, _found: i64) -> Result<Self, E> {
        Err(E::custom(NO_OBJECT))
    }

    fn visit_u64<E: Error>(self, _found: u64) -> Result<Self, E> {
        Err(E::custom(NO_OBJECT))
    }

    fn visit_f64<E: Error>(self, _found: f64) -> Result<Self, E> {
        Err(E::custom(NO_OBJECT))
    }

    fn visit_str<E: Error>(self, _found: &str) -> Result<Self, E> {
        Err(E::custom(NO_OBJECT))
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Err(E::custom(NO_OBJECT))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _items: A) -> Result<Self, A::Error> {
        Err(A::Error::custom(NO_OBJECT))
    }
}
