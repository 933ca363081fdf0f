//! A gate, which closes for a while after each failure: the state of one key.
//!
//! A retry ends with its operation. The knowledge of the other side outlives it: this host, this item, this image
//! has failed lately, so leave it alone until then. Schedulers, work queues and browsers keep that in much the same way and
//! differ in numbers: which failures count, how the delay grows, what a success forgives. Here those are the numbers of one
//! configuration (spec 19), and the presets are the systems they come from.

use super::config::{Direction, GateConfig, Growth};
use crate::decide::backoff::{real, truncated};
use crate::decide::policy::UNLIMITED;
use crate::time::{Span, Timestamp};

/// One key's failures and until when it is closed: 32 bytes, `Copy`, zeroes are a new one.
///
/// # Contract
/// The inputs are [`Gate::failure`], [`Gate::success`], [`Gate::release_at`] and [`Gate::forget`], all with the same
/// [`GateConfig`], in any order and however many are in flight; the rest are questions. A failure never opens a closed gate
/// sooner and neither does a success. Time is not clamped (spec 19.8). Every bit pattern of the state is valid and no input
/// panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Gate {
    failures: u64,
    /// The delay of the last failure.
    delay: u64,
    /// When it was.
    failed_at: u64,
    release: u64,
}

impl Gate {
    /// A gate that is open and knows of no failure.
    pub const fn new() -> Self {
        Self { failures: 0, delay: 0, failed_at: 0, release: 0 }
    }

    /// It failed at `now`; says for how long it closes, with the uniform `u` from [0, 1) for the jitter (spec 19.2 to 19.5).
    pub fn failure(&mut self, config: &GateConfig, now: Timestamp, u: f64) -> Span {
        self.failure_of(config, now, now, u)
    }

    /// [`Gate::failure`] of something that happened at `event`, which is what the quiet time before it is measured to.
    pub fn failure_of(&mut self, config: &GateConfig, event: Timestamp, now: Timestamp, u: f64) -> Span {
        let now = now.as_now();
        if self.is_quiet(config, event) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        let delay = self.next_delay(config, u).min(Span::MAX.as_nanos());
        self.delay = delay;
        self.failed_at = now.as_nanos();
        self.release = self.release.max(now.after(Span::from_nanos(delay)).as_nanos());
        Span::from_nanos(delay)
    }

    /// Says if a failure of something at `event` would use its uniform.
    pub fn draws(&self, config: &GateConfig, event: Timestamp) -> bool {
        let failures = if self.is_quiet(config, event) { 0 } else { self.failures };
        config.jitter > 0.0 && (failures >= u64::from(config.grace) || config.grace_delay > 0)
    }

    /// It succeeded at `now`: forgives what the configuration says a success forgives (spec 19.6).
    pub fn success(&mut self, config: &GateConfig, now: Timestamp) {
        self.failures = self.failures.saturating_sub(u64::from(config.forgives));
        if self.failures == 0 {
            self.delay = 0;
        }
        let rest = now.as_now().after(Span::from_nanos(config.rest));
        self.release = self.release.max(rest.as_nanos());
    }

    /// Opens at `release` and no other time, until a failure puts it off: what a server said, or a person.
    pub const fn release_at(&mut self, release: Timestamp) {
        self.release = release.as_now().as_nanos();
    }

    /// Starts anew.
    pub const fn forget(&mut self) {
        *self = Self::new();
    }

    /// How many failures count now.
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    /// The delay of the last failure; zero when none counts.
    pub const fn delay(&self) -> Span {
        Span::from_nanos(self.delay)
    }

    /// When the last failure was; zero for a gate that has seen none.
    pub const fn failed_at(&self) -> Timestamp {
        Timestamp::from_nanos(self.failed_at)
    }

    /// When it opens or opened.
    pub const fn release(&self) -> Timestamp {
        Timestamp::from_nanos(self.release)
    }

