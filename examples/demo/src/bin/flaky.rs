//! The flaky server of the client tests, until its standard input ends.
//!
//!     flaky                  all faults of HTTP, TLS and HTTP/2; prints its ports and its authority as a line of JSON
//!     flaky proxy --to PORT  a TCP proxy, whose faults are lines of standard input; prints its port, and each line once it holds

use anyhow::Result;
use clap::{Parser, Subcommand};
use demo::flaky::{Flaky, relay};
use tokio::io::{AsyncReadExt as _, BufReader, stdin, stdout};

#[derive(Parser)]
#[command(about = "Every way in which a server fails, on ports of 127.0.0.1")]
struct Cli {
    #[command(subcommand)]
    command: Option<Mode>,
}

#[derive(Subcommand)]
enum Mode {
    /// Relays to a port; the lines pass, refuse, stall and cut switch its faults.
    Proxy {
        /// The port of the real server.
        #[arg(long)]
        to: u16,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    let served = match Cli::parse().command {
        Some(Mode::Proxy { to }) => relay::relay(to, BufReader::new(stdin()), stdout()).await,
        None => {
            let flaky = Flaky::start().await?;
            println!("{}", serde_json::json!({ "ports": flaky.ports, "authority": flaky.authority }));
            stdin().read_to_end(&mut Vec::new()).await.map(drop)
        }
    };
    served?;
    // A read of standard input that is still on would hold the runtime.
    std::process::exit(0)
}
