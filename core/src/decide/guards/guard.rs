//! What is alike in all guards: the trait of their configurations, and the behaviour of a call that is refused.

use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::words::words;

/// The configuration of a guard: makes the guard's state, lends it to calls, saves it. Alike for all guards, so that a host that
/// stores and shares them names none.
pub trait GuardConfig: Copy {
    /// The state, which calls share.
    type State;
    /// The parts that a call borrows.
    type Lent<'a>;
    /// The section of a document that describes the guard.
    const SECTION: Section;

    /// The configuration from the numbers of its fields, for a guard whose row says `plain`: any numbers of its fields are valid.
    fn of_fields(_number: &dyn Fn(Field) -> u64) -> Option<Self> {
        None
    }

    /// A state that has seen nothing.
    fn state(&self, seed: u64, now: Timestamp) -> Self::State;

    /// The field that says how many words of memory the state needs beside itself.
    const WORDS: &'static str = "";

    /// How many words of memory the state needs beside itself.
    fn words(&self) -> usize {
        0
    }

    /// Lends the guard to a call.
    fn lend<'a>(&'a self, state: &'a mut Self::State, words: &'a mut [u64]) -> Self::Lent<'a>;

    /// True if nothing that protects a server is lost when the guard is made anew at `now` (spec 21.5).
    fn is_at_rest(lent: &Self::Lent<'_>, now: Timestamp) -> bool;

    /// The guard in words, for a `plain` one: its parts, each with whether it holds. A name in brackets stands for the number of that field of the
    /// section.
    fn words_of(_number: &dyn Fn(Field) -> u64) -> [(bool, &'static str); 4] {
        [(false, ""); 4]
    }

    /// Tells the guard that the server said at `now` not to come before `span` is over.
    fn hint(&self, _state: &mut Self::State, _now: Timestamp, _span: Span) {}

    /// The time from which the guard would let an attempt through that it refuses at `at`; `None` unless it has nothing but time to
    /// say.
    fn refuses(&self, _state: &Self::State, _at: Timestamp) -> Option<Timestamp> {
        None
    }

    /// How many bytes a saved state has; 0 for a guard that is not saved.
    fn saved(&self) -> usize;

    /// Writes the state at `now` as bytes that last (spec 31). `out` has as many bytes as [`GuardConfig::saved`] says.
    fn save(&self, state: &Self::State, words: &[u64], now: Timestamp, out: &mut [u8]);

    /// The state that [`GuardConfig::save`] made bytes of, on a clock that reads `now`.
    ///
    /// # Errors
    /// An [`Error`]: no saved guard of this sort, damaged, or saved under another kind or length.
    fn restore(&self, bytes: &[u8], words: &mut [u64], now: Timestamp) -> Result<Self::State, Error>;
}

/// Implements [`GuardConfig`] for a guard that is saved and needs no words: its section, a new state, and further functions.
macro_rules! guard_config {
    ($config:ident: $section:expr, $state:ident = |$of:pat_param, $seed:pat_param, $now:pat_param| $new:expr
        $(, $($more:item)+)?) => {
        impl $crate::decide::guards::guard::GuardConfig for $config {
            type State = $state;
            type Lent<'a> = (&'a Self, &'a mut $state);
            const SECTION: $crate::fields::Section = $section;

            fn state(&self, $seed: u64, $now: Timestamp) -> $state {
                let $of = self;
                $new
            }

            fn lend<'a>(&'a self, state: &'a mut $state, _: &'a mut [u64]) -> Self::Lent<'a> {
                (self, state)
            }

            fn is_at_rest((config, state): &Self::Lent<'_>, now: Timestamp) -> bool {
                state.is_at_rest(config, now)
            }

            $($($more)+)?

            fn saved(&self) -> usize {
                $state::SAVED
            }

            fn save(&self, state: &$state, _: &[u64], now: Timestamp, out: &mut [u8]) {
                if let Some(out) = out.first_chunk_mut() {
                    *out = state.save(self, now);
                }
            }

            fn restore(&self, bytes: &[u8], _: &mut [u64], now: Timestamp) -> Result<$state, Error> {
                $state::restore(bytes, self, now)
            }
        }
    };
}
pub(crate) use guard_config;

words! {
    /// The behaviour of a call when a guard refuses its next attempt.
    #[non_exhaustive]
    pub enum Refusal: u8 = Stop {
        /// Give up at once, and say when the guard would let it through.
        Stop = 0 "stop";
        /// Sleep until the guard would let it through, when that is before the deadline; else give up.
        Wait = 1 "wait";
    }
}
