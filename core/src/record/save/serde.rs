//! [`Saved`] for every format that serde has: the names and values of its JSON.

use super::field::{NAMES, Told};
use super::{CALL, Saved};
use crate::serde_value::{Field, Reading};
use crate::value::Value;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

impl Serialize for Saved {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut fields = out.serialize_struct("Saved", if self.kind == CALL { NAMES.len() } else { 8 })?;
        self.each(|name, value| match value {
            Told::Word(word) => fields.serialize_field(name, word),
            Told::Half(number) => fields.serialize_field(name, &number),
            Told::Number(number) => fields.serialize_field(name, &Decimal(number)),
        })?;
        fields.end()
    }
}

/// A number as decimal text.
struct Decimal(u64);

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Saved {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Saved;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fields of a saved state")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Saved, A::Error> {
        let mut saved = Saved::EMPTY;
        while let Some(name) = fields.next_key_seed(Name)? {
            fields.next_value_seed(Reading(One { saved: &mut saved, name }))?;
        }
        saved.whole().map_err(Error::custom)?;
        Ok(saved)
    }
}

/// A field's name; one that is none is an error before its value is looked at.
struct Name;

impl<'de> serde::de::DeserializeSeed<'de> for Name {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<&'static str, D::Error> {
        input.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field of a saved state")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<&'static str, E> {
        match NAMES.into_iter().find(|known| *known == name) {
            Some(known) => Ok(known),
            None => Saved::EMPTY.set_named(name),
        }
    }
}

impl Saved {
    /// The error for a name that is none.
    fn set_named<T, E: Error>(mut self, name: &str) -> Result<T, E> {
        match self.set(name, Value::Other) {
            Err(error) => Err(E::custom(error)),
            Ok(()) => Err(E::custom("a known name")),
        }
    }
}

struct One<'s> {
    saved: &'s mut Saved,
    name: &'static str,
}

impl Field for One<'_> {
    fn take<E: Error>(self, value: Value<'_>) -> Result<(), E> {
        self.saved.set(self.name, value).map_err(E::custom)
    }
}
