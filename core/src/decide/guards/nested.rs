//! Retries inside retries multiply: three layers of three attempts are 27 requests for a server that is already ill.
//!
//! An outer retry tells the inner ones two things: that it is there, and how many attempts it may make. The token carries
//! them, within a program by the language's own context, between programs as a header. Each policy says how it uses the
//! token (spec 30).

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::policy::Policy;

/// The behaviour of a policy inside another retry, or around one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Nesting {
    /// Nothing: attempts multiply.
    #[default]
    Allow,
    /// The innermost retry retries: what it has given up on is not tried again by those around it
    /// ([`Nesting::after_inner`]).
    Innermost,
    /// The outermost retry retries: one inside another makes one attempt.
    Outermost,
    /// At most so many attempts in all: a retry inside others makes that many divided by what they may make, at least one.
    /// 0 is as good as 1.
    Cap(u32),
}

impl Nesting {
    /// The nesting of that number, for other languages: 0 to 3, in the order of the variants. Any other number is
    /// [`Nesting::Allow`].
    pub const fn of(mode: u32, cap: u32) -> Self {
        match mode {
            1 => Self::Innermost,
            2 => Self::Outermost,
            3 => Self::Cap(cap),
            _ => Self::Allow,
        }
    }

    /// How many attempts a policy that may make `own` of them makes, the first included, inside the retry that `token` tells
    /// of. `u32::MAX` is for ever, in both; never below 1 (spec 30.3).
    pub fn attempts(self, token: Option<Token>, own: u32) -> u32 {
        let most = match (self, token) {
            (Self::Allow | Self::Innermost, _) | (Self::Outermost, None) => own,
            (Self::Outermost, Some(_)) => 1,
            (Self::Cap(cap), token) => {
                let allowed = token.map_or(1, |token| token.allowed()).max(1);
                own.min(cap.checked_div(allowed).unwrap_or(1))
            }
        };
        most.max(1)
    }

    /// The failure as this policy sees it after an inner retry gave up on it: permanent for [`Nesting::Innermost`], else
    /// unchanged (spec 30.4).
    #[must_use]
    pub fn after_inner(self, failure: Failure) -> Failure {
        match self {
            Self::Innermost => Failure { kind: FailureKind::Permanent, ..failure },
            _ => failure,
        }
    }
}

/// The token that an attempt hands to the retries inside it: 12 bytes, `Copy`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Token {
    attempt: u32,
    allowed: u32,
    depth: u32,
}

impl Token {
    /// The name of the header that [`Token::attempt`] is the value of, in decimal digits.
    pub const HEADER: &'static str = "x-retry-attempt";
    /// The name of the gRPC metadata that [`Token::grpc`] is the value of, in decimal digits.
    pub const GRPC: &'static str = "grpc-previous-rpc-attempts";

    /// The token of attempt `attempt` (from 1) of at most `attempts` (`u32::MAX`: for ever), inside `parent` (spec 30.2).
    pub fn child(parent: Option<Self>, attempt: u32, attempts: u32) -> Self {
        let (allowed, depth) = parent.map_or((1, 0), |parent| (parent.allowed(), parent.depth));
        Self {
            attempt: attempt.max(1),
            allowed: allowed.saturating_mul(attempts.max(1)),
            depth: depth.saturating_add(1),
        }
    }

    /// The token of a remote caller that makes attempt `attempt`: it may make at least that many (spec 30.6).
    pub fn of_attempt(attempt: u32) -> Self {
        Self::child(None, attempt, attempt)
    }

    /// The number of the attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt.max(1)
    }

    /// How many attempts all retries around may make together; `u32::MAX` for ever, or too many to count.
    pub fn allowed(&self) -> u32 {
        self.allowed.max(1)
    }

    /// How many retries there are around.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// The value of `grpc-previous-rpc-attempts`: the attempts before this one; `None` for the first, which has no such
    /// metadata (gRPC proposal A6).
    pub fn grpc(&self) -> Option<u32> {
        self.attempt().checked_sub(1).filter(|before| *before > 0)
    }

    /// Reads a value of `x-retry-attempt`: decimal digits for 1 to 4294967295. `None` for anything else.
    ///
    /// Read it only of a caller that you trust: a stranger who sends it turns your retries off under [`Nesting::Outermost`].
    pub fn from_header(value: &[u8]) -> Option<Self> {
        match number(value)? {
            0 => None,
            attempt => Some(Self::of_attempt(attempt)),
        }
    }

    /// Reads a value of `grpc-previous-rpc-attempts`: decimal digits for 0 to 4294967294. `None` for anything else. Only of a caller
    /// that you trust, as for [`Token::from_header`].
    pub fn from_grpc(value: &[u8]) -> Option<Self> {
        Some(Self::of_attempt(number(value)?.checked_add(1)?))
    }
}

/// Decimal digits alone, with blanks around them.
fn number(value: &[u8]) -> Option<u32> {
    let digits = value.trim_ascii();
    core::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit))?.parse().ok()
}

impl Policy {
    /// The same policy with so many attempts, the first included; `u32::MAX` for ever, 0 as 1.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self.prepare();
        self
    }
}

#[cfg(test)]
mod tests;
