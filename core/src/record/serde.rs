//! Events and saved states written to every format that serde has: the names and values of their JSON.

use super::field::Written;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Writes fields as a map.
pub(super) fn write<'t, S: Serializer>(
    out: S,
    fields: impl Iterator<Item = (&'static str, Written<'t>)> + Clone,
) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(fields.clone().count()))?;
    for (name, value) in fields {
        map.serialize_entry(name, &value)?;
    }
    map.end()
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => out.serialize_str(text),
            Self::Integer(number) => out.serialize_u64(*number),
            Self::Decimal(number) => out.collect_str(number),
            Self::Texts(texts) => write(out, super::field::present(*texts)),
        }
    }
}
