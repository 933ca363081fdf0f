//! Which failures are worth another try, as a policy document's `retry_on` says.

use crate::boundary::{bytes, look, memory, place, span};
use crate::failure::holdoff_failure;
use crate::options::{guards_of, holdoff_options, kept_patterns, sound};
use crate::patterns;
use crate::policy::holdoff_policy;
use crate::problem::{holdoff_problem, report};
use crate::text::print;
use core::ffi::{c_char, c_int};
use core::fmt::{self, Display};
use holdoff_core::{ErrorCode, Facts, Failure, GuardsBuilder, Operations, Policy, Rules, write_guarded};

/// The rules of a policy document's "retry_on": 184 bytes, to be shared by any number of calls and threads, and never written
/// to by them. May be copied and moved; the texts of its patterns stay in the room that holdoff_options_keep_patterns was
/// lent. Made by holdoff_rules_build; the content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_rules {
    magic: u64,
    state: [u64; 20],
    patterns: *const c_char,
    patterns_used: usize,
}

memory!(holdoff_rules: Rules, u64::from_be_bytes(*b"hoRules1"), ErrorCode::NotAPolicy);
const _: () = assert!(size_of::<Rules>() == 20 * 8);

/// What is known of an error beside its failure. Zeroed it is an error of which nothing is known, of an operation that can
/// run twice without harm.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_facts {
    /// Its text, to look for patterns in; NULL for none.
    pub message: *const c_char,
    /// Its HTTP status; 0 for none.
    pub http: u32,
    /// Its gRPC code, when `has_grpc` says so.
    pub grpc: u32,
    /// Not 0 when it has a gRPC code.
    pub has_grpc: u8,
    /// Not 0 when the operation may not run twice.
    pub non_idempotent: u8,
}

/// Makes the rules that the options describe: those under "retry_on". Options without any make rules that leave every failure
/// as it is. Keep the room of the patterns as long as the rules, and set no other patterns in it.
///
/// Returns 0 and writes `rules`; or a HOLDOFF_ERROR_ number and leaves `rules` as they were. Either way `problem` (which may
/// be NULL) says what is wrong, with code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_rules_build(
    rules: *mut holdoff_rules,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let built = unsafe { sound(options) }.map(|builder| builder.rules());
    let result = built.and_then(|built| {
        // SAFETY: the header's promise; the options are there.
        unsafe { put_rules(rules, built, kept_patterns(options)) }.map_err(holdoff_problem::of_use)
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// Puts rules into the caller's memory, with the room of their patterns and how much of it there is.
///
/// # Safety
/// `rules` is null or points to memory of the size of rules.
pub(crate) unsafe fn put_rules(
    rules: *mut holdoff_rules,
    made: Rules,
    (patterns, used): (*const c_char, usize),
) -> Result<(), ErrorCode> {
    // SAFETY: passed on.
    unsafe { place(rules, made)? };
    // SAFETY: the rules were just placed there.
    unsafe { ((*rules).patterns, (*rules).patterns_used) = (patterns, used) };
    Ok(())
}

/// What the rules make of a failure: of a kind that is retried if a list names the error, permanent if the lists that speak of
/// it do not, and as it was if none does. The hint stays. Only failures are asked about: not a cancellation.
///
/// Returns the failure to hand to a call. Wrong use (no rules, no facts, an unknown kind) gives one of kind 0, which every
/// machine answers with HOLDOFF_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_rules_judge(
    rules: *const holdoff_rules,
    facts: *const holdoff_facts,
    failure: holdoff_failure,
) -> holdoff_failure {
    // SAFETY: the header's promise.
    unsafe { judged(rules, facts, failure) }.map_or(crate::holdoff_failure_of(0), holdoff_failure::from)
}

/// The patterns of rules.
///
/// # Safety
/// `rules` points to rules, and the room that was lent with their options is still lent.
pub(crate) unsafe fn kept<'a>(rules: *const holdoff_rules) -> &'a [u8] {
    // SAFETY: passed on.
    unsafe { span((*rules).patterns, (*rules).patterns_used) }.unwrap_or_default()
}

unsafe fn judged(
    rules: *const holdoff_rules,
    facts: *const holdoff_facts,
    failure: holdoff_failure,
) -> Result<Failure, ErrorCode> {
    // SAFETY: passed on.
    let (inner, facts) = unsafe { (look(rules)?, facts.as_ref().ok_or(ErrorCode::NullPointer)?) };
    let idempotent = facts.non_idempotent == 0;
    let contains = |list: Operations| {
        // SAFETY: the rules are there; the message is lent by the facts.
        let (kept, message) = unsafe { (kept(rules), bytes(facts.message)) };
        message.is_some_and(|message| patterns::any_in(kept, list, message))
    };
    let facts = Facts {
        http: u16::try_from(facts.http).unwrap_or(u16::MAX),
        grpc: if facts.has_grpc != 0 { u8::try_from(facts.grpc).unwrap_or(u8::MAX - 1) } else { u8::MAX },
        matched: inner.patterns(idempotent).is_some_and(contains),
        idempotent,
    };
    Ok(inner.judge(facts, Failure::try_from(failure)?))
}

/// Whether an HTTP answer is to be judged: one with a status from 400 on is a failure anyway, and one below is when the rules
/// list it (202 for an operation that is not done yet).
///
/// Returns whether it is one; for memory that holds no rules what holds without any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_rules_is_failure(
    rules: *const holdoff_rules,
    http: u32,
    non_idempotent: bool,
) -> bool {
    // SAFETY: the header's promise.
    unsafe { look(rules) }.map_or(http >= 400, |rules| rules.is_failure(http, !non_idempotent))
}

