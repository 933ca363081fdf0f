//! A policy that is a document: what is retried, how often and how long is data.
//!
//! `cargo run --example document --features serde`

use holdoff::core::{Document, Facts, Retry};
use holdoff::{Failure, Policy, core::Preset, testing::VirtualTime};

const DOCUMENT: &str = r#"{
    "version": 1,
    "preset": "aws-standard-2.1",
    "attempts": 6,
    "deadline": "30s",
    "rules": [
        { "if": { "kinds": ["throttled"] }, "retry": true, "backoff": { "initial": "1s", "max": "20s" } },
        { "if": [{ "http": [429, "5xx"] }, { "patterns": ["connection reset"] }], "retry": true },
        { "if": {}, "retry": false }
    ]
}"#;

#[derive(Debug)]
struct Refused(u16);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the server said {}", self.0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let document: Document = serde_json::from_str(DOCUMENT)?;
    println!("{}", document.policy.explain());

    let mut answers = [503, 429, 404].into_iter();
    let stopped =
        holdoff::retry(document.policy, || -> Result<(), Refused> { Err(Refused(answers.next().unwrap_or(200))) })
            .classify(|refused: &Refused| Failure::from_http(refused.0.into(), None).unwrap_or(Failure::PERMANENT))
            .rules(&document, |refused| Facts { http: refused.0, ..Facts::NONE })
            .on_retry(|retried| {
                println!("attempt {}: {:?}, next in {:?}", retried.attempt, retried.failure.kind, retried.delay)
            })
            .seed(7)
            .sleeper(VirtualTime::new())
            .call()
            .unwrap_err();
    println!("gave up after {} attempts: {}", stopped.attempts(), stopped.reason().text());

    // A mistake is explained with its path, its value, the rule and the nearest name.
    let wrong = serde_json::from_str::<Document>(r#"{ "backoff": { "initail": "1s" } }"#).unwrap_err();
    println!("{wrong}");

    // A state is a few bytes, and goes on where it was: elsewhere, later, in another language.
    let policy = Policy::options().preset(Preset::Temporal).build()?;
    let started = holdoff::core::Timestamp::ZERO;
    let mut retry = Retry::new(7, started);
    retry.on_failure(&policy, started, Failure::TRANSIENT);
    let bytes = retry.save(&policy, started);
    println!("saved as {} bytes", bytes.len());
    let resumed = Retry::resume(&bytes, &policy, started)?;
    assert_eq!(resumed.failures(), 1);
    Ok(())
}
