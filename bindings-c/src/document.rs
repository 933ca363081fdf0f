//! Policies written: as documents, and in the forms of other systems.

use crate::*;
use core::fmt;

/// The form with that number.
pub(crate) fn form_of(form: u32) -> Result<Form, holdoff_problem> {
    Ok(Form::from_code(form).ok_or(ErrorCode::UnknownWord)?)
}

/// Form: none but the library's own, a JSON document of version 1.
pub const HOLDOFF_FORM_DOCUMENT: u32 = 0;

extern_c! {
    /// Writes a policy as JSON into `text`, at most `size` bytes with the zero at its end: as a document
    /// (HOLDOFF_FORM_DOCUMENT) or in another system's form (HOLDOFF_FORM_GRPC, ...); with the rules, as far as the form has
    /// any, unless `rules` is NULL. It reads back to the same policy and rules.
    ///
    /// Returns the length of the whole text without the zero, as snprintf does, so that a first call with `text` NULL and
    /// `size` 0 says how much room it needs; 0 when the format cannot express the policy, or for wrong use. `problem`
    /// (which may be NULL) then says what is in the way: HOLDOFF_ERROR_NOT_IN_FORM and the field.
    fn holdoff_policy_json(policy, rules: *const holdoff_rules, form: u32, text: *mut c_char, size, problem) -> c_int = {
        let described = || {
            let (policy, (rules, patterns)) = (get(policy)?, optional_rules(rules)?);
            Ok((*policy, rules, Options::NEW, patterns))
        };
        print_policy(form, described(), text, size, problem)
    };

    /// Writes what options describe as JSON, as holdoff_policy_json does: the policy, its rules and its guards, those of a
    /// preset included. gRPC's form has a throttle and a hedge that takes all attempts, the other forms have no guards.
    ///
    /// Returns the length of the whole text without the zero, as snprintf does; 0 when the format cannot express it, or
    /// for wrong use. `problem` (which may be NULL) then says what is in the way.
    fn holdoff_options_json(options, form: u32, text: *mut c_char, size, problem) -> c_int = {
        let described = || {
            let described = sound(options)?;
            let policy = described.build()?;
            described.check_guards()?;
            Ok((policy, described.rules(), *described, patterns_of_options(options)))
        };
        print_policy(form, described(), text, size, problem)
    };
}

/// A policy, its rules, its guards and the texts of its patterns.
type PolicyParts<'a> = (Policy, Rules, Options, &'a [u8]);

/// Writes a policy as a document or in another system's form, or nothing but the problem in its way.
///
/// # Safety
/// `text` is null or points to `size` bytes, `problem` is null or points to a problem.
unsafe fn print_policy(
    form: u32,
    described: Result<PolicyParts<'_>, holdoff_problem>,
    text: *mut c_char,
    size: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: passed on.
    unsafe {
        let mut length = print(text, size, None::<&str>);
        report(problem, &mut || {
            let (policy, rules, guards, patterns) = described.as_ref().map_err(|problem| *problem)?;
            let foreign = match form {
                HOLDOFF_FORM_DOCUMENT => None,
                _ => Some(form_of(form)?.export(policy, rules, guards)?),
            };
            let texts = &mut |alternative, list, put: &mut dyn FnMut(&str) -> fmt::Result| {
                patterns::texts(patterns, alternative, list).try_for_each(put)
            };
            length = print_by(text, size, |out| match foreign {
                Some(foreign) => foreign.write(patterns::texts(patterns, 0, TextList::Patterns), [], out),
                None => write_document(policy, rules, guards, texts, out),
            });
            Ok(())
        });
        length
    }
}
