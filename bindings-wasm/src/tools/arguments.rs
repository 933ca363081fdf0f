//! Arguments and fields that JavaScript gives, read as the core's types.

use super::ffi::{Answer, FromJs, js_types, misuse, property};
use holdoff_core::{
    Answer as Found, Direction, ErrorCode, Failure, FailureKind, Form, Growth, Hint, RawStep, ReplayMode, Span, Step,
    Ticket, Timer, Timestamp,
};
use js_sys::{Array, Number};
use std::marker::PhantomData;
use wasm_bindgen::convert::TryFromJsValue as _;
use wasm_bindgen::prelude::*;

js_types! {
    Time = "Time",
    /// A time whose type the answer has, too.
    SampleTime = "T",
    SameTime = "Same<T>", LengthValue = "Length", NumberValue = "number", Whole = "number | bigint",
    FailureObject = "Failure | FailureKind", StepObject = "Step<Same<T>>", Text = "string", FormName = "FormName",
    AnswerWord = "Answer", KindWord = "FailureKind", Key = "K",
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(js_name = makeStep)]
    fn make_step(codes: u32, attempt: u32, at: &JsValue, wake_at: &JsValue) -> JsValue;
}

/// Declares how types are read: the type, its type in declarations, the error of other values, and what is read.
macro_rules! from_js {
    ($($type:ty as $js:ty, $code:ident, |$value:ident| $read:expr;)+) => { $(
        impl FromJs for $type {
            type Js = $js;
            #[inline(never)]
            fn from_js($value: &JsValue, name: &str) -> Answer<Self> {
                $read.ok_or_else(|| misuse(ErrorCode::$code, name, $value))
            }
        }
    )+ };
}
from_js! {
    // A time, or another number of 64 bits: a number that holds it exactly, Infinity for never, or a bigint.
    u64 as Time, TimeRange, |value| match value.as_f64() {
        Some(f64::INFINITY) => Some(u64::MAX),
        Some(number) => Some(number as u64).filter(|_| (0.0..=Number::MAX_SAFE_INTEGER).contains(&number)),
        None => u64::try_from_js_value_ref(value),
    };
    Timestamp as Time, TimeRange, |value| u64::from_js(value, "").ok().map(Timestamp::from_nanos);
    // A whole number with a sign.
    i64 as Whole, WrongType, |value| match value.as_f64() {
        Some(number) => Some(number as i64).filter(|_| is_integer(number)),
        None => i64::try_from_js_value_ref(value),
    };
    u32 as NumberValue, WrongType, |value| value.as_f64().filter(|number| is_u32(*number)).map(|number| number as u32);
    Seed as Whole, SeedRange, |value| match value.as_f64() {
        Some(number) => Some(Seed(number as u64)).filter(|_| number >= 0.0 && is_integer(number)),
        None => u64::try_from_js_value_ref(value).map(Seed),
    };
    // A ticket that no attempt has is answered with the step that holds.
    Ticket as Whole, WrongType, |value| match value.as_f64() {
        Some(number) => Some(Ticket::from_raw(if number.fract() == 0.0 { number as u64 } else { 0 })),
        None => value.is_bigint().then(|| Ticket::from_raw(u64::try_from_js_value_ref(value).unwrap_or(0))),
    };
    // Milliseconds, text with a unit, or nanoseconds as a bigint.
    Span as LengthValue, NotADuration, |value| match (value.as_f64(), value.as_string()) {
        (Some(millis), _) => Span::from_float(millis, 1e6),
        (_, Some(text)) => Span::parse(&text),
        _ => u64::try_from_js_value_ref(value).filter(|nanos| *nanos <= Span::MAX.as_nanos()).map(Span::from_nanos),
    };
    Limit as LengthValue, NotADuration, |value| match *value == *"none" {
        true => Some(Limit(None)),
        false => Span::from_js(value, "").ok().map(|span| Limit(Some(span))),
    };
    // A time in the past is now, and the longest time stands for what is too long.
    Hint as LengthValue, NotADuration, |value| match (value.as_f64(), value.as_string()) {
        (Some(millis), _) if millis.is_nan() => Some(Hint::NONE),
        (Some(millis), _) => Some(Hint::from_raw((millis * 1e6 + 0.5).floor().clamp(0.0, 2_f64.powi(63)) as u64)),
        (_, Some(text)) if text == "never" => Some(Hint::NEVER),
        (_, Some(text)) => Span::parse(&text).map(Hint::after),
        _ if !value.is_bigint() => None,
        _ if value.lt(&0_u64.into()) => Some(Hint::after(Span::ZERO)),
        _ => Some(Hint::from_raw(u64::try_from_js_value_ref(value).unwrap_or(u64::MAX).min(Hint::NEVER.as_raw() - 1))),
    };
    // Half a character, as a cut leaves it, is none that other languages could read.
    String as Text, WrongType, |value| value.as_string();
    Vec<String> as JsValue, WrongType, |value|
        value.dyn_ref::<Array>().and_then(|list| list.iter().map(|text| text.as_string()).collect());
    FailureKind as KindWord, UnknownFailureKind, |value| value.as_string().and_then(|word| FailureKind::from_name(&word));
    Found as AnswerWord, WrongType, |value| value.as_string().and_then(|word| Found::from_name(&word));
    Direction as Text, WrongType, |value| value.as_string().and_then(|word| Direction::from_name(&word));
    Growth as Text, WrongType, |value| value.as_string().and_then(|word| Growth::from_name(&word));
    ReplayMode as Text, WrongType, |value| value.as_string().and_then(|word| ReplayMode::from_name(&word));
    Timer as Text, WrongType, |value| value.as_string().and_then(|word| Timer::from_name(&word));
    Form as FormName, UnknownWord, |value| Form::from_name(&String::from_js(value, "form")?);
    // Any other value is no number, which the core refuses or reads as it does.
    f64 as NumberValue, WrongType, |value| Some(value.as_f64().unwrap_or(f64::NAN));
    Draw as Option<NumberValue>, WrongType, |value| match value.is_undefined() {
        true => Some(Draw(js_sys::Math::random())),
        false => Some(Draw(value.as_f64().unwrap_or(f64::NAN))),
    };
    bool as JsValue, WrongType, |value| Some(value.is_truthy());
    Key as Key, WrongType, |value| Some(value.clone().unchecked_into());
}

