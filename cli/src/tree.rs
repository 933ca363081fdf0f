//! The values of a text with their places, whatever its format. Nodes are shared, so that an alias costs nothing.

use serde::Deserializer;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};
use std::ops::Range;
use std::rc::Rc;

/// A value, and the bytes of the text that it stands in.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) data: Data,
}

/// The value of a node.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<Rc<Node>>),
    Object(Vec<Field>),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The bytes of the name.
    pub(crate) at: Range<usize>,
    pub(crate) value: Rc<Node>,
}

/// The place that a path leads to.
pub(crate) struct Place {
    /// The bytes of the value.
    pub(crate) value: Range<usize>,
    /// The bytes of its name, if it has one.
    pub(crate) name: Option<Range<usize>>,
    /// True if it is the value of the whole path, not one around it.
    pub(crate) is_whole: bool,
}

impl From<&Value> for Node {
    /// A value that stands in no text.
    fn from(value: &Value) -> Self {
        let data = match value {
            Value::Null => Data::Null,
            Value::Bool(flag) => Data::Flag(*flag),
            Value::Number(number) => Data::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Data::Text(text.clone()),
            Value::Array(items) => Data::List(items.iter().map(|item| Rc::new(item.into())).collect()),
            Value::Object(fields) => {
                let field = |(name, value): (&String, _)| Field {
                    name: name.clone(),
                    at: 0..0,
                    value: Rc::new(Self::from(value)),
                };
                Data::Object(fields.iter().map(field).collect())
            }
        };
        Self { span: 0..0, data }
    }
}

impl Node {
    pub(crate) fn fields(&self) -> &[Field] {
        if let Data::Object(fields) = &self.data { fields } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Rc<Self>] {
        if let Data::List(items) = &self.data { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Data::Text(text) = &self.data { Some(text) } else { None }
    }

    /// The value of the field with that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Rc<Self>> {
        self.fields().iter().find(|field| field.name == name).map(|field| &field.value)
    }

    /// The value behind several names.
    pub(crate) fn at(self: &Rc<Self>, names: &[&str]) -> Option<&Rc<Self>> {
        names.iter().try_fold(self, |node, name| node.get(name))
    }

    /// The place of the value at `path`, such as `backoff[1].max`, or of the closest value around it. Of several fields with
    /// the same name the last.
    pub(crate) fn place(&self, path: &str) -> Option<Place> {
        let (mut node, mut rest, mut found) = (self, path, None);
        while !rest.is_empty() {
            let Some(step) = step(node, rest) else { break };
            let (name, next, after) = match step {
                Step::Field(index, after) => {
                    node.fields().get(index).map(|field| (Some(field.at.clone()), &field.value, after))?
                }
                Step::Item(index, after) => (None, node.items().get(index)?, after),
            };
            found = Some(Place { value: next.span.clone(), name, is_whole: after.is_empty() });
            (node, rest) = (next, after);
        }
        found
    }

    /// The value at `path`, if there is one.
    pub(crate) fn value(&self, path: &str) -> Option<&Self> {
        match step(self, path) {
            _ if path.is_empty() => Some(self),
            Some(Step::Field(index, after)) => self.fields().get(index)?.value.value(after),
            Some(Step::Item(index, after)) => self.items().get(index)?.value(after),
            None => None,
        }
    }

    /// Removes the value at `path`. False if there is none.
    pub(crate) fn remove(self: &mut Rc<Self>, path: &str) -> bool {
        let Some(step) = step(self, path) else { return false };
        match (step, &mut Rc::make_mut(self).data) {
            (Step::Field(index, after), Data::Object(fields)) => {
                let Some(field) = fields.get_mut(index) else { return false };
                // A word may stand for an object with a kind or a mode.
                let is_word = matches!(after, "kind" | "mode") && !matches!(field.value.data, Data::Object(_));
                if after.is_empty() || is_word {
                    fields.remove(index);
                    return true;
                }
                field.value.remove(after)
            }
            (Step::Item(index, after), Data::List(items)) => {
                if after.is_empty() && index < items.len() {
                    items.remove(index);
                    return true;
                }
                items.get_mut(index).is_some_and(|item| item.remove(after))
            }
            _ => false,
        }
    }
}

