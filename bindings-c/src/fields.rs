//! Policies and guards from plain numbers: no names, no texts, and no code for them in a program.

use crate::*;

/// Backoff: the same delay each time.
pub const HOLDOFF_BACKOFF_CONSTANT: u32 = 1;
/// Backoff: each delay `increment_ns` longer than the one before.
pub const HOLDOFF_BACKOFF_LINEAR: u32 = 2;
/// Backoff: each delay `factor` times the one before.
pub const HOLDOFF_BACKOFF_EXPONENTIAL: u32 = 3;
/// Backoff: the first delay times the number of the retry to the power of `factor`.
pub const HOLDOFF_BACKOFF_POLYNOMIAL: u32 = 4;
/// Backoff: the first delay times Fibonacci's numbers.
pub const HOLDOFF_BACKOFF_FIBONACCI: u32 = 5;
/// Backoff: drawn between the first delay and `factor` times the last one; without another jitter.
pub const HOLDOFF_BACKOFF_DECORRELATED: u32 = 7;
/// Backoff: Polly's decorrelated jitter; without another jitter.
pub const HOLDOFF_BACKOFF_DECORRELATED_V2: u32 = 8;

/// Jitter: none.
pub const HOLDOFF_JITTER_NONE: u32 = 0;
/// Jitter: anywhere between nothing and the delay.
pub const HOLDOFF_JITTER_FULL: u32 = 1;
/// Jitter: half of the delay fixed, half spread.
pub const HOLDOFF_JITTER_EQUAL: u32 = 2;
/// Jitter: the delay and up to `jitter_factor` of it more.
pub const HOLDOFF_JITTER_ADDITIVE: u32 = 3;
/// Jitter: the delay give or take `jitter_factor` of it.
pub const HOLDOFF_JITTER_PROPORTIONAL: u32 = 4;
/// Jitter: the delay and less than `jitter_bound_ns` more.
pub const HOLDOFF_JITTER_BOUNDED: u32 = 5;
/// Jitter: the delay and up to `jitter_factor` of it less.
pub const HOLDOFF_JITTER_SUBTRACTIVE: u32 = 6;

c_struct! {
    /// The fields of a policy of one stage, as plain numbers. Begin with holdoff_policy_fields_init, then set what differs. Times
    /// are nanoseconds, at most HOLDOFF_LONGEST_NS; HOLDOFF_NEVER is no limit where there may be none.
    holdoff_policy_fields defaults to DEFAULT {
        /// The first delay; 100 ms.
        initial_ns: u64 = 100_000_000,
        /// The longest delay, not below the first; 5 s.
        max_ns: u64 = 5_000_000_000,
        /// HOLDOFF_BACKOFF_LINEAR: what each delay is longer; 0.
        increment_ns: u64 = 0,
        /// The factor or the exponent of a backoff that has one: finite, from 0 on, of a decorrelated one from 1 on; 2.
        factor: f64 = 2.0,
        /// The factor of a jitter that has one: finite, from 0 on, at most 1 but for HOLDOFF_JITTER_ADDITIVE; 0.
        jitter_factor: f64 = 0.0,
        /// HOLDOFF_JITTER_BOUNDED: its bound; 0.
        jitter_bound_ns: u64 = 0,
        /// How long the whole operation may take: above 0; HOLDOFF_NEVER.
        deadline_ns: u64 = HOLDOFF_NEVER,
        /// How much time before the deadline an attempt needs to be worth starting: below the deadline; 0.
        min_attempt_ns: u64 = 0,
        /// How long one attempt may take: above 0; HOLDOFF_NEVER.
        attempt_timeout_ns: u64 = HOLDOFF_NEVER,
        /// The longest hint that is obeyed; 60 s.
        hint_max_ns: u64 = 60_000_000_000,
        /// How far a hint may move a delay beyond the policy's own; HOLDOFF_NEVER.
        hint_reach_ns: u64 = HOLDOFF_NEVER,
        /// How many attempts there may be, the first one included: 1 to 4294967294; 4294967295 for no limit; 3.
        attempts: u32 = 3,
        /// A HOLDOFF_BACKOFF_ number; exponential.
        backoff: u8 = HOLDOFF_BACKOFF_EXPONENTIAL as u8,
        /// A HOLDOFF_JITTER_ number; full.
        jitter: u8 = HOLDOFF_JITTER_FULL as u8,
        /// A HOLDOFF_CAP_ number; the spread is kept.
        cap: u8 = HOLDOFF_CAP_KEEP_SPREAD,
        /// HOLDOFF_DEADLINE_STOP or HOLDOFF_DEADLINE_CLIP; stop.
        on_deadline: u8 = HOLDOFF_DEADLINE_STOP,
        /// HOLDOFF_HINT_FLOOR, REPLACE, IGNORE, EXACT or AT_LEAST; floor.
        hint_mode: u8 = HOLDOFF_HINT_FLOOR,
        /// HOLDOFF_HINT_STOP or HOLDOFF_HINT_CLAMP; stop.
        hint_over: u8 = HOLDOFF_HINT_STOP,
    }
}

