//! The JSON Schema of the policy document, from the core's own tables.
//!
//! Names, words and presets are the core's lists. What a kind has no use for, and what it needs, is found by asking the core:
//! a field is set beside the kind, and the error that building gives says which. So the schema cannot tell another story
//! than the library. What no schema can say (that `max` is not below `initial`) is left to the library.

use crate::fields::{default_value, described, groups};
use holdoff_core::{ErrorCode, FailureKind, Field, GrpcCode, Policy, Preset, Rules, Section, Takes, Value as Setting};
use serde_json::{Map, Value, json};

mod guards;

const SPAN: &str = r"^[0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h)$";
/// How many stages there may be, and how many delays.
const STAGES: usize = 16;
const DELAYS: usize = 64;
/// How many rules there may be, and how many alternatives of one.
const RULES: usize = 8;
const ALTERNATIVES: usize = 16;

/// The schema (draft 2020-12).
pub fn schema() -> Value {
    let groups = ["backoff", "jitter", "hint"];
    let mut properties = Map::new();
    for (name, field) in Field::names().filter(|known| !known.1.is_guards()) {
        if !name.contains('.') && !groups.contains(&name) {
            properties.insert(name.to_owned(), with_doc(takes(field), field));
        }
    }
    for (name, value) in [
        ("$schema", json!({ "type": ["string", "null"] })),
        ("backoff", reference("backoff")),
        ("jitter", reference("jitter")),
        ("hint", words_or(&Field::HintMode, "hint")),
        ("rules", json!({ "type": ["array", "null"], "maxItems": RULES, "items": reference("rule") })),
    ] {
        properties.insert(name.to_owned(), with_words(value, name));
    }
    for section in guards::sections() {
        properties.insert(section.to_owned(), with_words(section_of(section), section));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A holdoff policy document, version 1",
        "description": "Generated from the core by `cargo xtask generate`; docs/policy.md explains it.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "allOf": [
            {
                "if": { "properties": { "preset": { "type": "null" } } },
                "then": { "properties": {
                    "backoff": { "anyOf": [{ "not": { "type": "object" } }, reference("freshStage")] },
                    "jitter": { "anyOf": [{ "not": { "type": "object" } }, reference("freshJitter")] },
                    "budget": reference(&guards::fresh("budget")),
                    "adaptive": reference(&guards::fresh("adaptive")),
                } },
            },
            {
                "if": { "properties": {
                    "preset": { "type": "null" }, "on_deadline": { "const": "clip" } }, "required": ["on_deadline"] },
                "then": given("min_attempt"),
            },
            {
                "if": {
                    "properties": { "backoff": { "anyOf": own_jitter() }, "rules": { "not": { "type": "array" } } },
                    "required": ["backoff"],
                },
                "then": { "properties": { "jitter": { "anyOf": [
                    { "enum": [null, "none"] },
                    { "type": "object", "properties": { "kind": { "enum": [null, "none"] } } },
                ] } } },
            },
        ],
        "$defs": definitions(),
    })
}

fn definitions() -> Value {
    let mut stage = fields_of("backoff.");
    stage.extend(choices());
    let jitter = fields_of("jitter.");
    let plain = |field: Field, group: &str| -> Vec<Value> { field.words().map(|kind| for_kind(group, kind)).collect() };
    let list =
        json!({ "if": given("delays"), "then": body("backoff", "list"), "else": body("backoff", "exponential") });
    let mut all = json!({
        "span": { "description": "A time with its unit, at most 292 years.", "type": "string", "pattern": SPAN },
        "spanAboveZero": { "description": "A time above 0 with its unit.", "$ref": "#/$defs/span", "pattern": "[1-9]" },
        "stage": {
            "type": "object",
            "properties": stage,
            "additionalProperties": false,
            "allOf": plain(Field::BackoffKind, "backoff"),
        },
        "freshStage": {
            "description": "A stage whose kind is exponential, or list, where it is not given.",
            "allOf": [reference("stage"), { "if": given("kind"), "else": list }],
        },
        "backoff": { "anyOf": [
            { "enum": words_alone("backoff", Field::BackoffKind) },
            reference("stage"),
            {
                "description": "Stages, one after the other.",
                "type": "array",
                "minItems": 1,
                "maxItems": STAGES,
                "items": { "anyOf": [{ "enum": words_alone("backoff", Field::BackoffKind) }, reference("freshStage")] },
            },
        ] },
        "jitterFields": {
            "type": "object",
            "properties": jitter,
            "additionalProperties": false,
            "allOf": plain(Field::JitterKind, "jitter"),
        },
        "freshJitter": {
            "description": "A jitter that is full where its kind is not given.",
            "allOf": [reference("jitterFields"), { "if": given("kind"), "else": body("jitter", "full") }],
        },
        "jitter": { "anyOf": [{ "enum": words_alone("jitter", Field::JitterKind) }, reference("jitterFields")] },
        "hint": { "type": "object", "properties": fields_of("hint."), "additionalProperties": false },
        "rule": rule(),
        "alternative": alternative(),
    });
    if let Some(all) = all.as_object_mut() {
        all.extend(guards::definitions());
    }
    all
}

