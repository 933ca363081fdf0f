//! A call that goes from language to language: each reads its log, makes one attempt, and leaves it asleep.
//!
//! `tests/vectors/README.md` says what a leg is.

use anyhow::{Result, bail, ensure};
use holdoff_core::{
    Event, EventReader, EventWithNotes, Failure, Guards, Hint, Notes, Policy, Recorder, Replay, ReplayMode, Span, Step,
    Timestamp,
};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

const SEED: u64 = 7;
const BEGAN: Timestamp = Timestamp::from_nanos(1_700_000_000_000_000_000);
const SECOND: Span = Span::from_nanos(1_000_000_000);

/// Goes on with the call whose log is in a file of lines, and in one of bytes beside it; begins it when there is none.
pub fn leg(path: &Path) -> Result<()> {
    let policy = Policy::options().attempts(20).build()?;
    let guards = &mut Guards::none();
    let bytes = path.with_extension("bin");
    let (mut call, mut now, said) = if path.exists() {
        let mut call = recorder(&policy, fs::read_to_string(path)?.lines().map(|line| Ok(read(line)?.event)))?;
        let other = recorder(&policy, EventReader::new(&fs::read(&bytes)?).map(|event| Ok(event?.0)))?;
        ensure!(call == other, "lines and bytes are not the same log");
        let Step::Sleep { until, .. } = call.resume(&policy, guards, BEGAN, 3).step else { bail!("it does not sleep") };
        let said = call.tick(&policy, guards, until);
        (call, until, said)
    } else {
        let (call, said) = Recorder::begin(&policy, guards, SEED, BEGAN);
        (call, BEGAN, said)
    };
    let mut lines = OpenOptions::new().create(true).append(true).open(path)?;
    let mut bytes = OpenOptions::new().create(true).append(true).open(bytes)?;
    let mut write = |event: &Event, text: &str| -> Result<()> {
        let failure = Some(text).filter(|text| !text.is_empty());
        writeln!(lines, "{}", event.json(&Notes { task: Some("relay"), failure }))?;
        let mut form = [0; Event::MOST_BYTES + 100];
        let length = event.to_bytes(if event.failure().is_some() { text } else { "" }, &mut form);
        Ok(bytes.write_all(form.get(..length.unwrap_or_default()).unwrap_or_default())?)
    };
    said.events.iter().try_for_each(|event| write(event, ""))?;
    let Step::Attempt { ticket, .. } = said.step else { bail!("there is no attempt to make") };
    now = now.after(SECOND);
    let failure = match ticket.attempt() % 3 {
        0 => Failure::TRANSIENT,
        1 => Failure::THROTTLED.with_hint(Hint::after(Span::from_nanos(2_500_000_000))),
        _ => Failure::TIMEOUT,
    };
    let text = format!("attempt {}: \"größer\" → \\ 東京\n", ticket.attempt());
    call.fail(&policy, guards, ticket, now, failure).events.iter().try_for_each(|event| write(event, &text))
}

fn read(line: &str) -> Result<EventWithNotes> {
    let noted: EventWithNotes = serde_json::from_str(line)?;
    ensure!(noted.task.as_deref() == Some("relay"), "the log is another task's");
    Ok(noted)
}

fn recorder(policy: &Policy, events: impl Iterator<Item = Result<Event>>) -> Result<Recorder> {
    let mut replay = Replay::new(ReplayMode::Verify);
    for event in events {
        replay.apply(policy, &event?)?;
    }
    Ok(replay.finish()?)
}
