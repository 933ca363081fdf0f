use super::*;
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::Hint;
use crate::decide::policy::Policy;
use crate::decide::retry::Cause;
use crate::error::{Error, ErrorCode, StopReason};
use crate::time::{Span, Timestamp};
use crate::value::Value;
use proptest::prelude::*;
use std::borrow::ToOwned;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

const AT: u64 = 1_700_000_000_000_000_000;

fn instant(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(nanos)
}

/// One of each kind, numbered as a log would have them.
fn one_of_each() -> [Event; 7] {
    let at = instant(AT);
    let failure = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(2)));
    [
        Event::started(&Policy::default(), 42, false, at, 1),
        Event::attempt_failed(at, 1, failure),
        Event::retry_scheduled(at, 2, instant(AT + 100_000_000), Cause::Backoff),
        Event::new(EventKind::Resumed, at, 2),
        Event::new(EventKind::Succeeded, at, 2),
        Event::gave_up(at, 2, StopReason::Deadline, instant(AT + 5)),
        Event::new(EventKind::Cancelled, at, 0),
    ]
    .map(|event| event.numbered(u64::from(event.kind().code())))
}

fn bytes(event: &Event, text: &str) -> Vec<u8> {
    let mut room = vec![0; Event::MOST_BYTES + text.len()];
    let length = event.to_bytes(text, &mut room).unwrap();
    room.truncate(length);
    room
}

fn number(value: f64) -> Value<'static> {
    Value::Number { value, unit: 1.0 }
}

/// What a host does that has a JSON reader: each field by its name, those of the payload under theirs.
fn read(json: &str) -> Result<(Event, Vec<(ValueOwner, String)>), Error> {
    let mut event = Event::EMPTY;
    let mut texts = Vec::new();
    let fields: serde_json::Value = serde_json::from_str(json).unwrap();
    let mut set = |event: &mut Event, name: &str, value: &serde_json::Value| {
        let value = match value {
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Number(value) => number(value.as_f64().unwrap()),
            serde_json::Value::Null => Value::Nothing,
            _ => Value::Other,
        };
        let taken = event.set(name, value)?;
        if let (Value::Text(text), true) = (value, taken != ValueOwner::Event) {
            texts.push((taken, text.to_owned()));
        }
        Ok(())
    };
    for (name, value) in fields.as_object().unwrap() {
        match value.as_object().filter(|_| name == "payload") {
            Some(payload) => {
                payload.iter().try_for_each(|(name, value)| set(&mut event, &format!("payload.{name}"), value))?;
            }
            None => set(&mut event, name, value)?,
        }
    }
    Ok((event.check()?, texts))
}

#[test]
fn a_retry_as_json_has_the_fields_that_workflow_engines_have() {
    let event = one_of_each()[2];
    let notes = Notes { task: Some("charge"), failure: Some("boom") };
    assert_eq!(
        event.json(&notes).to_string(),
        "{\"version\":1,\"sequence\":3,\"type\":\"RETRY_SCHEDULED\",\"at\":\"1700000000000000000\",\"attemptNumber\":2,\
         \"backoffDelayMs\":100,\"failureReason\":\"boom\",\"payload\":{\"taskId\":\"charge\",\"reason\":\"boom\"},\
         \"until\":\"1700000000100000000\",\"cause\":\"backoff\"}"
    );
}

#[test]
fn texts_that_nobody_lends_are_left_out() {
    let [started, failed, .., gave_up, cancelled] = one_of_each();
    let fingerprint = Policy::default().fingerprint();
    let none = Notes::default();
    assert_eq!(
        started.json(&none).to_string(),
        format!(
            "{{\"version\":1,\"sequence\":1,\"type\":\"STARTED\",\"at\":\"{AT}\",\"attemptNumber\":1,\
             \"policy\":\"{fingerprint}\",\"seed\":\"42\",\"guarded\":0}}"
        )
    );
    let task = Notes { task: Some("a \"task\""), failure: None };
    assert_eq!(
        failed.json(&task).to_string(),
        format!(
            "{{\"version\":1,\"sequence\":2,\"type\":\"ATTEMPT_FAILED\",\"at\":\"{AT}\",\"attemptNumber\":1,\
             \"payload\":{{\"taskId\":\"a \\\"task\\\"\"}},\"failure\":\"throttled\",\"hint\":\"2000000000\"}}"
        )
    );
    assert_eq!(
        gave_up.json(&none).to_string(),
        format!(
            "{{\"version\":1,\"sequence\":6,\"type\":\"GAVE_UP\",\"at\":\"{AT}\",\"attemptNumber\":2,\
             \"reason\":\"deadline\",\"retryAt\":\"1700000000000000005\"}}"
        )
    );
    assert_eq!(
        cancelled.json(&none).to_string(),
        format!("{{\"version\":1,\"sequence\":7,\"type\":\"CANCELLED\",\"at\":\"{AT}\",\"attemptNumber\":0}}")
    );
}

