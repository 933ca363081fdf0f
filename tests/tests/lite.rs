//! `holdoff/lite` decides as the core does: its reader of numbers and its machine, held against the core's.

use conformance::lite::call::Call as LiteCall;
use conformance::lite::policy::{Fields, Policy as LitePolicy};
use conformance::lite::{FIELDS, LIMITS};
use holdoff_core::{
    Backoff, Call, Error, ErrorCode, Failure, FailureKind, Field, Hint, Jitter, OnDeadline, Options, Policy, RawStep,
    Span, Step, Ticket, Timestamp, Value,
};
use proptest::prelude::*;

const NOTHING: Fields = [f64::NAN; 15];
const WORDS: [Field; 3] = [Field::BackoffKind, Field::JitterKind, Field::OnDeadline];

/// The core's policy of the same fields, from its reader of names and words.
fn read(fields: &Fields) -> Result<Policy, (ErrorCode, u8)> {
    let code = |error: Error| (error.code, error.field.map_or(0, Field::code));
    let mut builder = Options::default();
    for field in FIELDS {
        let value = fields[usize::from(field.code())];
        if value.is_nan() {
            continue;
        }
        let word = if field == Field::Attempts { "forever" } else { "none" };
        let value = match value {
            f64::INFINITY => Value::Text(word),
            _ if WORDS.contains(&field) => Value::Text(field.words().nth(value as usize).unwrap()),
            _ => Value::Number { value, unit: 1e6 },
        };
        builder.set(field.path(), value).map_err(code)?;
    }
    builder.build().map_err(code)
}

/// A value, small ones and limits often.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => Just(f64::NAN),
        2 => (0_u32..5).prop_map(f64::from),
        2 => 0.0..2000.0,
        1 => prop::sample::select(vec![-1.0, 0.5, 2.5, 1e3, 1e13, 1e20, 4_294_967_294.0, 4_294_967_295.0]),
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    let word =
        |field: Field| prop_oneof![2 => Just(f64::NAN), 1 => (0..field.words().count()).prop_map(|place| place as f64)];
    let words = WORDS.map(word);
    (
        prop::array::uniform15(number()),
        words,
        prop::array::uniform5(prop::bool::weighted(0.1)),
        0_u32..1 << 23,
        0_u32..1 << 23,
    )
        .prop_map(move |(mut fields, words, endless, some, others)| {
            for (field, word) in WORDS.into_iter().zip(words) {
                fields[usize::from(field.code())] = word;
            }
            for (field, none) in LIMITS.into_iter().zip(endless) {
                if none {
                    fields[usize::from(field.code())] = f64::INFINITY;
                }
            }
            // With all fields given some rule is always broken.
            for (place, field) in fields.iter_mut().enumerate() {
                if (some & others) >> place & 1 == 0 {
                    *field = f64::NAN;
                }
            }
            fields
        })
}

/// The numbers of a policy of the core's that has one stage.
fn numbers(policy: &Policy) -> LitePolicy {
    let nanos = |span: Option<Span>| span.map_or(u64::MAX, Span::as_nanos);
    let one = LitePolicy {
        deadline: nanos(policy.deadline()),
        min_attempt: policy.min_attempt().as_nanos(),
        attempt_timeout: nanos(policy.attempt_timeout()),
        hint_max: policy.hint_max().as_nanos(),
        attempts: policy.attempts().unwrap_or(u32::MAX),
        on_deadline: u8::from(policy.on_deadline() == OnDeadline::Clip),
        jitter: match policy.jitter() {
            Jitter::None => LitePolicy::NONE,
            Jitter::Full => LitePolicy::FULL,
            Jitter::Equal => LitePolicy::EQUAL,
            other => panic!("{other:?} is not in holdoff/lite"),
        },
        ..LitePolicy::DEFAULT
    };
    let growing =
        |kind, initial: Span, max: Span| LitePolicy { kind, initial: initial.as_nanos(), max: max.as_nanos(), ..one };
    match policy.stages().next().unwrap().backoff {
        Backoff::Constant { delay } => growing(LitePolicy::CONSTANT, delay, Span::MAX),
        Backoff::Linear { initial, increment, max } => {
            LitePolicy { increment: increment.as_nanos(), ..growing(LitePolicy::LINEAR, initial, max) }
        }
        Backoff::Exponential { initial, factor, max } => {
            LitePolicy { factor, ..growing(LitePolicy::EXPONENTIAL, initial, max) }
        }
        Backoff::Decorrelated { initial, factor, max } => {
            LitePolicy { factor, ..growing(LitePolicy::DECORRELATED, initial, max) }
        }
        other => panic!("{other:?} is not in holdoff/lite"),
    }
}

