//! Sessions of calls that share guards: `guarded` files, and random ones.
//!
//! The times are nanoseconds on one clock, until a `move` puts all guards on another one.

use crate::format::{Case, Cases, DecisionWord, Document, FailureWord, File, N, RetryCase, StepWord};
use crate::options;
use crate::run::{all_same, same};
use crate::sessions::{factor, failure, policy_document, runner, span_text};
use holdoff_core::{
    Bulkhead, Error, GuardConfig, GuardedCall, Guards, Options, Outcome, Policy, Step, Ticket, Timestamp, each_guard,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Calls under guards that they share: one step for each event.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct GuardedCase {
    /// The policy, and the guards in its sections.
    pub policy: Document,
    /// The seed of the guards that draw.
    pub seed: N,
    /// When the guards are made.
    pub start: N,
    /// What happens.
    pub events: Vec<GuardedEvent>,
    /// What the machine says to each; nothing to an event that is not of a call.
    pub steps: Vec<Option<StepWord>>,
    /// What the guards say at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
}

/// An input of one of the calls, which are numbered from 0, or of the guards.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "`call`, `ticket` and `now` mean the same in each")]
pub enum GuardedEvent {
    /// A call begins.
    Begin { call: usize, seed: N, now: N },
    /// An attempt succeeded.
    Succeed { call: usize, ticket: N, now: N },
    /// An attempt failed.
    Fail { call: usize, ticket: N, now: N, failure: FailureWord },
    /// An attempt ended in a fault of the caller's own.
    Abandon { call: usize, ticket: N, now: N },
    /// Time has passed.
    Tick { call: usize, now: N },
    /// The caller cancels.
    Cancel { call: usize, now: N },
    /// Somebody opens the breaker until it is reset.
    Isolate { now: N },
    /// Somebody closes the breaker.
    ForceClose { now: N },
    /// Somebody resets the breaker.
    Reset { now: N },
    /// All guards are saved at `now` and restored on a clock that reads `to`; the calls are gone.
    Move { now: N, to: N },
}

/// What the guards say at a time. What a case leaves out is not looked at.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// When.
    pub now: N,
    /// The budget's balance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// The breaker's state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<String>,
    /// How often the breaker has opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openings: Option<u32>,
    /// The attempts in the bulkhead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<u32>,
    /// The calls in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u32>,
    /// The adaptive rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// A guard with its configuration and its words, as a host owns it.
pub(crate) struct OwnedGuard<C: GuardConfig> {
    config: C,
    state: C::State,
    words: Vec<u64>,
}

impl<C: GuardConfig> OwnedGuard<C> {
    fn new(options: &Options, seed: u64, now: Timestamp) -> Result<Option<Self>, Error> {
        let make = |config: C| Self { config, state: config.state(seed, now), words: vec![0; config.words()] };
        Ok(options.guard()?.map(make))
    }

    /// Through bytes to another clock.
    fn moved(&mut self, now: Timestamp, to: Timestamp) -> Result<(), Error> {
        let mut bytes = vec![0; self.config.saved()];
        self.config.save(&self.state, &self.words, now, &mut bytes);
        self.state = self.config.restore(&bytes, &mut self.words, to)?;
        Ok(())
    }
}

/// Declares all guards of a session.
macro_rules! owned {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// Guards with their configurations, as a host owns them.
        pub(crate) struct Owned {
            $($name: Option<OwnedGuard<$config>>,)*
        }

        impl Owned {
            /// The guards of a document.
            pub(crate) fn new(options: &Options, seed: u64, now: Timestamp) -> Result<Self, Error> {
                Ok(Self { $($name: OwnedGuard::new(options, seed, now)?,)* })
            }

            /// All of them, for one input.
            pub(crate) fn lend(&mut self) -> Guards<'_> {
                Guards { $(
                    $name: self.$name.as_mut().map(|guard| guard.config.lend(&mut guard.state, &mut guard.words)),
                )* }
            }

            /// Through bytes to another clock.
            fn moved(&mut self, now: Timestamp, to: Timestamp) -> Result<(), Error> {
                $(if let Some(guard) = &mut self.$name { guard.moved(now, to)?; })*
                Ok(())
            }
        }
    };
}
each_guard!(owned);

