//! A call that a guard lets through: what the guard costs beside one written by hand for the purpose, and beside the peers.
//!
//! `now` is passed in, but for the peers that read a clock of their own. All limiters have a burst that the bench never
//! uses up.

use holdoff_core::{Breaker, BreakerConfig, Field, LimiterConfig, Options, Span, Timestamp, Value, Verdict};
use std::hint::black_box;
use std::time::Duration;

/// Thirty seconds, for which every breaker would open.
pub const OPEN: Duration = Duration::from_secs(30);

/// The operation. Out of line, as an operation worth guarding is.
#[inline(never)]
pub fn operation() -> Result<u32, u32> {
    let failed = black_box(0);
    if failed > 0 { Err(failed) } else { Ok(failed) }
}

/// The operation alone.
#[inline(always)]
pub fn bare() -> Result<u32, u32> {
    operation()
}

/// The floor: so many failures in a row open it.
#[derive(Debug)]
pub struct Run {
    until: u64,
    failures: u32,
    threshold: u32,
}

impl Run {
    /// A closed one.
    #[must_use]
    pub const fn new(threshold: u32) -> Self {
        Self { until: 0, failures: 0, threshold }
    }

    /// True if a call may be made.
    #[inline(always)]
    #[must_use]
    pub const fn is_closed(&self, now: u64) -> bool {
        now >= self.until
    }

    /// How it went.
    #[inline(always)]
    pub fn record(&mut self, succeeded: bool, now: u64) {
        if succeeded {
            self.failures = 0;
            return;
        }
        self.failures += 1;
        if self.failures >= self.threshold {
            self.until = now + OPEN.as_nanos() as u64;
        }
    }
}

/// A call through it.
#[inline(always)]
pub fn by_run(run: &mut Run, now: Timestamp) -> Option<Result<u32, u32>> {
    if !run.is_closed(now.as_nanos()) {
        return None;
    }
    let result = operation();
    run.record(result.is_ok(), now.as_nanos());
    Some(result)
}

/// The floor: so many failures among the last 128 outcomes open it, once there are enough outcomes.
#[derive(Debug)]
pub struct Bits {
    outcomes: [u64; 2],
    until: u64,
    calls: u32,
    failed: u32,
    threshold: u32,
    minimum: u32,
}

impl Bits {
    /// A closed one.
    #[must_use]
    pub const fn new(threshold: u32, minimum: u32) -> Self {
        Self { outcomes: [0; 2], until: 0, calls: 0, failed: 0, threshold, minimum }
    }

    #[inline(always)]
    fn record(&mut self, failed: bool, now: u64) {
        let at = self.calls % 128;
        let word = &mut self.outcomes[(at / 64) as usize];
        let gone = (*word >> (at % 64)) & 1;
        *word = *word & !(1 << (at % 64)) | u64::from(failed) << (at % 64);
        // A multiple of 128 after 2^32 calls, so that there are enough of them for ever.
        self.calls = self.calls.checked_add(1).unwrap_or(1 << 31);
        self.failed = self.failed + u32::from(failed) - gone as u32;
        if self.failed >= self.threshold && self.calls >= self.minimum {
            self.until = now + OPEN.as_nanos() as u64;
        }
    }
}

/// A call through it.
#[inline(always)]
pub fn by_bits(bits: &mut Bits, now: Timestamp) -> Option<Result<u32, u32>> {
    if now.as_nanos() < bits.until {
        return None;
    }
    let result = operation();
    bits.record(result.is_err(), now.as_nanos());
    Some(result)
}

/// The calls of ten slots of time, and how many of them failed.
#[derive(Debug)]
pub struct Slots {
    slots: [(u32, u32); 10],
    sums: (u32, u32),
    number: u64,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new()
    }
}

impl Slots {
    /// Without calls.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: [(0, 0); 10], sums: (0, 0), number: 0 }
    }

    /// A call ended, in a slot of that length.
    #[inline(always)]
    pub fn record(&mut self, now: u64, slot: u64, failed: bool) {
        let number = now / slot;
        while self.number < number {
            self.number += 1;
            let gone = std::mem::take(&mut self.slots[(self.number % 10) as usize]);
            self.sums = (self.sums.0 - gone.0, self.sums.1 - gone.1);
        }
        let at = &mut self.slots[(self.number % 10) as usize];
        *at = (at.0 + 1, at.1 + u32::from(failed));
        self.sums = (self.sums.0 + 1, self.sums.1 + u32::from(failed));
    }

    /// Which part of them failed.
    #[inline(always)]
    #[must_use]
    pub fn share(&self) -> f64 {
        f64::from(self.sums.1) / f64::from(self.sums.0)
    }

    /// True if half of at least 128 failed.
    #[inline(always)]
    #[must_use]
    pub const fn is_bad(&self) -> bool {
        self.sums.0 >= 128 && self.sums.1 * 2 >= self.sums.0
    }
}

