//! States that last: as bytes or JSON, to be resumed later, elsewhere, or in another language.

use super::arguments::Argument;
use super::ffi::{
    Answer, FromJs, SharedPolicy, entries, fail, fail_together, from_words, functions, is_fields, js_types, misuse,
    problem, property, read_raw,
};
use holdoff_core::{Call, ErrorCode, Policy, Retry, Saved, Timestamp};
use js_sys::{JSON, Uint8Array};
use wasm_bindgen::prelude::*;

js_types! {
    Machine = "Retry | Call", SavedObject = "Saved",
    ResumeOptions = "ResumeOptions",
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
    fn resumeRetry(saved: Saved, policy: SharedPolicy, now: Timestamp, options: Argument<Option<ResumeOptions>>) -> super::machine::Retry {
        let under = policy.read();
        let retry = aged(saved, &under, &options)?.retry(&under, now).map_err(fail_together)?;
        super::machine::Retry { policy, retry }
    }

    /// The loop that was saved, on a clock that reads `now`; its `tick` says the next step. An attempt that was in flight is
    /// abandoned: it fails now, as a timeout.
    fn resumeCall(saved: Saved, policy: SharedPolicy, now: Timestamp, options: Argument<Option<ResumeOptions>>) -> super::machine::Call {
        let under = policy.read();
        let call = aged(saved, &under, &options)?.call(&under, now).map_err(fail_together)?;
        super::machine::Call { policy, call }
    }
}

fn saved(machine: &Argument<Machine>, now: Timestamp) -> Answer<Saved> {
    let words = property(&machine.0, "words")?;
    let policy = from_words(&property(&machine.0, "policyWords")?);
    let saved = policy.and_then(|policy: Policy| {
        let retry = from_words(&words).map(|retry: Retry| retry.saved(&policy, now));
        retry.or_else(|| from_words(&words).map(|call: Call| call.saved(&policy, now)))
    });
    saved.ok_or_else(|| misuse(ErrorCode::WrongType, "machine", &machine.0))
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
