//! The functions that JavaScript calls. Wasm exports need their names, which counts as unsafe.
#![allow(unsafe_code)]

use crate::layout::{self, Memory};
use holdoff_core::{
    Call, Decision, Error, ErrorCode, Facts, Failure, FailureKind, Hint, HintReader, HostText, Operations, Outcome,
    Policy, Retry, Schedule, Span, Step, Ticket, Value, is_guard, seed_at,
};

/// Nanoseconds in one unit of a plain number: JavaScript counts milliseconds.
const MILLISECOND: f64 = 1e6;

/// Starts a policy in the builder.
#[unsafe(no_mangle)]
extern "C" fn policy_start() {
    layout::with(|memory| memory.builder = Policy::options());
}

/// The answer of [`policy_set`] for a value that JavaScript keeps, such as a pattern; other answers are the length of a problem. The
/// constants below are bits beside it.
const HOST_KEEPS: u32 = 1 << 31;
/// The list is that of operations that may not run twice.
const NON_IDEMPOTENT: u32 = 1;
/// The list begins anew.
const BEGINS: u32 = 2;
/// The value is a pattern of it.
const PATTERN: u32 = 4;
/// The field is a guard's, or a preset's that has guards.
const GUARD: u32 = 8;

/// Sets a field of the builder: its name, then its value, which is `kind` 0 none of the others, 1 the text, 2 `number`,
/// 3 not given, 4 an object without fields, 5 `number` in a document, which has no unit, 6 a list without items. 0, what is
/// to be kept, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn policy_set(name: u32, kind: u32, value: u32) -> u32 {
    layout::with(|memory| {
        let value = match kind {
            1 => Value::Text(memory.text.get(value)),
            2 => Value::Number { value: memory.number, unit: MILLISECOND },
            3 => Value::Nothing,
            4 => Value::Empty,
            5 => Value::Number { value: memory.number, unit: f64::NAN },
            6 => Value::NoItems,
            _ => Value::Other,
        };
        if is_guard(memory.name.get(name)) {
            return HOST_KEEPS | GUARD;
        }
        let of = |list| HOST_KEEPS | if list == Operations::NonIdempotent { NON_IDEMPOTENT } else { 0 };
        match memory.builder.set(memory.name.get(name), value) {
            Ok(Some(HostText::NoPatterns(list))) => of(list) | BEGINS,
            Ok(Some(HostText::Pattern { operations, begins, .. })) => {
                of(operations) | PATTERN | if begins { BEGINS } else { 0 }
            }
            Ok(_) => 0,
            Err(error) => memory.explain(&error),
        }
    })
}

/// Turns the builder into `policy` and `rules`, and its first limit into `span`. 0, that its preset has guards, or the length
/// of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn policy_build() -> u32 {
    layout::with(|memory| match memory.builder.build() {
        Ok(policy) => {
            memory.policy = policy;
            memory.rules = memory.builder.rules();
            memory.span = policy.first_limit().map_or(u64::MAX, Span::as_nanos);
            if memory.builder.has_no_guards() { 0 } else { HOST_KEEPS | GUARD }
        }
        Err(error) => memory.explain(&error),
    })
}

/// Explains the error with that number, which concerns no field of a policy. The length of the text.
#[unsafe(no_mangle)]
extern "C" fn problem(code: u32) -> u32 {
    layout::with(|memory| {
        let code = ErrorCode::ALL.into_iter().find(|known| u32::from(known.code()) == code);
        let code = code.unwrap_or(ErrorCode::WrongType);
        memory.explain(&Error::of_use(code))
    })
}

/// `call` := begun with `seed` at `now` under `policy`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_begin() {
    layout::with(|memory| {
        let (call, step) = Call::begin(&memory.policy, memory.seed, memory.now());
        memory.call = call;
        memory.show(step);
    });
}

/// `call` := underway with `seed` since `now`.
#[unsafe(no_mangle)]
extern "C" fn call_underway() {
    layout::with(|memory| memory.call = Call::underway(memory.seed, memory.now()));
}

/// The attempt `ticket` of `call` succeeded at `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_succeed() {
    layout::with(|memory| {
        let step = memory.call.succeed(Ticket::from_raw(memory.ticket), memory.now());
        memory.show(step);
    });
}

/// The attempt `ticket` of `call` failed at `now` with that kind and the hint in `span`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_fail(kind: u32) {
    layout::with(|memory| {
        let step =
            memory.call.fail(&memory.policy, Ticket::from_raw(memory.ticket), memory.now(), failure(memory, kind));
        memory.show(step);
    });
}

/// Time has passed for `call` until `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_tick() {
    layout::with(|memory| {
        let step = memory.call.tick(&memory.policy, memory.now());
        memory.show(step);
    });
}

/// `call` is cancelled at `now`; `step`.
#[unsafe(no_mangle)]
extern "C" fn call_cancel() {
    layout::with(|memory| {
        let step = memory.call.cancel(memory.now());
        memory.show(step);
    });
}

