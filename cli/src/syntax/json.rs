//! JSON, and JSON with comments, as trees.

use super::broken::Broken;
use crate::tree::{Data, Field, Node};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::IgnoredAny;
use std::rc::Rc;

/// The value of a JSON text. `loose` JSON may have comments and commas behind the last item.
pub(crate) fn json(text: &str, loose: bool) -> Result<Rc<Node>, Broken> {
    if !loose && let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
        let at = crate::spans::byte_at(text, error.line(), error.column());
        return Err(Broken { words: error.to_string(), at });
    }
    let options = ParseOptions {
        allow_comments: loose,
        allow_trailing_commas: loose,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| Broken { words: lowercase(&error.kind().to_string()), at: error.range().start })?;
    let nothing = || Broken { words: "EOF while parsing a value".to_owned(), at: text.len() };
    parsed.value.as_ref().map(of_json).ok_or_else(nothing)
}

/// The words of an error, which go on behind others.
fn lowercase(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn of_json(value: &Value<'_>) -> Rc<Node> {
    let data = match value {
        Value::NullKeyword(_) => Data::Null,
        Value::BooleanLit(flag) => Data::Flag(flag.value),
        // A number that is too large for a double is infinite, as in YAML.
        Value::NumberLit(number) => Data::Number(number.value.parse().unwrap_or(f64::NAN)),
        Value::StringLit(text) => Data::Text(text.value.clone().into_owned()),
        Value::Array(list) => Data::List(list.elements.iter().map(of_json).collect()),
        Value::Object(object) => {
            let field = |property: &jsonc_parser::ast::ObjectProp<'_>| Field {
                name: property.name.as_str().to_owned(),
                at: property.name.start()..property.name.end(),
                value: of_json(&property.value),
            };
            Data::Object(object.properties.iter().map(field).collect())
        }
    };
    Rc::new(Node { span: value.start()..value.end(), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, loose: bool) -> Rc<Node> {
        json(text, loose).unwrap_or_else(|broken| panic!("{}: {text}", broken.words))
    }

    #[test]
    fn values_keep_their_bytes() {
        let text = "{ \"\u{e9}\": \"a\\n\u{1f680}\", \"n\": -1.5e3 }";
        let node = read(text, false);
        assert_eq!(node.get("\u{e9}").unwrap().text(), Some("a\n\u{1f680}"));
        assert!(matches!(node.get("n").unwrap().data, Data::Number(-1500.0)));
        let place = node.place("n").unwrap();
        assert_eq!((&text[place.value], &text[place.name.unwrap()]), ("-1.5e3", "\"n\""));
        assert_eq!(node.span, 0..text.len());
    }

    #[test]
    fn comments_and_last_commas_are_for_those_who_read_them() {
        let text = "{ // a\n \"a\": [1, 2,], /* b */ }";
        assert_eq!(read(text, true).get("a").unwrap().items().len(), 2);
        assert!(json(text, false).is_err());
    }

    #[test]
    fn texts_that_are_none_are_refused_at_their_place() {
        for (text, at) in [("", 0), ("{", 1), ("[1 2]", 3), ("{\"a\" 1}", 5), ("nul", 3), ("1 2", 2), ("\u{e9}", 0)] {
            let broken = json(text, false).err();
            assert!(
                broken.as_ref().is_some_and(|broken| broken.at.abs_diff(at) <= 1),
                "{text}: {:?}",
                broken.map(|one| one.at)
            );
        }
        for loose in [false, true] {
            let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
            assert!(json(&deep, loose).is_err(), "no stack is deep enough");
        }
    }
}
