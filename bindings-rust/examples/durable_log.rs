//! A retry that outlives its process: `cargo run -p holdoff --features record --example durable_log`.
//!
//! The program starts itself as a worker, which writes the log of a call to a file and is interrupted twice: once in the
//! middle of an attempt, once while it writes an event. Each worker reads the log and goes on where the one before it was.

use holdoff::core::{Event, EventReader, Guards, Recorded, Recorder, Replay, ReplayMode, Step, Timestamp};
use holdoff::{Failure, Policy};
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::time::SystemTime;
use std::{env, thread};

/// How often an attempt is run again that a worker died in.
const RERUNS: u32 = 3;
/// The exit code of an interrupted worker.
const INTERRUPTED: i32 = 9;

/// The wall clock, as the log must mean the same times to every process.
fn now() -> Timestamp {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Timestamp::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The file of the log, behind its last whole event, and the call that it makes, if it has one.
fn open(path: &Path, policy: &Policy) -> Result<(File, Option<Recorder>), Box<dyn Error>> {
    let bytes = fs::read(path).unwrap_or_default();
    let mut replay = Replay::new(ReplayMode::Verify);
    let (mut reader, mut whole) = (EventReader::new(&bytes), 0);
    while let Some(Ok((event, text))) = reader.next() {
        replay.apply(policy, &event).map_err(|error| error.to_string())?;
        whole = bytes.len() - reader.rest().len();
        println!(
            "  read  {}",
            event.json(&holdoff::core::Notes { task: None, failure: Some(text).filter(|text| !text.is_empty()) })
        );
    }
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    // An event that was cut off was never acted on: the host writes first.
    file.set_len(whole as u64)?;
    let call = if whole == 0 { None } else { Some(replay.finish().map_err(|error| error.to_string())?) };
    Ok((file, call))
}

/// Writes the events of a transition, and only then says what to do.
fn write(file: &mut File, recorded: &Recorded, text: &str) -> Result<Step, Box<dyn Error>> {
    for event in recorded.events.iter() {
        let text = if event.failure().is_some() { text } else { "" };
        let mut bytes = vec![0; Event::MOST_BYTES + text.len()];
        let length = event.to_bytes(text, &mut bytes).ok_or("there is room")?;
        file.write_all(&bytes[..length])?;
        println!("  wrote {} {}", event.sequence(), event.kind().name());
    }
    file.sync_data()?;
    Ok(recorded.step)
}

/// Runs the call until it is over, or until what interrupts it: an attempt that it dies in, an event it dies at.
fn work(path: &Path, dies_in: u32, dies_at: u64) -> Result<(), Box<dyn Error>> {
    let policy = Policy::options().attempts(4).build()?;
    let guards = &mut Guards::none();
    let (mut file, replayed) = open(path, &policy)?;
    let (mut call, mut recorded) = match replayed {
        Some(mut call) => {
            let recorded = call.resume(&policy, guards, now(), RERUNS);
            (call, recorded)
        }
        None => Recorder::begin(&policy, guards, 42, now()),
    };
    loop {
        if call.sequence() >= dies_at {
            // The power fails while the event is written.
            file.write_all(&[0xff])?;
            exit(INTERRUPTED);
        }
        let text = format!("the server refused attempt {}", call.attempt());
        recorded = match write(&mut file, &recorded, &text)? {
            Step::Attempt { ticket, .. } => {
                if ticket.attempt() == dies_in {
                    exit(INTERRUPTED);
                }
                if ticket.attempt() == 4 {
                    call.succeed(guards, ticket, now())
                } else {
                    call.fail(&policy, guards, ticket, now(), Failure::TRANSIENT)
                }
            }
            Step::Sleep { until, .. } => {
                thread::sleep(call.remaining(now()).into());
                // The sleep is over, even if the clock was set back meanwhile.
                call.tick(&policy, guards, Ord::max(now(), until))
            }
            Step::Wait { .. } => unreachable!("every attempt is answered"),
            Step::Stop(outcome) => {
                println!("  {outcome:?} after {} attempts", call.attempt());
                return Ok(());
            }
        };
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = env::args().skip(1).collect();
    if let [path, dies_in, dies_at] = &*given {
        return work(&PathBuf::from(path), dies_in.parse()?, dies_at.parse()?);
    }
    let path = env::temp_dir().join(format!("holdoff-durable-log-{}", std::process::id()));
    for (number, (dies_in, dies_at)) in [("2", "99"), ("9", "7"), ("9", "99")].into_iter().enumerate() {
        println!("worker {}", number + 1);
        let status = Command::new(env::current_exe()?).arg(&path).args([dies_in, dies_at]).status()?;
        assert_eq!(status.code(), Some(if number < 2 { INTERRUPTED } else { 0 }));
    }
    fs::remove_file(&path)?;
    Ok(())
}
