//! How many retries there may be, all calls of a client taken together.
//!
//! A limit of attempts is for one call. When a server is down every call uses it up, and three attempts each are three times
//! the load on a server that cannot carry the load it has. A budget looks at all calls: while few of them fail each may
//! retry, and when all do hardly any may. There are six ways to count in use, each with its own merits; here they are one
//! machine with one set of inputs, so that a call need not know which it is (spec 22).

use crate::decide::backoff::real;
use crate::decide::failure::FailureKind;
use crate::decide::guards::guard::{GuardFields, guard_config};
use crate::decide::guards::save::Pass;
use crate::decide::rng::Rng;
use crate::error::Error;
use crate::fields::{Field, Section};
use crate::time::Timestamp;

pub(crate) mod config;
mod shortage;
pub use config::BudgetConfig;
use config::{RATIO, REQUESTS, SHARE, SLOTS, THROTTLE, TOKEN, WINDOW, token_budget};
pub use shortage::Shortage;

/// The tokens that a retry of a call took, to hand back when it succeeds or the retry never runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Withdrawal(u32);

impl Withdrawal {
    /// The withdrawal as a number, for other languages: thousandths of a token for [`BudgetConfig::token`], for the others where
    /// it was taken from.
    pub const fn as_raw(self) -> u32 {
        self.0
    }

    /// The withdrawal of that number.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// Two withdrawals of a token budget as one.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Without a part of it that was refunded.
    #[must_use]
    pub const fn minus(self, refunded: Self) -> Self {
        Self(self.0.saturating_sub(refunded.0))
    }
}

/// The balance of a budget: 128 bytes, `Copy`, plain numbers. Zeroes are a budget that was used up at the epoch.
///
/// # Contract
/// All calls of a client share one, with the same [`BudgetConfig`]. A call says [`Budget::begin`] first and [`Budget::end`]
/// last. Each of its attempts asks [`Budget::admit`]. A failure calls [`Budget::fail`] and asks [`Budget::withdraw`] for the
/// next attempt. A retry that was allowed says [`Budget::retried`] when it has run, or [`Budget::refund`] if it never will,
/// after which the call holds nothing. A success says [`Budget::succeed`] with what the call holds.
///
/// Time is monotonic: a `now` before the latest one reads as that one (spec 1.3). Every bit pattern of the state is valid and
/// no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Budget {
    /// Token, throttle: thousandths.
    tokens: u64,
    /// Token: since when it refills. Ratio, requests, window: when the current slot began.
    since: u64,
    /// Token: what of the tokens has come back by itself since then.
    refilled: u64,
    /// Requests: of the draws to come.
    seed: u64,
    /// Ratio, requests, window: how many slots there were before the current one. Token: the number of the latest refusal.
    number: u64,
    /// Share: calls under way.
    active: u32,
    /// Share: retries under way. Window: retries in the current window.
    retries: u32,
    /// Ratio: what was deposited less what was withdrawn, signed. Requests: attempts in the lower half, successes in the upper.
    slots: [u64; SLOTS],
}

impl Budget {
    /// The place of the number of the latest refusal, in bytes: hosts that keep the state as words read it.
    #[doc(hidden)]
    pub const REFUSALS: usize = core::mem::offset_of!(Self, number);

    /// A full budget at `now`. Only [`BudgetConfig::requests`] draws from `seed`; for a good one see
    /// [`crate::Retry::new`].
    pub const fn new(config: &BudgetConfig, seed: u64, now: Timestamp) -> Self {
        Self {
            tokens: if config.kind <= THROTTLE { config.capacity } else { 0 },
            since: now.as_now().as_nanos(),
            refilled: 0,
            seed,
            number: 0,
            active: 0,
            retries: 0,
            slots: [0; SLOTS],
        }
    }

    /// A call begins at `now`.
    #[inline]
    pub fn begin(&mut self, config: &BudgetConfig, now: Timestamp) {
        match config.kind {
            RATIO => {
                self.advance(config, now);
                self.add_to_slot(0, signed(config.reward));
            }
            SHARE => self.active = self.active.saturating_add(1),
            _ => {}
        }
    }

