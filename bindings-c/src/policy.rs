//! Policies, which say what to do after a failure: built once, then shared and only read.

use crate::*;

/// The first word of a policy; it differs between a library and a header of other layouts.
pub const HOLDOFF_POLICY_MAGIC: u64 = 0x686f_506f_6c69_6334;

/// A valid policy: 2,480 bytes, to be shared by any number of calls and threads, and never written to by them. May be
/// copied and moved. Made by holdoff_policy_default, holdoff_policy_preset or holdoff_policy_build; the content is the
/// library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_policy {
    magic: u64,
    first_limit_ns: u64,
    state: [u64; 308],
}

memory!(holdoff_policy holds Policy, b"hoPolic4", NotAPolicy);
const _: () = assert!(matches!(holdoff_policy::MAGIC, Some(HOLDOFF_POLICY_MAGIC)));

/// # Safety
/// `memory` is null or points to memory of the size of a policy.
pub(crate) unsafe fn store_policy(memory: *mut holdoff_policy, policy: Policy) -> Result<(), ErrorCode> {
    // SAFETY: the header's promise.
    unsafe { store(memory, policy)? };
    // SAFETY: the policy was just placed there.
    unsafe { (&raw mut (*memory).first_limit_ns).write(limit(&policy)) };
    Ok(())
}

/// Builds a policy in the memory that the caller has for it; after an error that memory holds none.
///
/// # Safety
/// As of [`store_policy`].
pub(crate) unsafe fn build_policy(
    memory: *mut holdoff_policy,
    build: impl FnOnce(&mut Policy) -> Result<(), Error>,
) -> Result<(), Error> {
    // SAFETY: the header's promise; the policy was just placed there.
    unsafe {
        store(memory, Policy::DEFAULT).map_err(Error::of_use)?;
        let policy = get_mut(memory).map_err(Error::of_use)?;
        let built = build(policy);
        (&raw mut (*memory).first_limit_ns).write(limit(policy));
        if built.is_err() {
            (&raw mut (*memory).magic).write(0);
        }
        built
    }
}

/// As `first_limit_ns` has it: HOLDOFF_NEVER lets the loop read no clock, and one less is no limit but a clock.
fn limit(policy: &Policy) -> u64 {
    policy.first_limit().map_or(u64::MAX - u64::from(policy.is_timed()), Span::as_nanos)
}

extern_c! {
    on holdoff_policy as policy;

    /// Makes the default policy: 3 attempts, exponential backoff from 100 ms by 2 up to 5 s, full jitter, hints obeyed up
    /// to 60 s, no deadline, no attempt timeout.
    ///
    /// Returns 0, or HOLDOFF_ERROR_NULL_POINTER.
    status holdoff_policy_default(policy: *mut holdoff_policy) = store_policy(policy, Policy::default())?;

    /// Makes the preset policy with that name, see HOLDOFF_WORD_PRESET: "kubernetes", "aws-standard-2.1" and so on.
    ///
    /// Returns 0; or HOLDOFF_ERROR_NULL_POINTER, HOLDOFF_ERROR_UNKNOWN_WORD, or, for a preset with rules in a library without
    /// them, HOLDOFF_ERROR_NOT_SUPPORTED; `policy` then holds none. The options' field "preset" takes the same names, explains
    /// an unknown one, and lets other fields differ.
    status holdoff_policy_preset(policy: *mut holdoff_policy, name: *const c_char) = {
        let name = c_str(name).ok_or(ErrorCode::NullPointer)?;
        let preset = word_of(Preset::from_name(name))?;
        build_policy(policy, |policy| preset.build_into(policy)).map_err(|error| error.code)?;
    };

    /// Makes the policy that the options describe. Guards that they describe are checked, but no part of a policy: see
    /// holdoff_guards_init.
    ///
    /// Returns 0 and writes `policy`; or a HOLDOFF_ERROR_ number, and `policy` then holds none. Either way `problem` (which
    /// may be NULL) says what is wrong, with code 0 for nothing.
    report holdoff_policy_build(policy: *mut holdoff_policy, options) = {
        let described = sound(options)?;
        build_policy(policy, |policy| described.build_into(policy).and_then(|()| described.check_guards()))?;
    };

    /// Returns how many attempts a call may make, the first one included; 4294967295 for no limit, and 0 for memory without
    /// a policy.
    get holdoff_policy_attempts() -> u32 = policy.attempts().unwrap_or(u32::MAX), else 0;

    /// Changes how many attempts a policy allows: `attempts`, the first one included; 4294967295 for as many as it takes, 0
    /// as 1. For a copy of a policy that no call uses yet: of what holdoff_nesting_attempts says.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    status holdoff_policy_set_attempts(policy: *mut holdoff_policy, attempts: u32) =
        store_policy(policy, get(policy)?.with_attempts(attempts))?;

    /// Makes a policy one for a failure whose delay the program chose: the hint of the failure is the delay, exactly, and the
    /// deadline alone bounds it. For a copy of the policy of a call, and for one holdoff_call_fail or
    /// holdoff_guarded_call_fail; holdoff_run does so for the `delay` of its host.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
    status holdoff_policy_set_exact_hints(policy: *mut holdoff_policy) =
        store_policy(policy, get(policy)?.with_exact_hints())?;

    /// Returns how long the first attempt of a call may take, in nanoseconds: the smaller of deadline and attempt timeout;
    /// HOLDOFF_NEVER without either, and for memory without a policy.
    fn holdoff_policy_first_limit(policy) -> u64 = {
        get(policy).ok().and_then(Policy::first_limit).map_or(u64::MAX, Span::as_nanos)
    };

    /// Returns a number that differs between policies that decide differently, the same in every language: a saved state
    /// keeps it. 0 for memory without a policy.
    get holdoff_policy_fingerprint() -> u64 = policy.fingerprint(), else 0;
}
