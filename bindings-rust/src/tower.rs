//! A layer that retries the requests of a tower service.

use crate::cancel::CancelToken;
use crate::guards::SharedGuards;
use crate::handler::{Begun, GaveUp, Handler, Retried, Succeeded};
use crate::shared_policy::SharedPolicy;
use crate::stopped::Stopped;
use holdoff_core::Failure;
use std::fmt;
use std::future::{pending, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Retries the requests of the services that it wraps, by a policy whose budget they share.
///
/// `clone_request` makes the request of each attempt: `|request| Some(request.clone())`, or `reqwest::Request::try_clone`. A request for
/// which it returns `None`, because its body is a stream, is sent once, and its answer comes out unjudged.
///
/// `judge` gets the request with each response and each error, and returns how it is a failure; `None` for a success. An error is
/// never a success: `None` makes it permanent. When the policy stops after a response that is a failure, the caller gets that response.
/// The service is cloned for each attempt.
///
/// ```
/// use holdoff::tower::RetryLayer;
/// use holdoff::{Failure, Policy, SharedPolicy};
/// use tower_layer::Layer;
///
/// # #[derive(Clone)]
/// struct Request { method: &'static str }
/// struct Response { status: u32 }
/// # #[derive(Clone)]
/// # struct Client;
/// # let client = Client;
/// let layer = RetryLayer::new(
///     SharedPolicy::new(Policy::default()),
///     |request: &Request| Some(request.clone()),
///     |request: &Request, answer: Result<&Response, &std::io::Error>| match answer {
///         Ok(response) => Failure::from_http(response.status, None).map(|failure| failure.if_safe(request.method == "GET")),
///         Err(error) => Some(holdoff::classify::io_failure(error)),
///     },
/// )
/// .name("search")
/// .on_retry(|retry| eprintln!("{} failed, next in {:?}", retry.operation, retry.delay));
/// let service = layer.layer(client);
/// ```
pub struct RetryLayer<Q, A, E, K, F> {
    policy: Arc<SharedPolicy>,
    guards: SharedGuards,
    cancel: Option<CancelToken>,
    name: Option<&'static str>,
    hooks: Hooks<E>,
    clone_request: K,
    judge: F,
    of: PhantomData<fn(&Q, &A, &E)>,
}

impl<Q, A, E, K, F> RetryLayer<Q, A, E, K, F>
where
    K: Fn(&Q) -> Option<Q>,
    F: Fn(&Q, Result<&A, &E>) -> Option<Failure>,
{
    /// A layer by that policy, which other layers and calls may share.
    pub fn new(policy: impl Into<Arc<SharedPolicy>>, clone_request: K, judge: F) -> Self {
        let (policy, guards, hooks) = (policy.into(), SharedGuards::new(), Hooks::default());
        Self { policy, guards, cancel: None, name: None, hooks, clone_request, judge, of: PhantomData }
    }

    /// With guards that its requests share. A budget among them takes the place of the policy's; without one they get a budget like it.
    #[must_use]
    pub fn guards(self, guards: &SharedGuards) -> Self {
        let config = self.policy.budget_config().filter(|_| guards.budget().is_none());
        let guards = config.map_or_else(|| guards.clone(), |config| guards.clone().with(config));
        Self { guards, ..self }
    }

    /// Stops its requests when the token is cancelled.
    #[must_use]
    pub fn cancel(self, token: &CancelToken) -> Self {
        Self { cancel: Some(token.clone()), ..self }
    }

    /// Names its requests in events.
    #[must_use]
    pub fn name(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Tells `hook` of each attempt that is about to begin.
    #[must_use]
    pub fn on_attempt(mut self, hook: impl Fn(&Begun) + Send + Sync + 'static) -> Self {
        self.hooks.begun = Some(Arc::new(hook));
        self
    }

    /// Tells `hook` of each retry, before its sleep.
    #[must_use]
    pub fn on_retry(mut self, hook: impl Fn(&Retried<'_, E>) + Send + Sync + 'static) -> Self {
        self.hooks.retried = Some(Arc::new(hook));
        self
    }

    /// Tells `hook` of the attempt that succeeds.
    #[must_use]
    pub fn on_success(mut self, hook: impl Fn(&Succeeded) + Send + Sync + 'static) -> Self {
        self.hooks.succeeded = Some(Arc::new(hook));
        self
    }

    /// Tells `hook` of the end of a request without a success.
    #[must_use]
    pub fn on_give_up(mut self, hook: impl Fn(&GaveUp<'_, E>) + Send + Sync + 'static) -> Self {
        self.hooks.gave_up = Some(Arc::new(hook));
        self
    }
}

impl<Q, A, E, K: Clone, F: Clone> Clone for RetryLayer<Q, A, E, K, F> {
    fn clone(&self) -> Self {
        Self {
            policy: Arc::clone(&self.policy),
            guards: self.guards.clone(),
            cancel: self.cancel.clone(),
            name: self.name,
            hooks: self.hooks.clone(),
            clone_request: self.clone_request.clone(),
            judge: self.judge.clone(),
            of: PhantomData,
        }
    }
}

impl<Q, A, E, K, F> fmt::Debug for RetryLayer<Q, A, E, K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryLayer").field("name", &self.name).field("guards", &self.guards).finish_non_exhaustive()
    }
}

impl<S, Q, A, E, K: Clone, F: Clone> Layer<S> for RetryLayer<Q, A, E, K, F> {
    type Service = RetryService<S, Q, A, E, K, F>;

    fn layer(&self, service: S) -> Self::Service {
        RetryService { service, layer: self.clone() }
    }
}

/// A service whose requests are retried, see [`RetryLayer`].
pub struct RetryService<S, Q, A, E, K, F> {
    service: S,
    layer: RetryLayer<Q, A, E, K, F>,
}

impl<S: Clone, Q, A, E, K: Clone, F: Clone> Clone for RetryService<S, Q, A, E, K, F> {
    fn clone(&self) -> Self {
        Self { service: self.service.clone(), layer: self.layer.clone() }
    }
}

impl<S: fmt::Debug, Q, A, E, K, F> fmt::Debug for RetryService<S, Q, A, E, K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryService").field("service", &self.service).field("layer", &self.layer).finish()
    }
}

