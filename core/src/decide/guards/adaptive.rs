//! A send rate that follows what a server answers: down at once when it throttles, up again while it does not.
//!
//! A fixed limit is wrong on both sides: too low on a good day, too high on a bad one. Two rules for moving it are here. One is
//! the client rate limiter of AWS's adaptive retry mode, which grows along a cubic curve around the rate that last failed
//! (after Ha, Rhee, Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", 2008) and does nothing until the first
//! throttling. The other is additive increase, multiplicative decrease (Chiu, Jain, 1989). The rate fills a bucket of one
//! second's tokens, at least one (spec 26).

use super::Refusal;
use crate::decide::backoff::{real, truncated};
use crate::decide::guards::guard::{GuardFields, guard_config};
use crate::decide::guards::line::{Line, Waiter};
use crate::decide::guards::save::Pass;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::value::checked;

/// Over what calls are counted to measure the rate.
const HALF_SECOND: u64 = 500_000_000;
const SECOND: f64 = 1e9;

const AIMD: u8 = 1;

/// How a rate moves, checked: 64 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct AdaptiveConfig {
    pub(crate) beta: f64,
    pub(crate) scale: f64,
    pub(crate) smooth: f64,
    pub(crate) increase: f64,
    pub(crate) min_rate: f64,
    pub(crate) max_rate: f64,
    pub(crate) initial_rate: f64,
    pub(crate) kind: u8,
    pub(crate) refusal: u8,
    /// No padding: a configuration is its bytes.
    pub(crate) unused: [u8; 6],
}

/// The cubic kind with the numbers of the AWS SDKs.
impl Default for AdaptiveConfig {
    fn default() -> Self {
        Self {
            beta: 0.7,
            scale: 0.4,
            smooth: 0.8,
            increase: 0.0,
            min_rate: 0.5,
            max_rate: f64::INFINITY,
            initial_rate: 0.0,
            kind: 0,
            refusal: 0,
            unused: [0; 6],
        }
    }
}

impl AdaptiveConfig {
    /// AWS's adaptive mode: no limit until the first throttling, then a cubic curve.
    ///
    /// `beta` is the factor of the rate for each throttling; `scale` says how fast the curve grows, in calls a second for each
    /// cubed second; `smooth` is the weight of the latest half second in the measured rate; `min_rate` is the lowest rate, in
    /// calls a second. All are above 0, the shares `beta` and `smooth` at most 1. The [default](Self::default) has the numbers
    /// of the AWS SDKs: 0.7, 0.4, 0.8, 0.5.
    ///
    /// # Errors
    /// [`ErrorCode::ShareRange`] for `beta` and `smooth`, [`ErrorCode::RateRange`] for the others.
    pub fn cubic(beta: f64, scale: f64, smooth: f64, min_rate: f64) -> Result<Self, Error> {
        Ok(Self {
            beta: checked!(AdaptiveBeta.number(beta))?,
            scale: checked!(AdaptiveScale.number(scale))?,
            smooth: checked!(AdaptiveSmooth.number(smooth))?,
            min_rate: checked!(AdaptiveMinRate.number(min_rate))?,
            ..Self::default()
        })
    }

    /// A step up for each answer, a cut for each throttling; it limits from the start.
    ///
    /// `beta` is the factor of the rate for each throttling: above 0, at most 1. `increase` is what each answer without
    /// throttling adds: from 0 on. The rate stays from `min_rate` (above 0) to `max_rate` and is `initial_rate` at first. All
    /// rates are calls a second.
    ///
    /// # Errors
    /// [`ErrorCode::ShareRange`] for `beta`, [`ErrorCode::RateRange`] for the others.
    pub fn aimd(beta: f64, increase: f64, min_rate: f64, max_rate: f64, initial_rate: f64) -> Result<Self, Error> {
        Ok(Self {
            kind: AIMD,
            beta: checked!(AdaptiveBeta.number(beta))?,
            increase: checked!(AdaptiveIncrease.number(increase))?,
            min_rate: checked!(AdaptiveMinRate.number(min_rate))?,
            max_rate: between(Field::AdaptiveMaxRate, max_rate, min_rate, f64::MAX)?,
            initial_rate: between(Field::AdaptiveInitialRate, initial_rate, min_rate, max_rate)?,
            ..Self::default()
        })
    }

