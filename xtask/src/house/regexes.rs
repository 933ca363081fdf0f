//! Regular expressions of JavaScript and Python that may take more than linear time: their engines try again from each place, and a
//! stranger may choose the text.
//!
//! A fault is a repeat in a repeat, two repeats in a row that can share letters, and a repeat that passes further beginnings of the
//! expression before the rest of it fails.

use super::sources::{Fault, Files, has_ending, is_test};
use regex::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

/// A part of an expression along one way through its alternatives.
#[derive(Clone)]
struct Part {
    letters: ClassUnicode,
    is_endless: bool,
    /// True if the expression fails where this part does.
    is_required: bool,
}

/// The expressions of the sources, but for those of tests, that may take more than linear time.
pub(super) fn faults(files: &Files) -> Vec<Fault> {
    let python = Regex::new(r#"\bre\.\w+\(\s*r?"([^"\n]*)""#).expect("is valid");
    let mut faults = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test(path) && !path.starts_with("benches/")) {
        let found = if has_ending(path, &["ts", "mts", "mjs", "js"]) {
            literals(text)
        } else if path.ends_with(".py") {
            let found = python.captures_iter(text).filter_map(|found| found.get(1));
            found.map(|found| (found.start(), found.as_str(), "")).collect()
        } else {
            continue;
        };
        for (at, pattern, flags) in found {
            if let Some(why) = fault(pattern, flags) {
                let line = text[..at].matches('\n').count() + 1;
                faults.push(Fault::new(path, line, format!("the regular expression /{pattern}/{flags} {why}")));
            }
        }
    }
    faults
}

/// Says why an expression may take more than linear time.
fn fault(pattern: &str, flags: &str) -> Option<String> {
    let parsed = ParserBuilder::new()
        .case_insensitive(flags.contains('i'))
        .multi_line(flags.contains('m'))
        .dot_matches_new_line(flags.contains('s'))
        .build()
        .parse(&translated(pattern));
    let hir = match parsed {
        Ok(hir) => hir,
        Err(error) => return Some(format!("cannot be read: {error}")),
    };
    if nests(&hir) {
        return Some("repeats a repeat".to_owned());
    }
    let is_bound = flags.contains('y') || hir.properties().look_set_prefix().iter().next().is_some();
    ways(&hir).iter().find_map(|way| slow(way, is_bound)).map(str::to_owned)
}

/// Says why one way through an expression may take more than linear time. It is bound if it has few places to begin at.
fn slow(way: &[Part], is_bound: bool) -> Option<&'static str> {
    for (at, part) in way.iter().enumerate().filter(|(_, part)| part.is_endless) {
        let rest = &way[at + 1..];
        if !rest.iter().any(|later| later.is_required) {
            continue;
        }
        if !is_bound && way[..at].iter().all(|before| overlaps(before, part)) {
            return Some("begins again at each letter of a repeat: anchor it, or make the rest optional");
        }
        for (next, later) in rest.iter().enumerate() {
            if later.is_endless && overlaps(later, part) && rest[next + 1..].iter().any(|last| last.is_required) {
                return Some("has two repeats that can share letters");
            }
            if !overlaps(later, part) && !later.letters.ranges().is_empty() {
                break;
            }
        }
    }
    None
}

fn overlaps(one: &Part, other: &Part) -> bool {
    let mut common = one.letters.clone();
    common.intersect(&other.letters);
    !common.ranges().is_empty()
}

/// True if a repeat is in another one, unless each turn of the outer one begins with a letter that the inner one has not.
fn nests(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Repetition(outer) if outer.max.is_none() => ways(&outer.sub).iter().any(|way| {
            let inner = way.iter().enumerate().filter(|(_, part)| part.is_endless);
            inner.into_iter().any(|(at, part)| way[..at].first().is_none_or(|first| overlaps(first, part)))
        }),
        HirKind::Repetition(outer) => nests(&outer.sub),
        HirKind::Capture(capture) => nests(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(nests),
        _ => false,
    }
}

