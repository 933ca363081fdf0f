//! A TCP connection that can be told to end in a reset.

use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Decides how a connection ends: in good order or, once blown, in a reset.
#[derive(Clone, Default, Debug)]
pub(crate) struct Fuse(Arc<AtomicBool>);

impl Fuse {
    pub(crate) fn blow(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_blown(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A stream with a fuse.
pub(crate) struct Connection {
    stream: TcpStream,
    fuse: Fuse,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, fuse: Fuse) -> Self {
        Self { stream, fuse }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.fuse.is_blown() {
            // Closing with nothing to linger for sends RST. When it cannot be set, the client sees a body that ends early.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        if self.fuse.is_blown() {
            // An orderly goodbye first would make the reset invisible.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
