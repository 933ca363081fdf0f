//! What a breaker does with calls, and what its window counts.

use crate::format::{Document, N};
use crate::options;
use holdoff_core::{Breaker, BreakerConfig, Field, Options, Permit, Span, Timestamp, Value, Verdict};
use serde::{Deserialize, Serialize};

/// A window of calls, what is recorded in it, and what it counts after each record.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct WindowCase {
    /// The window.
    pub config: WindowWord,
    /// What is recorded, in order of time.
    pub records: Vec<WindowRecord>,
    /// What it counts after each of them.
    pub after: Vec<WindowCounts>,
}

/// How far back calls count.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct WindowWord {
    /// For how long.
    window_ns: N,
    /// Into how many slots that is cut.
    slots: u32,
    /// When the first slot begins; 0 unless given.
    #[serde(default = "epoch")]
    began_ns: N,
}

const fn epoch() -> N {
    N(0)
}

/// So many calls of each sort at one time; none of all is a look.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct WindowRecord {
    at_ns: N,
    #[serde(default)]
    ok: u32,
    #[serde(default)]
    failed: u32,
    #[serde(default)]
    slow_ok: u32,
    #[serde(default)]
    slow_failed: u32,
}

/// What a window counts.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct WindowCounts {
    total: u32,
    failed: u32,
    slow: u32,
    /// Shares of the total, 0 of nothing.
    failure_rate: f64,
    slow_rate: f64,
}

/// A breaker, what happens to it, and how it answers.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct BreakerCase {
    /// The section `breaker` of a policy document.
    pub breaker: Document,
    /// For the jitter of its open times; 0 unless given.
    #[serde(default = "epoch")]
    pub seed: N,
    /// When it is made; 0 unless given.
    #[serde(default = "epoch")]
    pub made: N,
    /// What happens.
    pub events: Vec<BreakerEvent>,
    /// One for each event.
    pub answers: Vec<BreakerAnswer>,
}

/// What happens to a breaker.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum BreakerEvent {
    /// May a call run?
    Acquire {
        /// The time.
        now: N,
    },
    /// A call ended.
    Record {
        /// The time.
        now: N,
        /// Which event gave it its permit, from 0.
        permit: usize,
        /// How it ended.
        verdict: VerdictWord,
        /// How long it took; 0 unless given.
        #[serde(default = "epoch")]
        took: N,
    },
    /// Nothing will be known of a call.
    Abandon {
        /// The time.
        now: N,
        /// Which event gave it its permit, from 0.
        permit: usize,
    },
    /// The server said when to come back.
    Hint {
        /// The time.
        now: N,
        /// How long from then.
        span: N,
    },
    /// Somebody opens it.
    Isolate {
        /// The time.
        now: N,
    },
    /// Somebody closes it.
    Close {
        /// The time.
        now: N,
    },
    /// Somebody makes it as new.
    Reset {
        /// The time.
        now: N,
    },
    /// Nothing but time has passed.
    Look {
        /// The time.
        now: N,
    },
}

/// How a call ended.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    /// Well.
    Success,
    /// Badly.
    Failure,
}

/// How a breaker stands after an event, and what it said to an `acquire`.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct BreakerAnswer {
    /// Of an `acquire` only: null for leave, else when to ask again.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub refused: Option<Option<N>>,
    /// The state at the time of the event.
    pub state: String,
    /// All, failed and slow calls that count then.
    pub counts: [u32; 3],
    /// How often it has opened.
    pub openings: u32,
}

/// A field that is there, null or not.
fn given<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<Option<N>>, D::Error> {
    Option::deserialize(input).map(Some)
}

const fn at(n: N) -> Timestamp {
    Timestamp::from_nanos(n.0)
}

