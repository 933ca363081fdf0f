//! The words of a Python program, without its comments and the content of its texts.

use std::ops::Range;

/// A word or a sign.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    /// Its bytes.
    pub(super) span: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind<'t> {
    /// A name, with dots: `tenacity.retry`.
    Name(&'t str),
    Number(f64),
    /// A text; nothing that is read is one.
    Text,
    Sign(char),
}

impl<'t> Token<'t> {
    /// The name without what stands before its last dot.
    pub(super) fn last_name(&self) -> Option<&'t str> {
        let Kind::Name(name) = self.kind else { return None };
        name.rsplit('.').next()
    }

    pub(super) fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(sign) = text[at..].chars().next() {
        let (rest, start) = (&text[at..], at);
        let run = |is: fn(char) -> bool| rest.find(|sign| !is(sign)).unwrap_or(rest.len());
        let kind = match sign {
            '#' => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '"' | '\'' => {
                at += literal(rest, sign);
                Kind::Text
            }
            _ if sign.is_alphabetic() || sign == '_' => {
                at += run(|sign| sign.is_alphanumeric() || matches!(sign, '_' | '.'));
                Kind::Name(&text[start..at])
            }
            _ if sign.is_ascii_digit() || sign == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()) => {
                at += run(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.'));
                // A number with an exponent of its own sign: 1e-3.
                if text[start..at].ends_with(['e', 'E']) && text[at..].starts_with(['+', '-']) {
                    let digits = &text[at + 1..];
                    at += 1 + digits.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(digits.len());
                }
                Kind::Number(text[start..at].replace('_', "").parse().unwrap_or(f64::NAN))
            }
            _ => {
                at += sign.len_utf8();
                if sign.is_whitespace() {
                    continue;
                }
                Kind::Sign(sign)
            }
        };
        found.push(Token { kind, span: start..at });
    }
    found
}

/// The bytes of a text in quotes, those with it; up to the end of the line, or of three quotes.
fn literal(rest: &str, quote: char) -> usize {
    let three = String::from_iter([quote; 3]);
    if let Some(inside) = rest.strip_prefix(three.as_str()) {
        return inside.find(three.as_str()).map_or(rest.len(), |end| end + 6);
    }
    let mut signs = rest.char_indices().skip(1);
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' => drop(signs.next()),
            '\n' => return at,
            _ if sign == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_hold_no_words() {
        let kinds: Vec<_> =
            tokens("@a.b(x=1_0.5e-1, y='it\\'s # no') # z\n'''q\n''' é→").into_iter().map(|token| token.kind).collect();
        let sign = Kind::Sign;
        assert_eq!(
            kinds,
            [
                sign('@'),
                Kind::Name("a.b"),
                sign('('),
                Kind::Name("x"),
                sign('='),
                Kind::Number(1.05),
                sign(','),
                Kind::Name("y"),
                sign('='),
                Kind::Text,
                sign(')'),
                Kind::Text,
                Kind::Name("é"),
                sign('→'),
            ]
        );
    }
}
