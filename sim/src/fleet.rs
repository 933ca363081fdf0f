//! The events of a run: calls that come, attempts that end, sleeps that are over.

use crate::measure::Measures;
use crate::server::{Fate, Fault, Server};
use crate::slots::Slots;
use crate::strategy::{Processes, Strategy};
use crate::{MILLI, SECOND};
use holdoff_core::{Failure, GuardedCall, Outcome, Permit, Rng, Step, Ticket, Timestamp, seed_at};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// The numbers of a run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// How many processes call the server.
    pub clients: u32,
    /// How many calls each makes a second, on average.
    pub rate: f64,
    /// The part of the server's capacity that the calls need when none fails.
    pub load: f64,
    /// A fault of the server for a while.
    pub fault: Fault,
    /// When, in seconds.
    pub ill: Range<u64>,
    /// When the last call comes, in seconds.
    pub end: u64,
    /// All processes end and begin anew when the fault begins, and each so many seconds after that while it lasts.
    pub restarts: Option<u64>,
    /// Calls that come within 100 ms of the fault's begin, as many as the server can answer in so many seconds.
    pub herd: f64,
    /// Three more servers, which each process calls as often as the first one.
    pub others: Option<Others>,
    /// Where all chance comes from.
    pub seed: u64,
}

/// Servers beside the one with the fault; a hundredth of their requests fails, at any time.
#[derive(Clone, Copy, Debug)]
pub struct Others {
    /// A process has guards for each server, not one set for all.
    pub guards_each: bool,
    /// The run measures the calls to these servers, not those to the server with the fault.
    pub measured: bool,
}

/// How many servers there are with [`Others`].
const SERVERS: u32 = 4;

impl Scenario {
    /// Ten thousand clients that make so many calls a second each, and a server that can do a quarter more than they need
    /// and is ill from second 30 to second 60 of 100.
    #[must_use]
    pub const fn of(rate: f64, fault: Fault, seed: u64) -> Self {
        Self {
            clients: 10_000,
            rate,
            load: 0.8,
            fault,
            ill: 30..60,
            end: 100,
            restarts: None,
            herd: 0.0,
            others: None,
            seed,
        }
    }

    /// The same with as many clients as make three thousand calls a second together.
    #[must_use]
    pub fn of_three_thousand(self) -> Self {
        Self { clients: (3000.0 / self.rate) as u32, ..self }
    }

    /// The same with a fault of so many seconds, and the same time before and after it.
    #[must_use]
    pub const fn lasting(mut self, seconds: u64) -> Self {
        self.end = self.end + self.ill.start + seconds - self.ill.end;
        self.ill.end = self.ill.start + seconds;
        self
    }

    /// How many requests a second the server with the fault can answer.
    #[must_use]
    pub fn capacity(&self) -> f64 {
        f64::from(self.clients) * self.rate / f64::from(self.servers()) / self.load
    }

    /// How many calls a second the run measures.
    #[must_use]
    pub fn measured_rate(&self) -> f64 {
        let measured = if self.others.is_some_and(|others| others.measured) { self.servers() - 1 } else { 1 };
        f64::from(self.clients) * self.rate * f64::from(measured) / f64::from(self.servers())
    }

    const fn servers(&self) -> u32 {
        if self.others.is_some() { SERVERS } else { 1 }
    }

    /// How many sets of guards a process has.
    fn sets(&self) -> u32 {
        if self.others.is_some_and(|others| others.guards_each) { SERVERS } else { 1 }
    }

    /// True if the run measures the calls to that server; the first one has the fault.
    fn measures(&self, server: u32) -> bool {
        (server > 0) == self.others.is_some_and(|others| others.measured)
    }
}

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
}

/// The events to come, the earliest first. Events at the same time come in a fixed order.
#[derive(Default)]
struct Agenda {
    /// All but wakes are nearly always planned in the order they come, which spares a heap most of the work.
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
    live: Slots<Live>,
    /// The states of the calls whose first attempt is over or had to wait.
    states: Slots<GuardedCall>,
    agenda: Agenda,
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
    let ill = scenario.ill.start * SECOND..scenario.ill.end * SECOND;
    let service = (SECOND as f64 / scenario.capacity()) as u64;
    let servers = (0..scenario.servers()).map(|number| {
        let (fault, ill) = if number == 0 { (scenario.fault, ill.clone()) } else { (Fault::Errors(0.01), 0..u64::MAX) };
        Server::new(service, QUEUE, fault, ill, seed_at(seed_at(scenario.seed, REQUESTS), number.into()))
    });
    let mut fleet = Fleet {
        strategy,
        scenario,
        processes,
        servers: servers.collect(),
        measures: Measures::new(scenario.end),
        live: Slots::new(),
        states: Slots::new(),
        agenda: Agenda::default(),
    };
    // Many independent Poisson processes are one; each of its events belongs to any of them with the same probability.
    let mut arrivals = Rng::new(seed_at(scenario.seed, ARRIVALS));
    let gap = SECOND as f64 / (f64::from(scenario.clients) * scenario.rate);
    let mut restarts = scenario.restarts.map_or(Vec::new(), |every| {
        scenario.ill.clone().step_by(every as usize).map(|second| second * SECOND).collect()
    });
    restarts.reverse();
    let mut at = 0.0;
    let mut herd = (scenario.herd * scenario.capacity()) as u64;
    let mut calls = 0;
    loop {
        if herd > 0 && at as u64 >= ill.start {
            at += HERD as f64 / (scenario.herd * scenario.capacity());
            herd -= 1;
        } else {
            at -= gap * libm::log(1.0 - arrivals.uniform());
        }
        let now = at as u64;
        fleet.until(now);
        if now >= scenario.end * SECOND {
            break;
        }
        if restarts.pop_if(|restart| *restart <= now).is_some() {
            fleet.restart(seed_at(seeds, now), now);
        }
        let client = scaled(arrivals.uniform(), u64::from(scenario.clients)) as u32;
        let server = if scenario.servers() > 1 { scaled(arrivals.uniform(), SERVERS.into()) as u32 } else { 0 };
        fleet.begin(client, server, seed_at(!scenario.seed, calls), now);
        calls += 1;
    }
    fleet.until(u64::MAX);
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
        while let Some((now, place, event)) = self.agenda.next(end) {
            self.happen(place, event, now);
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
            Event::Wake => call.tick(policy, guards, clock(now)),
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
                let Some(&mut Live { began, server, state, .. }) = self.live.get_mut(place) else { return };
                if self.scenario.measures(server) {
                    self.measures.end(began, now, outcome == Outcome::Succeeded);
                }
                self.live.free(place);
                if state != NO_STATE {
                    self.states.free(state);
                }
            }
        }
    }

    /// An attempt is on its way.
    fn send(&mut self, place: u32, abort_at: Timestamp, now: u64) {
        let Some(&mut Live { server, .. }) = self.live.get_mut(place) else { return };
        let abort_at = abort_at.as_nanos() - START;
        let (heard_at, event) = match self.servers[server as usize].offer(now + WAY) {
            Fate::Answered(at) => (at + WAY, Event::Answer),
            Fate::TurnedAway => (now + WAY + WAY, Event::Refusal),
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
