//! How many calls there may be in a time.

use crate::*;

described!(holdoff_limiter in limiter: LimiterConfig, |config, _, now| Limiter::new(config, now));

/// Puts a limiter into the caller's memory, with its room.
///
/// # Safety
/// `limiter` is null or points to memory of the size of a limiter.
pub(crate) unsafe fn store_limiter(
    limiter: *mut holdoff_limiter,
    made: Guard<LimiterConfig, Limiter>,
    (log, length): (*mut u64, usize),
) -> Result<(), ErrorCode> {
    let needed = made.config.log_capacity();
    if needed > 0 && (log.is_null() || !log.is_aligned() || length < needed) {
        return Err(ErrorCode::NoRoom);
    }
    // SAFETY: passed on.
    unsafe { store(limiter, made) }?;
    if needed > 0 {
        // SAFETY: the limiter was just placed there.
        unsafe { ((*limiter).log, (*limiter).log_capacity) = (log, needed) };
    }
    Ok(())
}

/// The problem of a limiter without room for its log, at the field that says how much it needs.
pub(crate) fn no_log(code: ErrorCode) -> holdoff_problem {
    let problem = holdoff_problem::from(code);
    if matches!(code, ErrorCode::NoRoom) { problem.at(&"limiter.limit") } else { problem }
}

/// The parts of a limiter that is there.
///
/// # Safety
/// `limiter` is null or points to a limiter that nothing else touches while the answer lives.
pub(crate) unsafe fn parts<'a>(
    limiter: *mut holdoff_limiter,
) -> Result<(&'a LimiterConfig, &'a mut Limiter, &'a mut [u64]), ErrorCode> {
    // SAFETY: passed on.
    let Guard { config, state } = unsafe { get_mut(limiter) }?;
    // SAFETY: the limiter is there; the log is none of its state.
    let (log, length) = unsafe { ((&raw const (*limiter).log).read(), (&raw const (*limiter).log_capacity).read()) };
    if log.is_null() || !log.is_aligned() {
        return Ok((config, state, &mut []));
    }
    // SAFETY: borrowed for as long as the limiter is; not more than it needs, and not more than a slice may be.
    Ok((config, state, unsafe { core::slice::from_raw_parts_mut(log, length.min(config.log_capacity())) }))
}

extern_c! {
    /// A limiter, its configuration and its state: 104 bytes, and for the kind "log" the memory of its log. May be
    /// moved; a copy shares the log. Zeroed memory is no limiter: it lets no call through. The content is the library's.
    guard holdoff_limiter([u64; 10], log: *mut u64, log_capacity: usize) as limiter = Guard { config, state }
        in LimiterConfig, Limiter, b"hoLimit1";

    /// Returns how many words of memory the limiter needs that the options describe: the limit of the kind "log"; 0 for any
    /// other kind, for no limiter, and for options with a problem.
    fn holdoff_limiter_log_capacity(options) -> usize =
        sound(options).ok().and_then(|builder| builder.limiter().ok()?).map_or(0, |config| config.log_capacity());

    /// Makes the limiter that the options describe under "limiter", which has let nothing through. The kind "log" needs
    /// holdoff_limiter_log_capacity(options) words in `log`, for as long as the limiter is used; for other kinds `log` may
    /// be NULL and `log_capacity` 0.
    ///
    /// Returns 0 and writes `limiter`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_NO_ROOM included) and a problem, see
    /// holdoff_budget_init.
    fn holdoff_limiter_init(limiter: *mut holdoff_limiter, options, now, log: *mut u64, log_capacity: usize,
        problem) -> c_int =
        report(problem, || {
            let made = section::<holdoff_limiter>(options, 0, now)?;
            store_limiter(limiter, made, (log, log_capacity)).map_err(no_log)
        });

    /// Takes `count` calls at `now`, or says when they may be made: in `retry_at` (which may be NULL), HOLDOFF_NEVER for
    /// more than there may ever be at once. A refusal changes nothing.
    ///
    /// Returns whether they may be made; false for memory without a limiter, at HOLDOFF_NEVER.
    fn holdoff_limiter_take(limiter: *mut holdoff_limiter, count: u32, now, retry_at: *mut Timestamp) -> bool = {
        let Ok((config, state, log)) = parts(limiter) else { return refuse(retry_at) };
        write_permission(&mut (), retry_at, state.take(config, log, count, now))
    };

    /// Tells whether `count` calls at `at` would be refused, and writes until when to `retry_at` (which may be NULL). True
    /// for memory without a limiter.
    fn holdoff_limiter_refuses(limiter: *mut holdoff_limiter, count: u32, at: Timestamp, retry_at: *mut Timestamp) -> bool = {
        let Ok((config, state, log)) = parts(limiter) else { return !refuse(retry_at) };
        write_some(retry_at, state.refuses(config, log, count, at))
    };

    /// Gives back `count` calls that were taken and not made.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_limiter_give_back(limiter: *mut holdoff_limiter, count: u32, now) -> c_int =
        status(parts(limiter).map(|(config, state, log)| state.give_back(config, log, count, now)));

    /// Returns how many bytes holdoff_guard_save writes of a limiter: 44, and 8 for each call of a log's limit; 0 for
    /// memory without a limiter.
    get holdoff_limiter_saved() -> usize = Limiter::saved(config), else 0;
}