/// The floor: half of the calls of ten slots open it.
#[derive(Debug)]
pub struct Rate {
    slots: Slots,
    slot: u64,
    until: u64,
}

impl Rate {
    /// A closed one.
    #[must_use]
    pub const fn new(slot: Span) -> Self {
        Self { slots: Slots::new(), slot: slot.as_nanos(), until: 0 }
    }
}

/// A call through it.
#[inline(always)]
pub fn by_rate(rate: &mut Rate, now: Timestamp) -> Option<Result<u32, u32>> {
    let now = now.as_nanos();
    if now < rate.until {
        return None;
    }
    let result = operation();
    rate.slots.record(now, rate.slot, result.is_err());
    if result.is_err() && rate.slots.is_bad() {
        rate.until = now + OPEN.as_nanos() as u64;
    }
    Some(result)
}

/// Ours, opened by five failures in a row.
#[must_use]
pub fn consecutive() -> BreakerConfig {
    BreakerConfig::default()
}

/// Ours, opened by half of the last 128 outcomes.
#[must_use]
pub fn of_128() -> BreakerConfig {
    breaker("count", Field::BreakerSize)
}

/// Ours, opened by half of the calls of ten seconds.
#[must_use]
pub fn of_ten_seconds() -> BreakerConfig {
    breaker("time", Field::BreakerWindow)
}

fn breaker(kind: &str, size: Field) -> BreakerConfig {
    let value = if kind == "count" { Value::from(128) } else { Value::Text("10s") };
    let fields = [(Field::BreakerKind, Value::Text(kind)), (size, value), (Field::BreakerMinCalls, 128.into())];
    let options = fields.into_iter().try_fold(Options::NEW, |options, (field, value)| options.with_field(field, value));
    options.and_then(|options| options.breaker()).ok().flatten().expect("checked numbers")
}

/// A call through ours.
#[inline(always)]
pub fn by_breaker(breaker: &mut Breaker, config: &BreakerConfig, now: Timestamp) -> Option<Result<u32, u32>> {
    let permit = breaker.acquire(config, now).ok()?;
    let result = operation();
    let verdict = if result.is_ok() { Verdict::Success } else { Verdict::Failure };
    breaker.record(config, permit, now, verdict, Span::ZERO);
    Some(result)
}

/// Calls a second.
pub const LIMIT: u32 = 1_000_000_000;

/// The floor of GCRA.
#[derive(Debug)]
pub struct Even {
    arrival: u64,
    interval: u64,
    tolerance: u64,
}

impl Default for Even {
    fn default() -> Self {
        Self::new()
    }
}

impl Even {
    /// A call each nanosecond.
    #[must_use]
    pub const fn new() -> Self {
        Self { arrival: 0, interval: 1, tolerance: u32::MAX as u64 }
    }

    /// Takes one call.
    #[inline(always)]
    pub fn take(&mut self, now: u64) -> bool {
        let arrival = self.arrival.max(now);
        if arrival - now > self.tolerance {
            return false;
        }
        self.arrival = arrival + self.interval;
        true
    }

    /// Takes one call of a state that is kept elsewhere.
    #[inline(always)]
    pub fn take_of(&self, kept: &mut u64, now: u64) -> bool {
        let arrival = (*kept).max(now);
        if arrival - now > self.tolerance {
            return false;
        }
        *kept = arrival + self.interval;
        true
    }
}

/// Ours, even.
#[must_use]
pub fn gcra() -> LimiterConfig {
    LimiterConfig::gcra(LIMIT, Span::from_secs(1), u32::MAX).expect("checked numbers")
}

/// The kinds that need no room, and what their rows are called.
#[must_use]
pub fn kinds() -> [(&'static str, LimiterConfig); 3] {
    let (per, burst) = (Span::from_secs(1), u32::MAX);
    [
        ("limiter, gcra", gcra()),
        ("limiter, bucket", LimiterConfig::bucket(f64::from(LIMIT), per, burst).expect("checked numbers")),
        ("limiter, window", LimiterConfig::window(u32::MAX, per).expect("checked numbers")),
    ]
}
