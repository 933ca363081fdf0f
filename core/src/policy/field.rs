//! The names of a policy's fields, and setting one by its name.
//!
//! Every language and every document configures a policy with (name, value) pairs. Looking the name up, reading the value
//! and saying what is wrong with it happens here once, so that the same mistake gets the same answer everywhere.

use super::builder::{PolicyBuilder, nth};
use super::{AT_LEAST, CLAMP, CLIP, EXACT, FLOOR, FOREVER, IGNORE, REPLACE, STOP, UNLIMITED};
use crate::chain::COUNTED;
use crate::classify::Kept;
use crate::error::{ConfigError, ErrorCode, Given};
use crate::failure::FailureKind;
use crate::guards::builder::{SECTIONS, is_guard};
use crate::nearest::nearest;
use crate::preset::Preset;
use crate::time::Span;
use crate::{backoff, jitter};

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

/// A value as a host's language has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// A word, or a time with its unit.
    Text(&'a str),
    /// A number. For a time it counts the host's customary unit, given in nanoseconds: 1e9 where people write seconds.
    Number {
        /// The number.
        value: f64,
        /// Nanoseconds in one, for the fields that are times.
        unit: f64,
    },
    /// A time, exactly: from a type of the host's that is one. Above [`Span::MAX`] it is out of range.
    Nanos(u64),
    /// Something that no field takes: a list, a truth value.
    Other,
    /// Null and the like: as good as not given, as long as the name is one.
    Nothing,
    /// An object without fields: as good as not given where fields may stand under the name, else like [`Value::Other`].
    Empty,
    /// A list without items. The items of others are set one by one, as `name[0]`, `name[1]` and so on.
    NoItems,
}

/// A word of a document and its number in a policy's flat form.
pub(crate) type Word = (&'static str, u8);

const BACKOFFS: &[Word] = &[
    ("constant", backoff::CONSTANT),
    ("linear", backoff::LINEAR),
    ("exponential", backoff::EXPONENTIAL),
    ("polynomial", backoff::POLYNOMIAL),
    ("fibonacci", backoff::FIBONACCI),
    ("list", backoff::LIST),
    ("decorrelated", backoff::DECORRELATED),
    ("decorrelated_v2", backoff::DECORRELATED_V2),
];
const KINDS: &[Word] = &[
    (FailureKind::Transient.name(), FailureKind::Transient.code()),
    (FailureKind::Throttled.name(), FailureKind::Throttled.code()),
    (FailureKind::Timeout.name(), FailureKind::Timeout.code()),
];
const JITTERS: &[Word] = &[
    ("none", jitter::NONE),
    ("full", jitter::FULL),
    ("equal", jitter::EQUAL),
    ("additive", jitter::ADDITIVE),
    ("proportional", jitter::PROPORTIONAL),
    ("bounded", jitter::BOUNDED),
    ("subtractive", jitter::SUBTRACTIVE),
];
const CAPS: &[Word] = &[
    ("keep_spread", jitter::CAP_KEEP_SPREAD),
    ("before_jitter", jitter::CAP_BEFORE_JITTER),
    ("clip", jitter::CAP_CLIP),
];
const ON_DEADLINE: &[Word] = &[("stop", STOP), ("clip", CLIP)];
const HINT_MODES: &[Word] =
    &[("floor", FLOOR), ("replace", REPLACE), ("ignore", IGNORE), ("exact", EXACT), ("at_least", AT_LEAST)];
const HINT_OVERS: &[Word] = &[("stop", STOP), ("clamp", CLAMP)];

/// Every name a field goes by. The first of a field is its path.
const NAMES: &[(&str, Field)] = &[
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

/// What the rules of classification are under.
const RETRY_ON: &str = "retry_on";

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

    /// Every name that [`PolicyBuilder::set`] knows, with the field it means.
    #[must_use]
    pub const fn names() -> &'static [(&'static str, Self)] {
        NAMES
    }

    pub(super) const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// Whether each stage of the backoff has its own.
    const fn is_of_stage(self) -> bool {
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
            Self::Cap => CAPS,
            Self::OnDeadline => ON_DEADLINE,
            Self::HintMode => HINT_MODES,
            Self::HintOver => HINT_OVERS,
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
            Self::Cap => "must be one of keep_spread, before_jitter, clip",
            Self::OnDeadline => "must be one of stop, clip",
            Self::HintMode => "must be one of floor, replace, ignore, exact, at_least",
            Self::HintOver => "must be one of stop, clamp",
            Self::Preset => Preset::NAMES,
            Self::Version => ErrorCode::DocumentVersion.rule(None),
            Self::BackoffExponent => ErrorCode::ExponentRange.rule(None),
            Self::BackoffTimes => ErrorCode::TimesRange.rule(None),
            Self::BackoffDelays => ErrorCode::DelaysMissing.rule(None),
            Self::Attempts => ErrorCode::AttemptsRange.rule(None),
            Self::BackoffFactor => ErrorCode::FactorRange.rule(None),
            Self::JitterFactor => ErrorCode::JitterFactorRange.rule(None),
            Self::BudgetKind => "must be one of none, token, throttle, ratio, share, requests, window",
            Self::BreakerKind => "must be one of none, consecutive, count, time",
            Self::BreakerOpenKind => "must be one of constant, linear, exponential, polynomial, fibonacci",
            Self::BreakerReopen => "must be one of first, streak",
            Self::BreakerMode => "must be one of enforce, observe",
            Self::BreakerHint => "must be one of ignore, open",
            Self::BreakerRefusal | Self::LimiterRefusal | Self::AdaptiveRefusal => "must be one of stop, wait",
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
            | Self::HedgePercentile => ErrorCode::ShareRange.rule(None),
            Self::BudgetReward
            | Self::BudgetRefill
            | Self::BudgetRatio
            | Self::BudgetMinPerSecond
            | Self::BudgetK
            | Self::BreakerJitter
            | Self::BreakerOpenFactor
            | Self::BreakerOpenExponent
            | Self::AdaptiveIncrease => ErrorCode::RateRange.rule(None),
            Self::AdaptiveScale | Self::AdaptiveMinRate => "must be a finite number above 0",
            Self::AdaptiveMaxRate => "must be a finite number, not below min_rate",
            Self::AdaptiveInitialRate => "must be a number from min_rate to max_rate",
            _ => ErrorCode::NotADuration.rule(None),
        }
    }
}