    /// The same with that behaviour of a call that finds no token; [`Refusal::Stop`] unless set.
    #[must_use]
    pub const fn with_refusal(self, refusal: Refusal) -> Self {
        Self { refusal: refusal.code(), ..self }
    }

    /// The behaviour of a call that finds no token.
    pub const fn refusal(&self) -> Refusal {
        Refusal::read(self.refusal)
    }

    /// The cubic curve, that long after throttling at `last_max_rate` calls a second (spec 26.5).
    fn curve(&self, last_max_rate: f64, since: Span) -> f64 {
        let window = libm::cbrt(last_max_rate * (1.0 - self.beta) / self.scale);
        let t = seconds(since) - window;
        self.scale * (t * t * t) + last_max_rate
    }
}

fn between(field: Field, given: f64, from: f64, to: f64) -> Result<f64, Error> {
    if given >= from && given <= to {
        Ok(given)
    } else {
        Err(Error::new(ErrorCode::RateRange, field, Quantity::Number(given)))
    }
}

fn seconds(span: Span) -> f64 {
    real(span.as_nanos()) / SECOND
}

/// A limiter in the middle of its life, for [`Adaptive::started`]: to carry one over from another system, or to look at one
/// step of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdaptiveStart {
    /// Calls a second; raised to the lowest rate.
    pub rate: f64,
    /// Tokens there are; at most one second's, or 1.
    pub tokens: f64,
    /// The measured rate of calls a second.
    pub measured: f64,
    /// The rate at which it was last throttled; 0 if never.
    pub last_max_rate: f64,
    /// When it was.
    pub throttled_at: Timestamp,
    /// True once it limits.
    pub limits: bool,
}

/// One send rate, its tokens, and the calls that wait for them: 80 bytes, `Copy`.
///
/// # Contract
/// [`Adaptive::take`] comes before each attempt, [`Adaptive::update`] after each answer, [`Adaptive::give_back`] for an
/// attempt that did not run after all; all with the same [`AdaptiveConfig`]. A `now` before the latest one reads as that one
/// (spec 1.3). Every bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Adaptive {
    /// The latest time seen, when the tokens were counted.
    pub(crate) latest: u64,
    /// When the half second of the latest measure began: a whole number of them after the guard's creation.
    pub(crate) half_at: u64,
    pub(crate) throttled_at: u64,
    pub(crate) rate: f64,
    pub(crate) tokens: f64,
    pub(crate) measured: f64,
    pub(crate) last_max_rate: f64,
    /// Answers since that measure.
    pub(crate) answers: u32,
    /// True once it limits.
    pub(crate) limits: u32,
    pub(crate) line: Line,
}

impl Adaptive {
    /// A guard that has seen nothing. A cubic one does not limit yet; the other one has a second's tokens.
    pub fn new(config: &AdaptiveConfig, now: Timestamp) -> Self {
        let limits = config.kind == AIMD;
        let now = now.as_now().as_nanos();
        Self {
            latest: now,
            half_at: now,
            throttled_at: now,
            rate: config.initial_rate,
            tokens: if limits { config.initial_rate.max(1.0) } else { 0.0 },
            measured: 0.0,
            last_max_rate: 0.0,
            answers: 0,
            limits: u32::from(limits),
            line: Line::default(),
        }
    }

    /// A guard that begins at `now` with what another one knew.
    pub fn started(config: &AdaptiveConfig, start: AdaptiveStart, now: Timestamp) -> Self {
        let rate = start.rate.max(config.min_rate).min(config.max_rate);
        Self {
            throttled_at: start.throttled_at.min(now.as_now()).as_nanos(),
            rate,
            tokens: start.tokens.max(0.0).min(rate.max(1.0)),
            measured: start.measured.max(0.0),
            last_max_rate: start.last_max_rate.max(0.0),
            limits: u32::from(start.limits),
            ..Self::new(config, now)
        }
    }

