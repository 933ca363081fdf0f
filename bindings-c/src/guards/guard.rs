//! One guard: its configuration beside its state, and how options make it.

use crate::*;
use holdoff_core::{Error, Options};

/// A configuration and the state that belongs to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Guard<C, S> {
    pub(crate) config: C,
    pub(crate) state: S,
}

/// A guard of a section of the options, if there is one.
pub(crate) type Made<C, S> = Result<Option<Guard<C, S>>, Error>;

/// Makes the one guard that the options describe in a section.
///
/// # Safety
/// The pointers are null or point to memory of their types.
pub(crate) unsafe fn init<M: Memory>(
    memory: *mut M,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
    section: &str,
    build: impl FnOnce(&Options) -> Result<Option<M::Inner>, Error>,
) -> c_int {
    // SAFETY: passed on.
    unsafe { report(problem, || Ok(store(memory, build_section(options, section, build)?)?)) }
}

/// Builds what the options describe in a section; an empty section is an error.
///
/// # Safety
/// `options` is null or points to options.
pub(crate) unsafe fn build_section<T>(
    options: *const holdoff_options,
    section: &str,
    build: impl FnOnce(&Options) -> Result<Option<T>, Error>,
) -> Result<T, holdoff_problem> {
    // SAFETY: passed on.
    let builder = unsafe { sound(options) }?;
    let made = build(builder)?;
    made.ok_or(holdoff_problem::from(ErrorCode::FieldMissing).at(&section))
}
