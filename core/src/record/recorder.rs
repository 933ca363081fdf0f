//! A call that says what to write down, so that another process can go on with it (spec 34).
//!
//! The host writes the events of a transition before it does what the step says: a crash between the two loses nothing, as
//! an attempt with a written beginning and no written end was interrupted.

use crate::decide::call::{Call, Outcome, Step, Ticket};
use crate::decide::failure::Failure;
use crate::decide::guarded::{GuardedCall, Guards};
use crate::decide::policy::Policy;
use crate::decide::retry::Cause;
use crate::record::event::{Event, EventKind};
use crate::time::Timestamp;
use core::ops::Deref;

/// The events of one transition, at most two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Events {
    /// Empty from `count` on.
    events: [Event; 2],
    count: usize,
}

impl Events {
    const NONE: Self = Self { events: [Event::EMPTY; 2], count: 0 };

    fn push(&mut self, event: Event) {
        if let Some(place) = self.events.get_mut(self.count) {
            *place = event;
            self.count = self.count.saturating_add(1);
        }
    }
}

impl Deref for Events {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        self.events.get(..self.count).unwrap_or(&[])
    }
}

/// The result of a transition: the step that holds now, and the events to write down before it is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The next step.
    pub step: Step,
    /// The events of the transition.
    pub events: Events,
}

/// One recorded call, from its first attempt to its end: 200 bytes, `Copy`, no policy and no guard inside.
///
/// # Contract
/// As that of [`GuardedCall`]; without guards the steps are those of [`Call`]. In addition:
///
/// - every input answers with the events to write down, none when it changed nothing. Such an input leaves no trace at all,
///   not even its time, so that the log has all that the state depends on;
/// - a recorded call does not hedge, even with a hedge among its guards. A call that begins without guards takes none later;
/// - [`crate::Replay`] makes the same recorder from the log, which goes on with [`Recorder::resume`].
///
/// Every bit pattern of the state is valid (zeroes read as a cancelled call), and no input panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Recorder {
    call: GuardedCall,
    /// That of the latest event.
    sequence: u64,
    /// The last attempt that ran.
    ran: u32,
    /// How often the attempt in flight was run again.
    reruns: u32,
    /// True if it began with guards.
    guarded: u8,
    /// One of the two below.
    pending: u8,
    /// No padding: the state is its bytes.
    unused: [u8; 6],
}

/// The decision about the latest failure is not in the log yet.
const UNDECIDED: u8 = 1;
/// The guards are to be asked by the next tick, whenever the sleep ends.
const ASK: u8 = 2;

const _: () = assert!(size_of::<Recorder>() == 224);

impl Recorder {
    /// Begins a call at `now`; for a good seed see [`crate::Retry::new`]. Events: STARTED, and what a guard says that does not
    /// let the first attempt through.
    pub fn begin(policy: &Policy, guards: &mut Guards<'_>, seed: u64, now: Timestamp) -> (Self, Recorded) {
        let hedge = guards.hedge.take();
        let guarded = guards.any();
        let (call, step) = GuardedCall::begin(policy, guards, seed, now);
        guards.hedge = hedge;
        let mut recorder = Self::beginning(call, guarded);
        let mut events = Events::NONE;
        let at = recorder.call.latest();
        recorder.write(&mut events, Event::started(policy, seed, guarded, at, recorder.ran));
        if !matches!(step, Step::Attempt { .. }) {
            recorder.decide(&mut events, step);
        }
        (recorder, Recorded { step, events })
    }

    const fn beginning(call: GuardedCall, guarded: bool) -> Self {
        let ran = call.attempt();
        Self { call, sequence: 0, ran, reruns: 0, guarded: guarded as u8, pending: 0, unused: [0; 6] }
    }

    /// The attempt with this ticket succeeded at `now`.
    pub fn succeed(&mut self, guards: &mut Guards<'_>, ticket: Ticket, now: Timestamp) -> Recorded {
        self.with(guards, &mut |recorder, guards, events| {
            let known = recorder.call.awaits(ticket);
            let step = recorder.call.succeed(guards, ticket, now);
            if known {
                recorder.tell(events, EventKind::Succeeded);
            }
            step
        })
    }

