//! Aster's event log, its delay queue and its recorded randomness, on events, the wheel and a seed.

use super::k8s::{whole, whole_or};
use super::{Recording, Verdict};
use holdoff_core::{
    Event, EventKind, EventWithNotes, Guards, Notes, Policy, Recorder, Schedule, Span, Timestamp, Value as Setting,
    ValueOwner, Wheel,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An event of Aster's as one of ours, and whose it is; nothing for one that says nothing of a retry. What Aster's registry does
/// not write down (place, time, cause) does not matter to what is read back.
fn read(event: &Value) -> Result<Option<(String, Event)>, String> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    if text("type") != EventKind::RetryScheduled.name() || event["taskId"].is_null() {
        return Ok(None);
    }
    let number = |value: i64| Setting::Number { value: value as f64, unit: 1.0 };
    let fields = [
        ("version", number(1)),
        ("sequence", number(1)),
        ("type", Setting::Text(text("type"))),
        ("at", Setting::Text("0")),
        ("attemptNumber", number(whole_or(event, "attempt_number", 1)?)),
        ("backoffDelayMs", number(whole_or(event, "backoff_delay_ms", 0)?.max(0))),
        ("cause", Setting::Text("backoff")),
        ("payload.taskId", Setting::Text(text("taskId"))),
    ];
    let (mut read, mut task) = (Event::EMPTY, None);
    for (name, value) in fields {
        if read.set(name, value).map_err(|error| error.to_string())? == ValueOwner::Task {
            task = Some(text("taskId").to_owned());
        }
    }
    let read = read.check().map_err(|error| error.to_string())?;
    Ok(task.map(|task| (task, read)))
}

/// How many tries of each task a log says to have been made: those before the latest that was scheduled, and at least one.
pub(super) fn counters(before: &Value, log: &[Value]) -> Result<BTreeMap<String, u32>, String> {
    let mut counters = BTreeMap::new();
    for (task, count) in before.as_object().into_iter().flatten() {
        let count = count.as_u64().and_then(|count| count.try_into().ok()).ok_or("a counter is no number")?;
        counters.insert(task.clone(), count);
    }
    for event in log {
        if let Some((task, event)) = read(event)? {
            let counter = counters.entry(task).or_insert(1);
            *counter = (*counter).max(event.attempt().saturating_sub(1));
        }
    }
    Ok(counters)
}

/// `restoreRetryState`.
pub(super) fn restored(case: &Recording) -> Result<Verdict, String> {
    let is_number = |event: &Value| event["attempt_number"].as_i64().is_none_or(|attempt| attempt > 0);
    let read = counters(&case.config["counters_before"], &case.inputs);
    if !case.inputs.iter().all(is_number) {
        let refused = read.is_err();
        return if refused { Ok(Verdict::OutOfDomain) } else { Err("an attempt below the first is taken".to_owned()) };
    }
    let counters: Map<_, _> = read?.into_iter().map(|(task, count)| (task, json!(count))).collect();
    let got = [Value::Object(counters)];
    if case.expected == got { Ok(Verdict::SAME) } else { Err(format!("expected {:?}, got {got:?}", case.expected)) }
}

/// A time that is one: from the epoch on.
fn time(ms: i64) -> Option<Timestamp> {
    u64::try_from(ms).ok().map(Timestamp::from_nanos)
}

/// `scheduleRetry`: when a timer is due that is set now. One beyond 2^63-1 stays there and does not fire at once.
pub(super) fn schedule(case: &Recording) -> Result<Verdict, String> {
    let mut deviations = 0;
    for (at, (input, expected)) in case.steps()? {
        let Some(now) = time(whole(input, "now")?) else { return Ok(Verdict::OutOfDomain) };
        let delay = Span::from_nanos(whole(input, "delay_ms")?.max(0) as u64);
        let mut wheel = Wheel::new();
        wheel.insert(now.after(delay)).map_err(|error| error.to_string())?;
        let due = wheel.next_wake().ok_or("the timer never fires")?;
        let expected = expected.as_i64().ok_or("no time was recorded")?;
        let is_early = delay > Span::ZERO && wheel.pop(now).is_some();
        if is_early || due.since(now) != delay {
            return Err(format!("input {at}: due {due:?}, {delay:?} after {now:?}"));
        }
        // Where it wrapped there, it fires at the next tick.
        if expected != due.as_nanos() as i64 {
            return Err(format!("input {at}: expected {expected}, got {due:?}"));
        }
        deviations += usize::from(expected < 0);
    }
    Ok(Verdict::Same { deviations })
}

