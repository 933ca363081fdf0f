//! A configuration of nginx as a tree: blocks with their directives. A directive that comes again makes a list of its name's
//! values only where it is a block.

use super::broken::Broken;
use crate::tree::{Data, Field, Node};
use std::ops::Range;
use std::rc::Rc;

/// The directives of all modules that pass a request on.
pub(crate) const MODULES: [&str; 6] = ["proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached"];
/// The deepest level of blocks.
const DEEPEST: usize = 64;

/// True for a text with a directive about the next server.
pub(crate) fn is_nginx(text: &str) -> bool {
    let has_directive = |line: &str| {
        line.match_indices("_next_upstream").any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            let module = before.rsplit(|sign: char| sign.is_whitespace() || "{};".contains(sign)).next();
            module.is_some_and(|module| MODULES.contains(&module))
        })
    };
    text.lines().any(|line| line.contains(';') && !line.trim_start().starts_with('#') && has_directive(line))
}

/// A word, or a sign that ends a directive or a block.
struct Token {
    span: Range<usize>,
    /// True for one of `;`, `{` and `}` without quotes.
    is_sign: bool,
}

/// A block that is not ended yet: its name, its place, its fields.
struct Open {
    name: String,
    at: Range<usize>,
    fields: Vec<Field>,
}

/// The directives of a text: the words behind a name are one text, and a block is an object with `name words` as its name.
pub(crate) fn nginx(text: &str) -> Result<Rc<Node>, Broken> {
    let mut open = vec![Open { name: String::new(), at: 0..0, fields: Vec::new() }];
    let mut words: Vec<Range<usize>> = Vec::new();
    let broken = |words: &str, at: usize| Broken { words: words.to_owned(), at };
    for token in tokens(text) {
        let sign = text.get(token.span.clone()).filter(|_| token.is_sign);
        match (sign, words.first().cloned(), words.last().cloned()) {
            (None, _, _) => words.push(token.span),
            (Some(";"), Some(first), Some(last)) => {
                let name = text.get(first.clone()).unwrap_or_default().to_owned();
                let span = words.get(1).map_or(last.end, |word| word.start)..last.end;
                let data = Data::Text(text.get(span.clone()).unwrap_or_default().to_owned());
                let field = Field { name, at: first, value: Rc::new(Node { span, data }) };
                open.last_mut().ok_or_else(|| broken("a block ends twice", token.span.start))?.fields.push(field);
                words.clear();
            }
            (Some("{"), Some(first), Some(last)) if open.len() < DEEPEST => {
                let at = first.start..last.end;
                let name = text.get(at.clone()).unwrap_or_default().to_owned();
                open.push(Open { name, at, fields: Vec::new() });
                words.clear();
            }
            (Some("}"), None, _) => {
                let (Some(block), Some(around)) = (open.pop(), open.last_mut()) else {
                    return Err(broken("a block ends that did not begin", token.span.start));
                };
                let span = block.at.start..token.span.end;
                let value = Rc::new(Node { span, data: Data::Object(block.fields) });
                around.fields.push(Field { name: block.name, at: block.at, value });
            }
            (Some(";"), None, _) => {}
            (Some(_), ..) => return Err(broken("a directive ends with \";\"", token.span.start)),
        }
    }
    match (open.pop(), words.first()) {
        (Some(root), None) if open.is_empty() => {
            Ok(Rc::new(Node { span: 0..text.len(), data: Data::Object(root.fields) }))
        }
        _ => Err(broken("the text ends in the middle of a block or a directive", text.len())),
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut signs = text.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        match sign {
            sign if sign.is_whitespace() => {}
            '#' => while signs.next_if(|(_, sign)| *sign != '\n').is_some() {},
            ';' | '{' | '}' => tokens.push(Token { span: at..at + 1, is_sign: true }),
            '"' | '\'' => {
                let mut end = text.len();
                while let Some((here, next)) = signs.next() {
                    match next {
                        '\\' => drop(signs.next()),
                        _ if next == sign => {
                            end = here + 1;
                            break;
                        }
                        _ => {}
                    }
                }
                tokens.push(Token { span: at..end, is_sign: false });
            }
            _ => {
                let mut before = sign;
                // `${name}` is a part of a word.
                let mut is_inside = false;
                let mut end = at + sign.len_utf8();
                while let Some((here, next)) = signs.next_if(|(_, next)| {
                    is_inside && !next.is_whitespace()
                        || before == '\\'
                        || before == '$' && *next == '{'
                        || !next.is_whitespace() && !matches!(next, ';' | '{' | '}')
                }) {
                    is_inside = next != '}' && (is_inside || before == '$' && next == '{');
                    before = next;
                    end = here + next.len_utf8();
                }
                tokens.push(Token { span: at..end, is_sign: false });
            }
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_directives_have_their_places() {
        let text = "http {\r\n  # proxy_next_upstream off;\n  log_format main '{ \"a\": \"$b\"; }';\n  server {\n    location ~ \\.php$ {\n\
            \x20     proxy_pass http://${name}:80/x;\n      proxy_next_upstream error  http_502;\n    }\n  }\n}\n";
        let Ok(root) = nginx(text) else { panic!() };
        let location = &root.value("http.server").unwrap().fields()[0];
        assert_eq!(location.name, "location ~ \\.php$");
        let place = location.value.place("proxy_next_upstream").unwrap();
        assert_eq!(&text[place.value], "error  http_502");
        assert_eq!(location.value.value("proxy_pass").unwrap().text(), Some("http://${name}:80/x"));
        assert!(is_nginx(text) && is_nginx("a { grpc_next_upstream off; }"));
        assert!(!is_nginx("# proxy_next_upstream off;\n") && !is_nginx("my_proxy_next_upstream off;\n"));
    }

    #[test]
    fn broken_blocks_are_refused() {
        for text in ["a {", "a }", "}", "a b", "a 'b;", "{ }", &"a {".repeat(100)] {
            assert!(nginx(text).is_err(), "{text}");
        }
        assert!(nginx("").is_ok() && nginx("a;;\n").is_ok());
    }
}
