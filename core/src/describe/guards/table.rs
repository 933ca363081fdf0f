//! The fields of guards: their names, what each takes, and the words.

use crate::decide::guards::Refusal;
use crate::decide::guards::breaker::config::{BreakerMode, Reopen};
use crate::field::Field;
use crate::value::Word;

/// What a field of a guard takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// One of its words.
    Word,
    /// A length of time.
    Span,
    /// A length of time, or "none" for no limit.
    SpanOrNone,
    /// A number.
    Number,
    /// A whole number in a range, both ends included.
    Whole {
        /// The lowest.
        from: u32,
        /// The highest.
        to: u32,
    },
}

/// No such guard, in the sections that have a kind.
pub(crate) const NONE: u8 = 0;

pub(crate) const TOKEN: u8 = 1;
pub(crate) const THROTTLE: u8 = 2;
pub(crate) const RATIO: u8 = 3;
pub(crate) const SHARE: u8 = 4;
pub(crate) const REQUESTS: u8 = 5;
/// A budget's and a limiter's.
pub(crate) const WINDOW: u8 = 6;

pub(crate) const CONSECUTIVE: u8 = 1;
pub(crate) const COUNT: u8 = 2;
pub(crate) const TIME: u8 = 3;

pub(crate) const GCRA: u8 = 1;
pub(crate) const BUCKET: u8 = 2;
pub(crate) const LOG: u8 = 3;

pub(crate) const CUBIC: u8 = 1;
pub(crate) const AIMD: u8 = 2;

pub(crate) const ALLOW: u8 = 0;
pub(crate) const INNERMOST: u8 = 1;
pub(crate) const OUTERMOST: u8 = 2;
pub(crate) const CAP: u8 = 3;

/// The second word of the fields that have two.
pub(crate) const SECOND: u8 = 1;

const BUDGETS: &[Word] = &[
    ("none", NONE),
    ("token", TOKEN),
    ("throttle", THROTTLE),
    ("ratio", RATIO),
    ("share", SHARE),
    ("requests", REQUESTS),
    ("window", WINDOW),
];
const BREAKERS: &[Word] = &[("none", NONE), ("consecutive", CONSECUTIVE), ("count", COUNT), ("time", TIME)];
const OPEN_TIMES: &[Word] = &[
    ("constant", crate::decide::backoff::CONSTANT),
    ("linear", crate::decide::backoff::LINEAR),
    ("exponential", crate::decide::backoff::EXPONENTIAL),
    ("polynomial", crate::decide::backoff::POLYNOMIAL),
    ("fibonacci", crate::decide::backoff::FIBONACCI),
];
const HINTS: &[Word] = &[("ignore", 0), ("open", SECOND)];
const LIMITERS: &[Word] = &[("none", NONE), ("gcra", GCRA), ("bucket", BUCKET), ("window", WINDOW), ("log", LOG)];
const ADAPTIVES: &[Word] = &[("none", NONE), ("cubic", CUBIC), ("aimd", AIMD)];
const NESTINGS: &[Word] = &[("allow", ALLOW), ("innermost", INNERMOST), ("outermost", OUTERMOST), ("cap", CAP)];

