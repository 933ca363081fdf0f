//! Times as text: Go's and protobuf's.

use crate::json::Out;
use crate::time::Span;
use core::fmt;

/// Text that protobuf reads as a duration: seconds with up to nine decimals and an `s`. A digit is missing before or behind
/// the point in gRPC's own examples (`".1s"`), so it may be.
pub(super) fn read_protobuf(text: &str) -> Option<u64> {
    let number = text.strip_suffix('s')?;
    let decimals = number.split_once('.').map_or("", |(_, decimals)| decimals);
    if decimals.len() > 9 { None } else { nanos(number, 1_000_000_000) }
}

/// A time as protobuf writes it: seconds with three, six or nine decimals if any, and an `s`.
pub(super) fn write_protobuf(nanos: u64, out: Out<'_>) -> fmt::Result {
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match () {
        () if rest == 0 => write!(out, "\"{seconds}s\""),
        () if rest % 1_000_000 == 0 => write!(out, "\"{seconds}.{:03}s\"", rest / 1_000_000),
        () if rest % 1_000 == 0 => write!(out, "\"{seconds}.{:06}s\"", rest / 1_000),
        () => write!(out, "\"{seconds}.{rest:09}s\""),
    }
}

/// Text that Go's `time.ParseDuration` reads, if it is not negative: `"1m30s"`, `"1.5h"`, `"0"`.
pub(super) fn read_go(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
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
        sum = sum.checked_add(nanos(number, unit)?).filter(|sum| *sum <= Span::MAX.as_nanos())?;
        if next.is_empty() {
            return Some(sum);
        }
        rest = next;
    }
}

/// Decimal digits with perhaps a point among them, times `unit`; digits below a nanosecond are dropped.
fn nanos(number: &str, unit: u64) -> Option<u64> {
    let (digits, decimals) = number.split_once('.').unwrap_or((number, ""));
    let all = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (digits.is_empty() && decimals.is_empty()) || !all(digits) || !all(decimals) {
        return None;
    }
    let worth = |byte: u8| u64::from(byte & 0x0f);
    let mut units = 0_u64;
    for byte in digits.bytes() {
        units = units.checked_mul(10)?.checked_add(worth(byte))?;
    }
    // From the last digit to the first, each division drops less than a nanosecond, and together they drop no more.
    let mut rest = 0_u64;
    for byte in decimals.bytes().rev() {
        rest = worth(byte).checked_mul(unit)?.checked_add(rest)? / 10;
    }
    units.checked_mul(unit)?.checked_add(rest).filter(|nanos| *nanos <= Span::MAX.as_nanos())
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
            assert_eq!(read_go(text), Some(nanos), "{text}");
        }
        for text in ["", "-1s", "1", "s", ".s", "1x", "1s ", "1e3s", "1m30", "9223372036854775808ns", "1.2.3s"] {
            assert_eq!(read_go(text), None, "{text}");
        }
    }

    #[test]
    fn durations_of_protobuf_are_read() {
        for (text, nanos) in
            [("1s", 1_000_000_000), (".1s", 100_000_000), ("0.000000001s", 1), ("90.5s", 90_500_000_000)]
        {
            assert_eq!(read_protobuf(text), Some(nanos), "{text}");
        }
        for text in ["1", "100ms", "1m", "-1s", "0.0000000001s", "s", "1e3s", "10000000000s"] {
            assert_eq!(read_protobuf(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_a_span_prints_go_reads(nanos in 0..=i64::MAX as u64) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(read_go(&std::format!("{span}")), Some(nanos));
        }

        #[test]
        fn no_text_panics(text in "[0-9.a-z\u{b5}+-]{0,30}|.*") {
            let _ = (read_go(&text), read_protobuf(&text));
        }
    }
}
