//! The sections of guards, by asking the core: each field is set beside each kind, and what the core says of it is the schema.

use super::{given, reference, with_doc};
use holdoff_core::{Error, ErrorCode, Field, Options, Section, Takes, Value as Setting};
use serde_json::{Map, Value, json};

/// The sections that have kinds, or modes, with what stands for one that is not given.
const KINDS: [(&str, &str, Option<&str>); 5] = [
    ("budget", "kind", Some("ratio")),
    ("breaker", "kind", Some("consecutive")),
    ("limiter", "kind", Some("gcra")),
    ("adaptive", "kind", Some("cubic")),
    ("nested", "mode", Some("allow")),
];
/// The others, with the field that stands for them.
fn others() -> impl Iterator<Item = (&'static str, Field)> {
    let others = Section::GUARDS.iter().filter(|section| KINDS.iter().all(|of| of.0 != section.name));
    others.map(|section| (section.name, section.first))
}

/// The sections that presets have: what is not given of them may be the preset's.
pub(super) const OF_PRESETS: [&str; 2] = ["budget", "adaptive"];

/// The names of all sections.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|of| of.0).chain(others().map(|of| of.0))
}

/// The name of a definition, with what it is of.
pub(super) fn fresh(section: &str) -> String {
    format!("{section}Fresh")
}

/// What the sections refer to.
pub(super) fn definitions() -> Map<String, Value> {
    let mut all = Map::new();
    for (section, name, unless) in KINDS {
        let kinds = field(&format!("{section}.{name}"));
        let alone = kinds.words().filter(|kind| ask(&[(section.to_owned(), kind)]).is_ok());
        let words: Vec<Value> = std::iter::once(Value::Null).chain(alone.map(Value::from)).collect();
        let mut object = object_of(section);
        let conditions = kinds.words().map(|kind| {
            json!({ "if": { "properties": { name: { "const": kind } }, "required": [name] }, "then": body(section, name, kind) })
        });
        object["allOf"] = conditions.collect();
        let mut forms = vec![json!({ "enum": words }), object];
        if section == "budget" {
            // spec 32.2: a number is the capacity of the budget of loops
            forms.insert(1, takes(Field::BudgetCapacity, ""));
        }
        all.insert(section.to_owned(), json!({ "anyOf": forms }));
        if let Some(kind) = unless {
            // An object without any field is not given at all.
            let bare = json!({ "not": given_any(section) });
            let own = json!({ "anyOf": [bare, given(name), body(section, name, kind)] });
            all.insert(
                fresh(section),
                json!({
                    "description": format!("Its {name} is {kind} where it is not given."),
                    "allOf": [reference(section), { "anyOf": [{ "not": { "type": "object" } }, own] }],
                }),
            );
        }
    }
    for (section, first) in others() {
        let mut object = object_of(section);
        if first.is_needed() {
            let name = first.path().split('.').next_back().unwrap_or_default();
            object["anyOf"] = json!([{ "not": given_any(section) }, given(name)]);
        }
        all.insert(section.to_owned(), json!({ "anyOf": [takes(first, ""), object] }));
    }
    let mut times = object_of("breaker.open_for");
    let name = "kind";
    let conditions = Field::BreakerOpenKind.words().map(|kind| {
        let body = body("breaker.open_for", name, kind);
        json!({ "if": { "properties": { name: { "const": kind } }, "required": [name] }, "then": body })
    });
    times["allOf"] = conditions.collect();
    times["anyOf"] = json!([given(name), body("breaker.open_for", name, "constant")]);
    let listed = takes(Field::BreakerOpenFor, "breaker");
    all.insert("openFor".to_owned(), json!({ "anyOf": [listed, times] }));
    all
}

/// A list of up to so many times.
fn spans(most: u8) -> Value {
    json!({ "type": "array", "items": reference("span"), "minItems": 1, "maxItems": most })
}

fn field(path: &str) -> Field {
    Field::names().find(|known| known.0 == path).map_or(Field::BudgetKind, |known| known.1)
}

