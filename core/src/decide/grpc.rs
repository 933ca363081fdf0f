//! The status codes of gRPC and what each means for a retry.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::Hint;
use crate::words::words;

words! {
    /// A gRPC status code: the seventeen of `google/rpc/code.proto`, with its numbers and names.
    #[derive(PartialOrd, Ord)]
    pub enum GrpcCode: u8 {
        /// No error.
        Ok = 0 "OK";
        /// The caller cancelled.
        Cancelled = 1 "CANCELLED";
        /// An error that says nothing about itself.
        Unknown = 2 "UNKNOWN";
        /// A request that is wrong whatever the state of the system.
        InvalidArgument = 3 "INVALID_ARGUMENT";
        /// No answer in time.
        DeadlineExceeded = 4 "DEADLINE_EXCEEDED";
        /// The requested thing does not exist.
        NotFound = 5 "NOT_FOUND";
        /// The thing to create exists already.
        AlreadyExists = 6 "ALREADY_EXISTS";
        /// The caller may not.
        PermissionDenied = 7 "PERMISSION_DENIED";
        /// A quota or another resource is used up.
        ResourceExhausted = 8 "RESOURCE_EXHAUSTED";
        /// The system is not in the state that the call needs.
        FailedPrecondition = 9 "FAILED_PRECONDITION";
        /// A conflict; to be retried from further up, such as a whole transaction.
        Aborted = 10 "ABORTED";
        /// Past the end of what is there.
        OutOfRange = 11 "OUT_OF_RANGE";
        /// The server does not do this.
        Unimplemented = 12 "UNIMPLEMENTED";
        /// Something that must hold does not.
        Internal = 13 "INTERNAL";
        /// The service cannot be reached or does not answer now.
        Unavailable = 14 "UNAVAILABLE";
        /// Data are lost for good.
        DataLoss = 15 "DATA_LOSS";
        /// The caller is not known.
        Unauthenticated = 16 "UNAUTHENTICATED";
    }
}

impl GrpcCode {
    /// The code with that name in any case, as gRPC's service config reads it (gRFC A6).
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name().eq_ignore_ascii_case(name))
    }

    /// The kind of failure of this status; `None` for `OK` (spec 8.3).
    ///
    /// `UNAVAILABLE` is transient by its own definition, `RESOURCE_EXHAUSTED` asks for less, and
    /// `DEADLINE_EXCEEDED` is an attempt without an answer in time. The definition of `ABORTED` wants a retry from further
    /// up, not of the call; the rest would fail again, or (`UNKNOWN`, `INTERNAL`, `DATA_LOSS`) nobody knows. The
    /// definitions are those of `google/rpc/code.proto`; AIP-194 retries `UNAVAILABLE` alone.
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
    /// A gRPC call by its status code and the value of its `grpc-retry-pushback-ms` metadata. `None` for `OK`; an unknown
    /// code reads as `UNKNOWN` (spec 8.3).
    ///
    /// A call that may not be retried stays so, whatever the pushback.
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
            assert_eq!(GrpcCode::parse(code.name()), Some(code));
            assert_eq!(GrpcCode::parse(&code.name().to_lowercase()), Some(code));
        }
        for code in [17, u32::MAX] {
            assert_eq!(GrpcCode::from_code(code), None);
        }
        for name in ["", "UNAVAILABLE ", "CANCELED", "Unavailable.", "14"] {
            assert_eq!(GrpcCode::parse(name), None, "{name}");
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
