//! `holdoff-reqwest`.

use super::{Ask, End, play};
use demo::flaky::Flaky;
use holdoff::Policy;
use holdoff::core::{Backoff, StopReason};
use holdoff_reqwest::{GivenUp, Idempotent, ResendCount, Retries};
use reqwest::multipart::Form;
use reqwest::{Body, Client, Request, Response};
use reqwest_middleware::{ClientBuilder, Error, Middleware, Next};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Counts = Arc<Mutex<Vec<Option<ResendCount>>>>;

/// A middleware below, such as one of tracing.
struct Noted(Counts);

#[async_trait::async_trait]
impl Middleware for Noted {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut http::Extensions,
        next: Next<'_>,
    ) -> Result<Response, Error> {
        self.0.lock().unwrap().push(extensions.get().copied());
        next.run(request, extensions).await
    }
}

async fn ask(ask: Ask) -> End {
    let retries = Retries::new(ask.policy());
    let retries = if ask.has("unread") { retries.body_limit(0) } else { retries };
    let counts = Counts::default();
    let bare = Client::builder().no_proxy().build().unwrap();
    let client = ClientBuilder::new(bare).with(retries).with(Noted(Arc::clone(&counts))).build();
    let mut request = client.request(ask.method.parse().unwrap(), &ask.url);
    for option in ask.options {
        request = match *option {
            "body" => request.body("paid"),
            "stream" => request.body(Body::wrap_stream(futures_util::stream::iter([Ok::<_, Error>("paid")]))),
            "form" => request.multipart(Form::new().text("field", "paid")),
            "key" => request.header("Idempotency-Key", "1"),
            "idempotent" => request.with_extension(Idempotent(true)),
            "once" => request.with_extension(Idempotent(false)),
            _ => request,
        };
    }
    let answer = request.send().await;
    let attempts = counts.lock().unwrap().len().try_into().unwrap();
    let Ok(answer) = answer else { return End { status: None, reason: None, attempts, body: String::new() } };
    assert_eq!(answer.url().as_str() == ask.url, !ask.has("follows"), "{}", answer.url());
    let ended = answer.extensions().get::<GivenUp>().copied();
    assert!(ended.is_none_or(|ended| ended.attempts == attempts), "{ended:?}");
    let (status, reason) = (Some(answer.status().as_u16()), ended.map(|ended| ended.reason));
    End { status, reason, attempts, body: answer.text().await.unwrap_or_else(|_| "error".to_owned()) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_arrives_as_often_as_it_may() {
    play("reqwest", true, &[], ask).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_below_knows_how_often_it_was_sent_before() {
    let flaky = Flaky::start().await.unwrap();
    let counts = Counts::default();
    let policy = *Policy::options().backoff(Backoff::constant(Duration::from_millis(1)));
    let client = ClientBuilder::new(Client::builder().no_proxy().build().unwrap())
        .with(Retries::new(policy.build().unwrap()))
        .with(Noted(Arc::clone(&counts)))
        .build();
    let url = flaky.expand("{http}/status/503?times=2&id=reqwest-count");
    assert_eq!(client.get(url).send().await.unwrap().status(), 200);
    assert_eq!(*counts.lock().unwrap(), [None, Some(ResendCount(1)), Some(ResendCount(2))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_comes_out_as_the_clients_own_error() {
    let flaky = Flaky::start().await.unwrap();
    let policy = *Policy::options().backoff(Backoff::constant(Duration::from_millis(1)));
    let bare = Client::builder().no_proxy().build().unwrap();
    let client = ClientBuilder::new(bare).with(Retries::new(policy.build().unwrap())).build();
    let error = client.post(flaky.expand("{closed}/")).body("paid").send().await.unwrap_err();
    assert!(matches!(&error, Error::Reqwest(error) if error.is_connect()), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_front_in_a_front_is_one_front() {
    let flaky = Flaky::start().await.unwrap();
    let policy = Policy::options().backoff(Backoff::constant(Duration::from_millis(1))).build().unwrap();
    let counts = Counts::default();
    let client = ClientBuilder::new(Client::builder().no_proxy().build().unwrap())
        .with(Retries::new(policy))
        .with(Retries::new(policy))
        .with(Noted(Arc::clone(&counts)))
        .build();
    let answer = client.get(flaky.expand("{http}/status/503?id=reqwest-twice")).send().await.unwrap();
    let ended = answer.extensions().get::<GivenUp>().unwrap();
    assert_eq!((ended.reason, ended.attempts), (StopReason::Attempts, 3));
    assert_eq!(counts.lock().unwrap().len(), 3);
}

/// reqwest itself repeats what a server of HTTP/2 has refused, within each attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_attempt_is_one_request_without_the_retries_of_reqwest() {
    let flaky = Flaky::start().await.unwrap();
    let policy = Policy::options().backoff(Backoff::constant(Duration::from_millis(1))).build().unwrap();
    for (name, own, requests) in [("own", true, 9), ("never", false, 3)] {
        let bare = Client::builder().no_proxy().http2_prior_knowledge();
        let bare = if own { bare } else { bare.retry(reqwest::retry::never()) };
        let client = ClientBuilder::new(bare.build().unwrap()).with(Retries::new(policy)).build();
        let name = format!("reqwest-refused-{name}");
        let refused = client.post(flaky.expand(&format!("{{h2c}}/rst/7?id={name}"))).body("paid").send().await;
        assert!(refused.is_err());
        assert_eq!(super::seen(&flaky, &name).await[0], requests, "{name}");
    }
}
