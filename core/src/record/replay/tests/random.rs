//! Random sessions under random policies and guards: whatever happens, the log makes the recorder that wrote it.

use super::*;
use crate::decide::failure::FailureKind;
use crate::decide::guards::Refusal;
use crate::decide::guards::adaptive::{Adaptive, AdaptiveConfig};
use crate::decide::guards::breaker::Breaker;
use crate::decide::guards::breaker::config::BreakerConfig;
use crate::decide::guards::budget::{Budget, BudgetConfig};
use crate::decide::guards::bulkhead::{Bulkhead, BulkheadConfig};
use crate::decide::guards::limiter::{Limiter, LimiterConfig};
use crate::decide::guards::stretch::{Stretch, StretchConfig};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::policy::OnDeadline;
use crate::record::event::EventReader;
use proptest::prelude::*;
use std::vec;

#[derive(Clone, Copy, Debug)]
enum Input {
    Succeed(Option<u64>),
    Fail(Option<u64>, Failure),
    Abandon,
    Tick,
    Cancel,
    /// The process is gone; another one has the log, and resumes after so many reruns.
    Crash(u32),
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let initial = || (0..3_000_000_000u64).prop_map(Duration::from_nanos);
    let backoff = prop_oneof![
        initial().prop_map(|initial| Backoff::exponential(initial, 1.7)),
        initial().prop_map(|initial| Backoff::linear(initial, SECOND)),
        initial().prop_map(|initial| Backoff::polynomial(initial, 1.3).max(SECOND * 9)),
        initial().prop_map(Backoff::fibonacci),
    ];
    let jitter = prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Proportional { factor: 0.3 }),
        Just(Jitter::Bounded { bound: Span::from_secs(1) }),
    ];
    let own = (initial(), any::<bool>())
        .prop_map(|(initial, v2)| if v2 { Backoff::decorrelated_v2(initial) } else { Backoff::decorrelated(initial) });
    let delays = prop_oneof![
        5 => (backoff, jitter).prop_map(|(backoff, jitter)| *Policy::options().backoff(backoff).jitter(jitter)),
        1 => own.prop_map(|own| *Policy::options().backoff(own)),
        1 => initial().prop_map(|initial| {
            let mut chain = *Policy::options().then(2, Backoff::linear(initial, SECOND)).backoff(Backoff::exponential(SECOND, 2.0));
            *chain.backoff_after(FailureKind::Throttled, Backoff::constant(initial))
        }),
    ];
    let hints = (
        prop::sample::select(vec![
            HintMode::Floor,
            HintMode::Replace,
            HintMode::Ignore,
            HintMode::Exact,
            HintMode::AtLeast,
        ]),
        prop::sample::select(vec![HintOver::Stop, HintOver::Clamp]),
        0..9_000_000_000u64,
    );
    let limits = (prop::option::of(2..30_000_000_000u64), any::<bool>(), prop::option::of(1..5_000_000_000u64));
    (delays, prop::option::of(1..9u32), limits, hints).prop_map(
        |(mut policy, attempts, (deadline, clip, timeout), (mode, over, max))| {
            match attempts {
                Some(attempts) => policy.attempts(attempts),
                None => policy.forever(),
            };
            if let Some(deadline) = deadline {
                policy.deadline(Duration::from_nanos(deadline)).min_attempt(Duration::from_nanos(1));
                if clip {
                    policy.on_deadline(OnDeadline::Clip);
                }
            }
            if let Some(timeout) = timeout {
                policy.attempt_timeout(Duration::from_nanos(timeout));
            }
            policy.hint_mode(mode).hint_over(over).hint_max(Duration::from_nanos(max)).build().unwrap()
        },
    )
}

fn any_failure() -> impl Strategy<Value = Failure> {
    let hint = prop_oneof![6 => Just(u64::MAX), 3 => 0..9_000_000_000u64, 1 => Just(u64::MAX - 1)];
    let kind = prop_oneof![12 => 1..4u32, 1 => Just(4u32)];
    (kind, hint)
        .prop_map(|(kind, hint)| Failure::new(FailureKind::from_code(kind).unwrap()).with_hint(Hint::from_raw(hint)))
}

fn any_input() -> impl Strategy<Value = (Input, u64)> {
    let ticket = || prop_oneof![9 => Just(None), 1 => (0..9u64).prop_map(Some)];
    let input = prop_oneof![
        1 => ticket().prop_map(Input::Succeed),
        12 => (ticket(), any_failure()).prop_map(|(ticket, failure)| Input::Fail(ticket, failure)),
        1 => Just(Input::Abandon),
        14 => Just(Input::Tick),
        1 => Just(Input::Cancel),
        6 => (0..4u32).prop_map(Input::Crash),
    ];
    let later = prop_oneof![6 => Just(0), 6 => 0..3_000_000_000u64, 1 => 0..1u64 << 62];
    (input, later)
}