fn is_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= Number::MAX_SAFE_INTEGER
}

pub(super) fn is_u32(number: f64) -> bool {
    f64::from(number as u32) == number
}

/// The seed of a machine.
#[derive(Clone, Copy)]
pub struct Seed(pub(super) u64);

/// None for null and undefined.
impl<T: FromJs> FromJs for Option<T> {
    type Js = Option<T::Js>;
    fn from_js(value: &JsValue, name: &str) -> Answer<Self> {
        if value.is_null() || value.is_undefined() { Ok(None) } else { T::from_js(value, name).map(Some) }
    }
}

/// A length of time, or `"none"`.
pub struct Limit(pub(super) Option<Span>);

/// A draw from [0, 1), JavaScript's own unless given.
pub struct Draw(pub(super) f64);

/// A kind, or an object with a kind and a hint.
impl FromJs for Failure {
    type Js = FailureObject;
    fn from_js(value: &JsValue, name: &str) -> Answer<Self> {
        if value.is_string() {
            return FailureKind::from_js(value, name).map(Self::new);
        }
        let kind = FailureKind::from_js(&property(value, "kind")?, name)?;
        let hint: Option<Hint> = FromJs::from_js(&property(value, "hint")?, "hint")?;
        let rule = match property(value, "rule")?.as_f64() {
            None => 0,
            Some(0.0) => Self::NO_RULE,
            Some(rule) => rule as u8,
        };
        Ok(Self { rule, ..Self::new(kind).with_hint(hint.unwrap_or(Hint::NONE)) })
    }
}

#[inline(never)]
fn field<T: FromJs>(object: &JsValue, name: &str) -> Answer<T> {
    T::from_js(&property(object, name)?, name)
}

/// A value of the type that declarations call `J`, and its fields.
pub struct Argument<J>(pub(super) JsValue, PhantomData<J>);
impl<J> FromJs for Argument<J> {
    type Js = J;
    fn from_js(value: &JsValue, _: &str) -> Answer<Self> {
        Ok(Self(value.clone(), PhantomData))
    }
}
impl<J> Argument<J> {
    /// A field that must be given, or whose type has a value for undefined.
    pub(super) fn get<T: FromJs>(&self, name: &str) -> Answer<T> {
        field(&self.0, name)
    }

    /// A field, or else that value.
    pub(super) fn or<T: FromJs>(&self, name: &str, otherwise: T) -> Answer<T> {
        Ok(self.get::<Option<T>>(name)?.unwrap_or(otherwise))
    }
}

/// Puts the fields of an argument over those of a struct of the core's that have the same names but for their case.
macro_rules! fill {
    ($options:ident, $fields:ident: $($field:ident),+) => {
        $($options.$field = $fields.or(&crate::tools::arguments::camel(stringify!($field)), $options.$field)?;)+
    };
}
pub(super) use fill;

/// A name as JavaScript writes it.
#[inline(never)]
pub(super) fn camel(name: &str) -> String {
    let mut after = ' ';
    let put =
        |letter: char| if core::mem::replace(&mut after, letter) == '_' { letter.to_ascii_uppercase() } else { letter };
    name.chars().map(put).filter(|letter| *letter != '_').collect()
}

/// A time whose type the times of the answer have.
#[derive(Clone, Copy)]
pub struct Now {
    pub(super) time: Timestamp,
    is_bigint: bool,
}
impl FromJs for Now {
    type Js = SampleTime;
    fn from_js(value: &JsValue, name: &str) -> Answer<Self> {
        Ok(Self { time: Timestamp::from_js(value, name)?, is_bigint: value.is_bigint() })
    }
}
impl Now {
    /// Samples: a number, and a bigint.
    pub(super) const NUMBER: Self = Self { time: Timestamp::ZERO, is_bigint: false };
    pub(super) const BIGINT: Self = Self { time: Timestamp::ZERO, is_bigint: true };

    /// Nanoseconds in the type of this time; 2^64-1 is never.
    #[inline(never)]
    pub(super) fn like(self, nanos: u64) -> SameTime {
        let time: JsValue = match nanos {
            _ if self.is_bigint => nanos.into(),
            u64::MAX => f64::INFINITY.into(),
            _ => (nanos as f64).into(),
        };
        time.unchecked_into()
    }

    /// A step, its times of the type of this time.
    #[inline(never)]
    pub(super) fn step(self, step: Step) -> StepObject {
        let raw = RawStep::from(step);
        let codes = u32::from_le_bytes([raw.kind, raw.outcome, raw.reason, raw.cause]);
        make_step(codes, raw.attempt, &self.like(raw.at), &self.like(raw.wake_at)).unchecked_into()
    }
}
