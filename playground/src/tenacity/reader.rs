//! Calls, arguments and numbers of a Python program.

use super::tokens::{Kind, Token};
use crate::problem::Problem;
use std::ops::Range;

/// An argument of a call.
pub(super) struct Argument<'a, 't> {
    pub(super) name: Option<&'t str>,
    pub(super) value: &'a [Token<'t>],
    pub(super) span: Range<usize>,
}

/// Reads tokens of a text.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    text: &'t str,
}

impl<'t> Reader<'t> {
    pub(super) const fn of(text: &'t str) -> Self {
        Self { text }
    }

    pub(super) fn wrong(self, span: Range<usize>, message: &str) -> Problem {
        Problem::at(self.text, span, message)
    }

    /// The error about tokens that are not understood.
    pub(super) fn unknown(self, tokens: &[Token<'_>], expected: &str) -> Problem {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return self
                .wrong(self.text.len()..self.text.len(), &format!("the text ends where {expected} is expected"));
        };
        let span = first.span.start..last.span.end;
        let shown: String = self.text[span.clone()].chars().take(60).collect();
        self.wrong(span, &format!("`{shown}` is not understood: {expected} is expected"))
    }

    /// The index of the bracket that closes the one at `open`.
    pub(super) fn closing(self, tokens: &[Token<'_>], open: usize) -> Result<usize, Problem> {
        let mut depth = 0_usize;
        for (at, token) in tokens.iter().enumerate().skip(open) {
            match token.kind {
                Kind::Sign('(' | '[' | '{') => depth += 1,
                Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return Ok(at);
            }
        }
        Err(self.wrong(tokens[open].span.clone(), "this bracket is not closed"))
    }

    /// The parts of tokens between signs that stand in no bracket.
    pub(super) fn split<'a>(self, tokens: &'a [Token<'t>], sign: char) -> Vec<&'a [Token<'t>]> {
        let mut depth = 0_usize;
        let parts = tokens.split(|token| {
            match token.kind {
                Kind::Sign('(' | '[' | '{') => depth += 1,
                Kind::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.is(sign)
        });
        parts.collect()
    }

    pub(super) fn arguments<'a>(self, tokens: &'a [Token<'t>]) -> Result<Vec<Argument<'a, 't>>, Problem> {
        let mut parts = self.split(tokens, ',');
        // A comma may stand behind the last argument.
        if parts.last().is_some_and(|last| last.is_empty()) {
            parts.pop();
        }
        let argument = |part: &'a [Token<'t>]| match part {
            [] => Err(self.unknown(tokens, "an argument between commas")),
            [Token { kind: Kind::Name(name), .. }, equals, value @ ..] if equals.is('=') => {
                Ok(Argument { name: Some(*name), value, span: part[0].span.start..part[part.len() - 1].span.end })
            }
            [first, .., last] => Ok(Argument { name: None, value: part, span: first.span.start..last.span.end }),
            [one] => Ok(Argument { name: None, value: part, span: one.span.clone() }),
        };
        parts.into_iter().map(argument).collect()
    }

    /// Tokens without the brackets around all of them.
    pub(super) fn bare<'a>(self, mut tokens: &'a [Token<'t>]) -> Result<&'a [Token<'t>], Problem> {
        while let [open, inside @ .., close] = tokens
            && open.is('(')
            && close.is(')')
            && self.closing(tokens, 0)? == tokens.len() - 1
        {
            tokens = inside;
        }
        Ok(tokens)
    }

    /// The name and the arguments of a call, or a name alone.
    pub(super) fn named<'a>(
        self,
        tokens: &'a [Token<'t>],
        expected: &str,
    ) -> Result<(&'t str, Vec<Argument<'a, 't>>), Problem> {
        match tokens {
            [name] => name.last_name().map(|name| (name, Vec::new())).ok_or_else(|| self.unknown(tokens, expected)),
            [name, open, ..] if open.is('(') && self.closing(tokens, 1)? == tokens.len() - 1 => {
                let arguments = self.arguments(&tokens[2..tokens.len() - 1])?;
                name.last_name().map(|name| (name, arguments)).ok_or_else(|| self.unknown(tokens, expected))
            }
            _ => Err(self.unknown(tokens, expected)),
        }
    }

    /// The numbers of a call, by their names, in the order of the function's parameters.
    pub(super) fn numbers<const N: usize>(
        self,
        function: &str,
        arguments: &[Argument<'_, 't>],
        names: [&str; N],
    ) -> Result<[Option<f64>; N], Problem> {
        let mut found = [None; N];
        for (index, Argument { name, value, span }) in arguments.iter().enumerate() {
            let place = match name {
                Some(name) => names.iter().position(|known| known == name),
                None => (index < N).then_some(index),
            };
            let Some(place) = place else {
                let known = if N == 0 { "nothing".to_owned() } else { names.join(", ") };
                return Err(self.wrong(span.clone(), &format!("{function} takes {known}")));
            };
            found[place] = Some(self.number(value)?);
        }
        Ok(found)
    }

    /// A number that is written out: `2`, `60 * 5` or `timedelta(minutes=5)`.
    pub(super) fn number(self, tokens: &[Token<'t>]) -> Result<f64, Problem> {
        let expected = "a number that is written out";
        let mut product = 1.0;
        for factor in self.split(tokens, '*') {
            product *= match factor {
                [Token { kind: Kind::Number(number), .. }] if number.is_finite() => *number,
                [name, ..] if name.last_name() == Some("timedelta") => {
                    const UNITS: [(&str, f64); 7] = [
                        ("days", 86_400.0),
                        ("seconds", 1.0),
                        ("microseconds", 1e-6),
                        ("milliseconds", 1e-3),
                        ("minutes", 60.0),
                        ("hours", 3600.0),
                        ("weeks", 604_800.0),
                    ];
                    let (function, arguments) = self.named(factor, expected)?;
                    let given = self.numbers(function, &arguments, UNITS.map(|unit| unit.0))?;
                    given.iter().zip(UNITS).map(|(number, unit)| number.unwrap_or(0.0) * unit.1).sum()
                }
                _ => return Err(self.unknown(tokens, expected)),
            };
        }
        Ok(product)
    }
}
