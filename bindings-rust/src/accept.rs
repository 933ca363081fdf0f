//! Values that count as failures.
//!
//! An HTTP client answers a 503 with a value, not with an error. Such a value is a failure to the policy and yet what the
//! caller wants in hand when there is no other attempt, so it is kept here while the policy decides.

use holdoff_core::Failure;

/// Says which values are successes and keeps the last one that is not. Made by
/// [`Retrying::when_result`](crate::sentence::Retrying::when_result).
pub trait Accept<T> {
    /// Gives a success back.
    ///
    /// # Errors
    /// What the value counts as, if it is none; it is kept until it is taken.
    fn accept(&mut self, value: T) -> Result<T, Failure>;

    /// The value that was kept.
    fn take(&mut self) -> Option<T>;
}

/// Every value is a success: what holds until something else is said.
#[derive(Clone, Copy, Debug)]
pub struct AnyValue;

impl<T> Accept<T> for AnyValue {
    #[inline(always)]
    fn accept(&mut self, value: T) -> Result<T, Failure> {
        Ok(value)
    }

    #[inline(always)]
    fn take(&mut self) -> Option<T> {
        None
    }
}

/// Values that were accepted before are successes unless the predicate returns a failure.
#[derive(Clone, Copy, Debug)]
pub struct Unless<A, P, T> {
    pub(crate) rest: A,
    pub(crate) predicate: P,
    pub(crate) refused: Option<T>,
}

impl<T, A: Accept<T>, P: FnMut(&T) -> Option<Failure>> Accept<T> for Unless<A, P, T> {
    #[inline]
    fn accept(&mut self, value: T) -> Result<T, Failure> {
        let value = self.rest.accept(value)?;
        match (self.predicate)(&value) {
            None => Ok(value),
            Some(failure) => {
                self.refused = Some(value);
                Err(failure)
            }
        }
    }

    #[inline]
    fn take(&mut self) -> Option<T> {
        self.refused.take().or_else(|| self.rest.take())
    }
}