    /// An attempt, the first or a later one, is about to start at `now`: whether it may. Only [`BudgetConfig::requests`] ever
    /// refuses one.
    #[inline]
    pub fn admit(&mut self, config: &BudgetConfig, now: Timestamp) -> bool {
        if config.kind != REQUESTS {
            return true;
        }
        self.advance(config, now);
        let rejection = self.chance(config);
        self.count(1, 0);
        if rejection <= 0.0 {
            return true;
        }
        let mut rng = Rng::new(self.seed);
        let u = rng.uniform();
        self.seed = rng.state();
        u >= rejection
    }

    /// An attempt failed at `now`. Said of every attempt that fails, whether it will be retried or not; a permanent failure
    /// counts for nothing but [`BudgetConfig::requests`], where it is an answer like any other.
    #[inline]
    pub fn fail(&mut self, config: &BudgetConfig, now: Timestamp, kind: FailureKind) {
        match (config.kind, kind) {
            (THROTTLE, FailureKind::Transient | FailureKind::Throttled | FailureKind::Timeout) => {
                self.tokens = self.tokens.min(config.capacity).saturating_sub(1000);
            }
            (REQUESTS, FailureKind::Permanent) => {
                // The server took the request and answered it.
                self.advance(config, now);
                self.count(0, 1);
            }
            _ => {}
        }
    }

    /// Withdraws the cost of a retry at `now` after such a failure; `None` if the call may not
    /// retry. Where a success returns the latest withdrawal alone, the new one replaces the call's earlier one; else the call
    /// holds the sum, see [`BudgetConfig::returns_all`].
    ///
    /// `noted` is [`Budget::refusals`] as it was when the call began: a call from before a refusal has no grace.
    #[inline]
    pub fn withdraw(
        &mut self,
        config: &BudgetConfig,
        now: Timestamp,
        kind: FailureKind,
        noted: u32,
    ) -> Option<Withdrawal> {
        if config.kind == TOKEN {
            return self.take(config, now, config.cost(kind), noted);
        }
        self.withdraw_without_grace(config, now, kind)
    }

    /// Withdraws the cost of a retry that sleeps for a server's hint: of a token budget `hinted_cost`. `None` if the call may not
    /// retry. Not to be asked if [`BudgetConfig::is_free_for_hints`].
    pub fn withdraw_hinted(
        &mut self,
        config: &BudgetConfig,
        now: Timestamp,
        kind: FailureKind,
        noted: u32,
    ) -> Option<Withdrawal> {
        match config.hinted_cost() {
            Some(cost) if config.kind == TOKEN => self.take(config, now, cost, noted),
            _ => self.withdraw(config, now, kind, noted),
        }
    }

    /// Withdraws the cost of a retry without a grace, and numbers no refusal: for an attempt beside another.
    pub(crate) fn withdraw_without_grace(
        &mut self,
        config: &BudgetConfig,
        now: Timestamp,
        kind: FailureKind,
    ) -> Option<Withdrawal> {
        match config.kind {
            TOKEN => {
                self.refill(config, now);
                let cost = config.cost(kind);
                self.tokens = self.tokens.checked_sub(u64::from(cost))?;
                Some(Withdrawal(cost))
            }
            THROTTLE => {
                let tokens = self.tokens.min(config.capacity);
                (tokens > config.capacity.wrapping_sub(tokens)).then_some(Withdrawal(0))
            }
            RATIO => {
                self.advance(config, now);
                if self.sum(config) < signed(config.withdrawal) {
                    return None;
                }
                self.add_to_slot(0, signed(config.withdrawal).saturating_neg());
                Some(Withdrawal(self.number as u32))
            }
            SHARE => self.retry_within(config.concurrency(self.active)),
            REQUESTS => Some(Withdrawal(0)),
            WINDOW => {
                self.advance(config, now);
                self.retry_within(config.capacity)
            }
            _ => None,
        }
    }

    /// Token: takes the price, or in the grace what is left of it (spec 22.5a).
    fn take(&mut self, config: &BudgetConfig, now: Timestamp, price: u32, noted: u32) -> Option<Withdrawal> {
        self.refill(config, now);
        let taken = match self.tokens.checked_sub(price.into()) {
            Some(_) => price,
            None if self.is_in_grace(config, now, noted) => self.tokens as u32,
            None => {
                self.number = self.number.wrapping_add(1);
                return None;
            }
        };
        self.tokens = self.tokens.saturating_sub(taken.into());
        Some(Withdrawal(taken))
    }

