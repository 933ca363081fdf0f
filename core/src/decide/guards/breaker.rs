//! The circuit breaker: it stops calls to a server that keeps failing, which would only make things worse.
//!
//! Closed it lets calls through and counts them; open it refuses them for a while; half-open it lets a few try. It has no
//! timer: an open breaker turns half-open when a call asks after the open time. It is right when calls overlap: each
//! transition begins a new generation, a permit carries the generation of its call, and an answer from an earlier
//! generation changes nothing (spec 23).

pub(crate) mod config;
mod ramp;

use crate::decide::guards::guard::{GuardFields, guard_config};
use crate::decide::guards::save::Pass;
use crate::decide::guards::window::Slots;
use crate::decide::rng::Rng;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section};
use crate::time::{Span, Timestamp};
use crate::value::checked;
use crate::words::words;
use config::{BreakerConfig, CONSECUTIVE, COUNT, TIME};

words! {
    /// The state of a breaker.
    pub enum BreakerState: u8 {
        /// Calls pass and are counted.
        Closed = 0 "closed";
        /// Calls are refused until a time.
        Open = 1 "open";
        /// A few calls at a time may try.
        HalfOpen = 2 "half_open";
        /// Opened by hand, until it is closed by hand.
        Isolated = 3 "isolated";
    }
}

words! {
    /// The outcome of a call, for its breaker. A failure that is the caller's own fault (HTTP 404) is a success: the
    /// dependency answered.
    pub enum Verdict: u8 {
        /// The dependency answered.
        Success = 1 "success";
        /// The dependency did not answer, or not as it should.
        Failure = 2 "failure";
    }
}

/// The permit of one call, to be handed back with [`Breaker::record`] or [`Breaker::abandon`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Permit(u32);

impl Permit {
    /// The permit whose flat form is `raw`.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The flat form: the generation in which it was given.
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

const CLOSED: u8 = BreakerState::Closed.code();
const OPEN: u8 = BreakerState::Open.code();
const HALF_OPEN: u8 = BreakerState::HalfOpen.code();
const ISOLATED: u8 = BreakerState::Isolated.code();
/// Closed, and the calls that waited begin in growing numbers.
const RAMP: u8 = 4;

/// The state of one breaker: 208 bytes, `Copy`. Zeroes are a closed breaker, made at the epoch.
///
/// # Contract
/// [`Breaker::acquire`] before each call; if it says yes, exactly one of [`Breaker::record`] and [`Breaker::abandon`] after
/// it, with the same [`BreakerConfig`] and the permit. A permit that is lost blocks nobody for longer than an open time. Time
/// is monotonic: a `now` before the latest one reads as that one (spec 1.3), where a closed breaker looks at the time of
/// answers only. Every bit pattern of the state is valid and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Breaker {
    latest: u64,
    /// If open: when calls may try it. If half-open, or in a ramp: when the permits in use expire.
    until: u64,
    /// The seed of the draws to come.
    seed: u64,
    /// The open time, without a server's hint. In a ramp: when it closed.
    lasting: u64,
    generation: u32,
    openings: u32,
    /// Openings since it was last closed.
    row: u32,
    /// Failures in a row, for the consecutive kind. If some of the calls that try it may fail: their failures while half-open.
    streak: u32,
    /// Half-open: successes in a row. In a ramp: all of them.
    successes: u32,
    /// Half-open, or in a ramp: permits in use.
    out: u32,
    state: u8,
    /// In a ramp: above 0 if a call that waits sleeps until the next period.
    timed: u8,
    /// In a ramp: the calls that have begun.
    begun: u16,
    /// The calls that wait at it.
    waiting: u32,
    window: Slots,
}

impl Breaker {
    /// A closed breaker. `seed` is for the jitter of its open times: any number, another one for each breaker.
    pub fn new(_config: &BreakerConfig, seed: u64, now: Timestamp) -> Self {
        let now = now.as_now();
        Self { latest: now.as_nanos(), seed, window: Slots::new(now), ..Self::default() }
    }