    /// Says if the gate is open at `now`: from [`Gate::release`] on.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now.as_now() >= self.release()
    }

    /// Says if the delay of the last failure still covers something that happened at `event`, counted from the failure. It
    /// covers whatever was before it.
    pub fn covers(&self, config: &GateConfig, event: Timestamp) -> bool {
        let failed_at = Timestamp::from_nanos(self.failed_at);
        self.counts(config, event) && (event < failed_at || event.since(failed_at) < self.delay())
    }

    /// Says if less time than the delay of the last failure has passed at `now` since something that happened at `event`.
    pub fn covers_since(&self, config: &GateConfig, event: Timestamp, now: Timestamp) -> bool {
        self.counts(config, event) && (now < event || now.since(event) < self.delay())
    }

    /// Says if the gate can be thrown away at `now` (spec 19.7): its failures have become too old to count, or it has been open and
    /// out of use for as long as the configuration keeps one.
    pub fn is_discardable(&self, config: &GateConfig, now: Timestamp) -> bool {
        let now = now.as_now();
        let keep = if self.failures > 0 { config.keep_failed } else { config.keep };
        let open = now >= self.release();
        let unused = now.since(self.release()).as_nanos();
        let clean = self.failures == 0 && config.quiet != UNLIMITED;
        self.is_quiet(config, now) || open && (clean || keep != UNLIMITED && unused >= keep)
    }

    const fn counts(&self, config: &GateConfig, event: Timestamp) -> bool {
        self.failures > 0 && !self.is_quiet(config, event)
    }

    /// Says if the last failure is so long before `event` that it does not count.
    const fn is_quiet(&self, config: &GateConfig, event: Timestamp) -> bool {
        let since = event.as_now().since(Timestamp::from_nanos(self.failed_at)).as_nanos();
        self.failures > 0 && config.quiet != UNLIMITED && since > config.quiet
    }

    fn next_delay(&self, config: &GateConfig, u: f64) -> u64 {
        let grace = u64::from(config.grace);
        let spread = u * config.jitter;
        if self.failures <= grace {
            return rounded(config.grace_delay, 1.0, spread, config).min(config.max);
        }
        let level = self.failures.saturating_sub(grace).saturating_sub(1);
        if Growth::read(config.growth) == Growth::Power {
            let growth = power(config.factor, level.saturating_add(u64::from(config.ahead)));
            return rounded(config.initial, growth, spread, config).min(config.max);
        }
        // The jittered delay grows; the first delay is not capped.
        if level == 0 {
            return moved(config.initial, config.initial, spread, config);
        }
        moved(times(self.delay, config.factor), self.delay, spread, config).min(config.max)
    }
}

/// `base * growth` and the part `spread` of it more or less, in whole quanta or nanoseconds.
fn rounded(base: u64, growth: f64, spread: f64, config: &GateConfig) -> u64 {
    // Exact where a double is not.
    if growth == 1.0 && spread == 0.0 && config.quantum == 0 {
        return base;
    }
    let quantum = config.quantum.max(1);
    let grown = real(base) / real(quantum) * growth;
    if grown.is_infinite() {
        return u64::MAX;
    }
    let part = spread * grown;
    let moved = if Direction::read(config.direction) == Direction::Down { grown - part } else { grown + part };
    if config.quantum == 0 { truncated(moved) } else { truncated(moved + 0.5).saturating_mul(quantum) }
}

/// `factor^n` by squaring, from the lowest bit of `n` up: exact for powers of two, and the same everywhere.
fn power(factor: f64, mut n: u64) -> f64 {
    let (mut result, mut square) = (1.0, factor);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}

fn times(delay: u64, factor: f64) -> u64 {
    // Exact where a double is not.
    if factor == 2.0 { delay.saturating_mul(2) } else { truncated(real(delay) * factor) }
}

/// `to`, and the part `spread` of `from` more or less.
fn moved(to: u64, from: u64, spread: f64, config: &GateConfig) -> u64 {
    let by = truncated(spread * real(from));
    if Direction::read(config.direction) == Direction::Down { to.saturating_sub(by) } else { to.saturating_add(by) }
}

#[cfg(test)]
mod tests {
    use super::super::config::GateOptions;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const SECOND: u64 = 1_000_000_000;

    const fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    const fn secs(secs: u64) -> Span {
        Span::from_secs(secs)
    }

    fn delays(config: &GateConfig, count: usize) -> Vec<u64> {
        let mut gate = Gate::new();
        (0..count).map(|_| gate.failure(config, at(0), 0.0).as_nanos() / SECOND).collect()
    }

    #[test]
    fn the_end_of_time_is_no_time_after_itself() {
        let config = GateOptions { quiet: Some(Span::ZERO), ..GateOptions::default() }.build().unwrap();
        let mut gate = Gate::new();
        gate.failure(&config, Timestamp::NEVER, 0.0);
        gate.failure(&config, Timestamp::NEVER, 0.0);
        assert_eq!(gate.failures(), 2);
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let config = GateConfig::item_exponential(secs(1), secs(10));
        assert_eq!(delays(&config, 6), [1, 2, 4, 8, 10, 10]);
        let config = GateConfig::flowcontrol(secs(10), secs(3), 0.0).unwrap();
        assert_eq!(delays(&config, 3), [10, 3, 3]);
    }

    #[test]
    fn the_first_failures_may_be_let_off() {
        assert_eq!(delays(&GateConfig::fast_slow(secs(5), secs(10), 2), 4), [5, 5, 10, 10]);
        assert_eq!(delays(&GateConfig::fast_slow(secs(5), secs(10), -1), 2), [10, 10]);
        let options = GateOptions { grace: 2, ..GateOptions::default() };
        assert_eq!(delays(&options.build().unwrap(), 4), [0, 0, 1, 2]);
    }

