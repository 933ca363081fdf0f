//! [`Saved`] for every format that serde has: the names and values of its JSON.

use super::model::Saved;
use super::table::{CALL, FIELDS};
use crate::serde_value::{Field, Reading};
use crate::value::Value;
use alloc::string::String;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error as FormatError, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

impl Serialize for Saved {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut fields = out.serialize_struct("Saved", if self.kind == CALL { FIELDS.len() } else { 8 })?;
        for (name, value) in self.each() {
            fields.serialize_field(name, &value)?;
        }
        fields.end()
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
        while let Some(name) = fields.next_key::<String>()? {
            fields.next_value_seed(Reading(One { saved: &mut saved, name: &name }))?;
        }
        saved.check_fields().map_err(FormatError::custom)?;
        Ok(saved)
    }
}

struct One<'s> {
    saved: &'s mut Saved,
    name: &'s str,
}

impl Field for One<'_> {
    fn take<E: FormatError>(self, value: Value<'_>) -> Result<(), E> {
        self.saved.set(self.name, value).map_err(E::custom)
    }
}
