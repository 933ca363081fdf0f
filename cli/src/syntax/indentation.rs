//! The indentation of YAML inside of quotes and brackets, which most systems do not look at.
//!
//! By the specification, each line of a quoted text or of a list in brackets stands deeper than the block around it. The parsers of Go,
//! Java, Python and C do not ask for it, and files have `]` below the name of its list. Only what is inside of quotes and brackets is
//! moved: there, indentation has no meaning.

use super::places::Places;

/// A text whose quotes and brackets stand as deep as they must, and the places of its characters in `text`.
pub(super) fn indented(text: &str) -> (String, Places) {
    let (mut out, mut places, mut scan) = (String::new(), Vec::new(), Scan::default());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let depth = line.len() - line.trim_start_matches(' ').len();
        if !line.trim().is_empty() {
            for _ in depth..scan.least_depth() {
                out.push(' ');
                places.push(start);
            }
        }
        out += line;
        places.extend(line.char_indices().map(|(at, _)| start + at));
        scan.line(line, depth);
        start += line.len();
    }
    (out, Places(Some(places), text.len()))
}

/// What the lines so far leave open.
#[derive(Default)]
struct Scan {
    quote: Option<char>,
    /// How many brackets are open.
    brackets: usize,
    /// The column of the first quote or bracket that is open.
    opened: usize,
    /// The column of the name whose value is a block of text.
    block: Option<usize>,
}

impl Scan {
    /// The least column of a line that goes on inside of quotes or brackets.
    const fn least_depth(&self) -> usize {
        if self.quote.is_some() || self.brackets > 0 { self.opened + 1 } else { 0 }
    }

    fn line(&mut self, line: &str, depth: usize) {
        if let Some(name) = self.block {
            if line.trim().is_empty() || depth > name {
                return;
            }
            self.block = None;
        }
        // A quote, a bracket or a block begins only where a value may begin.
        let (mut may_begin, mut name, mut is_tag) = (true, depth, false);
        let mut signs = line.trim_end().char_indices().peekable();
        let mut before = ' ';
        while let Some((at, sign)) = signs.next() {
            let is_last = signs.peek().is_none_or(|(_, next)| next.is_whitespace());
            let is_outside = self.brackets == 0;
            match (self.quote, sign) {
                (Some('"'), '\\') => drop(signs.next()),
                (Some('\''), '\'') if signs.peek().is_some_and(|(_, next)| *next == '\'') => drop(signs.next()),
                (Some(quote), _) => {
                    if sign == quote {
                        (self.quote, may_begin) = (None, false);
                    }
                }
                (None, '#') if before.is_whitespace() => return,
                (None, ' ' | '\t') => is_tag = false,
                (None, '\'' | '"') if may_begin => {
                    self.quote = Some(sign);
                    if is_outside {
                        self.opened = at;
                    }
                }
                (None, '[' | '{') if may_begin => {
                    if is_outside {
                        self.opened = at;
                    }
                    self.brackets += 1;
                }
                (None, ']' | '}') if !is_outside => {
                    self.brackets -= 1;
                    may_begin = false;
                }
                (None, ',') if !is_outside => may_begin = true,
                (None, ':') if is_last || !is_outside && matches!(before, '"' | '\'') => may_begin = true,
                (None, '-' | '?') if may_begin && is_last => name = at,
                (None, '|' | '>') if may_begin && is_outside => {
                    self.block = Some(name);
                    return;
                }
                (None, '&' | '!' | '*') if may_begin => is_tag = true,
                (None, _) => {
                    if may_begin && !is_tag && is_outside {
                        name = name.max(at);
                    }
                    may_begin &= is_tag;
                }
            }
            before = sign;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::yaml::yaml;
    use super::*;

    #[test]
    fn brackets_and_quotes_may_stand_less_deep_than_their_name() {
        for text in [
            "a:\n  b: [\n    1\n  ]\n  c: 2\n",
            "a:\n  b: {\n    \"x\": 1\n  }\n  c: 2\n",
            "a:\n  - b: ['x',\n 'y'\n]\n    c: 2\n",
            "a:\n  - b: 'one\n\n    two # and\n\n  three''s [ '\n    c: 2\n",
            "a:\n  b: \"one \\\"\n  two\"\n  c: 2\n",
            "a:\n  b: !Sub\n    - |\n      [ '\n    - [\n    1\n    ]\n  c: 2\n",
            "a:\n  # don't [\n  d: don't [ # it's\n  e: >-\n    [ \"\n  b: [\n  1]\n  c: 2\n",
        ] {
            let (moved, places) = indented(text);
            let documents = yaml(text);
            assert!(documents.is_ok(), "{moved}");
            let found = documents.unwrap_or_default();
            let a = found.first().and_then(|root| root.get("a")).map(|a| a.items().first().unwrap_or(a).clone());
            let two = a.and_then(|a| a.get("c").cloned());
            let place = two.map(|two| &text[two.span.clone()]);
            assert_eq!(place, Some("2"), "{moved}");
            // A place is one of the text as it was.
            let at = moved.find('2').unwrap_or_default();
            assert_eq!(places.byte(moved[..at].chars().count()), text.find('2').unwrap_or_default());
        }
    }

    #[test]
    fn a_list_without_an_end_is_a_mistake() {
        for text in ["a:\n  b: [\n  1\n  c: 2\n", "a:\n  b: 'one\n  c: 2\n"] {
            assert!(yaml(text).is_err(), "{text}");
        }
    }
}