impl Owned {
    fn after(&self, now: N) -> After {
        let at = Timestamp::from_nanos(now.0);
        let breaker = self.breaker.as_ref();
        let bulkhead = self.bulkhead.as_ref().map(|guard| &guard.state);
        After {
            now,
            budget: self.budget.as_ref().map(|guard| guard.state.balance(&guard.config, at)),
            breaker: breaker.map(|guard| guard.state.state(&guard.config, at).name().to_owned()),
            openings: breaker.map(|guard| guard.state.openings()),
            running: bulkhead.map(Bulkhead::running),
            waiting: bulkhead.map(Bulkhead::waiting),
            rate: self.adaptive.as_ref().map(|guard| guard.state.rate()),
        }
    }
}

/// Calls and the guards that they share.
struct Session {
    policy: Policy,
    guards: Owned,
    calls: Vec<Option<GuardedCall>>,
}

impl Session {
    fn new(policy: &Document, seed: u64, start: u64) -> Result<Self, String> {
        let (policy, builder) = options::guarded(policy).map_err(|error| format!("refused: {error:?}"))?;
        let guards = Owned::new(&builder, seed, Timestamp::from_nanos(start)).map_err(|error| error.to_string())?;
        Ok(Self { policy, guards, calls: Vec::new() })
    }

    /// What is said to an event; nothing to one that is not of a call.
    fn put(&mut self, event: &GuardedEvent) -> Result<Option<Step>, String> {
        let at = |now: &N| Timestamp::from_nanos(now.0);
        let ticket = |ticket: &N| Ticket::from_raw(ticket.0);
        let Self { policy, guards, calls } = self;
        let breaker = match event {
            GuardedEvent::Begin { call, seed, now } => {
                let (state, step) = GuardedCall::begin(policy, &mut guards.lend(), seed.0, at(now));
                if calls.len() <= *call {
                    calls.resize(call + 1, None);
                }
                calls[*call] = Some(state);
                return Ok(Some(step));
            }
            GuardedEvent::Move { now, to } => {
                calls.clear();
                return guards.moved(at(now), at(to)).map(|()| None).map_err(|error| error.to_string());
            }
            GuardedEvent::Isolate { .. } | GuardedEvent::ForceClose { .. } | GuardedEvent::Reset { .. } => {
                &mut guards.breaker.as_mut().ok_or("there is no breaker")?.state
            }
            GuardedEvent::Succeed { call, .. }
            | GuardedEvent::Fail { call, .. }
            | GuardedEvent::Abandon { call, .. }
            | GuardedEvent::Tick { call, .. }
            | GuardedEvent::Cancel { call, .. } => {
                let state = calls.get_mut(*call).and_then(Option::as_mut).ok_or("the call has not begun")?;
                let guards = &mut guards.lend();
                return Ok(Some(match event {
                    GuardedEvent::Succeed { ticket: number, now, .. } => state.succeed(guards, ticket(number), at(now)),
                    GuardedEvent::Fail { ticket: number, now, failure, .. } => {
                        let failure = failure.failure().ok_or("an unknown kind of failure")?;
                        state.fail(policy, guards, ticket(number), at(now), failure)
                    }
                    GuardedEvent::Abandon { ticket: number, now, .. } => state.abandon(guards, ticket(number), at(now)),
                    GuardedEvent::Cancel { now, .. } => state.cancel(guards, at(now)),
                    GuardedEvent::Tick { now, .. } => state.tick(policy, guards, at(now)),
                    _ => return Ok(None),
                }));
            }
        };
        match event {
            GuardedEvent::Isolate { now } => breaker.isolate(at(now)),
            GuardedEvent::ForceClose { now } => breaker.force_close(at(now)),
            GuardedEvent::Reset { now } => breaker.reset(at(now)),
            _ => {}
        }
        Ok(None)
    }
}

