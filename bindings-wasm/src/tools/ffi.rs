//! Values, policies and errors between JavaScript and the core, read and made once for every function.

use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, Call, Error,
    ErrorCode, Failure, FailureKind, Field, GateConfig, HedgeConfig, Hint, HostText, Latency, Limiter, LimiterConfig,
    Operations, Options, Policy, Preset, Quantity, RawStep, Retry, Rules, Span, Step, Stretch, StretchConfig, Ticket,
    Timestamp, Value, WaitBackoff,
};
use js_sys::{Array, BigInt, Reflect, Uint32Array};
use wasm_bindgen::convert::TryFromJsValue as _;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"import type { Failure } from "../failure.js";
import type { PresetName } from "../fields.js";
import type { Call, Retry, Step } from "../machine.js";
import type { Length } from "../memory.js";
import type { Policy } from "../policy.js";
import type { Same, Time } from "../times.js";
import type { Answer, FailureKind, FormName, StopReason } from "../words.js";
import type {
  AnyPolicy,
  BucketOptions,
  ChromiumPolicy,
  ExplainOptions,
  Explanation,
  ExponentialOptions,
  FlowcontrolOptions,
  FromForm,
  GateOptions,
  GatesOptions,
  GateState,
  KubernetesBackoff,
  LayeredState,
  LayersOptions,
  Lint,
  LintOptions,
  LoopBackoffReset,
  PeriodicOptions,
  PeriodicState,
  PeriodicStep,
  Event,
  Log,
  Recorded,
  RecorderOptions,
  ReplayOptions,
  ResumeOptions,
  Saved,
  WaitBackoffOptions,
  WaitBackoffState,
} from "./types.js";

declare global {
  interface SymbolConstructor {
    /** Declared here for programs whose `lib` is older. */
    readonly dispose: unique symbol;
  }
}
"#;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "AnyPolicy")]
    pub type AnyPolicy;
    #[wasm_bindgen(typescript_type = "Policy")]
    pub type PolicyObject;

    /// The policy of a value that is one, or its fields, or the name of a preset.
    #[wasm_bindgen(catch, js_name = policyOf)]
    fn made_policy(value: &JsValue) -> Answer<PolicyObject>;
    /// The same of a value that must be one.
    #[wasm_bindgen(catch, js_name = checkPolicy)]
    fn check_policy(value: &JsValue) -> Answer<PolicyObject>;
    #[wasm_bindgen(method, getter)]
    fn words(this: &PolicyObject) -> Vec<u32>;
    #[wasm_bindgen(method, getter)]
    fn rules(this: &PolicyObject) -> Option<RulesObject>;
    #[wasm_bindgen(method, getter, js_name = guardFields)]
    fn guard_fields(this: &PolicyObject) -> JsValue;

    pub type RulesObject;
    #[wasm_bindgen(method, getter)]
    fn words(this: &RulesObject) -> Vec<u32>;
    #[wasm_bindgen(method, getter)]
    fn patterns(this: &RulesObject) -> Array;

    /// A field of a guard.
    pub type GuardField;
    #[wasm_bindgen(method, getter)]
    fn path(this: &GuardField) -> String;
    #[wasm_bindgen(method, getter)]
    fn value(this: &GuardField) -> JsValue;
    /// Nanoseconds in one where the value is a number.
    #[wasm_bindgen(js_name = unitOf)]
    fn unit_of(field: &GuardField) -> f64;

    /// The value, if it is an object of fields.
    #[wasm_bindgen(catch, js_name = checkFields)]
    pub(super) fn check_fields(value: JsValue) -> Answer<JsValue>;
    /// True for an object of fields.
    #[wasm_bindgen(js_name = isFields)]
    pub(super) fn is_fields(value: &JsValue) -> bool;
    /// The names and values of such an object: a getter may throw.
    #[wasm_bindgen(catch, js_name = entriesOf)]
    fn entries_of(value: &JsValue) -> Answer<Array>;
    /// A value as errors show it.
    #[wasm_bindgen(js_name = shown)]
    pub(super) fn show(value: &JsValue) -> String;
    #[wasm_bindgen(js_name = configError)]
    fn config_error(
        code: u16,
        word: &str,
        path: &str,
        value: &JsValue,
        unit: &str,
        rule: &str,
        nearest: Option<&str>,
    ) -> JsValue;
    #[wasm_bindgen(js_name = makePolicy)]
    fn make_policy(
        words: Vec<u32>,
        limit: f64,
        rules: Option<Vec<u32>>,
        patterns: Vec<String>,
        guards: Option<Vec<u32>>,
    ) -> PolicyObject;
}

