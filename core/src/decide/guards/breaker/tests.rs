//! What a breaker does, rule by rule, and against a model that remembers everything.

use super::*;
use crate::decide::backoff::{BackoffNumbers, EXPONENTIAL};
use crate::decide::guards::save::tests::moved;
use crate::fields::Field;
use crate::{ErrorCode, Options, Value};

mod model;

const FAST: Span = Span::ZERO;
const SECOND: u64 = 1_000_000_000;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(seconds * SECOND)
}

fn secs(seconds: u64) -> Span {
    Span::from_secs(seconds)
}

/// The configuration with these fields, open for ten seconds.
fn with(fields: &[(Field, Value<'_>)]) -> BreakerConfig {
    let options = Options::NEW.with_field(Field::BreakerOpenFor, 10).unwrap().with_fields(fields);
    options.unwrap().breaker().unwrap().unwrap()
}

/// Opens after two failures in a row.
fn options() -> BreakerConfig {
    with(&[(Field::BreakerFailures, 2.into())])
}

/// Opens when half of the latest calls have failed.
fn count(size: u32, min_calls: u32) -> BreakerConfig {
    with(&[
        (Field::BreakerKind, "count".into()),
        (Field::BreakerSize, size.into()),
        (Field::BreakerMinCalls, min_calls.into()),
    ])
}

struct Rig {
    config: BreakerConfig,
    breaker: Breaker,
}

impl Rig {
    fn new(config: BreakerConfig) -> Self {
        Self { config, breaker: Breaker::new(&config, 7, at(0)) }
    }

    fn acquire(&mut self, now: u64) -> Result<Permit, Timestamp> {
        self.breaker.acquire(&self.config, at(now))
    }

    fn record(&mut self, permit: Permit, now: u64, verdict: Verdict) {
        self.breaker.record(&self.config, permit, at(now), verdict, FAST);
    }

    /// A call that takes no time; whether it ran.
    fn call(&mut self, now: u64, verdict: Verdict) -> bool {
        self.acquire(now).map(|permit| self.record(permit, now, verdict)).is_ok()
    }

    /// An open one: two failures at 0.
    fn opened(config: BreakerConfig) -> Self {
        let mut rig = Self::new(config);
        (0..2).for_each(|_| assert!(rig.call(0, Verdict::Failure)));
        assert_eq!(rig.state(0), BreakerState::Open);
        rig
    }

    fn state(&self, now: u64) -> BreakerState {
        self.breaker.state(&self.config, at(now))
    }
}

#[test]
fn failures_in_a_row_open_it_and_a_success_between_does_not() {
    let mut rig = Rig::new(options());
    for verdict in [Verdict::Failure, Verdict::Success, Verdict::Failure] {
        assert!(rig.call(0, verdict));
    }
    assert_eq!((rig.state(0), rig.breaker.rates(&rig.config, at(0))), (BreakerState::Closed, (1, 1, 0)));
    assert!(rig.call(1, Verdict::Failure));
    assert_eq!(rig.acquire(2), Err(at(11)));
    assert_eq!((rig.breaker.retry_at(), rig.breaker.openings()), (at(11), 1));
    assert_eq!(rig.breaker.refuses(&rig.config, at(10)), Some(at(11)));
    assert_eq!(rig.breaker.refuses(&rig.config, at(11)), None);
}

#[test]
fn it_turns_half_open_when_asked_at_the_end_of_its_time() {
    let mut rig = Rig::opened(options());
    assert_eq!(rig.acquire(9), Err(at(10)));
    assert_eq!((rig.state(9), rig.state(10)), (BreakerState::Open, BreakerState::HalfOpen));
    assert!(rig.call(10, Verdict::Success));
    assert_eq!(rig.state(10), BreakerState::Closed);
    assert_eq!(rig.breaker.retry_at(), Timestamp::ZERO);
}

#[test]
fn a_failure_of_a_half_open_one_opens_it_again() {
    let mut rig = Rig::opened(options());
    assert!(rig.call(12, Verdict::Failure));
    assert_eq!(rig.acquire(12), Err(at(22)));
    assert_eq!(rig.breaker.openings(), 2);
}

#[test]
fn only_so_many_try_a_half_open_one_at_once() {
    let mut rig = Rig::opened(BreakerConfig { probes: 2, successes: 3, ..options() });
    let (first, second) = (rig.acquire(10).unwrap(), rig.acquire(11).unwrap());
    assert_eq!(rig.acquire(11), Err(at(21)));
    rig.record(first, 12, Verdict::Success);
    let third = rig.acquire(13).unwrap();
    rig.breaker.abandon(&rig.config, second, at(14));
    let fourth = rig.acquire(14).unwrap();
    rig.record(third, 15, Verdict::Success);
    assert_eq!(rig.state(15), BreakerState::HalfOpen);
    rig.record(fourth, 16, Verdict::Success);
    assert_eq!(rig.state(16), BreakerState::Closed);
}

#[test]
fn permits_that_are_lost_expire_after_an_open_time() {
    let mut rig = Rig::opened(options());
    let lost = rig.acquire(15).unwrap();
    assert_eq!(rig.acquire(24), Err(at(25)));
    let next = rig.acquire(25).unwrap();
    // The lost one comes back after all, and counts no more.
    rig.record(lost, 26, Verdict::Failure);
    assert_eq!(rig.state(26), BreakerState::HalfOpen);
    rig.record(next, 26, Verdict::Success);
    assert_eq!(rig.state(26), BreakerState::Closed);
}

#[test]
fn a_late_result_moves_no_newer_state() {
    let mut rig = Rig::new(options());
    let late: std::vec::Vec<_> = (0..4).map(|_| rig.acquire(0).unwrap()).collect();
    rig.record(late[0], 1, Verdict::Failure);
    rig.record(late[1], 1, Verdict::Failure);
    assert_eq!(rig.acquire(2), Err(at(11)));
    rig.record(late[2], 5, Verdict::Failure);
    assert_eq!(rig.acquire(6), Err(at(11)));
    assert!(rig.call(11, Verdict::Success));
    let closed = rig.breaker;
    rig.record(late[3], 12, Verdict::Failure);
    assert_eq!(rig.breaker, closed);
}

#[test]
fn open_times_grow_in_a_row_and_start_anew_after_a_closing() {
    let (kind, step, max) = (EXPONENTIAL, 2.0_f64.to_bits(), secs(30).as_nanos());
    let open = BackoffNumbers { kind, step, max, ..options().open };
    let mut rig = Rig::opened(BreakerConfig { open, ..options() });
    for (now, until) in [(10, 30), (30, 60), (60, 90)] {
        assert!(rig.call(now, Verdict::Failure));
        assert_eq!(rig.acquire(now), Err(at(until)));
    }
    assert!(rig.call(90, Verdict::Success));
    (0..2).for_each(|_| assert!(rig.call(100, Verdict::Failure)));
    assert_eq!(rig.acquire(100), Err(at(110)));
}

#[test]
fn listed_open_times_follow_each_other() {
    let times = [10, 5, 30].map(secs);
    let config = options().with_open_times(&times).unwrap();
    let fields = [0, 1, 2].map(|item| (std::format!("breaker.open_for[{item}]"), times[item]));
    let mut set = Options::NEW.with_field(Field::BreakerFailures, 2).unwrap();
    for (name, time) in &fields {
        set.set(name, Value::Nanos(time.as_nanos())).unwrap();
    }
    assert_eq!(set.breaker().unwrap(), Some(config));
    assert_eq!(set.guards().breaker().unwrap(), Some(config));
    let mut rig = Rig::opened(config);
    for (now, until) in [(10, 15), (15, 45), (45, 75)] {
        assert!(rig.call(now, Verdict::Failure));
        assert_eq!(rig.acquire(now), Err(at(until)));
    }
    for (times, code) in [(&[][..], ErrorCode::DelaysMissing), (&[FAST; 9], ErrorCode::TooManyStages)] {
        assert_eq!(config.with_open_times(times).unwrap_err().code, code);
    }
    // One time that is not listed takes the place of the list.
    assert_eq!(set.with_field(Field::BreakerOpenFor, 10).unwrap().breaker().unwrap(), Some(options()));
}

#[test]
fn some_of_the_calls_that_try_may_fail() {
    let config = options().with_probes(10, 7, 3).unwrap();
    for (failures, closes) in [(0, true), (3, true), (4, false)] {
        let mut rig = Rig::opened(config);
        let permits: [Permit; 10] = core::array::from_fn(|_| rig.acquire(10).unwrap());
        assert_eq!(rig.acquire(10), Err(at(20)));
        for (index, permit) in permits.into_iter().enumerate() {
            rig.record(permit, 10, if index < failures { Verdict::Failure } else { Verdict::Success });
        }
        let state = if closes { BreakerState::Closed } else { BreakerState::Open };
        assert_eq!(rig.breaker.state(&config, at(10)), state, "{failures}");
    }
    // A restored one goes on counting.
    let mut rig = Rig::opened(config);
    (0..3).for_each(|_| assert!(rig.call(10, Verdict::Failure)));
    rig.breaker = moved(&config, &rig.breaker, at(10), at(10)).unwrap();
    assert!(rig.call(10, Verdict::Failure));
    assert_eq!(rig.acquire(10), Err(at(20)));
    assert_eq!(config.with_probes(0, 1, 0).unwrap_err().field, Some(Field::BreakerProbes));
    assert_eq!(config.with_probes(1, 0, 0).unwrap_err().field, Some(Field::BreakerSuccesses));
}

#[test]
fn jitter_only_lengthens() {
    let mut rig = Rig::new(BreakerConfig { jitter: 0.5, ..options() });
    let u = Rng::new(7).uniform();
    (0..2).for_each(|_| assert!(rig.call(0, Verdict::Failure)));
    let until = rig.acquire(0).unwrap_err().as_nanos();
    assert_eq!(until, 10 * SECOND + ((u * 0.5) * (10 * SECOND) as f64) as u64);
    assert!((10 * SECOND..15 * SECOND).contains(&until));
}

#[test]
fn under_a_streak_a_failure_after_a_success_does_not_open_a_half_open_one() {
    let mut rig = Rig::opened(BreakerConfig { reopen: 1, successes: 2, ..options() });
    assert!(rig.call(10, Verdict::Failure));
    assert_eq!(rig.acquire(11), Err(at(20)), "the run of failures goes on");
    assert!(rig.call(20, Verdict::Success));
    assert!(rig.call(20, Verdict::Failure));
    assert_eq!(rig.state(20), BreakerState::HalfOpen);
    assert!(rig.call(20, Verdict::Success));
    assert_eq!(rig.state(20), BreakerState::HalfOpen, "successes in a row");
    assert!(rig.call(20, Verdict::Success));
    assert_eq!(rig.state(20), BreakerState::Closed);
}

#[test]
fn a_share_of_the_latest_calls_opens_it() {
    let mut rig = Rig::new(count(4, 3));
    assert!(rig.call(0, Verdict::Failure));
    assert!(rig.call(0, Verdict::Success));
    assert_eq!(rig.state(0), BreakerState::Closed, "too few calls");
    for _ in 0..3 {
        assert!(rig.call(0, Verdict::Success));
    }
    assert_eq!(rig.breaker.rates(&rig.config, at(0)), (4, 0, 0), "the failure is forgotten");
    assert!(rig.call(0, Verdict::Failure));
    assert!(rig.call(0, Verdict::Failure));
    assert_eq!((rig.state(0), rig.breaker.rates(&rig.config, at(0))), (BreakerState::Open, (4, 2, 0)));
}

#[test]
fn the_call_that_makes_them_enough_may_be_a_success() {
    let mut rig = Rig::new(count(4, 3));
    for verdict in [Verdict::Failure, Verdict::Failure, Verdict::Success] {
        assert!(rig.call(0, verdict));
    }
    assert_eq!(rig.state(0), BreakerState::Open);
}

#[test]
fn slow_answers_open_it_and_do_not_close_it() {
    let mut rig = Rig::new(with(&[
        (Field::BreakerKind, "time".into()),
        (Field::BreakerWindow, 10.into()),
        (Field::BreakerSlots, 5.into()),
        (Field::BreakerMinCalls, 2.into()),
        (Field::BreakerFailureRate, 1.0.into()),
        (Field::BreakerSlowRate, 0.5.into()),
        (Field::BreakerSlowAfter, 3.into()),
    ]));
    for (now, took) in [(3, 2), (5, 3)] {
        let permit = rig.acquire(now).unwrap();
        rig.breaker.record(&rig.config, permit, at(now), Verdict::Success, secs(took));
    }
    assert_eq!((rig.acquire(5), rig.breaker.rates(&rig.config, at(5))), (Err(at(15)), (2, 0, 1)));
    let permit = rig.acquire(15).unwrap();
    rig.breaker.record(&rig.config, permit, at(18), Verdict::Success, secs(3));
    assert_eq!(rig.acquire(18), Err(at(28)));
}

#[test]
fn old_successes_no_longer_speak_for_it() {
    let mut rig = Rig::new(with(&[
        (Field::BreakerKind, "time".into()),
        (Field::BreakerWindow, 10.into()),
        (Field::BreakerMinCalls, 2.into()),
    ]));
    for (now, verdict) in [(0, Verdict::Success), (0, Verdict::Success), (0, Verdict::Success), (9, Verdict::Failure)] {
        assert!(rig.call(now, verdict));
    }
    assert_eq!(rig.state(9), BreakerState::Closed);
    assert!(rig.call(10, Verdict::Success));
    assert_eq!((rig.state(10), rig.breaker.rates(&rig.config, at(10))), (BreakerState::Open, (2, 1, 0)));
}

#[test]
fn a_closing_forgets_the_calls_before_it() {
    let mut rig = Rig::opened(count(2, 2));
    assert!(rig.call(10, Verdict::Success));
    assert_eq!(rig.breaker.rates(&rig.config, at(10)), (0, 0, 0));
}

#[test]
fn a_server_that_asks_for_time_gets_it() {
    let mut rig = Rig::new(BreakerConfig { hint: 1, ..options() });
    rig.breaker.hint(&rig.config, at(0), Span::ZERO);
    assert_eq!(rig.state(0), BreakerState::Closed);
    let late = rig.acquire(1).unwrap();
    rig.breaker.hint(&rig.config, at(1), secs(60));
    assert_eq!((rig.acquire(2), rig.breaker.openings()), (Err(at(61)), 1));
    rig.breaker.hint(&rig.config, at(2), secs(5));
    assert_eq!(rig.acquire(2), Err(at(61)));
    rig.record(late, 3, Verdict::Success);
    let lost = rig.acquire(61).unwrap();
    assert_eq!(rig.acquire(62), Err(at(71)), "lost permits expire by its own open time");
    rig.breaker.hint(&rig.config, at(63), secs(1));
    assert_eq!(rig.acquire(63), Err(at(64)));
    rig.record(lost, 63, Verdict::Success);
    assert_eq!(rig.state(63), BreakerState::Open);

    let mut deaf = Rig::new(options());
    deaf.breaker.hint(&deaf.config, at(1), secs(60));
    assert_eq!(deaf.state(1), BreakerState::Closed);
}

#[test]
fn a_person_has_the_last_word() {
    let mut rig = Rig::new(BreakerConfig { hint: 1, ..options() });
    rig.breaker.isolate(at(0));
    rig.breaker.hint(&rig.config, at(0), secs(1));
    assert_eq!((rig.state(1000), rig.acquire(1000)), (BreakerState::Isolated, Err(Timestamp::NEVER)));
    assert_eq!(rig.breaker.refuses(&rig.config, at(1000)), Some(Timestamp::NEVER));
    rig.breaker.force_close(at(1000));
    (0..2).for_each(|_| assert!(rig.call(1000, Verdict::Failure)));
    assert_eq!((rig.state(1000), rig.breaker.openings()), (BreakerState::Open, 1));
    rig.breaker.reset(at(1001));
    assert_eq!((rig.state(1001), rig.breaker.openings()), (BreakerState::Closed, 0));
}

#[test]
fn one_that_observes_shows_what_it_would_have_done() {
    let observing = BreakerConfig { mode: 1, ..options() };
    let mut rig = Rig::opened(observing);
    assert_eq!(rig.breaker.refuses(&rig.config, at(1)), None);
    assert!(rig.breaker.acquire_closed().is_none());
    assert!(rig.call(1, Verdict::Failure), "it runs");
    assert_eq!((rig.state(9), rig.breaker.retry_at()), (BreakerState::Open, at(10)), "and changes nothing");
    let (probe, other) = (rig.acquire(10).unwrap(), rig.acquire(10).unwrap());
    rig.record(other, 10, Verdict::Failure);
    assert_eq!(rig.state(10), BreakerState::HalfOpen);
    rig.record(probe, 10, Verdict::Success);
    assert_eq!(rig.state(10), BreakerState::Closed);
}

#[test]
fn a_clock_that_runs_backwards_stands_still() {
    let mut rig = Rig::new(options());
    assert!(rig.call(50, Verdict::Failure));
    assert!(rig.call(0, Verdict::Failure));
    assert_eq!(rig.acquire(0), Err(at(60)));
    assert_eq!(rig.state(0), BreakerState::Open);
}

#[test]
fn an_open_time_of_nothing_is_half_open_at_once() {
    let mut rig = Rig::new(with(&[(Field::BreakerFailures, 2.into()), (Field::BreakerOpenFor, 0.into())]));
    (0..2).for_each(|_| assert!(rig.call(0, Verdict::Failure)));
    assert_eq!(rig.state(0), BreakerState::HalfOpen);
    assert!(rig.acquire(0).is_ok());
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<Breaker>(), size_of::<Permit>()), (208, 4));
    assert_eq!(Permit::from_raw(9).as_raw(), 9);
    assert_eq!(Breaker::default(), Breaker::new(&BreakerConfig::default(), 0, at(0)));
}

