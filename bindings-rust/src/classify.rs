//! Turning an operation's error into what the core decides about.

use holdoff_core::{Facts, Failure, FailureKind, Rules, TextList, Texts};
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
    use io::ErrorKind as Kind;
    Failure::new(match error.kind() {
        Kind::TimedOut => FailureKind::Timeout,
        Kind::ConnectionRefused
        | Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::NotConnected
        | Kind::BrokenPipe
        | Kind::AddrInUse
        | Kind::AddrNotAvailable
        | Kind::HostUnreachable
        | Kind::NetworkUnreachable
        | Kind::NetworkDown
        | Kind::ResourceBusy
        | Kind::WouldBlock
        | Kind::Interrupted
        | Kind::UnexpectedEof
        | Kind::WriteZero => FailureKind::Transient,
        _ => FailureKind::Permanent,
    })
}
