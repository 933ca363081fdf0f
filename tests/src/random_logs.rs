//! Random logs, which each language plays by itself: only the digests are compared. Crashes are among what happens, and what
//! goes on after one is the recorder that the log's bytes make.
//!
//! `tests/vectors/README.md` says how they are drawn.

use crate::format::Document;
use crate::options;
use anyhow::{Context as _, Result, anyhow, ensure};
use holdoff_core::{
    Event, EventKind, EventReader, Failure, FailureKind, Guards, Hint, Policy, Recorded, Recorder, Replay, ReplayMode,
    Span, Step, Timestamp,
};
use std::path::Path;

/// The policies of the sessions, beside the vectors.
pub const POLICIES: &str = "log_policies.json";
/// How many random logs there are unless one says otherwise.
pub const COUNT: u64 = 100_000;
/// The transitions of a session, after which it is cancelled.
const MOST: u32 = 64;
/// How often an interrupted attempt runs again.
const RERUNS: u32 = 2;

/// The digest of `count` sessions with that seed, under the policies in or below a folder.
pub fn digest(folder: &Path, count: u64, seed: u64) -> Result<u64> {
    let here = folder.join(POLICIES);
    let file = if here.exists() { here } else { folder.join("holdoff").join(POLICIES) };
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let documents: Vec<Document> = serde_json::from_str(&text)?;
    let policies = documents.iter().map(options::policy).collect::<Result<Vec<_>, _>>();
    let policies = policies.map_err(|error| anyhow!("{}: {error:?}", file.display()))?;
    let mut digest = Fnv::new();
    for number in 0..count {
        session(&policies, seed, number, &mut digest).with_context(|| format!("session {number} of seed {seed}"))?;
    }
    Ok(digest.0)
}

/// The digest of a text, of the same kind as that of logs.
pub fn digest_text(text: &str) -> u64 {
    let mut digest = Fnv::new();
    digest.take(text.as_bytes());
    digest.0
}

/// splitmix64.
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick(&mut self, from: u64) -> u64 {
        self.next() % from
    }
}

/// FNV-1a of 64 bits.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Appends an event as the session writes it: with a text where an attempt failed.
fn write(log: &mut Vec<u8>, event: &Event) -> Result<()> {
    let text = match event.kind() {
        EventKind::AttemptFailed => format!("failure {}", event.attempt()),
        _ => String::new(),
    };
    let mut room = [0; Event::MOST_BYTES + 24];
    let length = event.to_bytes(&text, &mut room).ok_or_else(|| anyhow!("there is room"))?;
    log.extend_from_slice(&room[..length]);
    Ok(())
}

/// What another process makes of the log; it must be what this one has.
fn read_back(policy: &Policy, log: &[u8], live: &Recorder, now: Timestamp) -> Result<Recorder> {
    let mut replay = Replay::new(ReplayMode::Verify);
    for event in EventReader::new(log) {
        replay.apply(policy, &event?.0)?;
    }
    let replayed = replay.finish()?;
    ensure!(replayed == *live, "the log makes another recorder");
    ensure!(replayed.call().save(policy, now) == live.call().save(policy, now), "the log makes another call");
    Ok(replayed)
}

fn session(policies: &[Policy], seed: u64, number: u64, digest: &mut Fnv) -> Result<()> {
    let mut drawn = Drawn(seed.wrapping_add(number.wrapping_mul(0xd134_2543_de82_ef95)));
    let policy = usize::try_from(drawn.pick(policies.len() as u64)).ok().and_then(|index| policies.get(index));
    let policy = policy.context("there is a policy")?;
    let guards = &mut Guards::none();
    let seed = drawn.next();
    let mut now = 1_700_000_000_000_000_000 + drawn.next() % 1_000_000_000;
    let mut log = Vec::new();
    let (mut call, mut said) = Recorder::begin(policy, guards, seed, Timestamp::from_nanos(now));
    said.events.iter().try_for_each(|event| write(&mut log, event))?;
    let mut transitions = 0;
    loop {
        said = match said.step {
            Step::Stop(_) => break,
            _ if transitions == MOST => call.cancel(guards, Timestamp::from_nanos(now)),
            Step::Attempt { ticket, .. } => {
                now += drawn.next() % 3_000_000_000;
                let at = Timestamp::from_nanos(now);
                match drawn.pick(16) {
                    0..=3 => call.succeed(guards, ticket, at),
                    4..=12 => call.fail(policy, guards, ticket, at, failure(&mut drawn)),
                    13 => call.fail(policy, guards, ticket, at, Failure::PERMANENT),
                    14 => call.cancel(guards, at),
                    _ => interrupted(policy, &log, &mut call, at)?,
                }
            }
            Step::Sleep { until, .. } => {
                let late = if drawn.pick(4) == 0 { drawn.next() % 10_000_000_000 } else { 0 };
                now = until.as_nanos() + late;
                let at = Timestamp::from_nanos(now);
                match drawn.pick(16) {
                    0 => call.cancel(guards, at),
                    1 => interrupted(policy, &log, &mut call, at)?,
                    _ => call.tick(policy, guards, at),
                }
            }
            Step::Wait { .. } => return Err(anyhow!("nobody waits for an attempt here")),
        };
        transitions += 1;
        said.events.iter().try_for_each(|event| write(&mut log, event))?;
    }
    let end = Timestamp::from_nanos(now);
    read_back(policy, &log, &call, end)?;
    digest.take(&log);
    digest.take(&call.call().save(policy, end));
    Ok(())
}

fn failure(drawn: &mut Drawn) -> Failure {
    let kind = match drawn.pick(3) {
        0 => FailureKind::Transient,
        1 => FailureKind::Throttled,
        _ => FailureKind::Timeout,
    };
    match drawn.pick(4) {
        0 => Failure::new(kind).with_hint(Hint::after(Span::from_nanos(drawn.next() % 5_000_000_000))),
        _ => Failure::new(kind),
    }
}

/// The process is gone, and another one goes on with the log.
fn interrupted(policy: &Policy, log: &[u8], call: &mut Recorder, now: Timestamp) -> Result<Recorded> {
    *call = read_back(policy, log, call, now)?;
    Ok(call.resume(policy, &mut Guards::none(), now, RERUNS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_digest_and_another_one_another() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
        let digests = [1, 1, 2].map(|seed| digest(&folder, 200, seed).unwrap());
        assert_eq!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
    }
}
