//! The counts of requests that all services share.

use super::play::{Play, Visits};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The state that all services share: the requests so far, by the name that their caller gave them.
#[derive(Debug, Default)]
pub(super) struct Shared {
    visits: Mutex<BTreeMap<String, Visits>>,
    connections: AtomicU64,
}

impl Shared {
    /// A number for a new connection.
    pub(super) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a request, and says whether its fault is to be played: only the first `times` requests of a name fail.
    pub(super) fn arrive(&self, play: &Play, method: &str, body: usize, connection: u64) -> bool {
        let mut visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        let visits = visits.entry(play.id.clone()).or_default();
        visits.arrive(method, body, connection);
        play.times.is_none_or(|times| visits.requests <= times)
    }

    /// The requests of a name, as JSON.
    pub(super) fn seen(&self, id: &str) -> String {
        let visits = self.visits.lock().unwrap_or_else(PoisonError::into_inner);
        visits.get(id).cloned().unwrap_or_default().to_json()
    }
}

/// Starts a task for each connection to a port.
pub(super) async fn accept<F>(
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
