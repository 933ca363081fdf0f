//! A pause of all calls while a server asks for one: every caller of a key obeys the server's Retry-After.
//!
//! A hint reaches one call only. The other calls of the program go on asking a server that said when to come back, each until it
//! has its own answer. A pause closes for all calls when one attempt fails with a hint, and opens at the time that the hint names.
//! The calls that wait then begin one after the other, in growing numbers (spec 39).

use crate::decide::guards::guard::{GuardFields, Refusal, guard_config};
use crate::decide::guards::save::Pass;
use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};

/// The time in which one waiting call begins, and in each later one twice as many.
const PERIOD: u64 = 100_000_000;

/// The longest pause and the behaviour of a call that meets it: 16 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PauseConfig {
    max: u64,
    refusal: u64,
}

impl PauseConfig {
    /// A pause of at most `max` from each hint.
    pub const fn new(max: Span, refusal: Refusal) -> Self {
        Self { max: max.as_nanos(), refusal: refusal.code() as u64 }
    }

    /// The longest pause.
    pub const fn max(&self) -> Span {
        Span::from_nanos(self.max)
    }

    /// The behaviour of a call that meets the pause.
    pub const fn refusal(&self) -> Refusal {
        Refusal::read(self.refusal as u8)
    }
}

/// The time until which a server wants no call: 16 bytes, `Copy`. Zeroes are an open one.
///
/// # Contract
/// [`Pause::hint`] with the hint of each attempt that fails; [`Pause::refuses`] looks and changes nothing; [`Pause::wait`] for
/// each call that sleeps for the end. All with the same [`PauseConfig`]. Every bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Pause {
    /// The time at which it opens; 0 if it never closed.
    until: u64,
    /// How many calls have waited for that time.
    places: u64,
}

impl Pause {
    /// An open one.
    pub const fn new() -> Self {
        Self { until: 0, places: 0 }
    }

    /// The server said at `now` not to come before `span` is over. A shorter time than that of an earlier hint changes nothing.
    pub fn hint(&mut self, config: &PauseConfig, now: Timestamp, span: Span) {
        let until = now.after(span.min(config.max())).as_nanos();
        if span > Span::ZERO && until > self.until {
            *self = Self { until, places: 0 };
        }
    }

    /// The time at which the next waiting call may begin, if an attempt at `at` would come before; `None` when it is open then.
    pub fn refuses(&self, at: Timestamp) -> Option<Timestamp> {
        (at.as_nanos() < self.until).then(|| self.turn())
    }

    /// The turn of a call that would begin at `at`, if that is not after the pause.
    pub(crate) fn turn_after(&self, now: Timestamp, at: Timestamp) -> Option<Timestamp> {
        (now.as_nanos() < self.until && at.as_nanos() <= self.until).then(|| self.turn())
    }

    /// A call sleeps until the time that [`Pause::refuses`] said.
    pub const fn wait(&mut self) {
        self.places = self.places.saturating_add(1);
    }

    /// True if it is open (spec 21.5).
    pub fn is_at_rest(&self, _: &PauseConfig, now: Timestamp) -> bool {
        self.refuses(now).is_none()
    }

    /// The time of the next place: one call in the first period, two in the second, four in the third, evenly within each.
    fn turn(&self) -> Timestamp {
        let number = self.places.saturating_add(1);
        let period = number.ilog2();
        let share = u128::from(PERIOD).saturating_mul(number.into()).wrapping_shr(period) as u64;
        let periods = PERIOD.saturating_mul(u64::from(period.saturating_sub(1)));
        let offset = if period == 0 { 0 } else { periods.saturating_add(share) };
        Timestamp::from_nanos(self.until).after(Span::from_nanos(offset))
    }
}

guard_config!(PauseConfig: Section::PAUSE, Pause = |_, _, _| Pause::new(), 22 saved as 2 * 8;

    fn pass(&self, state: &mut Pause, pass: &mut Pass<'_>) {
        pass.time(&mut state.until);
        pass.word(&mut state.places);
    }

    fn within(&self, state: Pause, now: Timestamp) -> Pause {
        Pause { until: state.until.min(now.after(self.max()).as_nanos()), ..state }
    }

    fn of_fields(_: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        Ok(Self::new(fields.span(Field::PauseMax), fields.refusal(Field::PauseRefusal)))
    }

    fn words_of(fields: &dyn GuardFields) -> [(bool, &'static str); 4] {
        let waits = fields.refusal(Field::PauseRefusal) == Refusal::Wait;
        let bounded = fields.span(Field::PauseMax) < Span::MAX;
        let (end, wait) = ((bounded, ", at most [max]"), (waits, "; calls wait for it, and begin in growing numbers"));
        [(true, "closes for all calls until the time of a hint"), end, wait, (false, "")]
    }

    fn hint(&self, state: &mut Pause, now: Timestamp, span: Span) {
        state.hint(self, now, span);
    }

    fn refuses(&self, state: &Pause, at: Timestamp) -> Option<Timestamp> {
        state.refuses(at)
    }
);

#[cfg(test)]
mod tests;
