//! Clients of Rust with holdoff in front, against the flaky server: how many requests arrive, and what the program gets.

#![allow(missing_docs, clippy::unwrap_used)]

mod hyper;
mod reqwest;
mod tonic;
mod ureq;

use demo::flaky::Flaky;
use holdoff::Policy;
use holdoff::core::{Backoff, Jitter, StopReason};
use std::fmt::Write as _;
use std::time::Duration;

/// A request: its method, its address, its options, and then what it becomes: the status or "error", the reason, the requests, and
/// the body that the program has got.
type Row = (&'static str, &'static str, &'static [&'static str], &'static str, Option<StopReason>, u32, &'static str);

/// Worked out from the rules of docs/fronts/reqwest.md before the first run.
const ROWS: &[Row] = &[
    ("GET", "{http}/status/503?times=0&ok=fine", &[], "200", None, 1, "fine"),
    ("GET", "{http}/status/503?times=2&ok=fine", &[], "200", None, 3, "fine"),
    ("GET", "{http}/status/503?body=busy", &[], "503", Some(StopReason::Attempts), 3, "busy"),
    ("GET", "{http}/status/503?times=2&ok=fine", &["kept"], "200", None, 3, "fine"),
    ("GET", "{http}/status/404?body=gone", &[], "404", Some(StopReason::Permanent), 1, "gone"),
    ("POST", "{http}/status/503?body=busy", &["body"], "503", Some(StopReason::Permanent), 1, "busy"),
    ("POST", "{http}/status/503?times=2&ok=fine", &["body", "idempotent"], "200", None, 3, "fine"),
    ("POST", "{http}/status/503?times=2&ok=fine", &["body", "key"], "200", None, 3, "fine"),
    ("POST", "{http}/status/429?times=2&ok=fine", &["body"], "200", None, 3, "fine"),
    ("POST", "{http}/status/425?times=2&ok=fine", &["body"], "200", None, 3, "fine"),
    ("POST", "{http}/reset?times=2&ok=fine", &["body"], "error", None, 1, ""),
    ("POST", "{closed}/", &["body"], "error", None, 3, ""),
    ("GET", "{http}/status/503?times=2&ok=fine", &["once"], "503", Some(StopReason::Permanent), 1, "not well\n"),
    ("PUT", "{http}/status/503?times=2&ok=fine", &["body"], "200", None, 3, "fine"),
    ("PUT", "{http}/status/503?body=busy", &["stream"], "503", Some(StopReason::Body), 1, "busy"),
    ("DELETE", "{http}/status/503?times=2&ok=fine", &[], "200", None, 3, "fine"),
    ("GET", "{http}/reset?times=2&ok=fine", &[], "200", None, 3, "fine"),
    ("GET", "{http}/truncated?times=2&ok=fine", &[], "200", None, 3, "fine"),
    ("GET", "{http}/reset-body?times=2&ok=fine", &[], "200", None, 3, "fine"),
    ("GET", "{http}/truncated", &["unread"], "200", None, 1, "error"),
    ("GET", "{http}/status/503?header=Retry-After:3600&body=busy", &[], "503", Some(StopReason::Hint), 1, "busy"),
    ("GET", "{http}/status/503?times=1&header=retry-after-ms:30&ok=fine", &[], "200", None, 2, "fine"),
    (
        "GET",
        "{http}/status/503?header=x-should-retry:false&body=busy",
        &[],
        "503",
        Some(StopReason::Permanent),
        1,
        "busy",
    ),
    ("GET", "{http}/status/400?times=1&header=x-should-retry:true&ok=fine", &[], "200", None, 2, "fine"),
    ("GET", "{http}/stall", &["deadline"], "error", None, 1, ""),
    ("GET", "{http}/stall-body", &["deadline"], "error", None, 1, ""),
    ("GET", "{http}/status/302?header=Location:/stall", &["deadline", "follows"], "error", None, 1, ""),
    ("GET", "{http}/status/302?header=Location:/status/503?times=1", &["follows"], "200", None, 2, "well\n"),
    ("PUT", "{http}/status/503?body=busy", &["form"], "503", Some(StopReason::Body), 1, "busy"),
    ("PUT", "{http}/status/200?body=fine", &["form"], "200", None, 1, "fine"),
    ("GET", "{http}/endless/503?times=1&ok=fine", &["cuts"], "200", None, 2, "fine"),
    // Servers that lie.
    ("GET", "{http}/status/503?header=Retry-After:31536000&body=busy", &[], "503", Some(StopReason::Hint), 1, "busy"),
    (
        "GET",
        "{http}/status/503?times=1&header=Retry-After:3600&header=retry-after-ms:30&ok=fine",
        &[],
        "200",
        None,
        2,
        "fine",
    ),
    (
        "GET",
        "{http}/status/503?header=Retry-After:0&header=Retry-After:3600&body=busy",
        &[],
        "503",
        Some(StopReason::Hint),
        1,
        "busy",
    ),
    ("GET", "{http}/status/200?header=Retry-After:3600&body=error", &[], "200", None, 1, "error"),
];

