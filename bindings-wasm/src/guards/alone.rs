//! The guards one by one. The time is in place 0 wherever one is needed.

use super::{ADAPTIVE, BREAKER, BUDGET, Desk, HEDGE, LIMITER, STRETCH, kind_of, times, with};
use holdoff_core::{
    Adaptive, AdaptiveStart, Breaker, Budget, BulkheadConfig, Entry, Held, Latency, Limiter, Permit, QueuePlace,
    SaveError, Span, Stretch, Timestamp, Verdict,
};

/// What [`budget_withdraw`] and [`bulkhead_enter`] answer where there is none.
const NONE: u32 = u32::MAX;

fn held(raw: u32) -> Option<Held> {
    (raw != NONE).then(|| Held::from_raw(raw))
}

/// Begins a call.
#[unsafe(no_mangle)]
extern "C" fn budget_begin() {
    with(|desk| desk.budget.begin(&desk.budget_config, Timestamp::from_nanos(desk.args[0])));
}

/// Whether an attempt may start.
#[unsafe(no_mangle)]
extern "C" fn budget_admit() -> u32 {
    with(|desk| desk.budget.admit(&desk.budget_config, Timestamp::from_nanos(desk.args[0])).into())
}

/// An attempt failed.
#[unsafe(no_mangle)]
extern "C" fn budget_fail(kind: u32) {
    with(|desk| desk.budget.fail(&desk.budget_config, Timestamp::from_nanos(desk.args[0]), kind_of(kind)));
}

/// What a retry has paid, 2^32-1 when there may be none.
#[unsafe(no_mangle)]
extern "C" fn budget_withdraw(kind: u32) -> u32 {
    with(|desk| {
        let now = desk.time(0);
        desk.budget.withdraw(&desk.budget_config, now, kind_of(kind)).map_or(NONE, Held::as_raw)
    })
}

/// A retry has run.
#[unsafe(no_mangle)]
extern "C" fn budget_retried() {
    with(|desk| desk.budget.retried(&desk.budget_config));
}

/// A retry never ran.
#[unsafe(no_mangle)]
extern "C" fn budget_refund(paid: u32) {
    with(|desk| desk.budget.refund(&desk.budget_config, Timestamp::from_nanos(desk.args[0]), Held::from_raw(paid)));
}

/// A call succeeded whose latest retry has paid that, 2^32-1 for none.
#[unsafe(no_mangle)]
extern "C" fn budget_succeed(paid: u32) {
    with(|desk| desk.budget.succeed(&desk.budget_config, Timestamp::from_nanos(desk.args[0]), held(paid)));
}

/// A call is over.
#[unsafe(no_mangle)]
extern "C" fn budget_end(paid: u32) {
    with(|desk| desk.budget.end(&desk.budget_config, held(paid)));
}

/// What there is.
#[unsafe(no_mangle)]
extern "C" fn budget_balance() -> f64 {
    with(|desk| desk.budget.balance(&desk.budget_config, desk.time(0)))
}

/// The probability that an attempt is refused.
#[unsafe(no_mangle)]
extern "C" fn budget_rejection() -> f64 {
    with(|desk| desk.budget.rejection(&desk.budget_config, desk.time(0)))
}

/// A permit, -1 for none; then place 1 says when to ask again.
#[unsafe(no_mangle)]
extern "C" fn breaker_acquire() -> f64 {
    with(|desk| {
        let now = desk.time(0);
        match desk.breaker.acquire(&desk.breaker_config, now) {
            Ok(permit) => f64::from(permit.as_raw()),
            Err(retry_at) => {
                desk.leave(1, retry_at.as_nanos());
                -1.0
            }
        }
    })
}

/// A call with that permit ended after the time in place 1.
#[unsafe(no_mangle)]
extern "C" fn breaker_record(permit: u32, failed: u32) {
    with(|desk| {
        let (now, took) = (desk.time(0), desk.span(1));
        let verdict = if failed == 0 { Verdict::Success } else { Verdict::Failure };
        desk.breaker.record(&desk.breaker_config, Permit::from_raw(permit), now, verdict, took);
    });
}

/// Nothing will be known of a call with that permit.
#[unsafe(no_mangle)]
extern "C" fn breaker_abandon(permit: u32) {
    with(|desk| {
        let now = desk.time(0);
        desk.breaker.abandon(&desk.breaker_config, Permit::from_raw(permit), now);
    });
}

/// The server said not to come before the time in place 1 is over.
#[unsafe(no_mangle)]
extern "C" fn breaker_hint() {
    with(|desk| {
        let (now, span) = (desk.time(0), desk.span(1));
        desk.breaker.hint(&desk.breaker_config, now, span);
    });
}

/// 0 isolates it, 1 closes it, 2 resets it.
#[unsafe(no_mangle)]
extern "C" fn breaker_move(what: u32) {
    with(|desk| {
        let now = desk.time(0);
        match what {
            0 => desk.breaker.isolate(now),
            1 => desk.breaker.force_close(now),
            _ => desk.breaker.reset(now),
        }
    });
}

