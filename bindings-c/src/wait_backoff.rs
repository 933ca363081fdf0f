//! A backoff that carries its own configuration and changes with each step.

use crate::*;

extern_c! {
    /// A delay that is its own state, in the form of Kubernetes' wait.Backoff: 48 bytes. A step says the duration as it was
    /// and, while there are steps left, multiplies it; what passes the cap becomes the cap and uses up the steps. Jitter
    /// comes on top and does not feed back. May be copied, restarted and looked at. The content is the library's.
    memory holdoff_wait_backoff([u64; 5]) as wait_backoff holds WaitBackoff, b"hoStepd1", NotACall;

    /// Makes a backoff that begins with `duration_ns`, may multiply it by `factor` as often as `steps` says, and adds up to
    /// `jitter` of it to each delay. A factor of 0 keeps the duration; `cap_ns` bounds what multiplying gives,
    /// HOLDOFF_LONGEST_NS for none. Both factors are finite and from 0 on.
    ///
    /// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_JITTER_FACTOR_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_wait_backoff_init(duration_ns: u64, factor: f64, jitter: f64, cap_ns: u64, steps: u64) =
        WaitBackoff::new(span(duration_ns), factor, jitter, span(cap_ns), steps)?;

    /// Makes a backoff of the fields of a Kubernetes wait.Backoff, where a `jitter`, `cap_ns` or `steps` that is not
    /// positive means none.
    ///
    /// Returns as holdoff_wait_backoff_init.
    init holdoff_wait_backoff_init_kubernetes(duration_ns: u64, factor: f64, jitter: f64, steps: i64, cap_ns: i64) =
        WaitBackoff::kubernetes(span(duration_ns), factor, jitter, steps, cap_ns)?;

    /// Makes Kubernetes' wait.Jitter: a constant duration and up to `max_factor` of it more, where a factor that is not
    /// positive reads as 1.
    ///
    /// Returns 0, HOLDOFF_ERROR_JITTER_FACTOR_RANGE unless the factor is finite, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_wait_backoff_init_kubernetes_jitter(duration_ns: u64, max_factor: f64) =
        WaitBackoff::kubernetes_jitter(span(duration_ns), max_factor)?;

    /// Returns the next delay in nanoseconds, for the uniform `u` from [0, 1), which only jitter uses; moves on.
    /// HOLDOFF_NEVER for memory without a backoff.
    get_mut holdoff_wait_backoff_step(u: f64) -> u64 = wait_backoff.step(u).as_nanos(), else u64::MAX;

    /// Tells whether holdoff_wait_backoff_step uses its uniform `u`.
    get holdoff_wait_backoff_draws() -> bool = wait_backoff.draws(), else false;

    /// Returns the delay of the next step before jitter, in nanoseconds; HOLDOFF_NEVER for memory without a backoff.
    get holdoff_wait_backoff_duration() -> u64 = wait_backoff.duration().as_nanos(), else u64::MAX;

    /// Returns the number of steps that may still multiply the duration; 0 for memory without a backoff.
    get holdoff_wait_backoff_steps() -> u64 = wait_backoff.steps(), else 0;

    /// Returns the cap in nanoseconds; HOLDOFF_LONGEST_NS without a cap, and for memory without a backoff.
    get holdoff_wait_backoff_cap() -> Span = wait_backoff.cap(), else Span::MAX;

    /// Begins again with `duration_ns` and `steps`, the rest as it is.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    get_mut holdoff_wait_backoff_restart(duration_ns: u64, steps: u64) =
        *wait_backoff = wait_backoff.restarted(span(duration_ns), steps);

    /// Steps a wait.Backoff that the program keeps in Kubernetes' own fields, in one call: what Backoff.Step does. A `jitter`,
    /// `steps` or `cap_ns` that is not positive means none.
    ///
    /// Returns the delay in nanoseconds, for the uniform `u` from [0, 1), which only a positive jitter uses, and changes
    /// `duration_ns` and `steps`. HOLDOFF_NEVER for NULL, and for a factor or jitter that holdoff_wait_backoff_init_kubernetes
    /// refuses; then nothing changes.
    fn holdoff_kubernetes_step(backoff: *mut holdoff_kubernetes_backoff, u: f64) -> u64 = {
        let Some(mut fields) = read(backoff) else { return HOLDOFF_NEVER };
        let duration = span(fields.duration_ns);
        let made = WaitBackoff::kubernetes(duration, fields.factor, fields.jitter, fields.steps, fields.cap_ns);
        let Ok(mut made) = made else { return HOLDOFF_NEVER };
        let delay = made.step(u);
        fields.duration_ns = made.duration().as_nanos();
        if fields.steps > 0 {
            fields.steps = made.steps() as i64;
        }
        write(backoff, fields);
        delay.as_nanos()
    };
}

/// The fields of Kubernetes' wait.Backoff, for holdoff_kubernetes_step.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct holdoff_kubernetes_backoff {
    /// The delay of the next step, in nanoseconds.
    pub duration_ns: u64,
    /// The number that multiplies the duration at each step; 0 keeps it.
    pub factor: f64,
    /// The part of the delay that may be added to it.
    pub jitter: f64,
    /// How many steps may still multiply the duration.
    pub steps: i64,
    /// The longest duration, in nanoseconds.
    pub cap_ns: i64,
}
