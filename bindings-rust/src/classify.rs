//! What an error means: the failure that the core decides about, and whether a retry inside has given up.

pub use crate::stopped::given_up;

#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
use holdoff_core::HintReader;
use holdoff_core::{Clues, Facts, Failure, Rules};
use std::error::Error;
use std::io;

/// Classifies an I/O error: a lost, refused or interrupted connection is transient, a missing answer a
/// timeout, and everything else (not found, denied, invalid input) permanent.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// assert_eq!(holdoff::classify::io_failure(&Error::from(ErrorKind::ConnectionReset)), holdoff::Failure::TRANSIENT);
/// assert_eq!(holdoff::classify::io_failure(&Error::from(ErrorKind::TimedOut)), holdoff::Failure::TIMEOUT);
/// assert_eq!(holdoff::classify::io_failure(&Error::from(ErrorKind::NotFound)), holdoff::Failure::PERMANENT);
/// ```
pub fn io_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::Other => Failure::PERMANENT,
        kind => known(clues_of_io(kind)),
    }
}

/// Finds the clues in the kind of an I/O error. `Other`, and kinds that have no name yet, say nothing.
fn clues_of_io(kind: io::ErrorKind) -> Clues {
    use io::ErrorKind as Kind;
    match kind {
        Kind::TimedOut => Clues::TIMEOUT,
        Kind::ConnectionRefused
        | Kind::AddrNotAvailable
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown => Clues::UNSENT,
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::BrokenPipe
        | Kind::AddrInUse
        | Kind::ResourceBusy
        | Kind::WouldBlock
        | Kind::Interrupted
        | Kind::UnexpectedEof
        | Kind::WriteZero
        | Kind::Other => Clues::NONE,
        // A kind that this version of std cannot name says nothing: the error of a name that is not found has one.
        kind if format!("{kind:?}") == "Uncategorized" => Clues::NONE,
        _ => Clues::PERMANENT,
    }
}

/// The failure of an error that these clues were found in.
fn known(clues: Clues) -> Failure {
    match clues.kind() {
        Some(kind) => Failure::new(kind),
        None if clues.is_cancelled() => Failure::PERMANENT,
        None => Failure::TRANSIENT,
    }
}

/// How many errors behind an error are looked at.
const CAUSES: usize = 16;

/// Collects what an error and its sources say of themselves: the kinds of I/O errors, and the messages of known clients (reqwest, hyper,
/// h2, ureq, tonic, rustls).
///
/// [`Clues::is_unsent`] says whether the request was never sent, for [`Facts::unsent`](crate::core::Facts::unsent).
///
/// ```
/// use holdoff::core::Facts;
///
/// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
/// let facts = Facts { idempotent: false, unsent: holdoff::classify::clues_of(&refused).is_unsent(), ..Facts::NONE };
/// assert!(facts.unsent);
/// ```
pub fn clues_of(error: &(dyn Error + 'static)) -> Clues {
    let (mut clues, mut next) = (Clues::NONE, Some(error));
    for _ in 0..CAUSES {
        let Some(error) = next else { break };
        clues = clues.and(Clues::of_display(&error.to_string()));
        let io = error.downcast_ref::<io::Error>();
        if let Some(io) = io {
            clues = clues.and(clues_of_io(io.kind()));
        }
        // The source of an I/O error is that of the error inside it.
        let inner = io.and_then(io::Error::get_ref);
        next = inner.map_or_else(|| error.source(), |inner| Some(inner as &(dyn Error + 'static)));
    }
    clues
}

/// Classifies the error of a client by what it and its sources say (spec 8.15, 8.16). Bad certificates, malformed addresses,
/// too many redirects and bodies that cannot be decoded are permanent, errors about time are timeouts, everything else is transient.
///
/// The status of an answer is no error for most clients: see [`Failure::from_http`] and, for gRPC, [`Failure::from_grpc`].
///
/// ```
/// use holdoff::Failure;
/// use std::io::{Error, ErrorKind};
///
/// assert_eq!(holdoff::classify::failure_of(&Error::other(Error::from(ErrorKind::TimedOut))), Failure::TIMEOUT);
/// assert_eq!(holdoff::classify::failure_of(&Error::other("invalid peer certificate: Expired")), Failure::PERMANENT);
/// assert_eq!(holdoff::classify::failure_of(&Error::other("anything else")), Failure::TRANSIENT);
/// ```
pub fn failure_of(error: &(dyn Error + 'static)) -> Failure {
    known(clues_of(error))
}

/// Classifies the error of a request, as [`failure_of`] does. A request that may not run twice fails for good, unless it was never sent.
///
/// ```
/// use holdoff::classify::request_failure;
/// use holdoff::core::FailureKind;
/// use std::io::{Error, ErrorKind};
///
/// let [refused, reset] = [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset].map(Error::from);
/// assert_eq!(request_failure(&refused, false).kind, FailureKind::Transient);
/// assert_eq!(request_failure(&reset, false).kind, FailureKind::Permanent);
/// assert_eq!(request_failure(&reset, true).kind, FailureKind::Transient);
/// ```
pub fn request_failure(error: &(dyn Error + 'static), idempotent: bool) -> Failure {
    let clues = clues_of(error);
    Rules::NONE.judge(Facts { idempotent, unsent: clues.is_unsent(), ..Facts::NONE }, known(clues))
}

/// Classifies an answer of HTTP by its status and its headers, such as `Retry-After` and `x-should-retry`; `None` for a success. A
/// request that may not run twice fails for good, unless the status is 425 or 429.
///
/// `headers` are names and values, such as an `http::HeaderMap`. A web page needs the feature `web` for the clock that a date is read by.
///
/// ```
/// use holdoff::classify::http_failure;
/// use holdoff::core::{FailureKind, Span};
///
/// let busy = http_failure(429, [("Retry-After", "120")], false).unwrap();
/// assert_eq!(busy.hint.span(), Some(Span::from_secs(120)));
/// assert_eq!(http_failure(503, [("content-type", "text/plain")], false).unwrap().kind, FailureKind::Permanent);
/// assert_eq!(http_failure(204, [("content-type", "text/plain")], false), None);
/// ```
#[cfg(any(feature = "web", not(all(target_family = "wasm", target_os = "unknown"))))]
pub fn http_failure<N, V>(status: u16, headers: impl IntoIterator<Item = (N, V)>, idempotent: bool) -> Option<Failure>
where
    N: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    let mut hints = HintReader::new(crate::time::wall());
    headers.into_iter().for_each(|(name, value)| hints.header(name.as_ref(), value.as_ref()));
    let facts = Facts { http: status, idempotent, should_retry: hints.should_retry(), ..Facts::NONE };
    hints.failure(status.into()).map(|failure| Rules::NONE.judge(facts, failure))
}
