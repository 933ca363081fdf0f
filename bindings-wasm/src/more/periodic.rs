//! What runs again and again: stepped backoffs, paces, periodic loops.
#![allow(unsafe_code)]

use super::{Desk, with};
use holdoff_core::{Answer, Pace, Periodic, PeriodicOptions, PeriodicStep, Reset, Stepped, Timer, Timestamp};

/// `stepped` := places 0 to 4: duration, factor, jitter, cap, steps. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn stepped() -> u32 {
    with(|desk| {
        let made = Stepped::new(desk.span(0), desk.real(1), desk.real(2), desk.span(3), desk.arg(4));
        desk.made(made, |desk, stepped| desk.stepped = stepped)
    })
}

/// The same from a Kubernetes `wait.Backoff`, whose cap and steps are signed.
#[unsafe(no_mangle)]
extern "C" fn stepped_kubernetes() -> u32 {
    with(|desk| {
        let (cap, steps) = (desk.arg(3).cast_signed(), desk.arg(4).cast_signed());
        let made = Stepped::kubernetes(desk.span(0), desk.real(1), desk.real(2), steps, cap);
        desk.made(made, |desk, stepped| desk.stepped = stepped)
    })
}

/// The same from the arguments of Kubernetes' `wait.Jitter`, in places 0 and 1.
#[unsafe(no_mangle)]
extern "C" fn stepped_jitter() -> u32 {
    with(|desk| {
        let made = Stepped::kubernetes_jitter(desk.span(0), desk.real(1));
        desk.made(made, |desk, stepped| desk.stepped = stepped)
    })
}

/// The next delay of `stepped` for the draw in place 0, into place 0.
#[unsafe(no_mangle)]
extern "C" fn stepped_step() {
    with(|desk| {
        let u = desk.real(0);
        let delay = desk.stepped.step(u);
        desk.leave([delay.as_nanos()]);
    });
}

/// The duration and steps of `stepped` into places 0 and 1; whether it draws.
#[unsafe(no_mangle)]
extern "C" fn stepped_look() -> u32 {
    with(|desk| look(desk, desk.stepped))
}

fn look(desk: &mut Desk, stepped: Stepped) -> u32 {
    desk.leave([stepped.duration().as_nanos(), stepped.steps(), stepped.cap().as_nanos()]);
    stepped.draws().into()
}

/// `pace` := `stepped`, beginning again by the rule: 0 never, 1 after the span in place 0 of quiet, 2 every such span, 3 as
/// Kubernetes' `DelayWithReset`; made at the time in place 1.
#[unsafe(no_mangle)]
extern "C" fn pace(rule: u32) {
    with(|desk| {
        let (span, now) = (desk.span(0), desk.time(1));
        desk.pace = match rule {
            1 => Pace::new(desk.stepped, Reset::AfterQuiet(span), now),
            2 => Pace::new(desk.stepped, Reset::Every(span), now),
            3 => Pace::with_reset(desk.stepped, span, now),
            _ => Pace::new(desk.stepped, Reset::Never, now),
        };
    });
}

/// `pace` := places 0 to 5: initial, max, reset, factor, jitter, now of Kubernetes' `NewExponentialBackoffManager`. 0, or the
/// length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn pace_exponential() -> u32 {
    with(|desk| {
        let (initial, max, reset) = (desk.span(0), desk.span(1), desk.span(2));
        let made = Pace::exponential(initial, max, reset, desk.real(3), desk.real(4), desk.time(5));
        desk.made(made, |desk, pace| desk.pace = pace)
    })
}

/// `pace` := the period in place 0 and its jitter in place 1, as Kubernetes' `NewJitteredBackoffManager`. 0, or the length of
/// what is wrong.
#[unsafe(no_mangle)]
extern "C" fn pace_jittered() -> u32 {
    with(|desk| {
        let made = Pace::jittered(desk.span(0), desk.real(1));
        desk.made(made, |desk, pace| desk.pace = pace)
    })
}

/// The next delay of `pace` at the time in place 0 for the draw in place 1, into place 0.
#[unsafe(no_mangle)]
extern "C" fn pace_next() {
    with(|desk| {
        let (now, u) = (desk.time(0), desk.real(1));
        let delay = desk.pace.next(now, u);
        desk.leave([delay.as_nanos()]);
    });
}

