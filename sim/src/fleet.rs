//! The events of a run: calls that come, attempts that end, sleeps that are over.

use crate::measure::Measures;
use crate::scenario::{SERVERS, Scenario};
use crate::server::{Fate, Fault, Server};
use crate::slots::Slots;
use crate::strategy::{Processes, Strategy};
use crate::{MILLI, SECOND};
use holdoff_core::{Failure, GuardedCall, Hint, Outcome, Permit, Rng, Span, Step, Ticket, Timestamp, seed_at};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The way of a request to the server, and of the answer back.
const WAY: u64 = 5 * MILLI;
/// The server turns away what would wait longer: twice as long as a client waits.
const QUEUE: u64 = 2 * SECOND;
/// How old a process may be when the run begins, so that the windows of their guards are not in step.
const AGES: u64 = 60 * SECOND;
/// How long a herd takes to come.
const HERD: u64 = 100 * MILLI;
/// Zero of the run on the clients' clocks.
const START: u64 = 1000 * SECOND;

/// The next event of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Answer,
    Refusal,
    Error,
    Timeout,
    Wake,
    /// The server refused it for its rate.
    Limit,
    /// A client begins a call; its place is the client's number.
    Call,
}

/// The events to come, the earliest first. Events at the same time come in a fixed order.
#[derive(Default)]
struct Agenda {
    /// All but the last three kinds are nearly always planned in the order they come, which spares a heap most of the work.
    in_order: [VecDeque<(u64, u32)>; 4],
    others: BinaryHeap<Reverse<(u64, u32, Event)>>,
}

impl Agenda {
    fn plan(&mut self, at: u64, place: u32, event: Event) {
        let queue = self.in_order.get_mut(event as usize);
        match queue.filter(|queue| queue.back().is_none_or(|&(last, _)| last <= at)) {
            Some(queue) => queue.push_back((at, place)),
            None => self.others.push(Reverse((at, place, event))),
        }
    }

    /// Takes the next one that is due before `end`.
    fn next(&mut self, end: u64) -> Option<(u64, u32, Event)> {
        let mut next = self.others.peek().map(|&Reverse(other)| other);
        let mut source = None;
        for (number, event) in [Event::Answer, Event::Refusal, Event::Error, Event::Timeout].into_iter().enumerate() {
            if let Some(&(at, place)) = self.in_order[number].front()
                && next.is_none_or(|(earliest, ..)| at < earliest)
            {
                (next, source) = (Some((at, place, event)), Some(number));
            }
        }
        let next = next.filter(|&(at, ..)| at < end)?;
        match source {
            Some(number) => drop(self.in_order[number].pop_front()),
            None => drop(self.others.pop()),
        }
        Some(next)
    }
}

/// A call that is not over. Its first attempt runs without a state: the state is made from these numbers if that attempt fails.
#[derive(Clone, Copy, Debug)]
struct Live {
    began: u64,
    seed: u64,
    /// The place of its guards.
    guards: u32,
    server: u32,
    /// The breaker's permit for the first attempt.
    permit: Permit,
    /// The place of its state in [`Fleet::states`]; [`NO_STATE`] while the first attempt runs.
    state: u32,
}

const NO_STATE: u32 = u32::MAX;

/// Draws of the fleet that are no client's.
const ARRIVALS: u64 = 0;
const STARTS: u64 = 1;
const CLIENTS: u64 = 2;
const REQUESTS: u64 = 3;

struct Fleet<'a> {
    strategy: &'a Strategy,
    scenario: &'a Scenario,
    /// Each set of guards of each process.
    processes: Processes,
    /// The first one has the fault.
    servers: Vec<Server>,
    measures: Measures,
    /// Draws the calls that begin.
    arrivals: Rng,
    /// How many calls have begun.
    calls: u64,
    /// The Retry-After of a refusal.
    retry_after: Hint,
    attempts: u64,
    live: Slots<Live>,
    /// The states of the calls whose first attempt is over or had to wait.
    states: Slots<GuardedCall>,
    agenda: Agenda,
    /// When all processes begin anew, the latest first.
    restarts: Vec<u64>,
}

