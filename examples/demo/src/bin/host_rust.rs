//! The Rust host: ureq and the blocking loop.

use anyhow::{Context as _, Result};
use holdoff::core::{Hint, Options};
use holdoff::{Error, Failure, Policy};
use serde_json::{Value, json};
use std::time::Duration;

/// Why there was no page.
enum Refused {
    Status { status: u16, retry_after: Option<String> },
    Broken(ureq::Error),
}

impl Refused {
    fn failure(&self) -> Failure {
        match self {
            Self::Status { status, retry_after } => {
                let retry_after = retry_after.as_deref().map(str::as_bytes);
                Failure::from_http((*status).into(), retry_after).unwrap_or(Failure::PERMANENT)
            }
            Self::Broken(ureq::Error::Timeout(_)) => Failure::TIMEOUT,
            Self::Broken(ureq::Error::Io(error)) => holdoff::classify::io_failure(error),
            Self::Broken(_) => Failure::PERMANENT,
        }
    }

    fn saw(&self) -> String {
        match self {
            Self::Status { status, .. } => status.to_string(),
            Self::Broken(ureq::Error::Timeout(_)) => "timeout".to_owned(),
            Self::Broken(ureq::Error::Io(_)) => "lost".to_owned(),
            Self::Broken(error) => error.to_string(),
        }
    }
}

impl From<ureq::Error> for Refused {
    fn from(error: ureq::Error) -> Self {
        Self::Broken(error)
    }
}

fn get(agent: &ureq::Agent, url: &str, limit: Option<Duration>) -> Result<String, Refused> {
    let mut response = agent.get(url).config().timeout_global(limit).build().call()?;
    let status = response.status().as_u16();
    if status >= 400 {
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        return Err(Refused::Status { status, retry_after: retry_after.map(str::to_owned) });
    }
    Ok(response.body_mut().read_to_string()?)
}

/// Calls one path and writes down every attempt.
fn call(agent: &ureq::Agent, url: &str, policy: &Policy, seed: u64) -> Vec<Value> {
    let mut attempts = Vec::new();
    let result = holdoff::retry_with(policy, |attempt| get(agent, url, attempt.time_left()))
        .classify(Refused::failure)
        .seed(seed)
        .on_retry(|retried| {
            attempts.push(json!({
                "attempt": retried.attempt,
                "saw": retried.error.map(Refused::saw),
                "failure": retried.failure.kind.name(),
                "hint": hint(retried.failure.hint),
                "decision": "sleep",
                "delay_ns": retried.delay.as_nanos().to_string(),
                "cause": retried.cause.name(),
            }));
        })
        .call();
    attempts.push(match result {
        Ok(_) => json!({"attempt": attempts.len() + 1, "saw": "200", "decision": "succeeded"}),
        Err(stopped) => {
            let failure = stopped.error().map_or(Failure::PERMANENT, Refused::failure);
            json!({
                "attempt": stopped.attempts(),
                "saw": stopped.error().map(Refused::saw),
                "failure": failure.kind.name(),
                "hint": hint(failure.hint),
                "decision": "gave_up",
                "reason": stopped.reason().name(),
            })
        }
    });
    attempts
}

fn hint(hint: Hint) -> String {
    match hint.span() {
        Some(span) => span.as_nanos().to_string(),
        None if hint.is_never() => "never".to_owned(),
        None => "none".to_owned(),
    }
}

/// Reads a policy document: objects become paths with dots.
fn policy(document: &Value) -> Result<Policy> {
    fn set(builder: &mut Options, path: &str, value: &Value) -> Result<(), Error> {
        if let Value::Object(fields) = value {
            let dot = if path.is_empty() { "" } else { "." };
            return fields.iter().try_for_each(|(name, value)| set(builder, &format!("{path}{dot}{name}"), value));
        }
        let value = match value {
            Value::String(text) => holdoff::core::Value::Text(text),
            Value::Number(number) => {
                holdoff::core::Value::Number { value: number.as_f64().unwrap_or(f64::NAN), unit: 1e9 }
            }
            _ => holdoff::core::Value::Other,
        };
        builder.set(path, value).map(|_| ())
    }
    let mut builder = Policy::options();
    set(&mut builder, "", document).and_then(|()| builder.build()).map_err(|error| anyhow::anyhow!("{error}"))
}

fn main() -> Result<()> {
    let file = std::env::args().nth(1).context("usage: host_rust PLAN")?;
    let plan: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let base = plan["base"].as_str().context("no base")?;
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).max_idle_connections(0).proxy(None).build().into();
    let mut runs = Vec::new();
    for run in plan["runs"].as_array().context("no runs")? {
        let path = run["path"].as_str().context("no path")?;
        let seed = run["seed"].as_str().context("no seed")?.parse()?;
        let attempts = call(&agent, &format!("{base}{path}"), &policy(&run["policy"])?, seed);
        runs.push(json!({"path": path, "attempts": attempts}));
    }
    println!("{}", json!({"host": "rust", "runs": runs}));
    Ok(())
}
