//! The methods of single guards: a row each, from which JavaScript's classes are printed (`src-ts/guards/classes.ts`). The time is in
//! slot 0, and a length of time that goes in or comes out is in slot 1.

use super::{Memory, kind_of, with};
use crate::memory::exports;
use holdoff_core::{
    Adaptive, AdaptiveStart, BreakerState, Budget, BudgetConfig, Entry, FailureKind, Permit, QueuePlace, Span,
    Timestamp, Verdict, Withdrawal,
};

/// The number for no withdrawal.
const NONE: u32 = u32::MAX;

/// A length of time as people write it; other lengths are in nanoseconds.
type Length = Span;

/// An argument of a method.
trait Argument {
    type Number;
    fn of(number: Self::Number) -> Self;
}

/// The answer of a method: a number, or none and what it leaves from slot 1 on.
trait Answer {
    type Number;
    fn put(answer: Self, memory: &mut Memory) -> Self::Number;
}

macro_rules! crossing {
    ($($of:ty: $number:ty $(, in |$in:pat_param| $argument:expr)? $(, out |$out:pat_param, $memory:pat_param| $answer:expr)?;)+) => {
        $(
            $(impl Argument for $of {
                type Number = $number;
                fn of($in: $number) -> Self {
                    $argument
                }
            })?
            $(impl Answer for $of {
                type Number = $number;
                fn put($out: Self, $memory: &mut Memory) -> $number {
                    $answer
                }
            })?
        )+
    };
}

crossing! {
    (): (), out |_, _| ();
    u32: u32, in |number| number, out |number, _| number;
    f64: f64, in |number| number, out |number, _| number;
    bool: u32, in |number| number != 0, out |is, _| is.into();
    FailureKind: u32, in |code| kind_of(code);
    Verdict: u32, in |failed| if failed == 0 { Verdict::Success } else { Verdict::Failure };
    Permit: u32, in |raw| Permit::from_raw(raw);
    QueuePlace: u32, in |raw| QueuePlace::from_raw(raw);
    Withdrawal: u32, in |raw| Withdrawal::from_raw(raw);
    Option<Withdrawal>: u32, in |raw| (raw != NONE).then(|| Withdrawal::from_raw(raw)),
        out |withdrawal, _| withdrawal.map_or(NONE, Withdrawal::as_raw);
    BreakerState: u32, out |state, _| state as u32;
    Span: (), out |span, memory| memory.leave(1, span.as_nanos());
    Option<Span>: (), out |span, memory| memory.leave(1, span.map_or(u64::MAX, Span::as_nanos));
    Timestamp: (), out |time, memory| memory.leave(1, time.as_nanos());
    Option<Timestamp>: u32, out |time, memory| time.inspect(|time| memory.leave(1, time.as_nanos())).is_some().into();
    Result<Permit, Timestamp>: f64, out |permit, memory| match permit {
        Ok(permit) => permit.as_raw().into(),
        Err(retry_at) => {
            memory.leave(1, retry_at.as_nanos());
            -1.0
        }
    };
    Entry: u32, out |entry, memory| match entry {
        Entry::Entered => 0,
        Entry::Refused => 1,
        Entry::Queued(place) => {
            memory.leave(1, place.as_raw().into());
            2
        }
    };
}

impl<const N: usize> Answer for [u32; N] {
    type Number = ();
    fn put(numbers: Self, memory: &mut Memory) {
        (1..).zip(numbers).for_each(|(at, number)| memory.leave(at, number.into()));
    }
}