/// Runs a case.
pub fn run(case: &GuardedCase) -> Result<(), String> {
    let mut session = Session::new(&case.policy, case.seed.0, case.start.0)?;
    let steps = case.events.iter().map(|event| Ok(session.put(event)?.map(StepWord::from)));
    all_same(&case.steps, &steps.collect::<Result<Vec<_>, String>>()?)?;
    let Some(after) = &case.after else { return Ok(()) };
    let all = session.guards.after(after.now);
    let shown = After {
        now: after.now,
        budget: after.budget.and(all.budget),
        breaker: after.breaker.as_ref().and(all.breaker),
        openings: after.openings.and(all.openings),
        running: after.running.and(all.running),
        waiting: after.waiting.and(all.waiting),
        rate: after.rate.and(all.rate),
    };
    same(after, &shown)
}

/// What calls with a budget decide after each of a case's attempts, and what the budget has then. An attempt that was slept for
/// begins at the time at which it ends.
pub fn paid(case: &RetryCase) -> Result<(Vec<DecisionWord>, Vec<Option<f64>>), String> {
    let mut session = Session::new(&case.policy, 0, case.started.0)?;
    let (mut decisions, mut left, mut number) = (Vec::new(), Vec::new(), 0_usize);
    let begin = |call, now| GuardedEvent::Begin { call, seed: case.seed, now };
    let mut step = session.put(&begin(0, case.started))?;
    for one in &case.failures {
        let now = one.now;
        if one.new_call {
            number += 1;
            step = session.put(&begin(number, now))?;
        } else if matches!(step, Some(Step::Sleep { .. })) {
            step = session.put(&GuardedEvent::Tick { call: number, now })?;
        }
        let Some(Step::Attempt { ticket, .. }) = step else {
            return Err(format!("no attempt runs at {}: {step:?}", now.0));
        };
        let ticket = N(ticket.as_raw());
        step = session.put(&match &one.failure {
            Some(failure) => GuardedEvent::Fail { call: number, ticket, now, failure: failure.clone() },
            None => GuardedEvent::Succeed { call: number, ticket, now },
        })?;
        decisions.push(match step {
            Some(Step::Sleep { until, cause }) => {
                DecisionWord::Sleep { until: N(until.as_nanos()), cause: cause.name().to_owned() }
            }
            Some(Step::Stop(Outcome::GaveUp { reason, retry_at })) => {
                DecisionWord::GiveUp { reason: reason.name().to_owned(), retry_at: N(retry_at.as_nanos()) }
            }
            Some(Step::Stop(Outcome::Succeeded)) => DecisionWord::Succeeded,
            _ => return Err(format!("no decision: {step:?}")),
        });
        left.push(session.guards.after(now).budget);
    }
    Ok((decisions, left))
}

/// `count` sessions drawn with `seed`, with the steps that the core takes.
pub fn sessions(seed: u64, count: usize) -> File {
    let mut runner = runner(seed);
    let strategy = session();
    let mut cases = Vec::with_capacity(count);
    while cases.len() < count {
        let Ok(tree) = strategy.new_tree(&mut runner) else { continue };
        let (policy, seed, start, moves) = proptest::strategy::ValueTree::current(&tree);
        if let Some(case) = play(cases.len(), policy, seed, start, &moves) {
            cases.push(case);
        }
    }
    File::Guarded(Cases { version: 1, source: format!("random sessions, seed {seed}"), cases })
}

/// What one of a handful of calls does next.
#[derive(Clone, Debug)]
struct Move {
    call: usize,
    what: What,
    /// From the latest time, or else from the time of the call's own step.
    later: Option<u64>,
    own: i8,
    /// Another attempt than the latest.
    ticket: Option<u64>,
}

