//! The events of a run: calls that come, attempts that end, sleeps that are over.

use crate::agenda::{Agenda, Event, Whose};
use crate::measure::Measures;
use crate::packed::Packed;
use crate::scenario::{SERVERS, Scenario};
use crate::server::{Fate, Fault, Server};
use crate::strategy::{Processes, Strategy};
use crate::{MILLI, SECOND};
use holdoff_core::{Failure, GuardedCall, Hint, Outcome, Permit, Rng, Span, Step, Ticket, Timestamp, seed_at};

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

/// The calls that are not over. A call's first attempt runs without a state: the state is made from three numbers if that attempt
/// fails, as a lazy host does it.
#[derive(Default)]
struct Calls {
    /// When each began, its seed, and the breaker's permit for its first attempt.
    first: Packed<[u64; 3]>,
    /// The states of the calls whose first attempt is over or had to wait.
    states: Packed<GuardedCall>,
}

/// The bit of a slot in [`Calls::states`].
const STATE: u32 = 1 << 31;

impl Calls {
    fn get(&self, slot: u32) -> Option<GuardedCall> {
        if slot & STATE != 0 {
            return self.states.get(slot & !STATE);
        }
        let [began, seed, permit] = self.first.get(slot)?;
        Some(GuardedCall::underway(seed, clock(began), Permit::from_raw(permit as u32)))
    }

    /// Stores a call's state, at another slot than before if it had none.
    fn set(&mut self, slot: u32, call: &GuardedCall) -> u32 {
        if slot & STATE != 0 {
            self.states.set(slot & !STATE, call);
            return slot;
        }
        self.first.free(slot);
        self.states.put(call) | STATE
    }

    fn free(&mut self, slot: u32) {
        if slot & STATE != 0 { self.states.free(slot & !STATE) } else { self.first.free(slot) }
    }

    fn touch(&self, slot: u32) {
        if slot & STATE != 0 { self.states.touch(slot & !STATE) } else { self.first.touch(slot) }
    }
}

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
    under_way: Calls,
    agenda: Agenda,
    /// When all processes begin anew, the latest first.
    restarts: Vec<u64>,
    /// Is told each second that begins.
    watch: &'a dyn Fn(u64),
    /// The next second that it is told.
    second: u64,
}

/// Runs a fleet of clients with that strategy until every call is over.
#[must_use]
pub fn run(scenario: &Scenario, strategy: &Strategy) -> Measures {
    watched(scenario, strategy, &|_| {})
}

/// The same, and tells each second of the run that begins.
pub fn watched(scenario: &Scenario, strategy: &Strategy, watch: &dyn Fn(u64)) -> Measures {
    let mut starts = Rng::new(seed_at(scenario.seed, STARTS));
    let seeds = seed_at(scenario.seed, CLIENTS);
    let mut processes = Processes::default();
    for number in 0..scenario.clients * scenario.sets() {
        let age = scaled(starts.uniform(), AGES);
        processes.start(strategy, seed_at(seeds, u64::from(number)), Timestamp::from_nanos(START - age));
    }
    let ill = scenario.begins * SECOND..scenario.begins * SECOND + (scenario.lasts * SECOND as f64) as u64;
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
        under_way: Calls::default(),
        agenda: Agenda::default(),
        restarts,
        watch,
        second: 0,
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

/// How many calls begin whose guards are fetched at once.
const AHEAD: usize = 32;

/// The calls that begin, whatever becomes of the ones before. Many independent Poisson processes are one; each of its events belongs
/// to any of them with the same probability.
struct Arrivals<'a> {
    scenario: &'a Scenario,
    rng: Rng,
    at: f64,
    /// How many calls of the herd have not come.
    herd: u64,
}

impl Iterator for Arrivals<'_> {
    /// When, and the client and its server.
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        let scenario = self.scenario;
        if self.herd > 0 && self.at as u64 >= scenario.begins * SECOND {
            self.at += HERD as f64 / (scenario.herd * scenario.capacity());
            self.herd -= 1;
        } else {
            let gap = SECOND as f64 / (f64::from(scenario.clients) * scenario.rate);
            self.at -= gap * libm::log(1.0 - self.rng.uniform());
        }
        let now = self.at as u64;
        (now < scenario.end() * SECOND).then(|| {
            let client = scaled(self.rng.uniform(), scenario.clients.into()) as u32;
            (now, pair(scenario, client, &mut self.rng))
        })
    }
}

/// A client and one of the servers, as one number.
fn pair(scenario: &Scenario, client: u32, rng: &mut Rng) -> u32 {
    let servers = scenario.servers();
    let server = if servers > 1 { scaled(rng.uniform(), SERVERS.into()) as u32 } else { 0 };
    client * servers + server
}

