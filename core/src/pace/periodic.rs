//! Running something again and again, as a machine that a host drives.
//!
//! Loops that poll, sync or heartbeat differ in a handful of choices that are easily made by accident: whether the interval
//! counts from the start or the end of a run, what becomes of a tick that was missed, whether there is a run before the first
//! interval and one after the last. Here each is an option of one machine (spec 18); the presets name the combinations that
//! Kubernetes' `wait` package is made of.

pub(crate) mod loop_backoff;
pub(crate) mod options;
#[cfg(test)]
mod tests;

use crate::decide::rng::Rng;
use crate::time::{Span, Timestamp};
use crate::words::words;
use loop_backoff::LoopBackoff;
use options::{
    BY_STEPS, CANCELLED, FINAL, FIRST_IS_SURE, GRID, GRID_SKIPPING, IMMEDIATE, LAST_AT_DEADLINE, NO_WAIT,
    PeriodicOptions, SLIDING,
};

words! {
    /// The result of a run.
    pub enum Answer: u8 {
        /// Run again.
        Again = 1 "again" "not done: run again";
        /// The run found what it waited for.
        Done = 2 "done" "done";
        /// It cannot come any more. A run that finds both is this.
        Failed = 3 "failed" "it cannot be done";
    }
}

words! {
    /// How a periodic ended.
    pub enum Ended: u8 {
        /// The caller cancelled.
        Cancelled = 1 "cancelled" "the caller cancelled";
        /// A run found what was waited for.
        Done = 2 "done" "a run was done";
        /// A run found that it cannot come any more.
        Failed = 3 "failed" "a run failed";
        /// Its time was up.
        Deadline = 4 "deadline" "the time was up";
        /// The steps of its backoff are used up.
        Steps = 5 "steps" "the steps were used up";
    }
}

/// The next thing that the host of a periodic does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeriodicStep {
    /// Run it, then tell what it found with [`Periodic::finish`]. Said once for each run.
    Run {
        /// The number of the run, from 1; goes back with the answer.
        run: u64,
    },
    /// Nothing runs: wait until then, perhaps not at all, then tick.
    Sleep {
        /// When to tick.
        until: Timestamp,
    },
    /// A run is in flight: there is nothing to do before it ends.
    Wait,
    /// It is over. Said again to whatever comes later.
    Stop(Ended),
}

/// Something that runs again and again: 136 bytes, `Copy`, its own configuration.
///
/// # Contract
/// [`Periodic::new`] makes one; the first [`Periodic::tick`] begins it. The inputs are `tick` when a sleep is over,
/// [`Periodic::finish`] with the number of the run that ended, and [`Periodic::cancel`] at any moment. Each answers with
/// the step that holds now:
///
/// - each run is said exactly once, and asked again while it is in flight the answer is `Wait`; there are never two;
/// - a cancellation does not take back a run in flight: it ends the loop when the run does, unless that found its own end;
/// - an input that is out of order, too early, after the end, or with the number of another run changes nothing, and is
///   answered with the step that still holds;
/// - `Stop` is final.
///
/// Time is not clamped (spec 17.4): a clock that runs backwards makes a sleep longer and a quiet time none. Every bit
/// pattern of the state is valid (zeroes read as a cancelled periodic), and no input panics.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Periodic {
    loop_backoff: LoopBackoff,
    /// The seed of the draws to come.
    seed: u64,
    /// When the next run is due: of a grid, its next tick.
    next: u64,
    deadline: u64,
    runs: u64,
    intervals: u64,
    /// The last interval that was asked for; of a grid, its mesh.
    interval: u64,
    timer: u8,
    flags: u8,
    phase: u8,
    ended: u8,
    /// No padding: the state is its bytes.
    unused: [u8; 4],
}

const NEW: u8 = 1;
const RUNNING: u8 = 2;
const SLEEPING: u8 = 3;

impl PeriodicStep {
    /// The number of [`PeriodicStep::Run`] in other languages.
    pub const RUN: u8 = 1;
    /// The number of [`PeriodicStep::Sleep`].
    pub const SLEEP: u8 = 2;
    /// The number of [`PeriodicStep::Wait`].
    pub const WAIT: u8 = 3;
    /// The number of [`PeriodicStep::Stop`].
    pub const STOP: u8 = 4;
}

