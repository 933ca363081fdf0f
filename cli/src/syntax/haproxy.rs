//! The sections of a configuration of HAProxy as a tree: `defaults`, `backend web`, each with the lines that are about retries.

use super::broken::Broken;
use crate::tree::{Data, Field, Node};
use std::ops::Range;
use std::rc::Rc;

const SECTIONS: [&str; 5] = ["global", "defaults", "frontend", "backend", "listen"];
/// The directives that are kept, each with the number of its words that are its name.
const KEPT: [(&[&str], &str); 6] = [
    (&["retries"], "retries"),
    (&["retry-on"], "retry-on"),
    (&["timeout", "connect"], "timeout connect"),
    (&["option", "redispatch"], "option redispatch"),
    (&["no", "option", "redispatch"], "no option redispatch"),
    (&["balance"], "balance"),
];

/// True for a text with sections of HAProxy and a directive about retries.
pub(crate) fn is_haproxy(text: &str) -> bool {
    let words = |line: &str| -> Vec<String> { line.split_whitespace().take(3).map(str::to_owned).collect() };
    let is_section = |line: &str| {
        let words = words(line);
        words.first().is_some_and(|first| SECTIONS.contains(&&**first))
            && !line.contains(['{', '=', ':', ';'])
            && !line.starts_with([' ', '\t', '#'])
    };
    let is_retry = |line: &str| {
        let words = words(line);
        let first = words.first().map_or("", String::as_str);
        first == "retries" || first == "retry-on" || words.iter().any(|word| word == "redispatch")
    };
    text.lines().any(is_section) && text.lines().any(is_retry)
}

/// The sections of a text. A section without a name of its own has the name of its kind.
pub(crate) fn haproxy(text: &str) -> Result<Rc<Node>, Broken> {
    let mut sections: Vec<(String, Range<usize>, Vec<Field>)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let words = words(line, start);
        let texts: Vec<_> = words.iter().filter_map(|word| text.get(word.clone())).collect();
        let (Some(first), Some(last), Some(word)) = (words.first(), words.last(), texts.first()) else { continue };
        if SECTIONS.contains(word) {
            sections.push((texts.join(" "), first.start..last.end, Vec::new()));
            continue;
        }
        let Some((_, _, fields)) = sections.last_mut() else { continue };
        let Some((name, own)) = KEPT.iter().find(|(name, _)| texts.starts_with(name)) else { continue };
        let values: Vec<_> = words.get(name.len()..).unwrap_or_default().to_vec();
        let span = match (values.first(), values.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => last.end..last.end,
        };
        let name_at = first.start..words.get(name.len() - 1).map_or(first.end, |word| word.end);
        let value = text.get(span.clone()).unwrap_or_default().to_owned();
        // As in HAProxy, the last of several lines counts.
        fields.retain(|field| field.name != *own);
        fields.push(Field {
            name: (*own).to_owned(),
            at: name_at,
            value: Rc::new(Node { span, data: Data::Text(value) }),
        });
    }
    let fields = sections.into_iter().map(|(name, at, fields)| {
        let end = fields.iter().map(|field| field.value.span.end).max().unwrap_or(at.end);
        Field { name, value: Rc::new(Node { span: at.start..end, data: Data::Object(fields) }), at }
    });
    Ok(Rc::new(Node { span: 0..text.len(), data: Data::Object(fields.collect()) }))
}

/// The words of a line before its comment. Quotes and backslashes keep spaces together.
fn words(line: &str, start: usize) -> Vec<Range<usize>> {
    let (mut words, mut from, mut quote, mut is_escaped) = (Vec::new(), None, None, false);
    for (at, sign) in line.char_indices() {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' if quote != Some('\'') => is_escaped = true,
            _ if quote == Some(sign) => quote = None,
            _ if quote.is_some() => {}
            '"' | '\'' => quote = Some(sign),
            '#' => {
                words.extend(from.take().map(|from| start + from..start + at));
                return words;
            }
            sign if sign.is_whitespace() => {
                words.extend(from.take().map(|from| start + from..start + at));
                continue;
            }
            _ => {}
        }
        from = from.or(Some(at));
    }
    words.extend(from.map(|from| start + from..start + line.len()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_the_lines_about_retries() {
        let text = "defaults\n  retries 3\n  retries 2 # the last one counts\n\
            backend web\r\n\thttp-request set-header X \"retries # no\"\r\n\tretry-on conn-failure 503\r\n\
            backend other\n  no option redispatch\n";
        let Ok(root) = haproxy(text) else { panic!() };
        assert_eq!(root.value("defaults.retries").unwrap().text(), Some("2"));
        let place = root.value("backend web").unwrap().place("retry-on").unwrap();
        assert_eq!(&text[place.value], "conn-failure 503");
        assert_eq!(root.value("backend web").unwrap().fields().len(), 1);
        assert_eq!(root.value("backend other").unwrap().fields()[0].name, "no option redispatch");
        assert!(is_haproxy(text));
        assert!(!is_haproxy("defaults:\n  retries: 3\n") && !is_haproxy("retries 3\n"));
    }
}
