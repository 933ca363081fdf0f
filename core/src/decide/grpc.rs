//! The status codes of gRPC and what each means for a retry.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::Hint;

/// A gRPC status code: the seventeen of `google/rpc/code.proto`, with its numbers and names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum GrpcCode {
    /// No error.
    Ok = 0,
    /// The caller cancelled.
    Cancelled = 1,
    /// An error that says nothing about itself.
    Unknown = 2,
    /// A request that is wrong whatever the state of the system.
    InvalidArgument = 3,
    /// No answer in time.
    DeadlineExceeded = 4,
    /// What was asked for is not there.
    NotFound = 5,
    /// What was to be made is there already.
    AlreadyExists = 6,
    /// The caller may not.
    PermissionDenied = 7,
    /// A quota or another resource is used up.
    ResourceExhausted = 8,
    /// The system is not in the state that the call needs.
    FailedPrecondition = 9,
    /// A conflict; to be retried from further up, such as a whole transaction.
    Aborted = 10,
    /// Past the end of what is there.
    OutOfRange = 11,
    /// The server does not do this.
    Unimplemented = 12,
    /// Something that must hold does not.
    Internal = 13,
    /// The service cannot be reached or does not answer now.
    Unavailable = 14,
    /// Data are lost for good.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

impl GrpcCode {
    /// Every code, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The code with that number; `None` above 16.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// The name in `code.proto`: `"UNAVAILABLE"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// The code with that name in any case, as gRPC's service config reads it (gRFC A6).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name().eq_ignore_ascii_case(name))
    }

    /// What the status means for a retry; `None` for `OK` (spec 8.3).
    ///
    /// `UNAVAILABLE` is the one that its own definition calls transient, `RESOURCE_EXHAUSTED` asks for less, and
    /// `DEADLINE_EXCEEDED` is an attempt without an answer in time. The definition of `ABORTED` wants a retry from further
    /// up, not of the call; the rest would fail again, or (`UNKNOWN`, `INTERNAL`, `DATA_LOSS`) nobody knows. The
    /// definitions are those of `google/rpc/code.proto`; AIP-194 retries `UNAVAILABLE` alone.
    #[must_use]
    pub const fn kind(self) -> Option<FailureKind> {
        match self {
            Self::Ok => None,
            Self::Unavailable => Some(FailureKind::Transient),
            Self::ResourceExhausted => Some(FailureKind::Throttled),
            Self::DeadlineExceeded => Some(FailureKind::Timeout),
            _ => Some(FailureKind::Permanent),
        }
    }
}

impl Failure {
    /// How a gRPC call ended: its status code and the value of its `grpc-retry-pushback-ms`, if it has one. `None` for
    /// `OK`; a code that is none of the table reads as `UNKNOWN` (spec 8.3).
    ///
    /// A call that may not be retried stays so, whatever the pushback.
    #[must_use]
    pub fn from_grpc(code: u32, pushback: Option<&[u8]>) -> Option<Self> {
        let kind = GrpcCode::from_code(code).unwrap_or(GrpcCode::Unknown).kind()?;
        Some(Self::new(kind).with_hint(pushback.map_or(Hint::NONE, Hint::pushback)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_survives_its_number_and_its_name() {
        for (number, code) in (0..).zip(GrpcCode::ALL) {
            assert_eq!(u32::from(code.code()), number);
            assert_eq!(GrpcCode::from_code(number), Some(code));
            assert_eq!(GrpcCode::from_name(code.name()), Some(code));
            assert_eq!(GrpcCode::from_name(&code.name().to_lowercase()), Some(code));
        }
        for code in [17, u32::MAX] {
            assert_eq!(GrpcCode::from_code(code), None);
        }
        for name in ["", "UNAVAILABLE ", "CANCELED", "Unavailable.", "14"] {
            assert_eq!(GrpcCode::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn three_codes_are_worth_another_try() {
        let retried: std::vec::Vec<_> = GrpcCode::ALL
            .into_iter()
            .filter_map(|code| Some((code.name(), code.kind()?)))
            .filter(|(_, kind)| *kind != FailureKind::Permanent)
            .collect();
        assert_eq!(
            retried,
            [
                ("DEADLINE_EXCEEDED", FailureKind::Timeout),
                ("RESOURCE_EXHAUSTED", FailureKind::Throttled),
                ("UNAVAILABLE", FailureKind::Transient)
            ]
        );
        assert_eq!(GrpcCode::Ok.kind(), None);
    }
}
