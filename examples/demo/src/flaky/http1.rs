//! HTTP/1.1, written byte by byte: no library would send what these answers are.

use super::play::{Fault, Play};
use super::shared::Shared;
use crate::server::connection::Fuse;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The body of answers that end inside it, and the part that is sent.
const BODY: usize = 4096;
const PART: &[u8] = &[b'.'; BODY / 4];
/// Longer heads and bodies of requests are refused.
const LONGEST: usize = 1 << 24;

/// A request, its body already counted.
struct Request {
    method: String,
    target: String,
    body: usize,
    closes: bool,
}

/// Answers requests until the connection ends.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, fuse: Fuse, shared: Arc<Shared>) {
    let number = shared.connection();
    let mut buffer = Vec::new();
    let mut answered = 0;
    // How a connection ends is the client's business, or was asked for.
    while let Ok(Some(request)) = read(&mut stream, &mut buffer).await {
        if !matches!(answer(&mut stream, &fuse, &shared, &request, (number, answered)).await, Ok(true)) {
            break;
        }
        if request.closes {
            break;
        }
        answered += 1;
    }
    let _ = stream.shutdown().await;
}

/// The next request; none at the end of the connection.
async fn read<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
    let invalid = |error: httparse::Error| io::Error::new(io::ErrorKind::InvalidData, error);
    let (mut request, head, length, expects) = loop {
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let mut parsed = httparse::Request::new(&mut headers);
        if let httparse::Status::Complete(head) = parsed.parse(buffer).map_err(invalid)? {
            let header = |name: &str| {
                let found = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
                found.and_then(|header| std::str::from_utf8(header.value).ok()).unwrap_or("")
            };
            let length = if header("transfer-encoding").eq_ignore_ascii_case("chunked") {
                None
            } else {
                Some(header("content-length").trim().parse::<usize>().unwrap_or(0))
            };
            let request = Request {
                method: parsed.method.unwrap_or("").to_owned(),
                target: parsed.path.unwrap_or("/").to_owned(),
                body: 0,
                closes: header("connection").eq_ignore_ascii_case("close") || parsed.version == Some(0),
            };
            break (request, head, length, header("expect").eq_ignore_ascii_case("100-continue"));
        }
        if !more(stream, buffer).await? {
            return Ok(None);
        }
    };
    buffer.drain(..head);
    if expects {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    match length {
        Some(length) => {
            take(stream, buffer, length).await?;
            request.body = length;
        }
        None => loop {
            let (skip, size) = loop {
                match httparse::parse_chunk_size(buffer) {
                    Ok(httparse::Status::Complete(found)) => break found,
                    Ok(httparse::Status::Partial) if more(stream, buffer).await? => {}
                    _ => return Ok(None),
                }
            };
            let size = usize::try_from(size).unwrap_or(LONGEST);
            take(stream, buffer, skip + size + 2).await?;
            request.body += size;
            if size == 0 {
                break;
            }
        },
    }
    Ok(Some(request))
}

