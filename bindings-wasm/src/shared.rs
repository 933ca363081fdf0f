//! Fields that the memory of several modules has: text, and an error.
#![allow(unsafe_code)]

pub(crate) use crate::memory::Shared;
use holdoff_core::{Error, Quantity};

/// How much text fits: longer names, words and headers are no valid ones.
const NAME: usize = 1024;
const TEXT: usize = 4096;

/// Text on its way in or out.
#[repr(transparent)]
pub(crate) struct Text<const N: usize>([u8; N]);

/// A field's or a header's name.
pub(crate) type Name = Text<NAME>;
/// A value, or a message.
pub(crate) type Value = Text<TEXT>;

/// The parts of an error that are not text.
#[repr(C)]
pub(crate) struct Problem {
    code: u32,
    /// The kind of the broken value: 0 not known here, 1 `span`, 2 `number`.
    value_kind: u32,
    span: u64,
    number: f64,
    /// The index of the stage and of the item in it, from 1; 0 for none.
    stage: u32,
    item: u32,
}

impl Problem {
    /// Writes an error: its numbers, and as text its word, the field's path without indexes, its rule and the nearest
    /// name, one a line. The length of the text.
    pub(crate) fn explain(&mut self, text: &mut Value, error: &Error) -> u32 {
        let (value_kind, span, number) = match error.value {
            Quantity::None => (0, 0, 0.0),
            Quantity::Span(span) => (1, span.as_nanos(), 0.0),
            Quantity::Number(number) => (2, 0, number),
        };
        let place = |index: Option<u8>| index.map_or(0, |index| u32::from(index) + 1);
        *self = Self {
            code: error.code.code().into(),
            value_kind,
            span,
            number,
            stage: place(error.stage),
            item: place(error.item),
        };
        let path = path_of(error);
        text.lines([name_of(error), path, rule_of(error), error.nearest.unwrap_or_default()])
    }
}

/// The word of an error.
#[cfg(feature = "guards")]
const fn name_of(error: &Error) -> &'static str {
    error.code.name()
}

/// The path or the name of the field that an error is about.
#[cfg(feature = "guards")]
fn path_of(error: &Error) -> &'static str {
    error.field.map_or(error.name, holdoff_core::Field::path)
}

/// The rule that it breaks.
#[cfg(feature = "guards")]
const fn rule_of(error: &Error) -> &'static str {
    error.rule()
}

#[cfg(not(feature = "guards"))]
use small::{name_of, path_of, rule_of};

/// The same without what concerns guards alone, for the module that every page loads.
#[cfg(not(feature = "guards"))]
mod small {
    use holdoff_core::{Error, ErrorCode, Field};

    /// The fields of a policy.
    const FIELDS: &[Field] = {
        let mut guards = 0;
        while !Field::ALL[guards].is_guards() {
            guards += 1;
        }
        Field::ALL.split_at(guards).0
    };
    const ALL: [ErrorCode; ErrorCode::ALL.len()] = ErrorCode::ALL;

    /// The codes that this module has.
    const CODES: [ErrorCode; count()] = {
        let (mut codes, mut at, mut from) = ([ErrorCode::UnknownField; count()], 0, 0);
        while from < ALL.len() {
            if !is_elsewhere(ALL[from]) {
                codes[at] = ALL[from];
                at += 1;
            }
            from += 1;
        }
        codes
    };

    const fn count() -> usize {
        let (mut codes, mut at) = (0, 0);
        while at < ALL.len() {
            codes += !is_elsewhere(ALL[at]) as usize;
            at += 1;
        }
        codes
    }

    /// The values that each field of a policy takes.
    static TAKES: [&str; FIELDS.len()] = {
        let (mut takes, mut at) = ([""; FIELDS.len()], 0);
        while at < takes.len() {
            takes[at] = ErrorCode::WrongType.rule(Some(FIELDS[at]));
            at += 1;
        }
        takes
    };