impl Fleet<'_> {
    /// Calls that come whatever becomes of the ones before.
    fn open(&mut self) {
        let scenario = self.scenario;
        let herd = (scenario.herd * scenario.capacity()) as u64;
        let mut arrivals = Arrivals { scenario, rng: self.arrivals, at: 0.0, herd };
        let mut soon = Vec::with_capacity(AHEAD);
        loop {
            soon.extend(arrivals.by_ref().take(AHEAD));
            soon.iter().for_each(|&(_, pair)| self.processes.touch(self.guards(pair)));
            if soon.is_empty() {
                self.until(scenario.end() * SECOND);
                break;
            }
            for (now, pair) in soon.drain(..) {
                self.until(now);
                if self.is_cut() {
                    return;
                }
                self.restart_if_due(now);
                self.call(pair, now);
            }
        }
    }

    /// A client without a call begins one after a while; in a run of closed load only.
    fn think(&mut self, client: u32, now: u64) {
        let gap = SECOND as f64 / self.scenario.rate;
        let at = now + (-gap * libm::log(1.0 - self.arrivals.uniform())) as u64;
        if at < self.scenario.end() * SECOND {
            self.agenda.plan(at, Whose { slot: client, pair: client * self.scenario.servers() }, Event::Call);
        }
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

    /// The server of a pair.
    fn server(&self, pair: u32) -> u32 {
        pair % self.scenario.servers()
    }

    /// The slot of a pair's guards.
    fn guards(&self, pair: u32) -> u32 {
        pair / (self.scenario.servers() / self.scenario.sets())
    }

    /// A client calls a server.
    fn call(&mut self, pair: u32, now: u64) {
        let seed = seed_at(!self.scenario.seed, self.calls);
        self.calls += 1;
        if self.scenario.measures(self.server(pair)) {
            self.measures.call(now);
        }
        let (policy, guards) = (&self.strategy.policy, self.guards(pair));
        let (call, step) =
            self.processes.with(self.strategy, guards, |guards| GuardedCall::begin(policy, guards, seed, clock(now)));
        let slot = if matches!(step, Step::Attempt { .. }) {
            self.under_way.first.put(&[now, seed, call.permit().as_raw().into()])
        } else {
            self.under_way.states.put(&call) | STATE
        };
        self.follow(Whose { slot, pair }, now, step, now);
    }

    /// Lets everything happen that is due before `end`.
    fn until(&mut self, end: u64) {
        while !self.is_cut() {
            let Self { agenda, under_way, processes, scenario, .. } = self;
            let servers_of_guards = scenario.servers() / scenario.sets();
            let next = agenda.next(end, |Whose { slot, pair }| {
                under_way.touch(slot);
                processes.touch(pair / servers_of_guards);
            });
            let Some((now, whose, event)) = next else { break };
            if now >= self.second * SECOND {
                self.second = now / SECOND + 1;
                (self.watch)(now / SECOND);
            }
            if event == Event::Call {
                self.restart_if_due(now);
                let pair = pair(self.scenario, whose.slot, &mut self.arrivals);
                self.call(pair, now);
            } else {
                self.happen(whose, event, now);
            }
        }
    }

    fn happen(&mut self, whose: Whose, event: Event, now: u64) {
        let Some(mut call) = self.under_way.get(whose.slot) else { return };
        let began = call.started().as_nanos() - START;
        // Without hedges only the latest attempt runs.
        let ticket = Ticket::from_raw(call.attempt().into());
        let (policy, retry_after, now_shown) = (&self.strategy.policy, self.retry_after, clock(now));
        let step = self.processes.with(self.strategy, self.guards(whose.pair), |guards| {
            let failure = match event {
                Event::Answer => return call.succeed(guards, ticket, now_shown),
                Event::Wake | Event::Call => return call.tick(policy, guards, now_shown),
                Event::Refusal => Failure::THROTTLED,
                Event::Error => Failure::TRANSIENT,
                Event::Timeout => Failure::TIMEOUT,
                Event::Limit => Failure::THROTTLED.with_hint(retry_after),
            };
            call.fail(policy, guards, ticket, now_shown, failure)
        });
        let slot = match step {
            Step::Stop(_) => whose.slot,
            _ => self.under_way.set(whose.slot, &call),
        };
        self.follow(Whose { slot, ..whose }, began, step, now);
    }

    /// Does what a call's step says, as a host would.
    fn follow(&mut self, whose: Whose, began: u64, step: Step, now: u64) {
        match step {
            Step::Attempt { abort_at, .. } => self.send(whose, abort_at, now),
            Step::Sleep { until, .. } => self.agenda.plan(until.as_nanos() - START, whose, Event::Wake),
            // Without hedges nothing is due while an attempt runs.
            Step::Wait { .. } => {}
            Step::Stop(outcome) => {
                if self.scenario.measures(self.server(whose.pair)) {
                    self.measures.end(began, now, outcome == Outcome::Succeeded);
                }
                self.under_way.free(whose.slot);
                if self.scenario.closed {
                    self.think(whose.pair / self.scenario.servers(), now);
                }
            }
        }
    }

    /// An attempt is on its way.
    fn send(&mut self, whose: Whose, abort_at: Timestamp, now: u64) {
        let server = self.server(whose.pair);
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
            self.agenda.plan(heard_at, whose, event);
        } else {
            self.agenda.plan(abort_at, whose, Event::Timeout);
        }
    }
}
