//! The fields of the systems' policies: a row each says its name, its meaning, how its value is written, and its range.

use super::duration::{
    read_go, read_iso, read_protobuf, read_time_span, write_go, write_iso, write_protobuf, write_time_span,
};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::rules::write::write_codes;
use crate::describe::rules::{HostText, Rules};
use crate::error::{Error, ErrorCode, Quantity, Subject};
use crate::fields::Field;
use crate::json::{self, Open, Out, texts};
use crate::saved_bytes::Fnv;
use crate::time::Span;
use crate::value::Value;
use core::fmt;
use core::ops::RangeInclusive;

/// A system's policy: its fields, and what they mean.
pub(super) struct System {
    /// Every field, in the order in which they are written.
    pub(super) tables: &'static [&'static [Row]],
    /// The message for a name that is not one of them.
    pub(super) unknown: &'static str,
    /// The message for a part of a policy that the system does not have.
    pub(super) inexpressible: &'static str,
    /// The options that the values mean.
    pub(super) import: fn(&Values) -> Result<Options, Error>,
    /// The values of a policy, if the system can express it; `None` for a form that is only read.
    pub(super) export: Option<fn(&Policy) -> Values>,
    /// How the policies of a document are found.
    pub(super) entries: Entries,
    /// The objects that a policy may be in, `spec.retries.*`: a star is any name, `[*]` any index, `**` any path, and a space
    /// comes between two of them.
    pub(super) wrappers: &'static str,
    /// The objects inside of a policy in which an unknown name is a mistake: `.` is the policy itself.
    pub(super) strict: &'static str,
    /// Names in a policy that the system knows and that change no retry, with spaces between them.
    pub(super) known: &'static str,
    /// The message for a document in which a policy's fields stand beside others.
    pub(super) mixed: &'static str,
    /// True if a policy without any field is valid.
    pub(super) has_defaults: bool,
    /// True if the system never reads how long a server asks to wait.
    pub(super) ignores_hints: bool,
}

impl System {
    /// A system whose policies stand alone.
    pub(super) const fn alone(
        tables: &'static [&'static [Row]],
        [unknown, inexpressible]: [&'static str; 2],
        import: fn(&Values) -> Result<Options, Error>,
        export: fn(&Policy) -> Values,
    ) -> Self {
        Self {
            tables,
            unknown,
            inexpressible,
            import,
            export: Some(export),
            entries: Entries::Objects,
            wrappers: "",
            strict: ".",
            known: "",
            mixed: unknown,
            has_defaults: true,
            ignores_hints: false,
        }
    }
}

/// How the policies of a form are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entries {
    /// In the objects that the form names.
    Objects,
    /// A list of rules in each state of a machine.
    Retriers,
    /// An object among others of a pipeline, at any depth.
    Pipelines,
}

/// A field of a system's policy.
pub(super) struct Row {
    /// The system's own name, behind the names of the objects that it is in.
    pub(super) path: &'static str,
    pub(super) item: Item,
    pub(super) kind: Kind,
    /// The least and the most that it takes when the policy is built: a count, nanoseconds or a number.
    range: [f64; 2],
    /// The range in words.
    pub(super) rule: &'static str,
}

/// The range of a field that takes every number.
pub(super) const ANY: RangeInclusive<f64> = f64::MIN..=f64::MAX;
/// The range of a number that is not negative.
pub(super) const FROM_ZERO: RangeInclusive<f64> = 0.0..=f64::MAX;
/// The range of a number above 0.
pub(super) const ABOVE_ZERO: RangeInclusive<f64> = f64::from_bits(1)..=f64::MAX;
/// The largest number of 32 bits with a sign, as some systems count attempts.
pub(super) const INT_MAX: f64 = i32::MAX as f64;

pub(super) const fn row(
    path: &'static str,
    item: Item,
    kind: Kind,
    range: RangeInclusive<f64>,
    rule: &'static str,
) -> Row {
    Row { path, item, kind, range: [*range.start(), *range.end()], rule }
}

