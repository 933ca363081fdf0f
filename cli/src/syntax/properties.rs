//! Java's properties, as Spring reads them, as trees: `a.b.c=1` is an object in an object. The crates for such files keep no places.

use super::yaml::plain;
use crate::tree::{Data, Field, Node};
use std::ops::Range;
use std::rc::Rc;

/// The most names in a name.
const DEEPEST: usize = 32;

/// The documents of a text, which lines of `#---` are between.
pub(crate) fn properties(text: &str) -> Vec<Rc<Node>> {
    let mut documents = vec![object(0..0)];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let rest = line.trim_start();
        let from = start + line.len() - rest.len();
        match (rest.trim_end(), documents.last_mut()) {
            ("#---" | "!---", _) => documents.push(object(at..at)),
            (rest, Some(document)) if !rest.is_empty() && !rest.starts_with(['#', '!']) => {
                if let Some((name, value)) = setting(rest, from) {
                    put(document, &text[name.clone()], name.start, &value);
                }
            }
            _ => {}
        }
    }
    documents
}

fn object(span: Range<usize>) -> Rc<Node> {
    Rc::new(Node { span, data: Data::Object(Vec::new()) })
}

/// The bytes of the name in a line, and its value.
fn setting(line: &str, start: usize) -> Option<(Range<usize>, Rc<Node>)> {
    let end = line.find(['=', ':', ' ', '\t'])?;
    let behind = line[end..].trim_start();
    let value = behind.strip_prefix(['=', ':']).unwrap_or(behind).trim_start();
    let from = start + line.len() - value.len();
    Some((start..start + end, Rc::new(Node { span: from..from + value.len(), data: plain(value) })))
}

/// Puts a value behind the names of a path; the last of several counts. `at` is the byte of the path.
fn put(root: &mut Rc<Node>, path: &str, at: usize, value: &Rc<Node>) {
    if path.split('.').count() > DEEPEST {
        return;
    }
    let (mut node, mut at) = (root, at);
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        let end = value.span.end;
        let inner = Rc::make_mut(node);
        if !matches!(inner.data, Data::Object(_)) {
            inner.data = Data::Object(Vec::new());
        }
        inner.span = if inner.span.is_empty() { at..end } else { inner.span.start..end.max(inner.span.end) };
        let Data::Object(fields) = &mut inner.data else { return };
        // An index says that the value is one of a list.
        let (own, is_item) = name.split_once('[').map_or((name, false), |(own, _)| (own, true));
        let place = fields.iter().position(|field| field.name == own).unwrap_or(fields.len());
        if place == fields.len() {
            let span = at..at + own.len();
            fields.push(Field { name: own.to_owned(), at: span, value: object(0..0) });
        }
        let Some(field) = fields.get_mut(place) else { return };
        at += name.len() + 1;
        if names.peek().is_none() {
            let items = field.value.items().iter().chain([value]).cloned().collect();
            let list = || Rc::new(Node { span: value.span.clone(), data: Data::List(items) });
            field.value = if is_item { list() } else { Rc::clone(value) };
            return;
        }
        node = &mut field.value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths_and_keep_their_places() {
        let text = "# a\n a.b.one = 3\r\na.b.two:x y\na.c[0]=1\na.c[1]=2\na.b.one=4\na.e=1\na.e.f=2\n#---\na.b true\nnothing\n";
        let documents = properties(text);
        let place = documents[0].place("a.b.one").unwrap();
        assert_eq!((&text[place.value], &text[place.name.unwrap()]), ("4", "one"));
        assert_eq!(documents[0].value("a.b.two").unwrap().text(), Some("x y"));
        assert_eq!(documents[0].value("a.c").unwrap().items().len(), 2);
        assert!(documents[0].value("a.e.f").is_some());
        assert!(matches!(documents[1].value("a.b").unwrap().data, Data::Flag(true)));
    }
}
