//! How many calls there may be in a time: four ways to count them, one interface, and every refusal says when to come back.
//!
//! A limiter is for a quota that a server publishes, and for a client's own restraint. [`LimiterConfig::gcra`] is the one to
//! take: even, exact and cheapest. The bucket is Go's, the window's memory is two counters, the log is exact about
//! "no more than n in any stretch of that length" and needs memory for n times.

mod gcra;
mod log;
#[cfg(test)]
mod tests;
mod window;

use crate::decide::bucket::{Bucket, BucketConfig};
use crate::decide::guards::guard::{GuardFields, Refusal, guard_config};
use crate::decide::guards::line::{Line, Waiter};
use crate::decide::guards::save::Pass;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::value::checked;
use gcra::Interval;
use log::Log;
use window::Windows;

const GCRA: u8 = 0;
const BUCKET: u8 = 1;
const WINDOW: u8 = 2;
const LOG: u8 = 3;

/// The most calls that the log of a document may be for: a host takes 8 bytes for each.
const LOGGED: u32 = 1_000_000;

/// The checked choices for a limiter: 56 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct LimiterConfig {
    /// Of a bucket.
    rate: f64,
    per: u64,
    /// `per / limit`, and `burst` of them, with the rests below. Of GCRA.
    interval: u64,
    capacity: u64,
    interval_rest: u32,
    capacity_rest: u32,
    limit: u32,
    burst: u32,
    kind: u8,
    refusal: u8,
    /// No padding: a configuration is its bytes.
    unused: [u8; 6],
}

impl LimiterConfig {
    /// `limit` calls in each `per`, evenly: a call each `per / limit`, and `burst` at once after a rest.
    ///
    /// # Errors
    /// [`crate::ErrorCode::CountRange`] for a `limit` or `burst` of 0, [`crate::ErrorCode::ZeroLimit`] for a `per` of zero.
    pub fn gcra(limit: u32, per: Span, burst: u32) -> Result<Self, Error> {
        gcra::check(limit, per, burst)?;
        Ok(Self::of(GCRA, 0.0, limit, per, burst))
    }

    /// A [`Bucket`] of `burst` tokens, in doubles: `limit` tokens drip in each `per`. The same calls as Go's
    /// `golang.org/x/time/rate` lets through.
    ///
    /// # Errors
    /// [`crate::ErrorCode::RateRange`] for a `limit` that is negative or not finite, [`crate::ErrorCode::CountRange`] for
    /// a `burst` of 0, [`crate::ErrorCode::ZeroLimit`] for a `per` of zero.
    pub fn bucket(limit: f64, per: Span, burst: u32) -> Result<Self, Error> {
        let rate = checked!(LimiterLimit.number(limit))?;
        gcra::check(1, per, burst)?;
        Ok(Self::of(BUCKET, rate, 0, per, burst))
    }

    /// About `limit` calls in any `per`: those of the current fixed window, and those of the last one as far as a sliding
    /// window would cover it.
    ///
    /// # Errors
    /// [`crate::ErrorCode::CountRange`] for a `limit` of 0, [`crate::ErrorCode::ZeroLimit`] for a `per` of zero.
    pub fn window(limit: u32, per: Span) -> Result<Self, Error> {
        gcra::check(limit, per, 1)?;
        Ok(Self::of(WINDOW, 0.0, limit, per, 0))
    }

    /// `limit` calls in any `per`, by the times of all of them, which needs [`LimiterConfig::words`]. A `per` of zero
    /// limits nothing.
    ///
    /// # Errors
    /// [`crate::ErrorCode::CountRange`] for a `limit` of 0.
    pub fn log(limit: u32, per: Span) -> Result<Self, Error> {
        gcra::check(limit, Span::MAX, 1)?;
        Ok(Self::of(LOG, 0.0, limit, per, 0))
    }

    fn of(kind: u8, rate: f64, limit: u32, per: Span, burst: u32) -> Self {
        let per = per.as_nanos();
        let (one, all) = (Interval::of(1, per, limit), Interval::of(burst, per, limit));
        Self {
            rate,
            per,
            interval: one.nanos,
            capacity: all.nanos,
            interval_rest: one.rest,
            capacity_rest: all.rest,
            limit,
            burst,
            kind,
            refusal: 0,
            unused: [0; 6],
        }
    }

    /// The same with that behaviour of a refused call; [`Refusal::Stop`] unless set.
    #[must_use]
    pub const fn with_refusal(self, refusal: Refusal) -> Self {
        Self { refusal: refusal.code(), ..self }
    }

    /// The behaviour of a refused call.
    pub const fn refusal(&self) -> Refusal {
        Refusal::read(self.refusal)
    }

    /// The number of calls in each [`LimiterConfig::per`].
    pub fn limit(&self) -> f64 {
        if self.kind == BUCKET { self.rate } else { self.limit.into() }
    }