/// What a session needs of the world: guards that a crash makes new ones of.
struct World {
    policy: Policy,
    breaker: BreakerConfig,
    budget: BudgetConfig,
    limiter: LimiterConfig,
    adaptive: AdaptiveConfig,
    bulkhead: BulkheadConfig,
    stretch: StretchConfig,
}

impl World {
    fn new(policy: Policy, seed: u64) -> Self {
        let refusal = if seed.is_multiple_of(2) { Refusal::Stop } else { Refusal::Wait };
        let mut breaker = BreakerConfig { failures: 2, refusal: refusal.code(), ..BreakerConfig::default() };
        breaker.open.initial = 1_000_000_000;
        let budget = match seed % 3 {
            0 => BudgetConfig::share(0.5, 1),
            1 => BudgetConfig::token(12, [5, 5, 5], 1.0, 0.5),
            _ => BudgetConfig::requests(1.5, Span::from_secs(9)),
        };
        Self {
            policy,
            breaker,
            budget: budget.unwrap(),
            limiter: LimiterConfig::gcra(2, Span::from_secs(1), 2).unwrap().with_refusal(refusal),
            adaptive: AdaptiveConfig::aimd(0.5, 1.0, 0.5, 9.0, 2.0).unwrap().with_refusal(refusal),
            bulkhead: BulkheadConfig::new(1, 2, Span::from_millis(700)).unwrap(),
            stretch: StretchConfig::new(3.0, Span::from_secs(30), 2).unwrap(),
        }
    }
}

struct States {
    breaker: Breaker,
    budget: Budget,
    limiter: Limiter,
    adaptive: Adaptive,
    bulkhead: Bulkhead,
    stretch: Stretch,
    occupied: bool,
}

impl States {
    fn new(world: &World, now: Timestamp) -> Self {
        let mut bulkhead = Bulkhead::new();
        let occupied = now.as_nanos() % 3 == 1;
        if occupied {
            // Somebody else is in it, for ever.
            bulkhead.enter(&world.bulkhead, &mut []);
        }
        Self {
            breaker: Breaker::new(&world.breaker, 1, now),
            budget: Budget::new(&world.budget, 1, now),
            limiter: Limiter::new(&world.limiter, now),
            adaptive: Adaptive::new(&world.adaptive, now),
            bulkhead,
            stretch: Stretch::new(&world.stretch, now),
            occupied,
        }
    }

    /// One bit for each guard that there is.
    fn lend<'g>(&'g mut self, world: &'g World, which: u8) -> Guards<'g> {
        let has = |bit: u8| which & (1 << bit) != 0;
        Guards {
            breaker: has(0).then_some((&world.breaker, &mut self.breaker)),
            budget: has(1).then_some((&world.budget, &mut self.budget)),
            limiter: has(2).then_some((&world.limiter, &mut self.limiter, &mut [][..])),
            adaptive: has(3).then_some((&world.adaptive, &mut self.adaptive)),
            bulkhead: has(4).then_some((&world.bulkhead, &mut self.bulkhead, &mut [] as &mut [u64])),
            stretch: has(5).then_some((&world.stretch, &mut self.stretch)),
            ..Guards::none()
        }
    }
}

fn written(log: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in log {
        let mut room = [0; Event::MOST_BYTES + 4];
        let length = event.to_bytes("text", &mut room).unwrap();
        bytes.extend_from_slice(&room[..length]);
    }
    bytes
}

/// What another process makes of the log's bytes.
fn another_process(world: &World, log: &[Event]) -> Recorder {
    let mut replay = Replay::new(ReplayMode::Verify);
    for read in EventReader::new(&written(log)) {
        let (event, text) = read.unwrap();
        assert_eq!(text, "text");
        replay.apply(&world.policy, &event).unwrap_or_else(|error| panic!("{error}\n{log:#?}"));
    }
    replay.finish().unwrap()
}