#[test]
fn json_is_read_back_and_the_texts_stay_with_the_host() {
    let notes = Notes { task: Some("charge"), failure: Some("boom\n\"\u{1}") };
    for event in one_of_each() {
        let (back, mut texts) = read(&event.json(&notes).to_string()).unwrap();
        assert_eq!(back, event);
        // A reader of JSON may keep the order of its fields or not.
        texts.sort_by_key(|(taken, _)| taken.code());
        let failure = (ValueOwner::Failure, "boom\n\"\u{1}".to_owned());
        assert_eq!(texts, [(ValueOwner::Task, "charge".to_owned()), failure.clone(), failure]);
    }
}

#[test]
fn milliseconds_are_rounded_up_and_count_where_nothing_is_exact() {
    let at = instant(AT);
    let event = Event::retry_scheduled(at, 2, instant(AT + 1), Cause::Hint).numbered(3);
    assert_eq!((event.delay_ms(), event.delay()), (1, Span::from_nanos(1)));
    let json = event.json(&Notes::default()).to_string();
    assert_eq!(read(&json).unwrap().0, event);
    let without = json.replace(&format!(",\"until\":\"{}\"", AT + 1), "");
    assert_eq!(read(&without).unwrap().0.until(), instant(AT + 1_000_000));
    let wrong = json.replace("\"backoffDelayMs\":1,", "\"backoffDelayMs\":999,");
    assert_eq!(read(&wrong).unwrap().0, event, "the exact time wins");
}

#[test]
fn what_is_wrong_with_a_field_is_said_with_the_nearest_name() {
    for (name, value, message) in [
        (
            "attemptNumbers",
            number(1.0),
            "event, this name: is not a field of an event; did you mean \"attemptNumber\"?",
        ),
        (
            "payload.task",
            Value::Text("a"),
            "event, this name: is not a field of an event; did you mean \"payload.taskId\"?",
        ),
        ("version", number(2.0), "event, version = 2: must be 1, the version that this library reads"),
        ("sequence", number(0.0), "event, sequence = 0: must be a whole number, 1 or more"),
        (
            "type",
            Value::Text("RETRY_SCHEDULE"),
            "event, type: must be one of STARTED, ATTEMPT_FAILED, RETRY_SCHEDULED, RESUMED, SUCCEEDED, GAVE_UP, \
             CANCELLED; did you mean \"RETRY_SCHEDULED\"?",
        ),
        ("attemptNumber", number(-1.0), "event, attemptNumber = -1: must be a whole number from 0 to 4294967295"),
        ("attemptNumber", number(1.5), "event, attemptNumber = 1.5: must be a whole number from 0 to 4294967295"),
        ("guarded", number(2.0), "event, guarded = 2: must be 0 or 1"),
        ("payload", Value::Text("x"), "event, payload: must be an object with taskId and reason"),
        ("failureReason", number(7.0), "event, failureReason = 7: must be text"),
        (
            "at",
            Value::Text("18446744073709551615"),
            "event, at: must be a time from 0 to 18446744073709551614 in nanoseconds as decimal text",
        ),
        (
            "hint",
            Value::Text("9223372036854775808"),
            "event, hint: must be a span from 0 to 9223372036854775807 in nanoseconds as decimal text, or \"none\" or \
             \"never\"",
        ),
    ] {
        let mut event = Event::EMPTY;
        assert_eq!(event.set(name, value).unwrap_err().to_string(), message);
        assert_eq!(event, Event::EMPTY, "an error changes nothing");
    }
}

