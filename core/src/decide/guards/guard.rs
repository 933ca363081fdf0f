//! What is alike in all guards: the trait of their configurations, and the behaviour of a call that is refused.

use crate::decide::backoff::BackoffNumbers;
use crate::decide::guards::save::{self, Pass};
use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::words::words;

/// The configuration of a guard: makes the guard's state, lends it to calls, saves it. Alike for all guards, so that a host that
/// stores and shares them names none.
pub trait GuardConfig: Copy {
    /// The state, which calls share.
    type State: Copy;
    /// The parts that a call borrows.
    type Lent<'a>;
    /// The section of a document that describes the guard.
    const SECTION: Section;

    /// The configuration from its fields, of the kind with that number; it is 1 in a section without kinds.
    ///
    /// # Errors
    /// The first rule that the fields break (spec 32.5).
    fn of_fields(kind: u8, fields: &dyn GuardFields) -> Result<Self, Error>;

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

    /// The guard in words, where the table of `guard_words.rs` has none for it: its parts, each with whether it holds. A name in
    /// brackets stands for the number of that field of the section.
    fn words_of(_fields: &dyn GuardFields) -> [(bool, &'static str); 4] {
        [(false, ""); 4]
    }

    /// Tells the guard that the server said at `now` not to come before `span` is over.
    fn hint(&self, _state: &mut Self::State, _now: Timestamp, _span: Span) {}

    /// The time from which the guard would let an attempt through that it refuses at `at`; `None` unless it has nothing but time to
    /// say.
    fn refuses(&self, _state: &Self::State, _at: Timestamp) -> Option<Timestamp> {
        None
    }

    /// The number of the guard in a saved state; a retry is 1, a call 2. 0 for a guard that is not saved.
    const NUMBER: u8 = 0;
    /// How many bytes a saved state has, without those of its words.
    const SAVED: usize = 0;

    /// The kind of the configuration: a state is restored only under the kind that it was saved under.
    fn kind(&self) -> u32 {
        0
    }

    /// Writes or reads the saved numbers of a state in a fixed order.
    fn pass(&self, _state: &mut Self::State, _pass: &mut Pass<'_>) {}

    /// The state without the calls in flight, whose ends will not be reported to a restored guard.
    fn without_calls(&self, state: &Self::State) -> Self::State {
        *state
    }

    /// The restored state within the bounds of the configuration (spec 31.7).
    fn within(&self, state: Self::State, _now: Timestamp) -> Self::State {
        state
    }

    /// How many bytes a saved state has; 0 for a guard that is not saved.
    fn saved(&self) -> usize {
        if Self::NUMBER == 0 { 0 } else { self.words().saturating_mul(8).saturating_add(Self::SAVED) }
    }

    /// Writes the state at `now` as bytes that last (spec 31). `out` has as many bytes as [`GuardConfig::saved`] says.
    fn save(&self, state: &Self::State, words: &[u64], now: Timestamp, out: &mut [u8]) {
        if let (1.., Some(words), Some(out)) = (Self::NUMBER, words.get(..self.words()), out.get_mut(..self.saved())) {
            let mut state = self.without_calls(state);
            save::write(Self::NUMBER, &mut |pass| self.pass(&mut state, pass), self.kind(), now, words, out);
        }
    }

    /// The state that [`GuardConfig::save`] made bytes of, in whatever language, on a clock that reads `now`.
    ///
    /// # Errors
    /// An [`Error`]: no saved guard of this sort, damaged, of another layout, or saved under another kind; for the log of a
    /// limiter also a state that was saved under another limit.
    fn restore(&self, bytes: &[u8], words: &mut [u64], now: Timestamp) -> Result<Self::State, Error> {
        let mut state = self.state(0, now);
        if Self::NUMBER == 0 {
            return Ok(state);
        }
        let words = words.get_mut(..self.words()).unwrap_or_default();
        let layout = (Self::NUMBER, self.saved(), self.kind());
        save::read(layout, &mut |pass| self.pass(&mut state, pass), now, words, bytes)?;
        Ok(self.within(state, now))
    }
}

/// The numbers of the fields of guards, with the defaults of fields that are not set (spec 32.4).
pub trait GuardFields {
    /// The number of a field; `None` if it is not set.
    fn number(&self, field: Field) -> Option<u64>;

    /// The number of a field, or its default: that of the kind, where the kinds differ.
    fn or_default(&self, field: Field) -> u64;

    /// Checks that the kind uses every field of the section that is set.
    ///
    /// # Errors
    /// [`ErrorCode::NotForKind`](crate::ErrorCode::NotForKind) for a field that the kind does not use.
    fn check_kind(&self, section: Section, kind: u8) -> Result<(), Error>;

    /// The times that a breaker stays open, as a stage of a backoff. Of a list the first, and their number as its `times`; `more` gets
    /// the others, in nanoseconds.
    ///
    /// # Errors
    /// The first rule that their fields break.
    fn open_times(&self, more: &mut [u64]) -> Result<BackoffNumbers, Error>;

    /// True if a field is, or stands for, that word.
    fn is(&self, field: Field, word: &str) -> bool {
        field.word(self.or_default(field) as u8) == word
    }

    /// The field as a count.
    fn count(&self, field: Field) -> u32 {
        self.or_default(field) as u32
    }

    /// The field as a real number.
    fn real(&self, field: Field) -> f64 {
        f64::from_bits(self.or_default(field))
    }

    /// The field as a length of time.
    fn span(&self, field: Field) -> Span {
        Span::from_nanos(self.or_default(field))
    }

    /// The field as the behaviour of a call that the guard refuses.
    fn refusal(&self, field: Field) -> Refusal {
        Refusal::read(self.or_default(field) as u8)
    }
}

/// The parts of a guard that a call borrows.
macro_rules! lent {
    ($life:lifetime $config:ty, $state:ty, words) => { (&$life $config, &$life mut $state, &$life mut [u64]) };
    ($life:lifetime $config:ty, $state:ty) => { (&$life $config, &$life mut $state) };
}
pub(crate) use lent;

/// Implements [`GuardConfig`] for a guard: its section, a new state, the field that says how many words it needs if it does, the number
/// and the length of its saved state if it is saved, and further functions.
macro_rules! guard_config {
    ($config:ident: $section:expr, $state:ident = |$of:pat_param, $seed:pat_param, $now:pat_param| $new:expr
        $(, $words:ident by $field:literal)? $(, $number:literal saved as $length:expr)?; $($more:item)+) => {
        impl $crate::decide::guards::guard::GuardConfig for $config {
            type State = $state;
            type Lent<'a> = $crate::decide::guards::guard::lent!('a Self, $state $(, $words)?);
            const SECTION: $crate::fields::Section = $section;
            $(
                const NUMBER: u8 = $number;
                const SAVED: usize = $crate::decide::guards::save::AROUND + $length;
            )?
            $(
                const WORDS: &'static str = $field;

                fn words(&self) -> usize {
                    self.$words()
                }
            )?

            fn state(&self, $seed: u64, $now: Timestamp) -> $state {
                let $of = self;
                $new
            }

            fn lend<'a>(&'a self, state: &'a mut $state, _words: &'a mut [u64]) -> Self::Lent<'a> {
                $(let $words = _words;)?
                (self, state $(, $words)?)
            }

            fn is_at_rest((config, state $(, $words)?): &Self::Lent<'_>, now: Timestamp) -> bool {
                state.is_at_rest(config, $($words,)? now)
            }

            $($more)+
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
