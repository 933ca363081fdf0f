//! A retry inside a retry: the outer one learns what became of the inner ones (spec 30.4).

use holdoff::core::{Backoff, Jitter, Nesting};
use holdoff::{Attempt, Failure, Policy, Stopped, classify::given_up, testing::VirtualTime};
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::time::Duration;

fn policy() -> Policy {
    let backoff = Backoff::constant(Duration::from_secs(1));
    Policy::options().attempts(3).backoff(backoff).jitter(Jitter::None).build().unwrap()
}

/// An error that keeps its source, as every SDK's does.
#[derive(Debug)]
struct Wrapped(Box<dyn Error + Send + Sync>);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no page")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("down")
    }
}

impl Error for Down {}

/// An inner retry that sends requests to a server which answers with an error.
fn inner(requests: &Cell<u32>, attempt: &Attempt, fails: bool) -> Result<(), Stopped<Down>> {
    let request = || {
        requests.set(requests.get() + 1);
        if fails { Err(Down) } else { Ok(()) }
    };
    holdoff::retry(policy(), request).nested(Nesting::Allow, Some(attempt)).sleeper(VirtualTime::new()).call()
}

fn attempts_of(nesting: Nesting, operation: impl FnMut(Attempt) -> Result<(), &'static str>) -> u32 {
    let retrying = holdoff::retry_with(policy(), operation).nested(nesting, None).sleeper(VirtualTime::new());
    retrying.call().unwrap_err().attempts()
}

#[test]
fn an_error_that_says_nothing_of_the_inner_retry_is_not_repeated() {
    let requests = Cell::new(0);
    let fails = |attempt: Attempt| {
        let failed = inner(&requests, &attempt, true).map_err(|_| "no page");
        assert!(attempt.given_up());
        failed
    };
    assert_eq!((attempts_of(Nesting::Innermost, fails), requests.take()), (1, 3));
    assert_eq!((attempts_of(Nesting::Allow, fails), requests.take()), (3, 9));
}

#[test]
fn an_answer_that_both_retries_refuse_is_not_repeated() {
    let requests = Cell::new(0);
    let unavailable = |status: &u32| Failure::from_http(*status, None);
    let status = holdoff::retry_with(policy(), |attempt| {
        let get = || {
            requests.set(requests.get() + 1);
            Ok::<_, Down>(503)
        };
        let inner = holdoff::retry(policy(), get).nested(Nesting::Innermost, Some(&attempt)).when_result(unavailable);
        inner.sleeper(VirtualTime::new()).call()
    })
    .when_result(unavailable)
    .nested(Nesting::Innermost, None)
    .sleeper(VirtualTime::new())
    .call();
    assert_eq!((status.unwrap(), requests.get()), (503, 3));
}

#[test]
fn a_later_success_inside_the_same_attempt_clears_the_mark() {
    let requests = Cell::new(0);
    let recovers = |attempt: Attempt| {
        assert!(inner(&requests, &attempt, true).is_err());
        assert!(inner(&requests, &attempt, false).is_ok());
        assert!(!attempt.given_up());
        Err("another matter")
    };
    assert_eq!(attempts_of(Nesting::Innermost, recovers), 3);
}

#[test]
fn the_attempts_inside_are_bounded_by_the_token_of_the_attempt() {
    let requests = Cell::new(0);
    let once = |attempt: Attempt| {
        assert_eq!(attempt.token().unwrap().allowed(), 3);
        let request = || {
            requests.set(requests.get() + 1);
            Err::<(), _>("down")
        };
        let inner = holdoff::retry(policy(), request).nested(Nesting::Outermost, Some(&attempt));
        inner.sleeper(VirtualTime::new()).call().map_err(|_| "no page")
    };
    assert_eq!((attempts_of(Nesting::Outermost, once), requests.get()), (3, 3));
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn awaited_retries_tell_their_attempts_too() {
    let requests = Cell::new(0);
    let stopped = holdoff::retry_with(policy(), async |attempt: Attempt| {
        let request = async || {
            requests.set(requests.get() + 1);
            Err::<(), _>("down")
        };
        let inner = holdoff::retry(policy(), request).nested(Nesting::Innermost, Some(&attempt));
        inner.await.map_err(|_| "no page")
    })
    .nested(Nesting::Innermost, None)
    .await
    .unwrap_err();
    assert_eq!((stopped.attempts(), stopped.reason(), requests.get()), (1, holdoff::core::StopReason::Permanent, 3));
}

#[test]
fn given_up_sees_the_retry_behind_errors_that_keep_their_source() {
    let fails = || holdoff::retry(policy(), || Err::<(), _>(Down)).sleeper(VirtualTime::new()).call().unwrap_err();
    assert!(given_up(&fails()));
    let wrapped = Wrapped(Box::new(std::io::Error::other(Wrapped(Box::new(fails())))));
    assert!(given_up(&wrapped));
    assert!(!given_up(&Wrapped(Box::new(Down))));
    let token = holdoff::CancelToken::new();
    token.cancel();
    let cancelled = holdoff::retry(policy(), || Err::<(), _>(Down)).cancel(&token).call().unwrap_err();
    assert!(!given_up(&cancelled));
    let mut requests = 0;
    let outer = holdoff::retry(policy(), || {
        requests += 1;
        Err::<(), _>(Wrapped(Box::new(fails())))
    });
    assert!(outer.when(|error| !given_up(error)).sleeper(VirtualTime::new()).call().is_err());
    assert_eq!(requests, 1);
}
