//! The switch for tests, which is for the whole process.

use holdoff::testing::without_budgets;
use holdoff::{Policy, SharedPolicy, testing::VirtualTime};

#[test]
fn a_test_suite_turns_budgets_off() {
    let (shared, time) = (SharedPolicy::new(Policy::default()), VirtualTime::new());
    let fails = || shared.retry(|| Err::<(), _>("down")).sleeper(time.clone()).call().unwrap_err().attempts();
    assert!((0..100).any(|_| fails() == 1));
    without_budgets();
    assert!((0..100).all(|_| fails() == 3));
}
