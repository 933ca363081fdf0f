//! Every field of a policy and of its guards, one row each: number, path, what it takes, default, kinds, rule and doc.
//!
//! [`Options`](crate::Options) reads, checks and builds by these rows, in every language. The JSON Schema, the tables of
//! docs/policy.md and the typed options of JavaScript and Python are printed from them. Fields stand in the order in which
//! they are written, and in which errors about several of them are told.

pub use crate::field_words::{Range, Takes, Words};
use crate::words::{nth, one_of};
use core::ops::RangeInclusive;

/// The number of "none" or "forever" where a field takes such a word beside its values.
pub(crate) const UNLIMITED: u64 = u64::MAX;
/// The longest [`Span`](crate::Span), for a limit that no delay reaches.
const LONGEST: u64 = i64::MAX as u64;
/// The number of "forever" for attempts.
const FOREVER: u64 = u32::MAX as u64;

macro_rules! words {
    ($first:literal: $word:literal $(, $more:literal)*) => {
        Words::new(concat!(one_of!($word $(, $more)*), "\0", $word $(, "\0", $more)*), $first)
    };
}

const BACKOFFS: Words = words!(1: "constant", "linear", "exponential", "polynomial", "fibonacci", "list", "decorrelated", "decorrelated_v2");
const JITTERS: Words = words!(0: "none", "full", "equal", "additive", "proportional", "bounded", "subtractive");
const CAPS: Words = words!(0: "keep_spread", "before_jitter", "clip");
const ON_DEADLINE: Words = words!(0: "stop", "clip");
const HINT_MODES: Words = words!(0: "floor", "replace", "ignore", "exact", "at_least");
const HINT_OVERS: Words = words!(0: "stop", "clamp", "ignore");
const LIMITS: Words = words!(0: "first", "last");
const DEADLINES_FROM: Words = words!(0: "start", "first_failure");
const DELAYS_FROM: Words = words!(0: "failure", "start");
const PRESETS: Words = words!(1:
    "default", "langgraphgo", "langgraphgo-graph", "kubernetes", "aster", "aws-standard-2.0", "aws-standard-2.1", "grpc",
    "temporal", "google-cloud", "resilience4j", "polly", "chromium", "tenacity-random-exponential", "aws-adaptive",
    "llm"
);
const BUDGETS: Words = words!(0: "none", "token", "throttle", "ratio", "share", "requests", "window", "default");
const RETURNS: Words = words!(0: "last", "all");
const BREAKERS: Words = words!(0: "none", "consecutive", "count", "time");
const OPEN_TIMES: Words = words!(1: "constant", "linear", "exponential", "polynomial", "fibonacci");
const REOPENS: Words = words!(0: "first", "streak");
const MODES: Words = words!(0: "enforce", "observe");
const HINTS: Words = words!(0: "ignore", "open");
const REFUSALS: Words = words!(0: "stop", "wait");
const RAMPS: Words = words!(0: "double", "none");
const LIMITERS: Words = words!(0: "none", "gcra", "bucket", "window", "log");
const ADAPTIVES: Words = words!(0: "none", "cubic", "aimd");
const NESTINGS: Words = words!(0: "allow", "innermost", "outermost", "cap");

/// A field's row.
struct Row {
    /// `Takes::unit`.
    unit: u8,
    /// The number that stands for a field that is not given.
    default: Option<u64>,
    /// The kinds of the section that have a use for it, one bit each by number: unless listed all but 0, which is "none".
    kinds: u16,
}

pub(crate) const fn millis(millis: u64) -> u64 {
    millis.saturating_mul(1_000_000)
}

pub(crate) const fn seconds(seconds: u64) -> u64 {
    millis(seconds.saturating_mul(1000))
}

pub(crate) const fn real(number: f64) -> u64 {
    number.to_bits()
}

