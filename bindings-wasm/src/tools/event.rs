//! Events of a call. An event is a plain frozen object whose JSON every language reads; times, seeds and fingerprints are decimal
//! text in it, because a double cannot hold them.

use super::arguments::Argument;
use super::ffi::{Answer, FromJs, entries, functions, is_fields, js_types, misuse, object, read_raw, show};
use holdoff_core::{Error, ErrorCode, Event, EventReader, Field, Notes, ReplayError, ValueOwner};
use js_sys::{JSON, Object, Uint8Array};
use wasm_bindgen::prelude::*;

js_types! {
    EventObject = "Event", AnyEvent = "string | object", Bytes = "Uint8Array",
}

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(js_name = makeEvent)]
    fn make_event(json: &str) -> EventObject;
    /// True for bytes, of whatever realm.
    #[wasm_bindgen(js_name = isBytes)]
    pub(super) fn is_bytes(value: &JsValue) -> bool;
    #[wasm_bindgen(js_name = replayError)]
    fn replay_error(message: &str, parts: Object) -> JsValue;
}

/// An event that came from elsewhere, with the texts that the core leaves to us.
#[derive(Default)]
pub struct Noted {
    event: Option<Event>,
    pub(super) task: Option<String>,
    reason: Option<String>,
}

/// One event without a log.
impl FromJs for Noted {
    type Js = AnyEvent;
    fn from_js(value: &JsValue, _: &str) -> Answer<Self> {
        Self::read(value, 0)
    }
}

impl Noted {
    /// Reads an event from an object or its JSON. `place` is its number in the log, from 1; 0 without a log.
    pub(super) fn read(value: &JsValue, place: u64) -> Answer<Self> {
        let parsed = value.as_string().map_or_else(|| Ok(value.clone()), |json| JSON::parse(&json));
        let parsed = parsed.map_err(|cause| spoiled(ErrorCode::NotJson, place, "must be JSON", &cause))?;
        if !is_fields(&parsed) {
            return Err(spoiled(ErrorCode::NotAnObject, place, "must be an object of fields", &JsValue::UNDEFINED));
        }
        let (mut event, mut noted) = (Event::EMPTY, Self::default());
        let mut set = |name: &str, value: &JsValue| {
            let owner = read_raw(value, |raw| event.set(name, raw));
            match owner.map_err(|error| broken(&error, place, name, &format!(" = {}", show(value))))? {
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

    /// The event that was read.
    pub(super) fn event(&self) -> Event {
        self.event.unwrap_or(Event::EMPTY)
    }

    fn object(&self) -> EventObject {
        object_of(&self.event(), self.task.as_deref(), self.reason.as_deref())
    }
}

/// The events of a log's bytes, which name no task. An error has the number of the event that cannot be read.
pub(super) fn events_of(bytes: &JsValue, mut take: impl FnMut(Noted) -> Answer<()>) -> Answer<()> {
    EventReader::new(&Uint8Array::new(bytes).to_vec()).try_for_each(|read| {
        let (event, text) = read.map_err(|error| broken(&error, 0, "", ""))?;
        take(Noted {
            event: Some(event),
            task: None,
            reason: Some(text.into()).filter(|text: &String| !text.is_empty()),
        })
    })
}

/// An event for JavaScript.
pub(super) fn object_of(event: &Event, task: Option<&str>, failure: Option<&str>) -> EventObject {
    make_event(&event.json(&Notes { task, failure }).to_string())
}

/// The beginning of a message about the event in that place.
fn numbered(place: u64) -> String {
    if place > 0 { format!("event {place}") } else { "event".into() }
}

/// The error of an event that has no fields.
fn spoiled(code: ErrorCode, place: u64, rule: &str, cause: &JsValue) -> JsValue {
    let (message, word) = (format!("{}: {rule}", numbered(place)), code.name());
    replay_error(&message, object! { code: code.code(), word: word, rule: rule, sequence: place as f64, cause: cause })
}

/// The error of an event's field, in that place of its log unless it says its own. `value` is the text between path and rule.
fn broken(error: &Error, place: u64, name: &str, value: &str) -> JsValue {
    let (path, sequence) = (error.field.map_or(error.name, Field::path), error.sequence());
    let (path, sequence) = (if path.is_empty() { name } else { path }, if sequence == 0 { place } else { sequence });
    let (code, rule, nearest) = (error.code, error.rule(), error.nearest);
    let field = if path.is_empty() { String::new() } else { format!(", {path}{value}") };
    let meant = nearest.map_or(String::new(), |nearest| format!("; did you mean \"{nearest}\"?"));
    replay_error(
        &format!("{}{field}: {rule}{meant}", numbered(sequence)),
        object! {
            code: code.code(), word: code.name(), sequence: sequence as f64, path: path, rule: rule, nearest: nearest
        },
    )
}

/// The error of a log, whose latest event was this one.
pub(super) fn differing(error: &ReplayError, recorded: &Noted) -> JsValue {
    let (code, recorded) = (error.code, error.recorded.map(|_| recorded.object()));
    let computed = error.computed.map(|event| object_of(&event, None, None));
    replay_error(
        &error.to_string(),
        object! {
            code: code.code(),
            word: code.name(),
            sequence: error.sequence as f64,
            rule: code.rule(None),
            recorded: recorded,
            computed: computed,
        },
    )
}

functions! {
    /// One event from its JSON form: text, or the object read from it. Throws a {@link ReplayError} about the field that is wrong.
    fn eventFromJson(event: Noted) -> EventObject { event.object() }

    /// An event as bytes: a log is one after the other. Its failure's text is its own unless another is given; text of more than
    /// 65535 bytes is cut.
    fn eventToBytes(event: Noted, reason: Option<String>) -> Vec<u8> {
        let reason = reason.or_else(|| event.reason.clone()).unwrap_or_default();
        let mut bytes = vec![0; Event::MOST_BYTES + reason.len()];
        let length = event.event().to_bytes(&reason, &mut bytes).unwrap_or(0);
        bytes.truncate(length);
        bytes
    }

    /// The events of a log's bytes. Throws a {@link ReplayError} with the number of the event that cannot be read.
    fn eventsFromBytes(bytes: Argument<Bytes>) -> Vec<EventObject> {
        if !is_bytes(&bytes.0) {
            return Err(misuse(ErrorCode::WrongType, "bytes", &bytes.0));
        }
        let mut events = Vec::new();
        events_of(&bytes.0, |noted| {
            events.push(noted.object());
            Ok(())
        })?;
        events
    }
}
