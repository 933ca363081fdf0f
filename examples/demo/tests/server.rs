//! The server plays its scripts, seen from a raw socket: no client library in between that might smooth things over.

#![allow(missing_docs, clippy::unwrap_used)]

use demo::plan::{Answer, Ending, Path, paths};
use demo::server::Server;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Everything the server sends, and how the connection ended.
async fn get(base: &str, path: &str) -> (String, Result<(), ErrorKind>) {
    let (address, prefix) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET /{prefix}{path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut content = Vec::new();
    let end = stream.read_to_end(&mut content).await;
    (String::from_utf8_lossy(&content).to_ascii_lowercase(), end.map(|_| ()).map_err(|error| error.kind()))
}

fn script(path: &'static str, first: &'static [Answer], then: Answer) -> Path {
    let ends = Ending { attempts: 1, outcome: "succeeded" };
    Path { path, about: "", first, then, policy: serde_json::json!({}), policy_in_words: "", ends }
}

async fn status(base: &str, path: &str) -> String {
    let (content, end) = get(base, path).await;
    assert_eq!(end, Ok(()));
    assert!(content.contains("connection: close\r\n"), "{content}");
    content.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn a_path_fails_as_often_as_its_script_says_then_recovers() {
    let server = Server::start(paths(), None).await.unwrap();
    let base = server.base("test");
    for expected in ["500", "500", "500", "200", "200"] {
        assert_eq!(status(&base, "/hiccup").await, expected);
    }
    assert_eq!(server.requests("test", "/hiccup"), 5);
}

#[tokio::test]
async fn each_caller_has_its_own_script_and_count() {
    let server = Server::start(vec![script("/x", &[Answer::Status(429)], Answer::Status(200))], None).await.unwrap();
    assert_eq!(status(&server.base("one"), "/x").await, "429");
    assert_eq!(status(&server.base("two"), "/x").await, "429");
    assert_eq!(status(&server.base("one"), "/x").await, "200");
    assert_eq!((server.requests("one", "/x"), server.requests("two", "/x")), (2, 1));
}

#[tokio::test]
async fn a_busy_server_says_when_to_come_back() {
    let server = Server::start(paths(), None).await.unwrap();
    let (content, _) = get(&server.base("test"), "/busy").await;
    assert!(content.starts_with("http/1.1 503 ") && content.contains("retry-after: 1\r\n"), "{content}");
}

#[tokio::test]
async fn a_cut_answer_is_a_part_of_the_body_and_then_a_reset() {
    let server = Server::start(paths(), None).await.unwrap();
    let (content, end) = get(&server.base("test"), "/cut").await;
    assert!(content.starts_with("http/1.1 200 ") && content.contains("content-length: 4096\r\n"), "{content}");
    assert!(content.ends_with("...."), "{content}");
    assert_eq!(end, Err(ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn a_slow_answer_does_not_come_in_time_and_is_counted() {
    let server = Server::start(paths(), None).await.unwrap();
    let base = server.base("test");
    let answer = tokio::time::timeout(Duration::from_millis(200), get(&base, "/slow")).await;
    assert!(answer.is_err());
    assert_eq!(server.requests("test", "/slow"), 1);
}

#[tokio::test]
async fn what_is_not_in_the_plan_is_not_found_and_not_counted() {
    let server = Server::start(paths(), None).await.unwrap();
    for path in ["/unknown", "", "/app/../plan.rs"] {
        assert_eq!(status(&server.base("test"), path).await, "404", "{path}");
    }
    assert_eq!(server.requests("test", "/unknown"), 0);
}

#[tokio::test]
async fn files_of_the_page_are_served_and_nothing_beside_them() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let server = Server::start(paths(), Some(source)).await.unwrap();
    let base = server.base("app");
    assert_eq!(status(&base, "/plan.rs").await, "200");
    assert_eq!(status(&base, "/server/connection.rs").await, "200");
    for path in ["/../Cargo.toml", "//etc/passwd", "/missing.rs", "/"] {
        assert_eq!(status(&base, path).await, "404", "{path}");
    }
}