/// The names under a section, groups in it by their own name, each with its field.
fn names(section: &str) -> impl Iterator<Item = (&'static str, Field)> {
    let prefix = format!("{section}.");
    let own = Field::names().filter_map(move |(name, field)| Some((name.strip_prefix(&prefix)?, field)));
    own.filter(|(name, _)| !name.contains('.'))
}

/// An object with a section's fields.
fn object_of(section: &str) -> Value {
    let mut properties = Map::new();
    for (name, field) in names(section) {
        let value = if name == "open_for" { reference("openFor") } else { takes(field, section) };
        properties.insert(name.to_owned(), with_doc(value, field));
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// That some field of a section is there and not null.
fn given_any(section: &str) -> Value {
    json!({ "anyOf": names(section).map(|(name, _)| given(name)).collect::<Vec<_>>() })
}

fn takes(field: Field, section: &str) -> Value {
    let or_nothing = |of: Value| json!({ "anyOf": [{ "type": "null" }, of] });
    match field.takes() {
        Takes::Word(_) => {
            let words: Vec<Value> = std::iter::once(Value::Null).chain(field.words().map(Value::from)).collect();
            json!({ "enum": words })
        }
        Takes::Span { .. } if others().any(|of| of.0 == section) && ask_zero(&beside(section), field) => {
            or_nothing(reference("spanAboveZero"))
        }
        Takes::Span { .. } => or_nothing(reference("span")),
        Takes::SpanOrSpans(most) => json!({ "anyOf": [{ "type": "null" }, reference("span"), spans(most)] }),
        Takes::SpanOrNone { .. } => json!({ "anyOf": [{ "enum": [null, "none"] }, reference("span")] }),
        Takes::WholeNumber(from, to) => or_nothing(json!({ "type": "integer", "minimum": from, "maximum": to })),
        // What the kind makes of it is said with the kind.
        Takes::Number(_) if !others().any(|of| field.path().starts_with(of.0)) => {
            json!({ "type": ["number", "null"] })
        }
        _ => or_nothing(range(&|number| ask_number(&beside(section), field, number))),
    }
}

/// What a section without kinds needs.
fn beside(section: &str) -> Vec<(String, &'static str)> {
    if section == "hedge" { vec![("hedge.delay".to_owned(), "1s")] } else { Vec::new() }
}

/// What the core says of a document's fields.
fn ask(fields: &[(String, &str)]) -> Result<(), Error> {
    let mut builder = Options::NEW;
    fields.iter().try_for_each(|(name, word)| builder.set(name, Setting::Text(word)).map(|_| ()))?;
    builder.check_guards()
}

/// Whether the core lets a number be, given that field beside words; errors about other fields do not count.
fn ask_number(words: &[(String, &str)], field: Field, value: f64) -> bool {
    let mut builder = Options::NEW;
    for (name, word) in words {
        let _ = builder.set(name, Setting::Text(word));
    }
    // What the other fields need to be there.
    for (name, value) in NEEDED {
        if words.iter().any(|known| *name == known.0 || name.starts_with(&format!("{}.", known.0)))
            && *name != field.path()
        {
            let _ = builder.set(name, *value);
        }
    }
    let set = builder.set(field.path(), Setting::Number { value, unit: 1.0 });
    !set.and_then(|_| builder.check_guards()).is_err_and(|error| error.field == Some(field))
}

const NEEDED: &[(&str, Setting<'_>)] = &[("breaker.slow_after", Setting::Text("1s"))];

/// The range of numbers of which the core takes a few.
fn range(accepts: &dyn Fn(f64) -> bool) -> Value {
    let [below, zero, half, one, above] = [-1.0, 0.0, 0.5, 1.0, 1.5].map(accepts);
    let mut range = json!({ "type": if half || above { "number" } else { "integer" } });
    match () {
        () if below => {}
        () if zero => range["minimum"] = 0.into(),
        () if half => range["exclusiveMinimum"] = 0.into(),
        () => range["minimum"] = 1.into(),
    }
    if !above && half && one {
        range["maximum"] = 1.into();
    }
    range
}

/// What holds for a kind: the fields that it has no use for are not given, those that it needs are, and what numbers it takes.
fn body(section: &str, name: &str, kind: &str) -> Value {
    let word = (format!("{section}.{name}"), kind);
    let words = [word.clone()];
    let mut properties = Map::new();
    let mut all = Vec::new();
    let needed = |error: &Error| (error.code == ErrorCode::FieldMissing).then_some(error.field).flatten();
    let own = |field: Field| field.path().strip_prefix(&format!("{section}.")).map(str::to_owned);
    let alone = ask(&words).err().as_ref().and_then(needed);
    all.extend(alone.and_then(own).map(|name| given(&name)));
    for (name, field) in names(section).filter(|of| of.0 != name && of.0 != "open_for") {
        let error = ask_with(&words, field);
        if error.as_ref().is_some_and(|error| error.code == ErrorCode::NotForKind && error.field == Some(field)) {
            properties.insert(name.to_owned(), json!({ "type": "null" }));
            continue;
        }
        if let Some(other) = error.as_ref().and_then(needed).filter(|other| Some(*other) != alone && *other != field) {
            all.extend(own(other).map(|other| json!({ "if": given(name), "then": given(&other) })));
        }
        match field.takes() {
            Takes::Number(_) => {
                let range = range(&|number| ask_number(&words, field, number));
                properties.insert(name.to_owned(), json!({ "anyOf": [{ "type": "null" }, range] }));
            }
            Takes::WholeNumber(0, _) if !ask_number(&words, field, 0.0) => {
                properties.insert(name.to_owned(), json!({ "anyOf": [{ "type": "null" }, { "minimum": 1 }] }));
            }
            Takes::SpanOrSpans(_) if section == "breaker.open_for" && ask_list(&words, field).is_some() => {
                properties.insert(name.to_owned(), json!({ "not": { "type": "array" } }));
            }
            Takes::Span { .. } if ask_zero(&words, field) => {
                let above = json!({ "anyOf": [{ "type": "null" }, reference("spanAboveZero")] });
                properties.insert(name.to_owned(), above);
            }
            _ => {}
        }
    }
    let useless = ask_with(&words, Field::BreakerOpenFor).is_some_and(|error| error.code == ErrorCode::NotForKind);
    if section == "breaker" && useless {
        properties.insert("open_for".to_owned(), json!({ "type": "null" }));
    }
    let mut body = json!({ "properties": properties });
    if !all.is_empty() {
        body["allOf"] = all.into();
    }
    body
}

/// What the core says of a field with a value that suits it, beside words.
fn ask_with(words: &[(String, &str)], field: Field) -> Option<Error> {
    let mut builder = Options::NEW;
    for (name, word) in words {
        let _ = builder.set(name, Setting::Text(word));
    }
    let value = match field.takes() {
        Takes::Word(_) => Setting::Text(field.words().last().unwrap_or("")),
        Takes::Span { .. } | Takes::SpanOrNone { .. } | Takes::SpanOrSpans(_) => Setting::Text("1m"),
        _ => Setting::Number { value: 1.0, unit: 1.0 },
    };
    builder.set(field.path(), value).and_then(|_| builder.check_guards()).err()
}

/// The core's error about a list beside words.
fn ask_list(words: &[(String, &str)], field: Field) -> Option<Error> {
    let first = (format!("{}[0]", field.path()), "1m");
    ask(&words.iter().cloned().chain([first]).collect::<Vec<_>>()).err()
}

/// Whether the core refuses no time at all.
fn ask_zero(words: &[(String, &str)], field: Field) -> bool {
    let with: Vec<_> = words.iter().cloned().chain([(field.path().to_owned(), "0s")]).collect();
    let mut builder = Options::NEW;
    let limit = Setting::Number { value: 1.0, unit: 1.0 };
    for name in ["budget.limit", "limiter.limit", "stretch.factor"] {
        if name.split('.').next() == field.path().split('.').next() && ask_with(words, field).is_some() {
            let _ = builder.set(name, limit);
        }
    }
    let set = with.iter().try_for_each(|(name, word)| builder.set(name, Setting::Text(word)).map(|_| ()));
    set.and_then(|_| builder.check_guards()).is_err_and(|error| error.code == ErrorCode::ZeroLimit)
}