    /// The attempt with this ticket failed at `now`. Events: ATTEMPT_FAILED, and what follows from it.
    pub fn fail(
        &mut self,
        policy: &Policy,
        guards: &mut Guards<'_>,
        ticket: Ticket,
        now: Timestamp,
        failure: Failure,
    ) -> Recorded {
        self.end_attempt(guards, ticket, failure, |call, guards| call.fail(policy, guards, ticket, now, failure))
    }

    /// The attempt with this ticket ended at `now` by a fault of the caller's own program, which says nothing about the other
    /// side. In the log it is a permanent failure.
    pub fn abandon(&mut self, guards: &mut Guards<'_>, ticket: Ticket, now: Timestamp) -> Recorded {
        self.end_attempt(guards, ticket, Failure::PERMANENT, |call, guards| call.abandon(guards, ticket, now))
    }

    fn end_attempt(
        &mut self,
        guards: &mut Guards<'_>,
        ticket: Ticket,
        failure: Failure,
        mut input: impl FnMut(&mut GuardedCall, &mut Guards<'_>) -> Step,
    ) -> Recorded {
        self.with(guards, &mut |recorder, guards, events| {
            let known = recorder.call.awaits(ticket);
            let step = input(&mut recorder.call, guards);
            if known {
                recorder.failed(events, failure);
                recorder.decide(events, step);
            }
            step
        })
    }

    /// Nothing but time has passed, or a place in the bulkhead has come free: the next attempt, when it is due at `now`.
    pub fn tick(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp) -> Recorded {
        self.with(guards, &mut |recorder, guards, events| {
            let before = recorder.call.current_step();
            let step = if recorder.asks() {
                recorder.pending = 0;
                recorder.call.ask(policy, guards, now)
            } else {
                recorder.call.tick(policy, guards, now)
            };
            if step != before {
                recorder.go_on(events, step);
            }
            step
        })
    }

    /// The caller wants no more of it, whatever is going on.
    pub fn cancel(&mut self, guards: &mut Guards<'_>, now: Timestamp) -> Recorded {
        self.with(guards, &mut |recorder, guards, events| {
            let before = recorder.call.current_step();
            let step = recorder.call.cancel(guards, now);
            if step != before {
                recorder.pending = 0;
                recorder.tell(events, EventKind::Cancelled);
            }
            step
        })
    }

    /// Goes on, at `now` and under these guards, with a call that was made from its log. Asleep, it sleeps on; what it waited
    /// for at a guard it asks for at the next tick, which is due. An attempt in flight was interrupted and runs again, under
    /// its own number and with the guards' leave, but only `reruns` times; then it has failed, with kind timeout. A decision
    /// that the log was cut before is written first. 3 is a good number of reruns.
    pub fn resume(&mut self, policy: &Policy, guards: &mut Guards<'_>, now: Timestamp, reruns: u32) -> Recorded {
        self.with(guards, &mut |recorder, guards, events| {
            let Some(ticket) = recorder.call.running() else { return recorder.rejoin(guards, now) };
            if recorder.reruns >= reruns {
                let mut none = Guards::none();
                let step = recorder.call.fail(policy, &mut none, ticket, now, Failure::TIMEOUT);
                recorder.failed(events, Failure::TIMEOUT);
                recorder.decide(events, step);
                return recorder.rejoin(guards, now);
            }
            let now = recorder.call.retry.observe(now);
            if now >= recorder.call.retry.deadline(policy) {
                recorder.call.put_down(now, crate::StopReason::Deadline, now);
                let step = recorder.call.current_step();
                recorder.decide(events, step);
                return step;
            }
            recorder.call.interrupt(now);
            recorder.call.resume_under(guards, now);
            let step = recorder.call.ask(policy, guards, now);
            recorder.go_on(events, step);
            step
        })
    }

    /// Takes up a call that does not run.
    fn rejoin(&mut self, guards: &mut Guards<'_>, now: Timestamp) -> Step {
        if let Step::Sleep { cause, .. } = self.call.current_step() {
            if self.is_guarded() {
                self.call.resume_under(guards, self.call.retry.clock(now));
            }
            if matches!(cause, Cause::Breaker | Cause::Limiter | Cause::Bulkhead) {
                self.pending = ASK;
            }
        }
        self.step()
    }

    /// The step that holds.
    pub fn step(&self) -> Step {
        match self.call.current_step() {
            Step::Sleep { cause, .. } if self.asks() => Step::Sleep { until: self.call.latest(), cause },
            step => step,
        }
    }

    /// The call without what it holds of its guards: to be saved, see [`Call::save`].
    pub const fn call(&self) -> Call {
        self.call.call()
    }

    /// The place in the log of the latest event.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The attempt in flight or else the last one that ran, 0 for none.
    pub const fn attempt(&self) -> u32 {
        self.ran
    }

    /// When the call began.
    pub const fn started(&self) -> Timestamp {
        self.call.started()
    }

    /// How often the attempt in flight was run again because it was interrupted.
    pub const fn reruns(&self) -> u32 {
        self.reruns
    }

    /// True if it began with guards.
    pub const fn is_guarded(&self) -> bool {
        self.guarded != 0
    }

    /// How long to sleep from `now` for a step that sleeps; zero for any other. At most the decided delay, also on a wall clock that
    /// was set back since. Tick at the end of that sleep or at the clock's time, whichever is later (spec 34.8).
    pub fn remaining(&self, now: Timestamp) -> crate::Span {
        match self.step() {
            Step::Sleep { until, .. } => until.since(self.call.retry.clock(now)),
            _ => crate::Span::ZERO,
        }
    }

    const fn asks(&self) -> bool {
        self.pending == ASK && self.call.sleeps()
    }

    /// One input: under the guards that the call has, without a hedge, after a decision that was not written yet. A call that
    /// nothing is to be written about leaves no trace.
    fn with(
        &mut self,
        guards: &mut Guards<'_>,
        input: &mut dyn FnMut(&mut Self, &mut Guards<'_>, &mut Events) -> Step,
    ) -> Recorded {
        let mut events = Events::NONE;
        if self.pending == UNDECIDED {
            self.pending = 0;
            let step = self.call.current_step();
            self.decide(&mut events, step);
        }
        let before = self.call;
        let hedge = guards.hedge.take();
        let written = events.count;
        let mut none = Guards::none();
        let step = input(self, if self.is_guarded() { guards } else { &mut none }, &mut events);
        guards.hedge = hedge;
        if events.count > written {
            return Recorded { step, events };
        }
        // Without the times that an input has left which changed nothing else.
        self.call.retry = before.retry;
        Recorded { step: self.step(), events }
    }

    fn write(&mut self, events: &mut Events, event: Event) {
        self.sequence = self.sequence.saturating_add(1);
        events.push(event.numbered(self.sequence));
    }

    fn tell(&mut self, events: &mut Events, kind: EventKind) {
        self.write(events, Event::new(kind, self.call.latest(), self.ran));
    }

    fn failed(&mut self, events: &mut Events, failure: Failure) {
        self.reruns = 0;
        self.write(events, Event::attempt_failed(self.call.latest(), self.ran, failure));
    }

    /// The step that follows, as an event.
    fn decide(&mut self, events: &mut Events, step: Step) {
        if let Some(event) = self.decision(step) {
            self.write(events, event);
        }
    }

    /// A sleep or the end, as an event without its number.
    fn decision(&self, step: Step) -> Option<Event> {
        let at = self.call.latest();
        match step {
            Step::Sleep { until, cause } => {
                Some(Event::retry_scheduled(at, self.call.attempt().saturating_add(1), until, cause))
            }
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => Some(Event::gave_up(at, self.ran, reason, retry_at)),
            _ => None,
        }
    }

    /// A sleep that is over or another one now.
    fn go_on(&mut self, events: &mut Events, step: Step) {
        match step {
            Step::Attempt { .. } => {
                self.runs();
                self.tell(events, EventKind::Resumed);
            }
            _ => self.decide(events, step),
        }
    }

    /// An attempt runs now, perhaps again.
    fn runs(&mut self) {
        let attempt = self.call.attempt();
        self.reruns = if attempt > self.ran { 0 } else { self.reruns.saturating_add(1) };
        self.ran = self.ran.max(attempt);
    }
}

pub(crate) mod replayed;

#[cfg(test)]
mod tests;
