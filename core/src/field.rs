//! The fields of a policy: their numbers, their names, and the words that they take.

use crate::decide::failure::FailureKind;
use crate::decide::guards::Refusal;
use crate::decide::guards::breaker::config::{BreakerMode, Reopen};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::Cap;
use crate::decide::policy::OnDeadline;
use crate::decide::{backoff, jitter};
use crate::describe::preset::Preset;
use crate::error::ErrorCode;
use crate::value::Word;

/// A field of a policy, by the number it has in every language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Field {
    /// `backoff.kind`, or `backoff` alone: constant, linear, exponential and others.
    BackoffKind = 1,
    /// `backoff.initial`, for a constant delay also `backoff.delay`: the first delay.
    BackoffInitial = 2,
    /// `backoff.factor`: what each failure multiplies the delay by.
    BackoffFactor = 3,
    /// `backoff.increment`: what each failure adds to the delay.
    BackoffIncrement = 4,
    /// `backoff.max`: the longest delay.
    BackoffMax = 5,
    /// `jitter.kind`, or `jitter` alone: none, full, equal and others.
    JitterKind = 6,
    /// `jitter.factor`: the part of the delay that is spread.
    JitterFactor = 7,
    /// `attempts`: how many there may be, the first one included, or forever.
    Attempts = 8,
    /// `deadline`: how long the whole operation may take.
    Deadline = 9,
    /// `min_attempt`: what an attempt must have left before the deadline.
    MinAttempt = 10,
    /// `on_deadline`: stop, clip.
    OnDeadline = 11,
    /// `attempt_timeout`: how long one attempt may take.
    AttemptTimeout = 12,
    /// `hint.mode`, or `hint` alone: floor, replace, ignore, exact, at_least.
    HintMode = 13,
    /// `hint.max`: the longest hint that is obeyed.
    HintMax = 14,
    /// `hint.over`: stop, clamp.
    HintOver = 15,
    /// `backoff.exponent`: the power that the delay grows with.
    BackoffExponent = 16,
    /// `backoff.times`: for how many delays, before the next stage takes over.
    BackoffTimes = 17,
    /// `backoff.on`: the one kind of failure that the stage is for.
    BackoffOn = 18,
    /// `backoff.delays`: the delays, one by one.
    BackoffDelays = 19,
    /// `jitter.bound`: what may be added to a delay.
    JitterBound = 20,
    /// `cap`: what the longest delay bounds: keep_spread, before_jitter, clip.
    Cap = 21,
    /// `hint.reach`: how far a hint may move a delay beyond the policy's own.
    HintReach = 22,
    /// `preset`: the named policy whose fields those are that are not given.
    Preset = 23,
    /// `version`: of the document's format, 1.
    Version = 24,
    /// `budget.kind`, or `budget` alone: token, throttle, ratio, share, requests, window.
    BudgetKind = 25,
    /// `budget.capacity`: the most tokens there are.
    BudgetCapacity = 26,
    /// `budget.cost`: what a retry costs.
    BudgetCost = 27,
    /// `budget.timeout_cost`: what a retry after a timeout costs.
    BudgetTimeoutCost = 28,
    /// `budget.throttled_cost`: what a retry after throttling costs.
    BudgetThrottledCost = 29,
    /// `budget.reward`: what a success without a retry gives back.
    BudgetReward = 30,
    /// `budget.refill`: tokens that come back by themselves, a second.
    BudgetRefill = 31,
    /// `budget.ratio`: retries for each call.
    BudgetRatio = 32,
    /// `budget.window`: how far back calls count.
    BudgetWindow = 33,
    /// `budget.min_per_second`: retries a second that are always there.
    BudgetMinPerSecond = 34,
    /// `budget.min_concurrency`: retries at once that are always there.
    BudgetMinConcurrency = 35,
    /// `budget.k`: requests that are let through for each that is accepted.
    BudgetK = 36,
    /// `budget.limit`: retries in a window.
    BudgetLimit = 37,
    /// `breaker.kind`, or `breaker` alone: consecutive, count, time.
    BreakerKind = 38,
    /// `breaker.failures`: failures in a row that open it.
    BreakerFailures = 39,
    /// `breaker.size`: how many of the latest calls count.
    BreakerSize = 40,
    /// `breaker.window`: how far back calls count.
    BreakerWindow = 41,
    /// `breaker.slots`: into how many parts the window is cut.
    BreakerSlots = 42,
    /// `breaker.failure_rate`: the share of failures that opens it.
    BreakerFailureRate = 43,
    /// `breaker.slow_after`: from when on a call is slow.
    BreakerSlowAfter = 44,
    /// `breaker.slow_rate`: the share of slow calls that opens it.
    BreakerSlowRate = 45,
    /// `breaker.min_calls`: below how many calls no share counts.
    BreakerMinCalls = 46,
    /// `breaker.open_for.kind`: how the open time grows.
    BreakerOpenKind = 47,
    /// `breaker.open_for`, or `breaker.open_for.initial`: how long it stays open at first.
    BreakerOpenFor = 48,
    /// `breaker.open_for.factor`: what each opening in a row multiplies the open time by.
    BreakerOpenFactor = 49,
    /// `breaker.open_for.increment`: what each opening in a row adds to the open time.
    BreakerOpenIncrement = 50,
    /// `breaker.open_for.exponent`: the power that the open time grows with.
    BreakerOpenExponent = 51,
    /// `breaker.open_for.max`: the longest open time.
    BreakerOpenMax = 52,
    /// `breaker.jitter`: up to which part of itself an open time is lengthened.
    BreakerJitter = 53,
    /// `breaker.probes`: calls at once that may try a half-open one.
    BreakerProbes = 54,
    /// `breaker.successes`: successes that close a half-open one.
    BreakerSuccesses = 55,
    /// `breaker.reopen`: what opens a half-open one again: first, streak.
    BreakerReopen = 56,
    /// `breaker.mode`: enforce, observe.
    BreakerMode = 57,
    /// `breaker.hint`: what a server's hint does: ignore, open.
    BreakerHint = 58,
    /// `breaker.refusal`: what a call does that it refuses: stop, wait.
    BreakerRefusal = 59,
    /// `limiter.kind`, or `limiter` alone: gcra, bucket, window, log.
    LimiterKind = 60,
    /// `limiter.limit`: how many calls in each `per`.
    LimiterLimit = 61,
    /// `limiter.per`: the time the limit is for.
    LimiterPer = 62,
    /// `limiter.burst`: how many at once.
    LimiterBurst = 63,
    /// `limiter.refusal`: what a call does that it refuses: stop, wait.
    LimiterRefusal = 64,
    /// `bulkhead.limit`, or `bulkhead` alone: how many attempts at once.
    BulkheadLimit = 65,
    /// `bulkhead.queue`: how many calls may wait for a place.
    BulkheadQueue = 66,
    /// `bulkhead.max_wait`: how long one waits at most.
    BulkheadMaxWait = 67,
    /// `adaptive.kind`, or `adaptive` alone: cubic, aimd.
    AdaptiveKind = 68,
    /// `adaptive.beta`: what throttling multiplies the rate by.
    AdaptiveBeta = 69,
    /// `adaptive.scale`: how fast a cubic rate grows.
    AdaptiveScale = 70,
    /// `adaptive.smooth`: the weight of the latest measure of the rate.
    AdaptiveSmooth = 71,
    /// `adaptive.increase`: what an additive rate gains with a success.
    AdaptiveIncrease = 72,
    /// `adaptive.min_rate`: the lowest rate, in calls a second.
    AdaptiveMinRate = 73,
    /// `adaptive.max_rate`: the highest rate, in calls a second.
    AdaptiveMaxRate = 74,
    /// `adaptive.initial_rate`: the rate at first, in calls a second.
    AdaptiveInitialRate = 75,
    /// `adaptive.refusal`: what a call does that it refuses: stop, wait.
    AdaptiveRefusal = 76,
    /// `stretch.factor`, or `stretch` alone: what delays are multiplied by when everything fails.
    StretchFactor = 77,
    /// `stretch.window`: how far back attempts count.
    StretchWindow = 78,
    /// `stretch.min_calls`: below how many attempts delays stay as they are.
    StretchMinCalls = 79,
    /// `hedge.delay`, or `hedge` alone: how long after an attempt the next one starts beside it.
    HedgeDelay = 80,
    /// `hedge.percentile`: the share of attempts that end before the next one starts.
    HedgePercentile = 81,
    /// `hedge.attempts`: how many attempts there may be in a round, the first included.
    HedgeAttempts = 82,
    /// `nested.mode`, or `nested` alone: allow, innermost, outermost, cap.
    NestedMode = 83,
    /// `nested.cap`: the most attempts that nested retries may make together.
    NestedCap = 84,
}