    /// Token: true for a call that had noted that number when it began, in the first time after the budget was full.
    fn is_in_grace(&self, config: &BudgetConfig, now: Timestamp, noted: u32) -> bool {
        let spell = now.as_now().as_nanos().checked_sub(self.since);
        let none_since = noted.wrapping_sub(self.refusals()) as i32 >= 0;
        config.capacity > 0 && none_since && spell.is_some_and(|spell| spell < config.grace())
    }

    /// The number of the latest refusal of a token budget, which a call notes when it begins: see [`Budget::withdraw`]. A budget
    /// by itself counts its own refusals; a store of budgets numbers those of all (spec 22.5c).
    #[inline]
    pub const fn refusals(&self) -> u32 {
        self.number as u32
    }

    /// A token budget whose latest refusal has that number, which a store of budgets gives to it.
    #[must_use]
    pub const fn numbered(mut self, config: &BudgetConfig, number: u32) -> Self {
        if config.kind == TOKEN {
            self.number = number as u64;
        }
        self
    }

    /// A call that was allowed a retry elsewhere, and sleeps for it, goes on under this budget: what it holds of it, which is
    /// nothing but a place among the retries at once of [`BudgetConfig::share`], where there is one or not.
    pub(crate) fn resume(&mut self, config: &BudgetConfig) -> Option<Withdrawal> {
        if config.kind == SHARE { self.retry_within(u64::MAX) } else { None }
    }

    /// Share, window: one retry more, if there are fewer than `most`.
    fn retry_within(&mut self, most: u64) -> Option<Withdrawal> {
        if u64::from(self.retries) >= most {
            return None;
        }
        self.retries = self.retries.saturating_add(1);
        Some(Withdrawal(self.number as u32))
    }

