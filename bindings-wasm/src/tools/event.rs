//! Events of a call. An event is a plain frozen object whose JSON every language reads; times, seeds and fingerprints are decimal
//! text in it, because a double cannot hold them.

use super::ffi::{Answer, entries, is_fields, misuse, read_raw, show, text};
use holdoff_core::{Error, ErrorCode, Event, EventReader, Field, Notes, ReplayError, ValueOwner};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "Event")]
    pub type EventObject;
    #[wasm_bindgen(typescript_type = "string | object")]
    pub type AnyEvent;
    #[wasm_bindgen(typescript_type = "string")]
    pub type Text;
    #[wasm_bindgen(typescript_type = "Uint8Array")]
    pub type Bytes;

    #[wasm_bindgen(js_name = makeEvent)]
    fn make_event(json: &str) -> EventObject;
    /// The value of an event's JSON. Throws a ReplayError about the event with that number.
    #[wasm_bindgen(catch, js_name = parseEvent)]
    fn parse_event(json: &JsValue, sequence: f64) -> Answer<JsValue>;
    /// True for bytes, of whatever realm.
    #[wasm_bindgen(js_name = isBytes)]
    pub(super) fn is_bytes(value: &JsValue) -> bool;
    #[wasm_bindgen(js_name = replayError)]
    fn replay_error(
        code: u16,
        word: &str,
        sequence: f64,
        path: &str,
        value: &str,
        rule: &str,
        nearest: Option<&str>,
    ) -> JsValue;
    #[wasm_bindgen(js_name = differenceError)]
    fn difference_error(
        code: u16,
        word: &str,
        sequence: f64,
        rule: &str,
        message: &str,
        recorded: Option<EventObject>,
        computed: Option<EventObject>,
    ) -> JsValue;
}

/// An event that came from elsewhere, with the texts that the core leaves to us.
#[derive(Default)]
pub(super) struct Noted {
    event: Option<Event>,
    pub(super) task: Option<String>,
    reason: Option<String>,
}

impl Noted {
    /// Reads an event from an object or its JSON. `place` is its number in the log, from 1; 0 without a log.
    pub(super) fn read(value: &JsValue, place: u64) -> Answer<Self> {
        let parsed = if value.is_string() { parse_event(value, place as f64)? } else { value.clone() };
        if !is_fields(&parsed) {
            let (code, rule) = (ErrorCode::NotAnObject, "must be an object of fields");
            return Err(replay_error(code.code(), code.name(), place as f64, "", "", rule, None));
        }
        let (mut event, mut noted) = (Event::EMPTY, Self::default());
        let mut set = |name: &str, value: &JsValue| {
            let owner = read_raw(value, |raw| event.set(name, raw)).map_err(|error| {
                let shown = format!(" = {}", show(value));
                broken(&error, place, name, &shown)
            })?;
            match owner {
                ValueOwner::Event => {}
                ValueOwner::Task => noted.task = value.as_string(),
                ValueOwner::Failure => noted.reason = value.as_string(),
            }
            Ok::<_, JsValue>(())
        };
        for (name, value) in entries(&parsed)? {
            if name == "payload" && is_fields(&value) {
                entries(&value)?.iter().try_for_each(|(inner, value)| set(&format!("payload.{inner}"), value))?;
            } else {
                set(&name, &value)?;
            }
        }
        noted.event = Some(event.check().map_err(|error| broken(&error, place, "", ""))?);
        Ok(noted)
    }

    /// Takes an event that was read from bytes, which name no task.
    fn of_bytes((event, text): (Event, &str)) -> Self {
        Self { event: Some(event), task: None, reason: Some(text.into()).filter(|text: &String| !text.is_empty()) }
    }

    /// The event that was read.
    pub(super) fn event(&self) -> Event {
        self.event.unwrap_or(Event::EMPTY)
    }

    pub(super) fn object(&self) -> EventObject {
        object(&self.event(), self.task.as_deref(), self.reason.as_deref())
    }
}

/// The events of a log's bytes. An error has the number of the event that cannot be read.
pub(super) fn events_of(bytes: &JsValue, mut take: impl FnMut(Noted) -> Answer<()>) -> Answer<()> {
    let bytes = Uint8Array::new(bytes).to_vec();
    EventReader::new(&bytes)
        .try_for_each(|read| take(Noted::of_bytes(read.map_err(|error| broken(&error, 0, "", ""))?)))
}

/// An event for JavaScript.
pub(super) fn object(event: &Event, task: Option<&str>, failure: Option<&str>) -> EventObject {
    make_event(&event.json(&Notes { task, failure }).to_string())
}

/// The error of an event, in that place of its log unless it says its own.
fn broken(error: &Error, place: u64, name: &str, value: &str) -> JsValue {
    let (path, sequence) = (error.field.map_or(error.name, Field::path), error.sequence());
    let (path, sequence) = (if path.is_empty() { name } else { path }, if sequence == 0 { place } else { sequence });
    let code = error.code;
    replay_error(code.code(), code.name(), sequence as f64, path, value, error.rule(), error.nearest)
}

/// The error of a log, whose latest event was this one.
pub(super) fn differing(error: &ReplayError, recorded: &Noted) -> JsValue {
    let (code, sequence, message) = (error.code, error.sequence as f64, error.to_string());
    let recorded = error.recorded.map(|_| recorded.object());
    let computed = error.computed.map(|event| object(&event, None, None));
    difference_error(code.code(), code.name(), sequence, code.rule(None), &message, recorded, computed)
}

/// One event from its JSON form: text, or the object read from it. Throws a {@link ReplayError} about the field that is wrong.
#[wasm_bindgen(js_name = eventFromJson)]
pub fn event_from_json(event: &AnyEvent) -> Answer<EventObject> {
    Ok(Noted::read(event, 0)?.object())
}

/// An event as bytes: a log is one after the other. Its failure's text is its own unless another is given; text of more than
/// 65535 bytes is cut.
#[wasm_bindgen(js_name = eventToBytes)]
pub fn event_to_bytes(event: &AnyEvent, reason: Option<Text>) -> Answer<Vec<u8>> {
    let noted = Noted::read(event, 0)?;
    let reason = text(reason.as_ref(), "reason")?.or_else(|| noted.reason.clone()).unwrap_or_default();
    let mut bytes = vec![0; Event::MOST_BYTES + reason.len()];
    let length = noted.event().to_bytes(&reason, &mut bytes).unwrap_or(0);
    bytes.truncate(length);
    Ok(bytes)
}

/// The events of a log's bytes. Throws a {@link ReplayError} with the number of the event that cannot be read.
#[wasm_bindgen(js_name = eventsFromBytes)]
pub fn events_from_bytes(bytes: &Bytes) -> Answer<Vec<EventObject>> {
    if !is_bytes(bytes) {
        return Err(misuse(ErrorCode::WrongType, "bytes", bytes));
    }
    let mut events = Vec::new();
    events_of(bytes, |noted| {
        events.push(noted.object());
        Ok(())
    })?;
    Ok(events)
}
