//! The token that an attempt hands down to the retries inside it.

use crate::parameters::Text;
use holdoff_core::Token as Core;
use pyo3::prelude::*;

/// The attempt that a retry runs in, and the retries around it.
#[pyclass(frozen, eq, hash, module = "holdoff")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Token(pub(crate) Core);

fn read(value: Text<'_, '_>, of: fn(&[u8]) -> Option<Core>) -> PyResult<Option<Token>> {
    Ok(of(&value.bytes("value")?).map(Token))
}

methods! { Token(self, py);
    shown "<Token attempt {}, depth {}>", self.0.attempt(), self.0.depth();

    impl {
        /// The name of the header whose value is `header`.
        #[classattr]
        const HEADER: &'static str = Core::HEADER;
        /// The name of the gRPC metadata whose value is `grpc`.
        #[classattr]
        const GRPC: &'static str = Core::GRPC;
    }

    /// The token of attempt `attempt` of `attempts`, inside `parent`; None for a retry without a limit.
    new(attempt: u32, attempts: Option<u32> = None, parent: Option<&Bound<'_, Self>> = None) -> Self =
        Self(Core::child(parent.map(|parent| parent.get().0), attempt, attempts.unwrap_or(u32::MAX)));

    /// The token in a value of `x-retry-attempt`; None if there is none. Read it only of a caller that you trust: a stranger who
    /// sends it turns your retries off.
    static from_header[value: Text<'_, '_>]() -> PyResult<Option<Self>> = read(value, Core::from_header);

    /// The token in a value of `grpc-previous-rpc-attempts`; None if there is none.
    static from_grpc[value: Text<'_, '_>]() -> PyResult<Option<Self>> = read(value, Core::from_grpc);

    /// The number of the attempt, from 1.
    get attempt: u32 = self.0.attempt();

    /// How many attempts all retries around may make together; None for ever, or too many to count.
    get allowed: Option<u32> = Some(self.0.allowed()).filter(|allowed| *allowed != u32::MAX);

    /// How many retries there are around.
    get depth: u32 = self.0.depth();

    /// The value of the header `x-retry-attempt`.
    get header: String = self.0.attempt().to_string();

    /// The value of the gRPC metadata `grpc-previous-rpc-attempts`; None for a first attempt.
    get grpc: Option<String> = self.0.grpc().map(|before| before.to_string());
}
