//! Single guards. The time is in slot 0.

use super::{Memory, Slot, kind_of, with};
use crate::memory::exports;
use holdoff_core::{
    Adaptive, AdaptiveStart, Budget, BudgetConfig, Entry, Permit, QueuePlace, Span, Timestamp, Verdict, Withdrawal,
};

/// The number for no withdrawal and no place in a queue.
const NONE: u32 = u32::MAX;

fn withdrawal(raw: u32) -> Option<Withdrawal> {
    (raw != NONE).then(|| Withdrawal::from_raw(raw))
}

/// 1, or 0 with the time to ask again in slot 1.
fn taken(memory: &mut Memory, refused: Option<Timestamp>) -> u32 {
    refused.inspect(|retry_at| memory.leave(1, retry_at.as_nanos())).is_none().into()
}

exports! {
    /// New states of those guards, with the seed in slot 1.
    fn guards_new(guards: u32) = |memory, now| memory.make(guards, memory.arg(1), now);

    /// The guard with that number hears that the server said not to come before the time in slot 1 is over.
    fn guard_hint(index: u32) = |memory, now| memory.hint(index, now, memory.span(1));
    /// 0 if the guard with that number lets an attempt through; else slot 1 says when it would.
    fn guard_refuses(index: u32) -> u32 = |memory, now| {
        let retry_at = memory.refuses(index, now);
        retry_at.inspect(|retry_at| memory.leave(1, retry_at.as_nanos())).is_some().into()
    };

    /// 1 if nothing is lost when those guards are made anew.
    fn guards_at_rest(guards: u32) -> u32 = |memory, now| memory.call_under(guards).2.is_at_rest(now).into();

    /// Begins a call.
    fn budget_begin() = |memory, now| memory.budget.state.begin(&memory.budget.config, now);
    /// Says whether an attempt may start.
    fn budget_admit() -> u32 = |memory, now| memory.budget.state.admit(&memory.budget.config, now).into();
    /// An attempt failed.
    fn budget_fail(kind: u32) = |memory, now| memory.budget.state.fail(&memory.budget.config, now, kind_of(kind));
    /// Asks for a retry: the withdrawal that it pays, 2^32-1 when it is refused.
    fn budget_withdraw(kind: u32) -> u32 = |memory, now| {
        let noted = memory.budget.state.refusals();
        memory.budget.state.withdraw(&memory.budget.config, now, kind_of(kind), noted).map_or(NONE, Withdrawal::as_raw)
    };
    /// A retry has run.
    fn budget_retried() = |memory| memory.budget.state.retried(&memory.budget.config);
    /// A retry never ran.
    fn budget_refund(paid: u32) = |memory, now| {
        memory.budget.state.refund(&memory.budget.config, now, Withdrawal::from_raw(paid));
    };
    /// A call succeeded whose latest retry has paid that, 2^32-1 for none.
    fn budget_succeed(paid: u32) = |memory, now| memory.budget.state.succeed(&memory.budget.config, now, withdrawal(paid));
    /// A call is over.
    fn budget_end(paid: u32) = |memory| memory.budget.state.end(&memory.budget.config, withdrawal(paid));
    /// `budget` and `budget_config` := the budget that a loop brings, full, with that number of its latest refusal.
    fn budget_fill(capacity: u32, refusals: u32) = |memory, now| {
        memory.budget.config = BudgetConfig::of_loops_with(capacity).unwrap_or_default();
        memory.budget.state = Budget::new(&memory.budget.config, 0, now).numbered(&memory.budget.config, refusals);
    };
    /// 1 for a budget of tokens that is full.
    fn budget_full() -> u32 = |memory| memory.budget.state.is_full(&memory.budget.config).into();
    /// Why `budget` refuses a retry after such a failure, into slots 8 to 11; 0 if it refuses none, or has no tokens.
    fn budget_shortage(kind: u32) -> u32 = |memory, now| {
        let shortage = memory.budget.state.shortage(&memory.budget.config, now, kind_of(kind));
        for (at, number) in shortage.map_or([0; 4], |shortage| shortage.as_raw()).into_iter().enumerate() {
            memory.leave(at + 8, number);
        }
        shortage.is_some().into()
    };
    /// The balance.
    fn budget_balance() -> f64 = |memory, now| memory.budget.state.balance(&memory.budget.config, now);
    /// The probability that an attempt is refused.
    fn budget_rejection() -> f64 = |memory, now| memory.budget.state.rejection(&memory.budget.config, now);

    /// A permit, -1 for none; then slot 1 says when to ask again.
    fn breaker_acquire() -> f64 = |memory, now| {
        let (config, breaker) = memory.breaker();
        match breaker.acquire(config, now) {
            Ok(permit) => permit.as_raw().into(),
            Err(retry_at) => {
                memory.leave(1, retry_at.as_nanos());
                -1.0
            }
        }
    };
    /// A call with that permit ended after the time in slot 1.
    fn breaker_record(permit: u32, failed: u32) = |memory, now| {
        let took = memory.span(1);
        let verdict = if failed == 0 { Verdict::Success } else { Verdict::Failure };
        let (config, breaker) = memory.breaker();
        breaker.record(config, Permit::from_raw(permit), now, verdict, took);
    };
    /// Nothing will be known of a call with that permit.
    fn breaker_abandon(permit: u32) = |memory, now| {
        let (config, breaker) = memory.breaker();
        breaker.abandon(config, Permit::from_raw(permit), now);
    };
    /// The server said not to come before the time in slot 1 is over.
    fn breaker_hint() = |memory, now| {
        let span = memory.span(1);
        let (config, breaker) = memory.breaker();
        breaker.hint(config, now, span);
    };
    /// 0 isolates it, 1 closes it, 2 resets it.
    fn breaker_move(to: u32) = |memory, now| {
        let (_, breaker) = memory.breaker();
        match to {
            0 => breaker.isolate(now),
            1 => breaker.force_close(now),
            _ => breaker.reset(now),
        }
    };
    /// Its state by its number; when to come back into slot 1, calls, failed, slow and openings into slots 2 to 5.
    fn breaker_look() -> u32 = |memory, now| {
        let (config, breaker) = memory.breaker();
        let (calls, failed, slow) = breaker.rates(config, now);
        let (retry_at, openings, state) = (breaker.retry_at(), breaker.openings(), breaker.state(config, now) as u32);
        memory.leave(1, retry_at.as_nanos());
        for (at, count) in [calls, failed, slow, openings].into_iter().enumerate() {
            memory.leave(at + 2, count.into());
        }
        state
    };

    /// Takes so many permits. 0 when they are refused; then slot 1 says when to ask again.
    fn limiter_take(count: u32) -> u32 = |memory, now| {
        let log = memory.log();
        let refused = memory.limiter.state.take(&memory.limiter.config, log, count, now).err();
        taken(memory, refused)
    };
    /// The same without taking them.
    fn limiter_look(count: u32) -> u32 = |memory, now| {
        let refused = memory.limiter.state.refuses(&memory.limiter.config, memory.log(), count, now);
        taken(memory, refused)
    };
    /// So many that were taken were not used.
    fn limiter_give_back(count: u32) = |memory, now| {
        let log = memory.log();
        memory.limiter.state.give_back(&memory.limiter.config, log, count, now);
    };

    /// Enters the bulkhead: 0 entered, 1 refused, 2 queued at the place in slot 1. `place` is the caller's place in the
    /// queue, 2^32-1 for none.
    fn bulkhead_enter(place: u32) -> u32 = |memory| {
        let Memory { bulkhead: Slot { config: bulkhead_config, state: bulkhead }, queue, .. } = memory;
        let entry = match place {
            NONE => bulkhead.enter(bulkhead_config, queue),
            _ => bulkhead.enter_from(bulkhead_config, queue, QueuePlace::from_raw(place)),
        };
        match entry {
            Entry::Entered => 0,
            Entry::Refused => 1,
            Entry::Queued(place) => {
                memory.leave(1, place.as_raw().into());
                2
            }
        }
    };
    /// A call has left, or the queue at that place.
    fn bulkhead_leave(place: u32) = |memory| match place {
        NONE => memory.bulkhead.state.leave(),
        _ => memory.bulkhead.state.leave_queue(&memory.bulkhead.config, &mut memory.queue, QueuePlace::from_raw(place)),
    };
    /// How many run; how many wait into slot 1.
    fn bulkhead_look() -> u32 = |memory| {
        memory.leave(1, memory.bulkhead.state.waiting().into());
        memory.bulkhead.state.running()
    };

    /// `adaptive` := a limiter that has been at work: rate, tokens, measured rate and the rate before it was throttled last
    /// in slots 1 to 4, the time of that in slot 5, and whether it limits.
    fn adaptive_start(limits: u32) = |memory, now| {
        let start = AdaptiveStart {
            rate: memory.real(1),
            tokens: memory.real(2),
            measured: memory.real(3),
            last_max_rate: memory.real(4),
            throttled_at: memory.time(5),
            limits: limits != 0,
        };
        memory.adaptive.state = Adaptive::started(&memory.adaptive.config, start, now);
    };
    /// Takes the tokens in slot 2. 0 when they are refused; then slot 1 says when to ask again.
    fn adaptive_take() -> u32 = |memory, now| {
        let refused = memory.adaptive.state.take(&memory.adaptive.config, memory.real(2), now).err();
        taken(memory, refused)
    };
    /// The tokens in slot 2 were not used.
    fn adaptive_give_back() = |memory, now| {
        let cost = memory.real(2);
        memory.adaptive.state.give_back(&memory.adaptive.config, cost, now);
    };
    /// An answer came.
    fn adaptive_update(throttled: u32) = |memory, now| {
        memory.adaptive.state.update(&memory.adaptive.config, now, throttled != 0);
    };
    /// 0 the rate, 1 the measured rate, 2 whether it limits, 3 the tokens.
    fn adaptive_look(of: u32) -> f64 = |memory, now| match of {
        0 => memory.adaptive.state.rate(),
        1 => memory.adaptive.state.measured(),
        2 => u8::from(memory.adaptive.state.limits()).into(),
        _ => memory.adaptive.state.tokens(now),
    };

    /// An attempt ended.
    fn stretch_record(failed: u32) = |memory, now| memory.stretch.state.record(&memory.stretch.config, now, failed != 0);
    /// Stretches the delay in slot 1.
    fn stretch_delay() = |memory, now| {
        let delay = memory.stretch.state.stretch(&memory.stretch.config, now, memory.span(1));
        memory.leave(1, delay.as_nanos());
    };
    /// How many attempts count; how many of them failed into slot 1.
    fn stretch_look() -> u32 = |memory, now| {
        let (calls, failed) = memory.stretch.state.counts(&memory.stretch.config, now);
        memory.leave(1, failed.into());
        calls
    };

    /// An attempt took as long as slot 1 says.
    fn hedge_record() = |memory| {
        let took = memory.span(1);
        memory.hedge.state.record(took, memory.hedge.config.percentile().unwrap_or_default());
    };
    /// How many records there were; the estimate into slot 1, 2^64-1 for none, and the delay into slot 2.
    fn hedge_look() -> u32 = |memory| {
        memory.leave(1, memory.hedge.state.quantile().map_or(u64::MAX, Span::as_nanos));
        memory.leave(2, memory.hedge.config.delay(&memory.hedge.state).as_nanos());
        memory.hedge.state.records()
    };
}
