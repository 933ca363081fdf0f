//! Calls that wait at the limits of the rate: in order, at the rate, and not for ever.

use super::*;
use std::collections::BTreeMap;
use std::vec;

/// A host in virtual time, whose calls wait in lines of its own as those of a real host do.
struct Host<'g> {
    policy: Policy,
    guards: Guards<'g>,
    now: u64,
    /// By number: the call, the end of its sleep or attempt, and the ticket of its attempt.
    calls: BTreeMap<usize, (GuardedCall, Step)>,
    /// When attempts end.
    ends: Vec<(u64, usize, Ticket)>,
    /// The calls that wait for the rate, and for a place, in the order in which they came there.
    rate: Vec<usize>,
    /// How long each attempt takes.
    takes: u64,
    begun: Vec<(u64, usize)>,
    refused: Vec<usize>,
}

impl<'g> Host<'g> {
    fn new(policy: Policy, guards: Guards<'g>, takes: u64) -> Self {
        let (calls, now) = (BTreeMap::new(), 0);
        Self { policy, guards, now, calls, ends: vec![], rate: vec![], takes, begun: vec![], refused: vec![] }
    }

    fn arrive(&mut self, number: usize) {
        let (call, step) = GuardedCall::begin(&self.policy, &mut self.guards, 0, at(self.now));
        self.follow(number, call, step);
    }

    fn tick(&mut self, number: usize) {
        let Some((mut call, _)) = self.calls.remove(&number) else { return };
        let step = call.tick(&self.policy, &mut self.guards, at(self.now));
        self.follow(number, call, step);
    }

    fn leave(&mut self, number: usize) {
        let Some((mut call, _)) = self.calls.remove(&number) else { return };
        call.cancel(&mut self.guards, at(self.now));
        self.ends.retain(|(_, ended, _)| *ended != number);
        self.rate.retain(|waiting| *waiting != number);
        self.wake();
    }

    fn follow(&mut self, number: usize, call: GuardedCall, step: Step) {
        let waits = matches!(step, Step::Sleep { cause: Cause::Limiter, .. });
        if !waits {
            self.rate.retain(|waiting| *waiting != number);
        } else if !self.rate.contains(&number) {
            self.rate.push(number);
        }
        match step {
            Step::Attempt { ticket, .. } => {
                self.begun.push((self.now, number));
                self.ends.push((self.now + self.takes, number, ticket));
            }
            Step::Stop(Outcome::Succeeded) => {}
            Step::Stop(_) => self.refused.push(number),
            _ => {}
        }
        if !matches!(step, Step::Stop(_)) {
            self.calls.insert(number, (call, step));
        }
        self.wake();
    }

    /// Wakes the calls whose turn it may be.
    fn wake(&mut self) {
        let to_wake = |guards: &Guards<'_>| {
            guards.limiter.as_ref().map_or(0, |(_, limiter, _)| limiter.to_wake())
                + guards.adaptive.as_ref().map_or(0, |(_, adaptive)| adaptive.to_wake())
        };
        if to_wake(&self.guards) > 0
            && let Some(first) = self.rate.first()
        {
            self.tick(*first);
        }
        let Some((config, bulkhead, _)) = &self.guards.bulkhead else { return };
        if let Some(entrant) = bulkhead.entrant(config) {
            let place = |(call, step): &(GuardedCall, Step)| {
                matches!(step, Step::Sleep { cause: Cause::Bulkhead, .. }) && call.queue_place() == Some(entrant)
            };
            if let Some(number) = self.calls.iter().find(|(_, call)| place(call)).map(|(number, _)| *number) {
                self.tick(number);
            }
        }
    }

    /// When something is next to be done.
    fn next(&self) -> Option<u64> {
        let sleeps = self.calls.values().filter_map(|(_, step)| match step {
            Step::Sleep { until, .. } => Some(until.as_nanos().div_ceil(1_000_000)),
            _ => None,
        });
        sleeps.chain(self.ends.iter().map(|(end, ..)| *end)).min()
    }

    /// Lets time pass up to `until`.
    fn run(&mut self, until: u64) {
        while let Some(next) = self.next().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            let ended: Vec<_> = self.ends.iter().filter(|(end, ..)| *end <= self.now).copied().collect();
            self.ends.retain(|(end, ..)| *end > self.now);
            for (_, number, ticket) in ended {
                if let Some((mut call, _)) = self.calls.remove(&number) {
                    let step = call.succeed(&mut self.guards, ticket, at(self.now));
                    self.follow(number, call, step);
                }
            }
            let due = |step: &Step| matches!(step, Step::Sleep { until, .. } if *until <= at(self.now));
            let due: Vec<_> = self.calls.iter().filter(|(_, (_, step))| due(step)).map(|(number, _)| *number).collect();
            // In the order that is the hardest.
            due.into_iter().rev().for_each(|number| self.tick(number));
        }
        self.now = self.now.max(until);
    }
}

