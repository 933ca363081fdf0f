//! The words that fields take.

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
