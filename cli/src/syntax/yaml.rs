//! YAML 1.2 as trees.

use super::broken::{Broken, DEEPEST};
use super::indentation;
use super::places::Places;
use crate::tree::{Data, Field, Node};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The most values of a text, those that its aliases stand for among them.
const MOST_VALUES: u64 = 1_000_000;

/// The documents of a YAML text.
pub(crate) fn yaml(text: &str) -> Result<Vec<Rc<Node>>, Broken> {
    documents(text, text, &Places::of(text)).or_else(|broken| {
        if !broken.words.starts_with("invalid indentation") {
            return Err(broken);
        }
        let (moved, places) = indentation::indented(text);
        documents(&moved, text, &places)
    })
}

/// The documents of `moved`, whose characters have these places in `text`.
fn documents(moved: &str, text: &str, places: &Places) -> Result<Vec<Rc<Node>>, Broken> {
    let mut documents = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    // Anchors, each with its value and the number of values in it.
    let mut anchors: HashMap<usize, (Rc<Node>, u64)> = HashMap::new();
    let mut values = 0;
    for event in Parser::new_from_str(moved) {
        let (event, span) = event
            .map_err(|error| Broken { words: error.info().to_owned(), at: places.byte(error.marker().index()) })?;
        let span = places.byte(span.start.index())..places.byte(span.end.index());
        let (node, anchor, count) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (Node { span, data: scalar(&text, style, tag.as_deref()) }.into(), anchor, 1)
            }
            Event::Alias(anchor) => {
                let Some((node, count)) = anchors.get(&anchor) else {
                    return Err(Broken {
                        words: "an alias stands inside of the value that it names".to_owned(),
                        at: span.start,
                    });
                };
                // The value stands where it is written, and an error about it is shown there.
                (Rc::clone(node), 0, *count)
            }
            Event::SequenceStart(anchor, ref tag) | Event::MappingStart(anchor, ref tag) => {
                let is_choice = tag.as_deref().is_some_and(|tag| tag.handle == "!" && tag.suffix == "If");
                if open.len() == DEEPEST {
                    return Err(Broken { words: format!("more than {DEEPEST} levels"), at: span.start });
                }
                let is_list = matches!(event, Event::SequenceStart(..));
                open.push(Open { start: span.start, is_list, is_choice, items: Vec::new(), anchor, before: values });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(closed) = open.pop() else { continue };
                let count = values - closed.before + 1;
                let (start, anchor) = (closed.start, closed.anchor);
                let end = closed.items.last().map_or(span.end, |last| last.span.end.max(start));
                // The end of a block is where the next one begins: the last value ends it.
                let is_flow = text.get(span.clone()).is_some_and(|end| end == "}" || end == "]");
                let end = if is_flow { span.end } else { end };
                values = closed.before;
                (Node { span: start..end.max(start), data: closed.data() }.into(), anchor, count)
            }
            _ => continue,
        };
        values += count;
        if values > MOST_VALUES {
            return Err(Broken {
                words: format!("its aliases stand for more than {MOST_VALUES} values"),
                at: node.span.start,
            });
        }
        if anchor > 0 {
            anchors.insert(anchor, (Rc::clone(&node), count));
        }
        match open.last_mut() {
            Some(parent) => parent.items.push(node),
            None => {
                documents.push(node);
                values = 0;
            }
        }
    }
    Ok(documents)
}

/// A list or an object whose end is not read yet.
struct Open {
    start: usize,
    is_list: bool,
    /// True for a list of CloudFormation's `!If`.
    is_choice: bool,
    /// The items, or names and values by turns.
    items: Vec<Rc<Node>>,
    anchor: usize,
    /// The number of values before it.
    before: u64,
}

impl Open {
    fn data(self) -> Data {
        if self.is_list {
            let list = Data::List(self.items);
            if !self.is_choice {
                return list;
            }
            let at = self.start..self.start;
            let value = Rc::new(Node { span: at.clone(), data: list });
            return Data::Object(vec![Field { name: "!If".to_owned(), at, value }]);
        }
        let (mut fields, mut merged) = (Vec::<Field>::new(), Vec::<Rc<Node>>::new());
        for pair in self.items.chunks_exact(2) {
            let [name, value] = pair else { continue };
            match key(name) {
                Some(name) if name == "<<" => merged.push(Rc::clone(value)),
                Some(text) => fields.push(Field { name: text, at: name.span.clone(), value: Rc::clone(value) }),
                // A list or an object as a name is none that a policy has.
                None => {}
            }
        }
        // A merge key brings the fields that the object does not have itself; the first of several objects counts.
        let mut known: HashSet<_> = match merged.is_empty() {
            true => HashSet::new(),
            false => fields.iter().map(|field| field.name.clone()).collect(),
        };
        for value in &merged {
            let sources = if matches!(value.data, Data::List(_)) { value.items() } else { std::slice::from_ref(value) };
            for field in sources.iter().flat_map(|source| source.fields()) {
                if known.insert(field.name.clone()) {
                    fields.push(field.clone());
                }
            }
        }
        Data::Object(fields)
    }
}

/// The text of a name, which may be a number or a flag.
fn key(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Number(number) => Some(number.to_string()),
        Data::Flag(flag) => Some(flag.to_string()),
        Data::Null => Some("null".to_owned()),
        Data::List(_) | Data::Object(_) => None,
    }
}

/// The value of a text without quotes, as YAML has it.
pub(crate) fn plain(text: &str) -> Data {
    scalar(text, ScalarStyle::Plain, None)
}

/// The tags of CloudFormation, which stand for values.
const FUNCTIONS: [&str; 6] = ["Ref", "Sub", "GetAtt", "FindInMap", "ImportValue", "Select"];

