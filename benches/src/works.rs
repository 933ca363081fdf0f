//! Every work that takes nanoseconds, with everybody who does it, the base first.
//!
//! What a policy, a seed or a time is must not be known when it is compiled, or some of the work is done then. So what is set
//! once, by the peers too, was black-boxed once, and what changes with each call is each time.

mod breakers;
mod delays;
mod limiters;
mod loops;

use crate::sample::Work;

/// All of them.
#[must_use]
pub fn all() -> Vec<Work> {
    let mut all = delays::works();
    all.extend(loops::works());
    all.extend(breakers::works());
    all.extend(limiters::works());
    all
}

/// A seed that the compiler does not know.
#[inline(always)]
fn seed() -> u64 {
    std::hint::black_box(7)
}