    /// Takes `cost` tokens, 1 for an ordinary attempt; a cost that is negative or no number is none (spec 26.8). Calls that wait
    /// come before it.
    ///
    /// # Errors
    /// When they will be there, if they are not; [`Timestamp::NEVER`] for more than there can be at the present rate. Nothing
    /// is taken then, and the next one asking is told the same time.
    pub fn take(&mut self, config: &AdaptiveConfig, cost: f64, now: Timestamp) -> Result<(), Timestamp> {
        let cost = cost.max(0.0);
        if self.limits != 0 && cost > self.rate.max(1.0) {
            self.refill(now);
            return Err(Timestamp::NEVER);
        }
        self.take_after(config, f64::from(self.line.before(None)), cost, now)
    }

    /// Takes `cost` tokens if `before` more are there for others (spec 26.8, 26.9).
    fn take_after(&mut self, config: &AdaptiveConfig, before: f64, cost: f64, now: Timestamp) -> Result<(), Timestamp> {
        if self.limits == 0 {
            return Ok(());
        }
        let now = self.refill(now);
        let all = before + cost;
        if all <= self.tokens {
            self.tokens -= cost;
            return Ok(());
        }
        let wait = truncated((all - self.tokens) / self.rate.max(config.min_rate) * SECOND);
        if wait == 0 {
            // Less than a nanosecond short: a caller that waited that long would ask again at the same time, for ever.
            self.tokens = (self.tokens - cost).max(0.0);
            return Ok(());
        }
        Err(now.after(Span::from_nanos(wait)))
    }

    /// Asks for the token of one call at `now` that waits with that ticket, or that comes new; takes nothing (spec 26.12).
    ///
    /// # Errors
    /// The time of its turn, if it is not now.
    pub(crate) fn ask(&mut self, config: &AdaptiveConfig, waiter: Waiter, now: Timestamp) -> Result<(), Timestamp> {
        let adaptive = *self;
        self.line.admit(waiter, now, &|count| {
            { adaptive }.take_after(config, f64::from(count.saturating_sub(1)), 1.0, now).err()
        })
    }

