//! Whom a limiter lets through and when the others may come, and who enters a bulkhead.

use crate::format::N;
use crate::options;
use holdoff_core::{Bulkhead, BulkheadConfig, Entry, Limiter, LimiterConfig, Options, QueuePlace, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A limiter, who asks it, and what it says.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct LimiterCase {
    /// The section `limiter` of a policy document.
    pub limiter: Value,
    /// When it is made; 0 unless given.
    #[serde(default = "epoch")]
    pub made: N,
    /// What happens.
    pub events: Vec<LimiterEvent>,
    /// One for each event: null if so many may pass (always of a `give_back`), else when they may.
    pub refused: Vec<Option<N>>,
}

const fn epoch() -> N {
    N(0)
}

const fn one() -> u32 {
    1
}

/// What happens to a limiter.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct LimiterEvent {
    event: LimiterWord,
    /// The time.
    now: N,
    /// How many calls; 1 unless given.
    #[serde(default = "one")]
    count: u32,
}

/// The inputs of a limiter.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
pub enum LimiterWord {
    /// Calls are to be made.
    Take,
    /// Calls that were let through were not made.
    GiveBack,
    /// Would calls be let through?
    Look,
}

/// A bulkhead, who comes and goes, and how it stands after each.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct BulkheadCase {
    /// The section `bulkhead` of a policy document.
    pub bulkhead: Value,
    /// What happens.
    pub events: Vec<BulkheadEvent>,
    /// One for each event.
    pub answers: Vec<BulkheadAnswer>,
}

/// Who comes and goes.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum BulkheadEvent {
    /// A newcomer asks.
    Enter {},
    /// One that waits asks again.
    EnterFrom {
        /// Which event gave it its place, from 0.
        place: usize,
    },
    /// One that ran is done.
    Leave {},
    /// One that waited waits no longer.
    LeaveQueue {
        /// Which event gave it its place, from 0.
        place: usize,
    },
}

/// How a bulkhead stands, and what it said to who asked.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BulkheadAnswer {
    /// Of `enter` and `enter_from`: entered, queued, refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// How many run.
    pub running: u32,
    /// How many wait.
    pub waiting: u32,
}

/// What a section of a document describes.
fn config<C>(
    section: &str,
    content: &Value,
    build: impl Fn(&Options) -> Result<Option<C>, holdoff_core::Error>,
) -> Result<C, String> {
    let document = [(section.to_owned(), content.clone())].into_iter().collect();
    let (_, guards) = options::guarded(&document).map_err(|error| format!("the {section} is refused: {error:?}"))?;
    build(&guards).map_err(|error| error.to_string())?.ok_or_else(|| format!("no {section} is described"))
}

/// Drives a limiter through a case.
pub fn limiter(case: &LimiterCase) -> Result<(), String> {
    let config: LimiterConfig = config("limiter", &case.limiter, Options::limiter)?;
    if case.events.len() != case.refused.len() {
        return Err(format!("{} answers for {} events", case.refused.len(), case.events.len()));
    }
    let at = |n: N| Timestamp::from_nanos(n.0);
    let mut limiter = Limiter::new(&config, at(case.made));
    let mut room = vec![0; config.words()];
    for (step, (event, expected)) in case.events.iter().zip(&case.refused).enumerate() {
        let (count, now) = (event.count, at(event.now));
        let refused = match event.event {
            LimiterWord::Take => limiter.take(&config, &mut room, count, now).err(),
            LimiterWord::Look => limiter.refuses(&config, &room, count, now),
            LimiterWord::GiveBack => {
                limiter.give_back(&config, &mut room, count, now);
                None
            }
        };
        let got = refused.map(|again| N(again.as_nanos()));
        if *expected != got {
            return Err(format!("expected {expected:?}, got {got:?} (at step {step})"));
        }
    }
    Ok(())
}

/// Drives a bulkhead through a case.
pub fn bulkhead(case: &BulkheadCase) -> Result<(), String> {
    let config: BulkheadConfig = config("bulkhead", &case.bulkhead, Options::bulkhead)?;
    if case.events.len() != case.answers.len() {
        return Err(format!("{} answers for {} events", case.answers.len(), case.events.len()));
    }
    let (mut bulkhead, mut room) = (Bulkhead::new(), vec![0; config.words()]);
    let mut places: Vec<Option<QueuePlace>> = Vec::new();
    for (step, (event, expected)) in case.events.iter().zip(&case.answers).enumerate() {
        let held = |of: usize| {
            places.get(of).copied().flatten().ok_or_else(|| format!("event {of} gave no place (at step {step})"))
        };
        let entry = match *event {
            BulkheadEvent::Enter {} => Some(bulkhead.enter(&config, &mut room)),
            BulkheadEvent::EnterFrom { place } => Some(bulkhead.enter_from(&config, &mut room, held(place)?)),
            BulkheadEvent::Leave {} => {
                bulkhead.leave();
                None
            }
            BulkheadEvent::LeaveQueue { place } => {
                bulkhead.leave_queue(&config, &mut room, held(place)?);
                None
            }
        };
        places.push(match entry {
            Some(Entry::Queued(place)) => Some(place),
            _ => None,
        });
        let word = |entry| match entry {
            Entry::Entered => "entered".to_owned(),
            Entry::Queued(_) => "queued".to_owned(),
            Entry::Refused => "refused".to_owned(),
        };
        let got = BulkheadAnswer { entry: entry.map(word), running: bulkhead.running(), waiting: bulkhead.waiting() };
        if *expected != got {
            return Err(format!("expected {expected:?}, got {got:?} (at step {step})"));
        }
    }
    Ok(())
}
