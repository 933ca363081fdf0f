//! Policies and guards from plain numbers: no names, no texts, and no code for them in a program.

use crate::*;

c_struct! {
    /// The fields of a policy of one stage, as plain numbers. Begin with holdoff_policy_fields_init, then set what differs. Times
    /// are nanoseconds, at most HOLDOFF_LONGEST_NS; HOLDOFF_NEVER is no limit where there may be none.
    holdoff_policy_fields mirrors PolicyFields {
        /// The first delay; 100 ms.
        initial_ns: u64 = initial,
        /// The longest delay, not below the first; 5 s.
        max_ns: u64 = max,
        /// HOLDOFF_BACKOFF_LINEAR: what each delay is longer; 0.
        increment_ns: u64 = increment,
        /// The factor or the exponent of a backoff that has one: finite, from 0 on, of a decorrelated one from 1 on; 2.
        factor: f64 = factor,
        /// The factor of a jitter that has one: finite, from 0 on, at most 1 but for HOLDOFF_JITTER_ADDITIVE; 0.
        jitter_factor: f64 = jitter_factor,
        /// HOLDOFF_JITTER_BOUNDED: its bound; 0.
        jitter_bound_ns: u64 = jitter_bound,
        /// How long the whole operation may take: above 0; HOLDOFF_NEVER.
        deadline_ns: u64 = deadline,
        /// How much time before the deadline an attempt needs to be worth starting: below the deadline; 0.
        min_attempt_ns: u64 = min_attempt,
        /// How long one attempt may take: above 0; HOLDOFF_NEVER.
        attempt_timeout_ns: u64 = attempt_timeout,
        /// The longest hint that is obeyed; 60 s.
        hint_max_ns: u64 = hint_max,
        /// How far a hint may move a delay beyond the policy's own; HOLDOFF_NEVER.
        hint_reach_ns: u64 = hint_reach,
        /// How many attempts there may be, the first one included: 1 to 4294967294; 4294967295 for no limit; 3.
        attempts: u32 = attempts,
        /// A HOLDOFF_BACKOFF_ number; exponential.
        backoff: u8 = backoff,
        /// A HOLDOFF_JITTER_ number; full.
        jitter: u8 = jitter,
        /// A HOLDOFF_CAP_ number; the spread is kept.
        cap: u8 = cap,
        /// HOLDOFF_DEADLINE_STOP or HOLDOFF_DEADLINE_CLIP; stop.
        on_deadline: u8 = on_deadline,
        /// HOLDOFF_HINT_FLOOR, REPLACE, IGNORE, EXACT or AT_LEAST; floor.
        hint_mode: u8 = hint_mode,
        /// HOLDOFF_LONG_HINT_STOP, HOLDOFF_LONG_HINT_CLAMP or HOLDOFF_LONG_HINT_IGNORE; stop.
        hint_over: u8 = hint_over,
    }
}

extern_c! {
    /// Writes the fields of the default policy.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_policy_fields_init(fields: *mut holdoff_policy_fields) =
        write(not_null(fields)?, PolicyFields::default().into());

    /// Makes the policy with these fields: for programs that must be small, because unlike options it needs no names.
    ///
    /// Returns 0 and writes `policy`; or the HOLDOFF_ERROR_ number of the first rule that is broken (see holdoff_word;
    /// HOLDOFF_ERROR_UNKNOWN_WORD for a number that its table does not have), and leaves `policy` as it was.
    status holdoff_policy_init(policy: *mut holdoff_policy, fields: *const holdoff_policy_fields) = {
        let fields = PolicyFields::try_from(read(fields).ok_or(ErrorCode::NullPointer)?)?;
        store_policy(policy, fields.build()?)?;
    };
}
