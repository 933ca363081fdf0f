//! Policies as text: our own document, and the forms of other systems.

use super::ffi::{Answer, Fields, FullPolicy, PolicyObject, fail, misuse, throwable, walk};
use holdoff_core::{ErrorCode, Form, HostText, write_document};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "FormName")]
    pub type FormName;
    #[wasm_bindgen(typescript_type = "string | object")]
    pub type DocumentObject;
    #[wasm_bindgen(typescript_type = "{ entry?: number }")]
    pub type FormOptions;
    #[wasm_bindgen(typescript_type = "{ errorTypes?: readonly string[] }")]
    pub type Types;
    #[wasm_bindgen(typescript_type = "FromForm")]
    pub type FromForm;

    /// The value of a document: JSON as text, whose whole numbers keep all their bits, or what was read from it.
    #[wasm_bindgen(catch, js_name = parseDocument)]
    fn parse_document(document: &JsValue) -> Answer<JsValue>;
    #[wasm_bindgen(js_name = makeFromForm)]
    fn make_from_form(policy: PolicyObject, error_types: Vec<String>) -> FromForm;
}

/// The policy as a JSON document, which is the same in every language and reads back to the same policy.
#[wasm_bindgen(js_name = toJson)]
pub fn to_json(policy: &PolicyObject) -> Answer<String> {
    let FullPolicy { policy, rules, patterns: [all, other], guards } = FullPolicy::of_policy(policy)?;
    let mut text = String::new();
    let _ = write_document(
        &policy,
        &rules,
        &guards,
        all.iter().map(String::as_str),
        other.iter().map(String::as_str),
        &mut text,
    );
    Ok(text)
}

/// Reads a policy that another system wrote: JSON as text, or what was read from it. A gRPC service config with several
/// policies needs the index of one, `entry`. `errorTypes` are the names of the types of errors that are never retried
/// (Temporal).
#[wasm_bindgen(js_name = fromForm)]
pub fn from_form(form: &FormName, document: &DocumentObject, options: Option<FormOptions>) -> Answer<FromForm> {
    let entry = Fields::of(&options).integer("entry", ErrorCode::WrongType)?;
    let mut reader = form_of(form)?.reader();
    reader = entry.map_or(reader, |entry| reader.entry(entry));
    let (mut full, mut types) = (FullPolicy::default(), Vec::new());
    walk(&parse_document(document)?, String::new(), 0, &mut |path, value, read| {
        match reader.set(path, read).map_err(|error| throwable(&error, path, value))? {
            Some(HostText::ErrorType(name)) => types.push(name.into()),
            Some(text) => full.keep(&text),
            None => {}
        }
        Ok(())
    })?;
    let wrong = |error| fail(&error, "", &JsValue::UNDEFINED);
    full.policy = reader.build().map_err(wrong)?;
    full.guards = reader.guards().map_err(wrong)?;
    full.rules = reader.rules();
    Ok(make_from_form(full.into_object(), types))
}

/// The policy as another system writes it. Throws a ConfigError when it cannot be said there.
#[wasm_bindgen(js_name = toForm)]
pub fn to_form(form: &FormName, policy: &PolicyObject, options: Option<Types>) -> Answer<String> {
    let form = form_of(form)?;
    let FullPolicy { policy, rules, patterns: [patterns, _], guards } = FullPolicy::of_policy(policy)?;
    let types = Fields::of(&options).texts("errorTypes")?;
    let written = form.export(&policy, &rules, &guards).map_err(|error| fail(&error, "", &JsValue::UNDEFINED))?;
    let mut text = String::new();
    let types = types.iter().map(String::as_str).filter(|_| form == Form::Temporal);
    let _ = written.write(patterns.iter().map(String::as_str), types, &mut text);
    Ok(text)
}

fn form_of(form: &FormName) -> Answer<Form> {
    let name = form.as_string().ok_or_else(|| misuse(ErrorCode::WrongType, "form", form))?;
    Form::from_name(&name).ok_or_else(|| misuse(ErrorCode::UnknownWord, "form", form))
}
