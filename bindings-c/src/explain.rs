//! What a policy does, for people, and what is questionable about it.

use crate::boundary::{answer, look};
use crate::guards::nested::{holdoff_nesting, nesting_of};
use crate::options::{guards_of, holdoff_options, sound};
use crate::policy::holdoff_policy;
use crate::text::print;
use core::ffi::{c_char, c_int};
use core::fmt::Display;
use holdoff_core::{FailureKind, GuardsBuilder, InTime, Lint, LintKind, Nesting, Policy, Row, Span, nested_attempts};

/// In time: the retry comes before the deadline whatever the draws.
pub const HOLDOFF_IN_TIME_ALWAYS: u32 = 1;
/// In time: it does if the draws are small enough.
pub const HOLDOFF_IN_TIME_SOMETIMES: u32 = 2;
/// In time: it does not, not even with the smallest draws.
pub const HOLDOFF_IN_TIME_NEVER: u32 = 3;

/// Lint: retries for ever without a deadline.
pub const HOLDOFF_LINT_FOREVER: u32 = 301;
/// Lint: a factor below 1 makes each delay shorter than the one before.
pub const HOLDOFF_LINT_SHRINKING: u32 = 302;
/// Lint: without jitter, clients that fail together come back together.
pub const HOLDOFF_LINT_NO_JITTER: u32 = 303;
/// Lint: more than 10 attempts.
pub const HOLDOFF_LINT_MANY_ATTEMPTS: u32 = 304;
/// Lint: the sleeps alone take longer than the deadline.
pub const HOLDOFF_LINT_WAIT_ABOVE_DEADLINE: u32 = 305;
/// Lint: not all attempts can happen before the deadline.
pub const HOLDOFF_LINT_UNREACHABLE_ATTEMPTS: u32 = 306;
/// Lint: an attempt may take as long as the whole operation.
pub const HOLDOFF_LINT_ATTEMPT_TIMEOUT_ABOVE_DEADLINE: u32 = 307;
/// Lint: hints are clamped to a wait that never fits before the deadline.
pub const HOLDOFF_LINT_HINT_ABOVE_DEADLINE: u32 = 308;
/// Lint: the sleeps take minutes.
pub const HOLDOFF_LINT_LONG_WAIT: u32 = 309;
/// Lint: hedging without a budget.
pub const HOLDOFF_LINT_HEDGE_WITHOUT_BUDGET: u32 = 310;
/// Lint: a round may have more attempts than the policy allows in all.
pub const HOLDOFF_LINT_HEDGE_ABOVE_ATTEMPTS: u32 = 311;
/// Lint: the second attempt would start when the first one's time is over.
pub const HOLDOFF_LINT_LATE_HEDGE: u32 = 312;
/// Lint: more attempts than the policy may make with the retries around it.
pub const HOLDOFF_LINT_ATTEMPTS_ABOVE_NESTED: u32 = 313;
/// Lint: a call waits for a breaker that stays open for longer than the call may take.
pub const HOLDOFF_LINT_OPEN_ABOVE_DEADLINE: u32 = 314;
/// Lint: the budget never allows a retry.
pub const HOLDOFF_LINT_EMPTY_BUDGET: u32 = 315;
/// Lint: the sleeps alone take longer than the caller waits.
pub const HOLDOFF_LINT_WAIT_ABOVE_TIMEOUT: u32 = 316;
/// Lint: a retry inside a retry multiplies attempts.
pub const HOLDOFF_LINT_NESTED_RETRIES: u32 = 317;

macro_rules! same {
    ($($header:ident = $core:expr),* $(,)?) => { $(const _: () = assert!($header == $core as u32);)* };
}