    /// The words of the rules, and the rules that are the same for every field of a policy.
    static RULES: [(&str, &str); CODES.len()] = {
        let (mut rules, mut at) = ([("", ""); CODES.len()], 0);
        while at < rules.len() {
            rules[at] = (CODES[at].name(), CODES[at].rule(None));
            at += 1;
        }
        rules
    };

    /// Says whether a rule is about something that only the other modules have: saved states, logs, other systems' forms, guards.
    const fn is_elsewhere(code: ErrorCode) -> bool {
        matches!(
            code,
            ErrorCode::NotAState
                | ErrorCode::StateLength
                | ErrorCode::StateVersion
                | ErrorCode::StateKind
                | ErrorCode::StateDamaged
                | ErrorCode::StatePolicy
                | ErrorCode::UnknownStateField
                | ErrorCode::MissingStateField
                | ErrorCode::UnknownFormField
                | ErrorCode::FormValue
                | ErrorCode::FormMissing
                | ErrorCode::NotInForm
                | ErrorCode::SeveralPolicies
                | ErrorCode::Twice
                | ErrorCode::CountRange
                | ErrorCode::ShareRange
                | ErrorCode::RateRange
                | ErrorCode::FieldMissing
                | ErrorCode::NotAGuard
                | ErrorCode::GuardConfig
                | ErrorCode::GuardLength
                | ErrorCode::NullPointer
                | ErrorCode::NotAPolicy
                | ErrorCode::NotACall
                | ErrorCode::NoRoom
                | ErrorCode::LogEmpty
                | ErrorCode::LogStart
                | ErrorCode::LogGap
                | ErrorCode::LogTwice
                | ErrorCode::LogOrder
                | ErrorCode::LogImpossible
                | ErrorCode::LogTime
                | ErrorCode::LogPolicy
                | ErrorCode::LogDiverged
                | ErrorCode::EventDamaged
                | ErrorCode::EventVersion
                | ErrorCode::UnknownEventField
                | ErrorCode::MissingEventField
                | ErrorCode::EventCut
        )
    }

    fn words(code: ErrorCode) -> (&'static str, &'static str) {
        CODES.iter().position(|known| *known == code).and_then(|place| RULES.get(place)).copied().unwrap_or_default()
    }

    pub(super) fn name_of(error: &Error) -> &'static str {
        words(error.code).0
    }

    pub(super) fn path_of(error: &Error) -> &'static str {
        error.field.map_or("", Field::path)
    }

    pub(super) fn rule_of(error: &Error) -> &'static str {
        let takes = matches!(error.code, ErrorCode::WrongType | ErrorCode::UnknownWord);
        match FIELDS.iter().position(|field| Some(*field) == error.field) {
            Some(index) if takes => TAKES.get(index).copied().unwrap_or_default(),
            _ => words(error.code).1,
        }
    }
}

impl<const N: usize> Text<N> {
    /// The first `len` bytes.
    pub(crate) fn bytes(&self, len: u32) -> &[u8] {
        self.0.get(..len as usize).unwrap_or_default()
    }

    /// All bytes.
    #[cfg(feature = "log")]
    pub(crate) const fn all(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// The same as text.
    pub(crate) fn get(&self, len: u32) -> &str {
        // SAFETY: JavaScript writes text with nothing but a TextEncoder, which makes nothing but UTF-8, and says the length
        // that it wrote. Checking that again would be a tenth of the module.
        unsafe { core::str::from_utf8_unchecked(self.bytes(len)) }
    }

    /// Writes lines that fit, and returns their length.
    fn lines(&mut self, lines: [&str; 4]) -> u32 {
        let mut at = 0;
        for line in lines {
            self.write(&mut at, line);
            self.write(&mut at, "\n");
        }
        at as u32
    }

    /// The first bytes, to be written.
    #[cfg(feature = "guards")]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        self.0.get_mut(..bytes.len()).map_or(0, |room| {
            room.copy_from_slice(bytes);
            bytes.len() as u32
        })
    }

    #[inline(never)]
    fn write(&mut self, at: &mut usize, part: &str) {
        if let Some(room) = self.0.get_mut(*at..*at + part.len()) {
            room.copy_from_slice(part.as_bytes());
            *at += part.len();
        }
    }
}