/// Runs a fleet of clients with that strategy until every call is over.
#[must_use]
pub fn run(scenario: &Scenario, strategy: &Strategy) -> Measures {
    let mut starts = Rng::new(seed_at(scenario.seed, STARTS));
    let seeds = seed_at(scenario.seed, CLIENTS);
    let mut processes = Processes::default();
    for number in 0..scenario.clients * scenario.sets() {
        let age = scaled(starts.uniform(), AGES);
        processes.start(strategy, seed_at(seeds, u64::from(number)), Timestamp::from_nanos(START - age));
    }
    let ill = scenario.begins * SECOND..(scenario.begins + scenario.lasts) * SECOND;
    let service = (SECOND as f64 / scenario.capacity()) as u64;
    let servers = (0..scenario.servers()).map(|number| {
        let hundredth = Fault::Errors { share: 0.01 };
        let (fault, ill) = if number == 0 { (scenario.fault, ill.clone()) } else { (hundredth, 0..u64::MAX) };
        Server::new(service, QUEUE, fault, ill, seed_at(seed_at(scenario.seed, REQUESTS), number.into()))
    });
    let retry_after = match scenario.fault {
        Fault::RateLimit { retry_after, .. } => Hint::after(Span::from_nanos((retry_after * SECOND as f64) as u64)),
        _ => Hint::NONE,
    };
    let mut restarts: Vec<u64> = scenario
        .restarts
        .map_or(Vec::new(), |every| scenario.ill().step_by(every as usize).map(|second| second * SECOND).collect());
    restarts.reverse();
    let mut fleet = Fleet {
        strategy,
        scenario,
        processes,
        servers: servers.collect(),
        measures: Measures::new(scenario.end()),
        arrivals: Rng::new(seed_at(scenario.seed, ARRIVALS)),
        calls: 0,
        retry_after,
        attempts: 0,
        live: Slots::new(),
        states: Slots::new(),
        agenda: Agenda::default(),
        restarts,
    };
    if scenario.closed {
        (0..scenario.clients).for_each(|client| fleet.think(client, 0));
    } else {
        fleet.open();
    }
    fleet.until(u64::MAX);
    fleet.measures.cut = fleet.is_cut();
    fleet.measures
}

/// A whole number below `n`, for a uniform from [0, 1).
fn scaled(uniform: f64, n: u64) -> u64 {
    (uniform * n as f64) as u64
}

/// The run's time as the clients' clocks show it.
const fn clock(now: u64) -> Timestamp {
    Timestamp::from_nanos(START + now)
}

