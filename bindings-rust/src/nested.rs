//! A retry inside a retry: the token that an attempt passes inward, and the mark that comes back (spec 30).

use crate::handler::{Handler, With};
use crate::operation::{Attempt, Inside};
use crate::retrying::Retrying;
use holdoff_core::{Failure, Nesting, Policy, Token};
use std::ops::Deref;
use std::sync::Arc;

/// The place of a call between other retries, see [`Retrying::nested`].
#[derive(Debug)]
pub struct Nested {
    nesting: Nesting,
    /// The most attempts; `u32::MAX` for ever.
    attempts: u32,
    around: Option<Arc<Inside>>,
    /// The attempts that have begun and not failed, by their numbers.
    inside: Vec<(u32, Arc<Inside>)>,
}

impl<T, E> Handler<T, E> for Nested {
    fn enter(&mut self, mut attempt: Attempt) -> Attempt {
        let parent = self.around.as_ref().map(|around| around.token());
        let token = Token::child(parent, attempt.number(), self.attempts);
        let inside = Arc::new(Inside::new(token));
        self.inside.push((attempt.number(), Arc::clone(&inside)));
        attempt.inside = Some(inside);
        attempt
    }

    fn judge(&mut self, attempt: u32, failure: Failure) -> Failure {
        let found = self.inside.iter().position(|(number, _)| *number == attempt);
        let inside = found.map(|at| self.inside.swap_remove(at).1);
        if inside.is_some_and(|inside| inside.given_up()) { self.nesting.after_inner(failure) } else { failure }
    }

    fn end(&mut self, given_up: bool) {
        self.inside.clear();
        if let Some(around) = &self.around {
            around.note(given_up);
        }
    }
}

impl<P: Deref<Target = Policy>, O, H, S, G> Retrying<P, O, H, S, G> {
    /// Says what this retry does about the retries around and inside it. Without it attempts multiply: three in three make nine.
    ///
    /// `around` is the [`Attempt`] in which this retry runs, of another `nested` retry; `None` for the outermost. The attempt learns
    /// whether this retry gave up. An outer retry with [`Nesting::Innermost`] does not repeat such an attempt, whatever error or value
    /// comes out of it. [`Nesting::Outermost`] and [`Nesting::Cap`] bound the attempts of this retry instead.
    ///
    /// ```
    /// use holdoff::core::Nesting;
    /// use holdoff::{Policy, testing::VirtualTime};
    ///
    /// let (policy, mut requests) = (Policy::default(), 0);
    /// let answer = holdoff::retry_with(&policy, |attempt| {
    ///     holdoff::retry(&policy, || { requests += 1; Err::<(), _>("unavailable") })
    ///         .nested(Nesting::Innermost, Some(&attempt))
    ///         .sleeper(VirtualTime::new())
    ///         .call()
    ///         .map_err(|_| "no page") // says nothing of the retry inside
    /// })
    /// .nested(Nesting::Innermost, None)
    /// .sleeper(VirtualTime::new())
    /// .call();
    /// assert_eq!(answer.unwrap_err().attempts(), 1);
    /// assert_eq!(requests, 3);
    /// ```
    ///
    /// Where the retries cannot be given an attempt, an error shows the same if it keeps its source: see [`given_up`](crate::classify::given_up()).
    pub fn nested(self, nesting: Nesting, around: Option<&Attempt>) -> Retrying<Arc<Policy>, O, With<H, Nested>, S, G> {
        let around = around.and_then(|attempt| attempt.inside.clone());
        let own = self.policy.attempts().unwrap_or(u32::MAX);
        let attempts = nesting.attempts(around.as_ref().map(|around| around.token()), own);
        let policy = Arc::new(self.policy.with_attempts(attempts));
        let nested = Nested { nesting, attempts, around, inside: Vec::new() };
        let Self { operation, handler, sleeper, guards, settings, .. } = self;
        Retrying { policy, operation, handler: With(handler, nested), sleeper, guards, settings }
    }
}
