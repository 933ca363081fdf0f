//! Calls that wait at a breaker: they begin in growing numbers when it closes, and all of them.

use super::*;
use crate::decide::guards::save::tests::moved;
use std::collections::{BTreeMap, VecDeque};

const MICROS: u64 = 1_000;
const OPEN: u64 = 5_000_000;

const fn micros(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * MICROS)
}

/// A host in virtual time, in microseconds, whose calls wait in a line as those of a real host do.
struct Host<'g> {
    guards: Guards<'g>,
    now: u64,
    calls: BTreeMap<usize, (GuardedCall, Step)>,
    /// The calls that others come before, in the order in which they came there.
    line: VecDeque<usize>,
    woken: Vec<usize>,
    /// When attempts end.
    ends: Vec<(u64, usize, Ticket)>,
    takes: u64,
    begun: Vec<(u64, usize)>,
    /// Attempts that begin at these numbers of `begun` fail.
    fails: core::ops::Range<usize>,
    ticks: usize,
}

impl<'g> Host<'g> {
    /// One call has failed and opened the breaker at 0; then so many wait.
    fn opened(config: &'g BreakerConfig, breaker: &'g mut Breaker, calls: usize, takes: u64) -> Self {
        let opening = breaker.acquire(config, micros(0)).unwrap();
        breaker.record(config, opening, micros(0), Verdict::Failure, Span::ZERO);
        let mut host = Host {
            guards: Guards { breaker: Some((config, breaker)), ..Guards::none() },
            now: 0,
            calls: BTreeMap::new(),
            line: VecDeque::new(),
            woken: std::vec![],
            ends: std::vec![],
            takes,
            begun: std::vec![],
            fails: 0..0,
            ticks: 0,
        };
        (0..calls).for_each(|number| host.arrive(number));
        host
    }

    fn arrive(&mut self, number: usize) {
        let (call, step) = GuardedCall::begin(&Self::policy(), &mut self.guards, 0, micros(self.now));
        self.follow(number, call, step);
    }

    fn policy() -> Policy {
        Policy::options().attempts(1).build().unwrap()
    }

    fn tick(&mut self, number: usize) {
        let Some((mut call, _)) = self.calls.remove(&number) else { return };
        self.ticks += 1;
        let step = call.tick(&Self::policy(), &mut self.guards, micros(self.now));
        self.follow(number, call, step);
    }

    fn leave(&mut self, number: usize) {
        let Some((mut call, _)) = self.calls.remove(&number) else { return };
        let step = call.cancel(&mut self.guards, micros(self.now));
        self.ends.retain(|(_, ended, _)| *ended != number);
        self.follow(number, call, step);
    }

    fn follow(&mut self, number: usize, call: GuardedCall, step: Step) {
        if call.awaited_turn() != Some(Turn::Breaker) {
            self.line.retain(|waiting| *waiting != number);
        } else if !self.line.contains(&number) {
            self.line.push_back(number);
        }
        if let Step::Attempt { ticket, .. } = step {
            self.ends.push((self.now + self.takes, number, ticket));
            self.begun.push((self.now, number));
        }
        if !matches!(step, Step::Stop(_)) {
            self.calls.insert(number, (call, step));
        }
        let admits = self.guards.breaker.as_ref().map_or(0, |(config, breaker)| breaker.admits(config));
        let begins = self.woken.is_empty();
        let woken: Vec<_> = self.line.iter().filter(|waiting| !self.woken.contains(*waiting)).copied().collect();
        self.woken.extend(woken.iter().take(admits as usize));
        // One after the other, and not one in the other.
        while begins && let Some(number) = self.woken.first().copied() {
            if self.line.contains(&number) {
                self.tick(number);
            }
            self.woken.remove(0);
        }
    }

    fn next(&self) -> Option<u64> {
        let sleeps = self.calls.values().filter_map(|(_, step)| match step {
            Step::Sleep { until, .. } => Some(until.as_nanos().div_ceil(MICROS)),
            _ => None,
        });
        sleeps.chain(self.ends.iter().map(|(end, ..)| *end)).min()
    }