/// The same without the numbers that a backoff of its kind does not use.
fn used(policy: LitePolicy) -> LitePolicy {
    let LitePolicy { increment, factor, .. } = LitePolicy::DEFAULT;
    match policy.kind {
        LitePolicy::CONSTANT => LitePolicy { increment, factor, ..policy },
        LitePolicy::LINEAR => LitePolicy { factor, ..policy },
        _ => LitePolicy { increment, ..policy },
    }
}

#[test]
fn no_field_is_the_default_policy() {
    assert_eq!(used(LitePolicy::new(&NOTHING).unwrap()), numbers(&Policy::DEFAULT));
    assert_eq!(numbers(&Policy::DEFAULT), LitePolicy::DEFAULT);
}

#[test]
fn a_broken_rule_is_told_with_its_field() {
    for (field, value, code) in [
        (Field::Attempts, 0.0, ErrorCode::AttemptsRange),
        (Field::Attempts, 2.5, ErrorCode::AttemptsRange),
        (Field::Deadline, 0.0, ErrorCode::ZeroLimit),
        (Field::BackoffInitial, -1.0, ErrorCode::NotADuration),
        (Field::BackoffInitial, f64::INFINITY, ErrorCode::NotADuration),
        (Field::BackoffFactor, -0.5, ErrorCode::FactorRange),
        (Field::BackoffIncrement, 1.0, ErrorCode::NotForKind),
        (Field::BackoffKind, 3.0, ErrorCode::NotSupported),
        (Field::OnDeadline, 1.0, ErrorCode::ClipNeedsMinAttempt),
    ] {
        let mut fields = NOTHING;
        fields[usize::from(field.code())] = value;
        assert_eq!(LitePolicy::new(&fields), Err((code, field.code())), "{field:?} = {value}");
    }
}

/// The step that a call's memory has, as the core's. An attempt is one as long as it runs.
fn held(call: &LiteCall) -> (u8, u64, u8, u8) {
    let (sleeps, over) = (call.step == RawStep::SLEEP, call.step == RawStep::STOP);
    let at = if sleeps || over { call.at.as_nanos() } else { 0 };
    (call.step, at, if sleeps { call.cause } else { 0 }, if over { call.reason } else { 0 })
}

/// The same of the core's step.
fn expected(step: Step) -> (u8, u64, u8, u8) {
    let RawStep { kind, at, cause, reason, .. } = RawStep::from(step);
    match step {
        Step::Attempt { .. } | Step::Wait { .. } => (RawStep::ATTEMPT, 0, 0, 0),
        Step::Sleep { .. } | Step::Stop(_) => (kind, at, cause, reason),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_policy_of_numbers_is_what_the_reader_makes_of_its_fields(fields in fields()) {
        match (LitePolicy::new(&fields), read(&fields)) {
            (Err((ErrorCode::NotSupported, field)), _) => {
                prop_assert!(field == Field::BackoffKind.code() || field == Field::JitterKind.code());
            }
            // Several rules may be broken, and which is reported first differs.
            (Err(_), Err(_)) => {}
            (lite, core) => prop_assert_eq!(lite.map(used), core.map(|policy| used(numbers(&policy)))),
        }
    }

    #[test]
    fn a_call_decides_as_the_core_does(
        fields in fields(),
        seed: u64,
        events in prop::collection::vec((0_u64..5_000_000_000, 0_u32..6, 0_u64..100_000_000_000, 0_u32..8), 1..20),
    ) {
        let (Ok(small), Ok(policy)) = (LitePolicy::new(&fields), read(&fields)) else { return Ok(()) };
        let mut now = Timestamp::ZERO;
        let (mut lite, mut call) = (LiteCall::underway(seed), Call::underway(seed, now));
        for (passed, kind, hint, hinted) in events {
            now = now.after(Span::from_nanos(passed));
            let step = match FailureKind::from_code(kind) {
                Some(kind) => {
                    let hint = match hinted {
                        0 => Hint::NEVER,
                        1..4 => Hint::after(Span::from_nanos(hint)),
                        _ => Hint::NONE,
                    };
                    let failure = Failure::new(kind).with_hint(hint);
                    lite.fail(&small, now, failure);
                    call.fail(&policy, Ticket::from_raw(call.attempt().into()), now, failure)
                }
                None => {
                    lite.tick(&small, now);
                    call.tick(&policy, now)
                }
            };
            prop_assert_eq!(held(&lite), expected(step));
            if let Step::Sleep { until, .. } = step {
                now = if kind == 5 { now } else { until };
                lite.tick(&small, now);
                let step = call.tick(&policy, now);
                prop_assert_eq!(held(&lite), expected(step));
                if let Step::Attempt { ticket, abort_at, .. } = step {
                    prop_assert_eq!((lite.attempt, lite.at), (ticket.attempt(), abort_at));
                }
            }
        }
    }
}