impl PolicyBuilder {
    /// Sets the field called `name` to `value` (spec 3.3). Whether the fields fit together is the question of
    /// [`PolicyBuilder::build`].
    ///
    /// Of a name under a guard's it says [`Kept::Guard`] and looks no further: the pair is for a
    /// [`GuardsBuilder`](crate::GuardsBuilder).
    ///
    /// A name is a path, `backoff.initial`; the items of a list have their index behind it, `backoff.delays[0]`, and so
    /// have the stages of a chain, `backoff[1].initial`. Items come in the order of their indexes.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set<'v>(&mut self, name: &str, value: Value<'v>) -> Result<Kept<'v>, ConfigError> {
        if is_guard(name) {
            return Ok(Kept::Guard);
        }
        match name.strip_prefix(RETRY_ON) {
            Some("") => self.rules.set("", value),
            Some(rest) => match rest.strip_prefix('.') {
                Some(list) if !list.is_empty() => self.rules.set(list, value),
                _ => self.set_field(name, value).map(|()| Kept::All),
            },
            None => self.set_field(name, value).map(|()| Kept::All),
        }
    }

    fn set_field(&mut self, name: &str, value: Value<'_>) -> Result<(), ConfigError> {
        let path = Path::read(name);
        let Some(field) = path.field() else {
            return Err(ConfigError { nearest: path.nearest(name), ..ConfigError::of_use(ErrorCode::UnknownField) });
        };
        let place = |error: ConfigError| ConfigError { stage: path.stage, item: path.item, ..error };
        let group = path.item.is_none() && is_group(path.base());
        if path.item.is_some() && field != Field::BackoffDelays {
            return Err(ConfigError {
                stage: path.stage,
                ..ConfigError::new(ErrorCode::WrongType, field, shown(value))
            });
        }
        if let Some(stage) = path.stage {
            self.begin(stage).map_err(place)?;
        }
        if value == Value::Nothing && path.item.is_none() || value == Value::Empty && group {
            return Ok(());
        }
        if field.is_of_stage() {
            self.set_of_stage(path, field, value).map_err(place)
        } else {
            self.set_of_policy(field, value)
        }
    }

    /// Makes sure that there is a stage with that index.
    fn begin(&mut self, stage: u8) -> Result<(), ConfigError> {
        if nth(&mut self.drafts, stage).is_none() {
            return Err(ConfigError::new(ErrorCode::TooManyStages, Field::BackoffKind, Given::Unshown));
        }
        self.chained = 1;
        self.more = self.more.max(stage);
        Ok(())
    }

    fn set_of_stage(&mut self, path: Path<'_>, field: Field, value: Value<'_>) -> Result<(), ConfigError> {
        let index = path.stage.unwrap_or(0);
        if field == Field::BackoffDelays {
            return self.set_delay(index, path.item, value);
        }
        let wrong = ConfigError::new(ErrorCode::WrongType, field, shown(value));
        let draft = nth(&mut self.drafts, index).ok_or(wrong)?;
        match field {
            Field::BackoffInitial => draft.initial = span(field, value)?,
            Field::BackoffFactor | Field::BackoffExponent => draft.factor = number(field, value)?,
            Field::BackoffIncrement => draft.increment = span(field, value)?,
            Field::BackoffMax => draft.max = span_or_none(field, value, Span::MAX.as_nanos())?,
            Field::BackoffTimes => draft.times = times(value)?,
            Field::BackoffOn => draft.on = word(field, value, KINDS)?,
            _ => draft.kind = word(field, value, BACKOFFS)?,
        }
        draft.give(field);
        Ok(())
    }

    /// Adds a delay to a list, or says that there are none.
    fn set_delay(&mut self, stage: u8, item: Option<u8>, value: Value<'_>) -> Result<(), ConfigError> {
        let field = Field::BackoffDelays;
        if value == Value::NoItems {
            return Err(ConfigError::new(ErrorCode::DelaysMissing, field, Given::Unshown));
        }
        let known = self.delay_of.iter().take(usize::from(self.listed)).filter(|of| **of == stage).count();
        if item.map(usize::from) != Some(known) {
            return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
        }
        // The field itself takes a list, so that its rule would say nothing about an item.
        let nanos = span(field, value).map_err(|error| ConfigError { code: ErrorCode::NotADuration, ..error })?;
        if !self.list(stage, nanos) {
            return Err(ConfigError::new(ErrorCode::TooManyStages, field, Given::Unshown));
        }
        if let Some(draft) = nth(&mut self.drafts, stage) {
            draft.give(field);
        }
        Ok(())
    }

    fn set_of_policy(&mut self, field: Field, value: Value<'_>) -> Result<(), ConfigError> {
        let policy = &mut self.policy;
        match field {
            Field::JitterKind => policy.jitter = word(field, value, JITTERS)?,
            Field::JitterFactor => policy.jitter_by = number(field, value)?.to_bits(),
            Field::JitterBound => policy.jitter_by = span(field, value)?,
            Field::Cap => policy.cap = word(field, value, CAPS)?,
            Field::Attempts => policy.attempts = attempts(value)?,
            Field::Deadline => policy.deadline = span_or_none(field, value, UNLIMITED)?,
            Field::MinAttempt => policy.min_attempt = span(field, value)?,
            Field::OnDeadline => policy.on_deadline = word(field, value, ON_DEADLINE)?,
            Field::AttemptTimeout => policy.attempt_timeout = span_or_none(field, value, UNLIMITED)?,
            Field::HintMode => policy.hint_mode = word(field, value, HINT_MODES)?,
            Field::HintMax => policy.hint_max = span_or_none(field, value, Span::MAX.as_nanos())?,
            Field::HintOver => policy.hint_over = word(field, value, HINT_OVERS)?,
            Field::HintReach => policy.hint_reach = span_or_none(field, value, UNLIMITED)?,
            Field::Version => version(value)?,
            _ => self.preset = preset(field, value)?,
        }
        self.given |= field.bit();
        Ok(())
    }
}

