//! Policies in the forms of other systems.

use crate::boundary::{look, span};
use crate::options::{guards_of, holdoff_options, kept_patterns, sound};
use crate::patterns;
use crate::policy::holdoff_policy;
use crate::problem::{holdoff_problem, report};
use crate::rules::{holdoff_rules, kept};
use crate::text::print;
use core::ffi::{c_char, c_int};
use core::fmt::{self, Display};
use holdoff_core::{ErrorCode, Form, Formed, Operations, Rules};

/// Form: gRPC's service config.
pub const HOLDOFF_FORM_GRPC: u32 = 1;
/// Form: Temporal's RetryPolicy.
pub const HOLDOFF_FORM_TEMPORAL: u32 = 2;
/// Form: Kubernetes' wait.Backoff.
pub const HOLDOFF_FORM_KUBERNETES: u32 = 3;
/// Form: langgraphgo's RetryConfig of a node.
pub const HOLDOFF_FORM_LANGGRAPHGO: u32 = 4;
/// Form: langgraphgo's RetryPolicy of a graph.
pub const HOLDOFF_FORM_LANGGRAPHGO_GRAPH: u32 = 5;
/// Form: Aster's RetryPolicy of a workflow.
pub const HOLDOFF_FORM_ASTER: u32 = 6;

macro_rules! same {
    ($($header:ident = $core:ident),* $(,)?) => { $(const _: () = assert!($header == Form::$core as u32);)* };
}

same! {
    HOLDOFF_FORM_GRPC = Grpc,
    HOLDOFF_FORM_TEMPORAL = Temporal,
    HOLDOFF_FORM_KUBERNETES = Kubernetes,
    HOLDOFF_FORM_LANGGRAPHGO = Langgraphgo,
    HOLDOFF_FORM_LANGGRAPHGO_GRAPH = LanggraphgoGraph,
    HOLDOFF_FORM_ASTER = Aster,
}

/// The form with that number.
pub(crate) fn form_of(form: u32) -> Result<Form, holdoff_problem> {
    Form::from_code(form).ok_or(holdoff_problem::of_use(ErrorCode::UnknownWord))
}

/// Writes a policy as JSON in another system's form (HOLDOFF_FORM_GRPC, ...) into `text`, at most `size` bytes with the zero
/// at its end; with the rules as far as the form has any, unless `rules` is NULL. It reads back to the same policy and rules.
///
/// Returns the length of the whole text without the zero, as snprintf does; 0 when the policy cannot be said in that form, or
/// for wrong use. `problem` (which may be NULL) then says what is in the way: HOLDOFF_ERROR_NOT_IN_FORM and the field.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_policy_form_json(
    policy: *const holdoff_policy,
    rules: *const holdoff_rules,
    form: u32,
    text: *mut c_char,
    size: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let written = unsafe { look(policy) }.map_err(holdoff_problem::of_use).and_then(|policy| {
        let (rules, kept) = match rules.is_null() {
            true => (Rules::NONE, &[][..]),
            // SAFETY: the header's promise.
            false => unsafe { (*look(rules).map_err(holdoff_problem::of_use)?, kept(rules)) },
        };
        let formed = form_of(form)?.of(policy, &rules).map_err(|error| holdoff_problem::of_form(&error))?;
        Ok(Written { formed, kept })
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, *written.as_ref().err().unwrap_or(&holdoff_problem::NONE)) };
    // SAFETY: the header's promise.
    unsafe { print(text, size, written.as_ref().ok().map(|written| written as &dyn Display)) }
}

/// The same for what options describe, their rules and guards included: gRPC's form has a throttle and a hedge that takes all
/// attempts, the others have no guards.
///
/// Returns the length of the whole text without the zero, as snprintf does; 0 when it cannot be said in that form, or for wrong
/// use. `problem` (which may be NULL) then says what is in the way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_options_form_json(
    options: *const holdoff_options,
    form: u32,
    text: *mut c_char,
    size: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let written = unsafe { sound(options) }.and_then(|builder| {
        // SAFETY: the header's promise; the options are there.
        let (guards, (patterns, used)) = unsafe { (guards_of(options)?, kept_patterns(options)) };
        // SAFETY: the room is lent with the options.
        let kept = unsafe { span(patterns, used) }.unwrap_or_default();
        let policy = builder.build().map_err(|error| holdoff_problem::of_building(&error))?;
        guards.check().map_err(|error| holdoff_problem::of_building(&error))?;
        let formed = form_of(form)?.of_guarded(&policy, &builder.rules(), &guards);
        Ok(Written { formed: formed.map_err(|error| holdoff_problem::of_form(&error))?, kept })
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, *written.as_ref().err().unwrap_or(&holdoff_problem::NONE)) };
    // SAFETY: the header's promise.
    unsafe { print(text, size, written.as_ref().ok().map(|written| written as &dyn Display)) }
}

/// A policy in a form, by `Display`.
struct Written<'a> {
    formed: Formed,
    kept: &'a [u8],
}

impl Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = patterns::each(self.kept, Operations::All).map(|text| str::from_utf8(text).unwrap_or("\u{fffd}"));
        self.formed.write(texts, [], f)
    }
}