/// A request to make.
#[derive(Clone)]
struct Ask {
    method: &'static str,
    url: String,
    options: &'static [&'static str],
}

impl Ask {
    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::options();
        // A connection is free again a moment after the body was read.
        let delay = Duration::from_millis(if self.has("kept") { 100 } else { 1 });
        policy.attempts(3).jitter(Jitter::None).backoff(Backoff::constant(delay));
        if self.has("deadline") {
            policy.deadline(Duration::from_millis(300));
        }
        policy.build().unwrap()
    }

    /// True if the request may run twice.
    fn is_idempotent(&self) -> bool {
        let method = http::Method::from_bytes(self.method.as_bytes()).unwrap();
        !self.has("once") && (method.is_idempotent() || self.has("idempotent") || self.has("key"))
    }
}

/// How it ended: the status if there was an answer, the reason if the client says it, the attempts, and the body.
struct End {
    status: Option<u16>,
    reason: Option<StopReason>,
    attempts: u32,
    body: String,
}

/// Plays all rows by a client, but for those with an option that it has not. `tells` is true if it says why it gave up.
async fn play(client: &str, tells: bool, lacks: &[&str], ask: impl AsyncFn(Ask) -> End) {
    let flaky = Flaky::start().await.unwrap();
    let mut wrong = String::new();
    for (at, (method, url, options, status, reason, wanted, got)) in ROWS.iter().enumerate() {
        if options.iter().any(|option| lacks.contains(option)) {
            continue;
        }
        let name = format!("{client}-{at}");
        let sign = if url.contains('?') { '&' } else { '?' };
        let end = ask(Ask { method, url: flaky.expand(&format!("{url}{sign}id={name}")), options }).await;
        let [requests, connections] = seen(&flaky, &name).await;
        let requests = if url.starts_with("{closed}") { end.attempts } else { requests };
        let end_status = end.status.map_or_else(|| "error".to_owned(), |status| status.to_string());
        let now = (end_status.as_str(), end.reason, end.attempts, requests, end.body.as_str());
        let due = (*status, reason.filter(|_| tells), *wanted, *wanted, *got);
        if now != due || (options.contains(&"kept") && connections != 1) {
            let _ = writeln!(wrong, "{method} {url} {options:?}: {now:?}, not {due:?}, {connections} connections");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// How many requests of that name came, and over how many connections.
async fn seen(flaky: &Flaky, name: &str) -> [u32; 2] {
    let plain = ::reqwest::Client::builder().no_proxy().build().unwrap();
    let seen = plain.get(flaky.expand(&format!("{{http}}/seen/{name}"))).send().await.unwrap().text().await.unwrap();
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    ["requests", "connections"].map(|count| seen[count].as_u64().unwrap().try_into().unwrap())
}