/// A value for JavaScript, or what it throws.
pub type Answer<T> = Result<T, JsValue>;

/// Numbers without padding. Every bit pattern is a value, so JavaScript keeps them as words.
///
/// # Safety
/// Only for such types.
pub(super) unsafe trait Words: Copy {}
macro_rules! words {
    ($($type:ty),+) => { $(
        // SAFETY: the core says of each type that its state is its bytes, and that every bit pattern is valid.
        unsafe impl Words for $type {}
    )+ };
}
words!(Policy, Rules, Options, Retry, Call, GateConfig, WaitBackoff);
words!(BudgetConfig, Budget, BreakerConfig, Breaker, LimiterConfig, Limiter, BulkheadConfig, Bulkhead);
words!(AdaptiveConfig, Adaptive, StretchConfig, Stretch, HedgeConfig, Latency);

/// The value of these words; none where there are more or fewer.
pub(super) fn from_words<T: Words>(words: &[u32]) -> Option<T> {
    // SAFETY: there are as many bytes, and each bit pattern is a value.
    (size_of_val(words) == size_of::<T>()).then(|| unsafe { words.as_ptr().cast::<T>().read_unaligned() })
}

/// The words of a value.
pub(super) fn to_words<T: Words>(value: &T) -> Vec<u32> {
    // SAFETY: the value has no padding, and is aligned to words.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(value).cast(), size_of::<T>() / 4) }.to_vec()
}

/// The error of the core about a field that was called `name` and had that value, as JavaScript throws it.
pub(super) fn fail(error: &Error, name: &str, value: &JsValue) -> JsValue {
    let path = error.field.map_or(error.name, Field::path);
    throwable(error, if path.is_empty() { name } else { path }, value)
}

/// The same by the path that was given, whatever the core calls the field.
pub(super) fn throwable(error: &Error, path: &str, value: &JsValue) -> JsValue {
    let (value, unit) = match error.value {
        _ if !value.is_undefined() => (value.clone(), ""),
        Quantity::None => (JsValue::UNDEFINED, ""),
        Quantity::Number(number) => (number.into(), ""),
        Quantity::Span(span) => (millis(span).into(), "ms"),
    };
    config_error(error.code.code(), error.code.name(), path, &value, unit, error.rule(), error.nearest)
}

/// The error with that code about a value that is none of the core's.
pub(super) fn misuse(code: ErrorCode, path: &str, value: &JsValue) -> JsValue {
    throwable(&Error::of_use(code), path, value)
}

