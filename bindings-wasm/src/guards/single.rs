//! Single guards. Functions that need the time read it from slot 0.

use super::{BreakerSlot, Memory, kind_of, times, with};
use holdoff_core::{
    Adaptive, AdaptiveStart, BulkheadConfig, Entry, Permit, QueuePlace, Span, Timestamp, Verdict, Withdrawal,
};

/// The answer of [`budget_withdraw`] and [`bulkhead_enter`] for no deposit and no place.
const NONE: u32 = u32::MAX;

fn deposit(raw: u32) -> Option<Withdrawal> {
    (raw != NONE).then(|| Withdrawal::from_raw(raw))
}

/// Begins a call.
#[unsafe(no_mangle)]
extern "C" fn budget_begin() {
    with(|memory| memory.budget.begin(&memory.budget_config, Timestamp::from_nanos(memory.args[0])));
}

/// Says whether an attempt may start.
#[unsafe(no_mangle)]
extern "C" fn budget_admit() -> u32 {
    with(|memory| memory.budget.admit(&memory.budget_config, Timestamp::from_nanos(memory.args[0])).into())
}

/// An attempt failed.
#[unsafe(no_mangle)]
extern "C" fn budget_fail(kind: u32) {
    with(|memory| memory.budget.fail(&memory.budget_config, Timestamp::from_nanos(memory.args[0]), kind_of(kind)));
}

/// Asks for a retry: the deposit that it pays, 2^32-1 when it is refused.
#[unsafe(no_mangle)]
extern "C" fn budget_withdraw(kind: u32) -> u32 {
    with(|memory| {
        let now = memory.time(0);
        memory.budget.withdraw(&memory.budget_config, now, kind_of(kind)).map_or(NONE, Withdrawal::as_raw)
    })
}

/// A retry has run.
#[unsafe(no_mangle)]
extern "C" fn budget_retried() {
    with(|memory| memory.budget.retried(&memory.budget_config));
}

/// A retry never ran.
#[unsafe(no_mangle)]
extern "C" fn budget_refund(paid: u32) {
    with(|memory| {
        memory.budget.refund(&memory.budget_config, Timestamp::from_nanos(memory.args[0]), Withdrawal::from_raw(paid))
    });
}

/// A call succeeded whose latest retry has paid that, 2^32-1 for none.
#[unsafe(no_mangle)]
extern "C" fn budget_succeed(paid: u32) {
    with(|memory| memory.budget.succeed(&memory.budget_config, Timestamp::from_nanos(memory.args[0]), deposit(paid)));
}

/// A call is over.
#[unsafe(no_mangle)]
extern "C" fn budget_end(paid: u32) {
    with(|memory| memory.budget.end(&memory.budget_config, deposit(paid)));
}

/// The balance.
#[unsafe(no_mangle)]
extern "C" fn budget_balance() -> f64 {
    with(|memory| memory.budget.balance(&memory.budget_config, memory.time(0)))
}

/// The probability that an attempt is refused.
#[unsafe(no_mangle)]
extern "C" fn budget_rejection() -> f64 {
    with(|memory| memory.budget.rejection(&memory.budget_config, memory.time(0)))
}

/// A permit, -1 for none; then slot 1 says when to ask again.
#[unsafe(no_mangle)]
extern "C" fn breaker_acquire() -> f64 {
    with(|memory| {
        let now = memory.time(0);
        let BreakerSlot { config, breaker } = memory.breaker();
        match breaker.acquire(config, now) {
            Ok(permit) => f64::from(permit.as_raw()),
            Err(retry_at) => {
                memory.leave(1, retry_at.as_nanos());
                -1.0
            }
        }
    })
}

/// A call with that permit ended after the time in slot 1.
#[unsafe(no_mangle)]
extern "C" fn breaker_record(permit: u32, failed: u32) {
    with(|memory| {
        let (now, took) = (memory.time(0), memory.span(1));
        let verdict = if failed == 0 { Verdict::Success } else { Verdict::Failure };
        let BreakerSlot { config, breaker } = memory.breaker();
        breaker.record(config, Permit::from_raw(permit), now, verdict, took);
    });
}

