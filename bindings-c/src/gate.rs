//! Gates: one small state for each host, item or image, in a map of the program, that outlives an operation.

use crate::*;

c_struct! {
    /// The options of a gate, plain numbers. Begin with holdoff_gate_options_default, then set the fields that differ. Times
    /// are nanoseconds; a field that says yes or no is not 0 for yes.
    holdoff_gate_options mirrors GateOptions {
        /// The first delay; 1 s by default.
        initial_ns: u64 = initial,
        /// The factor of each further failure: finite, not negative; 2.
        factor: f64 = factor,
        /// The longest delay; 5 minutes.
        max_ns: u64 = max,
        /// The part of a delay that jitter moves it by: finite, from 0 on, at most 1 downward; 0.
        jitter: f64 = jitter,
        /// The delay of a failure that does not count; 0.
        grace_delay_ns: u64 = grace_delay,
        /// For how long at least it closes after a success; 0.
        rest_ns: u64 = rest,
        /// After more than this between two failures the second is the first again; HOLDOFF_NEVER for never.
        quiet_ns: u64 = quiet,
        /// For how long an entry that has been open without failures is worth keeping; HOLDOFF_NEVER for ever; 5 minutes.
        keep_ns: u64 = keep,
        /// The same for an entry with failures; 5 minutes.
        keep_failed_ns: u64 = keep_failed,
        /// Delays are rounded to whole multiples of this, half up; 0 to cut them to nanoseconds.
        quantum_ns: u64 = quantum,
        /// The number of first failures that do not count; 0.
        grace: u32 = grace,
        /// The number of failures that a success takes back; 4294967295 for all; 1.
        forgives: u32 = forgives,
        /// Not 0: jitter makes delays shorter instead of longer.
        downward: u8 = direction,
        /// Not 0: a delay is the last one, jitter included, times the factor; max_ns does not limit the first delay.
        feedback: u8 = growth,
        /// Not 0: the first failure after the grace counts as the second; without feedback only.
        ahead: u8 = ahead,
    }
}

extern_c! {
    /// Returns the options of a gate that doubles from one second up to five minutes and takes back one failure a success.
    fn holdoff_gate_options_default() -> holdoff_gate_options = GateOptions::default().into();
}

extern_c! {
    /// The checked options of gates: 104 bytes, shared by any number of them and only read. The content is the library's.
    memory holdoff_gate_config([u64; 12]) as config holds GateConfig, b"hoGateC1", NotAPolicy;

    /// Checks the options of gates.
    ///
    /// Returns 0, HOLDOFF_ERROR_FACTOR_RANGE, HOLDOFF_ERROR_JITTER_FACTOR_RANGE or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_gate_config_build(options: *const holdoff_gate_options) =
        GateOptions::try_from(read(options).ok_or(ErrorCode::NullPointer)?)?.build()?;

    /// Makes an entry of Kubernetes' flowcontrol.Backoff: doubles with jitter that feeds back, and begins again after more
    /// than twice `max_ns` without a failure. A `max_jitter` that is not positive means none.
    ///
    /// Returns as holdoff_gate_config_build.
    init holdoff_gate_config_flowcontrol(initial_ns: u64, max_ns: u64, max_jitter: f64) =
        GateConfig::flowcontrol(span(initial_ns), span(max_ns), max_jitter)?;

    /// Makes an item of Kubernetes' ItemExponentialFailureRateLimiter: `base_ns` * 2^failures, at most `max_ns`.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_gate_config_item_exponential(base_ns: u64, max_ns: u64) =
        GateConfig::item_exponential(span(base_ns), span(max_ns));

    /// Makes an item of Kubernetes' ItemFastSlowRateLimiter: `fast_ns` for the first `max_fast_attempts` failures, then
    /// `slow_ns`.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_gate_config_fast_slow(fast_ns: u64, slow_ns: u64, max_fast_attempts: i64) =
        GateConfig::fast_slow(span(fast_ns), span(slow_ns), max_fast_attempts);

    /// Makes Chromium's net::BackoffEntry of the fields of its policy, times in milliseconds; HOLDOFF_NEVER is its -1: no
    /// longest delay, an entry that is kept for ever.
    ///
    /// Returns as holdoff_gate_config_build.
    init holdoff_gate_config_chromium(errors_to_ignore: u32, initial_delay_ms: u64, multiply_factor: f64,
        jitter_factor: f64, maximum_backoff_ms: u64, entry_lifetime_ms: u64, always_use_initial_delay: bool) = {
        let limit = |ms: u64| Some(ms).filter(|ms| *ms != u64::MAX);
        let (max, lifetime) = (limit(maximum_backoff_ms), limit(entry_lifetime_ms));
        GateConfig::chromium(initial_delay_ms, multiply_factor, jitter_factor, max, lifetime, errors_to_ignore,
            always_use_initial_delay)?
    };

    /// Lets a configuration begin again after more than `quiet_ns` without a failure.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    get_mut holdoff_gate_config_quiet(quiet_ns: u64) = *config = config.with_quiet(span(quiet_ns));
}