proptest::proptest! {
    #[test]
    fn no_numbers_panic(
        config: [u64; 10], counts: [u32; 5], flags: [u8; 5], words: [u64; 5], numbers: [u32; 6], state: u8, ops: [(u8, u64, u32); 8]
    ) {
        // Kinds and states are few: most bytes are none of them.
        let config = BreakerConfig::from_words(config, counts, flags.map(|flag| flag % 9));
        let [latest, until, seed, lasting, begins] = words;
        let [generation, openings, row, streak, successes, out] = numbers;
        let mut breaker = Breaker {
            latest, until, seed, lasting, generation, openings, row, streak, successes, out,
            state: state % 6,
            timed: row as u8,
            begun: streak as u16,
            waiting: openings,
            window: Slots::new(Timestamp::from_nanos(begins)),
        };
        for (op, now, permit) in ops {
            let (now, span) = (Timestamp::from_nanos(now), Span::from_nanos(now.rotate_left(9)));
            let permit = Permit(if op >= 128 { breaker.generation } else { permit });
            match op % 11 {
                0 => drop(breaker.acquire(&config, now)),
                8 => drop(breaker.acquire_after_wait(&config, now, op >= 64)),
                9 => breaker.add_waiter(),
                10 => breaker.remove_waiter(),
                1 | 2 => breaker.record(&config, permit, now, Verdict::Failure, span),
                3 => breaker.record(&config, permit, now, Verdict::Success, span),
                4 => breaker.abandon(&config, permit, now),
                5 => breaker.hint(&config, now, span),
                6 => breaker.isolate(now),
                _ => breaker.reset(now),
            }
            let _ = breaker.state(&config, now);
            let _ = (breaker.rates(&config, now), breaker.admits(&config));
            proptest::prop_assert!(breaker.refuses(&config, now).is_none_or(|until| until > now || until >= breaker.retry_at()));
        }
    }
}