    /// Takes the token of one call at `now`, which [`Adaptive::ask`] has let through, out of the line if it has waited there.
    pub(crate) fn pass(&mut self, config: &AdaptiveConfig, ticket: Option<u32>, now: Timestamp) {
        // The same state and time as when it was asked.
        let _ = self.take_after(config, 0.0, 1.0, now);
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

    /// When [`Adaptive::take`] would be granted, `now` if at once; takes nothing.
    pub fn look(&self, config: &AdaptiveConfig, cost: f64, now: Timestamp) -> Timestamp {
        let mut copy = *self;
        copy.take(config, cost, now).err().unwrap_or(now.as_now())
    }

    /// Gives back tokens that were taken and not used.
    pub fn give_back(&mut self, _config: &AdaptiveConfig, cost: f64, now: Timestamp) {
        if self.limits != 0 {
            self.refill(now);
            self.tokens = (self.tokens + cost.max(0.0)).min(self.rate.max(1.0));
        }
    }

    /// An answer came at `now`, `throttled` or not: moves the rate (spec 26.4 to 26.7).
    pub fn update(&mut self, config: &AdaptiveConfig, now: Timestamp, throttled: bool) {
        let now = now.as_now().max(Timestamp::from_nanos(self.latest));
        self.measure(config, now);
        let rate = if config.kind == AIMD {
            if throttled { self.rate * config.beta } else { self.rate + config.increase }
        } else {
            self.cubic(config, now, throttled).min(2.0 * self.measured)
        };
        // At the old rate until now.
        self.refill(now);
        self.rate = rate.min(config.max_rate).max(config.min_rate);
        self.tokens = self.tokens.min(self.rate.max(1.0));
    }

    /// True if it lets as many calls through as a new one: an additive rate is at least the first one, a cubic rate does not limit
    /// yet, or the server has throttled no call for a minute (spec 21.5).
    pub fn is_at_rest(&self, config: &AdaptiveConfig, now: Timestamp) -> bool {
        if config.kind == AIMD {
            return self.rate >= config.initial_rate && self.tokens(now) >= config.initial_rate.max(1.0);
        }
        !self.limits() || now.as_now().since(Timestamp::from_nanos(self.throttled_at)) > Span::from_secs(60)
    }

    /// The rate in calls a second. A cubic one computes it before it limits, too.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// The measured rate of answers, a second.
    pub const fn measured(&self) -> f64 {
        self.measured
    }

    /// True if it limits: always for the additive kind, from the first throttling on for the cubic kind.
    pub const fn limits(&self) -> bool {
        self.limits != 0
    }

    /// The tokens there are at `now`.
    pub fn tokens(&self, now: Timestamp) -> f64 {
        let mut copy = *self;
        copy.refill(now);
        copy.tokens
    }

    /// The cubic rate before it is held against the measured one.
    fn cubic(&mut self, config: &AdaptiveConfig, now: Timestamp, throttled: bool) -> f64 {
        if !throttled {
            return config.curve(self.last_max_rate, now.since(Timestamp::from_nanos(self.throttled_at)));
        }
        self.last_max_rate = if self.limits == 0 { self.measured } else { self.measured.min(self.rate) };
        self.throttled_at = now.as_nanos();
        self.limits = 1;
        self.last_max_rate * config.beta
    }

    /// Counts an answer (spec 26.4).
    fn measure(&mut self, config: &AdaptiveConfig, now: Timestamp) {
        let halves = now.since(Timestamp::from_nanos(self.half_at)).as_nanos() / HALF_SECOND;
        self.answers = self.answers.saturating_add(1);
        if halves > 0 {
            let current = f64::from(self.answers) / (real(halves) * 0.5);
            self.measured = current * config.smooth + self.measured * (1.0 - config.smooth);
            self.half_at = self.half_at.saturating_add(halves.saturating_mul(HALF_SECOND));
            self.answers = 0;
        }
    }

    /// Fills the bucket up to `now`; the later of that and the latest time.
    fn refill(&mut self, now: Timestamp) -> Timestamp {
        let latest = Timestamp::from_nanos(self.latest).as_now();
        let now = now.as_now().max(latest);
        self.tokens = (self.tokens + seconds(now.since(latest)) * self.rate).min(self.rate.max(1.0));
        self.latest = now.as_nanos();
        now
    }
}

guard_config!(AdaptiveConfig: Section::ADAPTIVE, Adaptive = |config, _, now| Adaptive::new(config, now),
    19 saved as 7 * 8 + 2 * 4;

    fn of_fields(kind: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let (beta, min_rate) = (fields.real(Field::AdaptiveBeta), fields.real(Field::AdaptiveMinRate));
        let config = if kind == AIMD + 1 {
            let (max_rate, initial) = (fields.real(Field::AdaptiveMaxRate), fields.real(Field::AdaptiveInitialRate));
            Self::aimd(beta, fields.real(Field::AdaptiveIncrease), min_rate, max_rate, initial)
        } else {
            Self::cubic(beta, fields.real(Field::AdaptiveScale), fields.real(Field::AdaptiveSmooth), min_rate)
        };
        Ok(config?.with_refusal(fields.refusal(Field::AdaptiveRefusal)))
    }

    fn kind(&self) -> u32 {
        self.kind.into()
    }

    fn pass(&self, state: &mut Adaptive, pass: &mut Pass<'_>) {
        for time in [&mut state.latest, &mut state.half_at, &mut state.throttled_at] {
            pass.seen(time);
        }
        pass.real("rate", &mut state.rate);
        pass.real("tokens", &mut state.tokens);
        pass.real("measured", &mut state.measured);
        pass.real("last_max_rate", &mut state.last_max_rate);
        pass.half(&mut state.answers);
        pass.half(&mut state.limits);
    }

    fn within(&self, mut state: Adaptive, _: Timestamp) -> Adaptive {
        state.limits = if self.kind == AIMD { 1 } else { state.limits.min(1) };
        let least = if state.limits == 0 { 0.0 } else { self.min_rate };
        state.rate = state.rate.min(self.max_rate).max(least);
        state.tokens = state.tokens.min(state.rate.max(1.0));
        state
    }
);

#[cfg(test)]
mod tests;