pub(super) const BACKOFFS: &[Word] = &[
    ("constant", backoff::CONSTANT),
    ("linear", backoff::LINEAR),
    ("exponential", backoff::EXPONENTIAL),
    ("polynomial", backoff::POLYNOMIAL),
    ("fibonacci", backoff::FIBONACCI),
    ("list", backoff::LIST),
    ("decorrelated", backoff::DECORRELATED),
    ("decorrelated_v2", backoff::DECORRELATED_V2),
];
pub(super) const KINDS: &[Word] = &[
    (FailureKind::Transient.name(), FailureKind::Transient.code()),
    (FailureKind::Throttled.name(), FailureKind::Throttled.code()),
    (FailureKind::Timeout.name(), FailureKind::Timeout.code()),
];
pub(super) const JITTERS: &[Word] = &[
    ("none", jitter::NONE),
    ("full", jitter::FULL),
    ("equal", jitter::EQUAL),
    ("additive", jitter::ADDITIVE),
    ("proportional", jitter::PROPORTIONAL),
    ("bounded", jitter::BOUNDED),
    ("subtractive", jitter::SUBTRACTIVE),
];

/// Every name a field goes by. The first of a field is its path.
pub(super) const NAMES: &[(&str, Field)] = &[
    ("backoff.kind", Field::BackoffKind),
    ("backoff", Field::BackoffKind),
    ("backoff.initial", Field::BackoffInitial),
    ("backoff.delay", Field::BackoffInitial),
    ("backoff.factor", Field::BackoffFactor),
    ("backoff.increment", Field::BackoffIncrement),
    ("backoff.max", Field::BackoffMax),
    ("backoff.exponent", Field::BackoffExponent),
    ("backoff.times", Field::BackoffTimes),
    ("backoff.on", Field::BackoffOn),
    ("backoff.delays", Field::BackoffDelays),
    ("jitter.kind", Field::JitterKind),
    ("jitter", Field::JitterKind),
    ("jitter.factor", Field::JitterFactor),
    ("jitter.bound", Field::JitterBound),
    ("cap", Field::Cap),
    ("attempts", Field::Attempts),
    ("deadline", Field::Deadline),
    ("min_attempt", Field::MinAttempt),
    ("on_deadline", Field::OnDeadline),
    ("attempt_timeout", Field::AttemptTimeout),
    ("hint.mode", Field::HintMode),
    ("hint", Field::HintMode),
    ("hint.max", Field::HintMax),
    ("hint.over", Field::HintOver),
    ("hint.reach", Field::HintReach),
    ("preset", Field::Preset),
    ("version", Field::Version),
];