#[derive(Clone, Debug)]
enum What {
    Succeed,
    Fail(holdoff_core::Failure),
    Abandon,
    Tick,
    Cancel,
    Begin(u64),
    Isolate,
    ForceClose,
    Reset,
    Elsewhere(u64),
}

const CALLS: usize = 5;

fn one_move() -> impl Strategy<Value = Move> {
    let what = prop_oneof![
        8 => Just(What::Succeed),
        20 => failure().prop_map(What::Fail),
        1 => Just(What::Abandon),
        24 => Just(What::Tick),
        2 => Just(What::Cancel),
        10 => any::<u64>().prop_map(What::Begin),
        1 => Just(What::Isolate),
        1 => Just(What::ForceClose),
        1 => Just(What::Reset),
        1 => (0..100_000_000_000_u64).prop_map(What::Elsewhere),
    ];
    let later = prop::option::of(prop_oneof![4 => 0..3_000_000_000_u64, 2 => 0..5_000_000_u64, 1 => Just(0)]);
    let ticket = prop::option::weighted(0.2, prop_oneof![4 => 0..6_u64, 1 => any::<u64>()]);
    (0..CALLS, what, later, -1..=1_i8, ticket).prop_map(|(call, what, later, own, ticket)| Move {
        call,
        what,
        later,
        own,
        ticket,
    })
}

type Drawn = (Document, u64, u64, Vec<Move>);

fn session() -> impl Strategy<Value = Drawn> {
    let start = prop_oneof![5 => 0..10_000_000_000_u64, 1 => Just(0), 1 => any::<u64>()];
    (policy_document(), guards(), any::<u64>(), start, prop::collection::vec(one_move(), 4..50)).prop_map(
        |(mut policy, guards, seed, start, moves)| {
            policy.extend(guards);
            (policy, seed, start, moves)
        },
    )
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::select(words).prop_map(|word| json!(word))
}

fn share() -> impl Strategy<Value = Value> {
    (1..=100_u32).prop_map(|percent| json!(f64::from(percent) / 100.0))
}

fn number(top: u32) -> impl Strategy<Value = Value> {
    (1..=top).prop_map(|number| json!(number))
}

fn brief() -> impl Strategy<Value = Value> {
    (1..8000_u32).prop_map(|ms| json!(format!("{ms}ms")))
}

fn budget() -> impl Strategy<Value = Value> {
    let plain = (number(60), number(9), number(9), number(9), factor(3.0), factor(5.0)).prop_map(
        |(capacity, cost, timeout_cost, throttled_cost, reward, refill)| {
            json!({ "kind": "token", "capacity": capacity, "cost": cost, "timeout_cost": timeout_cost,
                "throttled_cost": throttled_cost, "reward": reward, "refill": refill })
        },
    );
    let kept = (number(30), number(9), number(9), 0..4_u32, factor(3.0), brief(), word(&["last", "all"])).prop_map(
        |(capacity, cost, timeout_cost, hinted_cost, reward, grace, returns)| {
            json!({ "kind": "token", "capacity": capacity, "cost": cost, "timeout_cost": timeout_cost,
                "hinted_cost": hinted_cost, "reward": reward, "grace": grace, "returns": returns })
        },
    );
    let of_loops = number(30).prop_map(|capacity| json!({ "kind": "default", "capacity": capacity }));
    let token = prop_oneof![plain, kept, of_loops];
    let throttle = (number(20), factor(2.0))
        .prop_map(|(capacity, reward)| json!({ "kind": "throttle", "capacity": capacity, "reward": reward }));
    let ratio = (share(), brief(), factor(3.0)).prop_map(
        |(ratio, window, least)| json!({ "kind": "ratio", "ratio": ratio, "window": window, "min_per_second": least }),
    );
    let concurrent = (share(), number(4))
        .prop_map(|(ratio, least)| json!({ "kind": "share", "ratio": ratio, "min_concurrency": least }));
    let requests = (prop_oneof![Just(1.1), Just(1.5), Just(2.0)], brief())
        .prop_map(|(k, window)| json!({ "kind": "requests", "k": k, "window": window }));
    let window =
        (number(5), brief()).prop_map(|(limit, window)| json!({ "kind": "window", "limit": limit, "window": window }));
    prop_oneof![token, throttle, ratio, concurrent, requests, window]
}

