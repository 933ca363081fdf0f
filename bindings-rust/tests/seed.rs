//! The program's own seed, in a process of its own because it is the program's.

use holdoff::core::{Schedule, Span, seed_at};
use holdoff::{Policy, retry, testing::VirtualTime};
use std::cell::RefCell;
use std::time::Duration;

fn delays(policy: &Policy) -> Vec<Duration> {
    let delays = RefCell::new(Vec::new());
    let hook = |retried: &holdoff::builder::Retried<'_, &str>| delays.borrow_mut().push(retried.delay);
    let stopped = retry(policy, || Err::<(), _>("down")).on_retry(hook).sleeper(VirtualTime::new()).call();
    assert!(stopped.is_err());
    delays.into_inner()
}

#[test]
fn the_kth_failing_operation_gets_the_kth_seed() {
    let policy = Policy::options().attempts(4).build().unwrap();
    assert_ne!(delays(&policy), delays(&policy), "random seeds differ");
    holdoff::testing::seed(42);
    for k in 0..5 {
        let expected: Vec<_> = Schedule::new(&policy, seed_at(42, k)).map(Span::as_duration).collect();
        assert_eq!(retry(&policy, || Ok::<_, ()>(1)).call(), Ok(1), "a success does not count");
        let given = retry(&policy, || Err::<(), _>("down")).seed(1).sleeper(VirtualTime::new()).call();
        assert!(given.is_err(), "an operation with its own seed does not count");
        assert_eq!(delays(&policy), expected);
    }
    holdoff::testing::seed(42);
    let expected: Vec<_> = Schedule::new(&policy, seed_at(42, 0)).map(Span::as_duration).collect();
    assert_eq!(delays(&policy), expected, "giving the seed again starts again");
}
