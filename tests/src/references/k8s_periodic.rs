//! Kubernetes: the managers on the loop backoff, and its loops on the periodic machine, driven by a host with virtual time.

use super::k8s::{self, Wrapped, real, refused, same, span, truth, whole, whole_or};
use super::{Recording, Verdict};
use holdoff_core::{
    Answer, Ended, Error, LoopBackoff, Periodic, PeriodicOptions, PeriodicStep, Reset, Span, Timestamp, WaitBackoff,
};
use serde_json::Value;

/// Draws in order, as many as a case scripts.
struct Draws<'a>(std::slice::Iter<'a, Value>);

impl<'a> Draws<'a> {
    fn of(config: &'a Value) -> Self {
        let written = [config, &config["backoff"]].map(|here| &here["uniforms"]);
        let list = written.into_iter().find(|list| list.is_array()).unwrap_or(&Value::Null);
        Self(list.as_array().map_or(&[][..], Vec::as_slice).iter())
    }

    fn next(&mut self) -> Result<f64, String> {
        self.0.next().and_then(Value::as_f64).ok_or_else(|| "more draws than the original made".to_owned())
    }
}

/// A loop backoff or its error; `None` where the original takes a negative number that ours cannot be given.
type Made = Option<Result<LoopBackoff, Error>>;

fn loop_backoff(config: &Value, start: Timestamp) -> Result<Made, String> {
    Ok(match config["kind"].as_str() {
        Some("NewExponentialBackoffManager") => {
            let (factor, jitter) = (real(config, "factor")?, real(config, "jitter")?);
            match (span(config, "init")?, span(config, "max")?, span(config, "reset")?) {
                (Some(initial), Some(max), Some(reset)) => {
                    Some(LoopBackoff::exponential(initial, max, reset, factor, jitter, start))
                }
                _ => None,
            }
        }
        Some("NewJitteredBackoffManager") => {
            let jitter = real(config, "jitter")?;
            span(config, "duration")?.map(|period| LoopBackoff::jittered(period, jitter))
        }
        Some("DelayWithReset") => match (k8s::wait_backoff(config)?, span(config, "reset")?) {
            (Some(made), Some(reset)) => Some(made.map(|backoff| LoopBackoff::with_reset(backoff, reset, start))),
            _ => None,
        },
        other => return Err(format!("unknown manager {other:?}")),
    })
}

/// Kind `k8s_manager`.
pub(super) fn manager(case: &Recording) -> Result<Verdict, String> {
    // A clock that runs backwards needs room before the start.
    const START: i64 = 1 << 60;
    let mut clock = START;
    let made = loop_backoff(&case.config, Timestamp::from_nanos(START as u64))?;
    let Some(Ok(mut loop_backoff)) = made else { return refused(made) };
    let (mut draws, mut wrapped) = (Draws::of(&case.config), Wrapped::default());
    for (at, (input, expected)) in case.steps()? {
        clock = clock.saturating_add(input.as_i64().ok_or("an input is no whole number")?).max(0);
        let u = if loop_backoff.draws() { draws.next()? } else { 0.0 };
        let delay = loop_backoff.next(Timestamp::from_nanos(clock as u64), u);
        let recorded = expected.as_i64().ok_or("an expected delay is no whole number")?;
        if wrapped.is(&[recorded]) || recorded as u64 == delay.as_nanos() {
            continue;
        }
        // The sum of a wrapped duration and its jitter may be positive again.
        if !case.is_impl_defined() {
            same(at, "delay", &(recorded as u64), &delay.as_nanos())?;
        }
        wrapped.add();
    }
    Ok(wrapped.verdict())
}

/// How long a run takes and what it finds.
struct Run {
    takes: u64,
    finds: Answer,
}

/// What a host saw.
#[derive(PartialEq, Debug)]
struct Seen {
    starts: Vec<u64>,
    intervals: Vec<u64>,
    ended: Ended,
    at: u64,
}