/// A guard's section, its kind as it is unless given where no preset has one.
fn section_of(section: &str) -> Value {
    let kinds = Field::names().any(|known| {
        let rest = known.0.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'));
        matches!(rest, Some("kind" | "mode"))
    });
    if kinds && !guards::OF_PRESETS.contains(&section) {
        reference(&guards::fresh(section))
    } else {
        reference(section)
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// The words of a field or the object of its group.
fn words_or(field: &Field, group: &str) -> Value {
    json!({ "anyOf": [{ "enum": words(*field) }, reference(group)] })
}

/// A field that is there and not null.
fn given(name: &str) -> Value {
    json!({ "properties": { name: { "not": { "type": "null" } } }, "required": [name] })
}

/// Null, which is not given, and the words of a field.
fn words(field: Field) -> Vec<Value> {
    std::iter::once(Value::Null).chain(field.words().map(Value::from)).collect()
}

/// The fields under a prefix.
fn fields_of(prefix: &str) -> Map<String, Value> {
    let own = Field::names().filter_map(|(name, field)| Some((name.strip_prefix(prefix)?, field)));
    own.map(|(name, field)| (name.to_owned(), with_doc(takes(field), field))).collect()
}

/// A field's schema with its doc, its default and examples, which editors show and complete.
fn with_doc(mut schema: Value, field: Field) -> Value {
    let rule = ErrorCode::WrongType.rule(Some(field));
    schema["description"] = format!("{} It {rule}.", described(field)).into();
    if let Some(default) = default_value(field) {
        schema["default"] = default;
    }
    schema["examples"] = examples(field);
    if field == Field::Preset {
        let sources = Preset::ALL.map(|preset| preset.doc().split_whitespace().collect::<Vec<_>>().join(" "));
        let sources = std::iter::once("Nothing: the default policy.".to_owned()).chain(sources);
        schema["enumDescriptions"] = sources.collect();
    }
    schema
}

/// Values that a field takes.
fn examples(field: Field) -> Value {
    let words: Vec<_> = field.words().collect();
    match (field.takes(), field) {
        (Takes::Word(_), _) => json!(words),
        (Takes::Spans, _) => json!([["100ms", "1s", "5s"]]),
        (_, Field::Deadline | Field::HintMax | Field::BackoffMax) => json!(["10s", "1m", "none"]),
        (Takes::Span { .. }, _) => json!(["250ms", "1s"]),
        (Takes::SpanOrNone { .. }, _) => json!(["10s", "none"]),
        (Takes::SpanOrSpans(_), _) => json!(["30s", ["1s", "5s", "30s"]]),
        (Takes::Attempts, _) => json!([3, 5, "forever"]),
        (Takes::Flag, _) => json!([true, false]),
        (Takes::Version, _) => json!([1]),
        (Takes::WholeNumber(from, _), _) => json!([default_value(field).unwrap_or_else(|| from.max(10).into())]),
        (Takes::Number(_), _) => json!([default_value(field).unwrap_or_else(|| 0.2.into())]),
    }
}

/// The schema of a group of fields with words about it and examples.
fn with_words(mut schema: Value, name: &str) -> Value {
    let (words, examples) = match name {
        "$schema" => ("The JSON Schema that editors read. holdoff ignores it.", json!(["policy.schema.json"])),
        "rules" => (
            "Which failures are retried: the first rule that fits decides.",
            json!([[{ "if": { "http": [429, "5xx"] }, "retry": true }, { "if": {}, "retry": false }]]),
        ),
        "backoff" => (words_of(name), json!([{ "kind": "exponential", "initial": "100ms", "max": "5s" }])),
        "jitter" => (words_of(name), json!(["full", "none", { "kind": "proportional", "factor": 0.2 }])),
        "hint" => (words_of(name), json!([{ "max": "1m", "over": "stop" }])),
        "budget" => (words_of(name), json!(["none", { "kind": "ratio" }])),
        "breaker" => (words_of(name), json!([{ "kind": "consecutive", "failures": 5, "open_for": "30s" }])),
        "limiter" => (words_of(name), json!([{ "limit": 100, "per": "1s" }])),
        "bulkhead" => (words_of(name), json!([10])),
        "adaptive" => (words_of(name), json!(["cubic"])),
        "stretch" => (words_of(name), json!([4])),
        "hedge" => (words_of(name), json!(["200ms"])),
        "nested" => (words_of(name), json!(["innermost"])),
        _ => {
            let section = Section::GUARDS.iter().find(|section| section.name == name);
            (words_of(name), json!([section.and_then(|section| default_value(section.first))]))
        }
    };
    schema["description"] = words.into();
    schema["examples"] = examples;
    schema
}

/// The words about a group of fields.
fn words_of(name: &str) -> &'static str {
    groups().find(|group| group.0 == name).map_or("", |group| group.2)
}

fn takes(field: Field) -> Value {
    let any = |of: Value| json!({ "anyOf": [{ "type": "null" }, of] });
    match field {
        Field::Version => json!({ "enum": [null, 1] }),
        Field::Preset => {
            let names = Preset::ALL.map(|preset| Value::from(preset.name()));
            json!({ "enum": std::iter::once(Value::Null).chain(names).collect::<Vec<_>>() })
        }
        Field::Attempts | Field::Total => json!({ "anyOf": [
            { "enum": [null, "forever"] },
            { "type": "integer", "minimum": 1, "maximum": u32::MAX - 1 },
        ] }),
        Field::BackoffTimes => any(json!({ "type": "integer", "minimum": 1, "maximum": (1 << 28) - 1 })),
        Field::BackoffFrom => any(json!({ "type": "integer", "minimum": 0, "maximum": u16::MAX })),
        Field::BackoffRepeat | Field::JitterGrows | Field::AbortAtDeadline => json!({ "type": ["boolean", "null"] }),
        Field::BackoffUntil => any(reference("spanAboveZero")),
        Field::BackoffDelays => {
            any(json!({ "type": "array", "minItems": 1, "maxItems": DELAYS, "items": reference("span") }))
        }
        Field::BackoffFactor | Field::BackoffExponent | Field::JitterFactor => {
            any(json!({ "type": "number", "minimum": 0 }))
        }
        Field::Deadline | Field::AttemptTimeout | Field::ResetAfter => {
            json!({ "anyOf": [{ "enum": [null, "none"] }, reference("spanAboveZero")] })
        }
        field if field.words().next().is_some() => json!({ "enum": words(field) }),
        field if takes_none(field) => json!({ "anyOf": [{ "enum": [null, "none"] }, reference("span")] }),
        _ => any(reference("span")),
    }
}

/// Whether a field takes the word "none".
fn takes_none(field: Field) -> bool {
    Policy::options().set(field.path(), Setting::Text("none")).is_ok()
}

/// A value that a field takes.
fn sample(field: Field) -> (String, Setting<'static>) {
    match field {
        Field::BackoffDelays => (format!("{}[0]", field.path()), Setting::Text("1s")),
        Field::BackoffFrom => (field.path().to_owned(), Setting::Number { value: 1.0, unit: 1.0 }),
        Field::BackoffRepeat | Field::JitterGrows => (field.path().to_owned(), Setting::Flag(true)),
        Field::BackoffTimes | Field::BackoffFactor | Field::BackoffExponent | Field::JitterFactor => {
            (field.path().to_owned(), Setting::Number { value: 1.0, unit: 1.0 })
        }
        _ => (field.path().to_owned(), Setting::Text("1s")),
    }
}

/// What building says of a kind alone, or with one more field.
fn ask(group: &str, kind: &str, more: Option<(String, Setting<'_>)>) -> Option<(ErrorCode, Option<Field>)> {
    let mut builder = Policy::options();
    let set = builder.set(group, Setting::Text(kind)).map(|_| ());
    let set = set.and_then(|()| more.map_or(Ok(()), |(name, value)| builder.set(&name, value).map(|_| ())));
    let error = set.and_then(|()| builder.build().map(|_| ())).err()?;
    Some((error.code, error.field))
}

/// The words of a group that need no other field, and null.
fn words_alone(group: &str, field: Field) -> Vec<Value> {
    let alone = field.words().filter(|kind| ask(group, kind, None).is_none()).map(Value::from);
    std::iter::once(Value::Null).chain(alone).collect()
}

/// What holds for a kind where it is given.
fn for_kind(group: &str, kind: &str) -> Value {
    json!({ "if": { "properties": { "kind": { "const": kind } }, "required": ["kind"] }, "then": body(group, kind) })
}

/// What holds for a kind: the fields that it has no use for are not given, and those that it needs are.
fn body(group: &str, kind: &str) -> Value {
    let prefix = format!("{group}.");
    let mut properties = Map::new();
    for (name, field) in Field::names().filter(|known| !known.1.is_guards()) {
        let Some(name) = name.strip_prefix(&prefix).filter(|name| *name != "kind") else { continue };
        if ask(group, kind, Some(sample(field))) == Some((ErrorCode::NotForKind, Some(field))) {
            properties.insert(name.to_owned(), json!({ "type": "null" }));
        }
        let out = |value| (field.path().to_owned(), Setting::Number { value, unit: 1.0 });
        if ask(group, kind, Some(out(0.5))).map(|error| error.0) == Some(ErrorCode::FactorRange) {
            properties.insert(name.to_owned(), json!({ "anyOf": [{ "type": "null" }, { "minimum": 1 }] }));
        }
        if ask(group, kind, Some(out(1.5))).map(|error| error.0) == Some(ErrorCode::JitterFactorRange) {
            properties.insert(name.to_owned(), json!({ "anyOf": [{ "type": "null" }, { "maximum": 1 }] }));
        }
    }
    let mut body = json!({ "properties": properties });
    let needs = ask(group, kind, None).and_then(|error| error.1);
    if let Some(name) = needs.and_then(|field| field.path().strip_prefix(&prefix)) {
        body["allOf"] = json!([given(name)]);
    }
    body
}

/// A backoff that is its own jitter, as a word and as an object.
fn own_jitter() -> Value {
    let jitter = || Some(("jitter".to_owned(), Setting::Text("full")));
    let refuses =
        |kind: &&str| ask("backoff", kind, jitter()) == Some((ErrorCode::NotForKind, Some(Field::JitterKind)));
    let kinds: Vec<_> = Field::BackoffKind.words().filter(refuses).collect();
    json!([{ "enum": kinds }, { "type": "object", "properties": { "kind": { "enum": kinds } }, "required": ["kind"] }])
}

/// The jitter, cap and hint that a stage or a rule may have beside the policy.
fn choices() -> Map<String, Value> {
    let fresh = json!({ "anyOf": [{ "enum": words_alone("jitter", Field::JitterKind) }, reference("freshJitter")] });
    let cap = ("cap".to_owned(), with_doc(takes(Field::Cap), Field::Cap));
    Map::from_iter([("jitter".to_owned(), fresh), cap, ("hint".to_owned(), words_or(&Field::HintMode, "hint"))])
}

/// A rule: its conditions, and what it changes.
fn rule() -> Value {
    let mut properties = choices();
    let any = json!({ "anyOf": [
        reference("alternative"),
        { "type": "array", "maxItems": ALTERNATIVES, "items": reference("alternative") },
    ] });
    let attempts = json!({ "anyOf": [
        { "enum": [null, "forever"] },
        { "type": "integer", "minimum": 1, "maximum": u16::MAX },
    ] });
    let backoff = json!({ "anyOf": [
        { "enum": words_alone("backoff", Field::BackoffKind) },
        reference("freshStage"),
        { "type": "array", "minItems": 1, "maxItems": STAGES, "items": reference("freshStage") },
    ] });
    let retry = json!({ "type": ["boolean", "null"] });
    for (name, value) in [("if", any), ("retry", retry), ("attempts", attempts), ("backoff", backoff)] {
        properties.insert(name.to_owned(), value);
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// The conditions of which all must hold.
fn alternative() -> Value {
    let mut properties = Map::new();
    for name in Rules::conditions() {
        let items = match name {
            "idempotent" | "unsent" => {
                properties.insert(name.to_owned(), json!({ "type": ["boolean", "null"] }));
                continue;
            }
            "http" => json!({ "anyOf": [
                { "type": "integer", "minimum": 100, "maximum": 599 },
                { "enum": ["1xx", "2xx", "3xx", "4xx", "5xx"] },
            ] }),
            "grpc" => json!({ "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": GrpcCode::ALL.len() - 1 },
                { "type": "string", "pattern": codes() },
            ] }),
            "kinds" => json!({ "enum": FailureKind::ALL.map(FailureKind::name) }),
            _ => json!({ "type": "string" }),
        };
        properties.insert(name.to_owned(), json!({ "type": ["array", "null"], "items": items }));
    }
    json!({ "type": ["object", "null"], "properties": properties, "additionalProperties": false })
}

/// The names of gRPC's codes in any case.
fn codes() -> String {
    let any_case = |c: char| if c == '_' { "_".to_owned() } else { format!("[{c}{}]", c.to_ascii_lowercase()) };
    let names = GrpcCode::ALL.map(|code| code.name().chars().map(any_case).collect::<String>());
    format!("^({})$", names.join("|"))
}
