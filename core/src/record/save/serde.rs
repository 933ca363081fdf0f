//! [`Saved`] for every format that serde has.

use super::model::Saved;
use crate::error::Error;
use crate::record::serde::write;
use crate::serde_value::{DocumentRules, DocumentValue, read_values};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

impl Serialize for Saved {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        write(out, self.fields())
    }
}

impl<'de> Deserialize<'de> for Saved {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let mut saved = Self::EMPTY;
        let rules = DocumentRules { unit: 1.0, groups: Some(&[]), repeats: true };
        let set = |DocumentValue { path, value, broken, .. }: DocumentValue<'_>| match broken {
            Some(code) => Err(Error::of_state(code, "")),
            None => saved.set(path, value),
        };
        read_values(input, rules, set).map_err(|(error, _)| error)?;
        saved.check_fields().map_err(D::Error::custom)?;
        Ok(saved)
    }
}