/// `retry` := an operation with `seed` that started at `now`.
#[unsafe(no_mangle)]
extern "C" fn retry_start() {
    layout::with(|memory| memory.retry = Retry::new(memory.seed, memory.now()));
}

/// The operation `retry` failed at `now` with that kind and the hint in `span`; the decision as a `step`.
#[unsafe(no_mangle)]
extern "C" fn retry_fail(kind: u32) {
    layout::with(|memory| {
        let step = match memory.retry.on_failure(&memory.policy, memory.now(), failure(memory, kind)) {
            Decision::Sleep { until, cause } => Step::Sleep { until, cause },
            Decision::GiveUp { reason, retry_at } => Step::Stop(Outcome::GaveUp { reason, retry_at }),
        };
        memory.show(step);
    });
}

/// `schedule` := the delays of `policy` for `seed`.
#[unsafe(no_mangle)]
extern "C" fn schedule_start() {
    layout::with(|memory| memory.schedule = Schedule::new(&memory.policy, memory.seed));
}

/// The next delay of `schedule` into `span`; 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn schedule_next() -> u32 {
    layout::with(|memory| spanned(memory, |memory| memory.schedule.next()))
}

/// The next delay of `schedule` after a failure of that kind if `number` is drawn for it, into `span`; 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn schedule_next_at(kind: u32) -> u32 {
    layout::with(|memory| {
        let u = memory.number;
        spanned(memory, |memory| memory.schedule.next_at(kind_of(kind), u))
    })
}

/// The base delay of `policy` after failure `n`, from 0, into `span`.
#[unsafe(no_mangle)]
extern "C" fn base_at(n: u32) {
    layout::with(|memory| memory.span = Schedule::base_at(&memory.policy, n).as_nanos());
}

/// `seed` := the seed of failing operation `ticket`, from 0, of a program seeded with `seed`.
#[unsafe(no_mangle)]
extern "C" fn seed() {
    layout::with(|memory| memory.seed = seed_at(memory.seed, memory.ticket));
}

/// Begins to read the header lines of an answer that came at `now` by the clock on the wall.
#[unsafe(no_mangle)]
extern "C" fn headers() {
    layout::with(|memory| memory.reader = HintReader::new(memory.now));
}

/// Takes one header line: its name, and its value as the text.
#[unsafe(no_mangle)]
extern "C" fn header(name: u32, value: u32) {
    layout::with(|memory| memory.reader.header(memory.name.bytes(name), memory.text.bytes(value)));
}

/// The kind of an HTTP answer, 0 when it is no failure, and into `span` what its header lines say; a status of 0 is that of
/// an answer without one.
#[unsafe(no_mangle)]
extern "C" fn http(status: u32) -> u32 {
    layout::with(|memory| {
        memory.span = memory.reader.hint_for(status).as_raw();
        FailureKind::from_http_status(status).map_or(0, |kind| kind.code().into())
    })
}

/// The kind of a gRPC status, 0 when it is no failure.
#[unsafe(no_mangle)]
extern "C" fn grpc(code: u32) -> u32 {
    Failure::from_grpc(code, None).map_or(0, |failure| failure.kind.code().into())
}

/// Which patterns of `rules` to look for in a message: 0 none, 1 those of all operations, 2 those of operations that may not
/// run twice.
#[unsafe(no_mangle)]
extern "C" fn patterns(idempotent: u32) -> u32 {
    layout::with(|memory| memory.rules.patterns(idempotent != 0).map_or(0, |list| list as u32))
}

/// The kind that `rules` give a failure of that kind with these facts; `u32::MAX` for a code that is not known.
#[unsafe(no_mangle)]
extern "C" fn judge(kind: u32, http: u32, grpc: u32, matched: u32, idempotent: u32) -> u32 {
    layout::with(|memory| {
        let facts = Facts {
            http: u16::try_from(http).unwrap_or_default(),
            grpc: u8::try_from(grpc).unwrap_or(u8::MAX),
            matched: matched != 0,
            idempotent: idempotent != 0,
        };
        memory.rules.judge(facts, Failure::new(kind_of(kind))).kind.code().into()
    })
}

/// Says whether `rules` take an HTTP answer with that status for a failure.
#[unsafe(no_mangle)]
extern "C" fn is_failure(status: u32, idempotent: u32) -> u32 {
    layout::with(|memory| memory.rules.is_failure(status, idempotent != 0).into())
}

/// Reads the text as a time into `span`; 0 when it is none.
#[unsafe(no_mangle)]
extern "C" fn duration(len: u32) -> u32 {
    layout::with(|memory| spanned(memory, |memory| Span::parse(memory.text.get(len))))
}

fn kind_of(code: u32) -> FailureKind {
    FailureKind::from_code(code).unwrap_or(FailureKind::Permanent)
}

fn failure(memory: &Memory, kind: u32) -> Failure {
    Failure::new(kind_of(kind)).with_hint(Hint::from_raw(memory.span))
}

fn spanned(memory: &mut Memory, find: impl FnOnce(&mut Memory) -> Option<Span>) -> u32 {
    match find(memory) {
        Some(span) => {
            memory.span = span.as_nanos();
            1
        }
        None => 0,
    }
}
