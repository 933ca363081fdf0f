//! HTTP/2, and gRPC over it.

use super::play::{Fault, Play};
use super::shared::Shared;
use crate::server::connection::Fuse;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use hyper::body::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;

/// How a connection ends because a request asked for it.
#[derive(Clone, Copy)]
enum End {
    /// A `GOAWAY` that names this stream as the last one.
    GoAway(u32),
    /// Nothing more is sent.
    Close,
}

/// Answers requests until the connection ends.
///
/// The `h2` library counts a stream that it has heard of as processed, so a `GOAWAY` below it is written here, after everything
/// that the library has sent.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Send>(stream: S, fuse: Fuse, shared: Arc<Shared>) {
    let (mut from_client, mut to_client) = tokio::io::split(stream);
    let (near, far) = tokio::io::duplex(1 << 16);
    let (mut near_read, mut near_write) = tokio::io::split(near);
    let last = Arc::new(AtomicU32::new(u32::MAX));
    let served = tokio::spawn(speak(far, fuse.clone(), shared, Arc::clone(&last)));
    let down = async {
        let _ = tokio::io::copy(&mut near_read, &mut to_client).await;
        if fuse.is_blown() {
            return;
        }
        let last = last.load(Ordering::Acquire);
        if last != u32::MAX {
            let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
            frame.extend(last.to_be_bytes());
            frame.extend([0; 4]);
            let _ = to_client.write_all(&frame).await;
        }
        let _ = to_client.shutdown().await;
    };
    let up = async {
        let _ = tokio::io::copy(&mut from_client, &mut near_write).await;
        let _ = near_write.shutdown().await;
        // An unread byte would turn the end of the connection into a reset, and hide the frame before it.
        let _ = tokio::io::copy(&mut from_client, &mut tokio::io::sink()).await;
    };
    tokio::pin!(up);
    tokio::select! {
        () = down => if !fuse.is_blown() { up.await },
        () = &mut up => {}
    }
    served.abort();
}

async fn speak(stream: DuplexStream, fuse: Fuse, shared: Arc<Shared>, last: Arc<AtomicU32>) {
    let number = shared.connection();
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let (ends, mut ended) = mpsc::unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let (fuse, shared, ends) = (fuse.clone(), Arc::clone(&shared), ends.clone());
                tokio::spawn(async move {
                    let mut respond = respond;
                    if let Some(end) = answer(request, &mut respond, &fuse, &shared, number).await {
                        // A response that is dropped would reset its stream before the connection ends.
                        let _ = ends.send((end, respond));
                    }
                });
            }
            Some((end, _respond)) = ended.recv() => {
                if let End::GoAway(stream) = end {
                    last.store(stream, Ordering::Release);
                }
                return;
            }
        }
    }
}

/// Answers a request; the end of the connection if it asks for one.
async fn answer(
    request: Request<RecvStream>,
    respond: &mut SendResponse<Bytes>,
    fuse: &Fuse,
    shared: &Shared,
    connection: u64,
) -> Option<End> {
    let (head, mut incoming) = request.into_parts();
    let target = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let mut play = Play::read(target);
    for name in ["id", "times", "pushback"] {
        if let Some(value) = head.headers.get(name).and_then(|value| value.to_str().ok()) {
            play.set(name, value);
        }
    }
    let mut length = 0;
    while let Some(Ok(data)) = incoming.data().await {
        length += data.len();
        let _ = incoming.flow_control().release_capacity(data.len());
    }
    if let Some(id) = play.path.strip_prefix("/seen/") {
        send_all(respond, &play, 200, shared.seen(id), false);
        return None;
    }
    let Some(fault) = play.fault else {
        send_all(respond, &play, 404, "no such path\n".to_owned(), false);
        return None;
    };
    let failed = shared.arrive(&play, head.method.as_str(), length, connection);
    match fault {
        Fault::Grpc(code) => grpc(respond, &play, if failed { code } else { 0 }),
        _ if !failed => send_all(respond, &play, 200, play.body(false), false),
        Fault::Status(status) => send_all(respond, &play, status, play.body(true), true),
        Fault::Slow(time) => {
            tokio::time::sleep(time).await;
            send_all(respond, &play, 200, play.body(false), true);
        }
        Fault::Rst(code) => respond.send_reset(Reason::from(code)),
        Fault::GoAway => return Some(End::GoAway(u32::from(respond.stream_id()).saturating_sub(2))),
        Fault::Reset => {
            fuse.blow();
            return Some(End::Close);
        }
        Fault::Close => return Some(End::Close),
        Fault::Stall => {
            let _ = std::future::poll_fn(|context| respond.poll_reset(context)).await;
        }
        Fault::StallBody | Fault::ResetBody => {
            let Ok(mut body) = respond.send_response(with_lines(&play, 200, true), false) else { return None };
            let _ = body.send_data(Bytes::from_static(&[b'.'; 1024]), false);
            if fault == Fault::ResetBody {
                body.send_reset(Reason::INTERNAL_ERROR);
            } else {
                let _ = std::future::poll_fn(|context| body.poll_reset(context)).await;
            }
        }
        Fault::Endless(_)
        | Fault::Truncated
        | Fault::CutChunk
        | Fault::Gzip
        | Fault::Malformed
        | Fault::Redirects
        | Fault::KeepAlive => send_all(respond, &play, 505, "only over HTTP/1.1\n".to_owned(), false),
    }
    None
}

fn with_lines(play: &Play, status: u16, failed: bool) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in play.lines(failed) {
        if let (Ok(name), Ok(value)) = (http::HeaderName::try_from(name), http::HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

fn send_all(respond: &mut SendResponse<Bytes>, play: &Play, status: u16, body: String, failed: bool) {
    if let Ok(mut stream) = respond.send_response(with_lines(play, status, failed), false) {
        let _ = stream.send_data(body.into(), true);
    }
}

/// An empty message and OK, or a code alone.
fn grpc(respond: &mut SendResponse<Bytes>, play: &Play, code: u8) {
    let mut response = with_lines(play, 200, code != 0);
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/grpc"));
    let status = http::HeaderValue::from(u16::from(code));
    if code != 0 {
        response.headers_mut().insert("grpc-status", status);
        response.headers_mut().insert("grpc-message", http::HeaderValue::from_static("not well"));
        let _ = respond.send_response(response, true);
    } else if let Ok(mut stream) = respond.send_response(response, false) {
        let _ = stream.send_data(Bytes::from_static(&[0; 5]), false);
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", status);
        let _ = stream.send_trailers(trailers);
    }
}
