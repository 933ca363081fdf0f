//! The fault and the settings that the address of a request asks for.
//!
//! An address is a fault (`/status/503`), and settings as its query (`?id=a&times=2`). A client that adds a path of its own to
//! a base address gets the settings as a segment that begins with a semicolon: `/status/503/;id=a&times=2/chat/completions`.
//!
//! | path | what happens |
//! |---|---|
//! | `/status/N` | an answer with this status |
//! | `/endless/N` | an answer with this status, and a body that is sent until the client goes |
//! | `/seen/ID` | JSON about the requests of that id: `requests`, `connections`, `methods`, `bodies` (their bytes) |
//! | `/slow/MS` | an answer after so many milliseconds |
//! | `/reset`, `/close` | the connection ends before any byte of the answer: by a reset, in good order |
//! | `/reset-body`, `/truncated`, `/cut-chunk` | the body ends early: by a reset, before its `Content-Length`, inside a chunk |
//! | `/stall`, `/stall-body` | no answer; a quarter of the body, and nothing more |
//! | `/gzip`, `/malformed` | a body that is no gzip, an answer that is no HTTP |
//! | `/redirects` | a redirect to itself |
//! | `/keep-alive` | the second request on a connection gets a reset |
//! | `/rst/N` | HTTP/2: a `RST_STREAM` with this code (7 is `REFUSED_STREAM`) |
//! | `/goaway` | HTTP/2: a `GOAWAY` whose last stream is below this one |
//! | `/flaky.Flaky/CODE` | gRPC: an end with this code by its name; metadata `id`, `times` and `pushback` are settings |
//!
//! | setting | meaning |
//! |---|---|
//! | `id` | the name under which requests count; the path unless given |
//! | `times` | how many requests of the name fail, before all others get a 200; all unless given |
//! | `header` | a line of the answer, `Name:value`; more than once for more lines |
//! | `body`, `type` | the body of the failing answer, and its `Content-Type` |
//! | `ok` | the body of the 200 that follows |
//! | `date` | the answer's `Date`, by so many seconds beside the true one |
//! | `retry-date` | a `Retry-After` so many seconds after the answer's `Date` |

use serde::Serialize;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// One fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An answer with this status.
    Status(u16),
    /// An answer with this status, and a body that is sent until the client goes.
    Endless(u16),
    /// An answer with status 200 after a time.
    Slow(Duration),
    /// A reset before any byte of the answer.
    Reset,
    /// The end of the connection before any byte of the answer.
    Close,
    /// A reset inside the body.
    ResetBody,
    /// A body shorter than its `Content-Length`.
    Truncated,
    /// A body that ends inside a chunk.
    CutChunk,
    /// No answer at all.
    Stall,
    /// A body that never ends.
    StallBody,
    /// A body that calls itself gzip, and is not.
    Gzip,
    /// An answer that is no HTTP.
    Malformed,
    /// A redirect to itself.
    Redirects,
    /// A reset for the second request on a connection.
    KeepAlive,
    /// HTTP/2: a `RST_STREAM` with this code.
    Rst(u32),
    /// HTTP/2: a `GOAWAY` whose last stream is below this one.
    GoAway,
    /// gRPC: an end with this code.
    Grpc(u8),
}

/// The names of gRPC's codes, each at its number.
const GRPC: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// A request's fault and settings.
#[derive(Clone, Debug)]
pub struct Play {
    pub(super) fault: Option<Fault>,
    pub(super) id: String,
    pub(super) times: Option<usize>,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    body: Option<String>,
    ok: Option<String>,
    content_type: Option<String>,
    date: f64,
    retry_date: Option<f64>,
}