same! {
    HOLDOFF_IN_TIME_ALWAYS = InTime::Always,
    HOLDOFF_IN_TIME_SOMETIMES = InTime::Sometimes,
    HOLDOFF_IN_TIME_NEVER = InTime::Never,
    HOLDOFF_LINT_FOREVER = LintKind::Forever,
    HOLDOFF_LINT_SHRINKING = LintKind::Shrinking,
    HOLDOFF_LINT_NO_JITTER = LintKind::NoJitter,
    HOLDOFF_LINT_MANY_ATTEMPTS = LintKind::ManyAttempts,
    HOLDOFF_LINT_WAIT_ABOVE_DEADLINE = LintKind::WaitAboveDeadline,
    HOLDOFF_LINT_UNREACHABLE_ATTEMPTS = LintKind::UnreachableAttempts,
    HOLDOFF_LINT_ATTEMPT_TIMEOUT_ABOVE_DEADLINE = LintKind::AttemptTimeoutAboveDeadline,
    HOLDOFF_LINT_HINT_ABOVE_DEADLINE = LintKind::HintAboveDeadline,
    HOLDOFF_LINT_LONG_WAIT = LintKind::LongWait,
    HOLDOFF_LINT_HEDGE_WITHOUT_BUDGET = LintKind::HedgeWithoutBudget,
    HOLDOFF_LINT_HEDGE_ABOVE_ATTEMPTS = LintKind::HedgeAboveAttempts,
    HOLDOFF_LINT_LATE_HEDGE = LintKind::LateHedge,
    HOLDOFF_LINT_ATTEMPTS_ABOVE_NESTED = LintKind::AttemptsAboveNested,
    HOLDOFF_LINT_OPEN_ABOVE_DEADLINE = LintKind::OpenAboveDeadline,
    HOLDOFF_LINT_EMPTY_BUDGET = LintKind::EmptyBudget,
    HOLDOFF_LINT_WAIT_ABOVE_TIMEOUT = LintKind::WaitAboveTimeout,
    HOLDOFF_LINT_NESTED_RETRIES = LintKind::NestedRetries,
}

/// One retry of a policy: what is waited before it, and until then in all, if attempts take no time. Nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct holdoff_row {
    /// The shortest delay, whatever the draws before.
    pub min_ns: u64,
    /// The delay when every draw is 1/2.
    pub typical_ns: u64,
    /// The longest delay, whatever the draws before.
    pub max_ns: u64,
    /// The sum so far when every draw is at the short end.
    pub min_total_ns: u64,
    /// The sum so far when every draw is 1/2.
    pub typical_total_ns: u64,
    /// The sum so far when every draw is at the long end.
    pub max_total_ns: u64,
    /// Which retry, from 1.
    pub retry: u32,
    /// Whether it comes before the deadline: a HOLDOFF_IN_TIME_ number.
    pub in_time: u32,
}

impl From<Row> for holdoff_row {
    fn from(row: Row) -> Self {
        Self {
            min_ns: row.min.as_nanos(),
            typical_ns: row.typical.as_nanos(),
            max_ns: row.max.as_nanos(),
            min_total_ns: row.min_total.as_nanos(),
            typical_total_ns: row.typical_total.as_nanos(),
            max_total_ns: row.max_total.as_nanos(),
            retry: row.retry,
            in_time: row.in_time as u32,
        }
    }
}

/// Writes what the policy does into `text`, at most `size` bytes with the zero at its end: the policy in words, a table of its
/// retries (min, typical and max delay of each, and their sums), and what the linter says. The same text in every language.
///
/// Shown are at most `rows` retries; 0 for as many as there are, up to 100, or 10 of a policy that retries for ever.
///
/// Returns the length of the whole text without the zero, as snprintf does, so that a first call with `text` NULL and `size` 0
/// says how much room it needs; 0 for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_explain(
    policy: *const holdoff_policy,
    rows: u32,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let explained = unsafe { look(policy) }.ok().map(|policy| match rows {
        0 => policy.explain(),
        rows => policy.explain().rows(rows),
    });
    // SAFETY: the header's promise.
    unsafe { print(text, size, explained.as_ref().map(|explained| explained as &dyn Display)) }
}

