//! States that last: as bytes or JSON, to be resumed later, elsewhere, or in another language.

use super::arguments::Argument;
use super::ffi::{
    Answer, FromJs, entries, fail, fail_together, from_words, functions, is_fields, js_types, misuse, problem,
    property, read_raw, to_words,
};
use holdoff_core::{Call, ErrorCode, Policy, Retry, Saved, Timestamp};
use js_sys::{JSON, Uint8Array};
use wasm_bindgen::prelude::*;

js_types! {
    Machine = "Retry | Call", CallObject = "Call", RetryObject = "Retry", SavedObject = "Saved",
    ResumeOptions = "ResumeOptions",
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    /// The words of a retry or a call, and of its policy.
    #[wasm_bindgen(catch, js_name = stateOf)]
    fn state_of(machine: &JsValue) -> Answer<JsValue>;
    #[wasm_bindgen(js_name = makeCall)]
    pub(super) fn make_call(policy: Vec<u32>, words: Vec<u32>) -> CallObject;
    #[wasm_bindgen(js_name = makeRetry)]
    fn make_retry(policy: Vec<u32>, words: Vec<u32>) -> RetryObject;
}

functions! {
    /// The state of a machine at `now` as bytes: 56 of a retry, 72 of a call.
    fn save(machine: Argument<Machine>, now: Timestamp) -> Vec<u8> {
        let (bytes, length) = saved(&machine, now)?.to_bytes().map_err(fail_together)?;
        bytes.get(..length).unwrap_or_default().into()
    }

    /// The same as JSON.
    fn saveJson(machine: Argument<Machine>, now: Timestamp) -> String { saved(&machine, now)?.to_string() }

    /// The machine that was saved, on a clock that reads `now`. Throws a ConfigError about what is damaged or another's.
    fn resumeRetry(saved: Saved, policy: Policy, now: Timestamp, options: Argument<Option<ResumeOptions>>) -> RetryObject {
        let retry = aged(saved, &policy, &options)?.retry(&policy, now).map_err(fail_together)?;
        make_retry(to_words(&policy), to_words(&retry))
    }

    /// The loop that was saved, on a clock that reads `now`; its `tick` says the next step. An attempt that was in flight is
    /// abandoned: it fails now, as a timeout.
    fn resumeCall(saved: Saved, policy: Policy, now: Timestamp, options: Argument<Option<ResumeOptions>>) -> CallObject {
        let call = aged(saved, &policy, &options)?.call(&policy, now).map_err(fail_together)?;
        make_call(to_words(&policy), to_words(&call))
    }
}

fn saved(machine: &Argument<Machine>, now: Timestamp) -> Answer<Saved> {
    let state = state_of(&machine.0)?;
    let (policy, words) = (from_words(&property(&state, "policy")?).unwrap_or_default(), property(&state, "words")?);
    let retry = from_words(&words).map(|retry: Retry| retry.saved(&policy, now));
    Ok(retry.or_else(|| from_words(&words).map(|call: Call| call.saved(&policy, now))).unwrap_or(Saved::EMPTY))
}

/// The state as it is after the time that it lay, under this policy if that is forced.
fn aged(saved: Saved, policy: &Policy, options: &Argument<Option<ResumeOptions>>) -> Answer<Saved> {
    let aged = saved.aged(options.or("away", Default::default())?);
    Ok(if options.or("forced", false)? { aged.forced(policy) } else { aged })
}

/// Bytes, JSON as text, or the object read from it.
impl FromJs for Saved {
    type Js = SavedObject;
    fn from_js(saved: &JsValue, _: &str) -> Answer<Self> {
        if let Some(bytes) = saved.dyn_ref::<Uint8Array>() {
            // A state is short: longer bytes are not a state.
            return Self::from_bytes(&bytes.subarray(0, 4096).to_vec()).map_err(fail_together);
        }
        let fields = saved.as_string().map_or_else(|| Ok(saved.clone()), |json| JSON::parse(&json));
        let fields = fields.map_err(|cause| problem(ErrorCode::NotJson.code(), "", saved, &cause))?;
        if !is_fields(&fields) {
            return Err(misuse(ErrorCode::WrongType, "", &fields));
        }
        let mut read = Self::EMPTY;
        for (name, value) in entries(&fields)? {
            read_raw(&value, |raw| read.set(&name, raw)).map_err(|error| fail(&error, &name, &value))?;
        }
        Ok(read)
    }
}
