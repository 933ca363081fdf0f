//! Each fault, seen from a raw socket: no client library in between that might smooth things over.

#![allow(missing_docs, clippy::unwrap_used)]

use demo::flaky::{Flaky, relay};
use serde_json::json;
use std::io::ErrorKind;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex};
use tokio::net::{TcpListener, TcpStream};

/// Everything that a port sends after these bytes, and how the connection ended.
async fn exchange(port: u16, sent: &[u8]) -> (Vec<u8>, Result<(), ErrorKind>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(sent).await.unwrap();
    let mut content = Vec::new();
    let end = stream.read_to_end(&mut content).await;
    (content, end.map(|_| ()).map_err(|error| error.kind()))
}

async fn get(flaky: &Flaky, path: &str) -> (String, Result<(), ErrorKind>) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let (content, end) = exchange(flaky.ports["http"], request.as_bytes()).await;
    (String::from_utf8_lossy(&content).into_owned(), end)
}

/// The requests of a name.
async fn seen(flaky: &Flaky, id: &str) -> serde_json::Value {
    let (answer, _) = get(flaky, &format!("/seen/{id}")).await;
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}

#[tokio::test]
async fn a_name_fails_as_often_as_it_asks_for_and_its_requests_are_counted() {
    let flaky = Flaky::start().await.unwrap();
    for expected in ["503", "503", "200", "200"] {
        let (answer, end) = get(&flaky, "/status/503/;id=a/added?times=2&header=Retry-After:%201.5&unknown=1").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{answer}");
        assert_eq!(answer.contains("Retry-After: 1.5\r\n"), expected == "503", "{answer}");
        assert_eq!(end, Ok(()));
    }
    let counts =
        json!({"requests": 4, "connections": 4, "methods": ["GET", "GET", "GET", "GET"], "bodies": [0, 0, 0, 0]});
    assert_eq!(seen(&flaky, "a").await, counts);
    assert_eq!(seen(&flaky, "b").await["requests"], 0);
}

#[tokio::test]
async fn a_connection_is_kept_and_bodies_are_measured() {
    let flaky = Flaky::start().await.unwrap();
    let chunked =
        "POST /keep-alive?id=a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let sized = "PUT /keep-alive?id=a HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd";
    let (answer, end) = exchange(flaky.ports["http"], format!("{chunked}{sized}").as_bytes()).await;
    // The reset may overtake the answer before it.
    assert_eq!(end, Err(ErrorKind::ConnectionReset), "{answer:?}");
    let counts = json!({"requests": 2, "connections": 1, "methods": ["POST", "PUT"], "bodies": [5, 4]});
    assert_eq!(seen(&flaky, "a").await, counts);
}

