//! From a value to a typed form, with as little code per form as serde allows.
//!
//! Forms are objects, never arrays in their place, and a number has the type that it is asked for; `serde_json`'s own way
//! from a value compiles both ways of each for every form.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds of JSON values are the parser's, and all but one are refused alike"
)]

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use core::fmt;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde_json::{Map, Value};

/// Why a text is not the form that was asked for. It repeats no value, for that may be a secret (X4).
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable(Box<str>);

/// A value on its way to be a form.
pub(super) struct Reader(pub(super) Value);

impl Unreadable {
    pub(super) fn because(error: &dyn fmt::Display) -> Self {
        Self(error.to_string().into_boxed_str())
    }

    fn wanted(what: &str) -> Self {
        Self(format!("{what} was wanted").into_boxed_str())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Unreadable {}

impl Error for Unreadable {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::because(&message)
    }

    fn invalid_type(_found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::wanted(&wanted.to_string())
    }

    fn invalid_value(_found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::wanted(&wanted.to_string())
    }

    fn invalid_length(_found: usize, wanted: &dyn Expected) -> Self {
        Self::wanted(&wanted.to_string())
    }

    fn unknown_variant(_found: &str, known: &'static [&'static str]) -> Self {
        Self::wanted(&format!("one of {}", known.join(", ")))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::wanted(&format!("a member {field}"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::wanted(&format!("one member {field}"))
    }
}

/// Integers of all widths by way of the widest.
macro_rules! integers {
    ($($method:ident $visit:ident $get:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
            match self.0.$get() {
                Some(number) => visitor.$visit(number),
                None => Err(Unreadable::wanted("a whole number in range")),
            }
        })*
    };
}

/// What no form of ours is made of.
macro_rules! unused {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Unreadable> {
            Err(Unreadable::wanted("another type"))
        })*
    };
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Unreadable;

    /// Only generic values are read without being asked for a type.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(truth),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(whole), _) => visitor.visit_u64(whole),
                (None, Some(negative)) => visitor.visit_i64(negative),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter())),
            Value::Object(members) => visitor.visit_map(Members::of(members)),
        }
    }

    integers! {
        deserialize_u8 visit_u64 as_u64
        deserialize_u16 visit_u64 as_u64
        deserialize_u32 visit_u64 as_u64
        deserialize_u64 visit_u64 as_u64
        deserialize_i8 visit_i64 as_i64
        deserialize_i16 visit_i64 as_i64
        deserialize_i32 visit_i64 as_i64
        deserialize_i64 visit_i64 as_i64
    }

    unused! {
        deserialize_f32 deserialize_f64 deserialize_char deserialize_bytes deserialize_byte_buf
        deserialize_unit
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Bool(truth) => visitor.visit_bool(truth),
            _other => Err(Unreadable::wanted("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_string(self.into_text()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            some => visitor.visit_some(Self(some)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _visitor: V,
    ) -> Result<V::Value, Unreadable> {
        Err(Unreadable::wanted("another type"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter())),
            _other => Err(Unreadable::wanted("an array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_map(Members::of(self.into_members()?))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_enum(self.into_variant()?)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_str(&self.into_text()?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_unit()
    }
}

impl Reader {
    fn into_text(self) -> Result<String, Unreadable> {
        match self.0 {
            Value::String(text) => Ok(text),
            _other => Err(Unreadable::wanted("a text")),
        }
    }

    fn into_members(self) -> Result<Map<String, Value>, Unreadable> {
        match self.0 {
            Value::Object(members) => Ok(members),
            _other => Err(Unreadable::wanted("an object")),
        }
    }

    /// A variant is its name, or an object whose one member is its name and content.
    fn into_variant(self) -> Result<Variant, Unreadable> {
        let members = match self.0 {
            Value::String(name) => {
                return Ok(Variant {
                    name,
                    content: None,
                });
            }
            Value::Object(members) => members,
            _other => return Err(Unreadable::wanted("a variant")),
        };
        let mut members = members.into_iter();
        match (members.next(), members.next()) {
            (Some((name, content)), None) => Ok(Variant {
                name,
                content: Some(content),
            }),
            _other => Err(Unreadable::wanted("one variant")),
        }
    }
}

struct Items(vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unreadable> {
        self.0
            .next()
            .map(|item| seed.deserialize(Reader(item)))
            .transpose()
    }
}

struct Members {
    rest: serde_json::map::IntoIter,
    content: Option<Value>,
}

impl Members {
    fn of(members: Map<String, Value>) -> Self {
        Self {
            rest: members.into_iter(),
            content: None,
        }
    }

    fn content(&mut self) -> Reader {
        Reader(self.content.take().unwrap_or_default())
    }
}

impl<'de> MapAccess<'de> for Members {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unreadable> {
        let Some((name, content)) = self.rest.next() else {
            return Ok(None);
        };
        self.content = Some(content);
        seed.deserialize(Reader(Value::String(name))).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Unreadable> {
        seed.deserialize(self.content())
    }
}

struct Variant {
    name: String,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = Unreadable;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        mut self,
        seed: V,
    ) -> Result<(V::Value, Self), Unreadable> {
        let name: StringDeserializer<Unreadable> =
            core::mem::take(&mut self.name).into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = Unreadable;

    fn unit_variant(self) -> Result<(), Unreadable> {
        match self.content {
            None => Ok(()),
            Some(_content) => Err(Unreadable::wanted("a bare variant")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, Unreadable> {
        seed.deserialize(Reader(self.content.unwrap_or_default()))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        Reader(self.content.unwrap_or_default()).deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        Reader(self.content.unwrap_or_default()).deserialize_map(visitor)
    }
}
