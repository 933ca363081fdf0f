//! The cost of a retry that outlives its process: the log of a call, and a state that is saved.

use super::seed::seed;
use crate::loops::{self, operation};
use crate::sample::Work;
use holdoff_core::{
    Call, Event, EventReader, Failure, Guards, Policy, Recorded, Recorder, Replay, ReplayMode, Retry, Step, Ticket,
    Timestamp,
};
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    let mut works: Vec<_> = [0, 1, 3].map(recorded).into();
    works.extend([written(), read(), replayed(), saved(), resumed()]);
    works
}

/// The loop, with every event given to `write` before its step is taken.
#[inline(always)]
fn by_recorder(policy: &Policy, mut failures: u32, seed: u64, mut write: impl FnMut(&[Event])) -> Result<u32, u32> {
    let (mut now, mut guards) = (black_box(Timestamp::ZERO), Guards::none());
    let (mut call, Recorded { mut step, events }) = Recorder::begin(policy, &mut guards, seed, now);
    write(&events);
    let mut last = 0;
    loop {
        let next = match step {
            Step::Attempt { ticket, .. } => match operation(&mut failures) {
                Ok(value) => {
                    write(&call.succeed(&mut guards, ticket, now).events);
                    return Ok(value);
                }
                Err(error) => {
                    last = error;
                    call.fail(policy, &mut guards, ticket, now, Failure::TRANSIENT)
                }
            },
            Step::Sleep { until, .. } => {
                now = black_box(until);
                call.tick(policy, &mut guards, now)
            }
            Step::Wait { .. } | Step::Stop(_) => return Err(last),
        };
        write(&next.events);
        step = next.step;
    }
}

fn recorded(failures: u32) -> Work {
    let (policy, numbers, fails) =
        (black_box(loops::policy()), black_box(loops::numbers()), move || black_box(failures));
    let mut log = [0; 1024];
    Work::new(format!("recorded loop, {failures} failures"))
        .by("floor", move || loops::floor::<true>(black_box(&numbers), fails(), seed()))
        .by("bare", move || loops::bare(fails()))
        .by("recorder", move || by_recorder(black_box(&policy), fails(), seed(), |events| _ = black_box(events)))
        .by("recorder, bytes", move || {
            let mut length = 0;
            let result = by_recorder(black_box(&policy), fails(), seed(), |events| {
                for event in events {
                    length += event.to_bytes("", &mut log[length..]).unwrap_or_default();
                }
            });
            (result, black_box(&log)[0], length)
        })
}

/// The events of a call that fails three times, and their bytes.
fn events() -> (Policy, Vec<Event>, Vec<u8>) {
    let policy = black_box(loops::policy());
    let (mut events, mut bytes) = (Vec::new(), Vec::new());
    by_recorder(&policy, 3, 7, |new| events.extend_from_slice(new)).expect("the fourth attempt succeeds");
    for event in &events {
        let mut one = [0; Event::MOST_BYTES];
        let length = event.to_bytes("", &mut one).expect("there is room");
        bytes.extend_from_slice(&one[..length]);
    }
    (policy, events, bytes)
}

/// FNV-1a: 32 bits in an event, 64 in a saved state.
#[inline(always)]
fn sum32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[inline(always)]
fn sum64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// One event as bytes. By hand: the same bytes without a look at what they mean.
fn written() -> Work {
    let (_, events, _) = events();
    let event = black_box(events[2]);
    let numbers = black_box([3, event.at().as_nanos(), 2, event.delay().as_nanos(), 1, 0]);
    let (mut one, mut two) = ([0_u8; Event::MOST_BYTES], [0_u8; Event::MOST_BYTES]);
    Work::new("event, written")
        .by("floor", move || {
            one[..3].copy_from_slice(&[0xf5, 1, 3]);
            let mut length = 3;
            for mut number in black_box(numbers) {
                while number >= 0x80 {
                    one[length] = number as u8 | 0x80;
                    number >>= 7;
                    length += 1;
                }
                one[length] = number as u8;
                length += 1;
            }
            let sum = sum32(&one[..length]).to_le_bytes();
            one[length..length + 4].copy_from_slice(&sum);
            (black_box(&one)[0], length + 4)
        })
        .by("event", move || {
            let length = black_box(&event).to_bytes("", &mut two);
            (black_box(&two)[0], length)
        })
}

