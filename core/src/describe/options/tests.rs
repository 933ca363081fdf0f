#[cfg(feature = "serde")]
#[cfg(all(feature = "powers", feature = "rules"))]
mod guards;
#[cfg(all(feature = "powers", feature = "rules"))]
mod policy;
#[cfg(all(feature = "powers", feature = "rules"))]
mod preset;
mod set;

use super::Options;
use crate::error::Error;
use crate::fields::Field;
use crate::value::Value;

impl Options {
    /// These options with some fields set.
    pub(crate) fn with_fields(self, fields: &[(Field, Value<'_>)]) -> Result<Self, Error> {
        fields.iter().try_fold(self, |mut options, (field, value)| {
            options.put(*field, field.read(*value)?);
            Ok(options)
        })
    }
}
