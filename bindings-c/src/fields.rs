//! Policies and guards from plain numbers: no names, no texts, and no code for them in a program.

use crate::*;

/// Declares the fields of a policy from the core's table of its numbers.
macro_rules! policy_fields {
    (
        shared { $($(#[doc = $own_doc:literal])+ $own:ident: $own_type:ident, $own_field:ident, $own_kind:ident ($choice:ident, $own_at:literal, $own_c:ident $(, $own_note:literal)?);)+ }
        simple { $($(#[doc = $doc:literal])+ $member:ident: $type:ident, $field:ident, $kind:ident ($at:literal, $c:ident $(, $note:literal)?);)+ }
        $($others:tt)+
    ) => {
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
                $($(#[doc = $doc])+ $(#[doc = $note])? $c: $type = $member,)+
                /// A HOLDOFF_BACKOFF_ number; exponential.
                backoff: u8 = backoff,
                /// A HOLDOFF_JITTER_ number; full.
                jitter: u8 = jitter,
                $($(#[doc = $own_doc])+ $(#[doc = $own_note])? $own_c: $own_type = $own,)+
            }
        }
    };
}

holdoff_core::each_policy_number!(policy_fields);

extern_c! {
    /// Writes the fields of the default policy.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_policy_fields_init(fields: *mut holdoff_policy_fields) =
        write(not_null(fields)?, PolicyFields::default().into());

    /// Makes the policy with these fields: for programs that must be small, because unlike options it needs no names.
    ///
    /// Returns 0 and writes `policy`; or the HOLDOFF_ERROR_ number of the first rule that is broken (see holdoff_word;
    /// HOLDOFF_ERROR_UNKNOWN_WORD for a number that its table does not have), and `policy` then holds none.
    status holdoff_policy_init(policy: *mut holdoff_policy, fields: *const holdoff_policy_fields) =
        build_policy(policy, |policy| {
            let fields = read(fields).ok_or(ErrorCode::NullPointer).and_then(PolicyFields::try_from);
            fields.map_err(Error::of_use)?.build_into(policy)
        })?;
}
