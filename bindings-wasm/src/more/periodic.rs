//! Periodic loops, and the backoffs and paces that they run by.
#![allow(unsafe_code)]

use super::{Memory, with};
use holdoff_core::{Answer, Pace, Periodic, PeriodicOptions, PeriodicStep, Reset, Stepped, Timer, Timestamp};

/// `stepped` := slots 0 to 4: duration, factor, jitter, cap, steps. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn stepped() -> u32 {
    with(|memory| {
        let made = Stepped::new(memory.span(0), memory.real(1), memory.real(2), memory.span(3), memory.arg(4));
        memory.made(made, |memory, stepped| memory.stepped = stepped)
    })
}

/// The same from a Kubernetes `wait.Backoff`, whose cap and steps are signed.
#[unsafe(no_mangle)]
extern "C" fn stepped_kubernetes() -> u32 {
    with(|memory| {
        let (cap, steps) = (memory.arg(3).cast_signed(), memory.arg(4).cast_signed());
        let made = Stepped::kubernetes(memory.span(0), memory.real(1), memory.real(2), steps, cap);
        memory.made(made, |memory, stepped| memory.stepped = stepped)
    })
}

/// The same from the arguments of Kubernetes' `wait.Jitter`, in slots 0 and 1.
#[unsafe(no_mangle)]
extern "C" fn stepped_jitter() -> u32 {
    with(|memory| {
        let made = Stepped::kubernetes_jitter(memory.span(0), memory.real(1));
        memory.made(made, |memory, stepped| memory.stepped = stepped)
    })
}

/// The next delay of `stepped` for the draw in slot 0, into slot 0.
#[unsafe(no_mangle)]
extern "C" fn stepped_step() {
    with(|memory| {
        let u = memory.real(0);
        let delay = memory.stepped.step(u);
        memory.leave([delay.as_nanos()]);
    });
}

/// The duration and steps of `stepped` into slots 0 and 1; whether it draws.
#[unsafe(no_mangle)]
extern "C" fn stepped_look() -> u32 {
    with(|memory| look(memory, memory.stepped))
}

fn look(memory: &mut Memory, stepped: Stepped) -> u32 {
    memory.leave([stepped.duration().as_nanos(), stepped.steps(), stepped.cap().as_nanos()]);
    stepped.draws().into()
}

/// `pace` := `stepped`, beginning again by the rule: 0 never, 1 after the span in slot 0 of quiet, 2 every such span, 3 as
/// Kubernetes' `DelayWithReset`; made at the time in slot 1.
#[unsafe(no_mangle)]
extern "C" fn pace(rule: u32) {
    with(|memory| {
        let (span, now) = (memory.span(0), memory.time(1));
        memory.pace = match rule {
            1 => Pace::new(memory.stepped, Reset::AfterQuiet(span), now),
            2 => Pace::new(memory.stepped, Reset::Every(span), now),
            3 => Pace::with_reset(memory.stepped, span, now),
            _ => Pace::new(memory.stepped, Reset::Never, now),
        };
    });
}

/// `pace` := slots 0 to 5: initial, max, reset, factor, jitter, now of Kubernetes' `NewExponentialBackoffManager`. 0, or the
/// length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn pace_exponential() -> u32 {
    with(|memory| {
        let (initial, max, reset) = (memory.span(0), memory.span(1), memory.span(2));
        let made = Pace::exponential(initial, max, reset, memory.real(3), memory.real(4), memory.time(5));
        memory.made(made, |memory, pace| memory.pace = pace)
    })
}

/// `pace` := the period in slot 0 and its jitter in slot 1, as Kubernetes' `NewJitteredBackoffManager`. 0, or the length of
/// what is wrong.
#[unsafe(no_mangle)]
extern "C" fn pace_jittered() -> u32 {
    with(|memory| {
        let made = Pace::jittered(memory.span(0), memory.real(1));
        memory.made(made, |memory, pace| memory.pace = pace)
    })
}

/// The next delay of `pace` at the time in slot 0 for the draw in slot 1, into slot 0.
#[unsafe(no_mangle)]
extern "C" fn pace_next() {
    with(|memory| {
        let (now, u) = (memory.time(0), memory.real(1));
        let delay = memory.pace.next(now, u);
        memory.leave([delay.as_nanos()]);
    });
}

