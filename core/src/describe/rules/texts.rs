//! The texts of rules, stored by a host that has a heap.

use super::{Facts, HostText, Rules, TextList};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The names and patterns of the rules of a document.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts {
    texts: Vec<(u8, TextList, String)>,
}

impl Texts {
    /// Stores a text that [`Options::set`](crate::Options::set) returned.
    pub fn store(&mut self, text: HostText<'_>) {
        match text {
            HostText::NoTexts { alternative, list } => self.forget(alternative, list),
            HostText::Text { alternative, list, begins, text } => {
                if begins {
                    self.forget(alternative, list);
                }
                // By their places in the document, whatever the order of its fields.
                let slot = self.texts.partition_point(|known| (known.0, known.1.code()) <= (alternative, list.code()));
                self.texts.insert(slot, (alternative, list, text.into()));
            }
            HostText::ErrorType(_) => {}
        }
    }

    fn forget(&mut self, alternative: u8, list: TextList) {
        self.texts.retain(|known| (known.0, known.1) != (alternative, list));
    }

    /// The texts of a list of an alternative, in their order.
    pub fn get(&self, alternative: u8, list: TextList) -> impl Iterator<Item = &str> {
        let of_list = move |known: &&(u8, TextList, String)| (known.0, known.1) == (alternative, list);
        self.texts.iter().filter(of_list).map(|known| known.2.as_str())
    }

    /// One bit for each alternative that has a text in that list for which the function is true.
    pub fn bits(&self, list: TextList, is_there: impl Fn(&str) -> bool) -> u16 {
        let there = self.texts.iter().filter(|known| known.1 == list && is_there(&known.2));
        there.fold(0, |bits, known| bits | 1_u16.wrapping_shl(known.0.into()))
    }

    /// The facts with the bits of their lists for an error: its codes, the names of its type and of those it derives from, and
    /// its message, which is asked for only if the rules have patterns.
    #[must_use]
    pub fn facts<M: fmt::Display>(
        &self,
        rules: &Rules,
        facts: Facts,
        codes: &[&str],
        types: &[&str],
        message: impl FnOnce() -> M,
    ) -> Facts {
        let patterns = if rules.has_texts(TextList::Patterns) {
            let message = alloc::string::ToString::to_string(&message());
            self.bits(TextList::Patterns, |pattern| message.contains(pattern))
        } else {
            0
        };
        Facts {
            codes: self.bits(TextList::Codes, |code| codes.contains(&code)),
            types: self.bits(TextList::Types, |name| types.contains(&name)),
            patterns,
            ..facts
        }
    }
}