    /// Asks for a permit for a call.
    ///
    /// # Errors
    /// The time to ask again: the end of the open time; for a half-open breaker the latest time at which the permits in use
    /// expire; never for an isolated one. A closed one refuses while calls that waited at it begin (spec 23.16).
    #[inline(always)]
    pub fn acquire(&mut self, config: &BreakerConfig, now: Timestamp) -> Result<Permit, Timestamp> {
        if self.state == CLOSED { Ok(Permit(self.generation)) } else { self.acquire_open(config, now, false) }
    }

    /// The same for a call that has waited, at the breaker itself if it is `counted`.
    #[cold]
    pub(crate) fn acquire_after_wait(
        &mut self,
        config: &BreakerConfig,
        now: Timestamp,
        counted: bool,
    ) -> Result<Permit, Timestamp> {
        let permit = self.acquire_open(config, now, true)?;
        if counted {
            self.waiting = self.waiting.saturating_sub(1);
        }
        Ok(permit)
    }

    /// The permit of a closed breaker, which takes no clock; `None` in any other state: ask [`Breaker::acquire`].
    #[inline(always)]
    pub const fn acquire_closed(&self) -> Option<Permit> {
        match self.state {
            OPEN | HALF_OPEN | ISOLATED | RAMP => None,
            _ => Some(Permit(self.generation)),
        }
    }

    /// True if it is closed and counts failures in a row: then the next call, and its success, need no time.
    pub const fn is_timeless(&self, config: &BreakerConfig) -> bool {
        config.kind == CONSECUTIVE && self.acquire_closed().is_some()
    }

    #[cold]
    fn acquire_open(&mut self, config: &BreakerConfig, now: Timestamp, waited: bool) -> Result<Permit, Timestamp> {
        if let Some(permit) = self.acquire_closed() {
            return Ok(permit);
        }
        let now = self.seen(now);
        if self.state == RAMP {
            return self.acquire_in_turn(config, now, waited);
        }
        let until = Timestamp::from_nanos(self.until);
        if self.state == OPEN && now >= until {
            self.turn(HALF_OPEN);
            if config.tolerates() {
                self.streak = 0;
            }
        } else if self.state == HALF_OPEN && self.out >= config.probes && now >= until {
            // The calls with those permits will not come back.
            self.generation = self.generation.wrapping_add(1);
            self.out = 0;
        }
        if self.state == HALF_OPEN && self.out < config.probes {
            self.out = self.out.saturating_add(1);
            self.expire_from(now);
            return Ok(Permit(self.generation));
        }
        // An observed call runs all the same, with a permit of an earlier generation.
        if config.observes() { Ok(Permit(self.generation.wrapping_sub(1))) } else { Err(self.retry_at()) }
    }

    /// The end of the refusal, if a call at `at` would be refused as things stand. `None` for a half-open breaker, which
    /// decides only when it is asked.
    pub fn refuses(&self, config: &BreakerConfig, at: Timestamp) -> Option<Timestamp> {
        let refuses = match self.state {
            OPEN => at.as_now().as_nanos().max(self.latest) < self.until,
            state => state == ISOLATED,
        };
        if refuses && !config.observes() { Some(self.retry_at()) } else { None }
    }

    /// How many calls it would let through now, without a look at the clock: all of them while closed (`u32::MAX`), as many as
    /// may try it while half-open, none while open or isolated. When it has closed while calls wait, as many of them as may begin. A
    /// call that waits behind others asks again when there is one.
    pub const fn admits(&self, config: &BreakerConfig) -> u32 {
        match self.state {
            OPEN | ISOLATED => 0,
            HALF_OPEN => config.probes.saturating_sub(self.out),
            RAMP => self.wakes(config),
            _ => u32::MAX,
        }
    }

    /// Records the outcome of the call with `permit`, which ended at `now` and took `took`.
    #[inline(always)]
    pub fn record(&mut self, config: &BreakerConfig, permit: Permit, now: Timestamp, verdict: Verdict, took: Span) {
        if permit.0 != self.generation {
            return;
        }
        // Nearly every call succeeds after others that did.
        let failed = verdict == Verdict::Failure;
        if !failed && self.state | config.kind == CLOSED | CONSECUTIVE {
            self.streak = 0;
        } else if failed || self.state != CLOSED {
            return self.answer(config, now, failed, took);
        } else if !self.is_clean(config, took) {
            return self.count(config, now, failed, took);
        }
        self.see(now);
    }

