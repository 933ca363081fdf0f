//! States that last.
#![allow(unsafe_code)]

use super::with;
use holdoff_core::Saved;

/// `saved` := the state of `retry` under `policy` at the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn save_retry() {
    with(|memory| memory.saved = memory.retry.saved(&memory.policy, memory.time(0)));
}

/// `saved` := the state of `call` under `policy` at the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn save_call() {
    with(|memory| memory.saved = memory.call.saved(&memory.policy, memory.time(0)));
}

/// `saved` as bytes in the text; their number.
#[unsafe(no_mangle)]
extern "C" fn saved_bytes() -> u32 {
    with(|memory| match memory.saved.to_bytes() {
        Ok((bytes, length)) => memory.text.put(bytes.get(..length).unwrap_or_default()),
        // It was made from a machine.
        Err(_) => 0,
    })
}

/// `saved` as JSON; its length.
#[unsafe(no_mangle)]
extern "C" fn saved_json() -> u32 {
    with(|memory| {
        let saved = memory.saved;
        memory.text.say(&saved)
    })
}

/// `saved` := what so many bytes of the text hold. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn saved_read(length: u32) -> u32 {
    with(|memory| {
        let read = Saved::from_bytes(memory.text.bytes(length));
        memory.made(read, |memory, saved| memory.saved = saved)
    })
}

/// `saved` := nothing yet.
#[unsafe(no_mangle)]
extern "C" fn saved_start() {
    with(|memory| memory.saved = Saved::EMPTY);
}

/// Sets a field of `saved`. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn saved_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|memory| {
        let mut saved = memory.saved;
        let set = saved.set(memory.name.get(name), memory.setting(kind, value));
        memory.made(set, |memory, ()| memory.saved = saved)
    })
}

/// `saved` := the same after it lay for the span in slot 0, under `policy` if `forced`.
#[unsafe(no_mangle)]
extern "C" fn saved_change(forced: u32) {
    with(|memory| {
        let aged = memory.saved.aged(memory.span(0));
        memory.saved = if forced != 0 { aged.forced(&memory.policy) } else { aged };
    });
}

/// `retry` := the machine of `saved` under `policy` at the time in slot 0. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn resume_retry() -> u32 {
    with(|memory| {
        let resumed = memory.saved.retry(&memory.policy, memory.time(0));
        memory.made(resumed, |memory, retry| memory.retry = retry)
    })
}

/// `call` := the machine of `saved` under `policy` at the time in slot 0. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn resume_call() -> u32 {
    with(|memory| {
        let resumed = memory.saved.call(&memory.policy, memory.time(0));
        memory.made(resumed, |memory, call| memory.call = call)
    })
}
