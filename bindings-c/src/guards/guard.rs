//! One guard: its configuration beside its state, and how options make it.

use crate::*;

/// A configuration and the state that belongs to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Guard<C, S> {
    pub(crate) config: C,
    pub(crate) state: S,
}

/// The memory of a guard that options describe in a section of their own.
pub(crate) trait Described: Memory {
    /// Its configuration.
    type Config;
    /// The name of the section.
    const SECTION: &'static str;

    /// Reads the configuration in the section of options, if there is one.
    fn config(options: &Options) -> Result<Option<Self::Config>, Error>;

    /// Makes a guard that has seen nothing.
    fn new(config: Self::Config, seed: u64, now: Timestamp) -> Self::Inner;
}

/// Declares the section that describes a guard, its configuration and its state at first: `memory in section: Config, |config,
/// seed, now| state`.
macro_rules! described {
    ($memory:ident in $section:ident: $config:ident, |$of:pat_param, $seed:pat_param, $now:pat_param| $new:expr) => {
        impl $crate::guards::guard::Described for $memory {
            type Config = $config;
            const SECTION: &'static str = stringify!($section);

            fn config(options: &Options) -> Result<Option<$config>, Error> {
                options.$section()
            }

            fn new(config: $config, $seed: u64, $now: Timestamp) -> Self::Inner {
                let $of = &config;
                Guard { state: $new, config }
            }
        }
    };
}
pub(crate) use described;

/// Makes the guard that the options describe in its section; an empty section is an error.
///
/// # Safety
/// `options` is null or points to options.
pub(crate) unsafe fn section<M: Described>(
    options: *const holdoff_options,
    seed: u64,
    now: Timestamp,
) -> Result<M::Inner, holdoff_problem> {
    // SAFETY: passed on.
    let config = M::config(unsafe { sound(options) }?)?;
    config
        .map(|config| M::new(config, seed, now))
        .ok_or_else(|| holdoff_problem::about(ErrorCode::FieldMissing, M::SECTION))
}
