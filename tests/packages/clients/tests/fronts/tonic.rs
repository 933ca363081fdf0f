//! Methods of tonic with the tower layer, against a server of tonic that ends calls by a script.

use bytes::{Buf as _, BufMut as _};
use holdoff::classify::clues_of;
use holdoff::core::{Backoff, StopReason};
use holdoff::tower::RetryLayer;
use holdoff::{Failure, Policy, SharedPolicy};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_stream::StreamExt as _;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tower::{ServiceBuilder, service_fn};
use tower_service::Service as _;

/// Messages that are numbers.
struct Numbers;

impl Codec for Numbers {
    type Encode = u32;
    type Decode = u32;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Numbers {
    type Item = u32;
    type Error = Status;

    fn encode(&mut self, number: u32, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_u32(number);
        Ok(())
    }
}

impl Decoder for Numbers {
    type Item = u32;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<u32>, Status> {
        Ok(Some(from.get_u32()))
    }
}

/// How calls end, one after the other: a code, and the pushback beside it. The last one repeats.
type Steps = &'static [(Code, Option<&'static str>)];

/// The script of a server, and how many calls came.
struct Script {
    steps: Steps,
    calls: AtomicUsize,
}

impl Script {
    /// The end of the next call, which came with these numbers.
    fn answer(&self, sum: u32) -> Result<Response<u32>, Status> {
        let at = self.calls.fetch_add(1, Ordering::Relaxed);
        let (code, pushback) = self.steps[at.min(self.steps.len() - 1)];
        if code == Code::Ok {
            return Ok(Response::new(sum));
        }
        let mut status = Status::new(code, "not well");
        if let Some(pushback) = pushback {
            status.metadata_mut().insert("grpc-retry-pushback-ms", pushback.parse().unwrap());
        }
        Err(status)
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

/// Starts a server with the methods `/numbers.Numbers/Unary` and `/numbers.Numbers/Sum`.
async fn serve(steps: Steps) -> (Arc<Script>, Channel) {
    let script = Arc::new(Script { steps, calls: AtomicUsize::default() });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let played = Arc::clone(&script);
    let service = service_fn(move |request: http::Request<tonic::body::Body>| {
        let played = Arc::clone(&played);
        async move {
            let mut grpc = tonic::server::Grpc::new(Numbers);
            let unary = service_fn(async |request: Request<u32>| played.answer(request.into_inner()));
            let sum = service_fn(async |request: Request<Streaming<u32>>| {
                let numbers: Vec<u32> = request.into_inner().collect::<Result<_, _>>().await?;
                played.answer(numbers.iter().sum())
            });
            Ok::<_, Infallible>(match request.uri().path() {
                "/numbers.Numbers/Unary" => grpc.unary(unary, request).await,
                _ => grpc.client_streaming(sum, request).await,
            })
        }
    });
    tokio::spawn(Server::builder().serve_with_incoming(service, TcpIncoming::from(listener)));
    (script, Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy())
}

type Judge = fn(&Request<u32>, Result<&Response<u32>, &Status>) -> Option<Failure>;

fn policy() -> SharedPolicy {
    SharedPolicy::new(
        Policy::options().attempts(3).backoff(Backoff::constant(Duration::from_millis(1))).build().unwrap(),
    )
}

fn copy(request: &Request<u32>) -> Option<Request<u32>> {
    let mut copy = Request::new(*request.get_ref());
    *copy.metadata_mut() = request.metadata().clone();
    Some(copy)
}

fn judge<Q>(_: &Q, answer: Result<&Response<u32>, &Status>) -> Option<Failure> {
    let status = answer.err()?;
    let pushback = status.metadata().get("grpc-retry-pushback-ms").map(|value| value.as_bytes());
    Failure::from_grpc(status.code() as u32, pushback)
}

/// A method that may not run twice.
fn judge_once(request: &Request<u32>, answer: Result<&Response<u32>, &Status>) -> Option<Failure> {
    Some(judge(request, answer)?.if_safe(clues_of(answer.err()?).is_unsent()))
}

/// The method of a generated client.
async fn unary(channel: Channel, request: Request<u32>) -> Result<Response<u32>, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
    client.unary(request, "/numbers.Numbers/Unary".parse().unwrap(), Numbers).await
}

/// The number, or why the call ended, with which code, and after how many attempts.
type End = Result<u32, (StopReason, Code, u32)>;

/// Asks for 7 through the layer; returns the end, and the delays before other attempts.
async fn ask(channel: &Channel, judge: Judge) -> (End, Vec<Duration>) {
    let (channel, delays) = (channel.clone(), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&delays);
    let layer = RetryLayer::new(policy(), copy, judge).on_retry(move |retry| noted.lock().unwrap().push(retry.delay));
    let mut service =
        ServiceBuilder::new().layer(layer).service(service_fn(move |request| unary(channel.clone(), request)));
    let answer = service.call(Request::new(7)).await;
    let end = answer
        .map(Response::into_inner)
        .map_err(|stopped| (stopped.reason(), stopped.error().unwrap().code(), stopped.attempts()));
    let delays = delays.lock().unwrap().clone();
    (end, delays)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_is_made_again_after_a_code_that_passes() {
    let (script, channel) = serve(&[(Code::Unavailable, None), (Code::Unavailable, None), (Code::Ok, None)]).await;
    assert_eq!(ask(&channel, judge).await.0, Ok(7));
    assert_eq!(script.calls(), 3);
    let (script, channel) = serve(&[(Code::Unavailable, None)]).await;
    assert_eq!(ask(&channel, judge).await.0, Err((StopReason::Attempts, Code::Unavailable, 3)));
    assert_eq!(script.calls(), 3);
    let (script, channel) = serve(&[(Code::InvalidArgument, None), (Code::Ok, None)]).await;
    assert_eq!(ask(&channel, judge).await.0, Err((StopReason::Permanent, Code::InvalidArgument, 1)));
    assert_eq!(script.calls(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushback_is_obeyed() {
    let (script, channel) = serve(&[(Code::Unavailable, Some("300")), (Code::Ok, None)]).await;
    let (end, delays) = ask(&channel, judge).await;
    assert_eq!(end, Ok(7));
    // The jitter of the policy comes on top of it.
    assert!(matches!(&delays[..], [delay] if (300..=301).contains(&delay.as_millis())), "{delays:?}");
    assert_eq!(script.calls(), 2);
    // The proposal A6 of gRPC: no call after a negative pushback, or after one that is no number.
    let refusals: [Steps; 2] = [&[(Code::Unavailable, Some("-1"))], &[(Code::Unavailable, Some("soon"))]];
    for steps in refusals {
        let (script, channel) = serve(steps).await;
        assert!(ask(&channel, judge).await.0.is_err());
        assert_eq!(script.calls(), 1, "{steps:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_that_may_not_run_twice_is_called_again_if_it_was_never_sent() {
    let (script, channel) = serve(&[(Code::Unavailable, None), (Code::Ok, None)]).await;
    assert_eq!(ask(&channel, judge_once).await.0, Err((StopReason::Permanent, Code::Unavailable, 1)));
    assert_eq!(script.calls(), 1);
    let (script, channel) = serve(&[(Code::ResourceExhausted, None), (Code::Ok, None)]).await;
    assert_eq!(ask(&channel, judge_once).await.0, Ok(7));
    assert_eq!(script.calls(), 2);
    let closed = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
    assert_eq!(ask(&closed, judge_once).await.0, Err((StopReason::Attempts, Code::Unavailable, 3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_sent_once() {
    type Sums = Request<tokio_stream::Iter<std::vec::IntoIter<u32>>>;
    let (script, channel) = serve(&[(Code::Ok, None), (Code::Unavailable, None)]).await;
    let layer = RetryLayer::new(policy(), |_: &Sums| None, judge);
    let mut service = ServiceBuilder::new().layer(layer).service(service_fn(move |request: Sums| {
        let mut client = tonic::client::Grpc::new(channel.clone());
        async move {
            client.ready().await.map_err(|error| Status::from_error(error.into()))?;
            client.client_streaming(request, "/numbers.Numbers/Sum".parse().unwrap(), Numbers).await
        }
    }));
    let sums = || Request::new(tokio_stream::iter(vec![3, 4]));
    assert_eq!(service.call(sums()).await.unwrap().into_inner(), 7);
    assert_eq!(script.calls(), 1);
    let stopped = service.call(sums()).await.unwrap_err();
    assert_eq!(stopped.error().unwrap().code(), Code::Unavailable);
    assert_eq!(script.calls(), 2);
}