/// `Name = number "path" ["alias" ...] (what it takes), default number, but note, for WORDS kinds, rule text;`. Everything behind the
/// brackets may be left out.
macro_rules! fields {
    (@takes word $words:ident) => { Takes::Word($words) };
    (@takes span) => { Takes::Span { from: 0 } };
    (@takes span above zero) => { Takes::Span { from: 1 } };
    (@takes span or none = $none:expr) => { Takes::SpanOrNone { from: 0, none: $none } };
    (@takes span above zero or none = $none:expr) => { Takes::SpanOrNone { from: 1, none: $none } };
    (@takes number from $from:literal) => { Takes::Number(Range::From($from)) };
    (@takes number above zero) => { Takes::Number(Range::AboveZero) };
    (@takes share) => { Takes::Number(Range::Share) };
    (@takes whole $from:literal to $to:literal) => { Takes::WholeNumber($from, $to) };
    (@takes attempts) => { Takes::Attempts };
    (@takes spans) => { Takes::Spans };
    (@takes span or $most:literal spans) => { Takes::SpanOrSpans($most) };
    (@takes version) => { Takes::Version };
    (@takes flag) => { Takes::Flag };
    (@rule [$rule:literal] $($takes:tt)+) => { $rule };
    (@rule [] whole $from:literal to $to:literal) => { concat!("must be a whole number from ", $from, " to ", $to) };
    (@rule [] number above zero) => { "must be a finite number above 0" };
    (@rule [] $($takes:tt)+) => { "" };
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
    (@kinds) => { !1 };
    (@kinds $words:ident [$($kind:literal)+]) => { $words.bits(&[$($kind),+]) };
    (@note) => { "" };
    (@note $note:literal) => { $note };
    ($(
        $(#[doc = $doc:literal])+
        $name:ident = $code:literal $path:literal [$($alias:literal)*] ($($takes:tt)+)
        $(, default $default:expr)? $(, but $note:literal)? $(, for $words:ident $kinds:tt)? $(, rule $rule:literal)?;
    )+) => {
        /// A field of a policy or of a guard, by the number it has in every language.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum Field {
            $(
                #[doc = concat!("`", $path, "`:")]
                $(#[doc = $doc])+
                $name = $code,
            )+
        }

        impl Field {
            /// Every field, in the order in which a document has them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            const fn row(self) -> &'static Row {
                match self {
                    $(Self::$name => &const { Row {
                        unit: fields!(@takes $($takes)+).unit(),
                        default: fields!(@default $($default)?),
                        kinds: fields!(@kinds $($words $kinds)?),
                    } },)+
                }
            }

            /// The rule in words where `takes` does not say it all, the path, and the other names. No part of the row, so that a
            /// build that asks for no text has none.
            const fn texts(self) -> &'static str {
                match self {
                    $(Self::$name => concat!(fields!(@rule [$($rule)?] $($takes)+), "\0", $path $(, "\0", $alias)*),)+
                }
            }

            /// The values that the field takes.
            pub const fn takes(self) -> Takes {
                match self {
                    $(Self::$name => fields!(@takes $($takes)+),)+
                }
            }

            /// The field with that number.
            pub(crate) const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)+
                    _ => None,
                }
            }

            /// The meaning of the field, in a sentence.
            pub const fn doc(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc),+),)+
                }
            }

            /// A note on the default: some kinds have another one, or it is the value of another field.
            pub const fn default_note(self) -> &'static str {
                match self {
                    $(Self::$name => fields!(@note $($note)?),)+
                }
            }
        }
    };
}

