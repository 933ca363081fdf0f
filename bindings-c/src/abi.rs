//! The binary interface itself: its number and its sizes, for languages that are no C.

use crate::*;

/// The number of the binary interface of this header, see holdoff_abi.
pub const HOLDOFF_ABI: u32 = 2;

/// Finds the size of a struct by its name, in a table without pointers.
macro_rules! size_by_name {
    ($name:expr; $($struct:ident),*) => {{
        const NAMES: &[u8] = concat!($(stringify!($struct), "\0"),*).as_bytes();
        static SIZES: [u16; [$(stringify!($struct)),*].len()] = [$(size_of::<$struct>() as u16),*];
        let mut names = NAMES.split(|byte| *byte == 0).zip(&SIZES);
        names.find(|(name, _)| Some(*name) == $name).map_or(0, |(_, size)| usize::from(*size))
    }};
}

/// Finds the size of a guard.
macro_rules! guard_sizes {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        fn guard_size(name: Option<&[u8]>) -> usize {
            size_by_name!(name; $($memory),*)
        }
    };
}
each_guard!(guard_sizes);

extern_c! {
    /// Returns the number of the library's binary interface. It grows with every change that would break a program that was
    /// compiled before; until version 1.0.0 also with every minor version.
    fn holdoff_abi() -> u32 = HOLDOFF_ABI;

    /// Returns the size in bytes of the struct with that name, such as "holdoff_policy"; 0 for any other name and for NULL.
    fn holdoff_sizeof(name: *const c_char) -> usize =
        guard_size(c_bytes(name)).max(size_by_name!(c_bytes(name);
        holdoff_adaptive_start, holdoff_bucket, holdoff_bucket_config, holdoff_call, holdoff_chaos, holdoff_divergence,
        holdoff_event, holdoff_event_fields, holdoff_events, holdoff_facts, holdoff_failure, holdoff_gate, holdoff_gate_config,
        holdoff_gate_options, holdoff_guard_memory, holdoff_guarded_call, holdoff_guards, holdoff_headers, holdoff_layered,
        holdoff_layers, holdoff_kubernetes_backoff, holdoff_loop_backoff, holdoff_nesting, holdoff_options, holdoff_periodic,
        holdoff_periodic_options, holdoff_periodic_step, holdoff_policy, holdoff_policy_fields, holdoff_problem, holdoff_recorder,
        holdoff_retry, holdoff_row, holdoff_rules, holdoff_saved, holdoff_schedule, holdoff_step, holdoff_token, holdoff_wait_backoff
    ));
}
