//! Logs: whatever the bytes or events are, reading them ends, what is read is written back, and the recorder that a log makes
//! goes on and writes a log that makes it.

#![no_main]

use holdoff_core::{
    Event, EventReader, Failure, FailureKind, Guards, Hint, Notes, Policy, Recorded, Recorder, Replay, ReplayMode,
    Step, Ticket, Timestamp, Value,
};
use libfuzzer_sys::fuzz_target;

/// An event through its bytes and its JSON.
fn check(event: &Event, text: &str) {
    let mut room = vec![0; Event::MOST_BYTES + text.len()];
    let length = event.to_bytes(text, &mut room).unwrap();
    assert_eq!(Event::read(&room[..length]), Ok((*event, text, &[][..])));
    let json = event.json(&Notes { task: Some("task"), failure: Some(text) }).to_string();
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
    let mut read = Event::EMPTY;
    for (name, value) in &fields {
        let value = match value {
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Number(number) => Value::Nanos(number.as_u64().unwrap()),
            _ => continue,
        };
        read.set(name, value).unwrap();
    }
    assert_eq!(read.check(), Ok(*event));
    assert!(!event.to_string().is_empty());
}

fn replayed(policy: &Policy, log: &[Event]) -> Recorder {
    let mut replay = Replay::new(ReplayMode::Verify);
    for event in log {
        replay.apply(policy, event).unwrap();
    }
    replay.finish().unwrap()
}

/// Inputs from bytes; what is written makes the recorder that wrote it.
fn play(policy: &Policy, mut call: Recorder, mut log: Option<Vec<Event>>, inputs: &[u8]) {
    let guards = &mut Guards::none();
    for input in inputs.chunks_exact(3) {
        let [what, by, scale] = [input[0], input[1], input[2]];
        let before = call;
        let now = Timestamp::from_nanos(match call.step() {
            Step::Sleep { until, .. } if scale & 1 == 0 => until.as_nanos().saturating_add(by.into()),
            _ => call.started().as_nanos().saturating_add(u64::from(by) << (scale & 63)),
        });
        let ticket = Ticket::from_raw(if what & 8 == 0 { call.attempt().into() } else { by.into() });
        let kind = FailureKind::from_code(1 + u32::from(by & 3)).unwrap();
        let hint = if scale & 2 == 0 { Hint::NONE } else { Hint::from_raw(u64::from(by) << (scale & 63)) };
        let said: Recorded = match what & 7 {
            0 => call.succeed(guards, ticket, now),
            1 | 2 => call.fail(policy, guards, ticket, now, Failure::new(kind).with_hint(hint)),
            3 => call.abandon(guards, ticket, now),
            4 | 5 => call.tick(policy, guards, now),
            6 => call.cancel(guards, now),
            _ => call.resume(policy, guards, now, u32::from(by & 3)),
        };
        if said.events.is_empty() && !call.is_guarded() {
            assert_eq!(call, before);
        }
        if let Some(log) = &mut log {
            log.extend_from_slice(&said.events);
        }
    }
    if let Some(log) = log {
        assert_eq!(replayed(policy, &log), call);
        for event in &log {
            check(event, "text");
        }
    }
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let step = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, step).to_le_bytes()
}

// A byte that says what the rest is: a log's bytes, events to be sealed (each after its length), or the inputs of a call.
fuzz_target!(|data: &[u8]| {
    let Some((what, rest)) = data.split_first() else { return };
    let mut builder = *Policy::options().deadline(core::time::Duration::from_secs(60));
    let policy = if what & 8 == 0 { builder.forever() } else { builder.attempts(5) }.build().unwrap();
    let sealed;
    let bytes = match what & 3 {
        0 => rest,
        1 | 2 => {
            let mut rest = rest;
            let mut log = Vec::new();
            while let Some((length, after)) = rest.split_first() {
                let (body, after) = after.split_at(usize::from(*length & 63).min(after.len()));
                let event = [&[0xf5, 1][..], body].concat();
                log.extend_from_slice(&event);
                log.extend(checksum(&event));
                rest = after;
            }
            sealed = log;
            &sealed
        }
        _ => {
            let (call, first) = Recorder::begin(&policy, &mut Guards::none(), 7, Timestamp::from_nanos(9));
            return play(&policy, call, Some(first.events.to_vec()), rest);
        }
    };
    let mode = if what & 4 == 0 { ReplayMode::Follow } else { ReplayMode::Verify };
    let mut replay = Replay::new(mode).any_policy();
    let (mut expected, mut events) = (0, 0);
    for read in EventReader::new(bytes) {
        match read {
            Ok((event, text)) => {
                check(&event, text);
                expected = event.sequence().saturating_add(1);
                // In its place, whatever its number is.
                let next = replay.expected();
                let numbered = bytes.len() % 2 == 0;
                let mut placed = event;
                if numbered {
                    placed.set("sequence", Value::Nanos(next)).unwrap();
                }
                if let Err(error) = replay.apply(&policy, &placed) {
                    assert!(!error.to_string().is_empty());
                }
                events += 1;
            }
            Err(error) => {
                assert_eq!(error.sequence(), if events == 0 { 1 } else { expected });
                assert!(!error.to_string().is_empty());
            }
        }
    }
    if let Ok(call) = replay.finish() {
        play(&policy, call, None, &rest[..rest.len().min(60)]);
    }
});