    fn run(&mut self, until: u64) {
        while let Some(next) = self.next().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            let now = self.now;
            if let Some(index) = self.ends.iter().position(|(end, ..)| *end <= now) {
                let (_, number, ticket) = self.ends.remove(index);
                let fails = self.begun.iter().position(|(_, begun)| *begun == number);
                let Some((mut call, _)) = self.calls.remove(&number) else { continue };
                let step = if fails.is_some_and(|index| self.fails.contains(&index)) {
                    call.fail(&Self::policy(), &mut self.guards, ticket, micros(now), Failure::TRANSIENT)
                } else {
                    call.succeed(&mut self.guards, ticket, micros(now))
                };
                self.follow(number, call, step);
                continue;
            }
            let due = |step: &Step| matches!(step, Step::Sleep { until, .. } if *until <= micros(now));
            let due: Vec<_> = self.calls.iter().filter(|(_, (_, step))| due(step)).map(|(number, _)| *number).collect();
            // In the order that is the hardest, after attempts that end at once.
            if let Some(number) = due.last() {
                self.tick(*number);
            }
        }
        self.now = self.now.max(until);
    }

    /// How many have begun within that time of the first success.
    fn within(&self, micros: u64) -> usize {
        let closed = OPEN + self.takes;
        self.begun.iter().skip(1).filter(|(at, _)| *at <= closed + micros).count()
    }
}

fn waiting() -> BreakerConfig {
    breaker(1, Refusal::Wait)
}

#[test]
fn of_a_thousand_calls_at_most_32_begin_within_10_ms_of_a_probe() {
    for takes in [0, 1, 100, 1_000, 2_000, 2_500, 5_000, 20_000, 1_000_000] {
        let (config, mut state) = (waiting(), Breaker::default());
        let mut host = Host::opened(&config, &mut state, 1_000, takes);
        host.run(2 * OPEN + 20 * takes);
        assert!((1..=32).contains(&host.within(10_000)), "{} of {takes}", host.within(10_000));
        // The probe, then 1 + 2 + ... + 256, and the rest.
        let last = host.begun.last().unwrap().0;
        assert!((OPEN + 8 * takes..=OPEN + 100_000 + 11 * takes).contains(&last), "{takes}: {last}");
        let mut begun: Vec<_> = host.begun.iter().map(|(_, number)| *number).collect();
        begun.sort_unstable();
        assert!(begun.into_iter().eq(0..1_000), "{takes}");
        // Few of them ask in vain.
        assert!(host.ticks < 6_000, "{takes}: {}", host.ticks);
        assert_eq!((host.calls.len(), host.line.len()), (0, 0));
        assert!(state.acquire_closed().is_some());
    }
}

#[test]
fn the_calls_of_a_round_are_as_many_as_have_succeeded() {
    let (config, mut state) = (waiting(), Breaker::default());
    let mut host = Host::opened(&config, &mut state, 200, 10_000);
    host.run(3 * OPEN);
    let rounds = |host: &Host<'_>| {
        let mut rounds = BTreeMap::new();
        host.begun.iter().for_each(|(at, _)| *rounds.entry((at - OPEN) / 1_000).or_insert(0) += 1);
        rounds
    };
    // 104 are left after 1, 2, 4 ... 32 and as many have succeeded.
    let expected = [(0, 1), (10, 1), (20, 2), (30, 4), (40, 8), (50, 16), (60, 32), (70, 64), (80, 72)];
    assert_eq!(rounds(&host), BTreeMap::from(expected));

    let none = BreakerConfig { ramp: 1, ..config };
    let mut state = Breaker::default();
    let mut host = Host::opened(&none, &mut state, 200, 10_000);
    host.run(3 * OPEN);
    assert_eq!(rounds(&host), BTreeMap::from([(0, 1), (10, 199)]));
}

