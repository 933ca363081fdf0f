//! Plays documents and histories of failures for `tests/model/against.py`: a line of JSON in, a line out.
//!
//! Each sleep is saved, resumed on a clock that began anew, and moved back: a state may be saved in the middle of any stage and
//! rule.

use anyhow::{Result, anyhow};
use conformance::{format::Document, options};
use holdoff_core::{Call, Facts, Failure, FailureKind, Hint, Outcome, Policy, Rng, Span, Step, Texts, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::BufRead as _;

#[derive(Deserialize)]
struct Line {
    policy: Document,
    history: Vec<Failed>,
}

#[derive(Deserialize)]
struct Failed {
    now: u64,
    facts: Known,
    hint: Option<Value>,
    draw: u32,
    late: u64,
}

#[derive(Deserialize)]
struct Known {
    http: u16,
    kind: String,
    codes: Vec<String>,
    types: Vec<String>,
    message: String,
    idempotent: bool,
    unsent: bool,
    program_fault: bool,
    should_retry: Option<bool>,
}

fn main() -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let line: Line = serde_json::from_str(&line?)?;
        println!("{}", play(&line)?);
    }
    Ok(())
}

const START: Timestamp = Timestamp::from_nanos(1_000_000_000);

fn play(line: &Line) -> Result<Value> {
    let mut texts = Texts::default();
    let built = options::read(&line.policy, &mut texts).and_then(|options| {
        let policy = options.build().map_err(|error| options::word(&error, ""))?;
        Ok((options, policy))
    });
    let (rules, policy) = match built {
        Ok((options, policy)) => (options.rules(), policy),
        Err(error) => return Ok(json!({ "refused": error.name })),
    };
    let (mut call, mut step) = Call::begin(&policy, 0, START);
    let mut steps = Vec::new();
    for failed in &line.history {
        let Step::Attempt { ticket, abort_at, .. } = step else { break };
        let known = &failed.facts;
        let [codes, types] =
            [&known.codes, &known.types].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
        let facts = Facts {
            http: known.http,
            should_retry: known.should_retry.map_or(0, |yes| if yes { 1 } else { 2 }),
            idempotent: known.idempotent,
            unsent: known.unsent,
            program_fault: known.program_fault,
            ..Facts::NONE
        };
        let facts = texts.facts(&rules, facts, &codes, &types, || known.message.as_str());
        let kind = FailureKind::from_name(&known.kind).ok_or_else(|| anyhow!("a kind of failure"))?;
        let hint = match &failed.hint {
            None => Hint::NONE,
            Some(Value::String(_)) => Hint::NEVER,
            Some(number) => Hint::after(Span::from_nanos(number.as_u64().unwrap_or(0))),
        };
        let failure = rules.judge(facts, Failure::new(kind).with_hint(hint));
        // The machine draws what the history says.
        call = call.with_seed(Rng::about_to_draw(failed.draw).state());
        let now = Timestamp::from_nanos(failed.now);
        step = call.fail(&policy, ticket, now, failure);
        let decision = match step {
            Step::Sleep { until, cause } => json!(["sleep", until.as_nanos(), cause.name()]),
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => {
                json!(["stop", reason.name(), (!retry_at.is_never()).then_some(retry_at.as_nanos())])
            }
            other => return Err(anyhow!("{other:?}")),
        };
        let rule = if failure.rule == Failure::NO_RULE { 0 } else { failure.rule };
        let mut word = json!({
            "abort_at": (!abort_at.is_never()).then_some(abort_at.as_nanos()), "rule": rule, "decision": decision,
        });
        if let Step::Sleep { until, .. } = step {
            call = moved(&call, &policy, now)?;
            step = call.tick(&policy, until.after(Span::from_nanos(failed.late)));
            word["woke"] = json!(matches!(step, Step::Attempt { .. }));
        }
        steps.push(word);
    }
    Ok(json!({ "steps": steps }))
}

/// The call saved, resumed on a clock that began anew, and moved back.
fn moved(call: &Call, policy: &Policy, now: Timestamp) -> Result<Call> {
    let there = Timestamp::from_nanos(7);
    let away = Call::resume(&call.save(policy, now), policy, there)?;
    Ok(Call::resume(&away.save(policy, there), policy, now)?)
}