    /// The retry that `withdrawal` was paid for never ran, as is known at `now`: it was cancelled asleep or refused at wake-up.
    #[inline]
    pub fn refund(&mut self, config: &BudgetConfig, now: Timestamp, withdrawal: Withdrawal) {
        match config.kind {
            TOKEN => {
                self.refill(config, now);
                self.add(config, u64::from(withdrawal.0));
            }
            RATIO => {
                self.advance(config, now);
                // Undone in the slot it was made in, which may have expired, and the withdrawal with it.
                let ago = (self.number as u32).wrapping_sub(withdrawal.0);
                self.add_to_slot(ago, signed(config.withdrawal));
            }
            SHARE => self.retries = self.retries.saturating_sub(1),
            WINDOW => {
                self.advance(config, now);
                if self.number as u32 == withdrawal.0 {
                    self.retries = self.retries.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// A call succeeded at `now`, and holds that.
    #[inline]
    pub fn succeed(&mut self, config: &BudgetConfig, now: Timestamp, withdrawal: Option<Withdrawal>) {
        match config.kind {
            TOKEN => {
                self.refill(config, now);
                let held = withdrawal.map_or(0, |withdrawal| u64::from(withdrawal.0));
                // spec 22.5b
                let reward = if withdrawal.is_none() || config.returns_all() { config.reward } else { 0 };
                self.add(config, held.saturating_add(reward));
            }
            THROTTLE => self.add(config, config.reward),
            REQUESTS => {
                self.advance(config, now);
                self.count(0, 1);
            }
            _ => {}
        }
    }

    /// A retry that ran is over, however it ended: [`BudgetConfig::share`] gets its place back.
    #[inline]
    pub fn retried(&mut self, config: &BudgetConfig) {
        if config.kind == SHARE {
            self.retries = self.retries.saturating_sub(1);
        }
    }

    /// A call is over, however it ended; `withdrawal` is of a retry that ends with it, without a [`Budget::retried`] of
    /// its own.
    #[inline]
    pub fn end(&mut self, config: &BudgetConfig, withdrawal: Option<Withdrawal>) {
        if config.kind == SHARE {
            self.active = self.active.saturating_sub(1);
            self.retries = self.retries.saturating_sub(u32::from(withdrawal.is_some()));
        }
    }

    /// The balance at `now`: tokens for [`BudgetConfig::token`] and [`BudgetConfig::throttle`]; for [`BudgetConfig::requests`] by
    /// how many the attempts may grow before any is refused; for the others whole retries.
    pub fn balance(&self, config: &BudgetConfig, now: Timestamp) -> f64 {
        let mut then = *self;
        match config.kind {
            TOKEN => {
                then.refill(config, now);
                then.tokens as f64 / 1000.0
            }
            THROTTLE => self.tokens.min(config.capacity) as f64 / 1000.0,
            RATIO => {
                then.advance(config, now);
                let whole = then.sum(config).max(0).checked_div(signed(config.withdrawal)).unwrap_or(0);
                whole as f64
            }
            SHARE => config.concurrency(self.active).saturating_sub(u64::from(self.retries)) as f64,
            REQUESTS => {
                then.advance(config, now);
                let (requests, accepts) = then.counts();
                (config.rate * accepts - requests).max(0.0)
            }
            WINDOW => {
                then.advance(config, now);
                config.capacity.saturating_sub(u64::from(then.retries)) as f64
            }
            _ => 0.0,
        }
    }

    /// True if nothing is lost when it is made anew: no call or retry is on, and it refuses no more than a new one (spec 21.5).
    pub fn is_at_rest(&self, config: &BudgetConfig, now: Timestamp) -> bool {
        let is_idle = config.kind != SHARE || (self.active == 0 && self.retries == 0);
        let fresh = Self::new(config, 0, now).balance(config, now);
        is_idle && self.rejection(config, now) <= 0.0 && self.balance(config, now) >= fresh
    }

    /// True for a token budget from which nothing is missing: a success changes nothing then.
    #[inline]
    pub const fn is_full(&self, config: &BudgetConfig) -> bool {
        config.kind == TOKEN && self.tokens >= config.capacity
    }

    /// Why a token budget refuses a retry at `now` after such a failure, for the text of an error; `None` if it refuses none, and
    /// for the other kinds.
    pub fn shortage(&self, config: &BudgetConfig, now: Timestamp, kind: FailureKind) -> Option<Shortage> {
        if config.kind != TOKEN {
            return None;
        }
        let mut then = *self;
        then.refill(config, now);
        Shortage::of(config, then.tokens, kind)
    }

    /// The probability from 0 to 1 that [`Budget::admit`] refuses an attempt at `now`; 0 for every kind but
    /// [`BudgetConfig::requests`].
    pub fn rejection(&self, config: &BudgetConfig, now: Timestamp) -> f64 {
        if config.kind != REQUESTS {
            return 0.0;
        }
        let mut then = *self;
        then.advance(config, now);
        then.chance(config)
    }

    /// Token: what has come back by `now`. A full purse does not save up.
    fn refill(&mut self, config: &BudgetConfig, now: Timestamp) {
        let due = config.refilled(now.as_now().since(Timestamp::from_nanos(self.since)));
        let tokens = self.tokens.saturating_add(due.saturating_sub(self.refilled));
        self.refilled = self.refilled.max(due);
        self.tokens = tokens;
        if tokens >= config.capacity {
            self.tokens = config.capacity;
            self.since = self.since.max(now.as_now().as_nanos());
            self.refilled = 0;
        }
    }

    fn add(&mut self, config: &BudgetConfig, thousandths: u64) {
        self.tokens = self.tokens.saturating_add(thousandths).min(config.capacity);
    }

    /// Makes the slot of `now` the current one, and clears the slots more than a window older.
    #[inline]
    fn advance(&mut self, config: &BudgetConfig, now: Timestamp) {
        let elapsed = now.as_now().as_nanos().saturating_sub(self.since);
        if elapsed >= config.slot {
            self.step(config.slot, elapsed);
        }
    }

    #[cold]
    fn step(&mut self, slot: u64, elapsed: u64) {
        // No checked configuration has a slot of no time.
        let steps = elapsed.checked_div(slot).unwrap_or(elapsed);
        self.since = self.since.saturating_add(steps.saturating_mul(slot));
        self.retries = 0;
        for ahead in 1..=steps.min(SLOTS as u64) {
            if let Some(slot) = self.slots.get_mut(index(self.number.wrapping_add(ahead))) {
                *slot = 0;
            }
        }
        self.number = self.number.wrapping_add(steps);
    }

    /// Ratio: adds to the slot that was the current one so many slots ago, unless it has expired.
    fn add_to_slot(&mut self, ago: u32, amount: i64) {
        if ago < SLOTS as u32
            && let Some(slot) = self.slots.get_mut(index(self.number.wrapping_sub(ago.into())))
        {
            *slot = (*slot as i64).saturating_add(amount) as u64;
        }
    }

    /// Ratio: what there is, which is below zero when deposits have expired that were withdrawn.
    fn sum(&self, config: &BudgetConfig) -> i64 {
        let sum = self.slots.iter().fold(0_i64, |sum, slot| sum.saturating_add(*slot as i64));
        sum.saturating_add(signed(config.reserve))
    }

    fn count(&mut self, requests: u32, accepts: u32) {
        if let Some(slot) = self.slots.get_mut(index(self.number)) {
            let (before, accepted) = (*slot as u32, (*slot >> 32) as u32);
            *slot = u64::from(accepted.saturating_add(accepts)) << 32 | u64::from(before.saturating_add(requests));
        }
    }

    /// Requests: attempts and successes in the window.
    fn counts(&self) -> (f64, f64) {
        let (mut requests, mut accepts) = (0_u64, 0_u64);
        for slot in self.slots {
            requests = requests.saturating_add(slot & u64::from(u32::MAX));
            accepts = accepts.saturating_add(slot >> 32);
        }
        (real(requests), real(accepts))
    }

    /// Requests: the probability of a refusal.
    fn chance(&self, config: &BudgetConfig) -> f64 {
        let (requests, accepts) = self.counts();
        // `max` also turns what is no number into 0, which a foreign configuration may give.
        ((requests - config.rate * accepts) / (requests + 1.0)).max(0.0)
    }
}

/// Where a slot of that number is.
fn index(number: u64) -> usize {
    number.checked_rem(SLOTS as u64).unwrap_or(0) as usize
}

/// An amount as the signed number that sums are.
const fn signed(amount: u64) -> i64 {
    if amount > i64::MAX as u64 { i64::MAX } else { amount as i64 }
}

guard_config!(BudgetConfig: Section::BUDGET, Budget = |config, seed, now| Budget::new(config, seed, now),
    16 saved as 5 * 8 + 4 + SLOTS * 8;

    fn of_fields(kind: u8, fields: &dyn GuardFields) -> Result<Self, Error> {
        let (capacity, reward) = (fields.count(Field::BudgetCapacity), fields.real(Field::BudgetReward));
        let (ratio, window) = (fields.real(Field::BudgetRatio), fields.span(Field::BudgetWindow));
        match kind.into() {
            TOKEN => token_budget(fields, capacity, reward),
            THROTTLE => Self::throttle(capacity, reward),
            RATIO => Self::ratio(ratio, window, fields.real(Field::BudgetMinPerSecond)),
            SHARE => Self::share(ratio, fields.count(Field::BudgetMinConcurrency)),
            REQUESTS => Self::requests(fields.real(Field::BudgetK), window),
            WINDOW => Self::window(fields.count(Field::BudgetLimit), window),
            _ => Self::of_loops_with(capacity),
        }
    }

    fn kind(&self) -> u32 {
        self.kind
    }

    fn pass(&self, state: &mut Budget, pass: &mut Pass<'_>) {
        pass.word(&mut state.tokens);
        pass.seen(&mut state.since);
        for word in [&mut state.refilled, &mut state.seed, &mut state.number] {
            pass.word(word);
        }
        pass.half(&mut state.retries);
        state.slots.iter_mut().for_each(|slot| pass.word(slot));
    }

    /// [`BudgetConfig::window`] counts finished retries in their field. No call of another process has noted the number of a refusal.
    fn without_calls(&self, state: &Budget) -> Budget {
        match self.kind {
            SHARE => Budget { retries: 0, ..*state },
            TOKEN => Budget { number: 0, ..*state },
            _ => *state,
        }
    }

    fn within(&self, state: Budget, now: Timestamp) -> Budget {
        let due = self.refilled(now.as_now().since(Timestamp::from_nanos(state.since)));
        Budget { refilled: state.refilled.min(due), ..self.without_calls(&state) }
    }
);

#[cfg(test)]
mod tests;
