//! A reqwest client with `holdoff-reqwest`, against the flaky server: how many requests arrive, and what the program gets.

#![allow(missing_docs, clippy::unwrap_used)]

use demo::flaky::Flaky;
use holdoff::Policy;
use holdoff::core::{Backoff, StopReason};

use holdoff_reqwest::{GivenUp, Idempotent, ResendCount, Retries};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error};
use std::fmt::Write as _;
use std::time::Duration;

/// A request: its method, its address, its options, and then what it becomes: the status or "error", the reason, the requests, and
/// the body that the program has got.
type Row = (&'static str, &'static str, &'static [&'static str], &'static str, Option<StopReason>, u64, &'static str);

/// Worked out from the rules of docs/fronts/reqwest.md before the first run.
const ROWS: &[Row] = &[
    ("GET", "{http}/status/503?times=0&ok=fine", &[], "200", None, 1, "fine"),
    ("GET", "{http}/status/503?times=2&ok=fine", &[], "200", None, 3, "fine"),
    ("GET", "{http}/status/503?body=busy", &[], "503", Some(StopReason::Attempts), 3, "busy"),
    ("GET", "{http}/status/404?body=gone", &[], "404", Some(StopReason::Permanent), 1, "gone"),
    ("POST", "{http}/status/503?body=busy", &["body"], "503", Some(StopReason::Permanent), 1, "busy"),
    ("POST", "{http}/status/503?times=2&ok=fine", &["body", "idempotent"], "200", None, 3, "fine"),
    ("POST", "{http}/status/503?times=2&ok=fine", &["body", "key"], "200", None, 3, "fine"),
    ("POST", "{http}/status/429?times=2&ok=fine", &["body"], "200", None, 3, "fine"),
    ("POST", "{http}/status/425?times=2&ok=fine", &["body"], "200", None, 3, "fine"),
    ("POST", "{http}/reset?times=2&ok=fine", &["body"], "error", None, 1, ""),
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
];

fn client(options: &[&str]) -> ClientWithMiddleware {
    let mut policy = Policy::options();
    policy.attempts(3).backoff(Backoff::constant(Duration::from_millis(1)));
    if options.contains(&"deadline") {
        policy.deadline(Duration::from_millis(300));
    }
    let retries = Retries::new(policy.build().unwrap());
    let retries = if options.contains(&"unread") { retries.body_limit(0) } else { retries };
    let bare = reqwest::Client::builder().no_proxy().build().unwrap();
    ClientBuilder::new(bare).with(retries).build()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_arrives_as_often_as_it_may() {
    let flaky = Flaky::start().await.unwrap();
    let plain = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut wrong = String::new();
    for (at, (method, url, options, status, reason, wanted, got)) in ROWS.iter().enumerate() {
        let name = format!("reqwest-{at}");
        let url = flaky.expand(url);
        let sign = if url.contains('?') { '&' } else { '?' };
        let mut request = client(options).request(method.parse().unwrap(), format!("{url}{sign}id={name}"));
        for option in *options {
            request = match *option {
                "body" => request.body("paid"),
                "stream" => {
                    request.body(reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, Error>("paid")])))
                }
                "key" => request.header("Idempotency-Key", "1"),
                "idempotent" => request.with_extension(Idempotent(true)),
                "once" => request.with_extension(Idempotent(false)),
                _ => request,
            };
        }
        let (seen_status, seen_reason, text) = match request.send().await {
            Ok(answer) => {
                let reason = answer.extensions().get::<GivenUp>().map(|end| end.reason);
                assert!(answer.url().as_str().starts_with(&url), "{}", answer.url());
                (
                    answer.status().as_u16().to_string(),
                    reason,
                    answer.text().await.unwrap_or_else(|_| "error".to_owned()),
                )
            }
            Err(_) => ("error".to_owned(), None, String::new()),
        };
        let seen =
            plain.get(flaky.expand(&format!("{{http}}/seen/{name}"))).send().await.unwrap().text().await.unwrap();
        let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
        let now = (seen_status.as_str(), seen_reason, seen["requests"].as_u64().unwrap(), text.as_str());
        let due = (*status, *reason, *wanted, *got);
        if now != due {
            let _ = writeln!(wrong, "{method} {url} {options:?}: {now:?}, not {due:?}");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_below_knows_how_often_it_was_sent_before() {
    let flaky = Flaky::start().await.unwrap();
    let counts = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = std::sync::Arc::clone(&counts);
    let policy = *Policy::options().backoff(Backoff::constant(Duration::from_millis(1)));
    let client = ClientBuilder::new(reqwest::Client::builder().no_proxy().build().unwrap())
        .with(Retries::new(policy.build().unwrap()))
        .with(Noted(noted))
        .build();
    let url = flaky.expand("{http}/status/503?times=2&id=reqwest-count");
    assert_eq!(client.get(url).send().await.unwrap().status(), 200);
    assert_eq!(*counts.lock().unwrap(), [None, Some(ResendCount(1)), Some(ResendCount(2))]);
}

/// A middleware below, such as one of tracing.
struct Noted(std::sync::Arc<std::sync::Mutex<Vec<Option<ResendCount>>>>);

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Noted {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> Result<reqwest::Response, Error> {
        self.0.lock().unwrap().push(extensions.get().copied());
        next.run(request, extensions).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_comes_out_as_the_clients_own_error() {
    let flaky = Flaky::start().await.unwrap();
    let error = client(&[]).post(flaky.expand("{closed}/")).body("paid").send().await.unwrap_err();
    assert!(matches!(&error, Error::Reqwest(error) if error.is_connect()), "{error:?}");
}