    /// The time that the limit is for.
    pub const fn per(&self) -> Span {
        Span::from_nanos(self.per)
    }

    /// The number of times that the limiter keeps in the caller's memory: the limit of a log, else 0.
    pub const fn words(&self) -> usize {
        if self.kind == LOG { self.limit as usize } else { 0 }
    }

    const fn interval(&self) -> Interval {
        Interval { nanos: self.interval, rest: self.interval_rest }
    }

    const fn capacity(&self) -> Interval {
        Interval { nanos: self.capacity, rest: self.capacity_rest }
    }

    /// The cost of that many calls.
    #[inline(always)]
    fn cost(&self, count: u32) -> Interval {
        if count == 1 { self.interval() } else { Interval::of(count, self.per, self.limit) }
    }

    /// How many calls may pass at once.
    fn most(&self, times: &[u64]) -> u32 {
        match self.kind {
            WINDOW => self.limit,
            LOG => self.limit.min(u32::try_from(times.len()).unwrap_or(u32::MAX)),
            _ => self.burst,
        }
    }

    /// The time in which that many calls pass one after the other.
    fn round(&self) -> Span {
        if self.kind == BUCKET { self.bucket_config().filling() } else { Span::from_nanos(self.per) }
    }

    const fn bucket_config(&self) -> BucketConfig {
        BucketConfig::unchecked(self.rate, self.per, self.burst as u64)
    }
}

/// The calls that were let through, and the line of waiting calls: 40 bytes, `Copy`. Zeroes are a limiter made at the epoch, its bucket empty.
///
/// # Contract
/// [`Limiter::take`] either takes and answers `Ok`, or changes nothing and says when to come back; with the same
/// [`LimiterConfig`] and, for a log, the same `times` each time. Time is monotonic: a `now` before that of the latest call that
/// passed reads as that one (spec 1.3). Every bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Limiter {
    /// GCRA: the arrival time. Bucket: the bits of its tokens. Window: the start of the current one.
    word: u64,
    latest: u64,
    /// GCRA: the arrival time's rest. Window: the calls of the last and of the current one. Log: the oldest call's place in
    /// the times, and how many there are.
    counts: [u32; 2],
    line: Line,
}

impl Limiter {
    /// A limiter that has let no call through.
    pub fn new(config: &LimiterConfig, now: Timestamp) -> Self {
        let now = now.as_now();
        let word = match config.kind {
            BUCKET => Bucket::full(&config.bucket_config(), now).words()[0],
            WINDOW => now.as_nanos(),
            _ => 0,
        };
        Self { word, latest: now.as_nanos(), counts: [0; 2], line: Line::default() }
    }

    /// Takes `count` calls at `now`, or says when they may be made: after the calls that wait. `times` is what
    /// [`LimiterConfig::words`] asks for, empty but for a log; a log with fewer times holds only as many calls as fit.
    ///
    /// # Errors
    /// The earliest time at which it would let them through if no other call came before, except the calls that wait:
    /// [`Timestamp::NEVER`] for more than there may ever be at once.
    #[inline]
    pub fn take(
        &mut self,
        config: &LimiterConfig,
        times: &mut [u64],
        count: u32,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        if self.line.waiting() > 0
            && let Some(retry_at) = self.refuses(config, times, count, now)
        {
            return Err(retry_at);
        }
        self.take_at_once(config, times, count, now)
    }

    /// The same, before all calls that wait.
    #[inline(always)]
    fn take_at_once(
        &mut self,
        config: &LimiterConfig,
        times: &mut [u64],
        count: u32,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        let now = self.clamped(now);
        let mut next = self.after(config, times, count, now)?;
        if config.kind == LOG {
            let [head, len] = next.counts;
            let log = Log { head, len }.push(config.limit, times, count, now);
            next.counts = [log.head, log.len];
        }
        *self = next;
        Ok(())
    }

    /// When it would let `count` calls through, were they made at `at`; `None` if it would then.
    pub fn refuses(&self, config: &LimiterConfig, times: &[u64], count: u32, at: Timestamp) -> Option<Timestamp> {
        let now = self.clamped(at);
        match (self.after(config, times, count, now), self.line.before(None)) {
            (Err(Timestamp::NEVER), _) => Some(Timestamp::NEVER),
            (answer, before) if before == 0 || count == 0 => answer.err(),
            (_, before) => self.opens(config, times, before.saturating_add(count), now),
        }
    }

    /// Asks for one call at `now` that waits with that ticket, or that comes new; takes nothing (spec 24.11).
    ///
    /// # Errors
    /// The time of its turn, if it is not now.
    pub(crate) fn ask(
        &mut self,
        config: &LimiterConfig,
        times: &[u64],
        waiter: Waiter,
        now: Timestamp,
    ) -> Result<(), Timestamp> {
        let (limiter, clamped) = (*self, self.clamped(now));
        self.line.admit(waiter, now, &|count| limiter.opens(config, times, count, clamped))
    }