/// Its state by its number; when to come back into place 1, calls, failed, slow and openings into places 2 to 5.
#[unsafe(no_mangle)]
extern "C" fn breaker_look() -> u32 {
    with(|desk| {
        let now = desk.time(0);
        let (calls, failed, slow) = desk.breaker.rates(&desk.breaker_config, now);
        desk.leave(1, desk.breaker.retry_at().as_nanos());
        for (at, count) in [calls, failed, slow, desk.breaker.openings()].into_iter().enumerate() {
            desk.leave(at + 2, count.into());
        }
        desk.breaker.state(&desk.breaker_config, now) as u32
    })
}

fn left(desk: &mut Desk, taken: Result<(), Timestamp>) -> u32 {
    match taken {
        Ok(()) => 1,
        Err(retry_at) => {
            desk.leave(1, retry_at.as_nanos());
            0
        }
    }
}

/// Whether so many were taken; else when they can be into place 1.
#[unsafe(no_mangle)]
extern "C" fn limiter_take(count: u32) -> u32 {
    with(|desk| {
        let (now, room) = (desk.time(0), times(desk.room, desk.limiter_config.log_capacity()));
        let taken = desk.limiter.take(&desk.limiter_config, room, count, now);
        left(desk, taken)
    })
}

/// Whether so many could be taken; else when they can be into place 1.
#[unsafe(no_mangle)]
extern "C" fn limiter_look(count: u32) -> u32 {
    with(|desk| {
        let (now, room) = (desk.time(0), times(desk.room, desk.limiter_config.log_capacity()));
        let refused = desk.limiter.refuses(&desk.limiter_config, room, count, now);
        left(desk, refused.map_or(Ok(()), Err))
    })
}

/// So many that were taken were not used.
#[unsafe(no_mangle)]
extern "C" fn limiter_give_back(count: u32) {
    with(|desk| {
        let (now, room) = (desk.time(0), times(desk.room, desk.limiter_config.log_capacity()));
        desk.limiter.give_back(&desk.limiter_config, room, count, now);
    });
}

/// Whether it was entered, 0, or not, 1, or queued, 2, at the place in place 1. `place` is the one held, 2^32-1 for none.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_enter(place: u32) -> u32 {
    with(|desk| {
        let config: &BulkheadConfig = &desk.bulkhead_config;
        let entry = match place {
            NONE => desk.bulkhead.enter(config),
            _ => desk.bulkhead.enter_from(config, QueuePlace::from_raw(place)),
        };
        match entry {
            Entry::Entered => 0,
            Entry::Refused => 1,
            Entry::Queued(place) => {
                desk.leave(1, place.as_raw().into());
                2
            }
        }
    })
}

/// A call has left, or the queue at that place.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_leave(place: u32) {
    with(|desk| match place {
        NONE => desk.bulkhead.leave(),
        _ => desk.bulkhead.leave_queue(QueuePlace::from_raw(place)),
    });
}

/// How many run; how many wait into place 1.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_look() -> u32 {
    with(|desk| {
        desk.leave(1, desk.bulkhead.waiting().into());
        desk.bulkhead.running()
    })
}

/// `adaptive` := one that has been at work: rate, tokens, measured rate and the rate before it was throttled last in places 1
/// to 4, when that was in place 5, and whether it limits.
#[unsafe(no_mangle)]
extern "C" fn adaptive_start(limits: u32) {
    with(|desk| {
        let start = AdaptiveStart {
            rate: desk.real(1),
            tokens: desk.real(2),
            measured: desk.real(3),
            last_max_rate: desk.real(4),
            throttled_at: desk.time(5),
            limits: limits != 0,
        };
        desk.adaptive = Adaptive::started(&desk.adaptive_config, start, desk.time(0));
    });
}

/// Whether as many were taken as place 2 says; else when they can be into place 1.
#[unsafe(no_mangle)]
extern "C" fn adaptive_take() -> u32 {
    with(|desk| {
        let (now, cost) = (desk.time(0), desk.real(2));
        let taken = desk.adaptive.take(&desk.adaptive_config, cost, now);
        left(desk, taken)
    })
}

/// As many as place 2 says were not used.
#[unsafe(no_mangle)]
extern "C" fn adaptive_give_back() {
    with(|desk| {
        let (now, cost) = (desk.time(0), desk.real(2));
        desk.adaptive.give_back(&desk.adaptive_config, cost, now);
    });
}

/// An answer came.
#[unsafe(no_mangle)]
extern "C" fn adaptive_update(throttled: u32) {
    with(|desk| {
        let now = desk.time(0);
        desk.adaptive.update(&desk.adaptive_config, now, throttled != 0);
    });
}

/// The rate, or the one that was measured.
#[unsafe(no_mangle)]
extern "C" fn adaptive_look(what: u32) -> f64 {
    with(|desk| match what {
        0 => desk.adaptive.rate(),
        1 => desk.adaptive.measured(),
        2 => f64::from(u8::from(desk.adaptive.limits())),
        _ => desk.adaptive.tokens(desk.time(0)),
    })
}

