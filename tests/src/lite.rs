//! The calls and policies of `holdoff/lite`, from the sources of its wasm module, and the fields that it has.

#[path = "../../bindings-wasm/src/lite/call.rs"]
pub mod call;
#[path = "../../bindings-wasm/src/lite/policy.rs"]
pub mod policy;

use holdoff_core::Field;
use policy::Policy;

/// The fields of a policy there.
pub const FIELDS: [Field; 12] = [
    Field::BackoffKind,
    Field::BackoffInitial,
    Field::BackoffFactor,
    Field::BackoffIncrement,
    Field::BackoffMax,
    Field::JitterKind,
    Field::Attempts,
    Field::Deadline,
    Field::MinAttempt,
    Field::OnDeadline,
    Field::AttemptTimeout,
    Field::HintMax,
];

/// Those of them that may be infinite.
pub const LIMITS: [Field; 5] =
    [Field::BackoffMax, Field::Attempts, Field::Deadline, Field::AttemptTimeout, Field::HintMax];

/// The words of a field, by their places; `None` for a word that is not there.
pub fn words(field: Field) -> impl Iterator<Item = Option<&'static str>> {
    (0_u8..).zip(field.words()).map(move |(place, word)| {
        let has = match field {
            Field::BackoffKind => Policy::has_backoff(place + 1),
            Field::JitterKind => Policy::has_jitter(place),
            _ => true,
        };
        has.then_some(word)
    })
}