/// Drives a periodic machine in virtual time, cancelling it at `cancel_at` or with the end of run `cancel_after`.
fn drive(
    mut machine: Periodic,
    draws: &mut Draws<'_>,
    mut run: impl FnMut(usize) -> Option<Run>,
    cancel_at: Option<u64>,
    cancel_after: usize,
) -> Result<Seen, String> {
    let mut seen = Seen { starts: Vec::new(), intervals: Vec::new(), ended: Ended::Cancelled, at: 0 };
    let (mut now, mut cancel_at) = (0, cancel_at);
    let mut step = PeriodicStep::Sleep { until: Timestamp::ZERO };
    loop {
        let u = if machine.loop_backoff().draws() { draws.0.as_slice().first().and_then(Value::as_f64) } else { None };
        let asked = machine.intervals();
        step = match step {
            PeriodicStep::Run { run: number } => {
                let what = run(seen.starts.len()).ok_or("more runs than the original made")?;
                seen.starts.push(now);
                now = now.saturating_add(what.takes);
                if cancel_at.is_some_and(|at| at <= now) || seen.starts.len() == cancel_after {
                    cancel_at = None;
                    machine.cancel();
                }
                machine.finish_with(number, Timestamp::from_nanos(now), what.finds, Some(u.unwrap_or(0.0)))
            }
            PeriodicStep::Sleep { until } => match cancel_at {
                Some(at) if at <= now || at < until.as_nanos() => {
                    now = now.max(at);
                    cancel_at = None;
                    machine.cancel()
                }
                _ => {
                    now = now.max(until.as_nanos());
                    machine.tick_with(Timestamp::from_nanos(now), Some(u.unwrap_or(0.0)))
                }
            },
            PeriodicStep::Wait => return Err("it waits for a run that has ended".to_owned()),
            PeriodicStep::Stop(ended) => {
                seen.ended = ended;
                seen.at = now;
                return Ok(seen);
            }
        };
        if machine.intervals() != asked {
            seen.intervals.push(machine.interval().as_nanos());
            if machine.loop_backoff().draws() {
                draws.next()?;
            }
        }
    }
}

/// How many recorded intervals there are from the first on that left the range of an integer; nothing if none did. From
/// there on the original does not wait, and here the interval is as long as it may be.
fn wrapped(case: &Recording, name: &str, seen: &Seen, longest: Span) -> Result<Option<usize>, String> {
    let recorded: Vec<_> = only(case)?[name].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
    let first = if case.is_impl_defined() {
        // An interval that wraps twice may be positive again.
        recorded.iter().zip(&seen.intervals).position(|(nanos, here)| *nanos as u64 != *here)
    } else {
        recorded.iter().position(|nanos| *nanos < 0)
    };
    let Some(first) = first else { return Ok(None) };
    let before: Vec<_> = recorded.iter().take(first).map(|nanos| *nanos as u64).collect();
    same(first, "the intervals before it wraps", &before.as_slice(), &seen.intervals.get(..first).unwrap_or_default())?;
    match seen.intervals.get(first) {
        Some(here) => same(first, "saturated interval", &true, &(*here >= longest.as_nanos()))?,
        None => same(first, "an end before the wrap", &true, &(seen.ended != Ended::Done))?,
    }
    Ok(Some(recorded.len() - first))
}

/// A list of whole numbers; none for null.
fn list(from: &Value, name: &str) -> Result<Vec<u64>, String> {
    let items = match &from[name] {
        Value::Null => &[][..],
        list => list.as_array().ok_or_else(|| format!("{name} is no list: {list}"))?,
    };
    items
        .iter()
        .map(|item| item.as_u64().ok_or_else(|| format!("{name} has an item that is no span: {item}")))
        .collect()
}

fn cancel_at(config: &Value) -> Result<Option<u64>, String> {
    Ok(u64::try_from(whole_or(config, "cancel_at", -1)?).ok())
}

fn takes(case: &Recording, at: usize) -> Option<u64> {
    case.inputs.get(at).and_then(Value::as_u64)
}

fn only(case: &Recording) -> Result<&Value, String> {
    case.expected.first().ok_or_else(|| "nothing is expected".to_owned())
}

/// Kind `k8s_backoffuntil`.
pub(super) fn until(case: &Recording) -> Result<Verdict, String> {
    let (config, expected) = (&case.config, only(case)?);
    let made = loop_backoff(&config["manager"], Timestamp::ZERO)?;
    let Some(Ok(loop_backoff)) = made else { return refused(made) };
    let machine = Periodic::new(loop_backoff, PeriodicOptions::until(truth(config, "sliding")), 0, Timestamp::ZERO);
    let run = |at| Some(Run { takes: takes(case, at)?, finds: Answer::Again });
    let cancel_after = if whole_or(config, "cancel_at", -1)? < 0 { case.inputs.len() } else { 0 };
    let seen = drive(machine, &mut Draws::of(&config["manager"]), run, cancel_at(config)?, cancel_after)?;
    if let Some(deviations) = wrapped(case, "delays", &seen, loop_backoff.backoff().cap())? {
        return Ok(Verdict::Same { deviations });
    }
    let expected = Seen {
        starts: list(expected, "starts")?,
        intervals: list(expected, "delays")?,
        ended: Ended::Cancelled,
        at: whole(expected, "returned_at")? as u64,
    };
    same(0, "the loop", &expected, &seen)?;
    Ok(Verdict::SAME)
}