fn once() -> Policy {
    Policy::options().attempts(1).build().unwrap()
}

fn gcra(limit: u32, burst: u32) -> LimiterConfig {
    LimiterConfig::gcra(limit, span(1000), burst).unwrap().with_refusal(Refusal::Wait)
}

#[test]
fn a_thousand_calls_begin_in_order_each_at_its_slot() {
    for burst in [1, 5, 50] {
        let config = gcra(500, burst);
        let mut limiter = Limiter::new(&config, at(0));
        let guards = Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() };
        let mut host = Host::new(once(), guards, 1);
        (0..1000).for_each(|number| host.arrive(number));
        host.run(10_000);
        let slots = (0..1000).map(|number: usize| ((number + 1).saturating_sub(burst as usize) as u64 * 2, number));
        assert_eq!(host.begun, slots.collect::<Vec<_>>(), "{burst}");
        assert_eq!(limiter.waiting(), 0);
    }
}

#[test]
fn a_call_that_leaves_gives_its_slot_to_the_next() {
    let config = gcra(10, 1);
    let mut limiter = Limiter::new(&config, at(0));
    let guards = Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() };
    let mut host = Host::new(once(), guards, 1);
    (0..8).for_each(|number| host.arrive(number));
    host.run(150);
    [2, 4, 5].into_iter().for_each(|number| host.leave(number));
    host.run(10_000);
    assert_eq!(host.begun, [(0, 0), (100, 1), (200, 3), (300, 6), (400, 7)]);
}

#[test]
fn a_slot_after_the_deadline_is_refused_at_once() {
    let config = gcra(10, 1);
    let mut limiter = Limiter::new(&config, at(0));
    let guards = &mut Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() };
    let policy = Policy::options().attempts(1).deadline(Duration::from_millis(250)).build().unwrap();
    let steps = [0; 4].map(|seed| GuardedCall::begin(&policy, guards, seed, at(0)).1);
    let waits = |until| sleep(until, Cause::Limiter);
    assert_eq!(steps, [attempt(1, 250, None), waits(100), waits(200), gave_up(StopReason::Limiter, Some(300))]);
}

#[test]
fn a_call_that_is_lost_holds_the_others_up_for_its_slot_alone() {
    let config = gcra(10, 1);
    let mut limiter = Limiter::new(&config, at(0));
    let guards = Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() };
    let mut host = Host::new(once(), guards, 1);
    (0..5).for_each(|number| host.arrive(number));
    // Nobody cancels it.
    host.calls.remove(&1);
    host.rate.retain(|waiting| *waiting != 1);
    host.run(10_000);
    assert_eq!(host.begun, [(0, 0), (201, 2), (301, 3), (401, 4)]);
    host.arrive(9);
    assert_eq!(host.begun.last(), Some(&(10_000, 9)));
    assert_eq!(limiter.waiting(), 0);
}

#[test]
fn a_limit_before_a_queue_holds_for_the_attempts_that_begin() {
    for refusal in [Refusal::Wait, Refusal::Stop] {
        let config = gcra(10, 1).with_refusal(refusal);
        let bulkhead_config = BulkheadConfig::new(1, 64, Span::MAX).unwrap();
        let (mut limiter, mut bulkhead) = (Limiter::new(&config, at(0)), Bulkhead::new());
        let guards = Guards {
            limiter: Some((&config, &mut limiter, &mut [])),
            bulkhead: Some((&bulkhead_config, &mut bulkhead, &mut [])),
            ..Guards::none()
        };
        let mut host = Host::new(once(), guards, 6000);
        host.arrive(0);
        host.takes = 1;
        for number in 1..60 {
            host.run(number as u64 * 100);
            host.arrive(number);
        }
        host.run(60_000);
        let slots = (1..60).map(|number| (5900 + number as u64 * 100, number));
        assert_eq!(host.begun[1..], slots.collect::<Vec<_>>(), "{refusal:?}");
        assert_eq!((limiter.waiting(), bulkhead.waiting(), bulkhead.running()), (0, 0, 0));
    }
}

#[test]
fn a_log_without_memory_lets_no_call_begin() {
    let config = LimiterConfig::log(1, Span::from_secs(1)).unwrap().with_refusal(Refusal::Wait);
    let mut limiter = Limiter::new(&config, at(0));
    let guards = Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() };
    let mut host = Host::new(once(), guards, 1);
    host.arrive(0);
    assert_eq!((host.begun, host.refused), (vec![], vec![0]));
}