fn breaker() -> impl Strategy<Value = Value> {
    let consecutive = (number(5), word(&["first", "streak"]))
        .prop_map(|(failures, reopen)| json!({ "kind": "consecutive", "failures": failures, "reopen": reopen }));
    let count = (5..=40_u32, number(5), share(), share()).prop_map(|(size, least, failed, slow)| {
        json!({ "kind": "count", "size": size, "min_calls": least, "failure_rate": failed, "slow_rate": slow,
            "slow_after": "1s" })
    });
    let time = (brief(), number(10), number(5), share()).prop_map(|(window, slots, least, failed)| {
        json!({ "kind": "time", "window": window, "slots": slots, "min_calls": least, "failure_rate": failed })
    });
    let open = prop_oneof![
        3 => brief(),
        1 => (1..900_u32).prop_map(|ms| {
            json!({ "kind": "exponential", "initial": format!("{ms}ms"), "factor": 2, "max": "5s" })
        }),
        1 => (1..900_u32).prop_map(|ms| json!({ "kind": "linear", "initial": format!("{ms}ms"), "max": "none" })),
    ];
    let rest = (open, prop_oneof![Just(json!(0)), share()], number(3), number(3), word(&["stop", "wait"]));
    let more = (word(&["ignore", "open"]), word(&["enforce", "enforce", "enforce", "observe"]));
    (prop_oneof![consecutive, count, time], rest, more).prop_map(
        |(mut breaker, (open, jitter, probes, successes, refusal), (hint, mode))| {
            for (name, value) in [
                ("open_for", open),
                ("jitter", jitter),
                ("probes", probes),
                ("successes", successes),
                ("refusal", refusal),
                ("hint", hint),
                ("mode", mode),
            ] {
                breaker[name] = value;
            }
            breaker
        },
    )
}

fn limiter() -> impl Strategy<Value = Value> {
    let refusal = || word(&["stop", "wait"]);
    prop_oneof![
        (word(&["gcra", "bucket"]), number(20), brief(), number(5), refusal()).prop_map(
            |(kind, limit, per, burst, refusal)| {
                json!({ "kind": kind, "limit": limit, "per": per, "burst": burst, "refusal": refusal })
            }
        ),
        (word(&["window", "log"]), number(8), brief(), refusal()).prop_map(|(kind, limit, per, refusal)| {
            json!({ "kind": kind, "limit": limit, "per": per, "refusal": refusal })
        }),
    ]
}