    #[test]
    fn jitter_feeds_back_where_it_is_said_to() {
        let config = GateConfig::flowcontrol(Span::from_nanos(100), Span::from_nanos(10_000), 1.0).unwrap();
        let mut gate = Gate::new();
        assert_eq!([0.5; 3].map(|u| gate.failure(&config, at(0), u).as_nanos()), [150, 375, 937]);
    }

    #[test]
    fn a_quiet_time_must_pass_its_limit_to_begin_again() {
        let config = GateConfig::flowcontrol(secs(1), secs(5), 0.0).unwrap();
        let mut gate = Gate::new();
        gate.failure(&config, at(0), 0.0);
        assert_eq!(gate.failure(&config, at(10 * SECOND), 0.0), secs(2));
        assert!(!gate.is_discardable(&config, at(20 * SECOND)));
        assert!(gate.is_discardable(&config, at(20 * SECOND + 1)));
        assert_eq!(gate.failure(&config, at(20 * SECOND + 1), 0.0), secs(1));
    }

    #[test]
    fn it_stays_closed_as_long_as_any_failure_said() {
        let config = GateConfig::chromium(1000, 2.0, 0.0, Some(20_000), Some(2000), 0, false).unwrap();
        let mut gate = Gate::new();
        gate.failure(&config, at(0), 0.0);
        gate.release_at(at(3 * SECOND));
        gate.success(&config, at(SECOND));
        gate.failure(&config, at(SECOND), 0.0);
        assert_eq!(gate.release(), at(3 * SECOND));
        assert!(!gate.is_open(at(3 * SECOND - 1)) && gate.is_open(at(3 * SECOND)));
    }

    #[test]
    fn an_unknown_gate_covers_nothing() {
        let config = GateConfig::flowcontrol(secs(1), secs(5), 0.0).unwrap();
        let mut gate = Gate::new();
        assert!(!gate.covers(&config, at(0)) && !gate.covers_since(&config, at(0), at(0)));
        gate.failure(&config, at(5), 0.0);
        assert!(gate.covers(&config, at(0)) && gate.covers(&config, at(SECOND + 4)));
        assert!(!gate.covers(&config, at(SECOND + 5)));
        assert!(gate.covers_since(&config, at(9), at(9)) && !gate.covers_since(&config, at(9), at(SECOND + 9)));
    }

    #[test]
    fn powers_of_two_are_exact() {
        for n in 0..1024 {
            assert_eq!(power(2.0, n), libm::exp2(n as f64));
        }
        assert_eq!(power(2.0, u64::MAX), f64::INFINITY);
        assert_eq!(power(0.0, 0), 1.0);
    }

    #[test]
    fn the_machine_is_its_bytes() {
        assert_eq!((size_of::<Gate>(), size_of::<GateConfig>()), (32, 96));
    }

    proptest! {
        #[test]
        fn no_numbers_panic(
            state: [u64; 4], config: [u64; 9], numbers: [u32; 2], bytes: [u8; 3], event: u64, now: u64, u: f64
        ) {
            let [failures, delay, failed_at, release] = state;
            let mut gate = Gate { failures, delay, failed_at, release };
            let config = GateConfig::from_words(config, numbers, bytes);
            prop_assert!(gate.failure_of(&config, at(event), at(now), u) <= Span::MAX);
            prop_assert!(gate.delay() <= Span::MAX);
            gate.success(&config, at(now));
            gate.release_at(at(event));
            let _ = (gate.is_discardable(&config, at(now)), gate.covers(&config, at(event)), gate.is_open(at(now)));
            let _ = (gate.covers_since(&config, at(event), at(now)), gate.draws(&config, at(event)));
        }

        #[test]
        fn doubling_is_doubling(initial in 1u64..1 << 40, max in 1u64..1 << 50, count in 1usize..40) {
            let config = GateConfig::item_exponential(Span::from_nanos(initial), Span::from_nanos(max));
            let (mut gate, mut expected) = (Gate::new(), u128::from(initial));
            for _ in 0..count {
                prop_assert_eq!(u128::from(gate.failure(&config, at(0), 0.0).as_nanos()), expected.min(u128::from(max)));
                expected *= 2;
            }
        }

        #[test]
        fn nothing_but_a_person_opens_it_sooner(inputs in prop::collection::vec((any::<bool>(), 0u64..5_000), 1..40)) {
            let config = GateConfig::chromium(1000, 2.0, 0.5, Some(20_000), None, 1, true).unwrap();
            let (mut gate, mut now, mut release) = (Gate::new(), 0, at(0));
            for (failed, millis) in inputs {
                now += millis * 1_000_000;
                if failed {
                    gate.failure(&config, at(now), 0.9);
                } else {
                    gate.success(&config, at(now));
                }
                prop_assert!(gate.release() >= release);
                release = gate.release();
            }
        }
    }
}
