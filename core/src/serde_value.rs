//! The values of a document with their paths, from any format that serde reads: JSON, YAML, TOML.
//!
//! The reader knows no field. It flattens a document into (path, value) pairs, as every language does with its own objects,
//! so that a document means the same everywhere.

use crate::error::ErrorCode;
use crate::value::Value;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt::{self, Display, Write as _};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value of a document.
#[derive(Clone, Copy)]
pub struct DocumentValue<'a> {
    /// Where it is: `backoff[1].max`; empty for the document itself.
    pub path: &'a str,
    /// The value.
    pub value: Value<'a>,
    /// The value as the document has it.
    pub text: &'a dyn Display,
    /// The rule that the value breaks: the document must be an object, and no name may be there twice.
    pub broken: Option<ErrorCode>,
}

/// The rules by which a document is read.
#[derive(Clone, Copy, Debug)]
pub struct DocumentRules {
    /// Nanoseconds in a number. With 1 whole numbers of 64 bits are exact; with NaN a time is a text with its unit.
    pub unit: f64,
    /// The only objects inside the document whose fields are read one by one; unless `None`, lists and other objects are
    /// [`Value::Other`].
    pub groups: Option<&'static [&'static str]>,
    /// True if the last of several fields with the same name counts.
    pub repeats: bool,
}

/// The deepest level of objects and lists that is read: a retrier of a nested state machine is the deepest field.
const DEPTH: u32 = 16;

/// How many characters of a name a path has: each value below a long name has the whole path.
const LONGEST_NAME: usize = 256;

/// Hands every value of a document to `set`, in their order.
///
/// # Errors
/// The error of the format, and the error of `set` if it is the cause.
pub fn read_values<'de, D: Deserializer<'de>, W: Display>(
    input: D,
    rules: DocumentRules,
    set: impl FnMut(DocumentValue<'_>) -> Result<(), W>,
) -> Result<(), (D::Error, Option<W>)> {
    let mut reader = Reader { rules, set, path: String::new(), depth: 0, wrong: None };
    Node(&mut reader).deserialize(input).map_err(|error| (error, reader.wrong))
}

struct Reader<W, S> {
    rules: DocumentRules,
    set: S,
    path: String,
    /// The number of objects and lists around the current value.
    depth: u32,
    /// The error of `set`, which the format's own error cannot carry.
    wrong: Option<W>,
}

impl<W: Display, S: FnMut(DocumentValue<'_>) -> Result<(), W>> Reader<W, S> {
    fn put<E: Error>(&mut self, value: Value<'_>, text: &dyn Display) -> Result<(), E> {
        let broken = if self.depth == 0 { Some(ErrorCode::NotAnObject) } else { None };
        self.hand_on(value, text, broken)
    }

    #[inline(never)]
    fn hand_on<E: Error>(&mut self, value: Value<'_>, text: &dyn Display, broken: Option<ErrorCode>) -> Result<(), E> {
        (self.set)(DocumentValue { path: &self.path, value, text, broken }).map_err(|wrong| {
            let error = E::custom(&wrong);
            self.wrong = Some(wrong);
            error
        })
    }

    /// True if the fields or items of the current value are read one by one.
    fn enters(&self, is_list: bool) -> bool {
        match self.rules.groups {
            None => true,
            Some(groups) => !is_list && (self.depth == 0 || groups.contains(&&*self.path)),
        }
    }
}

/// The value under the current path, whatever its type.
struct Node<'r, W, S>(&'r mut Reader<W, S>);

impl<'de, W: Display, S: FnMut(DocumentValue<'_>) -> Result<(), W>> DeserializeSeed<'de> for Node<'_, W, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de, W: Display, S: FnMut(DocumentValue<'_>) -> Result<(), W>> Visitor<'de> for Node<'_, W, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reader = self.0;
        if !reader.enters(false) {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return reader.put(Value::Other, &"{...}");
        }
        let before = reader.path.len();
        // A set, because some forms ignore names that they do not know: a text may have any number of them.
        let mut names = BTreeSet::new();
        reader.depth = reader.depth.saturating_add(1);
        while let Some(name) = map.next_key::<String>()? {
            if reader.depth > 1 {
                reader.path.push('.');
            }
            let end = name.char_indices().nth(LONGEST_NAME).map(|(at, _)| at);
            reader.path.push_str(end.and_then(|end| name.get(..end)).unwrap_or(&name));
            if end.is_some() {
                reader.path.push('\u{2026}');
            }
            let again = !names.insert(name);
            if again && !reader.rules.repeats {
                return reader.hand_on(Value::Other, &"", Some(ErrorCode::Twice));
            }
            if reader.depth > DEPTH {
                map.next_value::<IgnoredAny>()?;
                reader.put(Value::Other, &"...")?;
            } else {
                map.next_value_seed(Node(reader))?;
            }
            reader.path.truncate(before);
        }
        reader.depth = reader.depth.saturating_sub(1);
        if names.is_empty() && reader.depth > 0 { reader.put(Value::Empty, &"{}") } else { Ok(()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let reader = self.0;
        if reader.depth == 0 {
            return reader.put(Value::Other, &"[...]");
        }
        if !reader.enters(true) {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return reader.put(Value::Other, &"[...]");
        }
        let before = reader.path.len();
        let mut index = 0_u32;
        reader.depth = reader.depth.saturating_add(1);
        loop {
            let _ = write!(reader.path, "[{index}]");
            let next = if reader.depth > DEPTH {
                let ignored = list.next_element::<IgnoredAny>()?.map(|_| ());
                ignored.map_or(Ok(()), |()| reader.put(Value::Other, &"..."))?;
                ignored
            } else {
                list.next_element_seed(Node(reader))?
            };
            reader.path.truncate(before);
            if next.is_none() {
                break;
            }
            index = index.saturating_add(1);
        }
        reader.depth = reader.depth.saturating_sub(1);
        if index == 0 { reader.put(Value::NoItems, &"[]") } else { Ok(()) }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.put(Value::Text(text), &format_args!("{text:?}"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        let unit = self.0.rules.unit;
        self.0.put(Value::Number { value, unit }, &value)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        if self.0.rules.unit == 1.0 { self.0.put(Value::Nanos(number), &number) } else { self.visit_f64(number as f64) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.put(Value::Flag(value), &value)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.put(Value::Nothing, &"null")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        self.deserialize(input)
    }
}