/// Any guards, as a document has them.
pub(crate) fn guards() -> impl Strategy<Value = Document> {
    let adaptive = prop_oneof![
        word(&["stop", "wait"]).prop_map(|refusal| json!({ "kind": "cubic", "refusal": refusal })),
        (number(20), factor(3.0)).prop_map(|(rate, increase)| {
            json!({ "kind": "aimd", "initial_rate": rate, "increase": increase, "refusal": "wait" })
        }),
    ];
    let bulkhead = (number(4), 0..4_u32, span_text())
        .prop_map(|(limit, queue, wait)| json!({ "limit": limit, "queue": queue, "max_wait": wait }));
    let stretch = (1..=10_u32, brief(), number(5))
        .prop_map(|(factor, window, least)| json!({ "factor": factor, "window": window, "min_calls": least }));
    let hedge = (0..2000_u32, 2..=4_u32, prop::option::of(share())).prop_map(|(ms, attempts, percentile)| {
        let mut hedge = json!({ "delay": format!("{ms}ms"), "attempts": attempts });
        if let Some(percentile) = percentile.filter(|share| share.as_f64() < Some(1.0)) {
            hedge["percentile"] = percentile;
        }
        hedge
    });
    let some = |value: BoxedStrategy<Value>| prop::option::weighted(0.4, value);
    (
        some(budget().boxed()),
        some(breaker().boxed()),
        some(limiter().boxed()),
        some(adaptive.boxed()),
        some(bulkhead.boxed()),
        some(stretch.boxed()),
        some(hedge.boxed()),
    )
        .prop_map(|(budget, breaker, limiter, adaptive, bulkhead, stretch, hedge)| {
            let sections = [
                ("budget", budget),
                ("breaker", breaker),
                ("limiter", limiter),
                ("adaptive", adaptive),
                ("bulkhead", bulkhead),
                ("stretch", stretch),
                ("hedge", hedge),
            ];
            let given = sections.into_iter().filter_map(|(name, section)| Some((name.to_owned(), section?)));
            given.collect()
        })
}

/// Plays the moves against the core, which gives the times and tickets they refer to.
fn play(number: usize, policy: Document, seed: u64, start: u64, moves: &[Move]) -> Option<Case<GuardedCase>> {
    let mut session = Session::new(&policy, seed, start).ok()?;
    let (mut events, mut steps) = (Vec::new(), Vec::new());
    let (mut now, mut latest, mut over) = (start, [(start, 1_u64); CALLS], [true; CALLS]);
    for one in moves {
        let call = one.call;
        let (due, awaited) = latest[call];
        now = match one.later {
            Some(later) => now.saturating_add(later),
            None if due == u64::MAX => now,
            None => due.saturating_add_signed(one.own.into()),
        };
        let (at, ticket) = (N(now), N(one.ticket.unwrap_or(awaited)));
        let begun = session.calls.get(call).is_some_and(Option::is_some);
        let idle = !begun || over[call];
        let event = match &one.what {
            What::Isolate if session.guards.breaker.is_some() => GuardedEvent::Isolate { now: at },
            What::ForceClose if session.guards.breaker.is_some() => GuardedEvent::ForceClose { now: at },
            What::Reset if session.guards.breaker.is_some() => GuardedEvent::Reset { now: at },
            What::Elsewhere(to) => {
                now = *to;
                latest = [(now, 1); CALLS];
                GuardedEvent::Move { now: at, to: N(*to) }
            }
            What::Begin(seed) if idle => GuardedEvent::Begin { call, seed: N(*seed), now: at },
            _ if !begun => GuardedEvent::Begin { call, seed: N(now ^ seed), now: at },
            What::Succeed => GuardedEvent::Succeed { call, ticket, now: at },
            What::Fail(failure) => GuardedEvent::Fail { call, ticket, now: at, failure: (*failure).into() },
            What::Abandon => GuardedEvent::Abandon { call, ticket, now: at },
            What::Cancel => GuardedEvent::Cancel { call, now: at },
            _ => GuardedEvent::Tick { call, now: at },
        };
        let step = session.put(&event).ok()?;
        latest[call] = match step {
            Some(Step::Attempt { ticket, wake_at, .. }) => (wake_at.as_nanos(), ticket.as_raw()),
            Some(Step::Sleep { until, .. } | Step::Wait { until }) => (until.as_nanos(), latest[call].1),
            _ => latest[call],
        };
        if step.is_some() {
            over[call] = matches!(step, Some(Step::Stop(_)));
        }
        events.push(event);
        steps.push(step.map(StepWord::from));
    }
    let after = Some(session.guards.after(N(now)));
    let given = GuardedCase { policy, seed: N(seed), start: N(start), events, steps, after };
    Some(Case::generated(format!("session {number}"), given))
}
