//! Times as text: Go's, protobuf's, .NET's and those of ISO 8601.

use crate::json::Out;
use crate::time::{Span, decimal};
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
        let unit = if matches!(unit, "\u{b5}s" | "\u{3bc}s") { 1_000 } else { crate::time::unit(unit.as_bytes())? };
        sum = sum.checked_add(nanos(number, unit)?).filter(|sum| *sum <= Span::MAX.as_nanos())?;
        if next.is_empty() {
            return Some(sum);
        }
        rest = next;
    }
}

/// A time as Go reads it.
pub(super) fn write_go(nanos: u64, out: Out<'_>) -> fmt::Result {
    write!(out, "\"{}\"", Span::from_nanos(nanos))
}

const MINUTE: u64 = 60_000_000_000;
const HOUR: u64 = 3_600_000_000_000;
const DAY: u64 = 86_400_000_000_000;

/// Text that ISO 8601 calls a duration, without years and months, whose length is not fixed: `"PT1M30S"`, `"P1DT0.5H"`.
pub(super) fn read_iso(text: &str) -> Option<u64> {
    let (date, time) = text.strip_prefix('P')?.split_once('T').map_or((text.get(1..)?, ""), |parts| parts);
    if text.ends_with('T') || text.len() < 3 {
        return None;
    }
    let date = sum(date, &[('W', DAY.saturating_mul(7)), ('D', DAY)])?;
    let time = sum(time, &[('H', HOUR), ('M', MINUTE), ('S', 1_000_000_000)])?;
    date.checked_add(time).filter(|sum| *sum <= Span::MAX.as_nanos())
}

/// Numbers with units behind them, each at most once and in the order of the units.
fn sum(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let (mut rest, mut sum) = (text, 0_u64);
    for (name, unit) in units {
        if let Some((number, next)) = rest.split_once(*name) {
            sum = sum.checked_add(nanos(number, *unit)?)?;
            rest = next;
        }
    }
    rest.is_empty().then_some(sum)
}

/// The unit of a field of a Serverless Workflow duration.
pub(super) fn unit_of(name: &str) -> Option<u64> {
    Some(match name {
        "days" => DAY,
        "hours" => HOUR,
        "minutes" => MINUTE,
        "seconds" => 1_000_000_000,
        "milliseconds" => 1_000_000,
        _ => return None,
    })
}

/// A time as ISO 8601 writes it, in seconds.
pub(super) fn write_iso(nanos: u64, out: Out<'_>) -> fmt::Result {
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    if rest == 0 { write!(out, "\"PT{seconds}S\"") } else { write!(out, "\"PT{seconds}.{rest:09}S\"") }
}

/// Text that .NET reads as a `TimeSpan` that is not negative: `"00:00:02"`, `"1.02:03:04.5"`, `"00:05"`, `"7"` for days.
pub(super) fn read_time_span(text: &str) -> Option<u64> {
    let whole = |digits: &str, below: u64| {
        let number = if digits.len() <= 8 { nanos(digits, 1)? } else { return None };
        (!digits.contains('.') && number < below).then_some(number)
    };
    let mut parts = text.split(':');
    let (first, minutes, seconds, more) = (parts.next()?, parts.next(), parts.next(), parts.next());
    let Some(minutes) = minutes else {
        return whole(first, 106_752)?.checked_mul(DAY);
    };
    let (days, hours) = first.split_once('.').unwrap_or(("0", first));
    let seconds = seconds.unwrap_or("0");
    let (full, decimals) = seconds.split_once('.').unwrap_or((seconds, ""));
    if more.is_some() || decimals.len() > 7 || whole(full, 60).is_none() {
        return None;
    }
    let days = whole(days, 106_752)?.checked_mul(DAY)?;
    let (hours, minutes) = (whole(hours, 24)?.checked_mul(HOUR)?, whole(minutes, 60)?.checked_mul(MINUTE)?);
    let day = hours.checked_add(minutes)?.checked_add(nanos(seconds, 1_000_000_000)?)?;
    days.checked_add(day).filter(|sum| *sum <= Span::MAX.as_nanos())
}

/// A time as .NET writes it, in its steps of 100 ns.
pub(super) fn write_time_span(nanos: u64, out: Out<'_>) -> fmt::Result {
    let (days, seconds, ticks) = (nanos / DAY, nanos / 1_000_000_000, nanos % 1_000_000_000 / 100);
    out.write_str("\"")?;
    if days > 0 {
        write!(out, "{days}.")?;
    }
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)?;
    if ticks > 0 {
        write!(out, ".{ticks:07}")?;
    }
    out.write_str("\"")
}

/// Decimal digits with perhaps a point among them, times `unit`; digits below a nanosecond are dropped.
fn nanos(number: &str, unit: u64) -> Option<u64> {
    let (digits, decimals) = number.split_once('.').unwrap_or((number, ""));
    if digits.is_empty() && decimals.is_empty() {
        return None;
    }
    decimal(digits, decimals, unit).filter(|nanos| *nanos <= Span::MAX.as_nanos())
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

    #[test]
    fn durations_of_iso_8601_are_read() {
        for (text, seconds) in
            [("PT3S", 3.0), ("PT1M30.5S", 90.5), ("P1DT2H", 93_600.0), ("P2W", 1_209_600.0), ("PT0.5H", 1800.0)]
        {
            assert_eq!(read_iso(text), Some((seconds * 1e9) as u64), "{text}");
        }
        for text in
            ["", "P", "PT", "3S", "P1DT", "PT3", "PT3S1M", "P1Y", "P1M", "PT-1S", "PTS", "P1S", "PT1S ", "P\u{e9}"]
        {
            assert_eq!(read_iso(text), None, "{text}");
        }
    }

    #[test]
    fn time_spans_of_dotnet_are_read() {
        for (text, seconds) in
            [("00:00:02", 2.0), ("1.02:03:04.5", 93_784.5), ("00:05", 300.0), ("7", 604_800.0), ("0", 0.0)]
        {
            assert_eq!(read_time_span(text), Some((seconds * 1e9) as u64), "{text}");
        }
        for text in
            ["", ":", "1:60:00", "24:00:00", "00:00:60", "-00:00:01", "1.5", "0:0:0:0", "00:00:00.00000001", "1s"]
        {
            assert_eq!(read_time_span(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_for_a_form_is_read_back(nanos in 0..=i64::MAX as u64) {
            let quoted = |write: fn(u64, Out<'_>) -> fmt::Result, nanos| {
                let mut out = std::string::String::new();
                let _ = write(nanos, &mut out);
                std::string::String::from(out.trim_matches('"'))
            };
            prop_assert_eq!(read_go(&quoted(write_go, nanos)), Some(nanos));
            prop_assert_eq!(read_iso(&quoted(write_iso, nanos)), Some(nanos));
            let ticks = nanos / 100 * 100;
            prop_assert_eq!(read_time_span(&quoted(write_time_span, nanos)), Some(ticks));
        }

        #[test]
        fn what_a_span_prints_go_reads(nanos in 0..=i64::MAX as u64) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(read_go(&std::format!("{span}")), Some(nanos));
        }

        #[test]
        fn no_text_panics(text in "[0-9.a-z\u{b5}+-]{0,30}|.*") {
            let _ = (read_go(&text), read_protobuf(&text), read_iso(&text), read_time_span(&text));
        }
    }
}