/// One event from bytes. By hand: its numbers and the checksum.
fn read() -> Work {
    let (_, events, _) = events();
    let mut bytes = vec![0; Event::MOST_BYTES];
    let length = events[2].to_bytes("", &mut bytes).expect("there is room");
    bytes.truncate(length);
    let copy = bytes.clone();
    Work::new("event, read")
        .by("floor", move || {
            let bytes = black_box(&bytes[..]);
            let (body, sum) = bytes.split_at(bytes.len() - 4);
            let (mut numbers, mut count, mut shift) = ([0_u64; 8], 0, 0);
            for byte in &body[3..] {
                numbers[count & 7] |= u64::from(byte & 0x7f) << (shift & 63);
                let last = byte & 0x80 == 0;
                count += usize::from(last);
                shift = if last { 0 } else { shift + 7 };
            }
            (numbers, sum32(body).to_le_bytes() == sum)
        })
        .by("event", move || Event::read(black_box(&copy[..])).map(|(event, ..)| event))
}

/// The log of a call that failed three times. By hand: the same decisions made again.
fn replayed() -> Work {
    let (policy, events, bytes) = events();
    let copy = events.clone();
    let replay = |policy: &Policy, mode, events: &mut dyn Iterator<Item = Event>| {
        let mut replay = Replay::new(mode);
        for event in events {
            if replay.apply(policy, &event).is_err() {
                return None;
            }
        }
        replay.finish().ok()
    };
    assert!(replay(&policy, ReplayMode::Verify, &mut events.iter().copied()).is_some(), "the log is whole");
    Work::new(format!("replay, {} events", events.len()))
        .by("floor", move || loops::by_retry(black_box(&policy), black_box(3), seed()))
        .by("replay, verify", move || {
            replay(black_box(&policy), ReplayMode::Verify, &mut black_box(&events).iter().copied())
        })
        .by("replay, follow", move || {
            replay(black_box(&policy), ReplayMode::Follow, &mut black_box(&copy).iter().copied())
        })
        .by("replay, bytes", move || {
            let events = EventReader::new(black_box(&bytes));
            replay(black_box(&policy), ReplayMode::Verify, &mut events.map_while(Result::ok).map(|(event, _)| event))
        })
}

/// States after two failures.
fn states() -> (Policy, Retry, Call, Timestamp) {
    let policy = black_box(loops::policy());
    let (mut retry, mut now) = (Retry::new(seed(), Timestamp::ZERO), Timestamp::ZERO);
    let (mut call, mut ticket) = (Call::underway(seed(), now), Ticket::FIRST);
    for _ in 0..2 {
        retry.on_failure(&policy, now, Failure::TRANSIENT);
        if let Step::Sleep { until, .. } = call.fail(&policy, ticket, now, Failure::TRANSIENT) {
            now = until;
        }
        if let Step::Attempt { ticket: next, .. } = call.tick(&policy, now) {
            ticket = next;
        }
    }
    (policy, retry, call, now)
}

/// The bytes of a saved state before its checksum.
const BODY: usize = Retry::SAVED - 8;

/// A state as bytes. By hand: words in a row, and the same checksum.
fn saved() -> Work {
    let (policy, retry, call, now) = states();
    let words = black_box([1_u64, 2, 3, 4, 5, 6, 7, 8]);
    Work::new("save")
        .by("floor", move || {
            let mut bytes = [0; Retry::SAVED];
            bytes[..8].copy_from_slice(b"hold\x01\x01\x50\x00");
            for (at, word) in bytes[8..BODY].chunks_exact_mut(8).zip(black_box(words)) {
                at.copy_from_slice(&word.to_le_bytes());
            }
            let sum = sum64(&bytes[..BODY]).to_le_bytes();
            bytes[BODY..].copy_from_slice(&sum);
            bytes
        })
        .by("retry", move || black_box(&retry).save(black_box(&policy), black_box(now)))
        .by("call", move || black_box(&call).save(black_box(&policy), black_box(now)))
}

/// And back. By hand: the words, if the checksum is theirs.
fn resumed() -> Work {
    let (policy, retry, call, now) = states();
    let bytes = retry.save(&policy, now);
    let of_call = call.save(&policy, now);
    Work::new("resume")
        .by("floor", move || {
            let bytes = black_box(&bytes);
            let (body, sum) = bytes.split_at(BODY);
            let mut words = [0_u64; BODY / 8];
            for (word, at) in words.iter_mut().zip(body.chunks_exact(8)) {
                *word = u64::from_le_bytes(at.try_into().unwrap_or_default());
            }
            (words, sum64(body).to_le_bytes() == sum)
        })
        .by("retry", move || Retry::resume(black_box(&bytes), black_box(&policy), black_box(now)))
        .by("call", move || Call::resume(black_box(&of_call), black_box(&policy), black_box(now)))
}
