use super::*;
use std::vec::Vec;

const fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn drain(wheel: &mut Wheel, now: u64) -> Vec<u64> {
    core::iter::from_fn(|| wheel.pop(at(now))).map(|(_, at)| at.as_nanos()).collect()
}

#[test]
fn timers_fire_by_time() {
    let mut wheel = Wheel::new();
    for time in [30, 10, 5_000_000_000, 20, 1 << 62] {
        wheel.insert(at(time)).unwrap();
    }
    assert_eq!(drain(&mut wheel, 25), [10, 20]);
    assert_eq!(wheel.next_wake(), Some(at(30)));
    assert_eq!(drain(&mut wheel, u64::MAX), [30, 5_000_000_000, 1 << 62]);
    assert!(wheel.is_empty());
}