impl Play {
    /// Reads the target of a request; its scheme and host, as a proxy gets them, are left out.
    #[must_use]
    pub fn read(target: &str) -> Self {
        let target =
            target.split_once("://").map_or(target, |(_, rest)| rest.find('/').map_or("/", |slash| &rest[slash..]));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let status = |text: &str| text.parse().ok().filter(|status| (200..1000).contains(status));
        let fault = match segments.as_slice() {
            ["status", text, ..] => status(text).map(Fault::Status),
            ["endless", text, ..] => status(text).map(Fault::Endless),
            ["slow", time, ..] => time.parse().ok().map(|time| Fault::Slow(Duration::from_millis(time))),
            ["rst", code, ..] => code.parse().ok().map(Fault::Rst),
            ["flaky.Flaky", code, ..] => {
                GRPC.iter().position(|name| name == code).and_then(|code| u8::try_from(code).ok()).map(Fault::Grpc)
            }
            ["reset", ..] => Some(Fault::Reset),
            ["close", ..] => Some(Fault::Close),
            ["reset-body", ..] => Some(Fault::ResetBody),
            ["truncated", ..] => Some(Fault::Truncated),
            ["cut-chunk", ..] => Some(Fault::CutChunk),
            ["stall", ..] => Some(Fault::Stall),
            ["stall-body", ..] => Some(Fault::StallBody),
            ["gzip", ..] => Some(Fault::Gzip),
            ["malformed", ..] => Some(Fault::Malformed),
            ["redirects", ..] => Some(Fault::Redirects),
            ["keep-alive", ..] => Some(Fault::KeepAlive),
            ["goaway", ..] => Some(Fault::GoAway),
            _ => None,
        };
        let mut play = Self {
            fault,
            id: path.to_owned(),
            times: None,
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            ok: None,
            content_type: None,
            date: 0.0,
            retry_date: None,
        };
        let inside =
            segments.iter().filter_map(|segment| segment.strip_prefix(';').or_else(|| segment.strip_prefix("%3B")));
        for settings in inside.chain([query]) {
            for (name, value) in form_urlencoded::parse(settings.as_bytes()) {
                play.set(&name, &value);
            }
        }
        play
    }

    /// Changes a setting; other parameters are the client's own.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let text = || Some(value.to_owned());
        match name {
            "id" => value.clone_into(&mut self.id),
            "times" => self.times = value.parse().ok(),
            "header" => {
                let (name, value) = value.split_once(':').unwrap_or((value, ""));
                self.headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            "pushback" => self.headers.push(("grpc-retry-pushback-ms".to_owned(), value.to_owned())),
            "body" => self.body = text(),
            "ok" => self.ok = text(),
            "type" => self.content_type = text(),
            "date" => self.date = value.parse().unwrap_or(0.0),
            "retry-date" => self.retry_date = value.parse().ok(),
            _ => {}
        }
    }

    /// The body of an answer.
    pub(super) fn body(&self, failed: bool) -> String {
        let (given, otherwise) = if failed { (&self.body, "not well\n") } else { (&self.ok, "well\n") };
        given.clone().unwrap_or_else(|| otherwise.to_owned())
    }

    /// The header lines of an answer, but for those about its body and its connection. Pages of any origin may read all of them.
    pub(super) fn lines(&self, failed: bool) -> Vec<(String, String)> {
        let line = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let now = SystemTime::now();
        let at = |by: f64| {
            let span = Duration::from_secs_f64(by.abs());
            let time = if by < 0.0 { now.checked_sub(span) } else { now.checked_add(span) };
            httpdate::fmt_http_date(time.unwrap_or(now))
        };
        let mut lines = vec![
            line("date", &at(self.date)),
            line("content-type", self.content_type.as_deref().unwrap_or("text/plain")),
            line("cache-control", "no-store"),
            line("access-control-allow-origin", "*"),
            line("access-control-expose-headers", "*"),
        ];
        if failed {
            lines.extend(self.headers.iter().cloned());
            lines.extend(self.retry_date.map(|by| line("retry-after", &at(self.date + by))));
        }
        lines
    }
}

/// The requests of a name.
#[derive(Clone, Default, Debug, Serialize)]
pub(super) struct Visits {
    pub(super) requests: usize,
    connections: BTreeSet<u64>,
    methods: Vec<String>,
    bodies: Vec<usize>,
}

impl Visits {
    pub(super) fn arrive(&mut self, method: &str, body: usize, connection: u64) {
        self.requests += 1;
        self.connections.insert(connection);
        self.methods.push(method.to_owned());
        self.bodies.push(body);
    }

    pub(super) fn to_json(&self) -> String {
        let Self { requests, connections, methods, bodies } = self;
        serde_json::json!({ "requests": requests, "connections": connections.len(), "methods": methods, "bodies": bodies })
            .to_string()
    }
}