/// An attempt ended.
#[unsafe(no_mangle)]
extern "C" fn stretch_record(failed: u32) {
    with(|desk| {
        let now = desk.time(0);
        desk.stretch.record(&desk.stretch_config, now, failed != 0);
    });
}

/// The delay in place 1 becomes what it is.
#[unsafe(no_mangle)]
extern "C" fn stretch_delay() {
    with(|desk| {
        let delay: Span = desk.stretch.stretch(&desk.stretch_config, desk.time(0), desk.span(1));
        desk.leave(1, delay.as_nanos());
    });
}

/// How many attempts count; how many of them failed into place 1.
#[unsafe(no_mangle)]
extern "C" fn stretch_look() -> u32 {
    with(|desk| {
        let (calls, failed) = desk.stretch.counts(&desk.stretch_config, desk.time(0));
        desk.leave(1, failed.into());
        calls
    })
}

/// An attempt took as long as place 1 says.
#[unsafe(no_mangle)]
extern "C" fn hedge_record() {
    with(|desk| {
        let percentile = desk.hedge_config.percentile().unwrap_or_default();
        desk.hedge.record(desk.span(1), percentile);
    });
}

/// How many records there were; the estimate into place 1, 2^64-1 for none, and the delay into place 2.
#[unsafe(no_mangle)]
extern "C" fn hedge_look() -> u32 {
    with(|desk| {
        desk.leave(1, desk.hedge.quantile().map_or(u64::MAX, Span::as_nanos));
        desk.leave(2, desk.hedge_config.delay(&desk.hedge).as_nanos());
        desk.hedge.records()
    })
}

/// The longest state but a limiter's that keeps a log.
const SAVED: usize = 512;

/// The state of that guard as bytes in the text, or behind the times of the room where it needs room; their number.
#[unsafe(no_mangle)]
extern "C" fn guard_save(guard: u32) -> u32 {
    with(|desk| {
        let now = desk.time(0);
        match guard {
            BUDGET => desk.text.put(&desk.budget.save(&desk.budget_config, now)),
            BREAKER => desk.text.put(&desk.breaker.save(&desk.breaker_config, now)),
            LIMITER => {
                let room = times(desk.room, desk.limiter_config.log_capacity());
                let length = Limiter::saved(&desk.limiter_config);
                match out(desk.room, room.len(), length) {
                    Some(bytes) => {
                        desk.limiter.save(&desk.limiter_config, room, now, bytes).map_or(0, |_| length as u32)
                    }
                    None => {
                        let mut bytes = [0; SAVED];
                        let Some(bytes) = bytes.get_mut(..length) else { return 0 };
                        match desk.limiter.save(&desk.limiter_config, room, now, bytes) {
                            Some(_) => desk.text.put(bytes),
                            None => 0,
                        }
                    }
                }
            }
            ADAPTIVE => desk.text.put(&desk.adaptive.save(&desk.adaptive_config, now)),
            STRETCH => desk.text.put(&desk.stretch.save(&desk.stretch_config, now)),
            HEDGE => desk.text.put(&desk.hedge.save()),
            _ => 0,
        }
    })
}

/// How many bytes the state of `limiter` is long, saved.
#[unsafe(no_mangle)]
extern "C" fn limiter_saved() -> u32 {
    with(|desk| Limiter::saved(&desk.limiter_config) as u32)
}

/// Where the bytes of a long state lie: behind the times of a log, when there is such a log and room for both.
fn out([at, holds]: [u32; 2], log: usize, length: usize) -> Option<&'static mut [u8]> {
    if log == 0 || (holds as usize) < log + length.div_ceil(8) {
        return None;
    }
    // SAFETY: as for `times`, which has the part before it.
    Some(unsafe { core::slice::from_raw_parts_mut((at as usize + log * 8) as *mut u8, length) })
}

/// The state of that guard := what so many bytes hold that lie where [`guard_save`] leaves them. 0, or the length of what is
/// wrong.
#[unsafe(no_mangle)]
extern "C" fn guard_restore(guard: u32, length: u32) -> u32 {
    with(|desk| match restore(desk, guard, length) {
        Ok(()) => 0,
        Err(error) => desk.explain_saved(&error),
    })
}

fn restore(desk: &mut Desk, guard: u32, length: u32) -> Result<(), SaveError> {
    let now = desk.time(0);
    let bytes = desk.text.bytes(length);
    match guard {
        BUDGET => desk.budget = Budget::restore(bytes, &desk.budget_config, now)?,
        BREAKER => desk.breaker = Breaker::restore(bytes, &desk.breaker_config, now)?,
        LIMITER => {
            let room = times(desk.room, desk.limiter_config.log_capacity());
            let long = out(desk.room, room.len(), length as usize);
            let bytes = long.map_or(bytes, |long| &*long);
            desk.limiter = Limiter::restore(bytes, &desk.limiter_config, room, now)?;
        }
        ADAPTIVE => desk.adaptive = Adaptive::restore(bytes, &desk.adaptive_config, now)?,
        STRETCH => desk.stretch = Stretch::restore(bytes, &desk.stretch_config, now)?,
        HEDGE => desk.hedge = Latency::restore(bytes)?,
        _ => {}
    }
    Ok(())
}
