//! The flaky server: what it does with a request depends on the path and on how many came before.
//!
//! Every caller has its own first segment of the path (`/python/busy`), and with it its own script and its own count: the
//! hosts run side by side, and a client that sends a request nobody asked for is caught.

use crate::plan::{Answer, Path};
use http_body_util::channel::Channel;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Component, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;

pub(crate) mod connection;
use connection::{Connection, Fuse};

/// A running server. It stops with the runtime it was started in.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    paths: Vec<Path>,
    /// Files for the browser, below `/app/`.
    files: Option<PathBuf>,
    /// Requests so far, by caller and path.
    requests: Mutex<BTreeMap<(String, String), u32>>,
}

type Body = BoxBody<Bytes, io::Error>;

impl Server {
    /// Starts to answer on a free port of the loopback interface.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(paths: Vec<Path>, files: Option<PathBuf>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { paths, files, requests: Mutex::default() });
        tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared })
    }

    /// The address that a caller puts before its paths.
    #[must_use]
    pub fn base(&self, caller: &str) -> String {
        format!("http://{}/{caller}", self.address)
    }

    /// How many requests for a path came from a caller.
    #[must_use]
    pub fn requests(&self, caller: &str, path: &str) -> u32 {
        let requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.get(&(caller.to_owned(), path.to_owned())).copied().unwrap_or(0)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        // A refused accept (no descriptors left) passes when other connections end.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let fuse = Fuse::default();
        let connection = TokioIo::new(Connection::new(stream, fuse.clone()));
        let shared = Arc::clone(&shared);
        let service = hyper::service::service_fn(move |request| {
            let (shared, fuse) = (Arc::clone(&shared), fuse.clone());
            async move { Ok::<_, std::convert::Infallible>(shared.handle(&request, fuse).await) }
        });
        // How a connection ends is the client's business, or was scripted.
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().keep_alive(false).serve_connection(connection, service),
        );
    }
}

impl Shared {
    async fn handle(&self, request: &Request<Incoming>, fuse: Fuse) -> Response<Body> {
        let whole = request.uri().path();
        if let Some(name) = whole.strip_prefix("/app/") {
            return self.file(name).await;
        }
        let rest = whole.trim_start_matches('/');
        let (caller, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
        let Some(script) = self.paths.iter().find(|script| script.path == path) else {
            return text(StatusCode::NOT_FOUND, "no such path\n");
        };
        let answer = script.answer(self.count(caller, path));
        match answer {
            Answer::Status(status) => empty_response(status),
            Answer::RetryAfter(status, seconds) => {
                let mut response = empty_response(status);
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
                response
            }
            Answer::Cut => cut(fuse),
            Answer::Slow(delay) => {
                tokio::time::sleep(delay).await;
                empty_response(200)
            }
        }
    }

    /// The number of this request, from 1.
    fn count(&self, caller: &str, path: &str) -> u32 {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry((caller.to_owned(), path.to_owned())).or_default();
        *count = count.saturating_add(1);
        *count
    }

    async fn file(&self, name: &str) -> Response<Body> {
        let name = std::path::Path::new(name);
        let inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        let Some(folder) = self.files.as_deref().filter(|_| inside) else {
            return text(StatusCode::NOT_FOUND, "no such file\n");
        };
        let Ok(content) = tokio::fs::read(folder.join(name)).await else {
            return text(StatusCode::NOT_FOUND, "no such file\n");
        };
        let kind = match name.extension().and_then(|extension| extension.to_str()) {
            Some("html") => "text/html; charset=utf-8",
            Some("js" | "mjs") => "text/javascript; charset=utf-8",
            Some("wasm") => "application/wasm",
            _ => "application/octet-stream",
        };
        let mut response = text(StatusCode::OK, content);
        response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
        response
    }
}

fn empty_response(status: u16) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    text(status, if status.is_success() { "well\n" } else { "not well\n" })
}

fn text(status: StatusCode, content: impl Into<Bytes>) -> Response<Body> {
    respond(status, Full::new(content.into()).map_err(|never| match never {}).boxed())
}

/// A quarter of the body, a pause in which the client gets to read it, and a reset.
fn cut(fuse: Fuse) -> Response<Body> {
    let (mut sender, body) = Channel::new(1);
    tokio::spawn(async move {
        if sender.send_data(Bytes::from_static(&[b'.'; 1024])).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            fuse.blow();
            sender.abort(io::ErrorKind::ConnectionReset.into());
        }
    });
    let mut response = respond(StatusCode::OK, body.boxed());
    response.headers_mut().insert(CONTENT_LENGTH, 4096.into());
    response
}

fn respond(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    // A client that reuses a connection may send a request again on its own when that connection breaks.
    response.headers_mut().insert(CONNECTION, hyper::header::HeaderValue::from_static("close"));
    response.headers_mut().insert(CACHE_CONTROL, hyper::header::HeaderValue::from_static("no-store"));
    response
}