/// As [`stepped_look`], for the backoff of `pace`.
#[unsafe(no_mangle)]
extern "C" fn pace_look() -> u32 {
    with(|desk| look(desk, *desk.pace.backoff()))
}

const SLIDING: u32 = 1;
const IMMEDIATE: u32 = 2;
const FIRST_IS_SURE: u32 = 4;
const BY_STEPS: u32 = 8;
const LAST_AT_DEADLINE: u32 = 16;

/// `periodic` := `pace` with the seed in place 0, made at the time in place 1, for the span in place 2 or, if that is
/// 2^64-1, for ever. The timer is 0 variable, 1 a grid, 2 a grid that skips, 3 none, 4 what Kubernetes' `Timer` takes.
#[unsafe(no_mangle)]
extern "C" fn periodic(timer: u32, flags: u32) {
    with(|desk| {
        let is = |flag: u32| flags & flag != 0;
        let options = PeriodicOptions {
            timer: match timer {
                1 => Timer::Grid,
                2 => Timer::GridSkipping,
                3 => Timer::NoWait,
                4 => PeriodicOptions::poll(desk.pace.backoff(), false, false).timer,
                _ => Timer::Variable,
            },
            sliding: is(SLIDING),
            immediate: is(IMMEDIATE),
            first_is_sure: is(FIRST_IS_SURE),
            by_steps: is(BY_STEPS),
            last_at_deadline: is(LAST_AT_DEADLINE),
            deadline: desk.limit(2),
        };
        desk.periodic = Periodic::new(desk.pace, options, desk.arg(0), desk.time(1));
    });
}

/// Time has passed for `periodic` until the time in place 0.
#[unsafe(no_mangle)]
extern "C" fn periodic_tick() -> u32 {
    with(|desk| {
        let now = desk.time(0);
        let step = desk.periodic.tick(now);
        told(desk, step)
    })
}

/// The run in place 1 ended at the time in place 0: 2 done, 3 failed, else again.
#[unsafe(no_mangle)]
extern "C" fn periodic_finish(answer: u32) -> u32 {
    with(|desk| {
        let (now, run) = (desk.time(0), desk.arg(1));
        let answer = match answer {
            2 => Answer::Done,
            3 => Answer::Failed,
            _ => Answer::Again,
        };
        let step = desk.periodic.finish(run, now, answer);
        told(desk, step)
    })
}

/// The caller wants no more of it.
#[unsafe(no_mangle)]
extern "C" fn periodic_cancel() -> u32 {
    with(|desk| {
        let step = desk.periodic.cancel();
        told(desk, step)
    })
}

/// 1 run, 2 sleep, 3 wait, 4 stop; place 0 has the run, the time, or the number of the end.
fn told(desk: &mut Desk, step: PeriodicStep) -> u32 {
    let (kind, number) = match step {
        PeriodicStep::Run { run } => (1, run),
        PeriodicStep::Sleep { until } => (2, until.as_nanos()),
        PeriodicStep::Wait => (3, Timestamp::NEVER.as_nanos()),
        PeriodicStep::Stop(ended) => (4, ended.code().into()),
    };
    desk.leave([number]);
    kind
}

/// Runs, intervals, the last interval and the deadline of `periodic` into places 0 to 3.
#[unsafe(no_mangle)]
extern "C" fn periodic_look() {
    with(|desk| {
        let periodic = desk.periodic;
        let (interval, deadline) = (periodic.interval().as_nanos(), periodic.deadline().as_nanos());
        desk.leave([periodic.runs(), periodic.intervals(), interval, deadline]);
    });
}

/// The jitter of `policy` applied to the delay in place 0, at most place 1, for the draw in place 2; into place 0.
#[unsafe(no_mangle)]
extern "C" fn jitter() {
    with(|desk| {
        let (jitter, cap) = (desk.policy.jitter(), desk.policy.cap());
        let delay = jitter.apply_capped(desk.span(0), desk.span(1), cap, desk.real(2));
        desk.leave([delay.as_nanos()]);
    });
}

/// Bounded jitter of `policy` applied to the delay in place 0 for the drawn whole number in place 1, which has a sign; into
/// place 0.
#[unsafe(no_mangle)]
extern "C" fn jitter_drawn() {
    with(|desk| {
        let delay = desk.policy.jitter().apply_drawn(desk.span(0), desk.arg(1).cast_signed());
        desk.leave([delay.as_nanos()]);
    });
}