    /// True if one more success changes no count.
    #[inline(always)]
    fn is_clean(&self, config: &BreakerConfig, took: Span) -> bool {
        config.kind == COUNT && !config.is_slow(took) && self.window.is_clean(config.size)
    }

    #[cold]
    #[inline(never)]
    fn answer(&mut self, config: &BreakerConfig, now: Timestamp, failed: bool, took: Span) {
        if self.state == RAMP {
            return self.answer_in_ramp(config, now, failed, took);
        }
        if self.acquire_closed().is_none() {
            return self.record_probe(config, now, failed || config.is_slow(took) && config.minds_slow());
        }
        self.count(config, now, failed, took);
    }

    fn answer_in_ramp(&mut self, config: &BreakerConfig, now: Timestamp, failed: bool, took: Span) {
        let now = self.seen(now);
        self.take_back(config, now, failed || config.is_slow(took) && config.minds_slow());
        self.count(config, now, failed, took);
        if self.state == RAMP {
            self.has_ended(config, now);
        }
    }

    /// Counts an answer of a closed breaker, out of the way of answers that need no counting.
    #[cold]
    #[inline(never)]
    fn count(&mut self, config: &BreakerConfig, now: Timestamp, failed: bool, took: Span) {
        self.see(now);
        let slow = config.is_slow(took);
        let opens = match config.kind {
            COUNT | TIME => {
                if config.kind == COUNT {
                    self.window.push(failed, slow, config.size);
                } else {
                    self.window.advance(Timestamp::from_nanos(self.latest), config.slot_length, config.size);
                    self.window.record(failed, slow);
                }
                config.trips(self.window.sums())
            }
            _ if failed => self.fail(config),
            _ => {
                self.streak = 0;
                false
            }
        };
        if opens {
            self.open(config);
        }
    }

    /// Takes back the permit of a call that never ran, or whose outcome says nothing about the dependency.
    pub fn abandon(&mut self, config: &BreakerConfig, permit: Permit, now: Timestamp) {
        if permit.0 != self.generation {
            return;
        }
        if self.state == HALF_OPEN {
            let now = self.seen(now);
            self.out = self.out.saturating_sub(1);
            self.expire_from(now);
        } else if self.state == RAMP {
            let now = self.seen(now);
            self.take_back(config, now, true);
            self.has_ended(config, now);
        }
    }

    /// A server asked not to be called for `span`. A breaker that opens on hints is open until then, or longer if it is open
    /// already.
    pub fn hint(&mut self, config: &BreakerConfig, now: Timestamp, span: Span) {
        if !config.opens_on_hint() || span == Span::ZERO || self.state == ISOLATED {
            return;
        }
        let now = self.seen(now);
        let until = now.after(span).as_nanos();
        if self.state == OPEN && now.as_nanos() < self.until {
            self.until = self.until.max(until);
            return;
        }
        self.turn(OPEN);
        self.openings = self.openings.saturating_add(1);
        self.lasting = config.open_time(self.row).as_nanos();
        self.until = until;
    }

    /// Opens it by hand, until [`Breaker::force_close`] or [`Breaker::reset`].
    pub fn isolate(&mut self, now: Timestamp) {
        self.see(now);
        self.turn(ISOLATED);
        self.until = Timestamp::NEVER.as_nanos();
    }

    /// Closes it by hand, as successes would have.
    pub fn force_close(&mut self, now: Timestamp) {
        let now = self.seen(now);
        self.close(now);
    }

    /// Makes it as new: closed, with no openings, for all calls that wait at once.
    pub fn reset(&mut self, now: Timestamp) {
        self.waiting = 0;
        self.force_close(now);
        self.openings = 0;
    }

    /// The state at `now`: an open breaker whose time is over is half-open.
    pub fn state(&self, _config: &BreakerConfig, now: Timestamp) -> BreakerState {
        match self.state {
            OPEN if now.as_now().as_nanos().max(self.latest) < self.until => BreakerState::Open,
            OPEN | HALF_OPEN => BreakerState::HalfOpen,
            ISOLATED => BreakerState::Isolated,
            _ => BreakerState::Closed,
        }
    }

