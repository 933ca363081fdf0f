//! Policies explained for people, and lints about them.

use crate::*;

c_struct! {
    /// One retry of a policy: what is waited before it, and until then in all, if attempts take no time. Nanoseconds.
    holdoff_row from row: Row {
        /// The shortest delay, whatever the draws before.
        min_ns: u64 = row.min.as_nanos(),
        /// The delay when every draw is 1/2.
        typical_ns: u64 = row.typical.as_nanos(),
        /// The longest delay, whatever the draws before.
        max_ns: u64 = row.max.as_nanos(),
        /// The sum so far when every draw is at the short end.
        min_total_ns: u64 = row.min_total.as_nanos(),
        /// The sum so far when every draw is 1/2.
        typical_total_ns: u64 = row.typical_total.as_nanos(),
        /// The sum so far when every draw is at the long end.
        max_total_ns: u64 = row.max_total.as_nanos(),
        /// The number of the retry, from 1.
        retry: u32 = row.retry,
        /// A HOLDOFF_IN_TIME_ number: does the retry come before the deadline?
        in_time: u32 = row.in_time as u32,
    }
}

extern_c! {
    on holdoff_policy as policy;

    /// Writes what the policy does into `text`, at most `size` bytes with the zero at its end: the policy in words, a table
    /// of its retries (min, typical and max delay of each, and their sums), and what the linter says. The same text in
    /// every language.
    ///
    /// Shown are at most `rows` retries; 0 for as many as there are, up to 100, or 10 of a policy that retries for ever.
    ///
    /// Returns the length of the whole text without the zero, as snprintf does, so that a first call with `text` NULL and
    /// `size` 0 says how much room it needs; 0 for memory without a policy.
    fn holdoff_policy_explain(policy, rows: u32, text: *mut c_char, size) -> c_int =
        print(text, size, get(policy).ok().map(|policy| explained(policy, rows)));

    /// Writes retry number `retry` (from 1) of a policy after failures of `kind` (HOLDOFF_TRANSIENT, ...) to `row` (which
    /// may be NULL). Walks there: the work grows with the number.
    ///
    /// Returns whether there is such a retry; false for an unknown kind, and for memory without a policy.
    get holdoff_policy_row(kind: u32, retry: u32, row: *mut holdoff_row) -> bool = {
        let explained = policy.explain().rows(retry).after(kind_of(kind)?);
        let at = retry.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        write_some(row, at.and_then(|at| explained.iter().nth(at)).map(holdoff_row::from))
    }, else false;

    /// Writes how long all sleeps take together if no draw spreads them to `ns` (which may be NULL), in nanoseconds. The
    /// deadline is not looked at.
    ///
    /// Returns whether there is an end to them; false for memory without a policy.
    get holdoff_policy_total_wait(ns: *mut Span) -> bool = write_some(ns, policy.total_wait()), else false;

    /// Finds the next lint of a policy: the one with the smallest HOLDOFF_LINT_ number above `after`; begin with 0. Writes it
    /// as a line into `text`, at most `size` bytes with the zero at its end; NULL and 0 for no text:
    /// `warning 304 many_attempts: many attempts keep a caller waiting and a struggling server busy (12, limit 10)`
    ///
    /// A caller who waits `timeout_ns` and no longer is one reason more for a lint, HOLDOFF_LINT_WAIT_ABOVE_TIMEOUT;
    /// HOLDOFF_NEVER for a caller who waits for ever.
    ///
    /// Returns its number; 0 if there is no other lint, and for memory without a policy.
    get holdoff_policy_lint(timeout_ns: u64, after: u32, text: *mut c_char, size) -> u32 = {
        let waits = |lint: &Lint| lint.kind != LintKind::WaitAboveTimeout || timeout_ns != HOLDOFF_NEVER;
        next_lint(&mut policy.lints_within(span(timeout_ns)).filter(waits), after, text, size)
    }, else 0;

    /// Writes how often an operation runs at most that never succeeds, inside the retries of `count` policies, the
    /// outermost first, to `attempts` (which may be NULL). `nestings` is NULL or has one of each policy. No deadline, hedge
    /// or budget is looked at.
    ///
    /// Returns whether there is an end; false for a null pointer and for memory without a policy.
    fn holdoff_nested_attempts(policies: *const holdoff_policy, nestings: *const holdoff_nesting, count: usize,
        attempts: *mut u64) -> bool =
        write_some(attempts, retries(policies, nestings, count).and_then(nested_attempts));

    /// Writes HOLDOFF_LINT_NESTED_RETRIES as a line into `text`, at most `size` bytes with the zero at its end, if more
    /// than one of `count` policies retries, each inside the one before it. `nestings` is NULL or has one of each policy.
    ///
    /// Returns the length of the whole line without the zero, as snprintf does; 0 when there is no reason for it, for a
    /// null pointer and for memory without a policy.
    fn holdoff_nested_lint(policies: *const holdoff_policy, nestings: *const holdoff_nesting, count: usize,
        text: *mut c_char, size) -> c_int =
        print(text, size, retries(policies, nestings, count).and_then(Lint::nested));

    /// Explains the policy and the guards that options describe, as holdoff_policy_explain does, with a line for each
    /// guard.
    ///
    /// Returns the length of the whole text without the zero, as snprintf does; 0 for options that have a problem.
    fn holdoff_options_explain(options, rows: u32, text: *mut c_char, size) -> c_int = {
        let described = policy_and_options(options);
        print(text, size, described.as_ref().map(|(policy, guards)| judged(policy, guards, rows)))
    };

    /// Finds the next lint of the policy, the guards and the rules that options describe, as holdoff_policy_lint does.
    ///
    /// Returns its number; 0 if there is no other lint, and for options with a problem.
    fn holdoff_options_lint(options, after: u32, text: *mut c_char, size) -> u32 =
        policy_and_options(options).map_or(0, |(policy, guards)| {
            next_lint(&mut judged(&policy, &guards, 0).lints(), after, text, size)
        });
}

