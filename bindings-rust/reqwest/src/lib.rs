//! Retries the requests of a `reqwest` client, as a middleware of `reqwest-middleware`.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), reqwest_middleware::Error> {
//! use holdoff_reqwest::Retries;
//! use reqwest_middleware::ClientBuilder;
//!
//! let client = ClientBuilder::new(reqwest::Client::new()).with(Retries::default()).build();
//! let page = client.get("https://example.com/").send().await?.error_for_status()?;
//! # Ok(())
//! # }
//! ```
//!
//! GET, HEAD, OPTIONS, PUT, DELETE and TRACE are sent again after every failure that may pass, and so is a request with an
//! `Idempotency-Key` or the extension [`Idempotent`]. Other requests are sent again only after 425, 429, and a failure before anything
//! was sent. A body that cannot be cloned, of a stream or a multipart form, is sent once.
//!
//! The last answer comes out as the client gives it, with a [`GivenUp`] among its extensions, and the last error as the client's own.

mod answer;

use async_trait::async_trait;
use holdoff::classify::{http_failure, request_failure};
use holdoff::core::{FailureKind, Options, PauseConfig, Refusal, Span, StopReason};
use holdoff::guard::KeyedGuards;
use holdoff::{Failure, Policy, SharedGuards};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next};
use std::time::Duration;

/// The most keys for which guards are kept, and how long those of a key that is not used are.
const ORIGINS: usize = 10_000;
const IDLE: Duration = Duration::from_secs(600);
/// The longest time for which a server's `Retry-After` holds up other requests.
const LONGEST_PAUSE: Span = Span::from_secs(60);

/// The longest body of an answer that is read within its attempt, unless [`Retries::body_limit`] says otherwise: 1 MB.
const BODY: usize = 1 << 20;

/// Retries requests by a policy: give it to [`ClientBuilder::with`](reqwest_middleware::ClientBuilder::with), before middlewares that
/// are to see each attempt.
///
/// The requests to an origin (scheme, host and port) share a budget for retries, and obey the origin's `Retry-After` together.
#[derive(Debug)]
pub struct Retries {
    policy: Policy,
    guards: KeyedGuards<String>,
    body_limit: usize,
}

/// An extension of a request, [`RequestBuilder::with_extension`](reqwest_middleware::RequestBuilder::with_extension): whether it may run
/// twice, whatever its method is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Idempotent(pub bool);

/// An extension of each attempt after the first one: how often the request was sent before. OpenTelemetry calls it
/// `http.request.resend_count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResendCount(pub u32);

/// An extension of an answer after which the retries ended without a success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenUp {
    /// Why there was no other attempt.
    pub reason: StopReason,
    /// How many attempts there were.
    pub attempts: u32,
}

/// An extension of each attempt: `Retries` inside pass the request through.
#[derive(Clone, Copy)]
struct Within;

impl Default for Retries {
    /// By the default policy: 3 attempts, full jitter on 100 ms doubled up to 5 s.
    fn default() -> Self {
        Self::new(Policy::default())
    }
}

impl Retries {
    /// By that policy, with the default budget for each origin.
    pub fn new(policy: Policy) -> Self {
        let budget = Options::NEW.budget_of_loops(&policy);
        Self::with_guards(policy, move || {
            let guards = SharedGuards::new().with(PauseConfig::new(LONGEST_PAUSE, Refusal::Wait));
            budget.map_or_else(|| guards.clone(), |budget| guards.clone().with(budget))
        })
    }

    /// By that policy, with these guards for each origin.
    pub fn with_guards(policy: Policy, guards: impl Fn() -> SharedGuards + Send + Sync + 'static) -> Self {
        Self { policy, guards: KeyedGuards::new(ORIGINS, IDLE, guards), body_limit: BODY }
    }

    /// The longest body of an answer, in bytes, that is read within its attempt: then the policy's limits cover the body, and an answer
    /// that breaks off is retried. Longer bodies come out while they are read. 1 MB unless given, 0 for none.
    #[must_use]
    pub const fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }
}

#[async_trait]
impl Middleware for Retries {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response, Error> {
        if extensions.get::<Within>().is_some() {
            return next.run(request, extensions).await;
        }
        let idempotent = match extensions.get() {
            Some(Idempotent(told)) => *told,
            None => request.method().is_idempotent() || request.headers().contains_key("idempotency-key"),
        };
        if request.try_clone().is_none() {
            let mut response = next.run(request, extensions).await?;
            if refused(&response, idempotent).is_some_and(|failure| failure.kind != FailureKind::Permanent) {
                response.extensions_mut().insert(GivenUp { reason: StopReason::Body, attempts: 1 });
            }
            return Ok(response);
        }
        let (original, shared) = (&request, &*extensions);
        let mut ended = None;
        let answer = holdoff::retry_with(&self.policy, |attempt| {
            let (next, mut extensions, mut request) = (next.clone(), shared.clone(), original.try_clone());
            extensions.insert(Within);
            if attempt.number() > 1 {
                extensions.insert(ResendCount(attempt.number() - 1));
            }
            // It goes on while the body is read, where no attempt is dropped any more.
            if let (Some(request), Some(left)) = (&mut request, attempt.time_left()) {
                let own = request.timeout().copied();
                *request.timeout_mut() = Some(own.map_or(left, |own| own.min(left)));
            }
            async move {
                // Always there: a request that was cloned once can be cloned again.
                let request = request.ok_or_else(|| Error::middleware(std::fmt::Error))?;
                answer::read(next.run(request, &mut extensions).await?, self.body_limit).await
            }
        })
        .guards(self.guards.of(request.url().origin().ascii_serialization()))
        .classify(|error| request_failure(error, idempotent))
        .when_result(|response| refused(response, idempotent))
        .on_give_up(|end| ended = Some(GivenUp { reason: end.reason, attempts: end.attempt }))
        .await;
        match (answer, ended) {
            (Ok(mut response), Some(ended)) => {
                response.extensions_mut().insert(ended);
                Ok(response)
            }
            (Ok(response), None) => Ok(response),
            // An attempt at its limit and a guard that refuses leave no error of the client's.
            (Err(stopped), _) if stopped.error().is_none() || stopped.timed_out() => Err(Error::middleware(stopped)),
            (Err(stopped), _) => Err(stopped.into_error().unwrap_or_else(|| Error::middleware(std::fmt::Error))),
        }
    }
}

/// How an answer is a failure; `None` for a success.
fn refused(response: &Response, idempotent: bool) -> Option<Failure> {
    http_failure(response.status().as_u16(), response.headers(), idempotent)
}
