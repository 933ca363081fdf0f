//! What JavaScript calls. Wasm exports need their names, which counts as unsafe.
#![allow(unsafe_code)]

use crate::desk::{self, Desk};
use holdoff_core::{
    Call, ConfigError, Decision, ErrorCode, Facts, Failure, FailureKind, Hint, HintReader, Kept, Operations, Outcome,
    Policy, Retry, Schedule, Span, Step, Ticket, Value, seed_at,
};

/// Nanoseconds in one unit of a plain number: JavaScript counts milliseconds.
const MILLISECOND: f64 = 1e6;

/// Starts a policy in the builder.
#[unsafe(no_mangle)]
extern "C" fn policy_start() {
    desk::with(|desk| desk.builder = Policy::builder());
}

/// What [`policy_set`] answers beside the length of a problem: JavaScript keeps the patterns. The others are bits beside it.
const KEPT: u32 = 1 << 31;
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
    desk::with(|desk| {
        let value = match kind {
            1 => Value::Text(desk.text.get(value)),
            2 => Value::Number { value: desk.number, unit: MILLISECOND },
            3 => Value::Nothing,
            4 => Value::Empty,
            5 => Value::Number { value: desk.number, unit: f64::NAN },
            6 => Value::NoItems,
            _ => Value::Other,
        };
        let of = |list| KEPT | if list == Operations::NonIdempotent { NON_IDEMPOTENT } else { 0 };
        match desk.builder.set(desk.name.get(name), value) {
            Ok(Kept::All) => 0,
            Ok(Kept::Guard) => KEPT | GUARD,
            Ok(Kept::NoPatterns(list)) => of(list) | BEGINS,
            Ok(Kept::Pattern { list, index, .. }) => of(list) | PATTERN | if index == 0 { BEGINS } else { 0 },
            Err(error) => desk.explain(&error),
        }
    })
}

/// Turns the builder into `policy` and `rules`, and its first limit into `span`. 0, that its preset has guards, or the length
/// of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn policy_build() -> u32 {
    desk::with(|desk| match desk.builder.build() {
        Ok(policy) => {
            desk.policy = policy;
            desk.rules = desk.builder.rules();
            desk.span = policy.first_limit().map_or(u64::MAX, Span::as_nanos);
            let guards = desk.builder.chosen_preset().is_some_and(|preset| !preset.guards().is_new());
            if guards { KEPT | GUARD } else { 0 }
        }
        Err(error) => desk.explain(&error),
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

/// The next delay of `schedule` after a failure of that kind if `number` is drawn for it, into `span`; 0 when there is none.
#[unsafe(no_mangle)]
extern "C" fn schedule_next_at(kind: u32) -> u32 {
    desk::with(|desk| {
        let u = desk.number;
        spanned(desk, |desk| desk.schedule.next_at(kind_of(kind), u))
    })
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

/// Begins to read the header lines of an answer that came at `now` by the clock on the wall.
#[unsafe(no_mangle)]
extern "C" fn headers() {
    desk::with(|desk| desk.reader = HintReader::new(desk.now));
}

/// Takes one header line: its name, and its value as the text.
#[unsafe(no_mangle)]
extern "C" fn header(name: u32, value: u32) {
    desk::with(|desk| desk.reader.header(desk.name.bytes(name), desk.text.bytes(value)));
}

/// The kind of an HTTP answer, 0 when it is no failure, and into `span` what its header lines say; a status of 0 is that of
/// an answer without one.
#[unsafe(no_mangle)]
extern "C" fn http(status: u32) -> u32 {
    desk::with(|desk| {
        desk.span = desk.reader.hint_for(status).as_raw();
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
    desk::with(|desk| desk.rules.patterns(idempotent != 0).map_or(0, |list| list as u32))
}

/// What `rules` make of a failure of that kind, of which these facts are known; `u32::MAX` for a code that is not known.
#[unsafe(no_mangle)]
extern "C" fn judge(kind: u32, http: u32, grpc: u32, matched: u32, idempotent: u32) -> u32 {
    desk::with(|desk| {
        let facts = Facts {
            http: u16::try_from(http).unwrap_or_default(),
            grpc: u8::try_from(grpc).unwrap_or(u8::MAX),
            matched: matched != 0,
            idempotent: idempotent != 0,
        };
        desk.rules.judge(facts, Failure::new(kind_of(kind))).kind.code().into()
    })
}

/// Whether `rules` take an HTTP answer with that status for a failure.
#[unsafe(no_mangle)]
extern "C" fn is_failure(status: u32, idempotent: u32) -> u32 {
    desk::with(|desk| desk.rules.is_failure(status, idempotent != 0).into())
}

/// Reads the text as a time into `span`; 0 when it is none.
#[unsafe(no_mangle)]
extern "C" fn duration(len: u32) -> u32 {
    desk::with(|desk| spanned(desk, |desk| Span::parse(desk.text.get(len))))
}

fn kind_of(code: u32) -> FailureKind {
    FailureKind::from_code(code).unwrap_or(FailureKind::Permanent)
}

fn failure(desk: &Desk, kind: u32) -> Failure {
    Failure::new(kind_of(kind)).with_hint(Hint::from_raw(desk.span))
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
