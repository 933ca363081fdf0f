//! States of guards that last, to go on in another process, on another clock, or in another language.

use super::arguments::Argument;
use super::ffi::{Answer, FromJs, entries, fail, functions, is_fields, js_types, misuse, put};
use super::shared::{NAMES, SharedGuards, States, name_of};
use holdoff_core::{ErrorCode, Timestamp};
use js_sys::{Object, Uint8Array};
use wasm_bindgen::prelude::*;

js_types! {
    GuardsObject = "GuardSet",
    SavedGuards = "SavedGuards",
}

functions! {
    /// The states of a set of guards at `now`: bytes by the names of the guards.
    fn saveGuards(guards: Argument<GuardsObject>, now: Timestamp) -> SavedGuards {
        let (saved, mut states) = (Object::new(), States::default());
        for guard in SharedGuards::from_js(&guards.0, "guards")?.take() {
            states.read(&guard)?;
            let name = name_of(&guard)?;
            let bytes = states.saved(name, now);
            if !bytes.is_empty() {
                put(&saved, name, &Uint8Array::from(bytes.as_slice()));
            }
        }
        JsValue::from(saved).unchecked_into()
    }

    /// Gives the guards of a set the states that were saved.
    fn restoreGuards(guards: Argument<GuardsObject>, saved: Argument<SavedGuards>, now: Timestamp) -> () {
        let guards = SharedGuards::from_js(&guards.0, "guards")?;
        if !is_fields(&saved.0) {
            return Err(misuse(ErrorCode::WrongType, "saved", &saved.0));
        }
        let (all, mut states) = (guards.take(), States::default());
        all.iter().try_for_each(|guard| states.read(&guard))?;
        for (name, value) in entries(&saved.0)? {
            let path = format!("saved.{name}");
            if !NAMES.contains(&name.as_str()) {
                return Err(misuse(ErrorCode::UnknownField, &path, &value));
            }
            if value.is_undefined() || value.is_null() {
                continue;
            }
            let bytes = value.dyn_ref::<Uint8Array>().ok_or_else(|| misuse(ErrorCode::WrongType, &path, &value))?;
            states.restore(&name, &bytes.to_vec(), now).map_err(|error| fail(&error, &path, &JsValue::UNDEFINED))?;
        }
        all.iter().try_for_each(|guard| states.write(&guard))?;
        guards.notify()?
    }
}
