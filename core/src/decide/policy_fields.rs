//! A policy from fields that a program gives in code, without names and texts: for programs that must be small.

use crate::decide::backoff::{BackoffKind, BackoffNumbers};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, JitterKind};
use crate::decide::policy::{FOREVER, OnDeadline, Policy, UNLIMITED};
use crate::decide::policy_table::{each_policy_number, kind_of_number};
use crate::decide::stage_numbers::StageNumbers;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;

/// The members of [`PolicyFields`].
macro_rules! fields {
    (
        shared { $($(#[doc = $own_doc:literal])+ $own:ident: $own_type:ident, $own_field:ident, $own_kind:ident $own_more:tt;)+ }
        simple { $($(#[doc = $doc:literal])+ $member:ident: $type:ident, $field:ident, $kind:ident $more:tt;)+ }
        $($others:tt)+
    ) => {
        /// The fields of a policy of one stage. [`PolicyFields::DEFAULT`] has those of the default policy; a policy may be a
        /// constant. `None` is no limit.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct PolicyFields {
            /// How delays grow.
            pub backoff: BackoffKind,
            /// The first delay.
            pub initial: Span,
            /// The longest delay, not below the first; a constant backoff has none.
            pub max: Span,
            /// [`BackoffKind::Linear`]: what each delay is longer.
            pub increment: Span,
            /// The factor or the exponent of a backoff that has one: finite, from 0 on, of a decorrelated one from 1 on.
            pub factor: f64,
            /// How delays are spread; [`JitterKind::None`] for a decorrelated backoff, which is its own jitter.
            pub jitter: JitterKind,
            /// The factor of a jitter that has one: finite, from 0 on, at most 1 but for [`JitterKind::Additive`].
            pub jitter_factor: f64,
            /// [`JitterKind::Bounded`]: its bound.
            pub jitter_bound: Span,
            $($(#[doc = $doc])+ pub $member: kind_of_number!(type $kind),)+
            $($(#[doc = $own_doc])+ pub $own: kind_of_number!(type $own_kind),)+
        }

        impl PolicyFields {
            /// The fields of [`Policy::DEFAULT`].
            pub const DEFAULT: Self = {
                let policy = Policy::DEFAULT;
                let stage = &policy.first().stage;
                Self {
                    backoff: BackoffKind::read(stage.kind),
                    initial: Span::from_nanos(stage.initial),
                    max: Span::from_nanos(stage.max),
                    increment: Span::ZERO,
                    factor: stage.factor(),
                    jitter: JitterKind::read(policy.own.jitter),
                    jitter_factor: 0.0,
                    jitter_bound: Span::ZERO,
                    $($member: policy.$member(),)+
                    $($own: policy.$own(),)+
                }
            };

            /// Gives a policy the numbers that are neither a backoff's nor a jitter's.
            const fn put_into(&self, policy: &mut Policy) {
                $(policy.$member = kind_of_number!(write $kind self.$member);)+
                $(policy.own.$own = kind_of_number!(write $own_kind self.$own);)+
            }
        }
    };
}

each_policy_number!(fields);

impl Default for PolicyFields {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PolicyFields {
    /// The policy with these fields: the same as [`Options::build`](crate::Options::build) makes of them.
    ///
    /// # Errors
    /// The first rule that is broken (spec 3).
    pub const fn build(self) -> Result<Policy, Error> {
        let mut policy = Policy::DEFAULT;
        match self.build_into(&mut policy) {
            Ok(()) => Ok(policy),
            Err(error) => Err(error),
        }
    }

    /// [`PolicyFields::build`] into a default policy, which after an error is any.
    ///
    /// # Errors
    /// As of [`PolicyFields::build`].
    pub const fn build_into(&self, policy: &mut Policy) -> Result<(), Error> {
        let jitter = self.jitter.code();
        let [first, ..] = &mut policy.stages;
        *first = StageNumbers::of(self.stage());
        policy.own.jitter = jitter;
        policy.own.jitter_by = match self.jitter {
            JitterKind::Bounded => self.jitter_bound.as_nanos(),
            _ if jitter::has_factor(jitter) => self.jitter_factor.to_bits(),
            _ => 0,
        };
        self.put_into(policy);
        if let Some((code, field, given)) = policy.first().stage.broken(policy.own.cap == jitter::CAP_CLIP) {
            return Err(Error::new(code, field, given));
        }
        if policy.first().stage.is_random() && jitter != jitter::NONE {
            return Err(Error::new(ErrorCode::NotForKind, Field::JitterKind, Quantity::None));
        }
        let (code, field) = match policy.broken_limit() {
            _ if jitter::breaks(jitter, policy.own.jitter_by) => (ErrorCode::JitterFactorRange, Field::JitterFactor),
            _ if policy.attempts == 0 => (ErrorCode::AttemptsRange, Field::Attempts),
            Some(broken) => broken,
            None => {
                policy.prepare_without_rules();
                return Ok(());
            }
        };
        Err(Error::new(code, field, Quantity::None))
    }

    /// The backoff as a stage without an end, for every kind of failure.
    const fn stage(&self) -> BackoffNumbers {
        let kind = self.backoff.code();
        let step = match (self.backoff, BackoffNumbers::step_of(kind)) {
            (BackoffKind::Linear, _) => self.increment.as_nanos(),
            (_, Some(_)) => self.factor.to_bits(),
            _ => 0,
        };
        let max = if matches!(self.backoff, BackoffKind::Constant) { Span::MAX } else { self.max };
        BackoffNumbers { initial: self.initial.as_nanos(), step, max: max.as_nanos(), kind, ..BackoffNumbers::EMPTY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Value};
    use proptest::prelude::*;
    use std::string::ToString as _;

    /// The policy that options make of the same fields.
    fn by_options(fields: &PolicyFields) -> Result<Policy, ErrorCode> {
        let mut options = Options::NEW;
        let mut set = |path: &str, value: Value<'_>| options.set(path, value).map(|_| ()).map_err(|error| error.code);
        let number = |value: f64| Value::Number { value, unit: 1.0 };
        let nanos = |span: Span| Value::Nanos(span.as_nanos());
        let constant = fields.backoff == BackoffKind::Constant;
        set("backoff", Value::Text(fields.backoff.name()))?;
        set(if constant { "backoff.delay" } else { "backoff.initial" }, nanos(fields.initial))?;
        if !constant {
            set("backoff.max", nanos(fields.max))?;
        }
        match fields.backoff {
            BackoffKind::Linear => set("backoff.increment", nanos(fields.increment))?,
            BackoffKind::Exponential | BackoffKind::Decorrelated => set("backoff.factor", number(fields.factor))?,
            BackoffKind::Polynomial => set("backoff.exponent", number(fields.factor))?,
            _ => {}
        }
        set("jitter", Value::Text(fields.jitter.name()))?;
        match fields.jitter {
            JitterKind::Additive | JitterKind::Proportional | JitterKind::Subtractive => {
                set("jitter.factor", number(fields.jitter_factor))?;
            }
            JitterKind::Bounded => set("jitter.bound", nanos(fields.jitter_bound))?,
            _ => {}
        }
        set("cap", Value::Text(fields.cap.name()))?;
        set("attempts", fields.attempts.map_or(Value::Text("forever"), |count| number(count.into())))?;
        let limit = |span: Option<Span>| span.map_or(Value::Text("none"), |span| Value::Nanos(span.as_nanos()));
        set("deadline", limit(fields.deadline))?;
        set("attempt_timeout", limit(fields.attempt_timeout))?;
        set("min_attempt", Value::Nanos(fields.min_attempt.as_nanos()))?;
        set("on_deadline", Value::Text(fields.on_deadline.name()))?;
        options.build().map_err(|error| error.code)
    }

    fn span() -> impl Strategy<Value = Span> {
        prop_oneof![Just(Span::ZERO), (0..1_000_000_000_u64).prop_map(Span::from_nanos), Just(Span::MAX)]
    }

    fn factor() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(2.0), -1.0..3.0, Just(f64::NAN), Just(f64::INFINITY)]
    }

    proptest! {
        #[test]
        fn fields_make_the_policy_that_options_make_of_them(
            (backoff, initial, max, increment, factor) in (0..7_usize, span(), span(), span(), factor()),
            (jitter, jitter_factor, jitter_bound) in (0..7_usize, factor(), span()),
            cap in 0..3_usize, attempts in prop_oneof![Just(None), (0..9_u32).prop_map(Some)],
            deadline in proptest::option::of(span()), timeout in proptest::option::of(span()), min_attempt in span(), clip: bool,
        ) {
            let cap = [Cap::KeepSpread, Cap::BeforeJitter, Cap::Clip][cap];
            let on_deadline = if clip { OnDeadline::Clip } else { OnDeadline::Stop };
            let fields = PolicyFields {
                backoff: BackoffKind::ALL[backoff], initial, max, increment, factor,
                jitter: JitterKind::ALL[jitter], jitter_factor, jitter_bound, cap, attempts, deadline, min_attempt, on_deadline, attempt_timeout: timeout,
                ..PolicyFields::default()
            };
            match (fields.build(), by_options(&fields)) {
                (Ok(built), Ok(wanted)) => prop_assert_eq!(built, wanted),
                // Options read values one by one, so that of several faults they may name another.
                (Err(_), Err(_)) => {}
                (built, wanted) => prop_assert!(false, "{built:?} against {wanted:?}"),
            }
        }
    }

    #[test]
    fn the_default_fields_are_those_of_the_default_policy() {
        assert_eq!(PolicyFields::default().build(), Ok(Policy::DEFAULT));
    }

    #[test]
    fn each_broken_rule_has_its_number_and_field() {
        let broken = |change: &dyn Fn(&mut PolicyFields)| {
            let mut fields = PolicyFields::default();
            change(&mut fields);
            let error = fields.build().unwrap_err();
            (error.code, error.path().to_string())
        };
        assert_eq!(broken(&|f| f.attempts = Some(0)), (ErrorCode::AttemptsRange, "attempts".into()));
        assert_eq!(broken(&|f| f.attempts = Some(u32::MAX)), (ErrorCode::AttemptsRange, "attempts".into()));
        assert_eq!(broken(&|f| f.deadline = Some(Span::ZERO)), (ErrorCode::ZeroLimit, "deadline".into()));
        assert_eq!(
            broken(&|f| f.on_deadline = OnDeadline::Clip),
            (ErrorCode::ClipNeedsMinAttempt, "on_deadline".into())
        );
        let negative = |f: &mut PolicyFields| (f.jitter, f.jitter_factor) = (JitterKind::Additive, -1.0);
        assert_eq!(broken(&negative), (ErrorCode::JitterFactorRange, "jitter.factor".into()));
    }
}
