//! The loop under a plain policy: the same decisions from a smaller machine.
//!
//! A web page loads the machine before it retries anything. Chains, powers, tables and states that come from elsewhere are
//! two thirds of it, and most policies have none. What is left decides in the same lines of code as [`Call`] does, so that
//! the decisions are the same bit for bit.

use crate::decide::call::{Call, Step, Ticket};
use crate::decide::failure::Failure;
use crate::describe::plain_policy::PlainPolicy;
use crate::time::Timestamp;
use core::mem::offset_of;

/// One call of an operation under a [`PlainPolicy`]: 56 bytes, `Copy`, no policy inside.
///
/// # Contract
/// That of [`Call`], for a host that asks only after a failure: [`PlainCall::underway`] makes one for an attempt that
/// already runs, and the inputs are [`PlainCall::fail`] and [`PlainCall::tick`]. The same policy should be lent each time.
/// Memory that another program has written reads as some call and never panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct PlainCall(Call);

impl PlainCall {
    /// A call whose first attempt already runs since `started`, see [`Call::underway`].
    #[must_use]
    #[inline]
    pub fn underway(seed: u64, started: Timestamp) -> Self {
        Self(Call::underway(seed, started))
    }

    /// Where in the memory of a call three bytes say which step holds: its kind, the cause of a sleep, and the reason for the
    /// end, all with the numbers of [`FlatStep`](crate::FlatStep). An attempt stays one while it runs.
    pub const HELD: usize = offset_of!(Call, phase);

    /// Until when the call sleeps or, at its end, when to retry; [`Timestamp::NEVER`] when nobody knows.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.0.at()
    }

    /// The ticket of the attempt in flight or, asleep or at the end, of the last one that ran.
    #[must_use]
    #[inline]
    pub const fn ticket(&self) -> Ticket {
        Ticket::from_raw(self.0.attempt() as u64)
    }

    /// The attempt with this ticket failed at `now`, see [`Call::fail`].
    #[inline]
    pub fn fail(&mut self, policy: &PlainPolicy, ticket: Ticket, now: Timestamp, failure: Failure) -> Step {
        self.0.failed::<false>(&policy.0, ticket, now, failure)
    }

    /// Nothing but time has passed, see [`Call::tick`].
    #[inline]
    pub fn tick(&mut self, policy: &PlainPolicy, now: Timestamp) -> Step {
        self.0.ticked::<false>(&policy.0, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::failure::FailureKind;
    use crate::decide::hint::Hint;
    use crate::decide::policy::Policy;
    use crate::describe::builder::PolicyBuilder;
    use crate::describe::plain_policy::PlainFields;
    use crate::field::Field;
    use crate::time::Span;
    use crate::value::Value;
    use crate::{ErrorCode, FlatStep};
    use proptest::prelude::*;

    const NOTHING: PlainFields = [f64::NAN; 15];
    const WORDS: [Field; 3] = [Field::BackoffKind, Field::JitterKind, Field::OnDeadline];

    /// What the reader of names and words makes of the same fields.
    fn read(fields: &PlainFields) -> Result<Policy, (ErrorCode, u8)> {
        let told = |error: crate::ConfigError| (error.code, error.field.map_or(0, Field::code));
        let mut builder = PolicyBuilder::default();
        for field in PlainPolicy::FIELDS {
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
            builder.set(field.path(), value).map_err(told)?;
        }
        builder.build().map_err(told)
    }

    /// A value, small ones and limits often.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            3 => Just(f64::NAN),
            2 => (0_u32..5).prop_map(f64::from),
            2 => 0.0..2000.0,
            1 => prop::sample::select(std::vec![-1.0, 0.5, 2.5, 1e3, 1e13, 1e20, 4_294_967_294.0, 4_294_967_295.0]),
        ]
    }

    fn fields() -> impl Strategy<Value = PlainFields> {
        let word = |field: Field| prop_oneof![2 => Just(f64::NAN), 1 => (0..field.words().count()).prop_map(|place| place as f64)];
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
                for (field, none) in PlainPolicy::LIMITS.into_iter().zip(endless) {
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

    #[test]
    fn nothing_given_is_the_default_policy() {
        assert_eq!(PlainPolicy::new(&NOTHING).unwrap().whole(), Policy::DEFAULT);
        let places = [offset_of!(Call, phase), offset_of!(Call, cause), offset_of!(Call, reason)];
        assert_eq!((size_of::<PlainCall>(), places), (56, [0, 1, 2].map(|place| PlainCall::HELD + place)));
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
            assert_eq!(PlainPolicy::new(&fields), Err((code, field.code())), "{field:?} = {value}");
        }
    }

    /// What a host reads of the memory of a call.
    fn held(call: &PlainCall) -> FlatStep {
        let Call { phase: kind, cause, reason, .. } = call.0;
        let over = kind == FlatStep::STOP;
        FlatStep {
            kind: if kind == FlatStep::ATTEMPT { FlatStep::WAIT } else { kind },
            outcome: if over { FlatStep::GAVE_UP } else { 0 },
            cause: if kind == FlatStep::SLEEP { cause } else { 0 },
            reason: if over { reason } else { 0 },
            at: if kind == FlatStep::ATTEMPT { u64::MAX } else { call.at().as_nanos() },
            ..FlatStep::from(Step::Wait { until: Timestamp::NEVER })
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_plain_policy_is_what_the_reader_makes_of_its_fields(fields in fields()) {
            let (plain, read) = (PlainPolicy::new(&fields).map(|policy| policy.whole()), read(&fields));
            match (plain, read) {
                (Err((ErrorCode::NotSupported, field)), _) => {
                    prop_assert!(field == Field::BackoffKind.code() || field == Field::JitterKind.code());
                }
                // Several rules may be broken, and which is told first differs.
                (Err(_), Err(_)) => {}
                (plain, read) => prop_assert_eq!(plain, read),
            }
        }

        #[test]
        fn a_plain_call_decides_as_the_whole_machine(
            fields in fields(),
            seed: u64,
            events in prop::collection::vec((0_u64..5_000_000_000, 0_u32..6, 0_u64..100_000_000_000, 0_u32..8), 1..20),
        ) {
            let Ok(plain) = PlainPolicy::new(&fields) else { return Ok(()) };
            let whole = plain.whole();
            let mut now = Timestamp::from_nanos(1_000);
            let (mut small, mut call) = (PlainCall::underway(seed, now), Call::underway(seed, now));
            for (passed, kind, hint, said) in events {
                now = now.after(Span::from_nanos(passed));
                let step = match FailureKind::from_code(kind) {
                    Some(kind) => {
                        let hint = match said {
                            0 => Hint::NEVER,
                            1..4 => Hint::after(Span::from_nanos(hint)),
                            _ => Hint::NONE,
                        };
                        let failure = Failure::new(kind).with_hint(hint);
                        let step = small.fail(&plain, small.ticket(), now, failure);
                        prop_assert_eq!(step, call.fail(&whole, Ticket::from_raw(call.attempt().into()), now, failure));
                        step
                    }
                    None => {
                        let step = small.tick(&plain, now);
                        prop_assert_eq!(step, call.tick(&whole, now));
                        step
                    }
                };
                if let Step::Sleep { until, .. } = step {
                    now = if kind == 5 { now } else { until };
                    prop_assert_eq!(small.tick(&plain, now), call.tick(&whole, now));
                }
                prop_assert_eq!(held(&small), FlatStep::from(small.0.held()));
            }
        }
    }
}