/// Writes retry number `retry` (from 1) of a policy after failures of `kind` (HOLDOFF_TRANSIENT, ...) to `row` (which may be
/// NULL). Walks there: the work grows with the number.
///
/// Returns whether there is such a retry; false for an unknown kind, and for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_row(
    policy: *const holdoff_policy,
    kind: u32,
    retry: u32,
    row: *mut holdoff_row,
) -> bool {
    // SAFETY: the header's promise.
    let policy = unsafe { look(policy) }.ok().zip(FailureKind::from_code(kind));
    let found = policy.and_then(|(policy, kind)| policy.explain().rows(retry).after(kind).iter().nth(before(retry)?));
    if let Some(found) = found {
        // SAFETY: the header's promise.
        unsafe { answer(row, found.into()) }
    }
    found.is_some()
}

fn before(retry: u32) -> Option<usize> {
    usize::try_from(retry.checked_sub(1)?).ok()
}

/// Writes how long all sleeps take together if no draw spreads them to `ns` (which may be NULL), in nanoseconds. The deadline
/// is not looked at.
///
/// Returns whether there is an end to them; false for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_total_wait(policy: *const holdoff_policy, ns: *mut u64) -> bool {
    // SAFETY: the header's promise.
    let total = unsafe { look(policy) }.ok().and_then(Policy::total_wait);
    if let Some(total) = total {
        // SAFETY: the header's promise.
        unsafe { answer(ns, total.as_nanos()) }
    }
    total.is_some()
}

/// The next thing that is questionable about a policy: the smallest HOLDOFF_LINT_ number above `after` that there is reason
/// for; 0 when there is no other. Begin with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_lint(policy: *const holdoff_policy, after: u32) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(policy) }.map_or(0, |policy| {
        let mut numbers = policy.lints().map(|lint| u32::from(lint.kind.code()));
        numbers.find(|number| *number > after).unwrap_or(0)
    })
}

/// Writes one lint of a policy as a line into `text`, at most `size` bytes with the zero at its end:
/// `warning 304 many_attempts: many attempts keep a caller waiting and a struggling server busy (12, limit 10)`
///
/// Returns the length of the whole line without the zero, as snprintf does; 0 when there is no reason for that lint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_lint_text(
    policy: *const holdoff_policy,
    lint: u32,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let policy = unsafe { look(policy) }.ok();
    let found: Option<Lint> =
        policy.and_then(|policy| policy.lints().find(|found| u32::from(found.kind.code()) == lint));
    // SAFETY: the header's promise.
    unsafe { print(text, size, found.as_ref().map(|found| found as &dyn Display)) }
}

/// Writes HOLDOFF_LINT_WAIT_ABOVE_TIMEOUT as a line into `text`, at most `size` bytes with the zero at its end, if the sleeps of
/// a policy take longer than a caller who waits `timeout_ns` and no longer.
///
/// Returns the length of the whole line without the zero, as snprintf does; 0 when there is no reason for it, and for memory
/// that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_lint_within(
    policy: *const holdoff_policy,
    timeout_ns: u64,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let found = unsafe { look(policy) }.ok().and_then(|policy| {
        let mut lints = policy.lints_within(Span::from_nanos(timeout_ns));
        lints.find(|found| found.kind == LintKind::WaitAboveTimeout)
    });
    // SAFETY: the header's promise.
    unsafe { print(text, size, found.as_ref().map(|found| found as &dyn Display)) }
}

/// Writes how often an operation runs at most that never succeeds, inside the retries of `count` policies, the outermost first,
/// to `attempts` (which may be NULL). `nestings` is NULL or has one of each policy. No deadline, hedge or budget is looked at.
///
/// Returns whether there is an end; false for a null pointer and for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_nested_attempts(
    policies: *const holdoff_policy,
    nestings: *const holdoff_nesting,
    count: usize,
    attempts: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let all = unsafe { retries(policies, nestings, count) }.and_then(nested_attempts);
    if let Some(all) = all {
        // SAFETY: the header's promise.
        unsafe { answer(attempts, all) }
    }
    all.is_some()
}

