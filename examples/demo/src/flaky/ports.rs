//! The ports: a service for each way in which a connection, a handshake or a proxy fails.

use super::shared::{Shared, accept};
use super::tls::Certificates;
use super::{http1, http2};
use crate::server::connection::{Connection, Fuse};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// How a connection ends while its client waits for the handshake.
#[derive(Clone, Copy)]
enum Cut {
    Close,
    Reset,
}

/// Opens all ports, and returns them by their names, with the certificate of the authority.
pub(super) async fn open() -> io::Result<(BTreeMap<&'static str, u16>, String)> {
    let shared = Arc::new(Shared::default());
    let certificates = Certificates::new()?;
    let mut ports = BTreeMap::new();
    let mut open = |name, listener: &TcpListener| -> io::Result<()> {
        ports.insert(name, listener.local_addr()?.port());
        Ok(())
    };

    let listener = TcpListener::bind(ANY).await?;
    open("http", &listener)?;
    tokio::spawn(accept(listener, Arc::clone(&shared), |stream, shared| {
        let fuse = Fuse::default();
        http1::serve(Connection::new(stream, fuse.clone()), fuse, shared)
    }));
    let listener = TcpListener::bind(ANY).await?;
    open("h2c", &listener)?;
    tokio::spawn(accept(listener, Arc::clone(&shared), |stream, shared| {
        let fuse = Fuse::default();
        http2::serve(Connection::new(stream, fuse.clone()), fuse, shared)
    }));
    let Certificates { authority, good, http2, self_signed, expired, wrong_name } = certificates;
    for (name, acceptor) in
        [("https", good), ("h2", http2), ("self_signed", self_signed), ("expired", expired), ("wrong_name", wrong_name)]
    {
        let listener = TcpListener::bind(ANY).await?;
        open(name, &listener)?;
        let is_http2 = name == "h2";
        tokio::spawn(accept(listener, Arc::clone(&shared), move |stream, shared| {
            secure(acceptor.clone(), stream, shared, is_http2)
        }));
    }
    for (name, cut) in [("tls_cut", Cut::Close), ("tls_reset", Cut::Reset)] {
        let listener = TcpListener::bind(ANY).await?;
        open(name, &listener)?;
        tokio::spawn(accept(listener, Arc::clone(&shared), move |stream, _| cut_handshake(stream, cut)));
    }
    let listener = TcpListener::bind(ANY).await?;
    open("silent", &listener)?;
    tokio::spawn(accept(listener, Arc::clone(&shared), |mut stream, _| async move {
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }));
    let listener = TcpListener::bind(ANY).await?;
    open("proxy_refuses", &listener)?;
    tokio::spawn(accept(listener, shared, |stream, _| refuse(stream)));

    ports.insert("closed", closed()?);
    ports.insert("full", full().await?);
    Ok((ports, authority))
}

async fn secure(acceptor: TlsAcceptor, stream: TcpStream, shared: Arc<Shared>, is_http2: bool) {
    let fuse = Fuse::default();
    let Ok(stream) = acceptor.accept(Connection::new(stream, fuse.clone())).await else { return };
    if is_http2 {
        http2::serve(stream, fuse, shared).await;
    } else {
        http1::serve(stream, fuse, shared).await;
    }
}

/// Ends the connection after the first bytes of the client's handshake.
async fn cut_handshake(mut stream: TcpStream, cut: Cut) {
    let mut hello = vec![0; 1 << 16];
    let _ = stream.read(&mut hello).await;
    match cut {
        Cut::Reset => drop(stream.set_zero_linger()),
        Cut::Close => drop(stream.shutdown().await),
    }
}

/// A proxy that opens no tunnel. It reads the whole request first: some clients write theirs in several parts.
async fn refuse(mut stream: TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && matches!(stream.read_buf(&mut request).await, Ok(1..)) {}
    let _ = stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    let _ = stream.shutdown().await;
}

/// A port that nobody else gets, and that refuses connections: it is bound, but does not listen.
fn closed() -> io::Result<u16> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(ANY)?;
    let port = socket.local_addr()?.port();
    std::mem::forget(socket);
    Ok(port)
}

/// A port whose queue of connections is full: the kernel drops what arrives, and a connection attempt ends by its timeout.
async fn full() -> io::Result<u16> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(ANY)?;
    let listener = socket.listen(0)?;
    let address = listener.local_addr()?;
    std::mem::forget((TcpStream::connect(address).await?, listener));
    Ok(address.port())
}
