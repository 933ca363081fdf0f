//! States that last.
#![allow(unsafe_code)]

use super::{Desk, with};
use holdoff_core::{SaveError, Saved};

/// `saved` := the state of `retry` under `policy` at the time in place 0.
#[unsafe(no_mangle)]
extern "C" fn save_retry() {
    with(|desk| desk.saved = desk.retry.saved(&desk.policy, desk.time(0)));
}

/// `saved` := the state of `call` under `policy` at the time in place 0.
#[unsafe(no_mangle)]
extern "C" fn save_call() {
    with(|desk| desk.saved = desk.call.saved(&desk.policy, desk.time(0)));
}

/// `saved` as bytes in the text; their number.
#[unsafe(no_mangle)]
extern "C" fn saved_bytes() -> u32 {
    with(|desk| match desk.saved.to_bytes() {
        Ok((bytes, length)) => desk.text.put(bytes.get(..length).unwrap_or_default()),
        // It was made from a machine.
        Err(_) => 0,
    })
}

/// `saved` as JSON; its length.
#[unsafe(no_mangle)]
extern "C" fn saved_json() -> u32 {
    with(|desk| {
        let saved = desk.saved;
        desk.text.say(&saved)
    })
}

/// `saved` := what so many bytes of the text hold. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn saved_read(length: u32) -> u32 {
    with(|desk| {
        let read = Saved::from_bytes(desk.text.bytes(length));
        told(desk, read, |desk, saved| desk.saved = saved)
    })
}

/// `saved` := nothing yet.
#[unsafe(no_mangle)]
extern "C" fn saved_start() {
    with(|desk| desk.saved = Saved::EMPTY);
}

/// Sets a field of `saved`. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn saved_set(name: u32, kind: u32, value: u32) -> u32 {
    with(|desk| {
        let mut saved = desk.saved;
        let set = saved.set(desk.name.get(name), desk.setting(kind, value));
        told(desk, set, |desk, ()| desk.saved = saved)
    })
}

/// `saved` := the same after it lay for the span in place 0, under `policy` if `forced`.
#[unsafe(no_mangle)]
extern "C" fn saved_change(forced: u32) {
    with(|desk| {
        let aged = desk.saved.aged(desk.span(0));
        desk.saved = if forced != 0 { aged.forced(&desk.policy) } else { aged };
    });
}

/// `retry` := the machine of `saved` under `policy` at the time in place 0. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn resume_retry() -> u32 {
    with(|desk| {
        let resumed = desk.saved.retry(&desk.policy, desk.time(0));
        told(desk, resumed, |desk, retry| desk.retry = retry)
    })
}

/// `call` := the machine of `saved` under `policy` at the time in place 0. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn resume_call() -> u32 {
    with(|desk| {
        let resumed = desk.saved.call(&desk.policy, desk.time(0));
        told(desk, resumed, |desk, call| desk.call = call)
    })
}

fn told<T>(desk: &mut Desk, result: Result<T, SaveError>, keep: impl FnOnce(&mut Desk, T)) -> u32 {
    match result {
        Ok(value) => {
            keep(desk, value);
            0
        }
        Err(error) => {
            let words = [error.field.unwrap_or_default(), error.rule(), error.nearest.unwrap_or_default()];
            desk.problem.explain_other(&mut desk.text, (error.code, error.given), words)
        }
    }
}