/// Nothing will be known of a call with that permit.
#[unsafe(no_mangle)]
extern "C" fn breaker_abandon(permit: u32) {
    with(|memory| {
        let now = memory.time(0);
        let BreakerSlot { config, breaker } = memory.breaker();
        breaker.abandon(config, Permit::from_raw(permit), now);
    });
}

/// The server said not to come before the time in slot 1 is over.
#[unsafe(no_mangle)]
extern "C" fn breaker_hint() {
    with(|memory| {
        let (now, span) = (memory.time(0), memory.span(1));
        let BreakerSlot { config, breaker } = memory.breaker();
        breaker.hint(config, now, span);
    });
}

/// 0 isolates it, 1 closes it, 2 resets it.
#[unsafe(no_mangle)]
extern "C" fn breaker_move(what: u32) {
    with(|memory| {
        let now = memory.time(0);
        let breaker = &mut memory.breaker().breaker;
        match what {
            0 => breaker.isolate(now),
            1 => breaker.force_close(now),
            _ => breaker.reset(now),
        }
    });
}

/// Its state by its number; when to come back into slot 1, calls, failed, slow and openings into slots 2 to 5.
#[unsafe(no_mangle)]
extern "C" fn breaker_look() -> u32 {
    with(|memory| {
        let now = memory.time(0);
        let BreakerSlot { config, breaker } = memory.breaker();
        let (calls, failed, slow) = breaker.rates(config, now);
        let (retry_at, openings, state) = (breaker.retry_at(), breaker.openings(), breaker.state(config, now) as u32);
        memory.leave(1, retry_at.as_nanos());
        for (at, count) in [calls, failed, slow, openings].into_iter().enumerate() {
            memory.leave(at + 2, count.into());
        }
        state
    })
}

fn left(memory: &mut Memory, taken: Result<(), Timestamp>) -> u32 {
    match taken {
        Ok(()) => 1,
        Err(retry_at) => {
            memory.leave(1, retry_at.as_nanos());
            0
        }
    }
}

/// Takes so many permits. 0 when they are refused; then slot 1 says when to ask again.
#[unsafe(no_mangle)]
extern "C" fn limiter_take(count: u32) -> u32 {
    with(|memory| {
        let (now, log) = (memory.time(0), times(memory.log_buffer, memory.limiter_config.log_capacity()));
        let taken = memory.limiter.take(&memory.limiter_config, log, count, now);
        left(memory, taken)
    })
}

/// The same without taking them.
#[unsafe(no_mangle)]
extern "C" fn limiter_look(count: u32) -> u32 {
    with(|memory| {
        let (now, log) = (memory.time(0), times(memory.log_buffer, memory.limiter_config.log_capacity()));
        let refused = memory.limiter.refuses(&memory.limiter_config, log, count, now);
        left(memory, refused.map_or(Ok(()), Err))
    })
}

/// So many that were taken were not used.
#[unsafe(no_mangle)]
extern "C" fn limiter_give_back(count: u32) {
    with(|memory| {
        let (now, log) = (memory.time(0), times(memory.log_buffer, memory.limiter_config.log_capacity()));
        memory.limiter.give_back(&memory.limiter_config, log, count, now);
    });
}

/// Enters the bulkhead: 0 entered, 1 refused, 2 queued at the place in slot 1. `place` is the caller's place in the
/// queue, 2^32-1 for none.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_enter(place: u32) -> u32 {
    with(|memory| {
        let config: &BulkheadConfig = &memory.bulkhead_config;
        let entry = match place {
            NONE => memory.bulkhead.enter(config),
            _ => memory.bulkhead.enter_from(config, QueuePlace::from_raw(place)),
        };
        match entry {
            Entry::Entered => 0,
            Entry::Refused => 1,
            Entry::Queued(place) => {
                memory.leave(1, place.as_raw().into());
                2
            }
        }
    })
}