    /// The end of the open time; if half-open, when the permits in use expire; if isolated, [`Timestamp::NEVER`]; if closed,
    /// the epoch.
    pub const fn retry_at(&self) -> Timestamp {
        match self.state {
            OPEN | HALF_OPEN => Timestamp::from_nanos(self.until).as_now(),
            ISOLATED => Timestamp::NEVER,
            _ => Timestamp::ZERO,
        }
    }

    /// The counts at `now`: calls, failed calls, slow calls. For the consecutive kind the first two are the failures in a
    /// row.
    pub fn rates(&self, config: &BreakerConfig, now: Timestamp) -> (u32, u32, u32) {
        let now = Timestamp::from_nanos(now.as_now().as_nanos().max(self.latest));
        let [total, failed, slow] = match config.kind {
            COUNT => self.window.sums(),
            TIME => self.window.sums_at(now, config.slot_length, config.size),
            _ => [self.streak, self.streak, 0],
        };
        (total, failed, slow)
    }

    /// True if nothing is lost when it is made anew: it is closed, no call waits for it, and it counts no failure or slow call
    /// (spec 21.5).
    pub fn is_at_rest(&self, config: &BreakerConfig, now: Timestamp) -> bool {
        let (_, failed, slow) = self.rates(config, now);
        self.state(config, now) == BreakerState::Closed && self.waiting == 0 && failed == 0 && slow == 0
    }

    /// The number of openings, by itself or by a hint, since it was made or reset.
    pub const fn openings(&self) -> u32 {
        self.openings
    }

    #[inline(always)]
    fn see(&mut self, now: Timestamp) {
        // A branch and not a maximum, so that no call waits for what the one before it wrote.
        if now.as_nanos() > self.latest {
            self.latest = now.as_now().as_nanos();
        }
    }

    /// The latest time seen, including this one.
    fn seen(&mut self, now: Timestamp) -> Timestamp {
        self.see(now);
        Timestamp::from_nanos(self.latest).as_now()
    }

    /// Counts one more failure in a row; true if that is enough to open.
    fn fail(&mut self, config: &BreakerConfig) -> bool {
        self.streak = self.streak.saturating_add(1);
        self.streak >= config.failures
    }

    /// Records the outcome of a call that tried a half-open breaker.
    #[cold]
    fn record_probe(&mut self, config: &BreakerConfig, now: Timestamp, failed: bool) {
        let now = self.seen(now);
        if self.state != HALF_OPEN {
            return;
        }
        self.out = self.out.saturating_sub(1);
        self.expire_from(now);
        if failed {
            let enough = self.fail(config);
            if config.tolerates() && self.streak <= config.probe_failures {
                return;
            }
            self.successes = 0;
            if enough || !config.by_streak() {
                self.open(config);
            }
            return;
        }
        if !config.tolerates() {
            self.streak = 0;
        }
        self.successes = self.successes.saturating_add(1);
        if self.successes >= config.successes {
            self.close(now);
        }
    }

    #[cold]
    fn open(&mut self, config: &BreakerConfig) {
        let now = Timestamp::from_nanos(self.latest).as_now();
        self.turn(OPEN);
        let mut rng = Rng::new(self.seed);
        let lasting = config.jittered(config.open_time(self.row), || rng.uniform());
        self.seed = rng.state();
        self.lasting = lasting.as_nanos();
        self.until = now.after(lasting).as_nanos();
        self.row = self.row.saturating_add(1);
        self.openings = self.openings.saturating_add(1);
    }

    fn close(&mut self, now: Timestamp) {
        let was_closed = self.acquire_closed().is_some();
        self.turn(CLOSED);
        (self.row, self.streak, self.until, self.lasting) = (0, 0, 0, 0);
        self.window = Slots::new(now);
        if !was_closed {
            self.begin_ramp(now);
        }
    }

    /// Goes to another state: permits of earlier generations count no more.
    fn turn(&mut self, state: u8) {
        self.state = state;
        self.generation = self.generation.wrapping_add(1);
        (self.successes, self.out) = (0, 0);
    }

