//! What a retry inside another one does.

use crate::adaptives::built;
use crate::format::FailureWord;
use crate::run::same;
use holdoff_core::{Nesting, Token};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A nesting, what is known of the retries around, and what follows.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct NestedCase {
    /// The `nested` of a policy document.
    pub nested: Value,
    /// The retries around, the outermost first: which attempt runs, and how many there may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<[Count; 2]>,
    /// In place of them: the value of the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// In place of them: the value of the gRPC metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<String>,
    /// How many attempts the policy itself may make.
    pub own: Count,
    /// What is known; null for nothing.
    pub token: Option<TokenWord>,
    /// How many attempts the policy makes.
    pub attempts: Count,
    /// A failure that a retry inside has given up on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner: Option<FailureWord>,
    /// What that is to the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<FailureWord>,
}

/// A number of attempts, or the word "forever".
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged)]
pub enum Count {
    /// So many.
    Number(u32),
    /// Without end.
    Word(Forever),
}

/// The word.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Forever {
    /// Without end.
    Forever,
}

impl Count {
    const fn number(&self) -> u32 {
        match *self {
            Self::Number(number) => number,
            Self::Word(Forever::Forever) => u32::MAX,
        }
    }

    const fn of(number: u32) -> Self {
        if number == u32::MAX { Self::Word(Forever::Forever) } else { Self::Number(number) }
    }
}

/// A token, and the headers that say it.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TokenWord {
    /// The number of the attempt.
    attempt: u32,
    /// How many all retries around may make together.
    allowed: Count,
    /// How many retries there are around.
    depth: u32,
    /// The value of the header.
    header: String,
    /// The value of the gRPC metadata; null for none.
    grpc: Option<String>,
}

/// Works out a case.
pub fn run(case: &NestedCase) -> Result<(), String> {
    let nesting: Nesting =
        built("nested", &case.nested)?.nested().map_err(|error| error.to_string())?.unwrap_or_default();
    let token = match (&case.header, &case.grpc) {
        (Some(text), _) => Token::from_header(text.as_bytes()),
        (None, Some(text)) => Token::from_grpc(text.as_bytes()),
        (None, None) => case
            .around
            .iter()
            .fold(None, |token, [attempt, attempts]| Some(Token::child(token, attempt.number(), attempts.number()))),
    };
    let word = token.map(|token| TokenWord {
        attempt: token.attempt(),
        allowed: Count::of(token.allowed()),
        depth: token.depth(),
        header: token.attempt().to_string(),
        grpc: token.grpc().map(|before| before.to_string()),
    });
    same(&case.token, &word)?;
    same(&case.attempts, &Count::of(nesting.attempts(token, case.own.number())))?;
    match &case.inner {
        None => Ok(()),
        Some(inner) => {
            let failure = inner.failure().ok_or("an unknown kind of failure")?;
            same(&case.judged, &Some(nesting.after_inner(failure).into()))
        }
    }
}
