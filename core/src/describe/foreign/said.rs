//! The fields that the systems' forms have in common, as plain numbers.

use super::Form;
use crate::time::Span;
use crate::value::Value;

/// The meaning of a field of a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Item {
    /// How many attempts or retries there may be.
    Attempts = 0,
    /// The first delay.
    Initial = 1,
    /// The longest delay.
    Max = 2,
    /// The factor of a delay.
    Factor = 3,
    /// The part of a delay that may be added.
    Jitter = 4,
    /// Which backoff: its number in [`Said::strategy`].
    Strategy = 5,
    /// How long the operation may take.
    Deadline = 6,
    /// The gRPC codes that are retried.
    Codes = 7,
    /// A text in the message of an error that is retried.
    Patterns = 8,
    /// The types of errors that are not retried.
    Types = 9,
    /// The object around the fields.
    Group = 10,
    /// A function, which no document holds.
    Function = 11,
    /// Nothing that a retry depends on.
    Ignored = 12,
    /// The most tokens of a throttle.
    Tokens = 13,
    /// The reward of a success for a throttle.
    Ratio = 14,
    /// How many attempts a hedge makes.
    Hedges = 15,
    /// How long after one another they start.
    HedgeDelay = 16,
    /// The gRPC codes that do not end a hedge.
    NonFatal = 17,
}

impl Item {
    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Codes | Self::Patterns | Self::Types | Self::NonFatal)
    }

    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// The values of a form. Every bit pattern is one.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub(super) struct Said {
    /// Nanoseconds.
    pub(super) initial: u64,
    pub(super) max: u64,
    pub(super) deadline: u64,
    pub(super) factor: f64,
    pub(super) jitter: f64,
    pub(super) attempts: u64,
    /// A throttle's.
    pub(super) tokens: u64,
    pub(super) ratio: f64,
    /// A hedge's, in nanoseconds.
    pub(super) delay: u64,
    /// One of the numbers below.
    pub(super) strategy: u32,
    /// One bit for each field that was given.
    pub(super) given: u32,
}

/// langgraphgo's numbers of its backoffs; Aster's words have the same.
pub(super) const FIXED: u32 = 0;
pub(super) const EXPONENTIAL: u32 = 1;
pub(super) const LINEAR: u32 = 2;

impl Said {
    pub(super) const NOTHING: Self = Self {
        initial: 0,
        max: 0,
        deadline: 0,
        factor: 0.0,
        jitter: 0.0,
        attempts: 0,
        tokens: 0,
        ratio: 0.0,
        delay: 0,
        strategy: FIXED,
        given: 0,
    };

    pub(super) const fn has(&self, item: Item) -> bool {
        self.given & item.bit() != 0
    }

    pub(super) const fn give(&mut self, item: Item) {
        self.given |= item.bit();
    }

    pub(super) const fn forget(&mut self, item: Item) {
        self.given &= !item.bit();
    }

    /// Attempts as a policy counts them; more than it can count read as the most that it can.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.attempts).unwrap_or(u32::MAX).min(u32::MAX.wrapping_sub(1))
    }

    /// True if there are more attempts than 32 bits with a sign hold, as some systems count them.
    pub(super) const fn is_beyond_int(&self) -> bool {
        self.attempts > i32::MAX as u64
    }

    /// Takes a value that is no entry of a list; whether the field takes it.
    pub(super) fn set(&mut self, form: Form, item: Item, value: Value<'_>) -> bool {
        match item {
            Item::Attempts | Item::Hedges => store(&mut self.attempts, whole(value)),
            Item::Initial => store(&mut self.initial, time(form, value)),
            Item::Max => store(&mut self.max, bound(form, value)),
            Item::Deadline => store(&mut self.deadline, time(form, value)),
            Item::Tokens => store(&mut self.tokens, whole(value)),
            Item::Ratio => store(&mut self.ratio, number(value)),
            Item::HedgeDelay => store(&mut self.delay, time(form, value)),
            Item::Factor => store(&mut self.factor, number(value)),
            Item::Jitter => store(&mut self.jitter, number(value)),
            Item::Strategy => store(&mut self.strategy, strategy(form, value)),
            _ => false,
        }
    }
}

fn store<T>(place: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *place = value;
            true
        }
        None => false,
    }
}

/// A finite number.
fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Number { value, .. } if value.is_finite() => Some(value),
        _ => None,
    }
}

/// A whole number from 0 on; what 64 bits do not hold is their most.
fn whole(value: Value<'_>) -> Option<u64> {
    let number = number(value)?;
    let whole = number as u64;
    if whole as f64 == number || number >= 18_446_744_073_709_551_615.0 { Some(whole) } else { None }
}

/// The first number of nanoseconds that no span has.
const TOO_LONG: u64 = 1 << 63;

/// A time as the form writes it, in nanoseconds.
fn time(form: Form, value: Value<'_>) -> Option<u64> {
    let nanos = match (form, value) {
        (_, Value::Nanos(nanos)) if form != Form::Aster || nanos.is_multiple_of(1_000_000) => nanos,
        (Form::Grpc | Form::Temporal, Value::Text(text)) => protobuf(text)?.as_nanos(),
        (Form::Kubernetes | Form::Langgraphgo, Value::Text(text)) => go(text)?.as_nanos(),
        (Form::Kubernetes | Form::Langgraphgo, Value::Number { .. }) => match whole(value)? {
            // The longest time as a double has it.
            TOO_LONG => Span::MAX.as_nanos(),
            nanos => nanos,
        },
        (Form::Aster, Value::Number { .. }) => whole(value)?.checked_mul(1_000_000)?,
        _ => return None,
    };
    if nanos > Span::MAX.as_nanos() { None } else { Some(nanos) }
}