fields! {
    /// How delays grow from one failure to the next.
    BackoffKind = 1 "backoff.kind" ["backoff"] (word BACKOFFS), default 3;
    /// The first delay.
    BackoffInitial = 2 "backoff.initial" ["backoff.delay"] (span), default millis(100),
        for BACKOFFS ["constant" "linear" "exponential" "polynomial" "fibonacci" "decorrelated" "decorrelated_v2"];
    /// Multiplies the delay after each failure.
    BackoffFactor = 3 "backoff.factor" [] (number from 0.0), default real(2.0), but "decorrelated: 3", for BACKOFFS ["exponential" "decorrelated"];
    /// Is added to the delay after each failure.
    BackoffIncrement = 4 "backoff.increment" [] (span), but "the first delay", for BACKOFFS ["linear"];
    /// The longest delay.
    BackoffMax = 5 "backoff.max" [] (span or none = LONGEST), default seconds(5), but "at least ten times a first delay that is given",
        for BACKOFFS ["linear" "exponential" "polynomial" "fibonacci" "decorrelated" "decorrelated_v2"];
    /// The exponent of the growing delay.
    BackoffExponent = 16 "backoff.exponent" [] (number from 0.0), default real(2.0), for BACKOFFS ["polynomial"];
    /// The number of delays before the next stage takes over.
    BackoffTimes = 17 "backoff.times" [] (whole 1 to 268435455), but "the last stage stays",
        for BACKOFFS ["constant" "linear" "exponential" "polynomial" "fibonacci" "decorrelated" "decorrelated_v2"];
    /// The shortest delay; jitter stays uniform above it.
    BackoffFloor = 18 "backoff.floor" [] (span), default 0, for BACKOFFS ["constant" "linear" "exponential" "polynomial" "fibonacci" "list"];
    /// Is added to each delay after the jitter, before the cap.
    BackoffOffset = 85 "backoff.offset" [] (span), default 0;
    /// The base of the first power: the first delay is `initial` times this to the exponent.
    BackoffFrom = 86 "backoff.from" [] (whole 0 to 65535), default 1, for BACKOFFS ["polynomial"];
    /// The time since the start after which the next stage takes over; that of the last stage ends the operation.
    BackoffUntil = 87 "backoff.until" [] (span above zero), but "a stage ends by its delays only";
    /// Continues with the first stage after the last one.
    BackoffRepeat = 88 "backoff.repeat" [] (flag), default 0;
    /// The delays, at most 64. `attempts` defaults to one more.
    BackoffDelays = 19 "backoff.delays" [] (spans), for BACKOFFS ["list"];
    /// How delays are randomised, so that clients do not retry at the same moment.
    JitterKind = 6 "jitter.kind" ["jitter"] (word JITTERS), default 1;
    /// The part of the delay that is random.
    JitterFactor = 7 "jitter.factor" [] (number from 0.0), for JITTERS ["additive" "proportional" "subtractive"];
    /// The most that is added to a delay.
    JitterBound = 20 "jitter.bound" [] (span), for JITTERS ["bounded"];
    /// Multiplies the bound by the number of the delay, from 1.
    JitterGrows = 89 "jitter.grows" [] (flag), default 0, for JITTERS ["bounded"];
    /// How `backoff.max` limits a delay: after jitter with its spread kept, before jitter, or by cutting off the jittered delay.
    Cap = 21 "cap" [] (word CAPS), default 0;
    /// The number of attempts, including the first.
    Attempts = 8 "attempts" [] (attempts), default 3,
        but "one more than the delays of a backoff that ends; forever with a deadline";
    /// The number of attempts in all, including failures that rules count themselves.
    Total = 90 "total" [] (attempts), default FOREVER;
    /// The time limit of the whole operation, sleeps included.
    Deadline = 9 "deadline" [] (span above zero or none = UNLIMITED), default UNLIMITED;
    /// When the deadline begins to count: at the first attempt, or at the first failure.
    DeadlineFrom = 92 "deadline_from" [] (word DEADLINES_FROM), default 0;
    /// Whether the operation ends when the `first` of attempts and deadline is used up, or the `last`.
    Limits = 91 "limits" [] (word LIMITS), default 0;
    /// An attempt starts only if this much time is left before the deadline.
    MinAttempt = 10 "min_attempt" [] (span), default 0;
    /// If the next attempt would start too late: give up at once, or sleep less for a last attempt (needs `min_attempt`).
    OnDeadline = 11 "on_deadline" [] (word ON_DEADLINE), default 0;
    /// The time limit of one attempt.
    AttemptTimeout = 12 "attempt_timeout" [] (span above zero or none = UNLIMITED), default UNLIMITED;
    /// Aborts the running attempt at the deadline. If false, the deadline only prevents further attempts.
    AbortAtDeadline = 93 "abort_at_deadline" [] (flag), default 1;
    /// When a delay begins to count: at the failure, or at the start of the failed attempt.
    DelayFrom = 94 "delay_from" [] (word DELAYS_FROM), default 0;
    /// If an attempt runs this long before it fails, counts, delays and deadline start anew.
    ResetAfter = 95 "reset_after" [] (span above zero or none = UNLIMITED), default UNLIMITED;
    /// How a server's Retry-After is used: the delay is never shorter; it replaces the delay and gets the jitter; it is ignored; it is the delay exactly; or the longer of both counts.
    HintMode = 13 "hint.mode" ["hint"] (word HINT_MODES), default 0;
    /// The longest Retry-After that is obeyed.
    HintMax = 14 "hint.max" [] (span or none = LONGEST), default seconds(60);
    /// What happens at a Retry-After above `hint.max`: give up, wait for `hint.max`, or ignore it, and a Retry-After of 0 too.
    HintOver = 15 "hint.over" [] (word HINT_OVERS), default 0;
    /// How much longer than the policy's own delay Retry-After may make it.
    HintReach = 22 "hint.reach" [] (span or none = UNLIMITED), default UNLIMITED;
    /// The named policy that the other fields change.
    Preset = 23 "preset" [] (word PRESETS), default 1;
    /// The version of the document's format.
    Version = 24 "version" [] (version), default 1;

    /// How the budget counts retries.
    BudgetKind = 25 "budget.kind" ["budget"] (word BUDGETS), default 3;
    /// The most tokens, and the tokens at first.
    BudgetCapacity = 26 "budget.capacity" [] (whole 0 to 1000000), default 500, but "throttle: 10, default: 20",
        for BUDGETS ["token" "throttle" "default"], rule "must be a whole number from 0 to 1000000, for a throttle 1 or more";
    /// The tokens that a retry costs.
    BudgetCost = 27 "budget.cost" [] (whole 0 to 1000000), default 5, for BUDGETS ["token"];
    /// The tokens that a retry costs after a timeout.
    BudgetTimeoutCost = 28 "budget.timeout_cost" [] (whole 0 to 1000000), but "the cost", for BUDGETS ["token"];
    /// The tokens that a retry costs after throttling.
    BudgetThrottledCost = 29 "budget.throttled_cost" [] (whole 0 to 1000000), but "the cost", for BUDGETS ["token"];
    /// The tokens that a success gives, rounded to three decimals; if `returns` is `last`, only a success without a retry.
    BudgetReward = 30 "budget.reward" [] (number from 0.0), default real(1.0), but "throttle: 0.1", for BUDGETS ["token" "throttle"];
    /// The tokens that return each second.
    BudgetRefill = 31 "budget.refill" [] (number from 0.0), default real(0.0), for BUDGETS ["token"];
    /// The retries allowed for each call.
    BudgetRatio = 32 "budget.ratio" [] (number from 0.0), default real(0.1), but "share: 0.2", for BUDGETS ["ratio" "share"];
    /// How far back calls count.
    BudgetWindow = 33 "budget.window" [] (span above zero), default seconds(10), but "requests: 2m", for BUDGETS ["ratio" "requests" "window"];
    /// The retries per second that are always allowed.
    BudgetMinPerSecond = 34 "budget.min_per_second" [] (number from 0.0), default real(0.1), for BUDGETS ["ratio"];
    /// The concurrent retries that are always allowed.
    BudgetMinConcurrency = 35 "budget.min_concurrency" [] (whole 0 to 4294967295), default 3, for BUDGETS ["share"];
    /// The requests allowed for each one that the server accepts.
    BudgetK = 36 "budget.k" [] (number from 0.0), default real(2.0), for BUDGETS ["requests"];
    /// The retries in a window.
    BudgetLimit = 37 "budget.limit" [] (whole 0 to 4294967295), for BUDGETS ["window"];
    /// The tokens that a retry costs if it waits for Retry-After.
    BudgetHintedCost = 97 "budget.hinted_cost" [] (whole 0 to 1000000), but "the cost after its failure", for BUDGETS ["token"];
    /// For this long after the budget was full, every retry is allowed; it takes the tokens that are left.
    BudgetGrace = 98 "budget.grace" [] (span), default 0, for BUDGETS ["token"];
    /// The tokens that a success returns: the last cost of its call, or all of them and then the reward.
    BudgetReturns = 99 "budget.returns" [] (word RETURNS), default 0, for BUDGETS ["token"];

    /// What opens the breaker: failures in a row, or a share of the latest calls or of the calls in a window.
    BreakerKind = 38 "breaker.kind" ["breaker"] (word BREAKERS), default 1;
    /// The failures in a row that open the breaker.
    BreakerFailures = 39 "breaker.failures" [] (whole 1 to 4294967295), default 5, for BREAKERS ["consecutive"];
    /// The number of latest calls that count.
    BreakerSize = 40 "breaker.size" [] (whole 1 to 128), default 100, for BREAKERS ["count"];
    /// How far back calls count.
    BreakerWindow = 41 "breaker.window" [] (span above zero), default seconds(30), for BREAKERS ["time"];
    /// The number of parts of the window.
    BreakerSlots = 42 "breaker.slots" [] (whole 1 to 10), default 10, for BREAKERS ["time"];
    /// The share of failures that opens the breaker.
    BreakerFailureRate = 43 "breaker.failure_rate" [] (share), default real(0.5), for BREAKERS ["count" "time"];
    /// A call that takes this long or longer is slow.
    BreakerSlowAfter = 44 "breaker.slow_after" [] (span or none = LONGEST), default LONGEST, for BREAKERS ["count" "time"];
    /// The share of slow calls that opens the breaker; needs `slow_after`.
    BreakerSlowRate = 45 "breaker.slow_rate" [] (share), but "slow calls do not count", for BREAKERS ["count" "time"];
    /// With fewer calls, no share counts.
    BreakerMinCalls = 46 "breaker.min_calls" [] (whole 1 to 4294967295), default 10, but "at most the size",
        for BREAKERS ["count" "time"], rule "must be a whole number from 1 to 4294967295, at most the size of a count";
    /// How the open time grows with each opening in a row.
    BreakerOpenKind = 47 "breaker.open_for.kind" [] (word OPEN_TIMES), default 1;
    /// How long the breaker stays open; or a list with a time for each opening in a row, whose last one repeats.
    BreakerOpenFor = 48 "breaker.open_for" ["breaker.open_for.initial" "breaker.open_for.delay"] (span or 8 spans), default seconds(30);
    /// Multiplies the open time at each opening in a row.
    BreakerOpenFactor = 49 "breaker.open_for.factor" [] (number from 0.0), default real(2.0), for OPEN_TIMES ["exponential"];
    /// Is added to the open time at each opening in a row.
    BreakerOpenIncrement = 50 "breaker.open_for.increment" [] (span), but "the open time at first", for OPEN_TIMES ["linear"];
    /// The exponent of the growing open time.
    BreakerOpenExponent = 51 "breaker.open_for.exponent" [] (number from 0.0), default real(2.0), for OPEN_TIMES ["polynomial"];
    /// The longest open time.
    BreakerOpenMax = 52 "breaker.open_for.max" [] (span or none = LONGEST), default LONGEST,
        for OPEN_TIMES ["linear" "exponential" "polynomial" "fibonacci"];
    /// An open time is lengthened at random by up to this part of itself.
    BreakerJitter = 53 "breaker.jitter" [] (number from 0.0), default real(0.0);
    /// The calls that may try a half-open breaker at once.
    BreakerProbes = 54 "breaker.probes" [] (whole 1 to 4294967295), default 1;
    /// The successes in a row that close a half-open breaker.
    BreakerSuccesses = 55 "breaker.successes" [] (whole 1 to 4294967295), default 1;
    /// The failed probes that do not open it again: 3, with 10 probes and 7 successes, if 3 of 10 may fail.
    BreakerProbeFailures = 96 "breaker.probe_failures" [] (whole 0 to 4294967295), default 0;
    /// What opens a half-open breaker again: the first failure, or as many in a row as `failures`.
    BreakerReopen = 56 "breaker.reopen" [] (word REOPENS), default 0, for BREAKERS ["consecutive"];
    /// Whether the breaker refuses calls, or only counts what it would refuse.
    BreakerMode = 57 "breaker.mode" [] (word MODES), default 0;
    /// Whether a Retry-After opens the breaker.
    BreakerHint = 58 "breaker.hint" [] (word HINTS), default 0;
    /// A refused call gives up, or sleeps until the breaker lets it through.
    BreakerRefusal = 59 "breaker.refusal" [] (word REFUSALS), default 0;
    /// How waiting calls start when the breaker closes: one, two, four and so on as they succeed, at most 32 in 10 ms; or all at once.
    BreakerRamp = 100 "breaker.ramp" [] (word RAMPS), default 0;

    /// How calls are counted.
    LimiterKind = 60 "limiter.kind" ["limiter"] (word LIMITERS), default 1;
    /// The calls allowed in each `per`.
    LimiterLimit = 61 "limiter.limit" [] (number from 0.0),
        rule "must be a whole number from 1 to 4294967295, for a log to 1000000, for a bucket any number, 0 or more";
    /// The period of the limit.
    LimiterPer = 62 "limiter.per" [] (span above zero), default seconds(1);
    /// The calls that may come at once.
    LimiterBurst = 63 "limiter.burst" [] (whole 1 to 4294967295), but "the limit", for LIMITERS ["gcra" "bucket"];
    /// A refused call gives up, or sleeps until the limiter lets it through.
    LimiterRefusal = 64 "limiter.refusal" [] (word REFUSALS), default 0;

    /// The attempts that may run at once.
    BulkheadLimit = 65 "bulkhead.limit" ["bulkhead"] (whole 1 to 4294967295);
    /// The calls that may wait for a place.
    BulkheadQueue = 66 "bulkhead.queue" [] (whole 0 to 65536), default 0;
    /// The longest wait for a place.
    BulkheadMaxWait = 67 "bulkhead.max_wait" [] (span or none = LONGEST), default LONGEST;

    /// How the rate moves.
    AdaptiveKind = 68 "adaptive.kind" ["adaptive"] (word ADAPTIVES), default 1;
    /// Multiplies the rate at each throttling.
    AdaptiveBeta = 69 "adaptive.beta" [] (share), default real(0.7), but "aimd: 0.5";
    /// How fast a cubic rate grows, in calls per second for each cubed second.
    AdaptiveScale = 70 "adaptive.scale" [] (number above zero), default real(0.4), for ADAPTIVES ["cubic"];
    /// The weight of the latest half second in the measured rate.
    AdaptiveSmooth = 71 "adaptive.smooth" [] (share), default real(0.8), for ADAPTIVES ["cubic"];
    /// The calls per second that each success adds to the rate.
    AdaptiveIncrease = 72 "adaptive.increase" [] (number from 0.0), default real(1.0), for ADAPTIVES ["aimd"];
    /// The lowest rate, in calls per second.
    AdaptiveMinRate = 73 "adaptive.min_rate" [] (number above zero), default real(0.5);
    /// The highest rate, in calls per second.
    AdaptiveMaxRate = 74 "adaptive.max_rate" [] (number above zero), default real(1000.0), for ADAPTIVES ["aimd"],
        rule "must be a finite number, not below min_rate";
    /// The first rate, in calls per second.
    AdaptiveInitialRate = 75 "adaptive.initial_rate" [] (number above zero), default real(10.0), for ADAPTIVES ["aimd"],
        rule "must be a number from min_rate to max_rate";
    /// A refused call gives up, or sleeps until there is a token.
    AdaptiveRefusal = 76 "adaptive.refusal" [] (word REFUSALS), default 0;

    /// Multiplies delays when every attempt fails; in proportion when fewer fail.
    StretchFactor = 77 "stretch.factor" ["stretch"] (number from 1.0), rule "must be a finite number, 1 or more";
    /// How far back attempts count.
    StretchWindow = 78 "stretch.window" [] (span above zero), default seconds(30);
    /// With fewer attempts, delays stay as they are.
    StretchMinCalls = 79 "stretch.min_calls" [] (whole 1 to 4294967295), default 10;

    /// How long an attempt runs before the next one starts beside it.
    HedgeDelay = 80 "hedge.delay" ["hedge"] (span);
    /// The share of attempts that end before the next one starts; replaces `delay` once enough attempts are measured.
    HedgePercentile = 81 "hedge.percentile" [] (share), but "the delay alone counts";
    /// The number of attempts in a round, including the first.
    HedgeAttempts = 82 "hedge.attempts" [] (whole 1 to 8), default 2;

    /// The longest pause after a Retry-After.
    PauseMax = 101 "pause.max" ["pause"] (span or none = LONGEST), default seconds(60);
    /// A call during a pause sleeps until its turn, or gives up.
    PauseRefusal = 102 "pause.refusal" [] (word REFUSALS), default 1;

    /// What a retry does inside another one.
    NestedMode = 83 "nested.mode" ["nested"] (word NESTINGS), default 0;
    /// The attempts that nested retries may make together.
    NestedCap = 84 "nested.cap" [] (whole 1 to 4294967295), for NESTINGS ["cap"];
}