/// The state of one key: 32 bytes, plain numbers. Zeroed it is a new gate, open and without failures, and any other content
/// is valid too; so it can live in a map or a table of the program. To forget a key, zero it. Time is not clamped.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_gate {
    /// The number of failures that count.
    pub failures: u64,
    /// The delay after the last failure, in nanoseconds; 0 if no failure counts.
    pub delay_ns: u64,
    /// The time of the last failure, even if none counts any more; 0 for a new gate.
    pub failed_at: u64,
    /// The time at which the gate opens or opened; 0 for a new gate.
    pub opens_at: u64,
}

memory!(holdoff_gate holds Gate);

extern_c! {
    on holdoff_gate as gate;

    /// Records a failure at `now`, which closes the gate for a while.
    ///
    /// Returns for how long in nanoseconds, with the uniform `u` from [0, 1) for the jitter; HOLDOFF_NEVER for wrong use,
    /// which changes nothing.
    fn holdoff_gate_failure(gate: *mut holdoff_gate, config: *const holdoff_gate_config, now, u: f64) -> u64 =
        holdoff_gate_failure_of(gate, config, now, now, u);

    /// holdoff_gate_failure of something that happened at `event`, which is what the quiet time before it is measured to.
    get_mut holdoff_gate_failure_of(config: *const holdoff_gate_config, event: Timestamp, now, u: f64) -> u64 =
        gate.failure_of(get(config)?, event, now, u).as_nanos(), else HOLDOFF_NEVER;

    /// Tells whether a failure of an operation at `event` would use its uniform `u`.
    get holdoff_gate_draws(config: *const holdoff_gate_config, event: Timestamp) -> bool =
        gate.draws(get(config)?, event), else false;

    /// Records a success at `now`, which takes back as many failures as the configuration says.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    get_mut holdoff_gate_success(config: *const holdoff_gate_config, now) = gate.success(get(config)?, now);

    /// Opens the gate at `release` instead of its own time, until the next failure: for a time that a server or a person
    /// gave.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    get_mut holdoff_gate_release_at(release: Timestamp) = gate.release_at(release);

    /// Tells whether the gate is open at `now`; a NULL gate is open, as a new one.
    fn holdoff_gate_is_open(gate: *const holdoff_gate, now) -> bool =
        gate.is_null() || get(gate).is_ok_and(|gate| gate.is_open(now));

    /// Tells whether the delay of the last failure, counted from that failure, covers an event at `event`. It covers every
    /// event before the failure. Kubernetes' IsInBackOffSinceUpdate.
    get holdoff_gate_covers(config: *const holdoff_gate_config, event: Timestamp) -> bool =
        gate.covers(get(config)?, event), else false;

    /// Tells whether at `now` less time than the delay of the last failure has passed since an event at `event`.
    /// Kubernetes' IsInBackOffSince.
    get holdoff_gate_covers_since(config: *const holdoff_gate_config, event: Timestamp, now) -> bool =
        gate.covers_since(get(config)?, event, now), else false;

    /// Tells whether the key can be forgotten at `now`: its failures are too old to count, or it has been open and unused
    /// for as long as the configuration keeps an entry.
    get holdoff_gate_is_discardable(config: *const holdoff_gate_config, now) -> bool =
        gate.is_discardable(get(config)?, now), else false;
}