/// A field's name with the indexes in it.
#[derive(Clone, Copy)]
struct Path<'n> {
    /// What is before the index of the stage, and what is behind it: `backoff` and `.max`, or the whole and nothing.
    parts: (&'n str, &'n str),
    stage: Option<u8>,
    item: Option<u8>,
}

impl<'n> Path<'n> {
    fn read(name: &'n str) -> Self {
        let (name, item) = indexed(name);
        if item.is_some() && name == "backoff" {
            return Self { parts: (name, ""), stage: item, item: None };
        }
        if let Some((before, rest)) = name.split_once('.')
            && let ("backoff", Some(stage)) = indexed(before)
        {
            let behind = name.get(name.len().saturating_sub(rest.len()).saturating_sub(1)..).unwrap_or_default();
            return Self { parts: ("backoff", behind), stage: Some(stage), item };
        }
        Self { parts: (name, ""), stage: None, item }
    }

    /// What the name is without a field behind the stage.
    fn base(&self) -> &'n str {
        if self.parts.1.is_empty() { self.parts.0 } else { "" }
    }

    fn is(&self, name: &str) -> bool {
        name.strip_prefix(self.parts.0) == Some(self.parts.1)
    }

    fn field(&self) -> Option<Field> {
        NAMES.iter().find(|known| self.is(known.0)).map(|known| known.1)
    }

    fn nearest(&self, name: &str) -> Option<&'static str> {
        if self.stage.is_none() {
            let near = nearest(name, NAMES.iter().map(|known| known.0).chain([RETRY_ON]).chain(SECTIONS));
            // A field of a section that is misspelled.
            return near.or_else(|| nearest(name.split_once('.')?.0, SECTIONS.into_iter()));
        }
        let behind = |known: &'static str| known.strip_prefix("backoff.");
        let near = nearest(self.parts.1.trim_start_matches('.'), NAMES.iter().filter_map(|known| behind(known.0)))?;
        NAMES.iter().map(|known| known.0).find(|known| behind(known) == Some(near))
    }
}