#[test]
fn what_is_missing_or_has_no_place_or_contradicts_is_an_error_of_the_event() {
    let [started, failed, retry, resumed, ..] = one_of_each().map(|event| event.json(&Notes::default()).to_string());
    for (json, message) in [
        (started.replace("\"version\":1,", ""), "event 1, version: is missing"),
        (started.replace(",\"seed\":\"42\"", ""), "event 1, seed: is missing"),
        (
            retry.replace(",\"until\":\"1700000000100000000\"", "").replace("\"backoffDelayMs\":100,", ""),
            "event 3, until: is missing",
        ),
        (retry.replace(",\"cause\":\"backoff\"", ""), "event 3, cause: is missing"),
        (
            resumed.replace("\"type\"", "\"until\":\"1\",\"type\""),
            "event 4, until: has no meaning for an event of this type",
        ),
        (
            failed.replace("\"type\"", "\"backoffDelayMs\":4,\"type\""),
            "event 2, backoffDelayMs: has no meaning for an event of this type",
        ),
        (retry.replace("00100000000", "0000000000"), "event 3: is damaged, or its fields contradict each other"),
        (
            started.replace("\"attemptNumber\":1", "\"attemptNumber\":0"),
            "event 1: is damaged, or its fields contradict each other",
        ),
        (
            started.replace("\"attemptNumber\":1", "\"attemptNumber\":2"),
            "event 1: is damaged, or its fields contradict each other",
        ),
    ] {
        assert_eq!(read(&json).unwrap_err().to_string(), message, "{json}");
    }
    assert_eq!(Event::EMPTY.check().unwrap_err().to_string(), "event, version: is missing");
}

#[test]
fn bytes_are_read_back_with_their_text_and_what_follows() {
    let mut log = Vec::new();
    for event in one_of_each() {
        log.extend(bytes(&event, "a text: \u{fc}"));
    }
    let read: Vec<_> = EventReader::new(&log).map(Result::unwrap).collect();
    assert_eq!(read, one_of_each().map(|event| (event, "a text: \u{fc}")));
}

#[test]
fn an_event_of_each_kind_takes_few_bytes() {
    let lengths = one_of_each().map(|event| bytes(&event, "").len());
    assert_eq!(lengths, [31, 25, 24, 19, 19, 29, 19]);
}

#[test]
fn the_largest_event_fits_into_what_is_said_to_be_enough() {
    let all = u64::MAX;
    let largest = Event {
        policy: all,
        seed: all,
        sequence: all,
        guarded: 1,
        ..Event::started(&Policy::default(), 0, true, Timestamp::LAST, 1)
    };
    let text = "x".repeat(65_535);
    assert!(bytes(&largest, &text).len() <= Event::MOST_BYTES + text.len());
    assert_eq!(Event::read(&bytes(&largest, &text)).unwrap(), (largest, text.as_str(), &[][..]));
}

#[test]
fn a_text_that_is_too_long_is_cut_between_two_characters() {
    let text = "\u{20ac}".repeat(21_846);
    let event = one_of_each()[1];
    let long = bytes(&event, &text);
    assert_eq!(Event::read(&long).unwrap().1.len(), 65_535);
    let text = ["x", &text].concat();
    assert_eq!(Event::read(&bytes(&event, &text)).unwrap().1.len(), 65_533);
}

#[test]
fn where_there_is_no_room_nothing_is_said() {
    for event in one_of_each() {
        let whole = bytes(&event, "text");
        for length in 0..whole.len() {
            assert_eq!(event.to_bytes("text", &mut vec![0; length]), None);
        }
    }
}

#[test]
fn a_log_that_is_cut_names_the_event_that_was_expected() {
    let log: Vec<u8> = one_of_each().iter().flat_map(|event| bytes(event, "")).collect();
    let first = bytes(&one_of_each()[0], "").len();
    for length in 1..first {
        let error = EventReader::new(&log[..length]).next().unwrap().unwrap_err();
        assert_eq!((error.code, error.sequence()), (ErrorCode::EventCut, 1));
    }
    let mut reader = EventReader::new(&log[..first + 1]);
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "event 2: is cut off: the bytes end within it");
    assert!(reader.next().is_none(), "and then there is nothing more");
    assert_eq!(reader.rest(), &log[first..first + 1]);
}

