//! The values that fields take.

use crate::words::{nth, same};

/// The words that a field takes. A word's number is its place in the list, counted from `first`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Words {
    /// The rule, and then the words. One text needs one address, which a loader has to fill in.
    pub(crate) texts: &'static str,
    pub(crate) first: u8,
}

impl Words {
    pub(crate) const fn new(texts: &'static str, first: u8) -> Self {
        Self { texts, first }
    }

    /// Each word with its number.
    pub fn iter(self) -> impl Iterator<Item = (&'static str, u8)> + Clone {
        self.texts.split('\0').skip(1).zip(self.first..)
    }

    /// The word with that number; empty for any other number.
    pub(crate) const fn word(self, number: u8) -> &'static str {
        match number.checked_sub(self.first) {
            Some(place) => nth(self.texts, (place as usize).wrapping_add(1)),
            None => "",
        }
    }

    /// The bits of some of the words, by their numbers. Evaluated at compile time: a word that is none stops it.
    pub(crate) const fn bits(self, some: &[&str]) -> u16 {
        let mut bits = 0;
        let mut some = some;
        while let [word, others @ ..] = some {
            let mut number = self.first;
            while !same(self.word(number).as_bytes(), word.as_bytes()) {
                assert!(!self.word(number).is_empty(), "a kind that is no word of its section");
                number = number.wrapping_add(1);
            }
            bits |= 1_u16.wrapping_shl(number as u32);
            some = others;
        }
        bits
    }
}

/// The values that a field takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Takes {
    /// One of some words.
    Word(Words),
    /// A length of time of at least so many nanoseconds.
    Span {
        /// The shortest, in nanoseconds: 0, or 1 for a time above zero.
        from: u64,
    },
    /// A length of time, or "none" for no limit.
    SpanOrNone {
        /// The shortest, in nanoseconds: 0, or 1 for a time above zero.
        from: u64,
        /// The number that stands for "none".
        none: u64,
    },
    /// A finite number.
    Number(Range),
    /// A whole number from the first to the second.
    WholeNumber(u32, u32),
    /// A whole number from 1 on, or "forever".
    Attempts,
    /// A list of lengths of time.
    Spans,
    /// A length of time, or a list of up to so many of them.
    SpanOrSpans(u8),
    /// The number of the format: 1.
    Version,
    /// True or false.
    Flag,
}

impl Takes {
    /// 1 for a time, 2 for a double, 3 for a whole number, 0 for a word and for what errors do not show.
    pub(crate) const fn unit(&self) -> u8 {
        match self {
            Self::Word(_) | Self::Spans | Self::Version | Self::Flag => 0,
            Self::Span { .. } | Self::SpanOrNone { .. } | Self::SpanOrSpans(_) => 1,
            Self::Number(_) => 2,
            Self::WholeNumber(..) | Self::Attempts => 3,
        }
    }
}

/// The numbers that a field takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    /// Any finite number from this one on.
    From(f64),
    /// Any finite number above 0.
    AboveZero,
    /// A share: above 0 and at most 1.
    Share,
}
