//! A layer that retries the requests of a tower service.

use crate::guards::SharedGuards;
use crate::stopped::Stopped;
use holdoff_core::{Failure, Policy};
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Retries the requests of the services that it wraps.
///
/// `judge` gets each response and each error, and returns how it is a failure; `None` for a success. An error is never a success:
/// `None` makes it permanent. A request is cloned for each attempt, and so is the service after the first one. When the policy
/// stops after a response that is a failure, the caller gets that response.
///
/// ```
/// use holdoff::tower::RetryLayer;
/// use holdoff::{Failure, Policy};
/// use tower_layer::Layer;
///
/// struct Response { status: u32 }
/// # #[derive(Clone)]
/// # struct Client;
/// # let client = Client;
/// let layer = RetryLayer::new(Policy::default(), |answer: Result<&Response, &std::io::Error>| match answer {
///     Ok(response) => Failure::from_http(response.status, None),
///     Err(error) => Some(holdoff::io_failure(error)),
/// });
/// let service = layer.layer(client);
/// ```
pub struct RetryLayer<A, E, F> {
    policy: Policy,
    guards: SharedGuards,
    judge: F,
    answers: PhantomData<fn(&A, &E)>,
}

impl<A, E, F: Fn(Result<&A, &E>) -> Option<Failure>> RetryLayer<A, E, F> {
    /// A layer by that policy.
    pub fn new(policy: Policy, judge: F) -> Self {
        Self { policy, guards: SharedGuards::new(), judge, answers: PhantomData }
    }

    /// With guards that its requests share.
    #[must_use]
    pub fn guards(self, guards: &SharedGuards) -> Self {
        Self { guards: guards.clone(), ..self }
    }
}

impl<A, E, F: Clone> Clone for RetryLayer<A, E, F> {
    fn clone(&self) -> Self {
        Self { policy: self.policy, guards: self.guards.clone(), judge: self.judge.clone(), answers: PhantomData }
    }
}

impl<A, E, F> fmt::Debug for RetryLayer<A, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryLayer").field("guards", &self.guards).finish_non_exhaustive()
    }
}

impl<S, A, E, F: Clone> Layer<S> for RetryLayer<A, E, F> {
    type Service = RetryService<S, A, E, F>;

    fn layer(&self, service: S) -> Self::Service {
        RetryService { service, layer: self.clone() }
    }
}

/// A service whose requests are retried, see [`RetryLayer`].
pub struct RetryService<S, A, E, F> {
    service: S,
    layer: RetryLayer<A, E, F>,
}

impl<S: Clone, A, E, F: Clone> Clone for RetryService<S, A, E, F> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone(), layer: self.layer.clone() }
    }
}

impl<S: fmt::Debug, A, E, F> fmt::Debug for RetryService<S, A, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryService").field("service", &self.service).field("layer", &self.layer).finish()
    }
}

impl<S, Q, A, E, F> Service<Q> for RetryService<S, A, E, F>
where
    S: Service<Q, Response = A, Error = E> + Clone + Send + 'static,
    S::Future: Send,
    Q: Clone + Send + 'static,
    A: Send + 'static,
    E: Send + 'static,
    F: Fn(Result<&A, &E>) -> Option<Failure> + Clone + Send + 'static,
{
    type Response = A;
    type Error = Stopped<E>;
    type Future = Pin<Box<dyn Future<Output = Result<A, Stopped<E>>> + Send>>;

    /// Always ready: each attempt waits until the service is, within its limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Stopped<E>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let (service, RetryLayer { policy, guards, judge, .. }) = (self.service.clone(), self.layer.clone());
        let of_errors = judge.clone();
        let attempt = move || {
            let (mut service, request) = (service.clone(), request.clone());
            async move {
                poll_fn(|context| service.poll_ready(context)).await?;
                service.call(request).await
            }
        };
        let retrying = crate::retry(policy, attempt)
            .classify(move |error| of_errors(Err(error)).unwrap_or(Failure::PERMANENT))
            .when_result(move |response| judge(Ok(response)));
        if guards.is_empty() {
            Box::pin(retrying.into_future())
        } else {
            Box::pin(retrying.guards(guards).into_future())
        }
    }
}
