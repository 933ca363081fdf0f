use super::loop_backoff::{LoopBackoff, Reset};
use super::options::{PeriodicOptions, Timer};
use super::{Answer, Ended, Periodic, PeriodicStep};
use crate::pace::wait_backoff::WaitBackoff;
use crate::time::{Span, Timestamp};
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

const fn ns(nanos: u64) -> Span {
    Span::from_nanos(nanos)
}

const fn at(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

fn every(period: u64) -> LoopBackoff {
    LoopBackoff::jittered(ns(period), 0.0).unwrap()
}

/// When runs started and how it ended, for runs that take this long; the last one is done.
fn drive(mut machine: Periodic, takes: &[u64]) -> (Vec<u64>, Ended, u64) {
    let (mut starts, mut now) = (vec![], 0);
    let mut step = machine.tick(at(0));
    loop {
        step = match step {
            PeriodicStep::Run { run } => {
                starts.push(now);
                let answer = if starts.len() >= takes.len() { Answer::Done } else { Answer::Again };
                now += takes.get(starts.len() - 1).copied().unwrap_or(0);
                machine.finish(run, at(now), answer)
            }
            PeriodicStep::Sleep { until } => {
                now = now.max(until.as_nanos());
                machine.tick(at(now))
            }
            PeriodicStep::Wait => unreachable!("no run is left unanswered here"),
            PeriodicStep::Stop(ended) => return (starts, ended, now),
        };
    }
}

fn starts(loop_backoff: LoopBackoff, options: PeriodicOptions, takes: &[u64]) -> Vec<u64> {
    drive(Periodic::new(loop_backoff, options, 0, at(0)), takes).0
}

#[test]
fn an_interval_counts_from_the_end_or_from_the_start_of_a_run() {
    assert_eq!(starts(every(100), PeriodicOptions::until(true), &[30, 130, 0, 0]), [0, 130, 360, 460]);
    assert_eq!(starts(every(100), PeriodicOptions::until(false), &[30, 130, 0, 0]), [0, 100, 230, 330]);
}

#[test]
fn a_grid_keeps_one_missed_tick_or_none() {
    let options = |timer| PeriodicOptions { timer, immediate: false, ..PeriodicOptions::until(false) };
    assert_eq!(starts(every(100), options(Timer::Grid), &[350, 0, 0, 0]), [100, 450, 500, 600]);
    assert_eq!(starts(every(100), options(Timer::GridSkipping), &[350, 0, 0, 0]), [100, 500, 600, 700]);
}

#[test]
fn a_grid_begins_after_an_immediate_run_when_sliding() {
    let options = |sliding| PeriodicOptions::poll(&WaitBackoff::constant(ns(100), 0.0).unwrap(), true, sliding);
    assert_eq!(starts(every(100), options(true), &[130, 130, 130, 0]), [0, 230, 360, 490]);
    assert_eq!(starts(every(100), options(false), &[130, 130, 130, 0]), [0, 130, 260, 390]);
}

#[test]
fn no_wait_is_no_wait_but_still_a_step() {
    let options = PeriodicOptions::poll(&WaitBackoff::default(), false, true);
    let mut machine = Periodic::new(every(0), options, 0, at(5));
    assert_eq!(machine.tick(at(5)), PeriodicStep::Sleep { until: at(5) });
    assert_eq!(machine.tick(at(5)), PeriodicStep::Run { run: 1 });
    assert_eq!(machine.finish(1, at(7), Answer::Again), PeriodicStep::Sleep { until: at(7) });
    assert_eq!(machine.intervals(), 0);
}

fn by_steps(cap: u64, steps: u64) -> Periodic {
    let backoff = WaitBackoff::new(ns(10), 2.0, 0.0, ns(cap), steps).unwrap();
    Periodic::new(LoopBackoff::new(backoff, Reset::Never, at(0)), PeriodicOptions::while_steps_last(), 0, at(0))
}

#[test]
fn steps_count_runs_and_the_last_one_is_not_slept_after() {
    assert_eq!(drive(by_steps(i64::MAX as u64, 3), &[0; 9]), (vec![0, 10, 30], Ended::Steps, 30));
    assert_eq!(drive(by_steps(i64::MAX as u64, 0), &[0; 9]), (vec![], Ended::Steps, 0));
    assert_eq!(drive(by_steps(i64::MAX as u64, 3), &[0; 2]), (vec![0, 10], Ended::Done, 10));
}

#[test]
fn a_cap_that_uses_up_the_steps_is_slept_towards_all_the_same() {
    assert_eq!(drive(by_steps(30, 5), &[0; 9]), (vec![0, 10], Ended::Steps, 30));
}

#[test]
fn steps_count_runs_also_when_they_are_taken_at_the_start() {
    for steps in 0..6 {
        let backoff = WaitBackoff::new(ns(10), 2.0, 0.0, Span::MAX, steps).unwrap();
        let options = PeriodicOptions { sliding: false, ..PeriodicOptions::while_steps_last() };
        let machine = Periodic::new(LoopBackoff::new(backoff, Reset::Never, at(0)), options, 0, at(0));
        let (starts, ended, _) = drive(machine, &[0; 9]);
        assert_eq!((starts.len() as u64, ended), (steps, Ended::Steps));
    }
}

#[test]
fn a_deadline_ends_it_asleep_or_after_the_run_in_flight() {
    let machine = |limit| Periodic::new(every(100), PeriodicOptions::until(true).within(ns(limit)), 0, at(0));
    assert_eq!(drive(machine(150), &[30; 9]), (vec![0, 130], Ended::Deadline, 160));
    assert_eq!(drive(machine(120), &[30; 9]), (vec![0], Ended::Deadline, 120));
    assert_eq!(drive(machine(0), &[30; 9]), (vec![], Ended::Deadline, 0));
}

#[test]
fn the_old_poll_runs_once_more_when_its_time_is_up() {
    let machine =
        |immediate| Periodic::new(every(100), PeriodicOptions::poll_legacy(immediate).within(ns(250)), 0, at(0));
    assert_eq!(drive(machine(false), &[0; 9]), (vec![100, 200, 250], Ended::Deadline, 250));
    assert_eq!(drive(machine(true), &[0, 300, 0]), (vec![0, 100, 400], Ended::Done, 400));
}

#[test]
fn a_cancellation_waits_for_the_run_in_flight_and_ends_a_sleep() {
    let mut machine = Periodic::new(every(100), PeriodicOptions::until(true), 0, at(0));
    assert_eq!(machine.tick(at(0)), PeriodicStep::Run { run: 1 });
    assert_eq!(machine.cancel(), PeriodicStep::Wait);
    assert_eq!(machine.finish(1, at(20), Answer::Again), PeriodicStep::Stop(Ended::Cancelled));
    assert_eq!((machine.intervals(), machine.interval()), (1, ns(100)));

    let mut machine = Periodic::new(every(100), PeriodicOptions::until(true), 0, at(0));
    machine.tick(at(0));
    machine.finish(1, at(0), Answer::Again);
    assert_eq!(machine.cancel(), PeriodicStep::Stop(Ended::Cancelled));
    assert_eq!(machine.tick(at(100)), PeriodicStep::Stop(Ended::Cancelled));
}

#[test]
fn a_run_that_was_cancelled_may_still_find_its_own_end() {
    let mut machine = Periodic::new(every(100), PeriodicOptions::until(true), 0, at(0));
    machine.tick(at(0));
    machine.cancel();
    assert_eq!(machine.finish(1, at(1), Answer::Done), PeriodicStep::Stop(Ended::Done));
}

#[test]
fn cancelled_before_the_beginning_only_a_sure_first_run_takes_place() {
    for (options, runs) in [(PeriodicOptions::until(true), 0), (PeriodicOptions::poll_legacy(true), 1)] {
        let mut machine = Periodic::new(every(100), options, 0, at(0));
        assert_eq!(machine.cancel(), PeriodicStep::Sleep { until: at(0) });
        machine.tick(at(0));
        machine.finish(1, at(0), Answer::Again);
        assert_eq!(machine.tick(at(0)), PeriodicStep::Stop(Ended::Cancelled));
        assert_eq!(machine.runs(), runs);
    }
}

#[test]
fn what_is_out_of_order_changes_nothing() {
    let mut machine = Periodic::new(every(100), PeriodicOptions::until(true), 0, at(0));
    machine.tick(at(0));
    let running = machine;
    assert_eq!(machine.tick(at(500)), PeriodicStep::Wait);
    assert_eq!(machine.finish(2, at(500), Answer::Done), PeriodicStep::Wait);
    assert_eq!(machine, running);
    machine.finish(1, at(0), Answer::Again);
    let asleep = machine;
    assert_eq!(machine.tick(at(99)), PeriodicStep::Sleep { until: at(100) });
    assert_eq!(machine.finish(1, at(99), Answer::Done), PeriodicStep::Sleep { until: at(100) });
    assert_eq!(machine, asleep);
}

#[test]
fn jitter_draws_from_the_seed_once_an_interval() {
    let loop_backoff = LoopBackoff::jittered(ns(1000), 1.0).unwrap();
    let mut machine = Periodic::new(loop_backoff, PeriodicOptions::until(true), 7, at(0));
    let mut rng = crate::decide::rng::Rng::new(7);
    machine.tick(at(0));
    for run in 1..5 {
        let expected = WaitBackoff::constant(ns(1000), 1.0).unwrap().step(rng.uniform());
        let now = machine.next;
        machine.finish(run, at(now), Answer::Again);
        assert_eq!(machine.interval(), expected);
        machine.tick(at(machine.next));
    }
}

/// A ticker as one would write it down: every tick one by one, and a place for one that nobody took yet.
struct Ticker {
    next: u64,
    kept: bool,
}

impl Ticker {
    fn pass_until(&mut self, now: u64, mesh: u64) {
        while self.next <= now {
            self.kept = true;
            self.next += mesh;
        }
    }
}

proptest! {
    #[test]
    fn a_grid_is_a_ticker(takes in prop::collection::vec(0u64..400, 1..20), mesh in 1u64..150, keeps: bool) {
        let timer = if keeps { Timer::Grid } else { Timer::GridSkipping };
        let options = PeriodicOptions { timer, immediate: false, ..PeriodicOptions::until(true) };
        let (mut ticker, mut now, mut expected) = (Ticker { next: mesh, kept: false }, 0, vec![]);
        for takes in &takes {
            if !(ticker.kept && keeps) {
                now = ticker.next;
            }
            ticker.pass_until(now, mesh);
            ticker.kept = false;
            expected.push(now);
            now += takes;
            ticker.pass_until(now, mesh);
        }
        prop_assert_eq!(starts(every(mesh), options, &takes), expected);
    }

    #[test]
    fn no_bits_and_no_inputs_panic_or_say_a_run_twice(
        words: [u64; 15],
        bytes: [u8; 5],
        inputs in prop::collection::vec((0u8..4, any::<u64>(), any::<u64>(), 0u8..3), 1..30),
    ) {
        let [rule, timer, flags, phase, ended] = bytes;
        let loop_backoff = LoopBackoff::from_words([words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8]], rule);
        let [seed, next, deadline, runs, intervals, interval] = [words[9], words[10], words[11], words[12], words[13], words[14]];
        let mut machine = Periodic {
            loop_backoff, seed, next, deadline, runs, intervals, interval, timer, flags, phase, ended, unused: [0; 4],
        };
        let mut said = vec![];
        for (input, now, run, answer) in inputs {
            let answer = [Answer::Again, Answer::Done, Answer::Failed][usize::from(answer)];
            let step = match input {
                0 => machine.tick(at(now)),
                1 => machine.finish(machine.runs(), at(now), answer),
                2 => machine.finish_with(run, at(now), answer, Some(f64::from_bits(now))),
                _ => machine.cancel(),
            };
            if let PeriodicStep::Run { run } = step {
                prop_assert!(run == u64::MAX || !said.contains(&run));
                said.push(run);
            }
        }
    }
}

#[test]
fn the_machine_is_its_bytes() {
    assert_eq!((size_of::<WaitBackoff>(), size_of::<LoopBackoff>(), size_of::<Periodic>()), (40, 80, 136));
}