/// A name and the index behind it, `delays[3]`.
pub(crate) fn indexed(name: &str) -> (&str, Option<u8>) {
    let inner = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    // A number has one way to be written here.
    let plain = |index: &str| index == "0" || index.starts_with(|first: char| matches!(first, '1'..='9'));
    match inner.and_then(|(base, index)| Some((base, index.parse().ok().filter(|_| plain(index))?))) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    }
}

fn preset(field: Field, value: Value<'_>) -> Result<u8, ConfigError> {
    let Value::Text(text) = value else {
        return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
    };
    Preset::named(text).map(Preset::code).ok_or_else(|| {
        let nearest = nearest(text, Preset::ALL.iter().map(|preset| preset.name()));
        ConfigError { nearest, ..ConfigError::new(ErrorCode::UnknownWord, field, Given::Unshown) }
    })
}

fn version(value: Value<'_>) -> Result<(), ConfigError> {
    match value {
        Value::Number { value: 1.0, .. } => Ok(()),
        _ => Err(ConfigError::new(ErrorCode::DocumentVersion, Field::Version, shown(value))),
    }
}

fn times(value: Value<'_>) -> Result<u32, ConfigError> {
    whole(ErrorCode::TimesRange, Field::BackoffTimes, value, 1, COUNTED)
}

/// A whole number from `from` to `to`, or the error of a number that is none.
pub(crate) fn whole(code: ErrorCode, field: Field, value: Value<'_>, from: u32, to: u32) -> Result<u32, ConfigError> {
    let Value::Number { value: number, .. } = value else {
        return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
    };
    // The cast saturates, so that whatever is no whole number in range does not come back equal.
    let whole = number as u32;
    if f64::from(whole) == number && whole >= from && whole <= to {
        Ok(whole)
    } else {
        Err(ConfigError::new(code, field, shown(value)))
    }
}

/// Whether there are fields "`name`.something".
fn is_group(name: &str) -> bool {
    NAMES.iter().any(|known| known.0.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

pub(crate) fn word(field: Field, value: Value<'_>, words: &'static [Word]) -> Result<u8, ConfigError> {
    let Value::Text(text) = value else {
        return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
    };
    match words.iter().find(|known| known.0 == text) {
        Some(&(_, number)) => Ok(number),
        None => {
            let nearest = nearest(text, words.iter().map(|known| known.0));
            Err(ConfigError { nearest, ..ConfigError::new(ErrorCode::UnknownWord, field, Given::Unshown) })
        }
    }
}

pub(crate) fn number(field: Field, value: Value<'_>) -> Result<f64, ConfigError> {
    match value {
        Value::Number { value, .. } => Ok(value),
        _ => Err(ConfigError::new(ErrorCode::WrongType, field, shown(value))),
    }
}

pub(crate) fn span(field: Field, value: Value<'_>) -> Result<u64, ConfigError> {
    let span = match value {
        Value::Text(text) => Span::parse(text),
        Value::Number { value, unit } => Span::from_float(value, unit),
        Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Some(Span::from_nanos(nanos)),
        Value::Nanos(_) => None,
        Value::Other | Value::Nothing | Value::Empty | Value::NoItems => {
            return Err(ConfigError::new(ErrorCode::WrongType, field, Given::Unshown));
        }
    };
    match span {
        Some(span) => Ok(span.as_nanos()),
        None => Err(ConfigError::new(ErrorCode::NotADuration, field, shown(value))),
    }
}

/// A time, or the word "none" for `unlimited`.
pub(crate) fn span_or_none(field: Field, value: Value<'_>, unlimited: u64) -> Result<u64, ConfigError> {
    if value == Value::Text("none") { Ok(unlimited) } else { span(field, value) }
}

fn attempts(value: Value<'_>) -> Result<u32, ConfigError> {
    match value {
        Value::Text("forever") => Ok(FOREVER),
        Value::Text(text) => {
            let nearest = nearest(text, core::iter::once("forever"));
            Err(ConfigError { nearest, ..ConfigError::new(ErrorCode::UnknownWord, Field::Attempts, Given::Unshown) })
        }
        _ => whole(ErrorCode::AttemptsRange, Field::Attempts, value, 1, FOREVER.saturating_sub(1)),
    }
}

pub(crate) fn shown(value: Value<'_>) -> Given {
    match value {
        Value::Number { value, .. } => Given::Number(value),
        Value::Nanos(nanos) if nanos <= Span::MAX.as_nanos() => Given::Span(Span::from_nanos(nanos)),
        _ => Given::Unshown,
    }
}

#[cfg(test)]
mod tests;