    /// Takes one call at `now`, which [`Limiter::ask`] has let through, out of the line if it has waited there.
    pub(crate) fn pass(&mut self, config: &LimiterConfig, times: &mut [u64], ticket: Option<u32>, now: Timestamp) {
        // The same state and time as when it was asked.
        let _ = self.take_at_once(config, times, 1, now);
        self.line.leave(ticket);
    }

    /// The calls that wait.
    pub(crate) const fn line(&mut self) -> &mut Line {
        &mut self.line
    }

    /// How many calls wait for it.
    pub const fn waiting(&self) -> u32 {
        self.line.waiting()
    }

    /// How many of the calls that wait are to be woken now, the longest waiting first: 1 when the one before it has passed or
    /// left, else 0.
    pub const fn to_wake(&self) -> u32 {
        self.line.wakes()
    }

    /// When the last of that many calls would pass, one after the other, if it is not `now`.
    fn opens(&self, config: &LimiterConfig, times: &[u64], count: u32, now: u64) -> Option<Timestamp> {
        if config.kind == GCRA {
            let next = self.next(config, count, now);
            return next.is_later(config, now).then(|| opens(config, next));
        }
        // spec 24.12: the rest of a round, and the rounds after it
        let most = config.most(times);
        let Some(rounds) = count.saturating_sub(1).checked_div(most) else { return Some(Timestamp::NEVER) };
        let rest = count.saturating_sub(rounds.saturating_mul(most));
        let first = self.after(config, times, rest, now).err();
        if rounds == 0 {
            return first;
        }
        let round = config.round().as_nanos().saturating_mul(rounds.into());
        Some(first.unwrap_or(Timestamp::from_nanos(now)).after(Span::from_nanos(round)))
    }

    /// True if nothing is lost when it is made anew: it lets as many calls through as a new one (spec 21.5).
    pub fn is_at_rest(&self, config: &LimiterConfig, times: &[u64], now: Timestamp) -> bool {
        self.refuses(config, times, config.most(times), now).is_none()
    }

    /// Gives back `count` calls that were taken and not made.
    pub fn give_back(&mut self, config: &LimiterConfig, _times: &mut [u64], count: u32, now: Timestamp) {
        let now = self.clamped(now);
        let [first, second] = self.counts;
        match config.kind {
            BUCKET => {
                let mut bucket = self.bucket();
                bucket.give_back(&config.bucket_config(), u64::from(count), Timestamp::from_nanos(now));
                self.word = bucket.words()[0];
            }
            WINDOW => {
                let windows = Windows { start: self.word, last: first, this: second };
                let windows = windows.at(config.per, now).without(count);
                self.word = windows.start;
                self.counts = [windows.last, windows.this];
            }
            LOG => {
                let log = Log { head: first, len: second }.without(count);
                self.counts = [log.head, log.len];
            }
            _ => {
                let arrival = Interval { nanos: self.word, rest: first }.minus(config.cost(count), config.limit);
                self.word = arrival.nanos;
                self.counts = [arrival.rest, second];
            }
        }
        self.latest = now;
    }

    #[inline(always)]
    fn clamped(&self, now: Timestamp) -> u64 {
        now.as_now().as_nanos().max(self.latest)
    }

    fn bucket(&self) -> Bucket {
        Bucket::from_words([self.word, self.latest])
    }

    /// The state after `count` calls, but for what a log writes.
    #[inline(always)]
    fn after(&self, config: &LimiterConfig, times: &[u64], count: u32, now: u64) -> Result<Self, Timestamp> {
        if config.kind == GCRA {
            self.after_gcra(config, count, now)
        } else {
            self.after_others(config, times, count, now)
        }
    }

    #[inline(always)]
    fn after_gcra(&self, config: &LimiterConfig, count: u32, now: u64) -> Result<Self, Timestamp> {
        let next = self.next(config, count, now);
        if next.is_later(config, now) {
            return Err(if count > config.burst { Timestamp::NEVER } else { opens(config, next) });
        }
        Ok(Self { word: next.nanos, latest: now, counts: [next.rest, self.counts[1]], ..*self })
    }

    /// GCRA: the arrival time after `count` calls.
    #[inline(always)]
    fn next(&self, config: &LimiterConfig, count: u32, now: u64) -> Interval {
        let [rest, _] = self.counts;
        let base = if self.word < now { Interval { nanos: now, rest: 0 } } else { Interval { nanos: self.word, rest } };
        base.plus(config.cost(count), config.limit)
    }