/// Drives a window through a case: that of a breaker that never opens.
pub fn window(case: &WindowCase) -> Result<(), String> {
    const SLOW: Span = Span::from_nanos(1);
    let fields = [
        (Field::BreakerKind, Value::Text("time")),
        (Field::BreakerWindow, Value::Nanos(case.config.window_ns.0)),
        (Field::BreakerSlots, case.config.slots.into()),
        (Field::BreakerMinCalls, u32::MAX.into()),
        (Field::BreakerSlowAfter, Value::Nanos(SLOW.as_nanos())),
    ];
    let options = fields.into_iter().try_fold(Options::NEW, |options, (field, value)| options.with_field(field, value));
    let config = options.and_then(|options| options.breaker()).map_err(|error| error.to_string())?;
    let config = config.ok_or("no breaker is described")?;
    let mut breaker = Breaker::new(&config, 0, at(case.config.began_ns));
    if case.records.len() != case.after.len() {
        return Err(format!("{} counts for {} records", case.after.len(), case.records.len()));
    }
    for (step, (record, expected)) in case.records.iter().zip(&case.after).enumerate() {
        let now = at(record.at_ns);
        let sorts = [
            (record.ok, Verdict::Success, Span::ZERO),
            (record.failed, Verdict::Failure, Span::ZERO),
            (record.slow_ok, Verdict::Success, SLOW),
            (record.slow_failed, Verdict::Failure, SLOW),
        ];
        for (times, verdict, took) in sorts {
            for _ in 0..times {
                let permit = breaker.acquire(&config, now).map_err(|_| format!("it opened (at step {step})"))?;
                breaker.record(&config, permit, now, verdict, took);
            }
        }
        let (total, failed, slow) = breaker.rates(&config, now);
        let share = |part| if total == 0 { 0.0 } else { f64::from(part) / f64::from(total) };
        let got = WindowCounts { total, failed, slow, failure_rate: share(failed), slow_rate: share(slow) };
        if *expected != got {
            return Err(format!("expected {expected:?}, got {got:?} (at step {step})"));
        }
    }
    Ok(())
}

/// The configuration that the section of a document describes.
fn config(section: &Document) -> Result<BreakerConfig, String> {
    let document = [("breaker".to_owned(), section.clone().into())].into_iter().collect();
    let (_, guards) = options::guarded(&document).map_err(|error| format!("the breaker is refused: {error:?}"))?;
    let config = guards.breaker().map_err(|error| error.to_string())?;
    config.ok_or_else(|| "no breaker is described".to_owned())
}

/// Drives a breaker through a case.
pub fn breaker(case: &BreakerCase) -> Result<(), String> {
    let config = config(&case.breaker)?;
    if case.events.len() != case.answers.len() {
        return Err(format!("{} answers for {} events", case.answers.len(), case.events.len()));
    }
    let mut breaker = Breaker::new(&config, case.seed.0, at(case.made));
    let mut permits = Vec::new();
    for (step, (event, expected)) in case.events.iter().zip(&case.answers).enumerate() {
        let (now, acquired) =
            happen(&mut breaker, &config, &permits, event).map_err(|e| format!("{e} (at step {step})"))?;
        permits.push(acquired.and_then(Result::ok));
        let (total, failed, slow) = breaker.rates(&config, now);
        let got = BreakerAnswer {
            refused: acquired.map(|answer| answer.err().map(|retry_at| N(retry_at.as_nanos()))),
            state: breaker.state(&config, now).name().to_owned(),
            counts: [total, failed, slow],
            openings: breaker.openings(),
        };
        if *expected != got {
            return Err(format!("expected {expected:?}, got {got:?} (at step {step})"));
        }
    }
    Ok(())
}

/// One event: its time, and what an `acquire` was told.
fn happen(
    breaker: &mut Breaker,
    config: &BreakerConfig,
    permits: &[Option<Permit>],
    event: &BreakerEvent,
) -> Result<(Timestamp, Option<Result<Permit, Timestamp>>), String> {
    let held = |of: usize| permits.get(of).copied().flatten().ok_or_else(|| format!("event {of} gave no permit"));
    let now = match *event {
        BreakerEvent::Acquire { now } => return Ok((at(now), Some(breaker.acquire(config, at(now))))),
        BreakerEvent::Record { now, permit, verdict, took } => {
            let verdict = match verdict {
                VerdictWord::Success => Verdict::Success,
                VerdictWord::Failure => Verdict::Failure,
            };
            breaker.record(config, held(permit)?, at(now), verdict, Span::from_nanos(took.0));
            now
        }
        BreakerEvent::Abandon { now, permit } => {
            breaker.abandon(config, held(permit)?, at(now));
            now
        }
        BreakerEvent::Hint { now, span } => {
            breaker.hint(config, at(now), Span::from_nanos(span.0));
            now
        }
        BreakerEvent::Isolate { now } => {
            breaker.isolate(at(now));
            now
        }
        BreakerEvent::Close { now } => {
            breaker.force_close(at(now));
            now
        }
        BreakerEvent::Reset { now } => {
            breaker.reset(at(now));
            now
        }
        BreakerEvent::Look { now } => now,
    };
    Ok((at(now), None))
}