/// Plays a session and holds its log against it at each crash and at the end.
fn play(world: &World, which: u8, seed: u64, start: u64, inputs: &[(Input, u64)]) -> (Vec<Event>, Recorder) {
    let mut now = Timestamp::from_nanos(start);
    let mut states = States::new(world, now);
    let policy = &world.policy;
    let (mut call, first) = Recorder::begin(policy, &mut states.lend(world, which), seed, now);
    let (mut log, mut step) = (first.events.to_vec(), first.step);
    let check = |call: &Recorder, log: &[Event]| {
        let replayed = another_process(world, log);
        if which == 0 {
            assert_eq!(&replayed, call, "{log:#?}");
        }
        assert_eq!(replayed.call(), call.call(), "{log:#?}");
        let shown =
            |call: &Recorder| (call.sequence(), call.attempt(), call.reruns(), call.started(), call.is_guarded());
        assert_eq!(shown(&replayed), shown(call));
        replayed
    };
    for &(input, later) in inputs {
        now = match step {
            Step::Sleep { until, .. } if later.is_multiple_of(2) => until.max(now),
            _ => Timestamp::from_nanos(now.as_nanos().saturating_add(later)),
        };
        let own = |ticket: Option<u64>, call: &Recorder| Ticket::from_raw(ticket.unwrap_or(call.attempt().into()));
        if let Input::Crash(_) = input {
            call = check(&call, &log);
            states = States::new(world, now);
        }
        let guards = &mut states.lend(world, which);
        let before = call;
        let recorded = match input {
            Input::Succeed(ticket) => call.succeed(guards, own(ticket, &call), now),
            Input::Fail(ticket, failure) => call.fail(policy, guards, own(ticket, &call), now, failure),
            Input::Abandon => call.abandon(guards, own(None, &call), now),
            Input::Tick => call.tick(policy, guards, now),
            Input::Cancel => call.cancel(guards, now),
            Input::Crash(reruns) => call.resume(policy, guards, now, reruns),
        };
        if which == 0 && recorded.events.is_empty() {
            assert_eq!(call, before);
        }
        log.extend_from_slice(&recorded.events);
        let held = match recorded.step {
            Step::Attempt { .. } => Step::Wait { until: Timestamp::NEVER },
            step => step,
        };
        assert_eq!(call.step(), held);
        step = recorded.step;
    }
    check(&call, &log);
    let mut over = call;
    over.cancel(&mut states.lend(world, which), now);
    let fresh = States::new(world, Timestamp::from_nanos(start));
    let places = |states: &States| (states.bulkhead.running(), states.bulkhead.waiting());
    assert_eq!(places(&states), (u32::from(states.occupied), 0), "every place is given back");
    if seed.is_multiple_of(3) {
        let left = |states: &States| states.budget.balance(&world.budget, now);
        assert_eq!(left(&states), left(&fresh), "and so is what a budget holds of a call");
    }
    (log, call)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(1024),
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_log_of_any_session_makes_the_recorder_that_wrote_it(
        policy in any_policy(), seed: u64, start in 0..1u64 << 62, inputs in prop::collection::vec(any_input(), 0..40)
    ) {
        play(&World::new(policy, seed), 0, seed, start, &inputs);
    }

    #[test]
    fn under_guards_it_makes_the_same_call(
        policy in any_policy(), seed: u64, start in 0..1u64 << 62, inputs in prop::collection::vec(any_input(), 0..40),
        which in 1u8..64
    ) {
        play(&World::new(policy, seed), which, seed, start, &inputs);
    }

    #[test]
    fn a_log_that_is_cut_anywhere_goes_on_to_what_it_was(
        policy in any_policy(), seed: u64, inputs in prop::collection::vec(any_input(), 0..40), cut: usize
    ) {
        let world = World::new(policy, seed);
        let (log, _) = play(&world, 0, seed, 5, &inputs);
        let cut = 1 + cut % log.len();
        let mut call = another_process(&world, &log[..cut]);
        let undecided = log[cut - 1].kind() == EventKind::AttemptFailed;
        let now = log[cut - 1].at();
        let recorded = call.resume(&policy, &mut Guards::none(), now, u32::MAX);
        if undecided {
            prop_assert_eq!(&log.get(cut), &recorded.events.first());
            prop_assert_eq!(recorded.events.len(), 1);
        }
        let whole = [&log[..cut], &recorded.events].concat();
        prop_assert_eq!(another_process(&world, &whole), call);
    }

    #[test]
    fn a_decision_that_was_changed_is_noticed_or_followed(
        policy in any_policy(), seed: u64, inputs in prop::collection::vec(any_input(), 4..40), which: usize, how in 0u8..4
    ) {
        let world = World::new(policy, seed);
        let (log, _) = play(&world, 0, seed, 5, &inputs);
        let decided = |event: &&Event| event.cause().is_some() || event.reason().is_some();
        let decisions: Vec<_> = log.iter().filter(decided).collect();
        prop_assume!(!decisions.is_empty());
        let own = decisions[which % decisions.len()];
        let later = Timestamp::from_nanos(own.until().as_nanos() ^ 1).max(own.at());
        let other = match (how, own.cause(), own.reason()) {
            (0, Some(cause), _) => Event::retry_scheduled(own.at(), own.attempt(), later, cause),
            (1, Some(cause), _) => {
                let cause = if cause == Cause::Hint { Cause::Clip } else { Cause::Hint };
                Event::retry_scheduled(own.at(), own.attempt(), own.until(), cause)
            }
            (_, Some(_), _) => Event::gave_up(own.at(), own.attempt() - 1, StopReason::Deadline, own.until()),
            (0 | 1, _, Some(reason)) => Event::gave_up(own.at(), own.attempt(), reason, Timestamp::from_nanos(own.until().as_nanos() ^ 1)),
            _ => Event::retry_scheduled(own.at(), own.attempt() + 1, own.at(), Cause::Backoff),
        };
        let other = other.numbered(own.sequence());
        prop_assume!(other != *own);
        let mut changed = log[..own.sequence() as usize].to_vec();
        changed.pop();
        changed.push(other);
        let error = replay(ReplayMode::Verify, &policy, &changed).unwrap_err();
        prop_assert_eq!(error.sequence, own.sequence());
        let after_a_failure = log[own.sequence() as usize - 2].kind() == EventKind::AttemptFailed;
        let computed = error.computed.map(|event| event == *own);
        prop_assert!(error.code == ErrorCode::LogImpossible && !after_a_failure || computed == Some(true), "{}", error);
        let followed = replay(ReplayMode::Follow, &policy, &changed);
        match other.cause() {
            _ if followed.is_err() => prop_assert!(!after_a_failure),
            Some(cause) => prop_assert_eq!(followed.unwrap().step(), Step::Sleep { until: other.until(), cause }),
            None => {
                let (reason, retry_at) = (other.reason().unwrap(), other.until());
                prop_assert_eq!(followed.unwrap().step(), Step::Stop(Outcome::GaveUp { reason, retry_at }));
            }
        }
    }

    #[test]
    fn an_event_that_is_gone_or_doubled_or_moved_is_named(
        policy in any_policy(), seed: u64, inputs in prop::collection::vec(any_input(), 4..40), which in 0u8..64,
        first: usize, second: usize,
    ) {
        let world = World::new(policy, seed);
        let (log, _) = play(&world, which, seed, 5, &inputs);
        prop_assume!(log.len() > 2);
        let (first, second) = (first % log.len(), second % log.len());
        let wrong = |log: &[Event]| {
            let [follow, verify] = ReplayMode::ALL.map(|mode| replay(mode, &world.policy, log).unwrap_err());
            assert_eq!((follow.code, follow.sequence), (verify.code, verify.sequence));
            (verify.code, verify.sequence)
        };
        let number = |index: usize| index as u64 + 1;
        let mut gone = log.clone();
        gone.remove(first);
        match first {
            0 => prop_assert_eq!(wrong(&gone), (ErrorCode::LogStart, 1)),
            first if first + 1 == log.len() => drop(another_process(&world, &gone)),
            first => prop_assert_eq!(wrong(&gone), (ErrorCode::LogGap, number(first))),
        }
        let mut doubled = log.clone();
        doubled.insert(first + 1, log[first]);
        prop_assert_eq!(wrong(&doubled), (ErrorCode::LogTwice, number(first)));
        let mut moved = log.clone();
        moved.swap(first, second);
        match first.min(second) {
            _ if first == second => {}
            0 => prop_assert_eq!(wrong(&moved), (ErrorCode::LogStart, 1)),
            least => prop_assert_eq!(wrong(&moved), (ErrorCode::LogGap, number(least))),
        }
    }

    #[test]
    fn one_byte_that_was_changed_in_a_log_is_an_error_of_the_event_it_is_in(
        policy in any_policy(), seed: u64, inputs in prop::collection::vec(any_input(), 0..20), place: usize, by in 1u8..=255
    ) {
        let world = World::new(policy, seed);
        let (log, _) = play(&world, 0, seed, 1_700_000_000_000_000_000, &inputs);
        let mut bytes = written(&log);
        let place = place % bytes.len();
        bytes[place] ^= by;
        let event = log.iter().scan(0, |end, event| {
            *end += written(&[*event]).len();
            Some(*end)
        }).take_while(|end| *end <= place).count();
        let error = EventReader::new(&bytes).find_map(Result::err).unwrap();
        prop_assert_eq!(error.sequence(), event as u64 + 1);
    }

    #[test]
    fn events_of_any_sort_are_an_answer_or_an_error_and_never_a_panic(
        policy in any_policy(), events in prop::collection::vec((crate::record::event::tests::any_event(), 0..3u8), 0..20), any: bool
    ) {
        for mode in ReplayMode::ALL {
            let mut replay = if any { Replay::new(mode).any_policy() } else { Replay::new(mode) };
            let guards = &mut Guards::none();
            let (_, first) = Recorder::begin(&policy, guards, 1, at(0));
            replay.apply(&policy, &first.events[0]).unwrap();
            for (event, how) in &events {
                let event = if *how == 0 { *event } else { event.numbered(replay.expected()) };
                let _ = replay.apply(&policy, &event);
            }
            let mut call = replay.finish().unwrap();
            call.resume(&policy, guards, Timestamp::LAST, 0);
        }
    }
}
