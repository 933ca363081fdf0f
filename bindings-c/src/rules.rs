//! Which failures are worth another try, as the rules of a policy document say.

use crate::*;

/// The facts about an error that its failure does not have. Zeroed: nothing is known, and the operation may run twice.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_facts {
    /// Its text, to look for patterns in; NULL for none.
    pub message: *const c_char,
    /// Its codes ("ECONNREFUSED", an SQLSTATE, those of a client), with a NULL behind the last one; NULL for none.
    pub codes: *const *const c_char,
    /// The names of its type and of those it derives from, in the same way; NULL for none.
    pub types: *const *const c_char,
    /// Its HTTP status; 0 for none.
    pub http: u32,
    /// Its gRPC code, when `has_grpc` says so.
    pub grpc: u32,
    /// Not 0 when it has a gRPC code.
    pub has_grpc: u8,
    /// Not 0 when the operation may not run twice.
    pub non_idempotent: u8,
    /// Not 0 when the request was never sent: the connection was refused, the name not found, no connection of a pool free.
    pub unsent: u8,
    /// Not 0 for a mistake of the program itself.
    pub program_fault: u8,
    /// The header x-should-retry, as holdoff_headers_should_retry returns it.
    pub should_retry: u8,
    /// Not 0 when the latest retry inside the attempt has given up, see holdoff_given_up. Rules do not look at it.
    pub given_up: u8,
}

extern_c! {
    /// The rules of a policy document: 744 bytes, to be shared by any number of calls and threads, and never
    /// written to by them. May be copied and moved; the texts of its patterns stay in the memory of
    /// holdoff_options_keep_patterns. Made by holdoff_rules_build; the content is the library's.
    memory holdoff_rules([u64; 90], patterns: *const c_char, patterns_used: usize) as rules
        holds Rules, b"hoRules1", NotAPolicy;

    /// Makes the rules that the options describe: those under "rules". Options without any make rules that leave every
    /// failure as it is. Keep the room of the patterns as long as the rules, and set no other patterns in it.
    ///
    /// Returns 0 and writes `rules`; or a HOLDOFF_ERROR_ number and leaves `rules` as they were. Either way `problem`
    /// (which may be NULL) says what is wrong, with code 0 for nothing.
    report holdoff_rules_build(rules: *mut holdoff_rules, options) =
        put_rules(rules, sound(options)?.rules(), patterns_of_options(options))?;

    /// Applies the rules to a failure: the first rule that holds takes it. NULL rules are none, which make a failure permanent
    /// if the operation may not run twice and nothing proves that it did not run. The hint stays. Do not ask about a
    /// cancellation.
    ///
    /// Returns the failure to hand to a call. Wrong use (memory without rules, no facts, an unknown kind) gives one of kind 0, which
    /// every machine answers with HOLDOFF_INVALID.
    fn holdoff_rules_judge(rules: *const holdoff_rules, facts: *const holdoff_facts, failure) -> holdoff_failure =
        judged(rules, facts, failure).map_or(holdoff_failure_of(0), holdoff_failure::from);

    /// Tells whether an HTTP answer is a failure: each status from 400 on, and a lower one if a rule that retries names it (202 for an
    /// operation that is not done yet).
    ///
    /// Returns the same for memory without rules as for no rules.
    get holdoff_rules_is_failure(http: u32, non_idempotent: bool) -> bool =
        rules.is_failure(http, !non_idempotent), else http >= 400;
}

/// Stores rules in the caller's memory, with the patterns that they name.
///
/// # Safety
/// `rules` is null or points to memory of the size of rules.
pub(crate) unsafe fn put_rules(rules: *mut holdoff_rules, made: Rules, patterns: &[u8]) -> Result<(), ErrorCode> {
    // SAFETY: passed on; then the rules are there.
    unsafe {
        store(rules, made)?;
        ((*rules).patterns, (*rules).patterns_used) = (patterns.as_ptr().cast(), patterns.len());
    }
    Ok(())
}

/// Copies rules and borrows their patterns; no rules for a null pointer.
///
/// # Safety
/// `rules` is null or points to rules, and the memory of their patterns is still there.
pub(crate) unsafe fn optional_rules<'a>(rules: *const holdoff_rules) -> Result<(Rules, &'a [u8]), ErrorCode> {
    if rules.is_null() {
        return Ok((Rules::NONE, &[]));
    }
    // SAFETY: passed on; the patterns are read when the rules are there.
    unsafe { Ok((*get(rules)?, slice((*rules).patterns, (*rules).patterns_used).unwrap_or_default())) }
}

/// Tells whether a list of texts that ends with a null pointer has that text.
///
/// # Safety
/// `list` is null or points to such a list.
unsafe fn list_has(list: *const *const c_char, text: &[u8]) -> bool {
    // SAFETY: passed on; nothing behind the null pointer is read.
    let mut each = (0..).map_while(|place| unsafe { c_bytes(*list.add(place)) });
    !list.is_null() && each.any(|known| known == text)
}

unsafe fn judged(
    rules: *const holdoff_rules,
    facts: *const holdoff_facts,
    failure: holdoff_failure,
) -> Result<Failure, ErrorCode> {
    // SAFETY: passed on; the patterns and the message are only looked at when rules and facts are there.
    unsafe {
        let (inner, kept) = optional_rules(rules)?;
        let facts = read(facts).ok_or(ErrorCode::NullPointer)?;
        let message = c_bytes(facts.message);
        let named = |list, names| patterns::bits(kept, list, |text| list_has(names, text));
        let facts = Facts {
            http: u16::try_from(facts.http).unwrap_or(u16::MAX),
            grpc: if facts.has_grpc != 0 { u8::try_from(facts.grpc).unwrap_or(u8::MAX - 1) } else { u8::MAX },
            codes: named(TextList::Codes, facts.codes),
            types: named(TextList::Types, facts.types),
            patterns: message.map_or(0, |message| patterns::matching(kept, message)),
            idempotent: facts.non_idempotent == 0,
            unsent: facts.unsent != 0,
            program_fault: facts.program_fault != 0,
            should_retry: facts.should_retry,
            ..Facts::NONE
        };
        Ok(inner.judge(facts, Failure::try_from(failure)?))
    }
}
