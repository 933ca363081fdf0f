//! Policies as text: our own document, and the forms of other systems.

use super::arguments::Argument;
use super::ffi::{
    Answer, FromJs, FullPolicy, PolicyObject, check_policy, fail_together, functions, js_types, object, property, read,
    throwable,
};
use holdoff_core::{Form, HostText, TextList};
use js_sys::Array;
use wasm_bindgen::prelude::*;

js_types! {
    DocumentObject = "string | object", FormOptions = "{ entry?: number }",
    Types = "{ errorTypes?: readonly string[] }", FromForm = "FromForm",
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    /// The fields of a document with their paths: JSON as text, whose whole numbers keep all their bits, or what was read from it.
    #[wasm_bindgen(catch, js_name = documentFields)]
    fn document_fields(document: &JsValue) -> Answer<Array>;
    /// The policy of a document of ours.
    #[wasm_bindgen(catch, js_name = readPolicy)]
    fn read_policy(document: &str) -> Answer<JsValue>;
}

functions! {
    /// The policy as a JSON document, which is the same in every language and reads back to the same policy.
    fn toJson(policy: Argument<PolicyObject>) -> String { full(&policy)?.document() }

    /// Reads a policy that another system wrote: JSON as text, or what was read from it. A gRPC service config with several
    /// policies needs the index of one, `entry`. `errorTypes` are the names of the types of errors that are never retried
    /// (Temporal).
    fn fromForm(form: Form, document: Argument<DocumentObject>, options: Argument<Option<FormOptions>>) -> FromForm {
        let mut reader = form.reader();
        reader = options.get::<Option<u32>>("entry")?.map_or(reader, |entry| reader.entry(entry));
        let (mut full, errors) = (FullPolicy::default(), Array::new());
        for field in document_fields(&document.0)?.iter() {
            let (path, value) = (property(&field, "path")?.as_string().unwrap_or_default(), property(&field, "value")?);
            read(&value, 1.0, |read| {
                match reader.set(&path, read).map_err(|error| throwable(&error, &path, &value))? {
                    Some(HostText::ErrorType(name)) => drop(errors.push(&name.into())),
                    Some(text) => full.keep(&text),
                    None => {}
                }
                Ok::<_, JsValue>(())
            })?;
        }
        let options = reader.options().map_err(fail_together)?;
        full.policy = options.build().map_err(fail_together)?;
        (full.guards, full.rules) = (options.guards(), options.rules());
        object! { policy: read_policy(&full.document())?, errorTypes: errors }
    }

    /// The policy as another system writes it. Throws a ConfigError when it cannot be said there.
    fn toForm(form: Form, policy: Argument<PolicyObject>, options: Argument<Option<Types>>) -> String {
        let FullPolicy { policy, rules, texts, guards } = full(&policy)?;
        let types = options.or("errorTypes", Vec::<String>::new())?;
        let written = form.export(&policy, &rules, &guards).map_err(fail_together)?;
        let mut text = String::new();
        let types = types.iter().map(String::as_str).filter(|_| form == Form::Temporal);
        let _ = written.write(texts.get(0, TextList::Patterns), types, &mut text);
        text
    }
}

/// A policy that JavaScript made, with all that it holds.
fn full(policy: &Argument<PolicyObject>) -> Answer<FullPolicy> {
    check_policy(&policy.0).and_then(|policy| FullPolicy::from_js(&policy, "policy"))
}