impl Fleet<'_> {
    /// Calls that come whatever becomes of the ones before. Many independent Poisson processes are one; each of its events belongs
    /// to any of them with the same probability.
    fn open(&mut self) {
        let scenario = self.scenario;
        let gap = SECOND as f64 / (f64::from(scenario.clients) * scenario.rate);
        let mut at = 0.0;
        let mut herd = (scenario.herd * scenario.capacity()) as u64;
        loop {
            if herd > 0 && at as u64 >= scenario.begins * SECOND {
                at += HERD as f64 / (scenario.herd * scenario.capacity());
                herd -= 1;
            } else {
                at -= gap * libm::log(1.0 - self.arrivals.uniform());
            }
            let now = at as u64;
            self.until(now);
            if now >= scenario.end() * SECOND || self.is_cut() {
                break;
            }
            self.restart_if_due(now);
            let client = scaled(self.arrivals.uniform(), u64::from(scenario.clients)) as u32;
            self.call(client, now);
        }
    }

    /// A client without a call begins one after a while; in a run of closed load only.
    fn think(&mut self, client: u32, now: u64) {
        let gap = SECOND as f64 / self.scenario.rate;
        let at = now + (-gap * libm::log(1.0 - self.arrivals.uniform())) as u64;
        if at < self.scenario.end() * SECOND {
            self.agenda.plan(at, client, Event::Call);
        }
    }

    /// A client calls one of the servers.
    fn call(&mut self, client: u32, now: u64) {
        let servers = self.scenario.servers();
        let server = if servers > 1 { scaled(self.arrivals.uniform(), SERVERS.into()) as u32 } else { 0 };
        let seed = seed_at(!self.scenario.seed, self.calls);
        self.calls += 1;
        self.begin(client, server, seed, now);
    }

    fn restart_if_due(&mut self, now: u64) {
        if self.restarts.pop_if(|restart| *restart <= now).is_some() {
            self.restart(seed_at(seed_at(self.scenario.seed, CLIENTS), now), now);
        }
    }

    /// True if the run has had all the attempts that it may have.
    const fn is_cut(&self) -> bool {
        self.attempts >= self.scenario.most_attempts
    }

    /// All processes end and begin anew. Calls under way go on, under the new guards.
    fn restart(&mut self, seed: u64, now: u64) {
        self.processes = Processes::default();
        for number in 0..self.scenario.clients * self.scenario.sets() {
            self.processes.start(self.strategy, seed_at(seed, number.into()), clock(now));
        }
    }

    fn begin(&mut self, client: u32, server: u32, seed: u64, now: u64) {
        if self.scenario.measures(server) {
            self.measures.call(now);
        }
        let sets = self.scenario.sets();
        let guards = client * sets + server % sets;
        let mut lent = self.processes.lend(self.strategy, guards);
        let (call, step) = GuardedCall::begin(&self.strategy.policy, &mut lent, seed, clock(now));
        let is_at_once = matches!(step, Step::Attempt { .. });
        let state = if is_at_once { NO_STATE } else { self.states.put(call) };
        let place = self.live.put(Live { began: now, seed, guards, server, permit: call.permit(), state });
        self.follow(place, step, now);
    }

    /// Lets everything happen that is due before `end`.
    fn until(&mut self, end: u64) {
        while !self.is_cut()
            && let Some((now, place, event)) = self.agenda.next(end)
        {
            if event == Event::Call {
                self.restart_if_due(now);
                self.call(place, now);
            } else {
                self.happen(place, event, now);
            }
        }
    }

    fn happen(&mut self, place: u32, event: Event, now: u64) {
        let Some(live) = self.live.get_mut(place) else { return };
        let Live { began, seed, guards, permit, state, .. } = live;
        let guards = &mut self.processes.lend(self.strategy, *guards);
        let policy = &self.strategy.policy;
        let mut first = GuardedCall::underway(*seed, clock(*began), *permit);
        if *state == NO_STATE && event != Event::Answer {
            *state = self.states.put(first);
        }
        let call = self.states.get_mut(*state).unwrap_or(&mut first);
        // Without hedges only the latest attempt runs.
        let ticket = Ticket::from_raw(call.attempt().into());
        let step = match event {
            Event::Answer => call.succeed(guards, ticket, clock(now)),
            Event::Refusal => call.fail(policy, guards, ticket, clock(now), Failure::THROTTLED),
            Event::Error => call.fail(policy, guards, ticket, clock(now), Failure::TRANSIENT),
            Event::Timeout => call.fail(policy, guards, ticket, clock(now), Failure::TIMEOUT),
            Event::Limit => {
                let failure = Failure::THROTTLED.with_hint(self.retry_after);
                call.fail(policy, guards, ticket, clock(now), failure)
            }
            Event::Wake | Event::Call => call.tick(policy, guards, clock(now)),
        };
        self.follow(place, step, now);
    }

    /// Does what a call's step says, as a host would.
    fn follow(&mut self, place: u32, step: Step, now: u64) {
        match step {
            Step::Attempt { abort_at, .. } => self.send(place, abort_at, now),
            Step::Sleep { until, .. } => self.agenda.plan(until.as_nanos() - START, place, Event::Wake),
            // Without hedges nothing is due while an attempt runs.
            Step::Wait { .. } => {}
            Step::Stop(outcome) => {
                let Some(&mut Live { began, server, state, guards, .. }) = self.live.get_mut(place) else { return };
                if self.scenario.measures(server) {
                    self.measures.end(began, now, outcome == Outcome::Succeeded);
                }
                self.live.free(place);
                if state != NO_STATE {
                    self.states.free(state);
                }
                if self.scenario.closed {
                    self.think(guards / self.scenario.sets(), now);
                }
            }
        }
    }

    /// An attempt is on its way.
    fn send(&mut self, place: u32, abort_at: Timestamp, now: u64) {
        let Some(&mut Live { server, .. }) = self.live.get_mut(place) else { return };
        let abort_at = (abort_at.as_nanos() - START).min(now + self.scenario.patience());
        self.attempts += 1;
        let (heard_at, event) = match self.servers[server as usize].offer(now + WAY) {
            Fate::Answered(at) => (at + WAY, Event::Answer),
            Fate::TurnedAway => (now + WAY + WAY, Event::Refusal),
            Fate::Limited => (now + WAY + WAY, Event::Limit),
            Fate::Failed => (now + WAY + WAY, Event::Error),
            Fate::Lost => (u64::MAX, Event::Timeout),
        };
        let in_time = heard_at < abort_at;
        if self.scenario.measures(server) {
            self.measures.attempt(now);
            if event == Event::Answer {
                self.measures.served(in_time);
            }
        }
        if in_time {
            self.agenda.plan(heard_at, place, event);
        } else {
            self.agenda.plan(abort_at, place, Event::Timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_their_times() {
        let mut agenda = Agenda::default();
        let mut rng = Rng::new(1);
        let mut planned: Vec<_> = (0..1000).map(|place| (scaled(rng.uniform(), 500), place)).collect();
        let events = [Event::Answer, Event::Refusal, Event::Error, Event::Timeout, Event::Wake];
        for (&(at, place), event) in planned.iter().zip(events.into_iter().cycle()) {
            agenda.plan(at, place, event);
        }
        planned.sort_unstable();
        assert!(agenda.next(0).is_none());
        let mut came: Vec<_> = std::iter::from_fn(|| agenda.next(u64::MAX)).map(|(at, place, _)| (at, place)).collect();
        assert!(came.is_sorted_by_key(|&(at, _)| at));
        came.sort_unstable();
        assert_eq!(came, planned);
    }
}