/// Fields with a name in common, by the numbers of the first and the last, and some behind. The first one says the kind, where there are kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// The name: what the paths of its fields begin with.
    pub name: &'static str,
    /// The field that may stand for the whole section.
    pub first: Field,
    last: Field,
    /// Its fields whose numbers are behind those of the other sections.
    late: &'static [Field],
}

impl Section {
    const fn new(name: &'static str, first: Field, last: Field) -> Self {
        Self { name, first, last, late: &[] }
    }

    pub(crate) const BUDGET: Self = Self {
        late: &[Field::BudgetHintedCost, Field::BudgetGrace, Field::BudgetReturns],
        ..Self::new("budget", Field::BudgetKind, Field::BudgetLimit)
    };
    pub(crate) const BREAKER: Self = Self {
        late: &[Field::BreakerProbeFailures, Field::BreakerRamp],
        ..Self::new("breaker", Field::BreakerKind, Field::BreakerRefusal)
    };
    pub(crate) const LIMITER: Self = Self::new("limiter", Field::LimiterKind, Field::LimiterRefusal);
    pub(crate) const BULKHEAD: Self = Self::new("bulkhead", Field::BulkheadLimit, Field::BulkheadMaxWait);
    pub(crate) const ADAPTIVE: Self = Self::new("adaptive", Field::AdaptiveKind, Field::AdaptiveRefusal);
    pub(crate) const STRETCH: Self = Self::new("stretch", Field::StretchFactor, Field::StretchMinCalls);
    pub(crate) const HEDGE: Self = Self::new("hedge", Field::HedgeDelay, Field::HedgeAttempts);
    pub(crate) const PAUSE: Self = Self::new("pause", Field::PauseMax, Field::PauseRefusal);
    pub(crate) const NESTED: Self = Self::new("nested", Field::NestedMode, Field::NestedCap);
    /// The group within a breaker.
    pub(crate) const OPEN_FOR: Self = Self::new("breaker.open_for", Field::BreakerOpenKind, Field::BreakerOpenMax);