/// Exports the methods of a guard: `fn` is a method, `get` a property, `watch` a method of which the hooks of a breaker are told, and
/// `change` one that may also let calls through that wait. `at now` takes the time; an argument behind `;` is in slot 1; names in braces
/// are those of the numbers of an answer.
macro_rules! methods {
    (|$memory:ident| $parts:pat_param = $lent:expr; $(
        $(#[doc = $doc:literal])+
        $sort:ident $name:ident($($argument:ident: $type:ty $(= $default:literal)?),* $(; $long:ident: $length:ty $(= $zero:literal)?)?)
            $(at $now:ident)? $(-> $answer:ty $({ $($number:ident),+ })?)? = $body:expr;
    )+) => {
        $(
            $(#[doc = $doc])+
            #[unsafe(no_mangle)]
            #[allow(unused_variables, reason = "not every method asks for all parts")]
            extern "C" fn $name($($argument: <$type as Argument>::Number),*) $(-> <$answer as Answer>::Number)? {
                with(|$memory| {
                    $(let $argument = <$type as Argument>::of($argument);)*
                    $(let $long: $length = $memory.span(1);)?
                    $(let $now = $memory.now();)?
                    let answer = {
                        let $parts = $lent;
                        $body
                    };
                    Answer::put(answer, $memory)
                })
            }
        )+
    };
}

methods! { |memory| (config, state) = memory.budget.parts();
    /// A call begins.
    fn budget_begin() at now = state.begin(config, now);
    /// May an attempt start, the first or another?
    fn budget_admit() at now -> bool = state.admit(config, now);
    /// An attempt failed in a way that may be retried.
    fn budget_fail(kind: FailureKind) at now = state.fail(config, now, kind);
    /// May there be a retry after such a failure? The payment of the retry, for `succeed` or `refund`.
    fn budget_withdraw(kind: FailureKind) at now -> Option<Withdrawal> = state.withdraw(config, now, kind, state.refusals());
    /// A retry has run.
    fn budget_retried() = state.retried(config);
    /// A retry that has paid never ran.
    fn budget_refund(withdrawal: Withdrawal) at now = state.refund(config, now, withdrawal);
    /// The call succeeded; `withdrawal` is the payment of its latest retry.
    fn budget_succeed(withdrawal: Option<Withdrawal>) at now = state.succeed(config, now, withdrawal);
    /// The call is over, with any result.
    fn budget_end(withdrawal: Option<Withdrawal>) = state.end(config, withdrawal);
    /// The tokens, or retries, that there are.
    fn budget_balance() at now -> f64 = state.balance(config, now);
    /// The probability that an attempt is refused.
    fn budget_rejection() at now -> f64 = state.rejection(config, now);
}

methods! { |memory| (config, state) = memory.breaker.parts();
    /// May a call run? Its permit, or when to ask again.
    watch breaker_acquire() at now -> Result<Permit, Timestamp> = state.acquire(config, now);
    /// A call with that permit ended; `took` is in nanoseconds, of use to a breaker that counts slow calls.
    change breaker_record(permit: Permit, verdict: Verdict; took: Span = 0) at now = state.record(config, permit, now, verdict, took);
    /// Nothing will be known of a call with that permit: its place comes back.
    change breaker_abandon(permit: Permit) at now = state.abandon(config, permit, now);
    /// The server said not to come before that time is over, a number in milliseconds.
    watch breaker_hint(; hint: Length) at now = state.hint(config, now, hint);
    /// Opens it until it is reset.
    change breaker_isolate() at now = state.isolate(now);
    /// Closes it.
    change breaker_force_close() at now = state.force_close(now);
    /// Makes it as new.
    change breaker_reset() at now = state.reset(now);
    /// The state at that time.
    fn breaker_state() at now -> BreakerState = state.state(config, now);
    /// The end of the open time, in nanoseconds.
    get breaker_retry_at() -> Timestamp = state.retry_at();
    /// The calls that count now, and how many of them failed and were slow.
    fn breaker_rates() at now -> [u32; 3] { calls, failed, slow } = <[u32; 3]>::from(state.rates(config, now));
    /// How often it has opened.
    get breaker_openings() -> u32 = state.openings();
}

methods! { |memory| (config, state, log) = memory.limiter();
    /// Takes so many; undefined, or when they can be taken.
    fn limiter_take(count: u32 = 1) at now -> Option<Timestamp> = state.take(config, log, count, now).err();
    /// Could so many be taken? Undefined, or when they can be.
    fn limiter_look(count: u32 = 1) at now -> Option<Timestamp> = state.refuses(config, log, count, now);
    /// So many that were taken were not used.
    fn limiter_give_back(count: u32 = 1) at now = state.give_back(config, log, count, now);
}

methods! { |memory| (config, state, queue) = memory.bulkhead();
    /// Enters it, queues, or does neither.
    fn bulkhead_enter() -> Entry = state.enter(config, queue);
    /// Asks again, from a place in the queue.
    fn bulkhead_enter_from(place: QueuePlace) -> Entry = state.enter_from(config, queue, place);
    /// A call has left.
    change bulkhead_leave() = state.leave();
    /// A queued caller gives up its place.
    change bulkhead_leave_queue(place: QueuePlace) = state.leave_queue(config, queue, place);
    /// How many run.
    get bulkhead_running() -> u32 = state.running();
    /// How many wait.
    get bulkhead_waiting() -> u32 = state.waiting();
}

methods! { |memory| (config, state) = memory.adaptive.parts();
    /// Takes as much; undefined, or when it can be taken.
    fn adaptive_take(cost: f64 = 1) at now -> Option<Timestamp> = state.take(config, cost, now).err();
    /// As much that was taken was not used.
    fn adaptive_give_back(cost: f64 = 1) at now = state.give_back(config, cost, now);
    /// An answer came, and was throttled or not.
    fn adaptive_update(throttled: bool) at now = state.update(config, now, throttled);
    /// Attempts per second.
    get adaptive_rate() -> f64 = state.rate();
    /// The rate that was measured.
    get adaptive_measured() -> f64 = state.measured();
    /// True once it limits.
    get adaptive_limits() -> bool = state.limits();
    /// The tokens that there are.
    fn adaptive_tokens() at now -> f64 = state.tokens(now);
}

methods! { |memory| (config, state) = memory.stretch.parts();
    /// An attempt ended.
    fn stretch_record(failed: bool) at now = state.record(config, now, failed);
    /// The stretched delay, in nanoseconds.
    fn stretch_stretch(; delay: Span) at now -> Span = state.stretch(config, now, delay);
    /// The attempts that count, and how many of them failed.
    fn stretch_counts() at now -> [u32; 2] { calls, failed } = <[u32; 2]>::from(state.counts(config, now));
}

methods! { |memory| (config, state) = memory.hedge.parts();
    /// An attempt took so many nanoseconds.
    fn hedge_record(; took: Span) = state.record(took, config.percentile().unwrap_or_default());
    /// The time that the share of attempts takes at most; undefined before the first record, or without a percentile.
    get hedge_quantile() -> Option<Span> = state.quantile();
    /// The nanoseconds after which the next attempt starts.
    get hedge_delay() -> Span = config.delay(state);
    /// How many records there were.
    get hedge_records() -> u32 = state.records();
}

exports! {
    /// New states of those guards, with the seed in slot 1.
    fn guards_new(guards: u32) = |memory, now| memory.make(guards, memory.arg(1), now);

    /// The guard with that number hears that the server said not to come before the time in slot 1 is over.
    fn guard_hint(index: u32) = |memory, now| memory.hint(index, now, memory.span(1));
    /// 0 if the guard with that number lets an attempt through; else slot 1 says when it would.
    fn guard_refuses(index: u32) -> u32 = |memory, now| Answer::put(memory.refuses(index, now), memory);

    /// 1 if nothing is lost when those guards are made anew.
    fn guards_at_rest(guards: u32) -> u32 = |memory, now| memory.call_under(guards).2.is_at_rest(now).into();

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

    /// 1 if `breaker` is closed and asks for no time.
    fn breaker_is_timeless() -> u32 = |memory| memory.breaker.state.is_timeless(&memory.breaker.config).into();

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
}
