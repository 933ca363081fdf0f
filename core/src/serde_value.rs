//! The value of one field, of whatever type a serde format gives it.

use crate::value::Value;
use core::fmt;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A field that takes one value.
pub(crate) trait Field: Sized {
    /// Takes it. Lists and objects are [`Value::Other`].
    fn take<E: Error>(self, value: Value<'_>) -> Result<(), E>;

    /// An object in its place.
    fn take_map<'de, A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.take(Value::Other)
    }
}

/// Reads the value of a field.
pub(crate) struct Reading<F>(pub(crate) F);

impl<'de, F: Field> DeserializeSeed<'de> for Reading<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de, F: Field> Visitor<'de> for Reading<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.take(Value::Text(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.take(Value::Nanos(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.take(Value::Number { value: number as f64, unit: 1.0 })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.take(Value::Number { value, unit: 1.0 })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.0.take(Value::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.take(Value::Nothing)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.0.take(Value::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<(), A::Error> {
        self.0.take_map(fields)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        self.0.take(Value::Other)
    }
}
