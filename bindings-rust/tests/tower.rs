//! The layer for tower's services.
#![cfg(feature = "tower")]

use holdoff::core::{Backoff, BreakerConfig, Jitter, StopReason};
use holdoff::tower::RetryLayer;
use holdoff::{CancelToken, Failure, Policy, SharedGuards, SharedPolicy};
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

/// A request like those of reqwest, tonic and hyper: it is not `Clone`, because its body may be a stream.
#[derive(Debug, PartialEq)]
struct Request {
    path: &'static str,
    body: Body,
}

#[derive(Debug, PartialEq)]
enum Body {
    Bytes(&'static str),
    Stream,
}

impl Request {
    const fn get(path: &'static str) -> Self {
        Self { path, body: Body::Bytes("") }
    }

    const fn try_clone(&self) -> Option<Self> {
        match self.body {
            Body::Bytes(bytes) => Some(Self { path: self.path, body: Body::Bytes(bytes) }),
            Body::Stream => None,
        }
    }
}

type Answer = (u32, &'static str);

/// Answers its requests with these numbers, one after the other: 0 is an error.
#[derive(Clone)]
struct Scripted(&'static [u32], Arc<AtomicU32>);

impl Scripted {
    fn new(answers: &'static [u32]) -> Self {
        Self(answers, Arc::default())
    }
}

impl Service<Request> for Scripted {
    type Response = Answer;
    type Error = &'static str;
    type Future = Ready<Result<Answer, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let at = self.1.fetch_add(1, Ordering::Relaxed) as usize;
        ready(match self.0[at] {
            0 => Err("refused"),
            status => Ok((status, request.path)),
        })
    }
}

fn policy() -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(1));
    Policy::options().attempts(3).backoff(backoff).jitter(Jitter::None).build().unwrap()
}

fn judge(request: &Request, answer: Result<&Answer, &&'static str>) -> Option<Failure> {
    let failure = match answer {
        Ok((status, _)) => Failure::from_http(*status, None)?,
        Err(_) => Failure::TRANSIENT,
    };
    Some(failure.if_safe(request.path != "POST"))
}

type Judge = fn(&Request, Result<&Answer, &&'static str>) -> Option<Failure>;
type Clones = fn(&Request) -> Option<Request>;

fn layer() -> RetryLayer<Request, Answer, &'static str, Clones, Judge> {
    RetryLayer::new(SharedPolicy::new(policy()), Request::try_clone, judge)
}

#[tokio::test(start_paused = true)]
async fn requests_are_repeated_after_errors_and_responses_that_are_failures() {
    let begun = tokio::time::Instant::now();
    let answer = layer().layer(Scripted::new(&[0, 503, 200])).call(Request::get("GET /")).await;
    assert_eq!(answer, Ok((200, "GET /")));
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_comes_out() {
    let answer = layer().layer(Scripted::new(&[0, 0, 503])).call(Request::get("")).await;
    assert_eq!(answer.unwrap().0, 503);
    let answer = layer().layer(Scripted::new(&[503, 0, 0])).call(Request::get("")).await;
    assert_eq!(answer.unwrap_err().into_error(), Some("refused"));
}

#[tokio::test(start_paused = true)]
async fn the_judge_sees_the_request() {
    let answer = layer().layer(Scripted::new(&[503])).call(Request::get("POST")).await;
    assert_eq!(answer.unwrap().0, 503);
    let answer = layer().layer(Scripted::new(&[0])).call(Request::get("POST")).await;
    assert_eq!(answer.unwrap_err().reason(), StopReason::Permanent);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_be_sent_again_is_sent_once() {
    let request = || Request { path: "PUT", body: Body::Stream };
    let answer = layer().layer(Scripted::new(&[503])).call(request()).await;
    assert_eq!(answer, Ok((503, "PUT")));
    let stopped = layer().layer(Scripted::new(&[0])).call(request()).await.unwrap_err();
    assert_eq!((stopped.attempts(), stopped.into_error()), (1, Some("refused")));
}

#[tokio::test(start_paused = true)]
async fn requests_share_the_guards_of_their_layer() {
    let open = Duration::from_secs(60).into();
    let guards = SharedGuards::new().with(BreakerConfig::consecutive(3, open).unwrap());
    let mut service = layer().guards(&guards).layer(Scripted::new(&[0, 0, 0]));
    assert!(service.call(Request::get("")).await.is_err());
    let refused = service.clone().call(Request::get("")).await.unwrap_err();
    assert_eq!((refused.reason(), refused.attempts()), (StopReason::Breaker, 0));
}

#[tokio::test(start_paused = true)]
async fn requests_share_the_budget_of_their_policy() {
    let shared = Arc::new(SharedPolicy::new(policy()));
    let layer = RetryLayer::new(Arc::clone(&shared), Request::try_clone as Clones, judge as Judge);
    let full = shared.balance("").unwrap();
    let mut service = layer.layer(Scripted::new(&[0, 0, 0, 200]));
    assert!(service.call(Request::get("")).await.is_err());
    assert!(shared.balance("").unwrap() < full);
}

#[tokio::test(start_paused = true)]
async fn hooks_are_told_and_a_token_cancels() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let told = Arc::clone(&told);
        move |operation: &'static str, attempt: u32| told.lock().unwrap().push((what, operation, attempt))
    };
    let token = CancelToken::new();
    let (begun, retried, succeeded, gave_up) = (note("attempt"), note("retry"), note("success"), note("give_up"));
    let layer = layer()
        .name("search")
        .cancel(&token)
        .on_attempt(move |event| begun(event.operation, event.attempt))
        .on_retry(move |event| retried(event.operation, event.attempt))
        .on_success(move |event| succeeded(event.operation, event.attempt))
        .on_give_up(move |event| gave_up(event.operation, event.attempt));
    layer.layer(Scripted::new(&[0, 200])).call(Request::get("")).await.unwrap();
    token.cancel();
    let cancelled = layer.layer(Scripted::new(&[])).call(Request::get("")).await.unwrap_err();
    assert_eq!(cancelled.reason(), StopReason::Cancelled);
    let expected = [("attempt", 1), ("retry", 1), ("attempt", 2), ("success", 2), ("give_up", 0)]
        .map(|(what, at)| (what, "search", at));
    assert_eq!(*told.lock().unwrap(), expected);
}
