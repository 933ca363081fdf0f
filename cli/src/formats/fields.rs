//! The fields of an object of another system: each is read once, strictly, with its rule in words.

use crate::placeholder::is_unknown;
use crate::tree::{Data, Node};
use holdoff_core::{Document, Span};
use std::rc::Rc;

/// A mistake in an object of a system.
pub(crate) struct Mistake {
    /// The path of the value in the object; of the name if `is_name`.
    pub(crate) path: String,
    /// The value, the rule that it breaks, and a name that may be meant.
    pub(crate) message: String,
    pub(crate) is_name: bool,
}

/// The reading of an object of a system that the core does not have.
#[derive(Default)]
pub(crate) struct Translated {
    /// The policy; none if there is a mistake or an unknown value.
    pub(crate) document: Option<Document>,
    pub(crate) mistakes: Vec<Mistake>,
    /// Remarks about what the policy does not say.
    pub(crate) remarks: Vec<String>,
    /// Values that only a running system knows.
    pub(crate) unknown: Vec<String>,
    /// Retries about which the file, or the system's documentation, says too little.
    pub(crate) unsaid: Vec<String>,
}

/// An object, and what was found out about it so far.
pub(crate) struct Fields<'n> {
    pub(crate) node: &'n Rc<Node>,
    pub(super) translated: Translated,
}

/// The largest number that counts attempts.
const MOST: f64 = u32::MAX as f64 - 1.0;

impl<'n> Fields<'n> {
    pub(super) fn of(node: &'n Rc<Node>) -> Self {
        Self { node, translated: Translated::default() }
    }

    /// The value at a path, if it is given and known.
    pub(super) fn value(&mut self, path: &str) -> Option<&'n Node> {
        let node = self.node.value(path).filter(|node| !matches!(node.data, Data::Null))?;
        if is_unknown(node) {
            self.unknown(path);
            return None;
        }
        Some(node)
    }

    /// The first of several paths that is given.
    pub(super) fn given<'p>(&self, paths: &[&'p str]) -> Option<&'p str> {
        let is_given = |path: &&&str| self.node.value(path).is_some_and(|node| !matches!(node.data, Data::Null));
        paths.iter().find(is_given).copied()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.given(&[path]).is_some()
    }

    /// A whole number in a range. `rule` says it in words: "must be a whole number, 0 or more".
    pub(super) fn count(&mut self, path: &str, least: f64, most: f64, rule: &str) -> Option<u32> {
        let node = self.value(path)?;
        match node.data {
            Data::Number(number) if whole(number) && (least..=most.min(MOST)).contains(&number) => Some(number as u32),
            _ => self.wrong(path, rule),
        }
    }

    /// The same, where the system also takes a text with digits.
    pub(super) fn count_or_text(&mut self, path: &str, least: f64, most: f64, rule: &str) -> Option<u32> {
        let text = self.value(path)?.text();
        let number = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        match (text, number.and_then(|text| text.parse::<f64>().ok())) {
            (None, _) => self.count(path, least, most, rule),
            (_, Some(number)) if (least..=most.min(MOST)).contains(&number) => Some(number as u32),
            _ => self.wrong(path, rule),
        }
    }

    /// A text.
    pub(super) fn text(&mut self, path: &str, rule: &str) -> Option<&'n str> {
        let node = self.value(path)?;
        match &node.data {
            Data::Text(text) => Some(text),
            _ => self.wrong(path, rule),
        }
    }

    /// One of some words.
    pub(super) fn word(&mut self, path: &str, words: &[&str], rule: &str) -> Option<&'n str> {
        let text = self.text(path, rule)?;
        if words.contains(&text) { Some(text) } else { self.wrong(path, rule) }
    }

    /// A time that `read` understands, as a policy document has it.
    pub(super) fn time(&mut self, path: &str, read: impl FnOnce(&Node) -> Option<Span>, rule: &str) -> Option<String> {
        let node = self.value(path)?;
        read(node).map(written).or_else(|| self.wrong(path, rule))
    }

    /// Refuses the names of an object that it does not have. Without a path the object is the whole.
    pub(super) fn only(&mut self, path: &str, names: &[&str], what: &str) {
        let fields = self.node.value(path).map_or(&[][..], |node| node.fields());
        for field in fields.iter().filter(|field| !names.contains(&&*field.name)) {
            let near = names.iter().find(|name| is_near(name, &field.name));
            let mean = near.map_or(String::new(), |name| format!("; did you mean \"{name}\"?"));
            let at = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            let message = format!("{at}: is not a field of {what}{mean}");
            self.translated.mistakes.push(Mistake { path: at, message, is_name: true });
        }
    }

    /// Says that a value breaks a rule.
    pub(super) fn wrong<T>(&mut self, path: &str, rule: &str) -> Option<T> {
        let value = self.node.value(path).map_or(String::new(), shown);
        let message = format!("{path}{value}: {rule}");
        self.translated.mistakes.push(Mistake { path: path.to_owned(), message, is_name: false });
        None
    }

    /// Says that a field is missing.
    pub(super) fn missing<T>(&mut self, path: &str) -> Option<T> {
        let message = format!("{path}: is missing");
        self.translated.mistakes.push(Mistake { path: path.to_owned(), message, is_name: false });
        None
    }

    /// Says that only a running system knows a value.
    pub(super) fn unknown(&mut self, path: &str) {
        self.translated.unknown.push(format!("{path}: the value is not known before the file is used"));
    }

    /// Says that the file, or the system's documentation, leaves out what a policy needs.
    pub(super) fn unsaid(&mut self, path: &str, words: &str) {
        self.translated.unsaid.push(format!("{path}: {words}"));
    }

    pub(super) fn remark(&mut self, remark: impl Into<String>) {
        self.translated.remarks.push(remark.into());
    }
}

fn whole(number: f64) -> bool {
    number.trunc() == number
}

/// A time of whole seconds.
pub(super) fn seconds(node: &Node) -> Option<Span> {
    match &node.data {
        Data::Number(number) if whole(*number) => Span::parse(&format!("{number}s")),
        Data::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => Span::parse(&format!("{text}s")),
        _ => None,
    }
}

/// A time as a policy document has it.
pub(super) fn written(span: Span) -> String {
    format!("{}ns", span.as_nanos())
}

/// A value behind its path.
fn shown(node: &Node) -> String {
    match &node.data {
        Data::Null => " = null".to_owned(),
        Data::Flag(flag) => format!(" = {flag}"),
        Data::Number(number) => format!(" = {number}"),
        Data::Text(text) => format!(" = {text:?}"),
        Data::List(_) | Data::Object(_) => String::new(),
    }
}

/// True if two names differ in case, in separators, or in one letter.
fn is_near(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> Vec<char> {
        name.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let before = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let rest = |letters: &[char], skipped: usize| letters.get(before + skipped..).unwrap_or_default().to_vec();
    one == other
        || rest(&one, 1) == rest(&other, 1)
        || rest(&one, 1) == rest(&other, 0)
        || rest(&one, 0) == rest(&other, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_one_wrong_letter_are_near() {
        for name in ["num_retrie", "numRetries", "num_retires", "num_retriess", "xum_retries"] {
            assert_eq!(is_near("num_retries", name), name != "num_retires", "{name}");
        }
        assert!(!is_near("limit", "backoff"));
    }
}