fn policy_fields(fields: holdoff_policy_fields) -> Result<PolicyFields, ErrorCode> {
    let [initial, max, increment] = [fields.initial_ns, fields.max_ns, fields.increment_ns].map(Span::from_nanos);
    let (factor, by) = (fields.factor, fields.jitter_factor);
    Ok(PolicyFields {
        backoff: match u32::from(fields.backoff) {
            HOLDOFF_BACKOFF_CONSTANT => Backoff::Constant { delay: initial },
            HOLDOFF_BACKOFF_LINEAR => Backoff::Linear { initial, increment, max },
            HOLDOFF_BACKOFF_EXPONENTIAL => Backoff::Exponential { initial, factor, max },
            HOLDOFF_BACKOFF_POLYNOMIAL => Backoff::Polynomial { initial, exponent: factor, max },
            HOLDOFF_BACKOFF_FIBONACCI => Backoff::Fibonacci { initial, max },
            HOLDOFF_BACKOFF_DECORRELATED => Backoff::Decorrelated { initial, factor, max },
            HOLDOFF_BACKOFF_DECORRELATED_V2 => Backoff::DecorrelatedV2 { initial, max },
            _ => return Err(ErrorCode::UnknownWord),
        },
        jitter: match u32::from(fields.jitter) {
            HOLDOFF_JITTER_NONE => Jitter::None,
            HOLDOFF_JITTER_FULL => Jitter::Full,
            HOLDOFF_JITTER_EQUAL => Jitter::Equal,
            HOLDOFF_JITTER_ADDITIVE => Jitter::Additive { factor: by },
            HOLDOFF_JITTER_PROPORTIONAL => Jitter::Proportional { factor: by },
            HOLDOFF_JITTER_BOUNDED => Jitter::Bounded { bound: span(fields.jitter_bound_ns) },
            HOLDOFF_JITTER_SUBTRACTIVE => Jitter::Subtractive { factor: by },
            _ => return Err(ErrorCode::UnknownWord),
        },
        cap: word_of(Cap::from_code(fields.cap.into()))?,
        on_deadline: word_of(OnDeadline::from_code(fields.on_deadline.into()))?,
        hint_mode: word_of(HintMode::from_code(fields.hint_mode.into()))?,
        hint_over: word_of(HintOver::from_code(fields.hint_over.into()))?,
        attempts: Some(fields.attempts).filter(|attempts| *attempts != u32::MAX),
        deadline: AsNumber::from_number(fields.deadline_ns)?,
        min_attempt: span(fields.min_attempt_ns),
        attempt_timeout: AsNumber::from_number(fields.attempt_timeout_ns)?,
        hint_max: span(fields.hint_max_ns),
        hint_reach: AsNumber::from_number(fields.hint_reach_ns)?,
    })
}

extern_c! {
    /// Writes the fields of the default policy.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    fn holdoff_policy_fields_init(fields: *mut holdoff_policy_fields) -> c_int = {
        write(fields, DEFAULT);
        status(if fields.is_null() { Err(ErrorCode::NullPointer) } else { Ok(()) })
    };

    /// Makes the policy with these fields: for programs that must be small, because unlike options it needs no names.
    ///
    /// Returns 0 and writes `policy`; or the HOLDOFF_ERROR_ number of the first rule that is broken (see holdoff_word;
    /// HOLDOFF_ERROR_UNKNOWN_WORD for a number that its table does not have), and leaves `policy` as it was.
    fn holdoff_policy_init(policy: *mut holdoff_policy, fields: *const holdoff_policy_fields) -> c_int = {
        let fields = read(fields).ok_or(ErrorCode::NullPointer).and_then(policy_fields);
        status(fields.and_then(|fields| store_policy(policy, fields.build()?)))
    };
}
