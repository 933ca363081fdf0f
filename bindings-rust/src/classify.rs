//! Turning an operation's error into what the core decides about.

use holdoff_core::{Clues, Facts, Failure, Rules, TextList, Texts};
use std::error::Error;
use std::fmt::Display;
use std::io;

/// Reads a [`Failure`] out of an error. Made by [`Retrying::when`](crate::sentence::Retrying::when) and
/// [`Retrying::classify`](crate::sentence::Retrying::classify).
pub trait Classify<E> {
    /// The failure that this error is.
    fn classify(&mut self, error: &E) -> Failure;
}

/// Every error may go away by itself: what holds until something else is said.
#[derive(Clone, Copy, Debug)]
pub struct Everything;

impl<E> Classify<E> for Everything {
    #[inline(always)]
    fn classify(&mut self, _: &E) -> Failure {
        Failure::TRANSIENT
    }
}

/// A function of the user's.
#[derive(Clone, Copy, Debug)]
pub struct By<F>(pub(crate) F);

impl<E, F: FnMut(&E) -> Failure> Classify<E> for By<F> {
    #[inline]
    fn classify(&mut self, error: &E) -> Failure {
        (self.0)(error)
    }
}

/// Errors that the predicate refuses are permanent; the classifier before it decides about the others.
#[derive(Clone, Copy, Debug)]
pub struct When<C, P> {
    pub(crate) rest: C,
    pub(crate) predicate: P,
}

impl<E, C: Classify<E>, P: FnMut(&E) -> bool> Classify<E> for When<C, P> {
    #[inline]
    fn classify(&mut self, error: &E) -> Failure {
        if (self.predicate)(error) { self.rest.classify(error) } else { Failure::PERMANENT }
    }
}

/// Facts about an error, beside its failure. Made by [`Retrying::facts`](crate::sentence::Retrying::facts).
#[derive(Clone, Copy, Debug)]
pub struct Known<C, F> {
    pub(crate) rest: C,
    pub(crate) facts: F,
}

impl<E, C: Classify<E>, F: FnMut(&E) -> Facts> Classify<E> for Known<C, F> {
    #[inline]
    fn classify(&mut self, error: &E) -> Failure {
        Rules::NONE.judge((self.facts)(error), self.rest.classify(error))
    }
}

/// Rules of a document, over what the classifier before says.
#[derive(Clone, Copy, Debug)]
pub struct Ruled<'d, C, F> {
    pub(crate) rest: C,
    pub(crate) rules: &'d Rules,
    pub(crate) texts: &'d Texts,
    pub(crate) facts: F,
}

impl<E: Display, C: Classify<E>, F: FnMut(&E) -> Facts> Classify<E> for Ruled<'_, C, F> {
    fn classify(&mut self, error: &E) -> Failure {
        let default = self.rest.classify(error);
        let mut facts = (self.facts)(error);
        if self.rules.has_texts(TextList::Patterns) {
            let message = error.to_string();
            facts.patterns = self.texts.bits(TextList::Patterns, |pattern| message.contains(pattern));
        }
        self.rules.judge(facts, default)
    }
}

/// Classifies an I/O error: a lost, refused or interrupted connection is transient, a missing answer a
/// timeout, and everything else (not found, denied, invalid input) permanent.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// assert_eq!(holdoff::io_failure(&Error::from(ErrorKind::ConnectionReset)), holdoff::Failure::TRANSIENT);
/// assert_eq!(holdoff::io_failure(&Error::from(ErrorKind::TimedOut)), holdoff::Failure::TIMEOUT);
/// assert_eq!(holdoff::io_failure(&Error::from(ErrorKind::NotFound)), holdoff::Failure::PERMANENT);
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
/// let facts = Facts { idempotent: false, unsent: holdoff::clues_of(&refused).is_unsent(), ..Facts::NONE };
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
/// assert_eq!(holdoff::failure_of(&Error::other(Error::from(ErrorKind::TimedOut))), Failure::TIMEOUT);
/// assert_eq!(holdoff::failure_of(&Error::other("invalid peer certificate: Expired")), Failure::PERMANENT);
/// assert_eq!(holdoff::failure_of(&Error::other("anything else")), Failure::TRANSIENT);
/// ```
pub fn failure_of(error: &(dyn Error + 'static)) -> Failure {
    known(clues_of(error))
}
