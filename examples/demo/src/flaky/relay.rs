//! A TCP proxy before a real server, whose faults are switched while it runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// The treatment of connections, by the word of its control line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// All bytes pass.
    Pass,
    /// New connections are refused, and open ones go on.
    Refuse,
    /// No byte passes.
    Stall,
}

/// The state that connections watch: the mode, and how often they were cut.
type State = (Mode, u64);

/// Relays connections to a port of this machine, as its control lines say, until they end: `pass`, `refuse`, `stall`, and `cut`,
/// which resets every open connection. Each line is answered as soon as it holds; the first line has the relay's own port.
///
/// # Errors
/// When no port can be had, or an answer cannot be written.
pub async fn relay(to: u16, lines: impl AsyncBufRead + Unpin, mut answers: impl AsyncWrite + Unpin) -> io::Result<()> {
    let (change, state) = watch::channel((Mode::Pass, 0));
    let mut address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = listen(address)?;
    address = listener.local_addr()?;
    let mut accepting = Some(tokio::spawn(accept(listener, to, state.clone())));
    say(&mut answers, &serde_json::json!({ "port": address.port() })).await?;

    let mut lines = lines.lines();
    while let Some(line) = lines.next_line().await? {
        let mode = match line.trim() {
            "pass" => Mode::Pass,
            "refuse" => Mode::Refuse,
            "stall" => Mode::Stall,
            "cut" => change.borrow().0,
            other => {
                say(
                    &mut answers,
                    &serde_json::json!({ "error": format!("{other:?} is none of pass, refuse, stall, cut") }),
                )
                .await?;
                continue;
            }
        };
        let cuts = change.borrow().1 + u64::from(line.trim() == "cut");
        change.send_replace((mode, cuts));
        if mode == Mode::Refuse {
            if let Some(task) = accepting.take() {
                task.abort();
                // Once it has ended, its port refuses.
                let _ = task.await;
            }
        } else if accepting.is_none() {
            accepting = Some(tokio::spawn(accept(listen(address)?, to, state.clone())));
        }
        say(&mut answers, &serde_json::json!({ "mode": line.trim() })).await?;
    }
    Ok(())
}

async fn say(answers: &mut (impl AsyncWrite + Unpin), answer: &serde_json::Value) -> io::Result<()> {
    answers.write_all(format!("{answer}\n").as_bytes()).await?;
    answers.flush().await
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // Connections through the listener before are still open.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(128)
}

async fn accept(listener: TcpListener, to: u16, state: watch::Receiver<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(pass(stream, to, state.clone()));
    }
}

/// One connection, until an end closes it or it is cut.
async fn pass(client: TcpStream, to: u16, mut state: watch::Receiver<State>) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await else { return };
    let (_, cuts) = *state.borrow();
    let stalls = state.clone();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let both = async {
        let there = pump(&mut from_client, &mut to_server, stalls.clone());
        let back = pump(&mut from_server, &mut to_client, stalls.clone());
        let _ = tokio::try_join!(there, back);
    };
    let cut = tokio::select! {
        () = both => false,
        cut = state.wait_for(|(_, now)| *now != cuts) => cut.is_ok(),
    };
    if let (true, Ok(client)) = (cut, from_client.reunite(to_client)) {
        let _ = client.set_zero_linger();
    }
}

/// Copies one direction. Bytes that were read during a stall pass after it.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut state: watch::Receiver<State>,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = from.read(&mut buffer).await?;
        let _ = state.wait_for(|(mode, _)| *mode != Mode::Stall).await;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(buffer.get(..length).unwrap_or_default()).await?;
    }
}
