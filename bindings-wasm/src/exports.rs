//! What JavaScript calls. Wasm exports need their names, which counts as unsafe.
#![allow(unsafe_code)]

use crate::desk::{self, Desk};
use holdoff_core::{
    Call, ConfigError, Decision, ErrorCode, Failure, FailureKind, Given, Hint, Outcome, Policy, Retry, Schedule, Span,
    Step, Ticket, Value, seed_at,
};

/// Nanoseconds in one unit of a plain number: JavaScript counts milliseconds.
const MILLISECOND: f64 = 1e6;

/// Where the desk is in memory. It never moves.
#[unsafe(no_mangle)]
extern "C" fn desk() -> usize {
    desk::address()
}

/// Starts a policy in the builder.
#[unsafe(no_mangle)]
extern "C" fn policy_start() {
    desk::with(|desk| desk.builder = Policy::builder());
}

/// Sets a field of the builder: its name in the text, then the value's, which is `kind` 0 none of the others, 1 the text,
/// 2 `number`, 3 not given, 4 an object without fields. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn policy_set(name: u32, kind: u32, value: u32) -> u32 {
    desk::with(|desk| {
        let Desk { builder, text, number, .. } = desk;
        let value = match kind {
            1 => Value::Text(text.get(name, value)),
            2 => Value::Number { value: *number, unit: MILLISECOND },
            3 => Value::Nothing,
            4 => Value::Empty,
            _ => Value::Other,
        };
        let set = builder.set(text.get(0, name), value);
        explained(desk, set)
    })
}

/// Turns the builder into `policy`, and its first limit into `span`. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn policy_build() -> u32 {
    desk::with(|desk| {
        let built = desk.builder.build().map(|policy| {
            desk.policy = policy;
            desk.span = policy.first_limit().map_or(u64::MAX, Span::as_nanos);
        });
        explained(desk, built)
    })
}

/// Explains the error with that number, which concerns no field of a policy. The length of the text.
#[unsafe(no_mangle)]
extern "C" fn problem(code: u32) -> u32 {
    desk::with(|desk| {
        let code = ErrorCode::ALL.into_iter().find(|known| u32::from(known.code()) == code);
        let code = code.unwrap_or(ErrorCode::WrongType);
        desk.explain(&ConfigError::of_use(code))
    })
}

fn explained(desk: &mut Desk, result: Result<(), ConfigError>) -> u32 {
    result.map_or_else(|error| desk.explain(&error), |()| 0)
}

/// `call` := begun with `seed` at `now` under `policy`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_begin() {
    desk::with(|desk| {
        let (call, step) = Call::begin(&desk.policy, desk.seed, desk.now());
        desk.call = call;
        desk.show(step);
    });
}

/// `call` := underway with `seed` since `now`.
#[unsafe(no_mangle)]
extern "C" fn call_underway() {
    desk::with(|desk| desk.call = Call::underway(desk.seed, desk.now()));
}

/// The attempt `ticket` of `call` succeeded at `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_succeed() {
    desk::with(|desk| {
        let step = desk.call.succeed(Ticket::from_raw(desk.ticket), desk.now());
        desk.show(step);
    });
}

/// The attempt `ticket` of `call` failed at `now` with that kind and the hint in `span`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_fail(kind: u32) {
    desk::with(|desk| {
        let step = desk.call.fail(&desk.policy, Ticket::from_raw(desk.ticket), desk.now(), failure(desk, kind));
        desk.show(step);
    });
}

/// Time has passed for `call` until `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_tick() {
    desk::with(|desk| {
        let step = desk.call.tick(&desk.policy, desk.now());
        desk.show(step);
    });
}

/// `call` is cancelled at `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_cancel() {
    desk::with(|desk| {
        let step = desk.call.cancel(desk.now());
        desk.show(step);
    });
}

/// `retry` := an operation with `seed` that started at `now`.
#[unsafe(no_mangle)]
extern "C" fn retry_start() {
    desk::with(|desk| desk.retry = Retry::new(desk.seed, desk.now()));
}

/// The operation `retry` failed at `now` with that kind and the hint in `span`; the decision as a `step`.
#[unsafe(no_mangle)]
extern "C" fn retry_fail(kind: u32) {
    desk::with(|desk| {
        let step = match desk.retry.on_failure(&desk.policy, desk.now(), failure(desk, kind)) {
            Decision::Sleep { until, cause } => Step::Sleep { until, cause },
            Decision::GiveUp { reason, retry_at } => Step::Stop(Outcome::GaveUp { reason, retry_at }),
        };
        desk.show(step);
    });
}

/// `schedule` := the delays of `policy` for `seed`.
#[unsafe(no_mangle)]
extern "C" fn schedule_start() {
    desk::with(|desk| desk.schedule = Schedule::new(&desk.policy, desk.seed));
}

/// The next delay of `schedule` into `span`; 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn schedule_next() -> u32 {
    desk::with(|desk| spanned(desk, |desk| desk.schedule.next()))
}

/// The base delay of `policy` after failure `n`, from 0, into `span`.
#[unsafe(no_mangle)]
extern "C" fn base_at(n: u32) {
    desk::with(|desk| desk.span = Schedule::base_at(&desk.policy, n).as_nanos());
}

/// `seed` := the seed of failing operation `ticket`, from 0, of a program seeded with `seed`.
#[unsafe(no_mangle)]
extern "C" fn seed() {
    desk::with(|desk| desk.seed = seed_at(desk.seed, desk.ticket));
}

/// The kind of an HTTP answer, 0 when it is no failure, and its hint into `span`. The text is its Retry-After header,
/// `u32::MAX` long where it has none.
#[unsafe(no_mangle)]
extern "C" fn http(status: u32, retry_after: u32) -> u32 {
    desk::with(|desk| {
        let header = (retry_after != u32::MAX).then(|| desk.text.bytes(0, retry_after));
        let failure = Failure::from_http(status, header);
        desk.span = failure.map_or(Hint::NONE, |failure| failure.hint).as_raw();
        failure.map_or(0, |failure| failure.kind.code().into())
    })
}

/// Reads the text as a time into `span`; 0 when it is none.
#[unsafe(no_mangle)]
extern "C" fn duration(len: u32) -> u32 {
    desk::with(|desk| spanned(desk, |desk| Span::parse(desk.text.get(0, len))))
}

fn failure(desk: &Desk, kind: u32) -> Failure {
    let kind = FailureKind::from_code(kind).unwrap_or(FailureKind::Permanent);
    Failure::new(kind).with_hint(Hint::from_raw(desk.span))
}

fn spanned(desk: &mut Desk, find: impl FnOnce(&mut Desk) -> Option<Span>) -> u32 {
    match find(desk) {
        Some(span) => {
            desk.span = span.as_nanos();
            1
        }
        None => 0,
    }
}