impl Row {
    /// The name behind the last dot.
    pub(super) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |path| path.1)
    }
}

/// An error of the field with that name.
pub(super) const fn error(code: ErrorCode, name: &'static str, rule: &'static str) -> Error {
    Error { special_rule: Some(rule), ..Error::named(code, Subject::Policy, name) }
}

/// The row of the field with that name, whatever its case and underscores.
pub(super) fn find(tables: &[&'static [Row]], name: &str) -> Option<&'static Row> {
    tables.iter().copied().flatten().find(|row| same(row.name(), name))
}

/// The row of the field with that path, whatever its case and underscores.
pub(super) fn find_path(tables: &[&'static [Row]], path: &str) -> Option<&'static Row> {
    tables.iter().copied().flatten().find(|row| same(row.path, path))
}

/// True if two names are the same but for case, underscores and hyphens.
pub(super) fn same(a: &str, b: &str) -> bool {
    letters(a).eq(letters(b))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase())
}

/// A name and the index behind it.
pub(super) fn indexed(name: &str) -> (&str, Option<u32>) {
    let inner = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match inner.and_then(|(base, index)| Some((base, index.parse().ok()?))) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    }
}

/// The hash of a name.
pub(super) fn hash(name: &str) -> u64 {
    Fnv::LONG.of(name.as_bytes())
}

/// The meaning of a field, and the index of its value.
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
    /// Which backoff: [`FIXED`], [`EXPONENTIAL`] or [`LINEAR`].
    Strategy = 5,
    /// How long the operation may take.
    Deadline = 6,
    /// The most tokens of a throttle.
    Tokens = 7,
    /// The reward of a success for a throttle.
    Ratio = 8,
    /// How many attempts a hedge makes.
    HedgeAttempts = 9,
    /// How long after one another the attempts of a hedge start.
    HedgeDelay = 10,
    /// The gRPC codes that are retried, a bit each.
    Codes = 11,
    /// The gRPC codes that do not end a hedge, a bit each.
    NonFatal = 12,
    /// The texts in the message of an error that is retried.
    Patterns = 13,
    /// The types of errors that are not retried.
    ErrorTypes = 14,
    /// An object around fields, or a function: it has no value.
    NoValue = 15,
    /// How long an attempt may take.
    AttemptTimeout = 16,
    /// A switch of a system's own.
    Switch = 17,
    /// Another switch.
    OtherSwitch = 18,
    /// A switch, a rate or a count of a system's own.
    Mode = 19,
    /// The share of retries that a budget allows, or of failures that open a breaker.
    Share = 20,
    /// How far back a budget or a breaker looks.
    Window = 21,
    /// The least that a budget allows, or that a breaker counts.
    Least = 22,
    /// How long a breaker stays open, or a budget counts its least.
    Per = 23,
}

/// The numbers of backoffs in langgraphgo.
pub(super) const FIXED: u64 = 0;
pub(super) const EXPONENTIAL: u64 = 1;
pub(super) const LINEAR: u64 = 2;

/// How a system writes a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A whole number from 0 on.
    Count,
    /// A finite number.
    Number,
    /// A time as protobuf writes it: `"0.1s"`.
    Seconds,
    /// A time as Go writes it: whole nanoseconds, or text such as `"1m30s"`.
    Nanos,
    /// The same, where a negative number means 0.
    NanosOrNegative,
    /// A time in whole milliseconds.
    Millis,
    /// The name of something in the same document, as a hash.
    Name,
    /// One of some words.
    Word(&'static [(&'static str, u64)]),
    /// The number of one of some words, or the word.
    WordNumber(&'static [(&'static str, u64)]),
    /// A list of gRPC codes.
    Codes,
    /// The same, where the list may be empty.
    CodesOrNone,
    /// A list of patterns.
    Patterns,
    /// A list of the names of types of errors.
    ErrorTypes,
    /// True or false.
    Flag,
    /// A number of retries, where a negative one means no limit.
    Retries,
    /// A time as text that Go reads: `"1m30s"`.
    Go,
    /// A time in seconds.
    WholeSeconds,
    /// A time as .NET writes it: `"1.02:03:04.5"`.
    TimeSpan,
    /// A time as Spring reads it: `"500ms"`, `"PT0.5S"` or whole milliseconds.
    Spring,
    /// A time as ISO 8601 writes it, `"PT1M30S"`, or an object with `days`, `hours`, `minutes`, `seconds` and `milliseconds`.
    Iso,
    /// An entry of a rule, which the file of the system reads.
    Rule(ReadRule),
    /// An object, or a list of them.
    Group,
    /// A function, which no document holds.
    Function,
}