/// Kind `k8s_poll`.
pub(super) fn poll(case: &Recording) -> Result<Verdict, String> {
    let (config, expected) = (&case.config, only(case)?);
    let made = k8s::wait_backoff(&config["backoff"])?;
    let Some(Ok(backoff)) = made else { return refused(made) };
    let jitter = real(&config["backoff"], "jitter")?;
    if jitter < 0.0 {
        return refused(Some(WaitBackoff::constant(backoff.duration(), jitter)));
    }
    let options = PeriodicOptions::poll(&backoff, truth(config, "immediate"), truth(config, "sliding"));
    let machine = Periodic::new(LoopBackoff::new(backoff, Reset::Never, Timestamp::ZERO), options, 0, Timestamp::ZERO);
    let last = if config["end"] == "err" { Answer::Failed } else { Answer::Done };
    let run = |at| {
        let finds = if at + 1 == case.inputs.len() { last } else { Answer::Again };
        Some(Run { takes: takes(case, at)?, finds })
    };
    let seen = drive(machine, &mut Draws::of(config), run, cancel_at(config)?, 0)?;
    if let Some(deviations) = wrapped(case, "timer_durations", &seen, backoff.cap())? {
        return Ok(Verdict::Same { deviations });
    }
    let expected = Seen {
        starts: list(expected, "starts")?,
        intervals: list(expected, "timer_durations")?,
        ended: match expected["error"].as_str() {
            Some("nil") => Ended::Done,
            Some("condition failed") => Ended::Failed,
            Some("context canceled") => Ended::Cancelled,
            other => return Err(format!("unknown error {other:?}")),
        },
        at: whole(expected, "returned_at")? as u64,
    };
    same(0, "the loop", &expected, &seen)?;
    Ok(Verdict::SAME)
}

/// Kind `k8s_exponential_backoff`.
pub(super) fn condition(case: &Recording) -> Result<Verdict, String> {
    let (config, expected) = (&case.config, only(case)?);
    let made = k8s::wait_backoff(config)?;
    let Some(Ok(backoff)) = made else { return refused(made) };
    let loop_backoff = LoopBackoff::new(backoff, Reset::Never, Timestamp::ZERO);
    let machine = Periodic::new(loop_backoff, PeriodicOptions::while_steps_last(), 0, Timestamp::ZERO);
    let run = |at| {
        let finds = match case.inputs.get(at).and_then(Value::as_str) {
            Some("done") => Answer::Done,
            Some("error" | "done+error") => Answer::Failed,
            Some("retry") | None => Answer::Again,
            Some(_) => return None,
        };
        Some(Run { takes: 0, finds })
    };
    let seen = drive(machine, &mut Draws::of(config), run, cancel_at(config)?, 0)?;
    if let Some(deviations) = wrapped(case, "sleeps", &seen, backoff.cap())? {
        return Ok(Verdict::Same { deviations });
    }
    same(0, "calls", &whole(expected, "calls")?, &(seen.starts.len() as i64))?;
    same(0, "sleeps", &list(expected, "sleeps")?, &seen.intervals)?;
    same(0, "time", &whole(expected, "now")?, &(seen.at as i64))?;
    // The words are the host's: client-go's says its last error where there is one.
    let remembers = config["op"] == "retry.OnError" && !seen.starts.is_empty();
    let (error, interrupted) = match seen.ended {
        Ended::Done => ("nil", false),
        Ended::Failed => ("condition failed", false),
        Ended::Steps if remembers => ("transient", false),
        Ended::Steps => ("timed out waiting for the condition", true),
        Ended::Deadline => ("context deadline exceeded", true),
        Ended::Cancelled => ("context canceled", true),
    };
    same(0, "error", &expected["error"].as_str(), &Some(error))?;
    same(0, "interrupted", &expected["interrupted"].as_bool(), &Some(interrupted))?;
    Ok(Verdict::SAME)
}
