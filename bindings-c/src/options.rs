//! A policy in the making: (path, value) pairs, read by the core.

use crate::*;

/// Value of a document: null.
pub const HOLDOFF_VALUE_NULL: u32 = 0;
/// Value of a document: an object without fields.
pub const HOLDOFF_VALUE_EMPTY_OBJECT: u32 = 1;
/// Value of a document: a list without items.
pub const HOLDOFF_VALUE_EMPTY_LIST: u32 = 2;
/// Value of a document: of a type that no field takes.
pub const HOLDOFF_VALUE_OTHER: u32 = 3;
/// Value of a document: true.
pub const HOLDOFF_VALUE_TRUE: u32 = 4;
/// Value of a document: false.
pub const HOLDOFF_VALUE_FALSE: u32 = 5;

extern_c! {
    /// A policy, its rules of classification and its guards in the making. Begin with holdoff_options_init, set what differs
    /// from the default, end with holdoff_policy_build and, if failures are classified by it, holdoff_rules_build. A policy
    /// itself has no guards: if the options describe any, holdoff_guards_init makes them. The first problem is kept, so
    /// checking the build is enough. The content is the library's.
    memory holdoff_options([u64; 531], patterns: *mut c_char, patterns_size: usize, patterns_used: usize, problem: holdoff_problem)
        as options holds Options, b"hoOptio6", NotAPolicy;

    /// Makes the options of the default policy, with no rules of classification.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_options_init() = Policy::options();

    /// Gives memory for the texts of patterns and names ("rules[0].if.patterns" and others): `size` bytes;
    /// each pattern takes its length and 5 more. Needed before the first pattern, and as long as the options, copies of
    /// them and the rules built of them are used. Patterns in earlier memory are not moved.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    status holdoff_options_keep_patterns(options: *mut holdoff_options, patterns: *mut c_char, size) = {
        get_mut(options)?;
        ((*options).patterns, (*options).patterns_size, (*options).patterns_used) = (not_null(patterns)?, size, 0);
    };

    /// Sets a field to a word ("exponential", "forever", "none"), to a time with its unit ("250ms", "1.5s", "2m"), or to
    /// text.
    ///
    /// `path` is the field's name in a policy document: "backoff", "backoff.initial", "jitter", "jitter.factor", "attempts",
    /// "deadline", "hint", "hint.max", "preset" (a name that HOLDOFF_WORD_PRESET lists). docs/policy.md lists all fields with
    /// their words.
    ///
    /// The items of a list have their index behind them and are set in their order: "backoff.delays[0]",
    /// the stages of a chain, "backoff[1].initial", and the rules, "rules[0].if.http[0]", "rules[0].if[1].patterns[0]",
    /// "rules[0].attempts", "rules[0].backoff.initial".
    ///
    /// The guards' fields are under "budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "hedge", "pause" and
    /// "nested": "budget.capacity", "breaker.open_for.max".
    ///
    /// Returns 0 or a HOLDOFF_ERROR_ number; holdoff_policy_build says the first one again, with an explanation.
    fn holdoff_options_set_text(options: *mut holdoff_options, path: *const c_char, value: *const c_char) -> c_int =
        set(options, c_str(path), c_str(value).map(Value::Text));

    /// Sets a field to a number: attempts, a factor, an HTTP status. For a time the number counts nanoseconds.
    ///
    /// Returns 0 or a HOLDOFF_ERROR_ number, see holdoff_options_set_text. Not a number, negative and infinite are errors.
    fn holdoff_options_set_number(options: *mut holdoff_options, path: *const c_char, value: f64) -> c_int =
        set(options, c_str(path), Some(Value::Number { value, unit: 1.0 }));

    /// Sets a field that is a time to so many nanoseconds, exactly: 0 to HOLDOFF_LONGEST_NS. No limit is the text "none".
    ///
    /// Returns 0 or a HOLDOFF_ERROR_ number, see holdoff_options_set_text.
    fn holdoff_options_set_ns(options: *mut holdoff_options, path: *const c_char, ns: u64) -> c_int =
        set(options, c_str(path), Some(Value::Nanos(ns)));

    /// Sets a field to a value that is neither text nor a number, as a document may have it: HOLDOFF_VALUE_TRUE and
    /// HOLDOFF_VALUE_FALSE ("rules[0].retry", "rules[0].if.idempotent", "backoff.repeat"); HOLDOFF_VALUE_EMPTY_LIST sets a
    /// list to one without items ("rules[0].if.http" then holds for nothing); HOLDOFF_VALUE_NULL and
    /// HOLDOFF_VALUE_EMPTY_OBJECT are as good as not set, where the name is one of a field or of fields; any other number is
    /// a value of a type that no field takes.
    ///
    /// Returns 0 or a HOLDOFF_ERROR_ number, see holdoff_options_set_text.
    fn holdoff_options_set_value(options: *mut holdoff_options, path: *const c_char, value: u32) -> c_int =
        set(options, c_str(path), Some(match value {
            HOLDOFF_VALUE_NULL => Value::Nothing,
            HOLDOFF_VALUE_EMPTY_OBJECT => Value::Empty,
            HOLDOFF_VALUE_EMPTY_LIST => Value::NoItems,
            HOLDOFF_VALUE_TRUE => Value::Flag(true),
            HOLDOFF_VALUE_FALSE => Value::Flag(false),
            _ => Value::Other,
        }));

    /// Reads a length of time with its unit: "250ms", "1.5s", "2m". Units are ns, us, ms, s, m and h.
    ///
    /// Returns 0 and writes the nanoseconds to `ns` (which may be NULL); or HOLDOFF_ERROR_NOT_A_DURATION for any other text
    /// and for more than HOLDOFF_LONGEST_NS; or HOLDOFF_ERROR_NULL_POINTER without a text.
    status holdoff_parse_duration(duration: *const c_char, ns: *mut Span) = {
        let text = c_str(duration).ok_or(ErrorCode::NullPointer)?;
        write(ns, Span::parse(text).ok_or(ErrorCode::NotADuration)?);
    };
}