#[test]
fn bytes_of_another_version_are_told_from_damaged_ones() {
    let mut event = bytes(&one_of_each()[0], "");
    event[1] = 2;
    let error = Event::read(&event).unwrap_err();
    assert_eq!(error.to_string(), "event, version = 2: must be 1, the version that this library reads");
}

#[test]
fn zeroed_memory_is_a_cancelled_event_that_no_log_takes() {
    let error = Event::EMPTY.check().unwrap_err();
    assert_eq!((Event::EMPTY.kind(), error.code), (EventKind::Cancelled, ErrorCode::MissingEventField));
}

#[cfg(feature = "serde")]
#[test]
fn serde_writes_and_reads_the_same_json() {
    for event in one_of_each() {
        let noted = EventWithNotes { event, task: Some("charge".to_owned()), failure: Some("boom".to_owned()) };
        let json = serde_json::to_string(&noted).unwrap();
        assert_eq!(json, event.json(&noted.notes()).to_string());
        assert_eq!(serde_json::from_str::<EventWithNotes>(&json).unwrap(), noted);
        let bare = EventWithNotes { event, task: None, failure: None };
        assert_eq!(serde_json::from_str::<EventWithNotes>(&event.json(&Notes::default()).to_string()).unwrap(), bare);
    }
    let odd = r#"{"version":1,"sequence":1,"type":"RESUMED","at":7,"attemptNumber":1,"payload":{"reason":"b"},"failureReason":"a","cause":null}"#;
    assert_eq!(serde_json::from_str::<EventWithNotes>(odd).unwrap().failure.as_deref(), Some("a"));
    for (json, message) in [
        (odd.replace("\"at\"", "\"att\""), "event 1, this name: is not a field of an event"),
        (odd.replace("null", "{\"a\":[]}"), "event 1, cause: must be one of"),
        (odd.replace("null", "[1]"), "event 1, cause: must be one of"),
        (odd.replace("null", "true"), "event 1, cause: must be one of"),
        (odd.replace("\"reason\"", "\"why\""), "event 1, this name: is not a field of an event"),
        (odd.replace("null", "\"hint\""), "event 1, cause: has no meaning"),
    ] {
        let error = serde_json::from_str::<EventWithNotes>(&json).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

/// Any event that a log can have.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    let at = prop_oneof![4 => AT..AT * 2, 1 => 0..u64::MAX];
    let number = prop_oneof![4 => 1..300u64, 1 => 1..=u64::MAX];
    let numbers = (any::<u64>(), any::<u64>(), 0..u64::MAX);
    (0..7usize, at, number, 1..=u32::MAX, numbers, (1..5u32, 0..6usize, 0..9usize, 0..4u8)).prop_map(
        |(kind, at, sequence, attempt, (a, b, c), (failure, cause, reason, hint))| {
            let at = instant(at);
            let failure = Failure::new(FailureKind::from_code(failure).unwrap());
            let hint = match hint {
                0 => Hint::NEVER,
                1 => Hint::after(Span::from_nanos(a)),
                _ => Hint::NONE,
            };
            match EventKind::ALL[kind] {
                EventKind::Started => {
                    let event = Event::started(&Policy::default(), a, b % 2 == 1, at, 1);
                    Event { policy: b, ..event }
                }
                EventKind::AttemptFailed => Event::attempt_failed(at, attempt, failure.with_hint(hint)),
                EventKind::RetryScheduled => {
                    let until = instant(c.max(at.as_nanos()));
                    Event::retry_scheduled(at, attempt, until, Cause::ALL[cause])
                }
                EventKind::GaveUp => Event::gave_up(at, attempt, StopReason::ALL[reason], instant(a)),
                kind => Event::new(kind, at, attempt),
            }
            .numbered(sequence)
        },
    )
}

proptest! {
    #[test]
    fn any_event_is_read_back_from_bytes_and_from_json(event in any_event(), text in "\\PC*|[\\x00-\\x7f]*") {
        let written = bytes(&event, &text);
        prop_assert_eq!(Event::read(&written).unwrap(), (event, text.as_str(), &[][..]));
        prop_assert_eq!(event.check().unwrap(), event);
        let json = event.json(&Notes { task: None, failure: Some(&text) }).to_string();
        // A number in JSON is a double to most readers.
        if event.sequence() < 1 << 53 && event.delay_ms() < 1 << 53 {
            prop_assert_eq!(read(&json).unwrap().0, event);
        }
        #[cfg(feature = "serde")]
        {
            let noted = EventWithNotes { event, task: None, failure: Some(text) };
            // There are several ways to write a control character.
            if !noted.failure.iter().flat_map(|text| text.chars()).any(char::is_control) {
                prop_assert_eq!(serde_json::to_string(&noted).unwrap(), json.as_str());
            }
            prop_assert_eq!(serde_json::from_str::<EventWithNotes>(&json).unwrap(), noted);
        }
    }

    #[test]
    fn a_byte_that_was_changed_is_noticed(event in any_event(), text in "[a-z]{0,9}", place: usize, by in 1u8..=255) {
        let mut written = bytes(&event, &text);
        let place = place % written.len();
        written[place] ^= by;
        let error = Event::read(&written).unwrap_err();
        let damaged = error.code == ErrorCode::EventDamaged || error.code == ErrorCode::EventCut;
        prop_assert!(damaged || (place == 1 && error.code == ErrorCode::EventVersion), "{}", error);
    }

    #[test]
    fn bytes_that_are_cut_are_noticed(event in any_event(), text in "[a-z]{0,9}", place: usize) {
        let written = bytes(&event, &text);
        let error = Event::read(&written[..place % written.len()]).unwrap_err();
        prop_assert_eq!(error.code, ErrorCode::EventCut);
    }

    #[test]
    fn no_bytes_panic(any in prop::collection::vec(any::<u8>(), 0..90), kind in 0u8..9) {
        let _ = Event::read(&any);
        let like_one = [&[0xf5, 1, kind][..], &any].concat();
        let _ = Event::read(&like_one);
        prop_assert!(EventReader::new(&like_one).count() < 99);
    }

    #[test]
    fn fields_come_in_any_order_and_none_panics(
        fields in prop::collection::vec((0..20usize, 0..7usize, any::<f64>(), any::<u64>()), 0..30)
    ) {
        let mut event = Event::EMPTY;
        for (name, value, real, whole) in fields {
            let words = ["never", "none", "STARTED", "hint", "deadline", "transient", ""];
            let text = whole.to_string();
            let value = match value {
                0 => Value::Text(words[whole as usize % words.len()]),
                1 => Value::Text(&text),
                2 => number(real),
                3 => number((whole % 3) as f64),
                4 => Value::Nanos(whole),
                5 => Value::Other,
                _ => Value::Nothing,
            };
            let _ = event.set(Event::names().nth(name).unwrap_or("other"), value);
            if let Ok(checked) = event.check() {
                prop_assert_eq!(checked.check(), Ok(checked));
            }
        }
    }
}

#[test]
fn never_is_said_by_its_word_and_by_no_number() {
    let never = Value::Nanos(u64::MAX);
    for (value, code) in [
        (never, Some(ErrorCode::WrongType)),
        (Value::Text("18446744073709551615"), Some(ErrorCode::WrongType)),
        (Value::Text("never"), None),
    ] {
        let mut event = Event::EMPTY;
        assert_eq!(event.set("retryAt", value).err().map(|error| error.code), code);
    }
}

#[test]
fn a_failure_keeps_the_rule_that_took_it() {
    for (rule, json) in [(0, ""), (Failure::NO_RULE, ",\"rule\":0"), (1, ",\"rule\":1"), (8, ",\"rule\":8")] {
        let failure = Failure { rule, ..Failure::THROTTLED };
        let event = Event::attempt_failed(Timestamp::from_nanos(7), 2, failure).numbered(2);
        let text = event.json(&Notes::default()).to_string();
        assert!(text.ends_with(&std::format!("\"hint\":\"none\"{json}}}")), "{text}");
        let mut bytes = [0; Event::MOST_BYTES];
        let length = event.to_bytes("", &mut bytes).unwrap();
        let (again, _, rest) = Event::read(&bytes[..length]).unwrap();
        assert_eq!((again, again.as_failure().rule, rest.len()), (event, rule, 0));
    }
}
