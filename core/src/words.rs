//! Numbered words: an enum whose number, word, text and documentation stand in one row.
//!
//! Numbers and words are the same in every language and never reused. Other languages' constants, unions and pages are
//! printed from these tables by `cargo xtask generate`.

/// Declares an enum from rows of `Variant = number "word" "text";` with the rows' documentation above them. The text may
/// be left out of all rows. `enum Name: u8 = Variant` names the default.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident: $repr:ident $(= $default:ident)? {
            $($(#[doc = $doc:literal])+ $variant:ident = $code:literal $word:literal $($text:literal)?;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr($repr)]
        $vis enum $name {
            $($(#[doc = $doc])+ $variant = $code,)+
        }

        // A table has more than each of its users needs.
        #[allow(dead_code, unreachable_pub)]
        impl $name {
            /// Every value, in the order of the numbers.
            pub const ALL: [Self; { [$($code),+].len() }] = [$(Self::$variant),+];

            /// Every word with its number.
            pub(crate) const WORDS: &'static [(&'static str, $repr)] = &[$(($word, $code)),+];

            /// The words, each with a zero at its end, as C reads them.
            #[doc(hidden)]
            pub const NAMES: &'static str = concat!($($word, "\0"),+);

            /// The rule for text that must be one of the words.
            pub(crate) const RULE: &'static str = $crate::words::one_of!($($word),+);

            /// The number, the same in every language.
            pub const fn code(self) -> $repr {
                self as $repr
            }

            /// The value with this number.
            pub const fn from_code(code: u32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The position in [`Self::ALL`].
            const fn position(self) -> usize {
                let (mut all, mut position) = (&Self::ALL as &[Self], 0_usize);
                while let [known, rest @ ..] = all
                    && *known as $repr != self as $repr
                {
                    (all, position) = (rest, position.wrapping_add(1));
                }
                position
            }

            /// The value with this number in a state's memory, where any other number reads as the first value.
            pub(crate) const fn read(code: u8) -> Self {
                match Self::from_code(code as u32) {
                    Some(known) => known,
                    None => {
                        let [first, ..] = Self::ALL;
                        first
                    }
                }
            }

            /// The word, the same in every language.
            pub const fn name(self) -> &'static str {
                $crate::words::nth(Self::NAMES, self.position())
            }

            /// The value with this word.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }

            /// The documentation, for the tables of other languages.
            #[doc(hidden)]
            pub const fn doc(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc, "\n"),+),)+
                }
            }
        }

        $crate::words::texts!($name $($variant $($text)?;)+);

        $(impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        })?

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        const _: () = {
            let mut rest: &[$repr] = &[$($code),+];
            while let [low, tail @ ..] = rest {
                if let [high, ..] = tail {
                    assert!(*low < *high, "the numbers are unique and in order");
                }
                rest = tail;
            }
        };
    };
}

/// `text()` of a table that has texts.
macro_rules! texts {
    ($name:ident $($variant:ident;)+) => {};
    ($name:ident $($variant:ident $text:literal;)+) => {
        impl $name {
            /// The texts, each with a zero at its end, as C reads them.
            #[doc(hidden)]
            pub const TEXTS: &'static str = concat!($($text, "\0"),+);

            /// The meaning in words, for error messages and documentation.
            pub const fn text(self) -> &'static str {
                $crate::words::nth(Self::TEXTS, self.position())
            }
        }
    };
}

/// The text at a position among texts that each have a zero at their end: one text needs no table of pointers, which a loader
/// would have to adjust.
pub(crate) const fn nth(texts: &'static str, position: usize) -> &'static str {
    let (mut begin, mut end, mut before, mut rest) = (0_usize, 0_usize, position, texts.as_bytes());
    while let [byte, others @ ..] = rest
        && (*byte != 0 || before > 0)
    {
        (rest, end) = (others, end.wrapping_add(1));
        if *byte == 0 {
            (begin, before) = (end, before.wrapping_sub(1));
        }
    }
    match texts.split_at_checked(end) {
        Some((text, _)) => match text.split_at_checked(begin) {
            Some((_, text)) => text,
            None => "",
        },
        None => "",
    }
}

/// `must be one of a, b, c`.
macro_rules! one_of {
    ($first:literal $(, $word:literal)*) => {
        concat!("must be one of ", $first $(, ", ", $word)*)
    };
}

pub(crate) use {one_of, texts, words};

/// True for the same bytes, for comparisons at compile time.
pub(crate) const fn same(a: &[u8], b: &[u8]) -> bool {
    let (mut a, mut b) = (a, b);
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

#[cfg(test)]
mod tests {
    use crate::{
        Answer, BreakerState, Cap, Cause, Direction, Ended, ErrorCode, EventKind, FailureKind, Form, Growth, GrpcCode,
        HintMode, HintOver, InTime, Level, LintKind, OnDeadline, Preset, Refusal, ReplayMode, StopReason, Timer,
        Verdict,
    };

    macro_rules! round_trip {
        ($($table:ident),*) => {
            $(for (value, (word, code)) in $table::ALL.into_iter().zip($table::WORDS.iter().copied()) {
                assert_eq!((value.name(), value.code()), (word, code));
                assert_eq!($table::from_code(code.into()), Some(value));
                assert_eq!($table::from_name(word), Some(value));
                assert!($table::RULE.contains(word) && !value.doc().is_empty(), "{value}");
            }
            assert_eq!($table::from_code(99), None);
            assert_eq!($table::from_name("of no table"), None);)*
        };
    }

    #[test]
    fn a_value_is_found_by_its_number_and_by_its_word() {
        round_trip!(
            Answer,
            BreakerState,
            Cap,
            Cause,
            Direction,
            Ended,
            ErrorCode,
            EventKind,
            FailureKind,
            Form,
            GrpcCode,
            Growth,
            HintMode,
            HintOver,
            InTime,
            Level,
            LintKind,
            OnDeadline,
            Preset,
            Refusal,
            ReplayMode,
            StopReason,
            Timer,
            Verdict
        );
        assert_eq!(Refusal::RULE, "must be one of stop, wait");
        assert_eq!([Cause::read(6), Cause::read(4)], [Cause::Limiter, Cause::Backoff]);
    }
}