    /// The sections of guards, in the order of a document; the last one is that of nesting.
    pub const GUARDS: &[Self] = &[
        Self::BUDGET,
        Self::BREAKER,
        Self::LIMITER,
        Self::BULKHEAD,
        Self::ADAPTIVE,
        Self::STRETCH,
        Self::HEDGE,
        Self::PAUSE,
        Self::NESTED,
    ];

    const fn numbers(&self) -> RangeInclusive<u8> {
        self.first.code()..=self.last.code()
    }

    /// True for a field of the section.
    pub(crate) fn has(&self, field: Field) -> bool {
        self.numbers().contains(&field.code()) || self.late.contains(&field)
    }

    /// The section's fields.
    pub(crate) fn fields(self) -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(move |field| self.has(*field))
    }
}

impl Field {
    /// The field's number, the same in every language.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The field's path in a document.
    pub const fn path(self) -> &'static str {
        nth(self.texts(), 1)
    }

    /// [`Takes::unit`], without a look at the words.
    pub(crate) const fn unit(self) -> u8 {
        self.row().unit
    }

    /// The number that stands for the field where it is not given: nanoseconds, a word's number, a whole number or the bits of
    /// a double. `None` where there is nothing, or another field.
    pub const fn default(self) -> Option<u64> {
        self.row().default
    }

    /// The number that stands for the field where it is not given, 0 without one.
    pub(crate) const fn default_number(self) -> u64 {
        match self.default() {
            Some(number) => number,
            None => 0,
        }
    }

    /// True if every kind that has a use for the field needs it.
    pub const fn is_needed(self) -> bool {
        self.default().is_none() && self.default_note().is_empty()
    }

    /// True if the kind with that number has a use for the field.
    pub const fn fits(self, kind: u8) -> bool {
        self.row().kinds.wrapping_shr(kind as u32) & 1 == 1
    }

    /// The rule in words, where the row has one; else empty.
    pub(crate) const fn row_rule(self) -> &'static str {
        match self.takes() {
            Takes::Word(words) => nth(words.texts, 0),
            _ => nth(self.texts(), 0),
        }
    }

    /// Every name that [`Options::set`](crate::Options::set) knows, with the field it means. The first of a field is its path.
    pub fn names() -> impl Iterator<Item = (&'static str, Self)> + Clone {
        let names = |field: &Self| {
            let field = *field;
            field.texts().split('\0').skip(1).map(move |name| (name, field))
        };
        Self::ALL.iter().flat_map(names)
    }

    /// The words of a field that takes words; none of every other field.
    pub fn words(self) -> impl Iterator<Item = &'static str> + Clone {
        let words = match self.takes() {
            Takes::Word(words) => words,
            _ => Words { texts: "", first: 0 },
        };
        words.iter().map(|word| word.0)
    }

    /// The word with that number, the first one of any other number.
    pub(crate) const fn word(self, number: u8) -> &'static str {
        let Takes::Word(words) = self.takes() else { return "" };
        let word = words.word(number);
        if word.is_empty() { words.word(words.first) } else { word }
    }

    /// True for a field of a guard.
    pub const fn is_guards(self) -> bool {
        self.code() >= Self::BreakerProbeFailures.code()
            || self.code() >= Self::BudgetKind.code() && self.code() <= Self::NestedCap.code()
    }

    /// True if each stage of the backoff has its own value.
    pub(crate) const fn is_stages(self) -> bool {
        matches!(self.code(), 1..=5 | 16..=19 | 85..=88)
    }

    /// True if a document has the field at its top, beside the sections: the cap and the limits.
    pub(crate) const fn is_policys(self) -> bool {
        matches!(self.code(), 8..=12 | 21 | 90..=95)
    }

    /// True if only some kinds of jitter have a use for the field.
    pub(crate) const fn is_of_jitter(self) -> bool {
        matches!(self, Self::JitterFactor | Self::JitterBound | Self::JitterGrows)
    }

    /// True if a stage or a rule may have its own value beside the policy's.
    pub(crate) const fn is_shared(self) -> bool {
        matches!(self.code(), 6 | 7 | 13..=15 | 20..=22 | 89)
    }
}

/// True if a name belongs to a guard: the part before its first dot or bracket is the name of a section.
pub fn is_guard(name: &str) -> bool {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    name.get(..end).is_some_and(|section| Section::GUARDS.iter().any(|known| known.name == section))
}

#[cfg(test)]
mod tests;