/// Reads and forgets so many bytes.
async fn take<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>, length: usize) -> io::Result<()> {
    while buffer.len() < length {
        if !more(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    buffer.drain(..length);
    Ok(())
}

/// Reads more bytes; false at the end of the connection.
async fn more<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut Vec<u8>) -> io::Result<bool> {
    if buffer.len() > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(stream.read_buf(buffer).await? > 0)
}

/// Answers a request; false to end the connection.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    fuse: &Fuse,
    shared: &Shared,
    request: &Request,
    (connection, answered): (u64, u32),
) -> io::Result<bool> {
    let play = Play::read(&request.target);
    let head_only = request.method == "HEAD";
    if request.method == "OPTIONS" {
        // A page asks first whether it may.
        let allowed =
            "access-control-allow-origin: *\r\naccess-control-allow-methods: *\r\naccess-control-allow-headers: *\r\n";
        stream.write_all(format!("HTTP/1.1 204 No Content\r\n{allowed}\r\n").as_bytes()).await?;
        return Ok(true);
    }
    if let Some(id) = play.path.strip_prefix("/seen/") {
        return send_all(stream, &play, 200, &shared.seen(id), (false, head_only)).await;
    }
    let Some(fault) = play.fault else {
        return send_all(stream, &play, 404, "no such path\n", (false, head_only)).await;
    };
    let failed = shared.arrive(&play, &request.method, request.body, connection);
    if !failed {
        return send_all(stream, &play, 200, &play.body(false), (false, head_only)).await;
    }
    let lines = |status: u16, more: &str| {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in play.lines(true) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head + more + "\r\n"
    };
    match fault {
        Fault::Status(status) => return send_all(stream, &play, status, &play.body(true), (true, head_only)).await,
        Fault::Endless(status) => {
            stream.write_all(lines(status, "connection: close\r\n").as_bytes()).await?;
            while stream.write_all(PART).await.is_ok() {}
        }
        Fault::Slow(time) => {
            tokio::time::sleep(time).await;
            return send_all(stream, &play, 200, &play.body(false), (true, head_only)).await;
        }
        Fault::Redirects => {
            let head = lines(302, &format!("location: {}\r\ncontent-length: 0\r\n", request.target));
            stream.write_all(head.as_bytes()).await?;
            return Ok(true);
        }
        Fault::KeepAlive if answered == 0 => {
            return send_all(stream, &play, 200, &play.body(false), (true, head_only)).await;
        }
        Fault::Reset | Fault::KeepAlive => fuse.blow(),
        Fault::Close => {}
        Fault::ResetBody | Fault::Truncated | Fault::StallBody => {
            stream.write_all(lines(200, &format!("content-length: {BODY}\r\n")).as_bytes()).await?;
            stream.write_all(PART).await?;
            stream.flush().await?;
            match fault {
                Fault::ResetBody => fuse.blow(),
                Fault::StallBody => until_closed(stream).await,
                _ => {}
            }
        }
        Fault::CutChunk => {
            stream.write_all(lines(200, "transfer-encoding: chunked\r\n").as_bytes()).await?;
            stream.write_all(b"1000\r\n").await?;
            stream.write_all(PART).await?;
        }
        Fault::Stall => until_closed(stream).await,
        Fault::Gzip => {
            let body = b"\x1f\x8b\x08\x00this is no gzip at all";
            let more = format!("content-encoding: gzip\r\ncontent-length: {}\r\n", body.len());
            stream.write_all(lines(200, &more).as_bytes()).await?;
            stream.write_all(body).await?;
            return Ok(true);
        }
        Fault::Malformed => stream.write_all(b"HTTP/1.1 banana\r\nthis is no header\r\n\r\n").await?,
        Fault::Rst(_) | Fault::GoAway | Fault::Grpc(_) => {
            return send_all(stream, &play, 505, "only over HTTP/2\n", (false, head_only)).await;
        }
    }
    stream.flush().await?;
    Ok(false)
}

/// Waits for the client to end the connection.
async fn until_closed<S: AsyncRead + Unpin>(stream: &mut S) {
    let mut ignored = [0; 1024];
    while matches!(stream.read(&mut ignored).await, Ok(1..)) {}
}

/// Sends an answer to its end.
async fn send_all<S: AsyncWrite + Unpin>(
    stream: &mut S,
    play: &Play,
    status: u16,
    body: &str,
    (failed, head_only): (bool, bool),
) -> io::Result<bool> {
    let mut answer = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in play.lines(failed) {
        let _ = write!(answer, "{name}: {value}\r\n");
    }
    if matches!(status, 204 | 304) {
        answer += "\r\n";
    } else {
        let _ = write!(answer, "content-length: {}\r\n\r\n{}", body.len(), if head_only { "" } else { body });
    }
    stream.write_all(answer.as_bytes()).await?;
    stream.flush().await?;
    Ok(true)
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Odd")
}