#[test]
fn a_server_that_fails_again_is_left_alone_again() {
    let (config, mut state) = (BreakerConfig { failures: 3, ..waiting() }, Breaker::default());
    (0..2).for_each(|_| {
        let permit = state.acquire(&config, micros(0)).unwrap();
        state.record(&config, permit, micros(0), Verdict::Failure, Span::ZERO);
    });
    let mut host = Host::opened(&config, &mut state, 500, 10_000);
    // The probe and 1 + 2 + 4 + 8 succeed, the next 16 fail; two of them give their places on before the breaker is open.
    host.fails = 16..100;
    host.run(2 * OPEN - 1);
    assert_eq!(host.begun.len(), 34);
    host.fails = 0..0;
    host.run(2 * OPEN + 200_000);
    let again: Vec<_> = host.begun.iter().skip(34).map(|(at, _)| (at - 2 * OPEN) / 10_000).collect();
    let first = again.first().copied().unwrap();
    let counts = [0, 1, 2, 3].map(|round| again.iter().filter(|at| **at == first + round).count());
    assert_eq!(counts, [1, 1, 2, 4]);
    host.run(4 * OPEN);
    assert_eq!((host.begun.len(), host.calls.len()), (500, 0));
}

#[test]
fn calls_that_leave_hold_up_nobody() {
    for takes in [0, 3_000] {
        let (config, mut state) = (waiting(), Breaker::default());
        let mut host = Host::opened(&config, &mut state, 300, takes);
        host.run(OPEN + takes + 1_000);
        // Also the one whose sleep ends with the period, and those that have begun.
        let leaving: Vec<_> = host.calls.keys().copied().filter(|number| number % 3 != 0).collect();
        for number in leaving {
            host.leave(number);
            host.run(host.now + 10);
        }
        host.run(OPEN + 200_000);
        assert!(host.calls.is_empty() && host.line.is_empty(), "{takes}");
        assert_eq!(host.begun.iter().filter(|(_, number)| number % 3 == 0).count(), 100);
        let now = micros(host.now);
        assert!(state.acquire(&config, now).is_ok());
    }
}

#[test]
fn newcomers_wait_behind_the_calls_that_wait_and_lost_permits_expire() {
    let (config, mut state) = (waiting(), Breaker::default());
    let mut host = Host::opened(&config, &mut state, 100, 10_000);
    host.run(OPEN + 15_000);
    assert_eq!(host.begun.len(), 2);
    host.arrive(100);
    assert_eq!((host.begun.len(), host.calls.get(&100).unwrap().0.awaited_turn()), (2, Some(Turn::Breaker)));
    // The attempt that runs never ends.
    host.ends.clear();
    host.run(2 * OPEN + 9_999);
    assert_eq!(host.begun.len(), 2);
    host.run(2 * OPEN + 200_000);
    assert_eq!(host.begun.len(), 101);
    assert_eq!(host.begun.iter().filter(|(at, _)| *at <= 2 * OPEN + 10_000).count(), 3);
}

#[test]
fn a_breaker_closed_by_hand_has_a_ramp_and_a_new_one_has_none() {
    for (reset, at_once) in [(false, 1), (true, 50)] {
        let (config, mut state) = (waiting(), Breaker::default());
        let mut host = Host::opened(&config, &mut state, 0, 1_000);
        host.run(OPEN);
        // A probe that never ends, and 50 calls behind it.
        host.guards.permit(0, micros(OPEN)).unwrap();
        (0..50).for_each(|number| host.arrive(number));
        let (_, breaker) = host.guards.breaker.as_mut().unwrap();
        if reset {
            breaker.reset(micros(OPEN))
        } else {
            breaker.force_close(micros(OPEN))
        }
        assert_eq!(breaker.state(&config, micros(OPEN)), BreakerState::Closed);
        assert_eq!((breaker.retry_at(), breaker.is_at_rest(&config, micros(OPEN))), (Timestamp::ZERO, reset));
        assert!(moved(&config, breaker, micros(OPEN), micros(0)).unwrap().acquire_closed().is_some());
        host.tick(0);
        host.run(OPEN);
        assert_eq!(host.begun.len(), at_once);
        host.run(OPEN + 100_000);
        assert_eq!(host.begun.len(), 50);
    }
}
