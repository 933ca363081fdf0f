//! Header lines of an answer: whatever they are, reading them ends, and what is read is a hint.

#![no_main]

use holdoff_core::{Failure, Hint, HintReader};
use libfuzzer_sys::fuzz_target;

/// The first byte of a line picks one of these; above them the line brings its own name.
const NAMES: [&str; 16] = [
    "grpc-retry-pushback-ms",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "Retry-After",
    "x-amz-retry-after",
    "RateLimit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Rate-Limit-Reset-After",
    "RateLimit-Retry-After",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
];

fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    match NAMES.get(usize::from(*first)) {
        Some(name) => (name.as_bytes(), rest),
        None => rest.split_at(rest.iter().position(|byte| *byte == b':').unwrap_or(0)),
    }
}

// Eight bytes of wall clock, four of status, then lines.
fuzz_target!(|data: &[u8]| {
    let Some((wall, rest)) = data.split_first_chunk() else { return };
    let Some((status, rest)) = rest.split_first_chunk() else { return };
    let (wall, status) = (u64::from_le_bytes(*wall), u32::from_le_bytes(*status) % 600);

    let mut reader = HintReader::new(wall);
    let mut pushed_back = false;
    for (name, value) in rest.split(|byte| *byte == b'\n').map(line) {
        reader.header(name, value);
        pushed_back |= name.eq_ignore_ascii_case(NAMES[0].as_bytes());
        // The ways to one value say the same.
        assert_eq!(Hint::retry_after(value), Hint::retry_after_at(value, u64::MAX));
        assert_eq!(Hint::retry_after_at(value, wall), Hint::from_header(b"retry-after", value, wall));
        assert_eq!(Hint::pushback(value), Hint::from_header(b"GRPC-RETRY-PUSHBACK-MS", value, wall));
        assert!(!Hint::pushback(value).is_none());
        assert_eq!(Failure::from_grpc(0, Some(value)), None);
    }
    let hint = reader.hint_for(status);
    assert_eq!(Hint::from_raw(hint.as_raw()), hint);
    assert!(pushed_back || !hint.is_never(), "only a pushback says never");
    // What a status takes away, it only takes away.
    assert!(hint.is_none() || hint == reader.hint());
    // A line that says nothing changes nothing.
    let before = reader;
    reader.header(b"date", b"Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(reader, before);
});
