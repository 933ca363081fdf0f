//! A policy document read the way every host reads its options: flattened, and set field by field.

use crate::format::{Document, ErrorWord};
use holdoff_core::{Error, Options, Policy, Texts, Value as Setting};
use serde_json::Value;

/// The policy that a document describes, or what is wrong with it or its guards.
pub fn policy(document: &Document) -> Result<Policy, ErrorWord> {
    guarded(document).map(|(policy, _)| policy)
}

/// The policy and the guards that a document describes, or what is wrong with them.
pub fn guarded(document: &Document) -> Result<(Policy, Options), ErrorWord> {
    let options = read(document, &mut Texts::default())?;
    let policy = options.build().map_err(|error| word(&error, ""))?;
    options.check_guards().map_err(|error| word(&error, ""))?;
    Ok((policy, options.guards()))
}

/// The options that a document sets, and the texts that a host stores for its rules.
pub fn read(document: &Document, texts: &mut Texts) -> Result<Options, ErrorWord> {
    let mut options = Options::NEW;
    for (name, value) in document {
        set(&mut options, texts, name, value)?;
    }
    Ok(options)
}

fn set(options: &mut Options, texts: &mut Texts, path: &str, value: &Value) -> Result<(), ErrorWord> {
    let setting = match value {
        Value::Null => Setting::Nothing,
        Value::Object(fields) if fields.is_empty() => Setting::Empty,
        Value::Object(fields) => {
            return fields.iter().try_for_each(|(name, value)| set(options, texts, &format!("{path}.{name}"), value));
        }
        Value::String(text) => Setting::Text(text),
        // A document's times are text: a number has no unit, and reads as a time of one nanosecond each.
        Value::Number(number) => Setting::Number { value: number.as_f64().unwrap_or(f64::NAN), unit: 1.0 },
        Value::Array(items) if items.is_empty() => Setting::NoItems,
        Value::Array(items) => {
            let mut indexed = items.iter().enumerate();
            return indexed.try_for_each(|(index, value)| set(options, texts, &format!("{path}[{index}]"), value));
        }
        Value::Bool(flag) => Setting::Flag(*flag),
    };
    let text = options.set(path, setting).map_err(|error| word(&error, path))?;
    if let Some(text) = text {
        texts.store(text);
    }
    Ok(())
}

/// An error in words; `given` is the name that was set.
pub fn word(error: &Error, given: &str) -> ErrorWord {
    ErrorWord {
        code: error.code.code(),
        name: error.code.name().to_owned(),
        path: if error.field.is_some() { error.path().to_string() } else { given.to_owned() },
        nearest: error.nearest.map(str::to_owned),
    }
}