/// Writes a policy as a JSON document of version 1 into `text`, at most `size` bytes with the zero at its end; with the rules
/// as its "retry_on" unless `rules` is NULL. It reads back to the same policy and rules.
///
/// Returns the length of the whole document without the zero, as snprintf does, so that a first call with `text` NULL and
/// `size` 0 says how much room it needs; 0 for memory that holds no policy, or rules that are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_json(
    policy: *const holdoff_policy,
    rules: *const holdoff_rules,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let written = unsafe { look(policy) }.and_then(|policy| {
        let (rules, kept) = match rules.is_null() {
            true => (Rules::NONE, &[][..]),
            // SAFETY: the header's promise.
            false => unsafe { (*look(rules)?, kept(rules)) },
        };
        Ok(Written { policy, rules, guards: GuardsBuilder::NEW, kept })
    });
    // SAFETY: the header's promise.
    unsafe { print(text, size, written.as_ref().ok().map(|written| written as &dyn Display)) }
}

/// Writes what options describe as a JSON document of version 1 into `text`, at most `size` bytes with the zero at its end: the
/// policy, its rules and its guards, those of a preset included. It reads back to the same.
///
/// Returns the length of the whole document without the zero, as snprintf does; 0 for options that have a problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_json(
    options: *const holdoff_options,
    text: *mut c_char,
    size: usize,
) -> c_int {
    // SAFETY: the header's promise.
    let described = unsafe { sound(options) }.ok().and_then(|builder| {
        // SAFETY: the header's promise; the options are there.
        let (guards, (patterns, used)) = unsafe { (guards_of(options).ok()?, kept_patterns(options)) };
        // SAFETY: the room is lent with the options.
        let kept = unsafe { span(patterns, used) }.unwrap_or_default();
        guards.check().ok()?;
        Some((builder.build().ok()?, builder.rules(), guards, kept))
    });
    let written = described.as_ref().map(|(policy, rules, guards, kept)| Written {
        policy,
        rules: *rules,
        guards: *guards,
        kept,
    });
    // SAFETY: the header's promise.
    unsafe { print(text, size, written.as_ref().map(|written| written as &dyn Display)) }
}

/// A policy, its rules and its guards as a document, by `Display`.
struct Written<'a> {
    policy: &'a Policy,
    rules: Rules,
    guards: GuardsBuilder,
    kept: &'a [u8],
}

impl Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // They came in as text, and text they are unless the room was written to.
        let texts = |list| patterns::each(self.kept, list).map(|text| str::from_utf8(text).unwrap_or("\u{fffd}"));
        let (all, some) = (texts(Operations::All), texts(Operations::NonIdempotent));
        write_guarded(self.policy, &self.rules, &self.guards, all, some, f)
    }
}