    fn expire_from(&mut self, now: Timestamp) {
        self.until = now.after(Span::from_nanos(self.lasting)).as_nanos();
    }
}

guard_config!(BreakerConfig: Section::BREAKER, Breaker = |config, seed, now| Breaker::new(config, seed, now),
    17 saved as 4 * 8 + 6 * 4 + Slots::SAVED;

    fn of_fields(kind: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let word = |field| fields.or_default(field) as u8;
        fields.check_kind(Section::OPEN_FOR, word(Field::BreakerOpenKind))?;
        let mut config = Self { kind: kind.wrapping_sub(1), ..Self::default() };
        if config.kind == CONSECUTIVE {
            config.failures = checked!(BreakerFailures.count in fields)?;
        } else {
            config.window = checked!(BreakerWindow.span in fields)?;
            config.size = match config.kind {
                COUNT => checked!(BreakerSize.count in fields)?,
                _ => checked!(BreakerSlots.count in fields)?,
            };
            config.slot_length = config.slot();
            config.failure_rate = checked!(BreakerFailureRate.number in fields)?;
            let slow_after = fields.span(Field::BreakerSlowAfter);
            if fields.number(Field::BreakerSlowRate).is_some() {
                config.slow_rate = checked!(BreakerSlowRate.number in fields)?;
                if slow_after == Span::MAX {
                    return Err(Error::new(ErrorCode::FieldMissing, Field::BreakerSlowAfter, Quantity::None));
                }
            }
            if slow_after != Span::MAX {
                config.slow_after = slow_after.as_nanos();
            }
            config.min_calls = config.checked_calls(fields.count(Field::BreakerMinCalls))?;
        }
        config.open = fields.open_times(&mut config.more_open)?;
        let probe_failures = fields.count(Field::BreakerProbeFailures);
        if word(Field::BreakerReopen) != 0 && probe_failures != 0 {
            let given = Quantity::Number(probe_failures.into());
            return Err(Error::new(ErrorCode::NotForKind, Field::BreakerProbeFailures, given));
        }
        Ok(Self {
            jitter: checked!(BreakerJitter.number in fields)?,
            probes: checked!(BreakerProbes.count in fields)?,
            successes: checked!(BreakerSuccesses.count in fields)?,
            reopen: word(Field::BreakerReopen),
            mode: word(Field::BreakerMode),
            hint: word(Field::BreakerHint),
            refusal: word(Field::BreakerRefusal),
            ramp: word(Field::BreakerRamp),
            probe_failures,
            ..config
        })
    }

    fn kind(&self) -> u32 {
        self.kind.into()
    }

    fn pass(&self, state: &mut Breaker, pass: &mut Pass<'_>) {
        pass.seen(&mut state.latest);
        pass.time(&mut state.until);
        pass.word(&mut state.seed);
        pass.word(&mut state.lasting);
        let Breaker { generation, openings, row, streak, successes, .. } = state;
        for half in [generation, openings, row, streak, successes] {
            pass.half(half);
        }
        let mut code = u32::from(state.state);
        pass.half(&mut code);
        state.state = BreakerState::from_code(code).map_or(CLOSED, BreakerState::code);
        state.window.pass(pass);
    }

    fn without_calls(&self, state: &Breaker) -> Breaker {
        let mut state = *state;
        if state.state == RAMP {
            state.end_ramp();
        }
        state
    }

    fn within(&self, mut state: Breaker, _: Timestamp) -> Breaker {
        let rows = [state.row, state.row.saturating_sub(1)].map(|row| self.jittered(self.open_time(row), || 1.0));
        let longest = rows[0].max(rows[1]);
        if state.state == HALF_OPEN && self.tolerates() {
            state.streak = state.streak.min(self.probe_failures);
        }
        state.lasting = state.lasting.min(longest.as_nanos());
        if state.state != ISOLATED && !self.opens_on_hint() {
            state.until = state.until.min(Timestamp::from_nanos(state.latest).after(longest).as_nanos());
        }
        match self.kind {
            COUNT => state.window.hold_calls(self.size),
            _ => state.window.hold_slots(self.size),
        }
        state
    }
);

#[cfg(test)]
mod tests;
