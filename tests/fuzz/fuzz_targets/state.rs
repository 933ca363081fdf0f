//! Saved states: whatever the bytes or fields are, reading them ends, what is read is written back, and the machine works.

#![no_main]

use holdoff_core::{Call, Failure, Policy, Retry, Saved, Step, Timestamp, Value};
use libfuzzer_sys::fuzz_target;

/// The first byte of a field's line picks its name; above them the line brings its own.
fn field<'a>(saved: &mut Saved, line: &'a [u8]) {
    let Some((first, rest)) = line.split_first() else { return };
    let text = |bytes: &'a [u8]| core::str::from_utf8(bytes).unwrap_or_default();
    let (name, value) = match Saved::names().nth(usize::from(*first)) {
        Some(name) => (name, rest),
        None => {
            let (name, value) = rest.split_at(rest.iter().position(|byte| *byte == b':').unwrap_or(0));
            (text(name), value)
        }
    };
    let Some((kind, value)) = value.split_first() else { return };
    let number = value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let value = match kind % 6 {
        0 => Value::Text(text(value)),
        1 => Value::Nanos(number),
        2 => Value::Number { value: f64::from_bits(number), unit: 1.0 },
        3 => Value::Number { value: (number >> 32) as f64, unit: 1.0 },
        4 => Value::Nothing,
        _ => Value::Other,
    };
    if let Err(error) = saved.set(name, value) {
        assert!(!error.to_string().is_empty());
    }
}

/// A field of the JSON that a state wrote, fed back.
fn feed(saved: &mut Saved, name: &str, value: &str) {
    let value = match (value.strip_prefix('"'), value.parse()) {
        (Some(text), _) => Value::Text(text.trim_end_matches('"')),
        (None, Ok(value)) => Value::Number { value, unit: 1.0 },
        (None, Err(_)) => panic!("{value} is neither text nor a number"),
    };
    saved.set(name, value).unwrap();
}

/// What was read goes on, and comes back as it was.
fn check(saved: Saved, policy: &Policy, now: Timestamp) {
    let Ok((bytes, length)) = saved.to_bytes() else { return };
    assert_eq!(Saved::from_bytes(&bytes[..length]), Ok(saved));
    let json = saved.to_string();
    let mut read = Saved::EMPTY;
    for pair in json.trim_matches(['{', '}']).split(',') {
        let (name, value) = pair.split_once(':').unwrap();
        feed(&mut read, name.trim_matches('"'), value);
    }
    assert_eq!(read, saved);

    let saved = saved.forced(policy);
    if saved.is_call() {
        let mut call = saved.call(policy, now).unwrap();
        let mut step = call.tick(policy, now);
        for _ in 0..4 {
            step = match step {
                Step::Attempt { ticket, .. } => call.fail(policy, ticket, now, Failure::TRANSIENT),
                Step::Sleep { until, .. } => call.tick(policy, until),
                Step::Wait { .. } => panic!("nothing is in flight"),
                Step::Stop(_) => break,
            };
        }
        assert!(Call::resume(&call.save(policy, now), policy, now).is_ok());
    } else {
        let mut retry = saved.retry(policy, now).unwrap();
        assert_eq!(retry.save(policy, now), saved.to_bytes().unwrap().0[..Retry::SAVED]);
        retry.on_failure(policy, now, Failure::TRANSIENT);
        assert!(Retry::resume(&retry.save(policy, now), policy, now).is_ok());
    }
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes()
}

// A byte that says what the rest is, eight bytes of time, then bytes, bytes to be sealed, or fields.
fuzz_target!(|data: &[u8]| {
    let Some((what, rest)) = data.split_first() else { return };
    let Some((now, rest)) = rest.split_first_chunk() else { return };
    let now = Timestamp::from_nanos(u64::from_le_bytes(*now));
    let mut builder = *Policy::options().deadline(core::time::Duration::from_secs(60));
    let policy = if what & 4 == 0 { builder.forever() } else { builder.attempts(5) }.build().unwrap();
    match what & 3 {
        0 => {
            if let Ok(saved) = Saved::from_bytes(rest) {
                check(saved, &policy, now);
            }
        }
        1 => {
            let (kind, length) = if what & 8 == 0 { (1, Retry::SAVED) } else { (2, Call::SAVED) };
            let mut bytes = [b"hold".as_slice(), &[kind, 1, length as u8, 0], rest].concat();
            bytes.resize(length - 8, 0);
            bytes.extend(checksum(&bytes));
            if let Ok(saved) = Saved::from_bytes(&bytes) {
                assert_eq!(saved.to_bytes().unwrap().0[..length], bytes);
                check(saved, &policy, now);
            }
        }
        _ => {
            let mut saved = Saved::EMPTY;
            rest.split(|byte| *byte == b'\n').for_each(|line| field(&mut saved, line));
            check(saved, &policy, now);
        }
    }
});
