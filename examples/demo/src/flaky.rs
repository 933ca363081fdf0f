//! The flaky server of the client tests: every way in which a server fails, each on a port or a path of its own.
//!
//! A caller chooses the fault by the address of its request, and a name for its requests, so that it can ask afterwards how
//! many of them arrived ([`play`] has the addresses). Nothing is shared between names: tests run side by side.

mod http1;
mod http2;
pub mod play;
mod ports;
pub mod relay;
mod shared;
mod tls;

use std::collections::BTreeMap;
use std::io;

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
        let (ports, authority) = ports::open().await?;
        Ok(Self { ports, authority })
    }
}