/// Reads an item of a list, or a text, into the rule with that index.
pub(super) type ReadRule = for<'v> fn(&mut Rules, u8, Option<u32>, Value<'v>) -> ReadEntry<'v>;

/// A text that the host has to store, if there is one.
pub(super) type ReadEntry<'v> = Result<Option<HostText<'v>>, Error>;

/// The number of "no limit" among retries.
pub(super) const NO_LIMIT: u64 = u64::MAX;

/// The nanoseconds of a millisecond.
pub(super) const MILLI: u64 = 1_000_000;

impl Kind {
    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Codes | Self::CodesOrNone | Self::Patterns | Self::ErrorTypes)
    }

    /// The value as a number: a count, nanoseconds, the number of a word or the bits of a double.
    pub(super) fn read(self, value: Value<'_>) -> Option<u64> {
        match (self, value) {
            (Self::Count, _) => count(value),
            (Self::Number, _) => finite(value).map(f64::to_bits),
            (Self::Word(words) | Self::WordNumber(words), Value::Text(text)) => {
                words.iter().find(|word| word.0.eq_ignore_ascii_case(text)).map(|word| word.1)
            }
            (Self::WordNumber(_), _) => count(value).filter(|number| *number <= LINEAR),
            (Self::Name, Value::Text(name)) => Some(hash(name)),
            (Self::Flag, Value::Flag(flag)) => Some(flag.into()),
            (Self::Retries, _) if is_negative(value) => Some(NO_LIMIT),
            (Self::Retries, _) => count(value),
            _ => self.read_time(value).filter(|nanos| *nanos <= Span::MAX.as_nanos()),
        }
    }

    fn read_time(self, value: Value<'_>) -> Option<u64> {
        /// The longest time as a double has it.
        const LONGEST: u64 = 1 << 63;
        match (self, value) {
            (Self::Millis, Value::Nanos(nanos)) => Some(nanos).filter(|nanos| nanos.is_multiple_of(MILLI)),
            (Self::Millis, _) => count(value)?.checked_mul(MILLI),
            (Self::WholeSeconds, _) => count(value)?.checked_mul(1000 * MILLI),
            (
                Self::Seconds
                | Self::Nanos
                | Self::NanosOrNegative
                | Self::Go
                | Self::TimeSpan
                | Self::Iso
                | Self::Spring,
                Value::Nanos(nanos),
            ) => Some(nanos),
            (Self::Seconds, Value::Text(text)) => read_protobuf(text),
            (Self::Nanos | Self::NanosOrNegative | Self::Go, Value::Text(text)) => read_go(text),
            (Self::TimeSpan, Value::Text(text)) => read_time_span(text),
            (Self::Iso, Value::Text(text)) => read_iso(text),
            (Self::Spring, Value::Text(text)) => read_iso(text).or_else(|| read_go(text)),
            (Self::Spring, _) => count(value)?.checked_mul(MILLI),
            (Self::NanosOrNegative, _) if is_negative(value) => Some(0),
            (Self::Nanos | Self::NanosOrNegative, _) => match count(value)? {
                LONGEST => Some(Span::MAX.as_nanos()),
                nanos => Some(nanos),
            },
            _ => None,
        }
    }

    fn write(self, number: u64, out: Out<'_>) -> fmt::Result {
        match self {
            Self::Number => json::number(out, f64::from_bits(number)),
            Self::Seconds => write_protobuf(number, out),
            Self::Millis => write!(out, "{}", number / MILLI),
            Self::Group => out.write_str("{}"),
            Self::Flag => out.write_str(if number == 0 { "false" } else { "true" }),
            Self::Retries if number == NO_LIMIT => out.write_str("-1"),
            Self::TimeSpan => write_time_span(number, out),
            Self::Go | Self::Spring => write_go(number, out),
            Self::Iso => write_iso(number, out),
            Self::Word(words) => json::text(out, words.iter().find(|word| word.1 == number).map_or("", |word| word.0)),
            Self::Codes | Self::CodesOrNone => write_codes(number as u32, out),
            _ => write!(out, "{number}"),
        }
    }
}