/// `poll`: at most one timer a tick. Of those that are due at one time, ours fire in the order in which they came, and theirs
/// in that of a heap.
pub(super) fn poll(case: &Recording) -> Result<Verdict, String> {
    let mut wheel = Wheel::new();
    let mut queue = Vec::new();
    for entry in case.config["queue"].as_array().ok_or("no queue")? {
        let Some(at) = time(whole(entry, "trigger_at")?) else { return Ok(Verdict::OutOfDomain) };
        wheel.insert(at).map_err(|error| error.to_string())?;
        queue.push((entry["taskId"].clone(), at));
    }
    let due_at = |tasks: &Value| {
        let of = |task: &Value| queue.iter().find(|(known, _)| known == task).map(|(_, at)| *at);
        tasks.as_array().map(|tasks| tasks.iter().map(of).collect::<Vec<_>>())
    };
    let (mut deviations, mut fired) = (0, [Vec::new(), Vec::new()]);
    for (at, (input, expected)) in case.steps()? {
        let now = time(input.as_i64().ok_or("no time")?).ok_or("a tick before the epoch")?;
        let got = match wheel.pop(now) {
            None => json!([]),
            Some((key, _)) => json!([queue.get(key.index() as usize).ok_or("no such timer")?.0]),
        };
        if *expected != got {
            if due_at(expected) != due_at(&got) {
                return Err(format!("input {at}: expected {expected}, got {got}"));
            }
            deviations += 1;
        }
        for (fired, tasks) in fired.iter_mut().zip([expected, &got]) {
            fired.extend(tasks.as_array().into_iter().flatten().map(Value::to_string));
        }
    }
    fired.iter_mut().for_each(|tasks| tasks.sort());
    let [theirs, ours] = fired;
    if theirs == ours { Ok(Verdict::Same { deviations }) } else { Err(format!("expected {theirs:?}, got {ours:?}")) }
}

/// `nextInt`, `nextDouble`: Aster's log keeps what was drawn, and ours the seed. What takes the place of a recorded draw: from
/// the seed that the event of a start brings back come the same delays.
pub(super) fn drawn(case: &Recording) -> Result<Verdict, String> {
    let policy = Policy::default();
    for (at, (raw, _)) in case.steps()? {
        let seed = raw.as_i64().ok_or("no number was drawn")? as u64;
        let (_, begun) = Recorder::begin(&policy, &mut Guards::none(), seed, Timestamp::ZERO);
        let [started] = *begun.events else { return Err("one event begins a log".to_owned()) };
        let text = started.json(&Notes::default()).to_string();
        let kept: EventWithNotes = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if !Schedule::new(&policy, seed).eq(Schedule::new(&policy, kept.event.seed())) {
            return Err(format!("input {at}: the seed of {text} draws something else"));
        }
    }
    Ok(Verdict::OutOfDomain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(run: fn(&Recording) -> Result<Verdict, String>, case: Value) -> Result<usize, String> {
        run(&serde_json::from_value(case).unwrap()).map(|verdict| match verdict {
            Verdict::Same { deviations } => deviations,
            Verdict::OutOfDomain => usize::MAX,
        })
    }

    fn polled(queue: &[(&str, i64)], ticks: Value, expected: Value) -> Result<usize, String> {
        let queue: Vec<_> = queue.iter().map(|(task, at)| json!({ "taskId": task, "trigger_at": at })).collect();
        judged(poll, json!({ "name": "", "config": { "queue": queue }, "inputs": ticks, "expected": expected }))
    }

    #[test]
    fn timers_of_one_time_may_fire_in_another_order_and_no_others() {
        let three = [("a", 5), ("b", 5), ("c", 7)];
        assert_eq!(polled(&three, json!([9, 9, 9]), json!([["a"], ["b"], ["c"]])), Ok(0));
        assert_eq!(polled(&three, json!([9, 9, 9]), json!([["b"], ["a"], ["c"]])), Ok(2));
        assert!(polled(&three, json!([9, 9, 9]), json!([["a"], ["c"], ["b"]])).is_err());
        assert!(polled(&three, json!([9, 9, 9]), json!([["a"], ["a"], ["c"]])).is_err());
        assert!(polled(&three, json!([9, 9]), json!([["a"], []])).is_err());
        assert_eq!(polled(&[("a", -1)], json!([9]), json!([["a"]])), Ok(usize::MAX));
    }

    #[test]
    fn events_that_are_none_of_a_retry_count_nothing() {
        let log = json!([
            { "type": "StepFailed", "taskId": "t", "attempt_number": 9 },
            { "type": "RETRY_SCHEDULED", "taskId": null, "attempt_number": 9 },
            { "type": "RETRY_SCHEDULED", "taskId": "u", "attempt_number": null },
            { "type": "RETRY_SCHEDULED", "taskId": "u", "attempt_number": 4 },
        ]);
        let case = |log: &Value, expected: Value| json!({ "name": "", "inputs": log, "expected": [expected] });
        assert_eq!(judged(restored, case(&log, json!({ "u": 3 }))), Ok(0));
        assert!(judged(restored, case(&log, json!({ "u": 4 }))).is_err());
        let below = json!([{ "type": "RETRY_SCHEDULED", "taskId": "u", "attempt_number": 0 }]);
        assert_eq!(judged(restored, case(&below, json!({ "u": 1 }))), Ok(usize::MAX));
    }
}