/// Sets a field, and keeps the first problem there is.
///
/// # Safety
/// `options` is null or points to options that nothing else touches meanwhile.
unsafe fn set(options: *mut holdoff_options, path: Option<&str>, value: Option<Value<'_>>) -> c_int {
    let given = path.zip(value).ok_or(Error::of_use(ErrorCode::NullPointer));
    // SAFETY: passed on.
    match given.and_then(|(path, value)| unsafe { take(options, path, value) }) {
        Ok(()) => 0,
        // SAFETY: passed on.
        Err(error) => unsafe {
            blame(options, || wrong(error, path.unwrap_or(""), path.and(value).unwrap_or(Value::Other)))
        },
    }
}

/// Sets a field.
///
/// # Safety
/// `options` is null or points to options that nothing else touches meanwhile.
pub(crate) unsafe fn take(options: *mut holdoff_options, path: &str, value: Value<'_>) -> Result<(), Error> {
    // SAFETY: passed on.
    let builder = unsafe { get_mut(options) }.map_err(Error::of_use)?;
    let text = builder.set(path, value)?;
    // SAFETY: passed on; the room is the caller's to lend.
    let (room, used) =
        unsafe { (buffer((*options).patterns, (*options).patterns_size), &mut (*options).patterns_used) };
    patterns::store(room, used, text).map_err(Error::of_use)
}

/// The problem of a field with the name and the value that the caller used.
#[cold]
#[inline(never)]
pub(crate) fn wrong(error: Error, path: &str, value: Value<'_>) -> holdoff_problem {
    holdoff_problem::from(error).named(path).show(value)
}

/// Keeps a problem in options, if it is their first; says its number. Apart from its callers, because a problem is large.
///
/// # Safety
/// `options` is null or points to options.
#[cold]
#[inline(never)]
pub(crate) unsafe fn blame(options: *mut holdoff_options, problem: impl FnOnce() -> holdoff_problem) -> c_int {
    // SAFETY: passed on.
    if let Err(error) = unsafe { get_mut(options) } {
        return error.code().into();
    }
    let problem = problem();
    // SAFETY: the options are there; no reference to the builder lives.
    let kept = unsafe { &mut (*options).problem };
    if kept.code == 0 {
        *kept = problem;
    }
    problem.code as c_int
}

/// Borrows the builder in options, or says that they have a problem.
///
/// # Safety
/// `options` is null or points to options that nothing writes to while the answer lives.
pub(crate) unsafe fn sound<'a>(options: *const holdoff_options) -> Result<&'a Options, Unsound<'a>> {
    // SAFETY: passed on.
    let builder = unsafe { get(options) }.map_err(Unsound::Use)?;
    // SAFETY: the options are there, or there would be no builder.
    match unsafe { &(*options).problem } {
        problem if problem.code != 0 => Err(Unsound::Kept(problem)),
        _ => Ok(builder),
    }
}

/// Why options build nothing. A problem stays where it is until it is written: it is large.
pub(crate) enum Unsound<'a> {
    Use(ErrorCode),
    Kept(&'a holdoff_problem),
}

impl From<Unsound<'_>> for holdoff_problem {
    #[cold]
    #[inline(never)]
    fn from(unsound: Unsound<'_>) -> Self {
        match unsound {
            Unsound::Use(error) => error.into(),
            Unsound::Kept(problem) => *problem,
        }
    }
}

/// The texts of patterns that options hold.
///
/// # Safety
/// `options` points to options.
pub(crate) unsafe fn patterns_of_options<'a>(options: *const holdoff_options) -> &'a [u8] {
    // SAFETY: passed on; the memory is borrowed for as long as the options are.
    unsafe { slice((*options).patterns, (*options).patterns_used.min((*options).patterns_size)).unwrap_or_default() }
}