#[tokio::test]
async fn connections_and_bodies_end_as_the_path_says() {
    let flaky = Flaky::start().await.unwrap();
    let (answer, end) = get(&flaky, "/close").await;
    assert_eq!((answer.as_str(), end), ("", Ok(())));
    assert_eq!(get(&flaky, "/reset").await.1, Err(ErrorKind::ConnectionReset));
    assert_eq!(get(&flaky, "/reset-body").await.1, Err(ErrorKind::ConnectionReset));
    let (answer, end) = get(&flaky, "/truncated").await;
    assert!(answer.contains("content-length: 4096\r\n") && answer.len() < 4096);
    assert_eq!(end, Ok(()));
    assert!(get(&flaky, "/cut-chunk").await.0.contains("\r\n\r\n1000\r\n..."));
    assert!(get(&flaky, "/malformed").await.0.starts_with("HTTP/1.1 banana"));
    assert!(get(&flaky, "/gzip").await.0.contains("content-encoding: gzip\r\n"));
    assert!(get(&flaky, "/redirects?id=r").await.0.contains("location: /redirects?id=r\r\n"));
    assert!(get(&flaky, "/nothing").await.0.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn a_stall_lasts_until_the_client_goes() {
    let flaky = Flaky::start().await.unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", flaky.ports["http"])).await.unwrap();
    stream.write_all(b"GET /stall-body?id=a HTTP/1.1\r\n\r\n").await.unwrap();
    let mut content = Vec::new();
    while !content.ends_with(b"...") {
        stream.read_buf(&mut content).await.unwrap();
    }
    assert_eq!(seen(&flaky, "a").await["requests"], 1);
}

#[tokio::test]
async fn ports_refuse_and_cut() {
    let flaky = Flaky::start().await.unwrap();
    let refused = TcpStream::connect(("127.0.0.1", flaky.ports["closed"])).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(exchange(flaky.ports["tls_reset"], b"hello").await.1, Err(ErrorKind::ConnectionReset));
    assert_eq!(exchange(flaky.ports["tls_cut"], b"hello").await, (Vec::new(), Ok(())));
    let (answer, _) = exchange(flaky.ports["proxy_refuses"], b"CONNECT x:1 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with(b"HTTP/1.1 502 "));
    assert!(flaky.authority.starts_with("-----BEGIN CERTIFICATE-----"));
    for name in ["full", "h2", "h2c", "https", "self_signed", "expired", "silent", "wrong_name"] {
        assert!(flaky.ports.contains_key(name), "{name}");
    }
}

async fn http2(flaky: &Flaky, path: &str) -> String {
    let stream = TcpStream::connect(("127.0.0.1", flaky.ports["h2c"])).await.unwrap();
    let (sender, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let request = http::Request::get(format!("http://x{path}")).body(()).unwrap();
    let (answer, _) = sender.ready().await.unwrap().send_request(request, true).unwrap();
    match answer.await {
        Ok(answer) => {
            let code = answer.headers().get("grpc-status").map(|code| format!(" grpc {code:?}"));
            format!("{}{}", answer.status().as_u16(), code.unwrap_or_default())
        }
        Err(error) => format!("{:?}, remote {}, goaway {}", error.reason(), error.is_remote(), error.is_go_away()),
    }
}

#[tokio::test]
async fn http2_refuses_streams_and_goes_away() {
    let flaky = Flaky::start().await.unwrap();
    assert_eq!(http2(&flaky, "/rst/7").await, "Some(REFUSED_STREAM), remote true, goaway false");
    assert_eq!(http2(&flaky, "/goaway?id=a").await, "Some(NO_ERROR), remote true, goaway true");
    assert_eq!(http2(&flaky, "/goaway?id=a&times=1").await, "200");
    assert_eq!(http2(&flaky, "/status/429").await, "429");
    assert_eq!(http2(&flaky, "/flaky.Flaky/UNAVAILABLE").await, "200 grpc \"14\"");
    assert_eq!(http2(&flaky, "/flaky.Flaky/OK").await, "200");
}

#[tokio::test]
async fn a_relay_passes_refuses_stalls_and_cuts() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let to = server.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    let (mut lines, theirs) = duplex(1024);
    let (answers, mine) = duplex(1024);
    tokio::spawn(relay::relay(to, BufReader::new(theirs), mine));
    let mut answers = BufReader::new(answers).lines();
    let port: serde_json::Value = serde_json::from_str(&answers.next_line().await.unwrap().unwrap()).unwrap();
    let port = u16::try_from(port["port"].as_u64().unwrap()).unwrap();
    let mut say = async |line: &str| {
        lines.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        answers.next_line().await.unwrap().unwrap()
    };
    let mut byte = [0];

    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"a").await.unwrap();
    stream.read_exact(&mut byte).await.unwrap();
    assert_eq!(say("stall").await, r#"{"mode":"stall"}"#);
    stream.write_all(b"b").await.unwrap();
    assert_eq!(say("refuse").await, r#"{"mode":"refuse"}"#);
    assert_eq!(TcpStream::connect(("127.0.0.1", port)).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    // What was stalled arrives: new connections alone are refused.
    stream.read_exact(&mut byte).await.unwrap();
    assert_eq!(&byte, b"b");
    assert_eq!(say("pass").await, r#"{"mode":"pass"}"#);
    let mut second = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    second.write_all(b"c").await.unwrap();
    second.read_exact(&mut byte).await.unwrap();
    assert_eq!(say("cut").await, r#"{"mode":"cut"}"#);
    for mut cut in [stream, second] {
        assert_eq!(cut.read_exact(&mut byte).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
    let mut third = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    third.write_all(b"d").await.unwrap();
    third.read_exact(&mut byte).await.unwrap();
    assert!(say("what").await.contains("none of pass, refuse, stall, cut"));
}