impl Field {
    /// The field's path in a document.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::BackoffKind => "backoff.kind",
            Self::BackoffInitial => "backoff.initial",
            Self::BackoffFactor => "backoff.factor",
            Self::BackoffIncrement => "backoff.increment",
            Self::BackoffMax => "backoff.max",
            Self::JitterKind => "jitter.kind",
            Self::JitterFactor => "jitter.factor",
            Self::Attempts => "attempts",
            Self::Deadline => "deadline",
            Self::MinAttempt => "min_attempt",
            Self::OnDeadline => "on_deadline",
            Self::AttemptTimeout => "attempt_timeout",
            Self::HintMode => "hint.mode",
            Self::HintMax => "hint.max",
            Self::HintOver => "hint.over",
            Self::BackoffExponent => "backoff.exponent",
            Self::BackoffTimes => "backoff.times",
            Self::BackoffOn => "backoff.on",
            Self::BackoffDelays => "backoff.delays",
            Self::JitterBound => "jitter.bound",
            Self::Cap => "cap",
            Self::HintReach => "hint.reach",
            Self::Preset => "preset",
            Self::Version => "version",
            Self::BudgetKind => "budget.kind",
            Self::BudgetCapacity => "budget.capacity",
            Self::BudgetCost => "budget.cost",
            Self::BudgetTimeoutCost => "budget.timeout_cost",
            Self::BudgetThrottledCost => "budget.throttled_cost",
            Self::BudgetReward => "budget.reward",
            Self::BudgetRefill => "budget.refill",
            Self::BudgetRatio => "budget.ratio",
            Self::BudgetWindow => "budget.window",
            Self::BudgetMinPerSecond => "budget.min_per_second",
            Self::BudgetMinConcurrency => "budget.min_concurrency",
            Self::BudgetK => "budget.k",
            Self::BudgetLimit => "budget.limit",
            Self::BreakerKind => "breaker.kind",
            Self::BreakerFailures => "breaker.failures",
            Self::BreakerSize => "breaker.size",
            Self::BreakerWindow => "breaker.window",
            Self::BreakerSlots => "breaker.slots",
            Self::BreakerFailureRate => "breaker.failure_rate",
            Self::BreakerSlowAfter => "breaker.slow_after",
            Self::BreakerSlowRate => "breaker.slow_rate",
            Self::BreakerMinCalls => "breaker.min_calls",
            Self::BreakerOpenKind => "breaker.open_for.kind",
            Self::BreakerOpenFor => "breaker.open_for",
            Self::BreakerOpenFactor => "breaker.open_for.factor",
            Self::BreakerOpenIncrement => "breaker.open_for.increment",
            Self::BreakerOpenExponent => "breaker.open_for.exponent",
            Self::BreakerOpenMax => "breaker.open_for.max",
            Self::BreakerJitter => "breaker.jitter",
            Self::BreakerProbes => "breaker.probes",
            Self::BreakerSuccesses => "breaker.successes",
            Self::BreakerReopen => "breaker.reopen",
            Self::BreakerMode => "breaker.mode",
            Self::BreakerHint => "breaker.hint",
            Self::BreakerRefusal => "breaker.refusal",
            Self::LimiterKind => "limiter.kind",
            Self::LimiterLimit => "limiter.limit",
            Self::LimiterPer => "limiter.per",
            Self::LimiterBurst => "limiter.burst",
            Self::LimiterRefusal => "limiter.refusal",
            Self::BulkheadLimit => "bulkhead.limit",
            Self::BulkheadQueue => "bulkhead.queue",
            Self::BulkheadMaxWait => "bulkhead.max_wait",
            Self::AdaptiveKind => "adaptive.kind",
            Self::AdaptiveBeta => "adaptive.beta",
            Self::AdaptiveScale => "adaptive.scale",
            Self::AdaptiveSmooth => "adaptive.smooth",
            Self::AdaptiveIncrease => "adaptive.increase",
            Self::AdaptiveMinRate => "adaptive.min_rate",
            Self::AdaptiveMaxRate => "adaptive.max_rate",
            Self::AdaptiveInitialRate => "adaptive.initial_rate",
            Self::AdaptiveRefusal => "adaptive.refusal",
            Self::StretchFactor => "stretch.factor",
            Self::StretchWindow => "stretch.window",
            Self::StretchMinCalls => "stretch.min_calls",
            Self::HedgeDelay => "hedge.delay",
            Self::HedgePercentile => "hedge.percentile",
            Self::HedgeAttempts => "hedge.attempts",
            Self::NestedMode => "nested.mode",
            Self::NestedCap => "nested.cap",
        }
    }

    /// The field's number, the same in every language.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Every name that [`PolicyBuilder::set`](crate::PolicyBuilder::set) knows, with the field it means.
    #[must_use]
    pub const fn names() -> &'static [(&'static str, Self)] {
        NAMES
    }

    pub(super) const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// Whether each stage of the backoff has its own.
    pub(super) const fn is_of_stage(self) -> bool {
        matches!(
            self,
            Self::BackoffKind
                | Self::BackoffInitial
                | Self::BackoffFactor
                | Self::BackoffIncrement
                | Self::BackoffMax
                | Self::BackoffExponent
                | Self::BackoffTimes
                | Self::BackoffOn
                | Self::BackoffDelays
        )
    }

    /// The words that the field takes, with their numbers in a policy's flat form; none where it takes no words, or others
    /// beside them.
    const fn table(self) -> &'static [Word] {
        match self {
            Self::BackoffKind => BACKOFFS,
            Self::BackoffOn => KINDS,
            Self::JitterKind => JITTERS,
            Self::Cap => Cap::WORDS,
            Self::OnDeadline => OnDeadline::WORDS,
            Self::HintMode => HintMode::WORDS,
            Self::HintOver => HintOver::WORDS,
            _ => &[],
        }
    }

    /// The words of a field that takes nothing else; none of every other field.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        self.table().iter().map(|word| word.0)
    }

    /// The word with that number in a policy's flat form, the first one of any other number.
    pub(crate) fn word(self, number: u8) -> &'static str {
        let words = self.table();
        words.iter().find(|word| word.1 == number).or(words.first()).map_or("", |word| word.0)
    }

    /// What the field takes, in words.
    pub(crate) const fn takes(self) -> &'static str {
        match self {
            Self::BackoffKind => {
                "must be one of constant, linear, exponential, polynomial, fibonacci, list, decorrelated, decorrelated_v2"
            }
            Self::BackoffOn => "must be one of transient, throttled, timeout",
            Self::JitterKind => "must be one of none, full, equal, additive, proportional, bounded, subtractive",
            Self::Cap => Cap::RULE,
            Self::OnDeadline => OnDeadline::RULE,
            Self::HintMode => HintMode::RULE,
            Self::HintOver => HintOver::RULE,
            Self::Preset => Preset::RULE,
            Self::Version => ErrorCode::DocumentVersion.text(),
            Self::BackoffExponent => ErrorCode::ExponentRange.text(),
            Self::BackoffTimes => ErrorCode::TimesRange.text(),
            Self::BackoffDelays => ErrorCode::DelaysMissing.text(),
            Self::Attempts => ErrorCode::AttemptsRange.text(),
            Self::BackoffFactor => ErrorCode::FactorRange.text(),
            Self::JitterFactor => ErrorCode::JitterFactorRange.text(),
            Self::BudgetKind => "must be one of none, token, throttle, ratio, share, requests, window",
            Self::BreakerKind => "must be one of none, consecutive, count, time",
            Self::BreakerOpenKind => "must be one of constant, linear, exponential, polynomial, fibonacci",
            Self::BreakerReopen => Reopen::RULE,
            Self::BreakerMode => BreakerMode::RULE,
            Self::BreakerHint => "must be one of ignore, open",
            Self::BreakerRefusal | Self::LimiterRefusal | Self::AdaptiveRefusal => Refusal::RULE,
            Self::LimiterKind => "must be one of none, gcra, bucket, window, log",
            Self::AdaptiveKind => "must be one of none, cubic, aimd",
            Self::NestedMode => "must be one of allow, innermost, outermost, cap",
            Self::BudgetCapacity => "must be a whole number from 0 to 1000000, for a throttle from 1 on",
            Self::BudgetCost | Self::BudgetTimeoutCost | Self::BudgetThrottledCost => {
                "must be a whole number from 0 to 1000000"
            }
            Self::BudgetMinConcurrency | Self::BudgetLimit => "must be a whole number from 0 to 4294967295",
            Self::BreakerSize => "must be a whole number from 1 to 128",
            Self::BreakerSlots => "must be a whole number from 1 to 10",
            Self::BulkheadQueue => "must be a whole number from 0 to 64",
            Self::HedgeAttempts => "must be a whole number from 1 to 8",
            Self::BreakerMinCalls => "must be a whole number from 1 to 4294967295, at most the size of a count",
            Self::LimiterLimit => {
                "must be a whole number from 1 to 4294967295, for a log to 1000000, for a bucket any number from 0 on"
            }
            Self::StretchFactor => "must be a finite number from 1 on",
            Self::BreakerFailures
            | Self::BreakerProbes
            | Self::BreakerSuccesses
            | Self::LimiterBurst
            | Self::BulkheadLimit
            | Self::StretchMinCalls
            | Self::NestedCap => "must be a whole number from 1 to 4294967295",
            Self::BreakerFailureRate
            | Self::BreakerSlowRate
            | Self::AdaptiveBeta
            | Self::AdaptiveSmooth
            | Self::HedgePercentile => ErrorCode::ShareRange.text(),
            Self::BudgetReward
            | Self::BudgetRefill
            | Self::BudgetRatio
            | Self::BudgetMinPerSecond
            | Self::BudgetK
            | Self::BreakerJitter
            | Self::BreakerOpenFactor
            | Self::BreakerOpenExponent
            | Self::AdaptiveIncrease => ErrorCode::RateRange.text(),
            Self::AdaptiveScale | Self::AdaptiveMinRate => "must be a finite number above 0",
            Self::AdaptiveMaxRate => "must be a finite number, not below min_rate",
            Self::AdaptiveInitialRate => "must be a number from min_rate to max_rate",
            _ => ErrorCode::NotADuration.text(),
        }
    }
}