/// The names that a document's guards are under.
pub(crate) const SECTIONS: [&str; 8] =
    ["budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "hedge", "nested"];

/// The first and the last field of each section.
pub(super) const RANGES: [(Field, Field); 8] = [
    (Field::BudgetKind, Field::BudgetLimit),
    (Field::BreakerKind, Field::BreakerRefusal),
    (Field::LimiterKind, Field::LimiterRefusal),
    (Field::BulkheadLimit, Field::BulkheadMaxWait),
    (Field::AdaptiveKind, Field::AdaptiveRefusal),
    (Field::StretchFactor, Field::StretchMinCalls),
    (Field::HedgeDelay, Field::HedgeAttempts),
    (Field::NestedMode, Field::NestedCap),
];

/// Every name a field goes by. The first of a field is its path.
pub(crate) const NAMES: &[(&str, Field)] = &[
    ("budget.kind", Field::BudgetKind),
    ("budget", Field::BudgetKind),
    ("budget.capacity", Field::BudgetCapacity),
    ("budget.cost", Field::BudgetCost),
    ("budget.timeout_cost", Field::BudgetTimeoutCost),
    ("budget.throttled_cost", Field::BudgetThrottledCost),
    ("budget.reward", Field::BudgetReward),
    ("budget.refill", Field::BudgetRefill),
    ("budget.ratio", Field::BudgetRatio),
    ("budget.window", Field::BudgetWindow),
    ("budget.min_per_second", Field::BudgetMinPerSecond),
    ("budget.min_concurrency", Field::BudgetMinConcurrency),
    ("budget.k", Field::BudgetK),
    ("budget.limit", Field::BudgetLimit),
    ("breaker.kind", Field::BreakerKind),
    ("breaker", Field::BreakerKind),
    ("breaker.failures", Field::BreakerFailures),
    ("breaker.size", Field::BreakerSize),
    ("breaker.window", Field::BreakerWindow),
    ("breaker.slots", Field::BreakerSlots),
    ("breaker.failure_rate", Field::BreakerFailureRate),
    ("breaker.slow_after", Field::BreakerSlowAfter),
    ("breaker.slow_rate", Field::BreakerSlowRate),
    ("breaker.min_calls", Field::BreakerMinCalls),
    ("breaker.open_for.kind", Field::BreakerOpenKind),
    ("breaker.open_for", Field::BreakerOpenFor),
    ("breaker.open_for.initial", Field::BreakerOpenFor),
    ("breaker.open_for.delay", Field::BreakerOpenFor),
    ("breaker.open_for.factor", Field::BreakerOpenFactor),
    ("breaker.open_for.increment", Field::BreakerOpenIncrement),
    ("breaker.open_for.exponent", Field::BreakerOpenExponent),
    ("breaker.open_for.max", Field::BreakerOpenMax),
    ("breaker.jitter", Field::BreakerJitter),
    ("breaker.probes", Field::BreakerProbes),
    ("breaker.successes", Field::BreakerSuccesses),
    ("breaker.reopen", Field::BreakerReopen),
    ("breaker.mode", Field::BreakerMode),
    ("breaker.hint", Field::BreakerHint),
    ("breaker.refusal", Field::BreakerRefusal),
    ("limiter.kind", Field::LimiterKind),
    ("limiter", Field::LimiterKind),
    ("limiter.limit", Field::LimiterLimit),
    ("limiter.per", Field::LimiterPer),
    ("limiter.burst", Field::LimiterBurst),
    ("limiter.refusal", Field::LimiterRefusal),
    ("bulkhead.limit", Field::BulkheadLimit),
    ("bulkhead", Field::BulkheadLimit),
    ("bulkhead.queue", Field::BulkheadQueue),
    ("bulkhead.max_wait", Field::BulkheadMaxWait),
    ("adaptive.kind", Field::AdaptiveKind),
    ("adaptive", Field::AdaptiveKind),
    ("adaptive.beta", Field::AdaptiveBeta),
    ("adaptive.scale", Field::AdaptiveScale),
    ("adaptive.smooth", Field::AdaptiveSmooth),
    ("adaptive.increase", Field::AdaptiveIncrease),
    ("adaptive.min_rate", Field::AdaptiveMinRate),
    ("adaptive.max_rate", Field::AdaptiveMaxRate),
    ("adaptive.initial_rate", Field::AdaptiveInitialRate),
    ("adaptive.refusal", Field::AdaptiveRefusal),
    ("stretch.factor", Field::StretchFactor),
    ("stretch", Field::StretchFactor),
    ("stretch.window", Field::StretchWindow),
    ("stretch.min_calls", Field::StretchMinCalls),
    ("hedge.delay", Field::HedgeDelay),
    ("hedge", Field::HedgeDelay),
    ("hedge.percentile", Field::HedgePercentile),
    ("hedge.attempts", Field::HedgeAttempts),
    ("nested.mode", Field::NestedMode),
    ("nested", Field::NestedMode),
    ("nested.cap", Field::NestedCap),
];

/// Whether a name belongs to a guard: what is before its first dot or bracket is a section.
pub(crate) fn is_guard(name: &str) -> bool {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    name.get(..end).is_some_and(|section| SECTIONS.contains(&section))
}

/// What a field takes.
pub(super) const fn takes(field: Field) -> Takes {
    match field {
        Field::BudgetKind
        | Field::BreakerKind
        | Field::BreakerOpenKind
        | Field::BreakerReopen
        | Field::BreakerMode
        | Field::BreakerHint
        | Field::BreakerRefusal
        | Field::LimiterKind
        | Field::LimiterRefusal
        | Field::AdaptiveKind
        | Field::AdaptiveRefusal
        | Field::NestedMode => Takes::Word,
        Field::BudgetWindow
        | Field::BreakerWindow
        | Field::BreakerOpenFor
        | Field::BreakerOpenIncrement
        | Field::LimiterPer
        | Field::StretchWindow
        | Field::HedgeDelay => Takes::Span,
        Field::BreakerSlowAfter | Field::BreakerOpenMax | Field::BulkheadMaxWait => Takes::SpanOrNone,
        Field::BudgetCapacity | Field::BudgetCost | Field::BudgetTimeoutCost | Field::BudgetThrottledCost => {
            Takes::Whole { from: 0, to: 1_000_000 }
        }
        Field::BudgetMinConcurrency | Field::BudgetLimit => Takes::Whole { from: 0, to: u32::MAX },
        Field::BreakerSize => Takes::Whole { from: 1, to: 128 },
        Field::BreakerSlots => Takes::Whole { from: 1, to: 10 },
        Field::BulkheadQueue => Takes::Whole { from: 0, to: 64 },
        Field::HedgeAttempts => Takes::Whole { from: 1, to: 8 },
        Field::BreakerFailures
        | Field::BreakerMinCalls
        | Field::BreakerProbes
        | Field::BreakerSuccesses
        | Field::LimiterBurst
        | Field::BulkheadLimit
        | Field::StretchMinCalls
        | Field::NestedCap => Takes::Whole { from: 1, to: u32::MAX },
        _ => Takes::Number,
    }
}

/// The words of a field, with their numbers; none where it takes no words.
pub(super) const fn words(field: Field) -> &'static [Word] {
    match field {
        Field::BudgetKind => BUDGETS,
        Field::BreakerKind => BREAKERS,
        Field::BreakerOpenKind => OPEN_TIMES,
        Field::BreakerReopen => Reopen::WORDS,
        Field::BreakerMode => BreakerMode::WORDS,
        Field::BreakerHint => HINTS,
        Field::BreakerRefusal | Field::LimiterRefusal | Field::AdaptiveRefusal => Refusal::WORDS,
        Field::LimiterKind => LIMITERS,
        Field::AdaptiveKind => ADAPTIVES,
        Field::NestedMode => NESTINGS,
        _ => &[],
    }
}