#[test]
fn a_rate_that_adapts_is_paid_when_the_place_is_taken_and_waited_for_in_order() {
    let config = AdaptiveConfig::aimd(0.5, 0.0, 1.0, 10.0, 10.0).unwrap().with_refusal(Refusal::Wait);
    let bulkhead_config = BulkheadConfig::new(1, 64, Span::MAX).unwrap();
    let (mut adaptive, mut bulkhead) = (Adaptive::new(&config, at(0)), Bulkhead::new());
    let guards = Guards {
        adaptive: Some((&config, &mut adaptive)),
        bulkhead: Some((&bulkhead_config, &mut bulkhead, &mut [])),
        ..Guards::none()
    };
    let mut host = Host::new(once(), guards, 5000);
    host.arrive(0);
    host.takes = 0;
    (1..60).for_each(|number| host.arrive(number));
    host.run(60_000);
    assert!(host.begun.iter().enumerate().all(|(place, (_, number))| place == *number));
    let in_a_second = |from: u64| host.begun.iter().filter(|(time, _)| (from..from + 1000).contains(time)).count();
    assert_eq!(host.begun.len(), 60);
    assert!(host.begun.iter().all(|(from, _)| in_a_second(*from) <= 20));
    assert_eq!(in_a_second(7000), 10);
    assert_eq!((adaptive.waiting(), bulkhead.waiting()), (0, 0));
}

proptest! {
    #[test]
    fn calls_begin_in_order_at_the_rate_whoever_leaves(
        kind in 0..4, limit in 1u32..20, burst in 1u32..5, takes in 0u64..300, most in 1u32..4, queue in 0u32..9,
        moves in prop::collection::vec((0u64..150, prop::option::of(0usize..40), 0u64..4000), 1..60)
    ) {
        let config = match kind {
            0 => LimiterConfig::gcra(limit, span(1000), burst),
            1 => LimiterConfig::bucket(limit.into(), span(1000), burst),
            2 => LimiterConfig::window(limit, span(1000)),
            _ => LimiterConfig::log(limit, span(1000)),
        };
        let config = config.unwrap().with_refusal(Refusal::Wait);
        let bulkhead_config = BulkheadConfig::new(most, queue, span(2000)).unwrap();
        let (mut limiter, mut bulkhead) = (Limiter::new(&config, at(0)), Bulkhead::new());
        let (mut times, mut others) = (vec![0; config.words()], vec![0; config.words()]);
        let with_bulkhead = queue > 0;
        let guards = Guards {
            limiter: Some((&config, &mut limiter, &mut times)),
            bulkhead: with_bulkhead.then_some((&bulkhead_config, &mut bulkhead, &mut [][..])),
            ..Guards::none()
        };
        let mut host = Host::new(once(), guards, takes);
        for (number, (gap, leaves, deadline)) in moves.iter().enumerate() {
            host.run(host.now + gap);
            host.policy = match deadline {
                0..2000 => once(),
                _ => Policy::options().attempts(1).deadline(Duration::from_millis(*deadline)).build().unwrap(),
            };
            host.arrive(number);
            if let Some(number) = leaves {
                host.leave(*number);
            }
        }
        host.run(1_000_000);
        prop_assert!(host.calls.is_empty(), "{:?}", host.calls);
        // No begin is earlier than that of a call that came before: at most as many run at once as there are places.
        prop_assert!(host.begun.is_sorted_by_key(|(_, number)| *number), "{:?}", host.begun);
        let mut fresh = Limiter::new(&config, at(0));
        for (time, number) in &host.begun {
            prop_assert_eq!(fresh.take(&config, &mut others, 1, at(*time)), Ok(()), "{}", number);
        }
        prop_assert_eq!((limiter.waiting(), bulkhead.waiting(), bulkhead.running()), (0, 0, 0));
    }

    #[test]
    fn no_slot_is_lost_while_calls_wait(
        limit in 1u32..20, burst in 1u32..5,
        moves in prop::collection::vec((0u64..150, prop::option::of(0usize..40)), 1..60)
    ) {
        let config = LimiterConfig::gcra(limit, span(1000), burst).unwrap().with_refusal(Refusal::Wait);
        let (mut limiter, mut ideal) = (Limiter::new(&config, at(0)), Limiter::new(&config, at(0)));
        let mut host = Host::new(once(), Guards { limiter: Some((&config, &mut limiter, &mut [])), ..Guards::none() }, 0);
        let (mut waiting, mut begun) = (vec![], vec![]);
        // Looks each millisecond, and lets the first call of the line begin.
        let mut serve = |waiting: &mut Vec<usize>, from: u64, to: u64| {
            for time in from..=to {
                while !waiting.is_empty() && ideal.take(&config, &mut [], 1, at(time)).is_ok() {
                    begun.push((time, waiting.remove(0)));
                }
            }
        };
        for (number, (gap, leaves)) in moves.iter().enumerate() {
            serve(&mut waiting, host.now, host.now + gap);
            host.run(host.now + gap);
            waiting.push(number);
            serve(&mut waiting, host.now, host.now);
            host.arrive(number);
            if let Some(number) = leaves {
                waiting.retain(|waiting| waiting != number);
                host.leave(*number);
            }
        }
        serve(&mut waiting, host.now, host.now + 60_000);
        host.run(host.now + 60_000);
        prop_assert_eq!(host.begun, begun);
    }
}
