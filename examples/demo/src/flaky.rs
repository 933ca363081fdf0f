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

    /// Puts the origin of each port in the place of its name in braces: `{http}/status/503`.
    #[must_use]
    pub fn expand(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, port) in &self.ports {
            let secure = ["https", "h2", "self_signed", "expired", "wrong_name", "tls_cut", "tls_reset"].contains(name);
            let origin = if secure { format!("https://localhost:{port}") } else { format!("http://127.0.0.1:{port}") };
            text = text.replace(&format!("{{{name}}}"), &origin);
        }
        text
    }
}