fn finite(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Number { value, .. } if value.is_finite() => Some(value),
        _ => None,
    }
}

/// A whole number from 0 on; numbers that 64 bits do not hold become the largest that they hold.
fn count(value: Value<'_>) -> Option<u64> {
    let number = finite(value)?;
    let count = number as u64;
    if count as f64 == number || number >= 18_446_744_073_709_551_615.0 { Some(count) } else { None }
}

/// True for a whole number below 0.
fn is_negative(value: Value<'_>) -> bool {
    matches!(value, Value::Number { value, unit } if value < 0.0 && count(Value::Number { value: -value, unit }).is_some())
}

/// The values of a system's policy, as plain numbers. Every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Values {
    /// The value of each item: a count, nanoseconds, the number of a word or the bits of a double.
    numbers: [u64; 24],
    /// One bit for each item that has a value.
    set: u64,
}

impl Values {
    pub(super) const EMPTY: Self = Self { numbers: [0; 24], set: 0 };

    pub(super) const fn has(&self, item: Item) -> bool {
        self.set & 1 << item as u8 != 0
    }

    /// True if a field of the table has a value.
    pub(super) fn has_any(&self, table: &[Row]) -> bool {
        table.iter().any(|row| self.has(row.item))
    }

    /// The value of an item, 0 unless it has one.
    pub(super) fn at(&self, item: Item) -> u64 {
        self.numbers.get(item as usize).copied().unwrap_or(0)
    }

    pub(super) fn real(&self, item: Item) -> f64 {
        f64::from_bits(self.at(item))
    }

    pub(super) fn put(&mut self, item: Item, number: u64) {
        if let Some(slot) = self.numbers.get_mut(item as usize) {
            *slot = number;
        }
        self.set |= 1 << item as u8;
    }

    /// Takes the values of items that have none.
    pub(super) fn inherit(&mut self, other: &Self, without: &[Item]) {
        for (index, number) in other.numbers.iter().enumerate() {
            let bit = 1 << index;
            let is_out = without.iter().any(|item| *item as usize == index);
            if other.set & bit != 0 && self.set & bit == 0 && !is_out {
                if let Some(slot) = self.numbers.get_mut(index) {
                    *slot = *number;
                }
                self.set |= bit;
            }
        }
    }

    /// Gives an item a value if it has none or 0.
    pub(super) fn default(&mut self, item: Item, number: u64) {
        if self.at(item) == 0 {
            self.put(item, number);
        }
    }

    /// Gives options the deadline and the attempt timeout that there are; a time of 0 is no limit.
    pub(super) fn put_limits(&self, options: &mut Options) {
        for (item, field) in [(Item::AttemptTimeout, Field::AttemptTimeout), (Item::Deadline, Field::Deadline)] {
            if self.at(item) > 0 {
                options.put(field, self.at(item));
            }
        }
    }

