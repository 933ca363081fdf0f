//! Every work that takes nanoseconds, with everybody who does it, the base first.
//!
//! The compiler must not know policies, seeds or times, or some of the work is done at compile time; and what is
//! set once must not be looked at once, nor a state live in the processor's registers from call to call, as no program's
//! does. So everything that a call is given, by the peers too, comes out of a black box each time.

mod breakers;
mod delays;
mod durable;
mod guarded;
mod guards;
mod hints;
mod jitters;
mod limiters;
mod loops;
mod nested;
mod pacing;
mod policies;
mod seed;

use crate::sample::Work;

/// All of them.
#[must_use]
pub fn all() -> Vec<Work> {
    let mut all = delays::works();
    all.extend(jitters::works());
    all.extend(loops::works());
    all.extend(breakers::works());
    all.extend(limiters::works());
    all.extend(guards::works());
    all.extend(guarded::works());
    all.extend(nested::works());
    all.extend(pacing::works());
    all.extend(durable::works());
    all.extend(policies::works());
    all.extend(hints::works());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn everybody_can_do_the_work_and_has_a_name() {
        let mut names = BTreeSet::new();
        for mut work in all() {
            assert_eq!(work.who[0].name, "floor", "{}", work.name);
            for who in &mut work.who {
                who.run(100);
                assert!(names.insert((work.name.clone(), who.name)), "{} by {}", work.name, who.name);
            }
        }
    }
}