impl Periodic {
    /// Something to run at the intervals of `loop_backoff`, made at `now`, from which a deadline counts. The seed
    /// matters only for a loop backoff with jitter; for a good one see [`crate::Retry::new`].
    pub fn new(loop_backoff: LoopBackoff, options: PeriodicOptions, seed: u64, now: Timestamp) -> Self {
        let now = now.as_now();
        let deadline = options.deadline.map_or(u64::MAX, |span| now.as_nanos().saturating_add(span.as_nanos()));
        Self {
            loop_backoff,
            seed,
            next: now.as_nanos(),
            deadline,
            runs: 0,
            intervals: 0,
            interval: 0,
            timer: options.timer.code(),
            flags: options.flags(),
            phase: NEW,
            ended: 0,
            unused: [0; 4],
        }
    }

    /// Nothing but time has passed: begins it, or starts the next run if it is due at `now`.
    pub fn tick(&mut self, now: Timestamp) -> PeriodicStep {
        self.tick_with(now, None)
    }

    /// [`Periodic::tick`] with the uniform from [0, 1) for the interval, should it ask for one; `None` for the seed's.
    pub fn tick_with(&mut self, now: Timestamp, u: Option<f64>) -> PeriodicStep {
        match self.phase {
            NEW => self.begin(now.as_now(), u),
            SLEEPING => self.wake(now.as_now(), u),
            _ => self.current_step(),
        }
    }

    /// The run with this number ended at `now`.
    pub fn finish(&mut self, run: u64, now: Timestamp, answer: Answer) -> PeriodicStep {
        self.finish_with(run, now, answer, None)
    }

    /// [`Periodic::finish`] with the uniform from [0, 1) for the interval, should it ask for one; `None` for the seed's.
    pub fn finish_with(&mut self, run: u64, now: Timestamp, answer: Answer, u: Option<f64>) -> PeriodicStep {
        let now = now.as_now();
        if self.phase != RUNNING || run != self.runs {
            return self.current_step();
        }
        match answer {
            Answer::Done => return self.stop(Ended::Done),
            Answer::Failed => return self.stop(Ended::Failed),
            Answer::Again => {}
        }
        if self.is(FINAL) {
            return self.stop(Ended::Deadline);
        }
        // Sliding, a run costs its step only now, and the last one is not slept after.
        let spent = if self.is(SLIDING) { 1 } else { 0 };
        if self.is(BY_STEPS) && self.loop_backoff.backoff().steps() <= spent {
            return self.stop(Ended::Steps);
        }
        if self.is(SLIDING) {
            self.ask(now, u);
        }
        if self.timer == GRID_SKIPPING && self.next <= now.as_nanos() {
            self.pass(now);
        }
        self.sleep(now)
    }
    /// The caller wants no more of it. Asleep it is over; a run in flight is the last one; before the beginning, the first
    /// tick says whether there is a run all the same.
    pub const fn cancel(&mut self) -> PeriodicStep {
        self.flags |= CANCELLED;
        if self.phase == SLEEPING { self.stop(Ended::Cancelled) } else { self.current_step() }
    }

    /// The number of the run in flight or else the last one; 0 before the first.
    pub const fn runs(&self) -> u64 {
        self.runs
    }

    /// How many intervals its loop backoff was asked for, whether or not they were slept.
    pub const fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The last of them.
    pub const fn interval(&self) -> Span {
        Span::from_nanos(self.interval)
    }

    /// The time at which the loop ends; [`Timestamp::NEVER`] without a limit. A run may use it to end itself.
    pub const fn deadline(&self) -> Timestamp {
        Timestamp::from_nanos(self.deadline)
    }

    /// The loop backoff as it stands.
    pub const fn loop_backoff(&self) -> &LoopBackoff {
        &self.loop_backoff
    }