/// As [`stepped_look`], for the backoff of `pace`.
#[unsafe(no_mangle)]
extern "C" fn pace_look() -> u32 {
    with(|memory| look(memory, *memory.pace.backoff()))
}

const SLIDING: u32 = 1;
const IMMEDIATE: u32 = 2;
const FIRST_IS_SURE: u32 = 4;
const BY_STEPS: u32 = 8;
const LAST_AT_DEADLINE: u32 = 16;

/// `periodic` := `pace` with the seed in slot 0, made at the time in slot 1, for the span in slot 2 or, if that is
/// 2^64-1, for ever. The timer is 0 variable, 1 a grid, 2 a grid that skips, 3 none, 4 what Kubernetes' `Timer` takes.
#[unsafe(no_mangle)]
extern "C" fn periodic(timer: u32, flags: u32) {
    with(|memory| {
        let is = |flag: u32| flags & flag != 0;
        let options = PeriodicOptions {
            timer: match Timer::from_code(timer) {
                Some(timer) => timer,
                None => PeriodicOptions::poll(memory.pace.backoff(), false, false).timer,
            },
            sliding: is(SLIDING),
            immediate: is(IMMEDIATE),
            first_is_sure: is(FIRST_IS_SURE),
            by_steps: is(BY_STEPS),
            last_at_deadline: is(LAST_AT_DEADLINE),
            deadline: memory.limit(2),
        };
        memory.periodic = Periodic::new(memory.pace, options, memory.arg(0), memory.time(1));
    });
}

/// Time has passed for `periodic` until the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn periodic_tick() -> u32 {
    with(|memory| {
        let now = memory.time(0);
        let step = memory.periodic.tick(now);
        write_step(memory, step)
    })
}

/// The run in slot 1 ended at the time in slot 0: 2 done, 3 failed, else again.
#[unsafe(no_mangle)]
extern "C" fn periodic_finish(answer: u32) -> u32 {
    with(|memory| {
        let (now, run) = (memory.time(0), memory.arg(1));
        let answer = match answer {
            2 => Answer::Done,
            3 => Answer::Failed,
            _ => Answer::Again,
        };
        let step = memory.periodic.finish(run, now, answer);
        write_step(memory, step)
    })
}

/// The caller wants no more of it.
#[unsafe(no_mangle)]
extern "C" fn periodic_cancel() -> u32 {
    with(|memory| {
        let step = memory.periodic.cancel();
        write_step(memory, step)
    })
}

/// 1 run, 2 sleep, 3 wait, 4 stop; slot 0 has the run, the time, or the number of the end.
fn write_step(memory: &mut Memory, step: PeriodicStep) -> u32 {
    let (kind, number) = match step {
        PeriodicStep::Run { run } => (1, run),
        PeriodicStep::Sleep { until } => (2, until.as_nanos()),
        PeriodicStep::Wait => (3, Timestamp::NEVER.as_nanos()),
        PeriodicStep::Stop(ended) => (4, ended.code().into()),
    };
    memory.leave([number]);
    kind
}

/// Runs, intervals, the last interval and the deadline of `periodic` into slots 0 to 3.
#[unsafe(no_mangle)]
extern "C" fn periodic_look() {
    with(|memory| {
        let periodic = memory.periodic;
        let (interval, deadline) = (periodic.interval().as_nanos(), periodic.deadline().as_nanos());
        memory.leave([periodic.runs(), periodic.intervals(), interval, deadline]);
    });
}

/// The jitter of `policy` applied to the delay in slot 0, at most slot 1, for the draw in slot 2; into slot 0.
#[unsafe(no_mangle)]
extern "C" fn jitter() {
    with(|memory| {
        let (jitter, cap) = (memory.policy.jitter(), memory.policy.cap());
        let delay = jitter.apply_capped(memory.span(0), memory.span(1), cap, memory.real(2));
        memory.leave([delay.as_nanos()]);
    });
}

/// Bounded jitter of `policy` applied to the delay in slot 0 for the drawn whole number in slot 1, which has a sign; into
/// slot 0.
#[unsafe(no_mangle)]
extern "C" fn jitter_drawn() {
    with(|memory| {
        let delay = memory.policy.jitter().apply_drawn(memory.span(0), memory.arg(1).cast_signed());
        memory.leave([delay.as_nanos()]);
    });
}