/// The longest delay as the form writes it. Kubernetes has none if it is not positive.
fn bound(form: Form, value: Value<'_>) -> Option<u64> {
    match number(value) {
        Some(number) if form == Form::Kubernetes && number < 0.0 && number % 1.0 == 0.0 => Some(0),
        _ => time(form, value),
    }
}

/// Text that protobuf reads as a duration: seconds with up to nine decimals and an `s`. A digit is missing before or behind
/// the point in gRPC's own examples (`".1s"`), so it may be.
fn protobuf(text: &str) -> Option<Span> {
    let number = text.strip_suffix('s')?;
    let decimals = number.split_once('.').map_or("", |(_, decimals)| decimals);
    if decimals.len() > 9 { None } else { part(number, 1_000_000_000).map(Span::from_nanos) }
}

/// Text that Go's `time.ParseDuration` reads, if it is not negative: `"1m30s"`, `"1.5h"`, `"0"`.
fn go(text: &str) -> Option<Span> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(Span::ZERO);
    }
    let mut rest = text;
    let mut sum = 0_u64;
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    loop {
        let (number, behind) = rest.split_at_checked(rest.find(|c| !is_number(c))?)?;
        let (unit, next) = behind.split_at_checked(behind.find(is_number).unwrap_or(behind.len()))?;
        let unit = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        sum = sum.checked_add(part(number, unit)?)?;
        if next.is_empty() {
            return if sum > Span::MAX.as_nanos() { None } else { Some(Span::from_nanos(sum)) };
        }
        rest = next;
    }
}

/// Decimal digits with perhaps a point among them, times `unit`; what is below a nanosecond is dropped.
fn part(number: &str, unit: u64) -> Option<u64> {
    let (digits, decimals) = number.split_once('.').unwrap_or((number, ""));
    let all = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (digits.is_empty() && decimals.is_empty()) || !all(digits) || !all(decimals) {
        return None;
    }
    let worth = |byte: u8| u64::from(byte & 0x0f);
    let mut whole = 0_u64;
    for byte in digits.bytes() {
        whole = whole.checked_mul(10)?.checked_add(worth(byte))?;
    }
    // From the last digit to the first, each division drops less than a nanosecond, and together they drop no more.
    let mut rest = 0_u64;
    for byte in decimals.bytes().rev() {
        rest = worth(byte).checked_mul(unit)?.checked_add(rest)? / 10;
    }
    let nanos = whole.checked_mul(unit)?.checked_add(rest)?;
    if nanos > Span::MAX.as_nanos() { None } else { Some(nanos) }
}

/// The number of a backoff: langgraphgo's enum by its number, and by its names as Aster's words.
fn strategy(form: Form, value: Value<'_>) -> Option<u32> {
    let known: &[(&str, u32)] = match form {
        Form::LanggraphgoGraph => &[
            ("fixed", FIXED),
            ("exponential", EXPONENTIAL),
            ("linear", LINEAR),
            ("FixedBackoff", FIXED),
            ("ExponentialBackoff", EXPONENTIAL),
            ("LinearBackoff", LINEAR),
        ],
        _ => &[("exponential", EXPONENTIAL), ("linear", LINEAR)],
    };
    match value {
        Value::Text(text) => known.iter().find(|word| word.0.eq_ignore_ascii_case(text)).map(|word| word.1),
        _ if form == Form::LanggraphgoGraph => u32::try_from(whole(value)?).ok().filter(|number| *number <= LINEAR),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, nanos) in [
            ("1m30s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("+2us", 2_000),
            ("3\u{b5}s1ns", 3_001),
            ("0", 0),
            ("0s", 0),
            ("9223372036854775807ns", i64::MAX as u64),
        ] {
            assert_eq!(go(text), Some(Span::from_nanos(nanos)), "{text}");
        }
        for text in ["", "-1s", "1", "s", ".s", "1x", "1s ", "1e3s", "1m30", "9223372036854775808ns", "1.2.3s"] {
            assert_eq!(go(text), None, "{text}");
        }
    }

    #[test]
    fn durations_of_protobuf_are_read() {
        for (text, nanos) in
            [("1s", 1_000_000_000), (".1s", 100_000_000), ("0.000000001s", 1), ("90.5s", 90_500_000_000)]
        {
            assert_eq!(protobuf(text), Some(Span::from_nanos(nanos)), "{text}");
        }
        for text in ["1", "100ms", "1m", "-1s", "0.0000000001s", "s", "1e3s", "10000000000s"] {
            assert_eq!(protobuf(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_a_span_prints_go_reads(nanos in 0..=i64::MAX as u64) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(go(&std::format!("{span}")), Some(span));
        }

        #[test]
        fn no_text_panics(text in "[0-9.a-z\u{b5}+-]{0,30}|.*") {
            let _ = (go(&text), protobuf(&text));
        }
    }
}
