//! The layer for tower's services.
#![cfg(feature = "tower")]

use holdoff::core::{Backoff, BreakerConfig, Jitter, StopReason};
use holdoff::tower::RetryLayer;
use holdoff::{Failure, Policy, SharedGuards};
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

/// Answers its requests with these numbers, one after the other: 0 is an error.
#[derive(Clone)]
struct Scripted(&'static [u32], Arc<AtomicU32>);

impl Service<&'static str> for Scripted {
    type Response = (u32, &'static str);
    type Error = &'static str;
    type Future = Ready<Result<(u32, &'static str), &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: &'static str) -> Self::Future {
        let at = self.1.fetch_add(1, Ordering::Relaxed) as usize;
        ready(match self.0[at] {
            0 => Err("refused"),
            status => Ok((status, request)),
        })
    }
}

fn policy() -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(1));
    Policy::options().attempts(3).backoff(backoff).jitter(Jitter::None).build().unwrap()
}

fn judge(answer: Result<&(u32, &'static str), &&'static str>) -> Option<Failure> {
    match answer {
        Ok((status, _)) => Failure::from_http(*status, None),
        Err(_) => Some(Failure::TRANSIENT),
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_repeated_after_errors_and_responses_that_are_failures() {
    let begun = tokio::time::Instant::now();
    let service = Scripted(&[0, 503, 200], Arc::default());
    let answer = RetryLayer::new(policy(), judge).layer(service).call("GET /").await;
    assert_eq!(answer, Ok((200, "GET /")));
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_comes_out() {
    let answer = RetryLayer::new(policy(), judge).layer(Scripted(&[0, 0, 503], Arc::default())).call("").await;
    assert_eq!(answer.unwrap().0, 503);
    let answer = RetryLayer::new(policy(), judge).layer(Scripted(&[503, 0, 0], Arc::default())).call("").await;
    assert_eq!(answer.unwrap_err().into_error(), Some("refused"));
    let answer =
        RetryLayer::new(policy(), |_: Result<_, &_>| None).layer(Scripted(&[0], Arc::default())).call("").await;
    assert_eq!(answer.unwrap_err().reason(), StopReason::Permanent);
}

#[tokio::test(start_paused = true)]
async fn requests_share_the_guards_of_their_layer() {
    let open = Duration::from_secs(60).into();
    let guards = SharedGuards::new().with_breaker(BreakerConfig::consecutive(3, open).unwrap());
    let layer = RetryLayer::new(policy(), judge).guards(&guards);
    let mut service = layer.layer(Scripted(&[0, 0, 0], Arc::default()));
    assert!(service.call("").await.is_err());
    let refused = service.clone().call("").await.unwrap_err();
    assert_eq!((refused.reason(), refused.attempts()), (StopReason::Breaker, 0));
}