    fn begin(&mut self, now: Timestamp, u: Option<f64>) -> PeriodicStep {
        if self.steps_are_used() {
            return self.stop(Ended::Steps);
        }
        let over = self.is(CANCELLED) || self.is_late(now);
        if self.is(IMMEDIATE) {
            if over && !self.is(FIRST_IS_SURE) {
                return self.stop(if self.is(CANCELLED) { Ended::Cancelled } else { Ended::Deadline });
            }
            if !self.is(SLIDING) {
                self.ask(now, u);
            }
            return self.run(now);
        }
        self.ask(now, u);
        self.sleep(now)
    }

    fn wake(&mut self, now: Timestamp, u: Option<f64>) -> PeriodicStep {
        let due = Timestamp::from_nanos(self.next);
        if self.is_late(now) && self.deadline <= self.next {
            return self.late(now);
        }
        if now < due {
            return self.current_step();
        }
        if self.steps_are_used() {
            return self.stop(Ended::Steps);
        }
        if self.is_late(now) {
            return self.late(now);
        }
        if !self.is(SLIDING) {
            self.ask(now, u);
        }
        self.run(now)
    }

    /// Asks the loop backoff for the interval that begins at `now`. A grid asks once, waiting for nothing never.
    fn ask(&mut self, now: Timestamp, u: Option<f64>) {
        if self.timer == NO_WAIT {
            self.next = now.as_nanos();
            return;
        }
        if self.is_grid() && self.intervals > 0 {
            return;
        }
        let uniform = match u {
            None if self.loop_backoff.draws() => {
                let mut rng = Rng::new(self.seed);
                let uniform = rng.uniform();
                self.seed = rng.state();
                uniform
            }
            _ => u.unwrap_or_default(),
        };
        let interval = self.loop_backoff.next(now, uniform);
        self.interval = interval.as_nanos();
        self.intervals = self.intervals.saturating_add(1);
        self.next = now.after(interval).as_nanos();
    }

    const fn run(&mut self, now: Timestamp) -> PeriodicStep {
        if self.is_grid() && self.intervals > 0 && self.next <= now.as_nanos() {
            self.pass(now);
        }
        self.phase = RUNNING;
        self.runs = self.runs.saturating_add(1);
        PeriodicStep::Run { run: self.runs }
    }

    /// Moves a grid to its first tick after `now`.
    const fn pass(&mut self, now: Timestamp) {
        let behind = now.as_nanos().saturating_sub(self.next);
        self.next = match behind.checked_div(self.interval) {
            Some(whole) => {
                let on = whole.saturating_add(1).saturating_mul(self.interval);
                Timestamp::from_nanos(self.next.saturating_add(on)).as_now().as_nanos()
            }
            None => now.as_nanos(),
        };
    }

    const fn late(&mut self, now: Timestamp) -> PeriodicStep {
        if self.is(LAST_AT_DEADLINE) {
            self.flags |= FINAL;
            return self.run(now);
        }
        self.stop(Ended::Deadline)
    }

    const fn sleep(&mut self, now: Timestamp) -> PeriodicStep {
        if self.is(CANCELLED) {
            return self.stop(Ended::Cancelled);
        }
        if self.is_late(now) && !self.is(LAST_AT_DEADLINE) {
            return self.stop(Ended::Deadline);
        }
        self.phase = SLEEPING;
        self.current_step()
    }

    const fn stop(&mut self, ended: Ended) -> PeriodicStep {
        self.phase = 0;
        self.ended = ended.code();
        PeriodicStep::Stop(ended)
    }

    const fn current_step(&self) -> PeriodicStep {
        match self.phase {
            RUNNING => PeriodicStep::Wait,
            NEW => PeriodicStep::Sleep { until: Timestamp::from_nanos(self.next) },
            SLEEPING => PeriodicStep::Sleep {
                until: Timestamp::from_nanos(self.next).min(Timestamp::from_nanos(self.deadline)).as_now(),
            },
            _ => PeriodicStep::Stop(Ended::read(self.ended)),
        }
    }

    const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    const fn is_grid(&self) -> bool {
        matches!(self.timer, GRID | GRID_SKIPPING)
    }

    const fn is_late(&self, now: Timestamp) -> bool {
        now.as_nanos() >= self.deadline
    }

    const fn steps_are_used(&self) -> bool {
        self.is(BY_STEPS) && self.loop_backoff.backoff().steps() == 0
    }
}
