//! Periodic loops, and the backoffs and loop backoffs that they run by.
#![allow(unsafe_code)]

use super::{Memory, with};
use holdoff_core::{
    Answer, LoopBackoff, Periodic, PeriodicOptions, PeriodicStep, Reset, Timer, Timestamp, WaitBackoff,
};

/// `wait_backoff` := slots 0 to 4: duration, factor, jitter, cap, steps. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn wait_backoff() -> u32 {
    with(|memory| {
        let made = WaitBackoff::new(memory.span(0), memory.real(1), memory.real(2), memory.span(3), memory.arg(4));
        memory.made(made, |memory, wait_backoff| memory.wait_backoff = wait_backoff)
    })
}

/// The same from a Kubernetes `wait.Backoff`, whose cap and steps are signed.
#[unsafe(no_mangle)]
extern "C" fn wait_backoff_kubernetes() -> u32 {
    with(|memory| {
        let (cap, steps) = (memory.arg(3).cast_signed(), memory.arg(4).cast_signed());
        let made = WaitBackoff::kubernetes(memory.span(0), memory.real(1), memory.real(2), steps, cap);
        memory.made(made, |memory, wait_backoff| memory.wait_backoff = wait_backoff)
    })
}

/// The same from the arguments of Kubernetes' `wait.Jitter`, in slots 0 and 1.
#[unsafe(no_mangle)]
extern "C" fn wait_backoff_jitter() -> u32 {
    with(|memory| {
        let made = WaitBackoff::kubernetes_jitter(memory.span(0), memory.real(1));
        memory.made(made, |memory, wait_backoff| memory.wait_backoff = wait_backoff)
    })
}

/// The next delay of `wait_backoff` for the draw in slot 0, into slot 0.
#[unsafe(no_mangle)]
extern "C" fn wait_backoff_step() {
    with(|memory| {
        let u = memory.real(0);
        let delay = memory.wait_backoff.step(u);
        memory.leave([delay.as_nanos()]);
    });
}

/// The duration and steps of `wait_backoff` into slots 0 and 1; whether it draws.
#[unsafe(no_mangle)]
extern "C" fn wait_backoff_look() -> u32 {
    with(|memory| look(memory, memory.wait_backoff))
}

fn look(memory: &mut Memory, wait_backoff: WaitBackoff) -> u32 {
    memory.leave([wait_backoff.duration().as_nanos(), wait_backoff.steps(), wait_backoff.cap().as_nanos()]);
    wait_backoff.draws().into()
}

/// `loop_backoff` := `wait_backoff`, beginning again by the rule: 0 never, 1 after the span in slot 0 of quiet, 2 every
/// such span, 3 as Kubernetes' `DelayWithReset`; made at the time in slot 1.
#[unsafe(no_mangle)]
extern "C" fn loop_backoff(rule: u32) {
    with(|memory| {
        let (span, now) = (memory.span(0), memory.time(1));
        memory.loop_backoff = match rule {
            1 => LoopBackoff::new(memory.wait_backoff, Reset::AfterQuiet(span), now),
            2 => LoopBackoff::new(memory.wait_backoff, Reset::Every(span), now),
            3 => LoopBackoff::with_reset(memory.wait_backoff, span, now),
            _ => LoopBackoff::new(memory.wait_backoff, Reset::Never, now),
        };
    });
}

/// `loop_backoff` := slots 0 to 5: initial, max, reset, factor, jitter, now of Kubernetes'
/// `NewExponentialBackoffManager`. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn loop_backoff_exponential() -> u32 {
    with(|memory| {
        let (initial, max, reset) = (memory.span(0), memory.span(1), memory.span(2));
        let made = LoopBackoff::exponential(initial, max, reset, memory.real(3), memory.real(4), memory.time(5));
        memory.made(made, |memory, loop_backoff| memory.loop_backoff = loop_backoff)
    })
}

/// `loop_backoff` := the period in slot 0 and its jitter in slot 1, as Kubernetes' `NewJitteredBackoffManager`. 0, or
/// the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn loop_backoff_jittered() -> u32 {
    with(|memory| {
        let made = LoopBackoff::jittered(memory.span(0), memory.real(1));
        memory.made(made, |memory, loop_backoff| memory.loop_backoff = loop_backoff)
    })
}

/// The next delay of `loop_backoff` at the time in slot 0 for the draw in slot 1, into slot 0.
#[unsafe(no_mangle)]
extern "C" fn loop_backoff_next() {
    with(|memory| {
        let (now, u) = (memory.time(0), memory.real(1));
        let delay = memory.loop_backoff.next(now, u);
        memory.leave([delay.as_nanos()]);
    });
}

/// As [`wait_backoff_look`], for the backoff of `loop_backoff`.
#[unsafe(no_mangle)]
extern "C" fn loop_backoff_look() -> u32 {
    with(|memory| look(memory, *memory.loop_backoff.backoff()))
}

const SLIDING: u32 = 1;
const IMMEDIATE: u32 = 2;
const FIRST_IS_SURE: u32 = 4;
const BY_STEPS: u32 = 8;
const LAST_AT_DEADLINE: u32 = 16;

/// `periodic` := `loop_backoff` with the seed in slot 0, made at the time in slot 1, for the span in slot 2 or, if that is
/// 2^64-1, for ever. The timer is 0 variable, 1 a grid, 2 a grid that skips, 3 none, 4 what Kubernetes' `Timer` takes.
#[unsafe(no_mangle)]
extern "C" fn periodic(timer: u32, flags: u32) {
    with(|memory| {
        let is = |flag: u32| flags & flag != 0;
        let options = PeriodicOptions {
            timer: match Timer::from_code(timer) {
                Some(timer) => timer,
                None => PeriodicOptions::poll(memory.loop_backoff.backoff(), false, false).timer,
            },
            sliding: is(SLIDING),
            immediate: is(IMMEDIATE),
            first_is_sure: is(FIRST_IS_SURE),
            by_steps: is(BY_STEPS),
            last_at_deadline: is(LAST_AT_DEADLINE),
            deadline: memory.limit(2),
        };
        memory.periodic = Periodic::new(memory.loop_backoff, options, memory.arg(0), memory.time(1));
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