/// A call has left, or the queue at that place.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_leave(place: u32) {
    with(|memory| match place {
        NONE => memory.bulkhead.leave(),
        _ => memory.bulkhead.leave_queue(QueuePlace::from_raw(place)),
    });
}

/// How many run; how many wait into slot 1.
#[unsafe(no_mangle)]
extern "C" fn bulkhead_look() -> u32 {
    with(|memory| {
        memory.leave(1, memory.bulkhead.waiting().into());
        memory.bulkhead.running()
    })
}

/// `adaptive` := a limiter that has been at work: rate, tokens, measured rate and the rate before it was throttled last
/// in slots 1 to 4, the time of that in slot 5, and whether it limits.
#[unsafe(no_mangle)]
extern "C" fn adaptive_start(limits: u32) {
    with(|memory| {
        let start = AdaptiveStart {
            rate: memory.real(1),
            tokens: memory.real(2),
            measured: memory.real(3),
            last_max_rate: memory.real(4),
            throttled_at: memory.time(5),
            limits: limits != 0,
        };
        memory.adaptive = Adaptive::started(&memory.adaptive_config, start, memory.time(0));
    });
}

/// Takes the tokens in slot 2. 0 when they are refused; then slot 1 says when to ask again.
#[unsafe(no_mangle)]
extern "C" fn adaptive_take() -> u32 {
    with(|memory| {
        let (now, cost) = (memory.time(0), memory.real(2));
        let taken = memory.adaptive.take(&memory.adaptive_config, cost, now);
        left(memory, taken)
    })
}

/// The tokens in slot 2 were not used.
#[unsafe(no_mangle)]
extern "C" fn adaptive_give_back() {
    with(|memory| {
        let (now, cost) = (memory.time(0), memory.real(2));
        memory.adaptive.give_back(&memory.adaptive_config, cost, now);
    });
}

/// An answer came.
#[unsafe(no_mangle)]
extern "C" fn adaptive_update(throttled: u32) {
    with(|memory| {
        let now = memory.time(0);
        memory.adaptive.update(&memory.adaptive_config, now, throttled != 0);
    });
}

/// 0 the rate, 1 the measured rate, 2 whether it limits, 3 the tokens.
#[unsafe(no_mangle)]
extern "C" fn adaptive_look(what: u32) -> f64 {
    with(|memory| match what {
        0 => memory.adaptive.rate(),
        1 => memory.adaptive.measured(),
        2 => f64::from(u8::from(memory.adaptive.limits())),
        _ => memory.adaptive.tokens(memory.time(0)),
    })
}

/// An attempt ended.
#[unsafe(no_mangle)]
extern "C" fn stretch_record(failed: u32) {
    with(|memory| {
        let now = memory.time(0);
        memory.stretch.record(&memory.stretch_config, now, failed != 0);
    });
}

/// Stretches the delay in slot 1.
#[unsafe(no_mangle)]
extern "C" fn stretch_delay() {
    with(|memory| {
        let delay: Span = memory.stretch.stretch(&memory.stretch_config, memory.time(0), memory.span(1));
        memory.leave(1, delay.as_nanos());
    });
}

/// How many attempts count; how many of them failed into slot 1.
#[unsafe(no_mangle)]
extern "C" fn stretch_look() -> u32 {
    with(|memory| {
        let (calls, failed) = memory.stretch.counts(&memory.stretch_config, memory.time(0));
        memory.leave(1, failed.into());
        calls
    })
}

/// An attempt took as long as slot 1 says.
#[unsafe(no_mangle)]
extern "C" fn hedge_record() {
    with(|memory| {
        let percentile = memory.hedge_config.percentile().unwrap_or_default();
        memory.hedge.record(memory.span(1), percentile);
    });
}

/// How many records there were; the estimate into slot 1, 2^64-1 for none, and the delay into slot 2.
#[unsafe(no_mangle)]
extern "C" fn hedge_look() -> u32 {
    with(|memory| {
        memory.leave(1, memory.hedge.quantile().map_or(u64::MAX, Span::as_nanos));
        memory.leave(2, memory.hedge_config.delay(&memory.hedge).as_nanos());
        memory.hedge.records()
    })
}
