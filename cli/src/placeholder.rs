//! Placeholders in the values of a file: `${RETRIES:-3}`, `${spring.value:500ms}`, `{{ .Values.retries }}`, `!Ref Retries`.
//!
//! A default counts, because it is what the system does unless somebody says otherwise. Without one the value is not known, and
//! neither is the policy.

use crate::syntax::yaml::plain;
use crate::tree::{Data, Field, Node};
use std::rc::Rc;

/// A value whose default counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Default {
    /// The path of the value in its object.
    pub(crate) path: String,
    /// The text that counts.
    pub(crate) value: String,
}

/// The tags and names of CloudFormation that stand for a value.
const FUNCTIONS: [&str; 6] = ["!Ref", "!Sub", "!GetAtt", "!FindInMap", "!ImportValue", "!Select"];

/// True if a value is known only when the file is used.
pub(crate) fn is_unknown(node: &Node) -> bool {
    match &node.data {
        Data::Text(text) => {
            let is_function = text.split_once(' ').is_some_and(|(name, _)| FUNCTIONS.contains(&name));
            is_function || ["${", "{{", "{%", "<%", "$(", "#{"].iter().any(|mark| text.contains(mark))
        }
        Data::Object(fields) => match &fields[..] {
            [Field { name, .. }] => name == "Ref" || name.starts_with("Fn::") || name == "!If",
            _ => false,
        },
        _ => false,
    }
}

/// True if a value or one inside of it is known only when the file is used.
pub(crate) fn has_unknown(node: &Node) -> bool {
    is_unknown(node)
        || node.items().iter().any(|item| has_unknown(item))
        || node.fields().iter().any(|field| has_unknown(&field.value))
}

/// An object with the defaults of its placeholders in their place, and where they are. `is_spring` takes `${name:default}`, too.
pub(crate) fn filled(node: &Rc<Node>, is_spring: bool) -> (Rc<Node>, Vec<Default>) {
    let mut defaults = Vec::new();
    let filled = fill(node, "", is_spring, &mut defaults);
    (filled.unwrap_or_else(|| Rc::clone(node)), defaults)
}

/// The node with its defaults; `None` if it has none.
fn fill(node: &Rc<Node>, path: &str, is_spring: bool, defaults: &mut Vec<Default>) -> Option<Rc<Node>> {
    let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let data = match &node.data {
        Data::Text(text) => {
            let value = resolved(text, is_spring)?;
            let data = plain(&value);
            defaults.push(Default { path: path.to_owned(), value });
            data
        }
        Data::List(items) => {
            let filled: Vec<_> = items
                .iter()
                .enumerate()
                .map(|(index, item)| fill(item, &format!("{path}[{index}]"), is_spring, defaults))
                .collect();
            if filled.iter().all(Option::is_none) {
                return None;
            }
            Data::List(filled.into_iter().zip(items).map(|(new, old)| new.unwrap_or_else(|| Rc::clone(old))).collect())
        }
        Data::Object(fields) => {
            let filled: Vec<_> =
                fields.iter().map(|field| fill(&field.value, &inner(&field.name), is_spring, defaults)).collect();
            if filled.iter().all(Option::is_none) {
                return None;
            }
            let field = |(new, old): (Option<Rc<Node>>, &Field)| Field {
                value: new.unwrap_or_else(|| Rc::clone(&old.value)),
                ..old.clone()
            };
            Data::Object(filled.into_iter().zip(fields).map(field).collect())
        }
        _ => return None,
    };
    Some(Rc::new(Node { span: node.span.clone(), data }))
}

/// A text with the defaults of all its placeholders; `None` if it has no placeholder, or one without a default.
fn resolved(text: &str, is_spring: bool) -> Option<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("${") {
        let (inside, after) = behind.split_once('}')?;
        let (name, default) = match inside.split_once(":-") {
            Some(parts) => parts,
            None if is_spring => inside.split_once(':')?,
            None => return None,
        };
        let is_name = !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || "_.-".contains(sign));
        if !is_name || default.contains("${") {
            return None;
        }
        out += before;
        out += default;
        rest = after;
    }
    (rest.len() < text.len()).then(|| out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::yaml::yaml;

    #[test]
    fn a_default_stands_in_the_place_of_its_placeholder() {
        for (text, is_spring, value) in [
            ("${X:-3}", false, Some("3")),
            ("${X:-}", false, Some("")),
            ("${RETRY_SECONDS:-5}s", false, Some("5s")),
            ("${A:-1}-${B:-2}", false, Some("1-2")),
            ("${orders.wait:500ms}", true, Some("500ms")),
            ("${orders.wait:500ms}", false, None),
            ("${self:custom.retries}", false, None),
            ("${X}", true, None),
            ("${A:-1}-${B}", false, None),
            ("${A:-${B:-2}}", false, None),
            ("${X:-3", false, None),
            ("3", true, None),
        ] {
            assert_eq!(resolved(text, is_spring).as_deref(), value, "{text}");
        }
    }

    #[test]
    fn numbers_are_numbers_and_places_stay() {
        let text = "a: ${X:-3}\nb: [1, '${Y:-on}']\nc: ${Z}\n";
        let Ok(documents) = yaml(text) else { panic!() };
        let (node, defaults) = filled(&documents[0], false);
        assert!(matches!(node.get("a").unwrap().data, Data::Number(3.0)));
        assert_eq!(node.value("b[1]").unwrap().text(), Some("on"));
        assert_eq!(&text[node.get("a").unwrap().span.clone()], "${X:-3}");
        assert!(is_unknown(node.get("c").unwrap()) && has_unknown(&node));
        let paths: Vec<_> = defaults.iter().map(|one| &*one.path).collect();
        assert_eq!(paths, ["a", "b[1]"]);
    }

    #[test]
    fn functions_of_cloudformation_are_not_known() {
        let Ok(documents) = yaml("[!Ref Retries, {Ref: X}, {\"Fn::If\": [a, 1, 2]}, !If [a, 1, 2], '!Ref', 3]") else {
            panic!()
        };
        let known: Vec<_> = documents[0].items().iter().map(|item| is_unknown(item)).collect();
        assert_eq!(known, [true, true, true, true, false, false]);
    }
}