/// A value of YAML 1.2's core schema. A function of CloudFormation keeps its name: `!Ref Retries`.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Data {
    if let Some(tag) = tag.filter(|tag| tag.handle == "!" && FUNCTIONS.contains(&&*tag.suffix)) {
        return Data::Text(format!("!{} {text}", tag.suffix));
    }
    let is_text = tag.is_some_and(|tag| !tag.is_yaml_core_schema() || tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return Data::Text(text.to_owned());
    }
    let integer =
        |digits: &str, radix| u64::from_str_radix(digits, radix).map(|number| Data::Number(number as f64)).ok();
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
        && !text.contains(['n', 'N', 'i', 'I']);
    let special = match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Data::Null),
        "true" | "True" | "TRUE" => Some(Data::Flag(true)),
        "false" | "False" | "FALSE" => Some(Data::Flag(false)),
        ".inf" | ".Inf" | ".INF" | "+.inf" => Some(Data::Number(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => Some(Data::Number(f64::NEG_INFINITY)),
        ".nan" | ".NaN" | ".NAN" => Some(Data::Number(f64::NAN)),
        _ => match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
            (Some(digits), _) => integer(digits, 16),
            (_, Some(digits)) => integer(digits, 8),
            _ if is_number => text.parse().ok().map(Data::Number),
            _ => None,
        },
    };
    special.unwrap_or_else(|| Data::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Rc<Node>> {
        yaml(text).unwrap_or_else(|broken| panic!("{}: {text}", broken.words))
    }

    fn shown(node: &Node) -> String {
        match &node.data {
            Data::Null => "null".to_owned(),
            Data::Flag(flag) => flag.to_string(),
            Data::Number(number) => number.to_string(),
            Data::Text(text) => format!("{text:?}"),
            Data::List(items) => format!("[{}]", items.iter().map(|item| shown(item)).collect::<Vec<_>>().join(",")),
            Data::Object(fields) => {
                let field = |field: &Field| format!("{}:{}", field.name, shown(&field.value));
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn values_are_those_of_the_core_schema() {
        for (text, value) in [
            ("3", "3"),
            ("-1.5e3", "-1500"),
            ("+12", "12"),
            ("0x1F", "31"),
            ("0o17", "15"),
            // YAML 1.1 had octal numbers, bases of sixty, and words for flags.
            ("017", "17"),
            ("1:30", "\"1:30\""),
            ("yes", "\"yes\""),
            ("~", "null"),
            ("True", "true"),
            (".inf", "inf"),
            ("-.INF", "-inf"),
            ("infinity", "\"infinity\""),
            ("5s", "\"5s\""),
            ("'3'", "\"3\""),
            ("!!str 3", "\"3\""),
            ("!Ref Retries", "\"!Ref Retries\""),
            ("!other 3", "\"3\""),
            ("|\n a\n b\n", "\"a\\nb\\n\""),
            ("[1, {a: b}, !If [c, 1, 2]]", "[1,{a:\"b\"},{!If:[\"c\",1,2]}]"),
            ("{1: a, true: b, ~: c, [d]: e}", "{1:\"a\",true:\"b\",null:\"c\"}"),
        ] {
            let documents = read(text);
            assert_eq!(documents.iter().map(|node| shown(node)).collect::<Vec<_>>(), [value], "{text}");
        }
    }

    #[test]
    fn a_text_has_several_documents_and_aliases() {
        let documents = read("a: &x {b: 1}\nc: *x\n---\n- &x 2\n- *x\n...\n---\n");
        let all: Vec<_> = documents.iter().map(|node| shown(node)).collect();
        assert_eq!(all, ["{a:{b:1},c:{b:1}}", "[2,2]", "null"]);
        assert!(read("").is_empty());
    }

    #[test]
    fn merge_keys_bring_what_is_not_there() {
        for (text, value) in [
            ("b: &b {x: 1, y: 2}\na: {<<: *b, x: 3}", "{x:3,y:2}"),
            ("b: &b {x: 1}\nc: &c {x: 2, z: 3}\na: {<<: [*b, *c]}", "{x:1,z:3}"),
            ("a: {<<: 3, x: 1}", "{x:1}"),
        ] {
            let documents = read(text);
            assert_eq!(shown(documents[0].get("a").unwrap()), value, "{text}");
        }
    }

    #[test]
    fn places_are_bytes_of_the_text() {
        for end in ["\n", "\r\n"] {
            let text = format!("# \u{e9}\u{1f680}{end}a:{end}  - \u{e9}: {{b: 'x'}}{end}    c: [1,{end}  2]{end}");
            let documents = read(&text);
            for (path, value, name) in [
                ("a[0].\u{e9}.b", "'x'", Some("b")),
                ("a[0].c", &*format!("[1,{end}  2]"), Some("c")),
                ("a[0].c[1]", "2", None),
            ] {
                let place = documents[0].place(path).unwrap();
                assert_eq!((&text[place.value], place.name.map(|name| &text[name])), (value, name), "{path}");
            }
        }
    }

    #[test]
    fn texts_that_are_none_are_refused() {
        let deep = format!("a: {}", "[".repeat(200));
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs += &format!("a{level}: &a{level} [{aliases}]\n");
        }
        for text in [
            "a: [",
            "a: 'b",
            "a: b: c",
            "a:\n\tb: 1\n c",
            "a: *none",
            "a: &a [*a]",
            &*deep,
            &*laughs,
            "{{ a }}: {{ b }}\n- c",
        ] {
            assert!(yaml(text).is_err(), "{text}");
        }
    }
}
