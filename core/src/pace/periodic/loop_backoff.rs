//! How long until the next time: a wait backoff that begins again by itself.
//!
//! A loop that runs for ever must come back to its first delay one day, and there are two ideas of when: after a quiet
//! time, or a while after it last came back. Kubernetes has both, as managers that are kinds of their own; here they
//! are one machine with a rule (spec 17).

use crate::decide::policy::UNLIMITED;
use crate::error::Error;
use crate::pace::wait_backoff::WaitBackoff;
use crate::time::{Span, Timestamp};

/// When a loop backoff begins again with its first delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reset {
    /// It never does.
    Never,
    /// When asked more than this after it was last asked (or made).
    AfterQuiet(Span),
    /// When asked more than this after it last began again (or was made), however busy it was in between.
    Every(Span),
}

/// The delays between the runs of something that runs again and again: 80 bytes, `Copy`, its own configuration.
///
/// # Contract
/// [`LoopBackoff::next`] is the only input: the delay to wait now. It decides there, before the step, if the delays begin
/// again, and strictly: a quiet time of exactly the limit does not. Time is not clamped: a `now` before the last one reads
/// as no time passed, and the next is measured from it. Every bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub struct LoopBackoff {
    backoff: WaitBackoff,
    /// The duration after a reset.
    first_duration: u64,
    first_steps: u64,
    /// After more than this the delays begin again; the highest number is never.
    limit: u64,
    /// The time from which the limit is measured.
    since: u64,
    /// 1 if the limit is measured from the latest delay, 0 if from the latest beginning.
    is_quiet: u8,
    /// No padding: the state is its bytes.
    unused: [u8; 7],
}

impl LoopBackoff {
    /// The delays of `backoff`, beginning again by the rule `reset`, made at `now`.
    pub const fn new(backoff: WaitBackoff, reset: Reset, now: Timestamp) -> Self {
        let (is_quiet, limit) = match reset {
            Reset::Never => (0, UNLIMITED),
            Reset::AfterQuiet(limit) => (1, limit.as_nanos()),
            Reset::Every(limit) => (0, limit.as_nanos()),
        };
        Self {
            backoff,
            first_duration: backoff.duration().as_nanos(),
            first_steps: backoff.steps(),
            limit,
            since: now.as_now().as_nanos(),
            is_quiet,
            unused: [0; 7],
        }
    }

    /// The same delay each time and up to `jitter` of it more: Kubernetes' `NewJitteredBackoffManager`, where a jitter that
    /// is not positive means none.
    ///
    /// # Errors
    /// As [`WaitBackoff::constant`], but for a negative `jitter`.
    pub fn jittered(period: Span, jitter: f64) -> Result<Self, Error> {
        let backoff = WaitBackoff::kubernetes(period, 0.0, jitter, 0, 0)?;
        Ok(Self::new(backoff, Reset::Never, Timestamp::ZERO))
    }

    /// Grows from `initial` by `factor` up to `max`, and begins again after more than `reset` without being asked:
    /// Kubernetes' `NewExponentialBackoffManager`. The quiet time includes the delay itself, so a delay longer than `reset`
    /// is always followed by the first one.
    ///
    /// # Errors
    /// As [`WaitBackoff::new`], but for a negative `jitter`.
    pub fn exponential(
        initial: Span,
        max: Span,
        reset: Span,
        factor: f64,
        jitter: f64,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let cap = max.as_nanos().cast_signed();
        let backoff = WaitBackoff::kubernetes(initial, factor, jitter, i64::from(i32::MAX), cap)?;
        Ok(Self::new(backoff, Reset::AfterQuiet(reset), now))
    }

    /// Steps `backoff` and begins again every `reset`: Kubernetes' `Backoff.DelayWithReset`, where a `reset` of zero means
    /// that it never steps at all.
    pub fn with_reset(backoff: WaitBackoff, reset: Span, now: Timestamp) -> Self {
        if reset == Span::ZERO && backoff.factor() > 0.0 {
            return Self::new(backoff.restarted(backoff.duration(), 0), Reset::Never, now);
        }
        let rule = if backoff.factor() > 0.0 { Reset::Every(reset) } else { Reset::Never };
        Self::new(backoff, rule, now)
    }

