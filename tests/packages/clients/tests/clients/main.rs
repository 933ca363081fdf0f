//! Each case of `tests/clients` for a client of Rust, played by that client against the flaky server.

#![allow(missing_docs, clippy::unwrap_used)]

mod http;
mod rpc;

use conformance::clients::{Again, Case, Client, Kind, Situation, clients, situations};
use demo::flaky::Flaky;
use holdoff::core::{Facts, FailureKind, HintReader, Rules};
use holdoff::{
    Failure,
    classify::{clues_of, failure_of},
};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The limit of a client that a case needs. Nothing else may take longer: a connection of this machine, or a stalled answer.
const LIMIT: Duration = Duration::from_millis(400);

/// A failure of a client as a program hands it to holdoff.
struct Seen {
    /// None for a success.
    failure: Option<Failure>,
    facts: Facts,
    /// The texts of the error, for a message of the test.
    texts: String,
}

impl Seen {
    fn of_error(error: &(dyn Error + 'static)) -> Self {
        let mut texts = String::new();
        let mut next = Some(error);
        while let Some(error) = next {
            let _ = write!(texts, " | {error}");
            next = error.source();
        }
        let facts = Facts { unsent: clues_of(error).is_unsent(), ..Facts::NONE };
        Self { failure: Some(failure_of(error)), facts, texts }
    }

    fn of_answer(status: u16, headers: &::http::HeaderMap) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let mut reader = HintReader::new(u64::try_from(now.as_nanos()).unwrap());
        for (name, value) in headers {
            reader.header(name.as_str().as_bytes(), value.as_bytes());
        }
        let hint = reader.hint_for(u32::from(status));
        let facts = Facts { http: status, should_retry: reader.should_retry(), ..Facts::NONE };
        Self { failure: Failure::of_answer(u32::from(status), hint), facts, texts: format!("status {status}") }
    }

    /// The judgement: what the table says of it.
    fn judged(&self) -> (Kind, Again, Option<f64>) {
        let Some(failure) = self.failure else { return (Kind::Success, Again::Never, None) };
        let judge = |idempotent| Rules::NONE.judge(Facts { idempotent, ..self.facts }, failure);
        let kind = match judge(true).kind {
            FailureKind::Throttled => Kind::Throttled,
            FailureKind::Timeout => Kind::Timeout,
            FailureKind::Permanent => Kind::Permanent,
            _ => Kind::Transient,
        };
        let again = match [true, false].map(|idempotent| judge(idempotent).kind != FailureKind::Permanent) {
            [_, true] => Again::Always,
            [true, false] => Again::Idempotent,
            [false, false] => Again::Never,
        };
        (kind, again, failure.hint.span().map(|span| span.as_nanos() as f64 / 1e6))
    }
}

/// Plays all cases of a client side by side.
async fn play<F: Future<Output = Seen> + Send + 'static>(name: &str, one: impl Fn(Arc<Flaky>, Arc<Situation>) -> F) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let situations: BTreeMap<String, Arc<Situation>> =
        situations(&root).unwrap().into_iter().map(|(name, situation)| (name, Arc::new(situation))).collect();
    let client: Client = clients(&root).unwrap().remove(name).unwrap();
    assert!(
        include_str!("../../Cargo.toml").contains(&format!("{} = {{ version = \"={}\"", client.client, client.version))
    );
    let flaky = Arc::new(Flaky::start().await.unwrap());
    let playing: Vec<(Case, _)> = client
        .cases
        .into_iter()
        .map(|case| {
            let situation = Arc::clone(&situations[&case.situation]);
            (case, tokio::spawn(one(Arc::clone(&flaky), situation)))
        })
        .collect();
    let mut wrong = String::new();
    for (case, seen) in playing {
        let seen = seen.await.unwrap();
        let situation = &situations[&case.situation];
        let wanted = (
            case.kind.unwrap_or(situation.kind),
            case.again.unwrap_or(situation.again),
            case.hint_ms.unwrap_or(situation.hint_ms),
        );
        if seen.judged() != wanted {
            let _ = writeln!(wrong, "{}: {:?}, not {wanted:?}: {}", case.situation, seen.judged(), seen.texts);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test]
async fn reqwest_is_judged_by_the_table() {
    play("reqwest", http::reqwest).await;
}

#[tokio::test]
async fn ureq_is_judged_by_the_table() {
    play("ureq", http::ureq).await;
}

#[tokio::test]
async fn hyper_is_judged_by_the_table() {
    play("hyper", http::hyper).await;
}

#[tokio::test]
async fn tonic_is_judged_by_the_table() {
    play("tonic", rpc::tonic).await;
}
