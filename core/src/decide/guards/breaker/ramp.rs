//! The ramp of a breaker that closes while calls wait at it: the calls begin in growing numbers, and not all at once.
//!
//! One call begins, then as many as have succeeded allow: each success lets two more begin. Answers count as those of a closed
//! breaker, so a server that fails again opens it, and the calls that wait go on waiting (spec 23.16).

use super::{Breaker, CLOSED, Permit, RAMP};
use crate::decide::guards::breaker::config::BreakerConfig;
use crate::time::{Span, Timestamp};

/// However quick the answers are: as many calls begin in the first period, and as many as have begun in each later one.
const PERIOD: u64 = 10_000_000;
const FIRST: u32 = 16;

/// The periods after which the time limits nothing.
const PERIODS: u64 = 12;

impl Breaker {
    /// A call waits at the breaker from now on.
    pub(crate) const fn add_waiter(&mut self) {
        self.waiting = self.waiting.saturating_add(1);
    }

    /// A call waits no longer.
    pub(crate) const fn remove_waiter(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        self.timed = 0;
    }

    /// Begins a ramp at `now` if calls wait. The generation has begun.
    pub(super) const fn begin_ramp(&mut self, now: Timestamp) {
        (self.timed, self.begun) = (0, 0);
        if self.waiting > 0 {
            (self.state, self.lasting) = (RAMP, now.as_nanos());
        }
    }

    /// Goes on as a closed breaker of the same generation.
    pub(super) const fn end_ramp(&mut self) {
        (self.state, self.successes, self.out) = (CLOSED, 0, 0);
        (self.until, self.lasting, self.timed, self.begun) = (0, 0, 0, 0);
    }

    /// Ends the ramp if all calls that wait may begin at `now`; true if it has ended.
    pub(super) fn has_ended(&mut self, config: &BreakerConfig, now: Timestamp) -> bool {
        let ends = self.waiting <= self.places(config, now.as_nanos());
        if ends {
            self.end_ramp();
        }
        ends
    }

    /// The permit of a call that waited for its turn; others wait for it.
    ///
    /// # Errors
    /// The time to ask again: the next period, or the time at which the permits in use expire.
    pub(super) fn acquire_in_turn(
        &mut self,
        config: &BreakerConfig,
        now: Timestamp,
        waited: bool,
    ) -> Result<Permit, Timestamp> {
        if now.as_nanos() >= self.until {
            // The calls with those permits may not come back.
            self.out = 0;
        }
        if self.has_ended(config, now) {
            return Ok(Permit(self.generation));
        }
        if waited && self.places(config, now.as_nanos()) > 0 {
            self.out = self.out.saturating_add(1);
            (self.begun, self.timed) = (self.begun.saturating_add(1), 0);
            self.ramp_expires_from(config, now);
            return Ok(Permit(self.generation));
        }
        if waited && self.timed == 0 && self.earned() > 0 {
            self.timed = 1;
            return Err(self.next_period(now));
        }
        let until = Timestamp::from_nanos(self.until);
        Err(if self.out > 0 { until } else { now.after(config.open_time(0)) })
    }

    /// How many calls to wake. One, if all that wait have to wait for the next period and none of them has a sleep that ends then.
    pub(super) const fn wakes(&self, config: &BreakerConfig) -> u32 {
        match self.places(config, self.latest) {
            0 if self.timed == 0 && self.earned() > 0 => 1,
            places => places,
        }
    }

    /// Takes back a permit; a success lets more calls begin.
    pub(super) fn take_back(&mut self, config: &BreakerConfig, now: Timestamp, failed: bool) {
        self.out = self.out.saturating_sub(1);
        self.successes = self.successes.saturating_add((!failed).into());
        self.ramp_expires_from(config, now);
    }

    /// How many calls the successes let begin.
    const fn earned(&self) -> u32 {
        self.successes.saturating_add(1).saturating_sub(self.out)
    }

    /// How many calls may begin at that time.
    const fn places(&self, config: &BreakerConfig, now: u64) -> u32 {
        if !config.ramps() {
            return u32::MAX;
        }
        let period = now.saturating_sub(self.lasting) / PERIOD;
        let most = if period < PERIODS { FIRST.wrapping_shl(period as u32) } else { u32::MAX };
        let (earned, timely) = (self.earned(), most.saturating_sub(self.begun as u32));
        if earned < timely { earned } else { timely }
    }

    fn next_period(&self, now: Timestamp) -> Timestamp {
        let closed = Timestamp::from_nanos(self.lasting);
        let periods = now.since(closed).as_nanos() / PERIOD;
        closed.after(Span::from_nanos(periods.saturating_add(1).saturating_mul(PERIOD)))
    }

    fn ramp_expires_from(&mut self, config: &BreakerConfig, now: Timestamp) {
        self.until = now.after(config.open_time(0)).as_nanos();
    }
}