    /// The delay to wait at `now`, for the uniform `u` from [0, 1), which only jitter looks at (spec 17.2 and 17.3).
    pub fn next(&mut self, now: Timestamp, u: f64) -> Span {
        let now = now.as_now();
        let over = now.since(Timestamp::from_nanos(self.since)).as_nanos() > self.limit;
        if over {
            self.backoff = self.backoff.restarted(Span::from_nanos(self.first_duration), self.first_steps);
        }
        if over || self.is_quiet != 0 {
            self.since = now.as_nanos();
        }
        self.backoff.step(u)
    }

    /// Says if [`LoopBackoff::next`] uses its uniform.
    pub fn draws(&self) -> bool {
        self.backoff.draws()
    }

    /// The backoff as it stands.
    pub const fn backoff(&self) -> &WaitBackoff {
        &self.backoff
    }
}

#[cfg(test)]
impl LoopBackoff {
    /// Any bits at all, for tests of the machines that hold one.
    pub(crate) const fn from_words(words: [u64; 9], is_quiet: u8) -> Self {
        let [duration, factor, jitter, cap, steps, first_duration, first_steps, limit, since] = words;
        let backoff = WaitBackoff::from_words([duration, factor, jitter, cap, steps]);
        Self { backoff, first_duration, first_steps, limit, since, is_quiet, unused: [0; 7] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const fn ns(nanos: u64) -> Span {
        Span::from_nanos(nanos)
    }

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn delays(mut loop_backoff: LoopBackoff, times: &[u64]) -> Vec<u64> {
        times.iter().map(|now| loop_backoff.next(at(*now), 0.0).as_nanos()).collect()
    }

    fn exponential() -> LoopBackoff {
        LoopBackoff::exponential(ns(1), ns(10), ns(10), 2.0, 0.0, at(0)).unwrap()
    }

    #[test]
    fn a_quiet_time_must_pass_the_limit_to_begin_again() {
        assert_eq!(delays(exponential(), &[0, 0, 10, 21, 21]), [1, 2, 4, 1, 2]);
        assert_eq!(delays(exponential(), &[0, 9, 18, 27, 36, 45]), [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn being_busy_does_not_put_off_a_reset_that_comes_every_so_often() {
        let backoff = WaitBackoff::kubernetes(ns(1), 2.0, 0.0, 10, 10).unwrap();
        assert_eq!(delays(LoopBackoff::with_reset(backoff, ns(10), at(0)), &[6, 12, 18, 24, 30]), [1, 1, 2, 1, 2]);
        assert_eq!(delays(LoopBackoff::with_reset(backoff, ns(0), at(0)), &[6, 12, 18]), [1, 1, 1]);
    }

    #[test]
    fn a_clock_that_runs_backwards_is_measured_from_where_it_went() {
        assert_eq!(delays(exponential(), &[20, 20, 15, 25, 26, 37]), [1, 2, 4, 8, 10, 1]);
    }

    #[test]
    fn without_a_cap_in_kubernetes_there_is_none_here() {
        let loop_backoff = LoopBackoff::exponential(ns(1), ns(0), ns(10), 4.0, -1.0, at(0)).unwrap();
        assert_eq!(delays(loop_backoff, &[0; 4]), [1, 4, 16, 64]);
    }

    proptest! {
        #[test]
        fn a_loop_backoff_is_a_backoff_cut_at_its_resets(
            times in prop::collection::vec(0u64..60, 1..40), limit in 0u64..60, quiet: bool, factor in 0.0..4.0f64
        ) {
            let backoff = WaitBackoff::new(ns(100), factor, 0.0, ns(3_000), 6).unwrap();
            let reset = if quiet { Reset::AfterQuiet(ns(limit)) } else { Reset::Every(ns(limit)) };
            let mut loop_backoff = LoopBackoff::new(backoff, reset, at(0));
            let (mut now, mut since, mut fresh) = (0, 0, backoff);
            for time in times {
                now += time;
                if now - since > limit {
                    (fresh, since) = (backoff, now);
                } else if quiet {
                    since = now;
                }
                prop_assert_eq!(loop_backoff.next(at(now), 0.0), fresh.step(0.0));
            }
        }

        #[test]
        fn no_numbers_panic(words: [u64; 9], rule: u8, now: u64, u: f64) {
            let mut loop_backoff = LoopBackoff::from_words(words, rule);
            for _ in 0..4 {
                prop_assert!(loop_backoff.next(at(now), u) <= Span::MAX);
            }
        }
    }
}
