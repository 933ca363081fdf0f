//! Policy documents and other systems' forms: whatever the text, reading it ends; what is read is a policy that can be
//! explained, written and read again as the same; what is wrong is said with its rule.

#![no_main]

use holdoff_core::{Document, DocumentError, Form, FormReader, Options, Policy, Schedule, Value};
use libfuzzer_sys::fuzz_target;
use serde_json::Deserializer;

/// Below this a double holds every whole number: a form whose times are whole nanoseconds is exact.
const EXACT: u64 = 1 << 53;

fn read(text: &[u8]) -> Result<Document, DocumentError> {
    Document::read(&mut Deserializer::from_slice(text))
}

fn read_form(form: Form, text: &[u8]) -> Result<Document, DocumentError> {
    Document::read_form(form.reader(), &mut Deserializer::from_slice(text))
}

fn is_exact(policy: &Policy) -> bool {
    let explained = policy.explain();
    policy
        .stages()
        .all(|stage| !format!("{stage:?}").split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 15))
        && explained.iter().all(|row| row.max.as_nanos() <= EXACT)
}

fn good(document: &Document) {
    let policy = &document.policy;
    assert_eq!(Schedule::new(policy, 7).take(40).count(), policy.attempts().map_or(40, |n| (n - 1).min(40)) as usize);
    assert!(!policy.explain().rows(5).to_string().is_empty());
    let json = document.to_json();
    let again = read(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(again, Document { error_types: Vec::new(), ..document.clone() }, "{json}");
    for form in Form::ALL {
        match document.to_form(form) {
            Ok(json) => {
                let again = read_form(form, json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"));
                if is_exact(policy) {
                    let delays = |policy| Schedule::new(policy, 7).take(40).collect::<Vec<_>>();
                    assert_eq!(delays(&again.policy), delays(policy), "{json}");
                }
            }
            Err(error) => assert!(!error.path().to_string().is_empty(), "{error}"),
        }
    }
}

fn wrong(error: &DocumentError) {
    assert!(!error.error.rule().is_empty() && !error.to_string().is_empty());
}

/// Pairs of a path and a value, one after the other, to a builder and to the reader of each form.
fn flood(mut data: &[u8]) {
    let mut builder = Policy::options();
    let mut readers = Form::ALL.map(Form::reader);
    while let Some((&kind, rest)) = data.split_first() {
        let Some((number, rest)) = rest.split_first_chunk::<8>() else { break };
        let line = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (path, behind) = rest.split_at(line);
        data = behind.get(1..).unwrap_or_default();
        let Ok(path) = std::str::from_utf8(path) else { continue };
        let (path, text) = path.split_once('=').unwrap_or((path, ""));
        let bits = u64::from_le_bytes(*number);
        let value = match kind % 9 {
            0 => Value::Text(text),
            1 => Value::Number { value: f64::from_bits(bits), unit: 1.0 },
            2 => Value::Number { value: f64::from(bits as u32), unit: f64::from_bits(bits >> 1) },
            3 => Value::Nanos(bits),
            4 => Value::Other,
            5 => Value::Nothing,
            6 => Value::Empty,
            7 => Value::NoItems,
            _ => Value::Number { value: f64::from(bits as u8), unit: 1e9 },
        };
        if let Err(error) = builder.set(path, value) {
            assert!(!error.to_string().is_empty());
        }
        for reader in &mut readers {
            if let Err(error) = reader.set(path, value) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
    let options = readers.iter().filter_map(|reader| reader.options().ok()).chain([builder]);
    for (options, policy) in options.filter_map(|options| Some((options, options.build().ok()?))) {
        let mut json = String::new();
        assert!(policy.to_json(&mut json).is_ok());
        assert_eq!(read(json.as_bytes()).map(|document| document.policy), Ok(policy), "{json}");
        for form in Form::ALL {
            let _ = form.export(&policy, &options.rules(), &Options::NEW);
        }
    }
}

// The first byte says what the others are.
fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let result = match first % 16 {
        0 => read(rest),
        15 => return flood(rest),
        form => match Form::from_code(form.into()) {
            Some(form) => read_form(form, rest),
            None => return,
        },
    };
    match &result {
        Ok(document) => good(document),
        Err(error) => wrong(error),
    }
});
