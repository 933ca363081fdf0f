//! The flaky server of the client tests: every way in which a server fails, each on a port or a path of its own.
//!
//! A caller chooses the fault by the address of its request, and a name for its requests, so that it can ask afterwards how
//! many of them arrived ([`play`] has the addresses). Nothing is shared between names: tests run side by side.

mod http1;
mod http2;
pub mod play;
mod ports;
pub mod relay;
mod tls;

use play::{Play, Visits};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A running server. It stops with the runtime it was started in.
#[derive(Debug)]
pub struct Flaky {
    /// The port of each service by its name, as the README lists them.
    pub ports: BTreeMap<&'static str, u16>,
    /// The certificate, in PEM, of the authority that signed the good, the expired and the misnamed certificate.
    pub authority: String,
}

impl Flaky {
    /// Opens all ports.
    ///
    /// # Errors
    /// When a port or a certificate cannot be had.
    pub async fn start() -> io::Result<Self> {
        ports::open().await
    }
}

/// What the services of a server share: the requests so far, by the name that their caller gave them.
#[derive(Debug, Default)]
struct Shared {
    visits: Mutex<BTreeMap<String, Visits>>,
    connections: AtomicU64,
}

impl Shared {
    /// A number for a new connection.
    fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a request, and says whether its fault is to be played: only the first `times` requests of a name fail.
    fn arrive(&self, play: &Play, method: &str, body: usize, connection: u64) -> bool {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let visits = visits.entry(play.id.clone()).or_default();
        visits.arrive(method, body, connection);
        play.times.is_none_or(|times| visits.requests <= times)
    }

    /// What is known of a name, as JSON.
    fn seen(&self, id: &str) -> String {
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.get(id).cloned().unwrap_or_default().to_json()
    }
}

/// Starts a task for each connection to a port.
async fn accept<F>(
    listener: tokio::net::TcpListener,
    shared: Arc<Shared>,
    serve: impl Fn(tokio::net::TcpStream, Arc<Shared>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&shared)))),
            // A refused accept (no descriptors left) passes when other connections end.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}
