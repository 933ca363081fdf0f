//! States that last: as bytes or JSON, to be resumed later, elsewhere, or in another language.

use super::ffi::{
    Answer, AnyTime, Fields, PolicyObject, check_fields, entries, fail, from_words, policy_of, read_raw, time_of,
    to_words,
};
use holdoff_core::{Call, Policy, Retry, Saved};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "Retry | Call")]
    pub type Machine;
    #[wasm_bindgen(typescript_type = "Call")]
    pub type CallObject;
    #[wasm_bindgen(typescript_type = "Retry")]
    pub type RetryObject;
    #[wasm_bindgen(typescript_type = "Saved")]
    pub type SavedObject;
    #[wasm_bindgen(typescript_type = "ResumeOptions")]
    pub type ResumeOptions;

    /// The words of a retry or a call.
    #[wasm_bindgen(catch, js_name = stateOf)]
    fn state_of(machine: &JsValue) -> Answer<State>;
    pub type State;
    #[wasm_bindgen(method, getter)]
    fn policy(this: &State) -> Vec<u32>;
    #[wasm_bindgen(method, getter)]
    fn words(this: &State) -> Vec<u32>;

    #[wasm_bindgen(js_name = makeCall)]
    pub(super) fn make_call(policy: Vec<u32>, words: Vec<u32>) -> CallObject;
    #[wasm_bindgen(js_name = makeRetry)]
    fn make_retry(policy: Vec<u32>, words: Vec<u32>) -> RetryObject;
    #[wasm_bindgen(catch, js_name = parseJson)]
    fn parse_json(text: &JsValue) -> Answer<JsValue>;
}

/// The state of a machine at `now` as bytes: 56 of a retry, 72 of a call.
#[wasm_bindgen]
pub fn save(machine: &Machine, now: &AnyTime) -> Answer<Vec<u8>> {
    let (bytes, length) = saved(machine, now)?.to_bytes().map_err(wrong)?;
    Ok(bytes.get(..length).unwrap_or_default().into())
}

/// The same as JSON.
#[wasm_bindgen(js_name = saveJson)]
pub fn save_json(machine: &Machine, now: &AnyTime) -> Answer<String> {
    Ok(saved(machine, now)?.to_string())
}

fn saved(machine: &Machine, now: &AnyTime) -> Answer<Saved> {
    let (state, time) = (state_of(machine)?, time_of(now)?);
    let policy: Policy = from_words(&state.policy()).unwrap_or_default();
    let words = state.words();
    let retry = from_words::<Retry>(&words).map(|retry| retry.saved(&policy, time));
    let call = || from_words::<Call>(&words).map(|call| call.saved(&policy, time));
    Ok(retry.or_else(call).unwrap_or(Saved::EMPTY))
}

/// The machine that was saved, on a clock that reads `now`. Throws a ConfigError about what is damaged or another's.
#[wasm_bindgen(js_name = resumeRetry)]
pub fn resume_retry(
    saved: &SavedObject,
    policy: &PolicyObject,
    now: &AnyTime,
    options: Option<ResumeOptions>,
) -> Answer<RetryObject> {
    let (policy, saved) = read(saved, policy, options)?;
    let retry = saved.retry(&policy, time_of(now)?).map_err(wrong)?;
    Ok(make_retry(to_words(&policy), to_words(&retry)))
}

/// The loop that was saved, on a clock that reads `now`; its `tick` says the next step. An attempt that was in flight is
/// abandoned: it fails now, as a timeout.
#[wasm_bindgen(js_name = resumeCall)]
pub fn resume_call(
    saved: &SavedObject,
    policy: &PolicyObject,
    now: &AnyTime,
    options: Option<ResumeOptions>,
) -> Answer<CallObject> {
    let (policy, saved) = read(saved, policy, options)?;
    let call = saved.call(&policy, time_of(now)?).map_err(wrong)?;
    Ok(make_call(to_words(&policy), to_words(&call)))
}

fn wrong(error: holdoff_core::Error) -> JsValue {
    fail(&error, "", &JsValue::UNDEFINED)
}

/// The policy, and a saved state as it is after the time that it lay, under this policy if that is forced.
fn read(saved: &SavedObject, object: &PolicyObject, options: Option<ResumeOptions>) -> Answer<(Policy, Saved)> {
    let (policy, fields) = (policy_of(object)?, Fields::of(&options));
    let away = fields.length("away")?.unwrap_or_default();
    let aged = read_saved(saved)?.aged(away);
    Ok((policy, if fields.flag("forced", false)? { aged.forced(&policy) } else { aged }))
}

fn read_saved(saved: &SavedObject) -> Answer<Saved> {
    if let Some(bytes) = saved.dyn_ref::<Uint8Array>() {
        // A state is short: longer bytes are not a state.
        return Saved::from_bytes(&bytes.subarray(0, 4096).to_vec()).map_err(wrong);
    }
    let fields = check_fields(if saved.is_string() { parse_json(saved)? } else { saved.into() })?;
    let mut read = Saved::EMPTY;
    for (name, value) in entries(&fields)? {
        read_raw(&value, |raw| read.set(&name, raw)).map_err(|error| fail(&error, &name, &value))?;
    }
    Ok(read)
}
