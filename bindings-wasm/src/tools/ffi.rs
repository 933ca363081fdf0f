//! Values, policies and errors between JavaScript and the core, read and made once for every function.

use holdoff_core::{
    Call, Error, ErrorCode, Explanation, Gate, GateConfig, HostText, Options, Policy, Preset, Quantity, Retry, Rules,
    Span, TextList, Texts, Value, WaitBackoff, each_guard, write_document,
};
use js_sys::{Array, BigInt, Object, Reflect, Uint32Array};
use wasm_bindgen::convert::TryFromJsValue as _;
use wasm_bindgen::prelude::*;

/// The types of arguments and answers, and those from elsewhere that only functions and classes name.
#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = concat!(
    include_str!("../../src-ts/tools/types.ts"),
    r#"import type { Failure } from "../hooks.js";
import type { Same } from "../values.js";
import type { Answer, FormName } from "../words.js";
"#
);

/// Declares types of JavaScript's, each by its name in TypeScript.
macro_rules! js_types {
    ($($(#[$meta:meta])* $name:ident = $typescript:literal),+ $(,)?) => {
        #[wasm_bindgen]
        extern "C" {
            $($(#[$meta])*
            #[wasm_bindgen(typescript_type = $typescript)]
            pub type $name;)+
        }
    };
}

/// Functions and methods for JavaScript, a row each, by the names that they have there. Arguments are read as the types that
/// they say, see [`FromJs`], and the body, in which `?` throws, is the answer.
macro_rules! functions {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty $body:block)+) => { $(
        $(#[$meta])*
        #[wasm_bindgen]
        #[allow(non_snake_case, reason = "a name of JavaScript's")]
        pub fn $name($($arg: <$type as FromJs>::Js),*) -> Answer<$out> {
            $(let $arg = <$type as FromJs>::from_js(&$arg.into(), stringify!($arg))?;)*
            let answer = $body;
            Ok(answer)
        }
    )+ };
}
macro_rules! methods {
    ($class:ident; $(
        $(#[$meta:meta])* fn $name:ident($(&$($this:ident)+;)? $($arg:ident: $type:ty),*) -> $out:ty $body:block
    )+) => {
        #[wasm_bindgen]
        #[allow(non_snake_case, reason = "names of JavaScript's")]
        impl $class { $(
            $(#[$meta])*
            pub fn $name($(&$($this)+,)? $($arg: <$type as FromJs>::Js),*) -> Answer<$out> {
                $(let $arg = <$type as FromJs>::from_js(&$arg.into(), stringify!($arg))?;)*
                let answer = $body;
                Ok(answer)
            }
        )+ }
    };
}

/// A plain object with these fields.
macro_rules! object {
    ($($name:ident: $value:expr),+ $(,)?) => {{
        let object = js_sys::Object::new();
        $(crate::tools::ffi::put(&object, stringify!($name), &$value.into());)+
        object.unchecked_into()
    }};
}
pub(super) use {functions, js_types, methods, object};

#[inline(never)]
pub(super) fn put(object: &Object, name: &str, value: &JsValue) {
    // Nothing forbids a new object a field.
    let _ = Reflect::set(object, &name.into(), value);
}

js_types! {
    AnyPolicy = "AnyPolicy", PolicyObject = "Policy",
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    /// The policy of a value that is one, or its fields, or the name of a preset.
    #[wasm_bindgen(catch, js_name = policyOf)]
    fn made_policy(value: &JsValue) -> Answer<JsValue>;
    /// The same of a value that must be one.
    #[wasm_bindgen(catch, js_name = checkPolicy)]
    pub(super) fn check_policy(value: &JsValue) -> Answer<JsValue>;
    /// True for an object of fields.
    #[wasm_bindgen(js_name = isFields)]
    pub(super) fn is_fields(value: &JsValue) -> bool;
    /// The names and values of such an object: a getter may throw.
    #[wasm_bindgen(catch, js_name = entriesOf)]
    fn entries_of(value: &JsValue) -> Answer<Array>;
    /// A value as errors show it.
    #[wasm_bindgen(js_name = shown)]
    pub(super) fn show(value: &JsValue) -> String;
    /// The core's error with that number about a value.
    pub(super) fn problem(code: u16, path: &str, value: &JsValue, cause: &JsValue) -> JsValue;
    #[wasm_bindgen(js_name = configError)]
    fn config_error(parts: Object, value: &JsValue, unit: &str) -> JsValue;
}

/// A value for JavaScript, or what it throws.
pub type Answer<T> = Result<T, JsValue>;

/// A type of the core's that an argument or a field of JavaScript's stands for.
pub trait FromJs: Sized {
    /// The argument's type in declarations.
    type Js;
    /// Reads a value. An error tells the name.
    fn from_js(value: &JsValue, name: &str) -> Answer<Self>;
}

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
words!(Policy, Rules, Retry, Call, Gate, GateConfig, WaitBackoff);
macro_rules! guards {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        words!($($config, $state),*);
    };
}
each_guard!(guards);

/// The value whose words these are; none for a value that is no array, or has more or fewer.
pub(super) fn from_words<T: Words>(words: &JsValue) -> Option<T> {
    // SAFETY: there are as many bytes, and each bit pattern is a value.
    words_of(words, size_of::<T>()).map(|words| unsafe { words.as_ptr().cast::<T>().read_unaligned() })
}

/// An array of words, if it has so many bytes.
#[inline(never)]
fn words_of(words: &JsValue, bytes: usize) -> Option<Vec<u32>> {
    let words = words.dyn_ref::<Uint32Array>()?.to_vec();
    (size_of_val(&*words) == bytes).then_some(words)
}

/// The words of a value.
pub(super) fn to_words<T: Words>(value: &T) -> Vec<u32> {
    // SAFETY: the value has no padding, and is aligned to words.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(value).cast(), size_of::<T>() / 4) }.to_vec()
}

/// A property; undefined of a value that has none.
#[inline(never)]
pub(super) fn property(object: &JsValue, name: &str) -> Answer<JsValue> {
    if object.is_object() { Reflect::get(object, &name.into()) } else { Ok(JsValue::UNDEFINED) }
}

/// The error of the core about something that was called `name` and had that value, as JavaScript throws it.
pub(super) fn fail(error: &Error, name: &str, value: &JsValue) -> JsValue {
    let path = error.path().to_string();
    throwable(error, if path.is_empty() { name } else { &path }, value)
}

/// The same about arguments that are checked together.
pub(super) fn fail_together(error: Error) -> JsValue {
    fail(&error, "", &JsValue::UNDEFINED)
}

/// The same by the path that was given, whatever the core calls the field.
#[inline(never)]
pub(super) fn throwable(error: &Error, path: &str, value: &JsValue) -> JsValue {
    let (value, unit) = match error.value {
        _ if !value.is_undefined() => (value.clone(), ""),
        Quantity::None => (JsValue::UNDEFINED, ""),
        Quantity::Number(number) => (number.into(), ""),
        Quantity::Span(span) => (millis(span).into(), "ms"),
    };
    let (code, rule, nearest) = (error.code, error.rule(), error.nearest);
    let parts = object! { code: code.code(), word: code.name(), path: path, rule: rule, nearest: nearest };
    config_error(parts, &value, unit)
}

/// The error with that code about a value that is none of the core's.
#[inline(never)]
pub(super) fn misuse(code: ErrorCode, path: &str, value: &JsValue) -> JsValue {
    problem(code.code(), path, value, &JsValue::UNDEFINED)
}

pub(super) fn millis(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// A value as the core reads it, numbers counting that unit. Items and fields are read one by one.
pub(super) fn read<T>(value: &JsValue, unit: f64, take: impl FnOnce(Value<'_>) -> T) -> T {
    let text = value.as_string();
    take(match (&text, value.as_f64()) {
        (Some(text), _) => Value::Text(text),
        (_, Some(value)) => Value::Number { value, unit },
        _ if value.is_null() || value.is_undefined() => Value::Nothing,
        _ if value.as_bool().is_some() => Value::Flag(value.is_truthy()),
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

/// The names and values of an object's fields.
pub(super) fn entries(object: &JsValue) -> Answer<Vec<(String, JsValue)>> {
    let pairs = entries_of(object)?.into_iter().map(JsCast::unchecked_into::<Array>);
    Ok(pairs.map(|entry| (entry.get(0).as_string().unwrap_or_default(), entry.get(1))).collect())
}

/// A policy with its rules, their patterns and its guards.
#[derive(Default)]
pub struct FullPolicy {
    pub(super) policy: Policy,
    pub(super) rules: Rules,
    pub(super) texts: Texts,
    pub(super) guards: Options,
}

/// A policy, its fields or the name of a preset.
impl FromJs for FullPolicy {
    type Js = AnyPolicy;
    fn from_js(value: &JsValue, _: &str) -> Answer<Self> {
        let object = made_policy(value)?;
        let mut full = Self { policy: Policy::from_js(&object, "")?, ..Self::default() };
        let rules = property(&object, "rules")?;
        if let Some(words) = from_words(&property(&rules, "words")?) {
            full.rules = words;
            for text in Array::from(&property(&rules, "texts")?).iter().map(JsCast::unchecked_into::<Array>) {
                let number = |at| text.get(at).as_f64().unwrap_or_default() as u8;
                let (alternative, list, text) =
                    (number(0), TextList::from_code(number(1).into()), text.get(2).as_string());
                if let (Some(list), Some(text)) = (list, &text) {
                    full.texts.store(HostText::Text { alternative, list, begins: false, text });
                }
            }
        }
        full.guards = guards_of(&property(&object, "guardFields")?)?;
        // The budget that its loop brings, or none, is not a field of its guards.
        let budgets = property(&object, "budgets")?;
        if !full.guards.names_budget() {
            let named = if budgets.is_undefined() {
                Some(Value::Text("none"))
            } else {
                property(&budgets, "capacity")?.as_f64().map(|value| Value::Number { value, unit: f64::NAN })
            };
            if let Some(named) = named {
                full.guards.set_field("budget", named).map_err(|error| fail(&error, "budget", &budgets))?;
            }
        }
        Ok(full)
    }
}

/// A policy that JavaScript made.
impl FromJs for Policy {
    type Js = PolicyObject;
    fn from_js(value: &JsValue, _: &str) -> Answer<Self> {
        Ok(from_words(&property(&check_policy(value)?, "words")?).unwrap_or_default())
    }
}

/// A policy of JavaScript's, which many machines share: each has its address alone.
#[derive(Clone)]
pub struct SharedPolicy(JsValue);
impl FromJs for SharedPolicy {
    type Js = PolicyObject;
    fn from_js(value: &JsValue, _: &str) -> Answer<Self> {
        check_policy(value).map(Self)
    }
}
impl SharedPolicy {
    pub(super) fn read(&self) -> Policy {
        property(&self.0, "words").ok().and_then(|words| from_words(&words)).unwrap_or_default()
    }
}

impl FullPolicy {
    /// The policy as a document of ours.
    pub(super) fn document(&self) -> String {
        let Self { policy, rules, texts, guards } = self;
        let mut text = String::new();
        let each = &mut |alternative, list, put: &mut dyn FnMut(&str) -> core::fmt::Result| {
            texts.get(alternative, list).try_for_each(put)
        };
        let _ = write_document(policy, rules, guards, each, &mut text);
        text
    }

    /// The delays, with the guards and all lints.
    pub(super) fn explain(&self) -> Explanation {
        self.policy.explain().guarded(&self.guards).judged(&self.rules)
    }

    /// Keeps a pattern that the core has read.
    pub(super) fn keep(&mut self, text: &HostText<'_>) {
        self.texts.store(*text);
    }
}

/// The guards among a policy's fields.
fn guards_of(fields: &JsValue) -> Answer<Options> {
    let (mut guards, mut preset) = (Options::NEW, None);
    for field in fields.dyn_ref::<Array>().unwrap_or(&Array::new()).iter() {
        let (path, value) = (property(&field, "path")?.as_string().unwrap_or_default(), property(&field, "value")?);
        if path == "preset" {
            preset = value.as_string().and_then(|name| Preset::from_name(&name));
            continue;
        }
        // Numbers count milliseconds in code; a document has no times without a unit.
        let unit = if property(&field, "kind")? == NUMBER { 1e6 } else { f64::NAN };
        read(&value, unit, |read| guards.set_field(&path, read)).map_err(|error| fail(&error, &path, &value))?;
    }
    Ok(preset.map_or(guards, |preset| guards.preset(preset).guards()))
}

/// The kind of a field that is a number in code, see `src-ts/values.ts`.
const NUMBER: f64 = 2.0;
