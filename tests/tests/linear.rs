//! What others wrote is read in linear time: documents, states, logs, headers, durations. The work is the time of the processor that the
//! thread has used. It is held against that of a harmless text of the same length, so it does not depend on the machine.

use conformance::documents;
use cpu_time::ThreadTime;
use holdoff_core::{
    Event, EventReader, EventWithNotes, Form, Guards, HintReader, Policy, Recorder, Saved, Span, Timestamp,
    Value as Setting,
};
use serde_json::Value;
use std::time::Duration;

/// How much more work than the harmless text a text may be. A quadratic reader takes many thousand times as much.
const TIMES: u32 = 1000;

struct Data {
    length: usize,
    pieces: Vec<String>,
    samples: serde_json::Map<String, Value>,
}

fn data() -> Data {
    let mut all: Value = serde_json::from_str(include_str!("../adversarial.json")).unwrap();
    Data {
        // Without optimization a reader is slow, and half the length says the same.
        length: all["length"].as_u64().unwrap() as usize / 2,
        pieces: serde_json::from_value(all["pieces"].take()).unwrap(),
        samples: serde_json::from_value(all["samples"].take()).unwrap(),
    }
}

impl Data {
    fn texts(&self) -> impl Iterator<Item = String> {
        self.pieces.iter().map(|piece| piece.repeat(self.length / piece.len()))
    }

    /// A list or an object with so many entries that it has the length.
    fn filled(&self, open: char, entry: impl Fn(usize) -> String, close: char) -> String {
        let count = self.length / (entry(0).len() + 1) + 1;
        format!("{open}{}{close}", (0..count).map(entry).collect::<Vec<_>>().join(","))
    }

    /// The JSON texts that may stand in the place of a value.
    fn instead_of(&self, value: &Value) -> Vec<String> {
        let (one, length) = (value.to_string(), self.length);
        let mut texts: Vec<_> = self.texts().map(|text| Value::String(text).to_string()).collect();
        texts.extend(["", "0.", "1e"].map(|before| format!("{before}{}", "9".repeat(length))));
        texts.push("[".repeat(length));
        texts.push("{\"a\":".repeat(length / 5));
        texts.push(format!("{}{one}", " ".repeat(length)));
        texts.push(self.filled('[', |_| one.clone(), ']'));
        texts.push(self.filled('[', |at| format!("\"{at}\""), ']'));
        texts.push(self.filled('{', |at| format!("\"{at}\":{one}"), '}'));
        texts.push(self.filled('{', |at| format!("\"x-{at}\":0"), '}'));
        for (name, inner) in value.as_object().into_iter().flatten() {
            texts.push(self.filled('{', |_| format!("{}:{inner}", Value::String(name.clone())), '}'));
        }
        texts
    }

    /// The sample with a long name in the place of each one, around lists of many items.
    fn with_long_names(&self, sample: &Value) -> Vec<String> {
        let long = self.length * 8;
        let mut names = Vec::new();
        let longer = lengthened(sample, long, &mut names);
        let text = longer.to_string();
        names
            .iter()
            .map(|name| text.replacen(&format!("\"{name}\":"), &format!("\"{}\":", "a".repeat(long)), 1))
            .collect()
    }

    /// Holds a reader against each of the texts in each place of a sample.
    fn hold_documents(&self, name: &str, sample: &Value, read: &dyn Fn(&str)) {
        const MARK: &str = "@@@";
        self.hold(&format!("{name}, long names"), self.with_long_names(sample), |text| read(text));
        let mut pointers = vec![String::new()];
        while let Some(pointer) = pointers.pop() {
            let value = sample.pointer(&pointer).unwrap();
            let inner: Vec<String> = match value {
                Value::Object(object) => object.keys().cloned().collect(),
                Value::Array(list) => (0..list.len()).map(|at| at.to_string()).collect(),
                _ => Vec::new(),
            };
            pointers.extend(inner.iter().map(|name| format!("{pointer}/{name}")));
            let mut marked = sample.clone();
            *marked.pointer_mut(&pointer).unwrap() = MARK.into();
            let marked = marked.to_string();
            let texts = self.instead_of(value).into_iter().map(|text| marked.replace(&format!("\"{MARK}\""), &text));
            self.hold(&format!("{name}{pointer}"), texts, |text| read(text));
        }
    }

