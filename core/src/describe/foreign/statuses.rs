//! HTTP statuses and gRPC codes as proxies list them: one by one or in a text, as numbers and ranges.

use super::values::{ReadEntry, error};
use crate::describe::rules::{CLASSES, Rules};
use crate::error::{Error, ErrorCode};
use crate::value::Value;
use core::ops::RangeInclusive;

/// Reads an entry of a list of statuses that are retried.
pub(super) fn listed<'v>(rules: &mut Rules, rule: u8, index: Option<u32>, value: Value<'v>) -> ReadEntry<'v> {
    if index.is_none() && value != Value::NoItems {
        return Err(error(ErrorCode::NotAList, "codes", ErrorCode::NotAList.rule(None)));
    }
    rules.add_entry(rule, "http", value)?;
    rules.set_retry(rule, Value::Flag(true)).map(|()| None)
}

/// Reads numbers and ranges, `"429,500-599"`, into a list of a new rule that retries. An empty text says nothing.
pub(super) fn ranges(
    rules: &mut Rules,
    list: &str,
    within: RangeInclusive<u32>,
    text: &str,
    wrong: Error,
) -> Result<(), Error> {
    let rule = rules.count();
    for part in text.split(',').filter(|_| !text.trim().is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| digits.trim().parse::<u32>().ok().filter(|number| within.contains(number));
        let (Some(first), Some(last)) = (number(first), number(last)) else { return Err(wrong) };
        if first > last {
            return Err(wrong);
        }
        for number in first..=last {
            rules.add_entry(rule, list, Value::Number { value: number.into(), unit: 1.0 })?;
        }
        rules.set_retry(rule, Value::Flag(true))?;
    }
    Ok(())
}

/// Adds a rule behind the others that makes every other answer with a status permanent.
pub(super) fn and_no_other(mut rules: Rules) -> Rules {
    let rule = rules.count();
    for class in CLASSES {
        let _ = rules.add_entry(rule, "http", Value::Text(class));
    }
    let _ = rules.set_retry(rule, Value::Flag(false));
    rules
}
