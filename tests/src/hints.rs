//! What an answer's header lines say about when to come back.

use crate::format::{HintWord, N};
use holdoff_core::HintReader;
use serde::{Deserialize, Serialize};

/// Header lines, and the hint they are.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct HintCase {
    /// Where the case comes from, when that is not the file's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The HTTP status; 0 when there is none or it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub status: u32,
    /// Names and values, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The time of the wall clock, nanoseconds since the Unix epoch; never when it is not known.
    #[serde(default = "unknown")]
    pub wall: N,
    /// What the lines say.
    pub hint: HintWord,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(status: &u32) -> bool {
    *status == 0
}

const fn unknown() -> N {
    N(u64::MAX)
}

/// Reads a case's lines.
pub fn run(case: &HintCase) -> Result<(), String> {
    let mut reader = HintReader::new(case.wall.0);
    for (name, value) in &case.headers {
        reader.header(name.as_bytes(), value.as_bytes());
    }
    let got = HintWord(reader.hint_for(case.status));
    if case.hint == got { Ok(()) } else { Err(format!("expected {:?}, got {:?}", case.hint.0, got.0)) }
}