/// Writes HOLDOFF_LINT_NESTED_RETRIES as a line into `text`, at most `size` bytes with the zero at its end, if more than one of
/// `count` policies retries, each inside the one before it. `nestings` is NULL or has one of each policy.
///
/// Returns the length of the whole line without the zero, as snprintf does; 0 when there is no reason for it, for a null pointer
/// and for memory that holds no policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_nested_lint(
    policies: *const holdoff_policy,
    nestings: *const holdoff_nesting,
    count: usize,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let found = unsafe { retries(policies, nestings, count) }.and_then(Lint::nested);
    // SAFETY: the header's promise.
    unsafe { print(text, size, found.as_ref().map(|found| found as &dyn Display)) }
}

/// What so many policies are to the retries inside them; nothing unless all of them are policies.
///
/// # Safety
/// `policies` is null or points to `count` policies, `nestings` is null or points to as many nestings.
unsafe fn retries<'a>(
    policies: *const holdoff_policy,
    nestings: *const holdoff_nesting,
    count: usize,
) -> Option<impl Iterator<Item = (Option<u32>, Nesting)> + 'a> {
    // SAFETY: the caller vouches for as many as are counted; a null pointer is looked at once and found to be one.
    let attempts = move |at| unsafe { look(policies.wrapping_add(at)) }.map(Policy::attempts);
    if count > 0 && (policies.is_null() || (0..count).any(|at| attempts(at).is_err())) {
        return None;
    }
    Some((0..count).map(move |at| {
        let nesting = if nestings.is_null() { nestings } else { nestings.wrapping_add(at) };
        // SAFETY: as above.
        (attempts(at).unwrap_or_default(), unsafe { nesting_of(nesting) })
    }))
}

/// The same as holdoff_policy_explain for what options describe, with a line for each guard.
///
/// Returns the length of the whole text without the zero, as snprintf does; 0 for options that have a problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_explain(
    options: *const holdoff_options,
    rows: u32,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let described = unsafe { described(options) };
    let explained = described.as_ref().map(|(policy, guards)| match rows {
        0 => policy.explain().guarded(guards),
        rows => policy.explain().rows(rows).guarded(guards),
    });
    // SAFETY: the header's promise.
    unsafe { print(text, size, explained.as_ref().map(|explained| explained as &dyn Display)) }
}

/// The next thing that is questionable about what options describe, their guards included: see holdoff_policy_lint. 0 for options
/// that have a problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_lint(options: *const holdoff_options, after: u32) -> u32 {
    // SAFETY: the header's promise.
    unsafe { described(options) }.map_or(0, |(policy, guards)| {
        let mut numbers = guards.lints(&policy).map(|lint| u32::from(lint.kind.code()));
        numbers.find(|number| *number > after).unwrap_or(0)
    })
}

/// The same as holdoff_policy_lint_text for what options describe, their guards included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_lint_text(
    options: *const holdoff_options,
    lint: u32,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let described = unsafe { described(options) };
    let found =
        described.and_then(|(policy, guards)| guards.lints(&policy).find(|found| u32::from(found.kind.code()) == lint));
    // SAFETY: the header's promise.
    unsafe { print(text, size, found.as_ref().map(|found| found as &dyn Display)) }
}

/// The policy and the guards of options that have no problem.
///
/// # Safety
/// `options` is null or points to options.
unsafe fn described(options: *const holdoff_options) -> Option<(Policy, GuardsBuilder)> {
    // SAFETY: passed on.
    let (policy, guards) = unsafe { (sound(options).ok()?.build().ok()?, guards_of(options).ok()?) };
    guards.check().ok().map(|()| (policy, guards))
}