    fn hold<I: AsRef<[u8]>>(&self, what: &str, inputs: impl IntoIterator<Item = I>, read: impl Fn(&I)) {
        let harmless = Value::String("x".repeat(self.length)).to_string();
        let harmless = (0..3).map(|_| work(|| drop(documents::read(&harmless)))).max().unwrap();
        for given in inputs {
            let lengths = given.as_ref().len().div_ceil(self.length).max(1) as u32;
            let allowed = harmless * TIMES * lengths + Duration::from_millis(20);
            let mut took = work(|| read(&given));
            for _ in 0..3 {
                if took > allowed {
                    took = took.min(work(|| read(&given)));
                }
            }
            let shown = given.as_ref().iter().take(100).map(|byte| char::from(*byte)).collect::<String>();
            assert!(took <= allowed, "{what}: {shown:?} took {took:?}, more than {allowed:?}");
        }
    }
}

/// The value with so much longer lists, and the names of its objects.
fn lengthened(value: &Value, long: usize, names: &mut Vec<String>) -> Value {
    match value {
        Value::Array(items) => {
            let count = long / value.to_string().len() + 1;
            std::iter::repeat_n(items.clone(), count).flatten().collect()
        }
        Value::Object(object) => {
            names.extend(object.keys().cloned());
            object.iter().map(|(name, inner)| (name.clone(), lengthened(inner, long, names))).collect()
        }
        other => other.clone(),
    }
}

fn work(read: impl FnOnce()) -> Duration {
    let begun = ThreadTime::now();
    read();
    begun.elapsed()
}

/// A saved state of a flat object.
fn read_state(text: &str) {
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) else { return };
    let mut saved = Saved::EMPTY;
    for (name, value) in &fields {
        let set = match value {
            Value::String(text) => saved.set(name, Setting::Text(text)),
            Value::Number(number) => {
                saved.set(name, Setting::Number { value: number.as_f64().unwrap_or(-1.0), unit: 1.0 })
            }
            _ => saved.set(name, Setting::Other),
        };
        if set.is_err() {
            return;
        }
    }
}

#[test]
fn documents_states_and_events_are_read_in_linear_time() {
    let data = data();
    for (name, sample) in &data.samples {
        let read: Box<dyn Fn(&str)> = match name.as_str() {
            "policy" => Box::new(|text| drop(documents::read(text))),
            "state" => Box::new(read_state),
            "event" => Box::new(|text| drop(serde_json::from_str::<EventWithNotes>(text))),
            form => {
                let form = Form::from_name(form).unwrap();
                let valid = documents::read_form(form.reader(), &sample.to_string());
                assert!(valid.is_ok(), "{name}: {:?}", valid.err());
                Box::new(move |text| drop(documents::read_form(form.reader(), text)))
            }
        };
        data.hold_documents(name, sample, &read);
    }
}

#[test]
fn durations_headers_and_logs_are_read_in_linear_time() {
    let data = data();
    let durations = data.texts().flat_map(|text| [format!("1{text}s"), text]);
    data.hold("durations", durations, |text| _ = Span::parse(text));
    for name in
        ["Retry-After", "Date", "RateLimit", "X-RateLimit-Reset", "x-ratelimit-remaining-tokens", "retry-after-ms"]
    {
        data.hold(name, data.texts(), |value| {
            let mut reader = HintReader::new(0);
            reader.header(name.as_bytes(), value.as_bytes());
            reader.header(value.as_bytes(), value.as_bytes());
            let end = value.len() - 100;
            (0..1000).for_each(|_| reader.header(name.as_bytes(), value.as_bytes().get(end..).unwrap_or_default()));
            let _ = reader.hint_for(429);
        });
    }
    let (_, begun) = Recorder::begin(&Policy::DEFAULT, &mut Guards::none(), 1, Timestamp::ZERO);
    let mut room = [0; Event::MOST_BYTES + 4];
    let length = begun.events.iter().next().unwrap().to_bytes("down", &mut room).unwrap();
    let one = &room[..length];
    let many = one.repeat(data.length / length);
    let damaged = (0..=u8::MAX).flat_map(|byte| {
        let bytes = vec![byte; data.length];
        [[one, bytes.as_slice()].concat(), bytes]
    });
    data.hold("logs", damaged.chain([many]), |bytes| {
        EventReader::new(bytes).take_while(|event| event.is_ok()).for_each(drop);
    });
}