/// The ways through an expression.
fn ways(hir: &Hir) -> Vec<Vec<Part>> {
    let one = |letters, is_endless, is_required| vec![vec![Part { letters, is_endless, is_required }]];
    match hir.kind() {
        HirKind::Empty => vec![Vec::new()],
        HirKind::Look(_) => one(ClassUnicode::empty(), false, true),
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            let part = |letter| Part { letters: letter_class(letter), is_endless: false, is_required: true };
            vec![text.chars().map(part).collect()]
        }
        HirKind::Class(_) => one(letters(hir), false, true),
        HirKind::Capture(capture) => ways(&capture.sub),
        HirKind::Alternation(parts) => parts.iter().flat_map(ways).collect(),
        HirKind::Concat(parts) => parts.iter().fold(vec![Vec::new()], |all: Vec<Vec<Part>>, part| {
            let next = ways(part);
            all.iter().flat_map(|way| next.iter().map(move |more| [&way[..], more].concat())).collect()
        }),
        HirKind::Repetition(repetition) if repetition.max.is_none() => one(letters(&repetition.sub), true, false),
        HirKind::Repetition(repetition) => {
            let mut inner = ways(&repetition.sub);
            if repetition.min == 0 {
                inner.iter_mut().flatten().for_each(|part| part.is_required = false);
                inner.push(Vec::new());
            }
            inner
        }
    }
}

fn letter_class(letter: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(letter, letter)])
}

/// The letters that an expression can have anywhere.
fn letters(hir: &Hir) -> ClassUnicode {
    let mut all = ClassUnicode::empty();
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            text.chars().for_each(|letter| all.union(&letter_class(letter)));
        }
        HirKind::Class(Class::Unicode(class)) => all = class.clone(),
        HirKind::Class(Class::Bytes(_)) => all.negate(),
        HirKind::Repetition(repetition) => all = letters(&repetition.sub),
        HirKind::Capture(capture) => all = letters(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|part| all.union(&letters(part)));
        }
    }
    all
}

/// An expression of JavaScript in the words of Rust, which differ within brackets.
fn translated(pattern: &str) -> String {
    let mut out = String::new();
    // No text of Rust has such a letter.
    let pattern = pattern.replace(r"\p{Surrogate}", r"\0");
    let mut letters = pattern.chars();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('/') => out.push('/'),
                Some('0') => out += "\\x00",
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '[' if in_class => out += "\\[",
            '[' => {
                in_class = true;
                out.push('[');
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

/// The regular expressions of a script: where each begins, its text and its flags.
fn literals(text: &str) -> Vec<(usize, &str, &str)> {
    let token = Regex::new(concat!(
        r#"(?s)//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"#,
        r"|(?-s)/((?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)"
    ))
    .expect("is valid");
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(captures) = token.captures_at(text, at) {
        let all = captures.get(0).expect("is the whole");
        let before = text[..all.start()].trim_end();
        at = all.end();
        let Some(pattern) = captures.get(1) else { continue };
        let is_operand = before.is_empty()
            || before.ends_with(['(', ',', '=', ':', '[', '!', '&', '|', '?', '{', '}', ';', '>'])
            || before.ends_with("return");
        if is_operand {
            found.push((pattern.start(), pattern.as_str(), captures.get(2).map_or("", |flags| flags.as_str())));
        } else {
            // A division.
            at = all.start() + 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_tries_again_from_each_place_is_a_fault() {
        for slow in [
            r#""(?:[^"\\]|\\.)*"|-?\d+"#,
            r"\s+$",
            r"(\w+)_wasm",
            r"^(a+)+$",
            r"^(?:\d+\s*)*$",
            r"^\s*\s*x$",
            r"^.*Timeout.*E$",
            r"<style>[\s\S]*?</style>",
        ] {
            assert!(fault(slow, "").is_some(), "{slow}");
        }
        for linear in [
            r#""(?:[^"\\]|\\[\s\S]?)*"?|-?\d+(?:\.\d+)?"#,
            r"^\s*(true|false)\s*$",
            r"^(\d+)(?:\.(\d+))?([a-z]+)$",
            r"^(?:a|b\d+)*$",
            r"^(?:\.\d+)*$",
            r"^backoff(\[\d+\])?\.(on|jitter)\b",
            r"timed out|imeout of ",
        ] {
            assert_eq!(fault(linear, ""), None, "{linear}");
        }
        assert_eq!(fault(r"\d+x", "y"), None);
    }

    #[test]
    fn expressions_are_found_among_strings_comments_and_divisions() {
        let text = "a = b / c; // not /this/\nf(/x[/]y/gi, '/no/', `/no/`); return /z/.test(d / e);";
        let found: Vec<_> = literals(text).into_iter().map(|(_, pattern, flags)| (pattern, flags)).collect();
        assert_eq!(found, [("x[/]y", "gi"), ("z", "")]);
    }
}