pub(super) fn millis(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// A value as the core reads it, numbers counting that unit. Items and fields are read one by one.
fn read<T>(value: &JsValue, unit: f64, take: impl FnOnce(Value<'_>) -> T) -> T {
    let text = value.as_string();
    take(match (&text, value.as_f64()) {
        (Some(text), _) => Value::Text(text),
        (_, Some(value)) => Value::Number { value, unit },
        _ if value.is_null() || value.is_undefined() => Value::Nothing,
        _ if Array::is_array(value) => Value::NoItems,
        _ if is_fields(value) => Value::Empty,
        _ => u64::try_from_js_value_ref(value).map_or(Value::Other, Value::Nanos),
    })
}

/// A value of a flat object as the core reads it, numbers and bigints as they are.
pub(super) fn read_raw<T>(value: &JsValue, take: impl FnOnce(Value<'_>) -> T) -> T {
    let digits = value.dyn_ref::<BigInt>().and_then(|number| number.to_string(10).ok()).map(String::from);
    if let Some(digits) = digits {
        return take(Value::Text(&digits));
    }
    read(value, 1.0, |read| take(if matches!(read, Value::Empty | Value::NoItems) { Value::Other } else { read }))
}

/// Calls `take` with the path of every field of an object or a list, the value, and what the core reads of it.
pub(super) fn walk(
    value: &JsValue,
    path: String,
    depth: u32,
    take: &mut dyn FnMut(&str, &JsValue, Value<'_>) -> Answer<()>,
) -> Answer<()> {
    if depth > DEPTH {
        return take(&path, value, Value::Other);
    }
    if let Some(list) = value.dyn_ref::<Array>().filter(|list| list.length() > 0) {
        return list
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| walk(&item, format!("{path}[{at}]"), depth + 1, take));
    }
    let fields = if is_fields(value) { entries_of(value)? } else { Array::new() };
    if fields.length() == 0 && (depth > 0 || !is_fields(value)) {
        return read(value, 1.0, |read| take(&path, value, read));
    }
    pairs(&fields).try_for_each(|(name, value)| {
        let inner = if depth == 0 { name } else { format!("{path}.{name}") };
        walk(&value, inner, depth + 1, take)
    })
}

/// The names and values of an object's fields.
pub(super) fn entries(object: &JsValue) -> Answer<Vec<(String, JsValue)>> {
    entries_of(object).map(|entries| pairs(&entries).collect())
}

fn pairs(entries: &Array) -> impl Iterator<Item = (String, JsValue)> {
    entries.iter().map(|entry| {
        let entry = entry.unchecked_into::<Array>();
        (entry.get(0).as_string().unwrap_or_default(), entry.get(1))
    })
}

/// A text that may be missing. Half a character, as a cut leaves it, is none that other languages could read.
pub(super) fn text(value: Option<&impl AsRef<JsValue>>, name: &str) -> Answer<Option<String>> {
    let Some(value) = value.map(AsRef::as_ref) else { return Ok(None) };
    value.as_string().map(Some).ok_or_else(|| misuse(ErrorCode::WrongType, name, value))
}

/// No field lies deeper, and an object may hold itself.
const DEPTH: u32 = 8;

/// The fields of an options object, which may be left out.
pub(super) struct Fields<'v>(Option<&'v JsValue>);

impl<'v> Fields<'v> {
    /// Takes the fields of an object that must be given.
    pub(super) const fn at(options: &'v JsValue) -> Self {
        Self(Some(options))
    }

    pub(super) fn of<T: AsRef<JsValue>>(options: &'v Option<T>) -> Self {
        Self(options.as_ref().map(AsRef::as_ref))
    }

    /// The value of a field; none where it is null or undefined.
    pub(super) fn get(&self, name: &str) -> Answer<Option<JsValue>> {
        let Some(options) = self.0.filter(|options| options.is_object()) else { return Ok(None) };
        let value = Reflect::get(options, &name.into())?;
        Ok(if value.is_null() || value.is_undefined() { None } else { Some(value) })
    }

    /// A whole number of 32 bits; the error with that code for another value.
    pub(super) fn integer(&self, name: &str, code: ErrorCode) -> Answer<Option<u32>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let number =
            value.as_f64().filter(|number| *number >= 0.0 && *number <= f64::from(u32::MAX) && number.fract() == 0.0);
        number.map(|number| Some(number as u32)).ok_or_else(|| misuse(code, name, &value))
    }

    /// A number of 64 bits.
    pub(super) fn exact(&self, name: &str) -> Answer<Option<u64>> {
        self.get(name)?.map(|value| exact(&value, name)).transpose()
    }

    /// A number; no number for any other value, which the core refuses.
    pub(super) fn real(&self, name: &str, otherwise: f64) -> Answer<f64> {
        Ok(self.get(name)?.map_or(otherwise, |value| value.as_f64().unwrap_or(f64::NAN)))
    }

    pub(super) fn flag(&self, name: &str, otherwise: bool) -> Answer<bool> {
        Ok(self.get(name)?.map_or(otherwise, |value| value.is_truthy()))
    }

    /// One of the words that `read` knows.
    pub(super) fn word<T>(&self, name: &str, read: impl FnOnce(&str) -> Option<T>, otherwise: T) -> Answer<T> {
        let Some(value) = self.get(name)? else { return Ok(otherwise) };
        value.as_string().and_then(|word| read(&word)).ok_or_else(|| misuse(ErrorCode::WrongType, name, &value))
    }

    /// A length of time that must be given.
    pub(super) fn required(&self, name: &str) -> Answer<Span> {
        length(&self.get(name)?.unwrap_or_default(), name)
    }

    /// A length of time, or `"none"`.
    pub(super) fn limit(&self, name: &str, otherwise: Option<Span>) -> Answer<Option<Span>> {
        match self.get(name)? {
            None => Ok(otherwise),
            Some(value) if value.as_string().is_some_and(|text| text == "none") => Ok(None),
            Some(value) => length(&value, name).map(Some),
        }
    }

    /// A length of time.
    pub(super) fn length(&self, name: &str) -> Answer<Option<Span>> {
        self.get(name)?.map(|value| length(&value, name)).transpose()
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &str) -> Answer<Vec<String>> {
        let Some(value) = self.get(name)? else { return Ok(Vec::new()) };
        let texts = value.dyn_ref::<Array>().and_then(|list| list.iter().map(|text| text.as_string()).collect());
        texts.ok_or_else(|| misuse(ErrorCode::WrongType, name, &value))
    }
}

/// A length of time: milliseconds, text with a unit, or nanoseconds as a bigint.
pub(super) fn length(value: &JsValue, name: &str) -> Answer<Span> {
    let span = match (value.as_f64(), value.as_string()) {
        (Some(millis), _) => Span::from_float(millis, 1e6),
        (_, Some(text)) => Span::parse(&text),
        _ => u64::try_from_js_value_ref(value).filter(|nanos| *nanos <= Span::MAX.as_nanos()).map(Span::from_nanos),
    };
    span.ok_or_else(|| misuse(ErrorCode::NotADuration, name, value))
}

/// The kind of a failure by its word.
pub(super) fn kind(word: &JsValue) -> Answer<FailureKind> {
    let kind = word.as_string().and_then(|word| FailureKind::from_name(&word));
    kind.ok_or_else(|| misuse(ErrorCode::UnknownFailureKind, "failure", word))
}

/// A policy with its rules, their patterns and its guards.
#[derive(Default)]
pub(super) struct FullPolicy {
    pub(super) policy: Policy,
    pub(super) rules: Rules,
    pub(super) patterns: [Vec<String>; 2],
    pub(super) guards: Options,
}

/// A policy that JavaScript made, alone.
pub(super) fn policy_of(value: &PolicyObject) -> Answer<Policy> {
    Ok(from_words(&check_policy(value)?.words()).unwrap_or_default())
}

impl FullPolicy {
    /// Reads a policy, its fields or the name of a preset.
    pub(super) fn of(value: &AnyPolicy) -> Answer<Self> {
        Self::read(&made_policy(value)?)
    }

    /// Reads a policy that JavaScript made.
    pub(super) fn of_policy(value: &PolicyObject) -> Answer<Self> {
        Self::read(&check_policy(value)?)
    }

    fn read(object: &PolicyObject) -> Answer<Self> {
        let mut full = Self { policy: from_words(&object.words()).unwrap_or_default(), ..Self::default() };
        if let Some(rules) = object.rules() {
            full.rules = from_words(&rules.words()).unwrap_or_default();
            let list = |at| Array::from(&rules.patterns().get(at)).iter().filter_map(|text| text.as_string()).collect();
            full.patterns = [list(0), list(1)];
        }
        full.guards = guards_of(&object.guard_fields())?;
        Ok(full)
    }

    /// The policy for JavaScript.
    pub(super) fn into_object(self) -> PolicyObject {
        let limit = self.policy.first_limit().map_or(f64::INFINITY, |limit| limit.as_nanos() as f64);
        let rules = (self.rules != Rules::NONE).then(|| to_words(&self.rules));
        let guards = (self.guards != Options::NEW).then(|| to_words(&self.guards));
        let [patterns, _] = self.patterns;
        make_policy(to_words(&self.policy), limit, rules, patterns, guards)
    }

    /// Keeps a pattern that the core has read.
    pub(super) fn keep(&mut self, text: &HostText<'_>) {
        if let HostText::Pattern { operations: Operations::All, text, .. } = text {
            let [patterns, _] = &mut self.patterns;
            patterns.push((*text).into());
        }
    }
}

/// The guards among a policy's fields, or the words of guards that the core has made.
fn guards_of(fields: &JsValue) -> Answer<Options> {
    let mut guards = Options::NEW;
    let Some(list) = fields.dyn_ref::<Array>() else {
        let words = fields.dyn_ref::<Uint32Array>().map(Uint32Array::to_vec);
        return Ok(words.and_then(|words| from_words(&words)).unwrap_or(guards));
    };
    let mut preset = None;
    for field in list.iter().map(JsCast::unchecked_into::<GuardField>) {
        let (path, value) = (field.path(), field.value());
        if path == "preset" {
            preset = value.as_string().and_then(|name| Preset::from_name(&name));
            continue;
        }
        read(&value, unit_of(&field), |read| guards.set_field(&path, read))
            .map_err(|error| fail(&error, &path, &value))?;
    }
    Ok(preset.map_or(guards, |preset| guards.preset(preset).guards()))
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    /// A time whose type the answer has, too.
    #[wasm_bindgen(typescript_type = "T")]
    pub type Time;
    #[wasm_bindgen(typescript_type = "Same<T>")]
    pub type SameTime;
    #[wasm_bindgen(typescript_type = "Time")]
    pub type AnyTime;
    #[wasm_bindgen(typescript_type = "Length")]
    pub type Length;
    #[wasm_bindgen(typescript_type = "number")]
    pub type Draw;
    #[wasm_bindgen(typescript_type = "number | bigint")]
    pub type Whole;
    #[wasm_bindgen(typescript_type = "Failure | FailureKind")]
    pub type FailureObject;
    #[wasm_bindgen(typescript_type = "Step<Same<T>>")]
    pub type StepObject;

    #[wasm_bindgen(js_name = makeStep)]
    fn make_step(codes: u32, attempt: u32, at: JsValue, wake_at: JsValue) -> StepObject;
}

/// A time, or another number of 64 bits: a number that holds it exactly, Infinity for never, or a bigint.
pub(super) fn exact(value: &JsValue, name: &str) -> Answer<u64> {
    let number = match value.as_f64() {
        Some(f64::INFINITY) => Some(u64::MAX),
        Some(number) if (0.0..=js_sys::Number::MAX_SAFE_INTEGER).contains(&number) => Some(number as u64),
        Some(_) => None,
        None => u64::try_from_js_value_ref(value),
    };
    number.ok_or_else(|| misuse(ErrorCode::TimeRange, name, value))
}

/// A time called `now`.
pub(super) fn time_of(value: &JsValue) -> Answer<Timestamp> {
    exact(value, "now").map(Timestamp::from_nanos)
}

/// Nanoseconds as the type of a time that was given; 2^64-1 is never.
pub(super) fn like(sample: &JsValue, nanos: u64) -> SameTime {
    let time: JsValue = match nanos {
        _ if sample.is_bigint() => nanos.into(),
        u64::MAX => f64::INFINITY.into(),
        _ => (nanos as f64).into(),
    };
    time.unchecked_into()
}

/// The seed of a machine.
pub(super) fn seed_of(value: &JsValue) -> Answer<u64> {
    let number = match value.as_f64() {
        Some(number) if (0.0..=js_sys::Number::MAX_SAFE_INTEGER).contains(&number) && number.fract() == 0.0 => {
            Some(number as u64)
        }
        Some(_) => None,
        None => u64::try_from_js_value_ref(value),
    };
    number.ok_or_else(|| misuse(ErrorCode::SeedRange, "seed", value))
}

/// The ticket of an attempt. A ticket that no attempt has is answered with the step that holds.
pub(super) fn ticket_of(value: &JsValue) -> Answer<Ticket> {
    match value.as_f64() {
        Some(number) => Ok(Ticket::from_raw(if number.fract() == 0.0 { number as u64 } else { 0 })),
        None if value.is_bigint() => Ok(Ticket::from_raw(u64::try_from_js_value_ref(value).unwrap_or(0))),
        None => Err(misuse(ErrorCode::WrongType, "ticket", value)),
    }
}

/// A draw from [0, 1), JavaScript's own unless given. Another value is no number, which the core reads as it does.
pub(super) fn draw(given: Option<Draw>) -> f64 {
    given.map_or_else(js_sys::Math::random, |draw| draw.as_f64().unwrap_or(f64::NAN))
}

/// A failure: its kind, or its kind and its hint.
pub(super) fn failure_of(value: &JsValue) -> Answer<Failure> {
    if value.is_string() {
        return kind(value).map(Failure::new);
    }
    let fields = Fields(Some(value));
    let kind = kind(&fields.get("kind")?.unwrap_or_default())?;
    Ok(Failure::new(kind).with_hint(fields.get("hint")?.map_or(Ok(Hint::NONE), |hint| hint_of(&hint))?))
}

/// A hint: milliseconds, text with a unit, nanoseconds as a bigint, or never. A time in the past is now, and the longest time
/// stands for what is too long.
fn hint_of(value: &JsValue) -> Answer<Hint> {
    let wrong = || misuse(ErrorCode::NotADuration, "hint", value);
    Ok(match (value.as_f64(), value.as_string()) {
        (Some(millis), _) if millis.is_nan() => Hint::NONE,
        (Some(millis), _) => Hint::from_raw((millis * 1e6 + 0.5).floor().clamp(0.0, 2_f64.powi(63)) as u64),
        (_, Some(text)) if text == "never" => Hint::NEVER,
        (_, Some(text)) => Hint::after(Span::parse(&text).ok_or_else(wrong)?),
        _ if !value.is_bigint() => return Err(wrong()),
        _ if value.lt(&JsValue::from(0_u64)) => Hint::after(Span::ZERO),
        _ => Hint::from_raw(u64::try_from_js_value_ref(value).unwrap_or(u64::MAX).min(Hint::NEVER.as_raw() - 1)),
    })
}

/// A step, its times of the type of a time that was given.
pub(super) fn step(sample: &JsValue, step: Step) -> StepObject {
    let raw = RawStep::from(step);
    let codes = u32::from_le_bytes([raw.kind, raw.outcome, raw.reason, raw.cause]);
    make_step(codes, raw.attempt, like(sample, raw.at).into(), like(sample, raw.wake_at).into())
}