/// The policy, the guards and the rules that options describe.
fn judged(policy: &Policy, guards: &Options, rows: u32) -> Explanation {
    explained(policy, rows).guarded(guards).judged(&guards.rules())
}

fn explained(policy: &Policy, rows: u32) -> Explanation {
    if rows == 0 { policy.explain() } else { policy.explain().rows(rows) }
}

/// Writes the next lint above a number into a text, and returns its number.
///
/// # Safety
/// `text` is null or points to memory of `size` bytes.
unsafe fn next_lint(lints: &mut dyn Iterator<Item = Lint>, after: u32, text: *mut c_char, size: usize) -> u32 {
    let numbered = lints.map(|lint| (u32::from(lint.kind.code()), lint));
    let next = numbered.filter(|(number, _)| *number > after).min_by_key(|(number, _)| *number);
    // SAFETY: passed on.
    unsafe { print(text, size, next.as_ref().map(|(_, lint)| lint)) };
    next.map_or(0, |(number, _)| number)
}

/// Returns the attempts and the nesting of each policy, or nothing if one of them is not a policy.
///
/// # Safety
/// `policies` is null or points to `count` policies, `nestings` is null or points to as many nestings.
unsafe fn retries<'a>(
    policies: *const holdoff_policy,
    nestings: *const holdoff_nesting,
    count: usize,
) -> Option<impl Iterator<Item = (Option<u32>, Nesting)> + 'a> {
    // SAFETY: the caller vouches for as many as are counted; a null pointer is looked at once and found to be one.
    let attempts = move |at| unsafe { get(policies.wrapping_add(at)) }.map(Policy::attempts);
    if count > 0 && (policies.is_null() || (0..count).any(|at| attempts(at).is_err())) {
        return None;
    }
    Some((0..count).map(move |at| {
        let nesting = if nestings.is_null() { nestings } else { nestings.wrapping_add(at) };
        // SAFETY: as above.
        (attempts(at).unwrap_or_default(), unsafe { nesting_of(nesting) })
    }))
}

/// Returns the policy and the guards of options that have no problem.
///
/// # Safety
/// `options` is null or points to options.
unsafe fn policy_and_options(options: *const holdoff_options) -> Option<(Policy, Options)> {
    // SAFETY: passed on.
    let options = unsafe { sound(options) }.ok()?;
    options.check_guards().ok()?;
    Some((options.build().ok()?, *options))
}