    pub(super) fn remove(&mut self, item: Item) {
        self.put(item, 0);
        self.set &= !(1 << item as u8);
    }

    /// Attempts as a policy counts them; more than it can count read as the most that it can.
    pub(super) fn attempts(&self, item: Item) -> u32 {
        u32::try_from(self.at(item)).unwrap_or(u32::MAX).min(u32::MAX.wrapping_sub(1))
    }

    /// Fails if a field of the table has no value.
    pub(super) fn require(&self, table: &[Row]) -> Result<(), Error> {
        match table.iter().find(|row| !self.has(row.item)) {
            Some(row) => Err(Error::named(ErrorCode::FormMissing, Subject::Policy, row.path)),
            None => Ok(()),
        }
    }

    /// Fails if a value of the table is out of its range. A field without a value counts as 0.
    pub(super) fn check(&self, table: &[Row]) -> Result<(), Error> {
        table.iter().try_for_each(|row| {
            let number = self.at(row.item);
            let number = if matches!(row.kind, Kind::Number) { f64::from_bits(number) } else { number as f64 };
            let [least, most] = row.range;
            self.ensure(row, (least..=most).contains(&number))
        })
    }

    /// Fails if a value of the table is out of its range. Fields without a value are in order.
    pub(super) fn check_set(&self, table: &[Row]) -> Result<(), Error> {
        table.iter().filter(|row| self.has(row.item)).try_for_each(|row| self.check(core::slice::from_ref(row)))
    }

    /// The value of an item, if it has one.
    pub(super) fn get(&self, item: Item) -> Option<u64> {
        self.has(item).then(|| self.at(item))
    }

    /// Fails with the rule of a field unless it holds.
    pub(super) fn ensure(&self, row: &Row, holds: bool) -> Result<(), Error> {
        let number = self.at(row.item);
        let value = match row.kind {
            _ if holds => return Ok(()),
            Kind::Count => Quantity::Number(number as f64),
            Kind::Number => Quantity::Number(f64::from_bits(number)),
            _ => Quantity::Span(Span::from_nanos(number)),
        };
        Err(Error { value, ..error(ErrorCode::FormValue, row.path, row.rule) })
    }

    /// Writes the fields of a table that have values into an object, and into the objects inside that their paths name. `lists`
    /// are the patterns or the types of errors.
    pub(super) fn write(
        &self,
        table: &[Row],
        lists: &mut dyn Iterator<Item = &str>,
        object: &mut Open<'_>,
    ) -> fmt::Result {
        self.write_inside("", table, lists, object)
    }

    fn write_inside(
        &self,
        prefix: &str,
        table: &[Row],
        lists: &mut dyn Iterator<Item = &str>,
        object: &mut Open<'_>,
    ) -> fmt::Result {
        let inner = |row: &Row| row.path.strip_prefix(prefix).unwrap_or(row.path);
        let mut rest = table;
        while let [row, others @ ..] = rest {
            let Some(dot) = inner(row).find('.') else {
                rest = others;
                if self.has(row.item) {
                    let out = object.field(row.name())?;
                    match row.kind {
                        Kind::Patterns | Kind::ErrorTypes => texts(out, &mut *lists)?,
                        kind => kind.write(self.at(row.item), out)?,
                    }
                }
                continue;
            };
            let end = prefix.len().saturating_add(dot).saturating_add(1);
            let group = row.path.get(..end).unwrap_or(row.path);
            let count = rest.iter().take_while(|row| row.path.starts_with(group)).count();
            let (own, behind) = rest.split_at(count.min(rest.len()));
            if self.has_any(own) {
                let mut open = Open::new(object.field(inner(row).get(..dot).unwrap_or_default())?, '{')?;
                self.write_inside(group, own, lists, &mut open)?;
                open.end('}')?;
            }
            rest = behind;
        }
        Ok(())
    }
}
