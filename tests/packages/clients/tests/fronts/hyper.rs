//! The client of `hyper-util` with the tower layer, which reads each body in its attempt.

use super::{Ask, End, play};
use futures_util::stream;
use holdoff::SharedPolicy;
use holdoff::classify::{http_failure, request_failure};
use holdoff::tower::RetryLayer;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tower::{ServiceBuilder, service_fn};
use tower_service::Service as _;

type Body = Either<Full<Bytes>, UnsyncBoxBody<Bytes, Infallible>>;
type Failed = Box<dyn Error + Send + Sync>;

fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let Either::Left(body) = request.body() else { return None };
    let mut copy = Request::new(Either::Left(body.clone()));
    *copy.method_mut() = request.method().clone();
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    Some(copy)
}

async fn ask(ask: Ask) -> End {
    let attempts = Arc::new(AtomicU32::new(0));
    let (counted, idempotent) = (Arc::clone(&attempts), ask.is_idempotent());
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let whole = service_fn(move |request| {
        let (client, counted) = (client.clone(), Arc::clone(&counted));
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            let (head, body) = client.request(request).await?.into_parts();
            Ok::<_, Failed>(Response::from_parts(head, body.collect().await?.to_bytes()))
        }
    });
    let layer = RetryLayer::new(
        SharedPolicy::new(ask.policy()),
        copy,
        move |_: &Request<Body>, answer: Result<&Response<Bytes>, &Failed>| match answer {
            Ok(answer) => http_failure(answer.status().as_u16(), answer.headers(), idempotent),
            Err(error) => Some(request_failure(&**error, idempotent)),
        },
    );
    let body = match (ask.has("body"), ask.has("stream")) {
        (_, true) => Either::Right(StreamBody::new(stream::iter([Ok(Frame::data("paid".into()))])).boxed_unsync()),
        (has, _) => Either::Left(Full::from(if has { "paid" } else { "" })),
    };
    let request = Request::builder().method(ask.method).uri(&ask.url).body(body).unwrap();
    let answer = ServiceBuilder::new().layer(layer).service(whole).call(request).await;
    let attempts = attempts.load(Ordering::Relaxed);
    match answer {
        Ok(answer) => {
            let body = String::from_utf8(answer.body().to_vec()).unwrap();
            End { status: Some(answer.status().as_u16()), reason: None, attempts, body }
        }
        Err(_) => End { status: None, reason: None, attempts, body: String::new() },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_arrives_as_often_as_it_may() {
    play("hyper", false, &["cuts", "follows", "form", "unread"], ask).await;
}
