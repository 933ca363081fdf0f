//! The values of a text with their places, whatever its format. Nodes are shared, so that an alias costs nothing.

use serde::Deserializer;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;
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
        Data::Object(fields) => fields.iter().enumerate().rev().find_map(|(index, field)| {
            let after = path.strip_prefix(field.name.as_str())?;
            let is_whole = after.is_empty() || after.starts_with(['.', '[']);
            is_whole.then(|| Step::Field(index, after.strip_prefix('.').unwrap_or(after)))
        }),
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