    #[inline(never)]
    fn after_others(&self, config: &LimiterConfig, times: &[u64], count: u32, now: u64) -> Result<Self, Timestamp> {
        let [first, second] = self.counts;
        match config.kind {
            BUCKET => {
                let mut bucket = self.bucket();
                drip(&mut bucket, &config.bucket_config(), u64::from(count), Timestamp::from_nanos(now))?;
                let [word, latest] = bucket.words();
                Ok(Self { word, latest, ..*self })
            }
            WINDOW => {
                let windows = Windows { start: self.word, last: first, this: second }.at(config.per, now);
                let windows = windows.take(config.limit, config.per, count, now)?;
                Ok(Self { word: windows.start, latest: now, counts: [windows.last, windows.this], ..*self })
            }
            LOG => {
                let log = Log { head: first, len: second }.look(config.limit, config.per, times, count, now)?;
                Ok(Self { latest: now, counts: [log.head, log.len], ..*self })
            }
            _ => self.after_gcra(config, count, now),
        }
    }
}

impl Interval {
    /// True for an arrival time that is more than the capacity after `now`.
    #[inline(always)]
    fn is_later(self, config: &LimiterConfig, now: u64) -> bool {
        Self { nanos: self.nanos.saturating_sub(now), rest: self.rest } > config.capacity()
    }
}

/// The first nanosecond from which the arrival time `next` is no more than the capacity ahead.
#[cold]
fn opens(config: &LimiterConfig, next: Interval) -> Timestamp {
    let begun = u64::from(next.rest > config.capacity_rest);
    Timestamp::from_nanos(next.nanos.saturating_sub(config.capacity).saturating_add(begun)).as_now()
}

/// Takes what is there. A wait is cut to a nanosecond and rounded before that, so the time it ends is asked again.
fn drip(bucket: &mut Bucket, config: &BucketConfig, count: u64, now: Timestamp) -> Result<(), Timestamp> {
    if bucket.reserve_within(config, count, now, Span::ZERO).is_some() {
        return Ok(());
    }
    let mut at = now;
    for _ in 0..4 {
        match { *bucket }.reserve(config, count, at) {
            None | Some(Span::MAX) => return Err(Timestamp::NEVER),
            Some(Span::ZERO) => break,
            Some(wait) => at = at.after(wait),
        }
    }
    Err(at)
}

guard_config!(LimiterConfig: Section::LIMITER, Limiter = |config, _, now| Limiter::new(config, now), words by "limiter.limit",
    18 saved as 3 * 8;

    fn of_fields(kind: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let rate = fields.real(Field::LimiterLimit);
        let (per, burst) = (fields.span(Field::LimiterPer), fields.count(Field::LimiterBurst));
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let limit = rate as u32;
        let kind = kind.wrapping_sub(1);
        let most = if kind == LOG { LOGGED } else { u32::MAX };
        if kind != BUCKET && !(f64::from(limit) == rate && limit != 0 && limit <= most) {
            return Err(Error::new(ErrorCode::CountRange, Field::LimiterLimit, Quantity::Number(rate)));
        }
        let config = match kind {
            BUCKET => Self::bucket(rate, per, burst),
            WINDOW => Self::window(limit, per),
            LOG => Self::log(limit, per),
            _ => Self::gcra(limit, per, burst),
        };
        Ok(config?.with_refusal(fields.refusal(Field::LimiterRefusal)))
    }

    fn kind(&self) -> u32 {
        self.kind.into()
    }

    fn pass(&self, state: &mut Limiter, pass: &mut Pass<'_>) {
        match self.kind {
            GCRA => {
                // An arrival time that saturated is the end of time, and not the sentinel.
                state.word = state.word.min(Timestamp::LAST.as_nanos());
                pass.time(&mut state.word);
            }
            WINDOW => pass.seen(&mut state.word),
            BUCKET => {
                let mut tokens = f64::from_bits(state.word);
                pass.real("tokens", &mut tokens);
                state.word = tokens.to_bits();
            }
            _ => pass.word(&mut state.word),
        }
        pass.seen(&mut state.latest);
        state.counts.iter_mut().for_each(|count| pass.half(count));
    }

    fn within(&self, mut state: Limiter, _: Timestamp) -> Limiter {
        let [first, second] = state.counts;
        match self.kind {
            BUCKET => {}
            WINDOW => state.counts = [first.min(self.limit), second.min(self.limit)],
            LOG => state.counts = [first.checked_rem(self.limit).unwrap_or(0), second.min(self.limit)],
            _ => {
                let fullest = Interval { nanos: state.latest, rest: 0 }.plus(self.capacity(), self.limit);
                let rest = first.min(self.limit.saturating_sub(1));
                let arrival = Interval { nanos: state.word, rest }.min(fullest);
                (state.word, state.counts) = (arrival.nanos, [arrival.rest, 0]);
            }
        }
        state
    }
);