/// One level down along a path, and the rest of the path.
enum Step<'p> {
    Field(usize, &'p str),
    Item(usize, &'p str),
}

fn step<'p>(node: &Node, path: &'p str) -> Option<Step<'p>> {
    match &node.data {
        Data::Object(fields) => {
            let after = |field: &Field| {
                let after = path.strip_prefix(field.name.as_str())?;
                let is_whole = after.is_empty() || after.starts_with(['.', '[']);
                is_whole.then(|| after.strip_prefix('.').unwrap_or(after))
            };
            // A name may have a dot inside, so the longest is meant, and of equal ones the last.
            let found = fields.iter().enumerate().filter_map(|(index, field)| Some((index, after(field)?)));
            found.max_by_key(|(index, _)| fields[*index].name.len()).map(|(index, after)| Step::Field(index, after))
        }
        Data::List(_) => {
            let (index, after) = path.strip_prefix('[')?.split_once(']')?;
            Some(Step::Item(index.parse().ok()?, after.strip_prefix('.').unwrap_or(after)))
        }
        _ => None,
    }
}

/// A path and what comes behind it.
pub(crate) fn joined(path: &str, rest: &str) -> String {
    if path.is_empty() || rest.is_empty() || rest.starts_with('[') {
        format!("{path}{rest}")
    } else {
        format!("{path}.{rest}")
    }
}

/// An object with other fields beside its own, in the place of the object.
pub(crate) fn with(node: &Rc<Node>, more: impl IntoIterator<Item = Field>) -> Rc<Node> {
    let fields = node.fields().iter().cloned().chain(more).collect();
    Rc::new(Node { span: node.span.clone(), data: Data::Object(fields) })
}

/// Visits every object in a tree, with its path.
pub(crate) fn walk(node: &Rc<Node>, path: &str, visit: &mut dyn FnMut(&Rc<Node>, &str)) {
    match &node.data {
        Data::Object(fields) => {
            visit(node, path);
            for Field { name, value, .. } in fields {
                if matches!(value.data, Data::Object(_) | Data::List(_)) {
                    walk(value, &joined(path, name), visit);
                }
            }
        }
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                if matches!(item.data, Data::Object(_) | Data::List(_)) {
                    walk(item, &joined(path, &format!("[{index}]")), visit);
                }
            }
        }
        _ => {}
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.data {
            Data::Null => visitor.visit_unit(),
            Data::Flag(flag) => visitor.visit_bool(*flag),
            Data::Number(number) => visitor.visit_f64(*number),
            Data::Text(text) => visitor.visit_str(text),
            Data::List(items) => visitor.visit_seq(Items(items.iter())),
            Data::Object(fields) => visitor.visit_map(Fields { fields: fields.iter(), value: None }),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Items<'de>(std::slice::Iter<'de, Rc<Node>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|node| seed.deserialize(&**node)).transpose()
    }
}

