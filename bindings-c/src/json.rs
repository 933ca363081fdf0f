//! JSON text read: policy documents and other systems' forms.

use crate::*;

extern_c! {
    /// Sets the fields of a policy document given as JSON text of `length` bytes (a zero at its end need not be there), its
    /// "retry_on" included; for patterns lend room first. In a document every time is text with its unit.
    ///
    /// Only the library's feature "json" has it, which is on by default; while it reads, it takes memory by malloc, gives
    /// it back by free, and calls abort when there is none.
    ///
    /// Returns 0 or the HOLDOFF_ERROR_ number of the first problem, HOLDOFF_ERROR_NOT_JSON included; holdoff_policy_build
    /// says it again, with an explanation.
    fn holdoff_options_read_json(options: *mut holdoff_options, text: *const c_char, length) -> c_int = {
        let mut take = |path: &str, value: Value<'_>| take(options, path, value).map_err(|error| wrong(error, path, value));
        let mut read_all = || get_mut(options).map(|_| read_json(slice(text, length)?, DOCUMENT, &mut take))?;
        read_all().map_or_else(|problem| blame(options, || problem), |()| 0)
    };

    /// Reads a policy from JSON text of `length` bytes in another system's form (HOLDOFF_FORM_GRPC, ...), and the rules
    /// that it has for failures. `rules` may be NULL; otherwise `patterns` is room of `size` bytes for the texts of
    /// patterns, as for holdoff_options_keep_patterns (and may be NULL for a form without any). Guards of a form, such as
    /// gRPC's retryThrottling, go into `guards`, options that are begun anew, for holdoff_guards_init; NULL
    /// makes them an error (HOLDOFF_ERROR_NOT_SUPPORTED). The names of types of errors that Temporal's form has are left
    /// out: C has no such types. Takes memory as holdoff_options_read_json does.
    ///
    /// Returns 0 and writes `policy`, `rules` and `guards`; or a HOLDOFF_ERROR_ number and leaves the policy and the rules
    /// as they were. Either way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    report holdoff_form_read_json(form: u32, text: *const c_char, length, policy: *mut holdoff_policy,
        rules: *mut holdoff_rules, patterns: *mut c_char, size, guards: *mut holdoff_options) = {
        read_form(form_of(form)?.reader(), slice(text, length)?, Parts { policy, rules, patterns, size, guards })?;
    };

    /// The same as holdoff_form_read_json for a text with several policies: reads the one with that number. In a list the
    /// number is that of the list (methodConfig[2]), among names it is the place in the text, both from 0.
    ///
    /// Returns as holdoff_form_read_json does; HOLDOFF_ERROR_NO_ENTRY if the text has no policy with that number.
    report holdoff_form_read_entry_json(form: u32, entry: u32, text: *const c_char, length, policy: *mut holdoff_policy,
        rules: *mut holdoff_rules, patterns: *mut c_char, size, guards: *mut holdoff_options) = {
        read_form(form_of(form)?.reader().entry(entry), slice(text, length)?, Parts { policy, rules, patterns, size, guards })?;
    };
}

/// Where the parts of a policy that is read go.
struct Parts {
    policy: *mut holdoff_policy,
    rules: *mut holdoff_rules,
    patterns: *mut c_char,
    size: usize,
    guards: *mut holdoff_options,
}

/// Reads a policy in another system's form.
///
/// # Safety
/// As of holdoff_form_read_json.
unsafe fn read_form(mut reader: FormReader, text: &[u8], parts: Parts) -> Result<(), holdoff_problem> {
    let Parts { policy, rules, patterns, size, guards } = parts;
    // SAFETY: the caller's.
    let memory = unsafe { buffer(patterns, size) };
    let mut used = 0;
    read_json(text, DOCUMENT, &mut |path, value| {
        let wrong = |problem: holdoff_problem| problem.at(&path).show(value);
        let text = reader.set(path, value).map_err(|error| wrong(error.into()))?;
        let text = text.filter(|_| !rules.is_null());
        crate::patterns::store(memory, &mut used, text).map_err(|error| wrong(error.into()))
    })?;
    let options = reader.options()?;
    let (built, described) = (options.build()?, options.guards());
    if guards.is_null()
        && let Some(section) = described.sections().next()
    {
        // Losing them in silence would be worse than an error.
        return Err(holdoff_problem::about(ErrorCode::NotSupported, section));
    }
    // SAFETY: the caller's.
    unsafe {
        if !guards.is_null() {
            store(guards, described)?;
        }
        store_policy(policy, built)?;
        if !rules.is_null() {
            put_rules(rules, options.rules(), memory.get(..used).unwrap_or_default())?;
        }
    }
    Ok(())
}

const DOCUMENT: DocumentRules = DocumentRules { unit: f64::NAN, groups: None, repeats: false };
pub(crate) const EVENT: DocumentRules = DocumentRules { unit: 1.0, groups: None, repeats: false };
pub(crate) const STATE: DocumentRules = DocumentRules { unit: 1.0, groups: Some(&[]), repeats: false };

/// Takes a value by its path.
pub(crate) type Take<'r> = &'r mut dyn FnMut(&str, Value<'_>) -> Result<(), holdoff_problem>;

/// Hands on every value of a JSON text that has no other in it, in their order.
pub(crate) fn read_json(text: &[u8], rules: DocumentRules, take: Take<'_>) -> Result<(), holdoff_problem> {
    let not_json = holdoff_problem::from(ErrorCode::NotJson);
    let text = core::str::from_utf8(text).map_err(|_| not_json)?;
    let unreadable = |error: NotJson| not_json.showing(&error);
    // All of it first: a text that is no JSON is refused as a whole.
    JsonText::new(text).check().map_err(unreadable)?;
    let set = |DocumentValue { path, value, broken, .. }: DocumentValue<'_>| match broken {
        Some(ErrorCode::Twice) => Err(holdoff_problem::about(ErrorCode::Twice, path)),
        Some(code) => Err(holdoff_problem::from(code).show(value)),
        None => take(path, value),
    };
    read_values(&mut JsonText::new(text), rules, set)
        .map_err(|(error, problem)| problem.unwrap_or_else(|| unreadable(error)))
}