impl<S, Q, A, E, K, F> Service<Q> for RetryService<S, Q, A, E, K, F>
where
    S: Service<Q, Response = A, Error = E> + Clone + Send + 'static,
    S::Future: Send,
    Q: Send + 'static,
    A: Send + 'static,
    E: Send + 'static,
    K: Fn(&Q) -> Option<Q> + Clone + Send + 'static,
    F: Fn(&Q, Result<&A, &E>) -> Option<Failure> + Clone + Send + 'static,
{
    type Response = A;
    type Error = Stopped<E>;
    type Future = Pin<Box<dyn Future<Output = Result<A, Stopped<E>>> + Send>>;

    /// Always ready: each attempt waits until the service is, within its limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Stopped<E>>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let (service, layer) = (self.service.clone(), self.layer.clone());
        let RetryLayer { policy, guards, cancel, name, hooks, clone_request, judge, .. } = layer;
        // Here as long as other attempts can follow; the last possible one takes it.
        let original = Arc::new(Original(Mutex::new(Some(request))));
        let (of_errors, judge_errors) = (Arc::clone(&original), judge.clone());
        let of_responses = Arc::clone(&original);
        let attempt = move || {
            let (mut service, request) = (service.clone(), original.next(&clone_request));
            async move {
                // An attempt beside the only one that there can be.
                let Some(request) = request else { return pending().await };
                poll_fn(|context| service.poll_ready(context)).await?;
                service.call(request).await
            }
        };
        let classify = move |error: &E| of_errors.judged(|request| judge_errors(request, Err(error)));
        let refuse = move |response: &A| of_responses.judged(|request| judge(request, Ok(response)));
        Box::pin(async move {
            macro_rules! run {
                ($retrying:expr) => {{
                    let classify = move |error: &E| classify(error).unwrap_or(Failure::PERMANENT);
                    let mut retrying = $retrying.classify(classify).when_result(refuse).with(hooks);
                    retrying.settings.cancel = cancel.as_ref().map(CancelToken::cancelled);
                    if let Some(name) = name {
                        retrying.settings.name = name;
                    }
                    retrying.await
                }};
            }
            if guards.is_empty() {
                run!(policy.retry(attempt))
            } else {
                run!(crate::retry(policy.policy(), attempt).guards(guards))
            }
        })
    }
}

/// The request that attempts are made from.
struct Original<Q>(Mutex<Option<Q>>);

impl<Q> Original<Q> {
    /// The request of the next attempt: a clone, or the request itself if it cannot be cloned.
    fn next(&self, clone_request: impl Fn(&Q) -> Option<Q>) -> Option<Q> {
        let mut original = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let clone = original.as_ref().and_then(clone_request);
        clone.or_else(|| original.take())
    }

    /// How an answer to it is a failure; `None` when the request is gone.
    fn judged(&self, judge: impl FnOnce(&Q) -> Option<Failure>) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(judge)
    }
}

type EventHook<T> = Option<Arc<dyn Fn(&T) + Send + Sync>>;
type RetryHook<E> = Option<Arc<dyn Fn(&Retried<'_, E>) + Send + Sync>>;
type EndHook<E> = Option<Arc<dyn Fn(&GaveUp<'_, E>) + Send + Sync>>;

/// The hooks of a layer.
struct Hooks<E> {
    begun: EventHook<Begun>,
    retried: RetryHook<E>,
    succeeded: EventHook<Succeeded>,
    gave_up: EndHook<E>,
}

impl<E> Default for Hooks<E> {
    fn default() -> Self {
        Self { begun: None, retried: None, succeeded: None, gave_up: None }
    }
}

impl<E> Clone for Hooks<E> {
    fn clone(&self) -> Self {
        let Self { begun, retried, succeeded, gave_up } = self;
        let (begun, retried) = (begun.clone(), retried.clone());
        Self { begun, retried, succeeded: succeeded.clone(), gave_up: gave_up.clone() }
    }
}

impl<T, E> Handler<T, E> for Hooks<E> {
    fn listens(&self) -> bool {
        let Self { begun, retried, succeeded, gave_up } = self;
        begun.is_some() || retried.is_some() || succeeded.is_some() || gave_up.is_some()
    }

    fn begun(&mut self, event: &Begun) {
        self.begun.iter().for_each(|hook| hook(event));
    }

    fn retried(&mut self, event: &Retried<'_, E>) {
        self.retried.iter().for_each(|hook| hook(event));
    }

    fn succeeded(&mut self, event: &Succeeded) {
        self.succeeded.iter().for_each(|hook| hook(event));
    }

    fn gave_up(&mut self, event: &GaveUp<'_, E>) {
        self.gave_up.iter().for_each(|hook| hook(event));
    }
}