struct Fields<'de> {
    fields: std::slice::Iter<'de, Field>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(field) = self.fields.next() else { return Ok(None) };
        self.value = Some(&field.value);
        let name: StrDeserializer<'_, Error> = field.name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.value.take().ok_or_else(|| Error::custom("no value")).and_then(|node| seed.deserialize(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::json::json;
    use serde::Deserialize as _;
    use serde_json::Value;

    fn tree(text: &str) -> Rc<Node> {
        json(text, false).unwrap_or_else(|broken| panic!("{}: {text}", broken.words))
    }

    /// The text at a path, that of its name, and whether the path led to its end.
    fn place<'t>(text: &'t str, path: &str) -> Option<(&'t str, Option<&'t str>, bool)> {
        let place = tree(text).place(path)?;
        Some((&text[place.value], place.name.map(|name| &text[name]), place.is_whole))
    }

    #[test]
    fn a_path_leads_to_a_value_or_to_the_closest_around_it() {
        let text = r#"{"a": {"b": [10, {"c": true}]}, "x.y": {"z": null}, "x": 1}"#;
        for (path, value, name, is_whole) in [
            ("a.b[0]", "10", None, true),
            ("a.b[1].c", "true", Some("\"c\""), true),
            ("a.b[1].d", "{\"c\": true}", None, false),
            // A name may have a dot inside.
            ("x.y.z", "null", Some("\"z\""), true),
            ("x", "1", Some("\"x\""), true),
        ] {
            assert_eq!(place(text, path), Some((value, name, is_whole)), "{path}");
        }
        assert_eq!(place(text, "a.b[2]"), None, "an index behind the end");
        for path in ["", "b", "[0]", "a.b[x]", "a.b[-1]", "a[0]"] {
            assert!(place(text, path).is_none_or(|found| !found.2), "{path}");
        }
    }

    #[test]
    fn of_fields_with_one_name_the_last_is_meant() {
        let text = r#"{"a": 1, "a": 2}"#;
        assert_eq!(place(text, "a"), Some(("2", Some("\"a\""), true)));
        // The first is what a reader in order meets.
        assert!(matches!(tree(text).get("a").unwrap().data, Data::Number(1.0)));
    }

    #[test]
    fn a_value_that_is_removed_leaves_the_others() {
        let text = r#"{"rules": [{"if": 1}, {"if": 2}], "jitter": "fulll", "backoff": {"kind": "x"}, "b": 3}"#;
        for (path, left) in [
            ("rules[0]", r#"{"rules":[{"if":2.0}],"jitter":"fulll","backoff":{"kind":"x"},"b":3.0}"#),
            ("rules[1].if", r#"{"rules":[{"if":1.0},{}],"jitter":"fulll","backoff":{"kind":"x"},"b":3.0}"#),
            // A word stands for an object with a kind.
            ("jitter.kind", r#"{"rules":[{"if":1.0},{"if":2.0}],"backoff":{"kind":"x"},"b":3.0}"#),
            ("backoff.kind", r#"{"rules":[{"if":1.0},{"if":2.0}],"jitter":"fulll","backoff":{},"b":3.0}"#),
        ] {
            let mut node = tree(text);
            let whole = Rc::clone(&node);
            assert!(node.remove(path), "{path}");
            assert_eq!(Value::deserialize(&*node).unwrap().to_string(), left, "{path}");
            assert_eq!(whole.fields().len(), 4, "the shared tree is as it was");
        }
        for path in ["", "none", "rules[9]", "rules.if", "b.c"] {
            let mut node = tree(text);
            assert!(!node.remove(path), "{path}");
            assert_eq!(Value::deserialize(&*node).unwrap(), Value::deserialize(&*tree(text)).unwrap(), "{path}");
        }
    }

    #[test]
    fn every_value_is_deserialized() {
        let text = r#"{"n":null,"f":false,"i":-1.5,"t":"\u00e9","l":[],"o":{"":[{}]}}"#;
        assert_eq!(Value::deserialize(&*tree(text)).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn objects_are_visited_with_their_paths() {
        let node = tree(r#"{"a": [{"b": {}}, [{"c": 1}]], "d": {"e": 2}}"#);
        let mut paths = Vec::new();
        walk(&node, "", &mut |_, path| paths.push(path.to_owned()));
        assert_eq!(paths, ["", "a[0]", "a[0].b", "a[1][0]", "d"]);
        for path in paths {
            assert!(matches!(node.value(&path).unwrap().data, Data::Object(_)), "{path}");
        }
    }

    #[test]
    fn paths_are_joined() {
        for (path, rest, whole) in
            [("a", "b", "a.b"), ("a", "[0]", "a[0]"), ("", "b", "b"), ("a", "", "a"), ("", "", "")]
        {
            assert_eq!(joined(path, rest), whole);
        }
    }
}
