//! Clients that contend for one row, as in the simulator of "Exponential Backoff And Jitter" (Marc Brooker, AWS 2015).
//!
//! Each client reads the row's version and writes the row; a write with an old version fails, and the client waits for its
//! policy's delay before it reads again. Its means were recorded with the original program, so the jitters of the core are
//! compared with somebody else's.

use anyhow::{Context as _, Result};
use holdoff_core::{Backoff, Cap, Decision, Failure, Jitter, Options, Policy, Retry, Rng, Span, Timestamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::time::Duration;

/// How many runs a mean is of, here and in the recording.
const TRIALS: u32 = 100;
/// In milliseconds: the mean of a message's way, and its standard deviation.
const WAY: (f64, f64) = (10.0, 2.0);

/// A mean, and the standard deviation of one run.
type Mean = (f64, f64);

/// Two means of `aws-arch-backoff-simulator` (commit 66cb169), with the delays from 5 ms to 2 s that its article has.
struct Recorded {
    clients: u32,
    policy: &'static str,
    /// Milliseconds until the last client knows that it has written.
    millis: Mean,
    /// Writes that the server was asked for.
    writes: Mean,
}

const fn recorded(clients: u32, policy: &'static str, millis: Mean, writes: Mean) -> Recorded {
    Recorded { clients, policy, millis, writes }
}

const RECORDED: [Recorded; 15] = [
    recorded(10, "no delay", (382.04, 33.61), (51.03, 3.94)),
    recorded(10, "no jitter", (3432.54, 1285.15), (50.71, 4.31)),
    recorded(10, "equal jitter", (731.22, 168.95), (42.66, 2.42)),
    recorded(10, "full jitter", (463.19, 96.1), (38.99, 2.33)),
    recorded(10, "decorrelated", (438.95, 72.84), (37.87, 2.16)),
    recorded(50, "no delay", (1141.18, 45.4), (690.39, 16.13)),
    recorded(50, "no jitter", (36238.68, 3068.71), (623.01, 24.83)),
    recorded(50, "equal jitter", (4307.47, 584.85), (348.32, 6.11)),
    recorded(50, "full jitter", (2890.78, 538.32), (332.66, 5.37)),
    recorded(50, "decorrelated", (2165.75, 508.58), (375.06, 12.22)),
    recorded(100, "no delay", (2030.38, 46.14), (2420.92, 34.83)),
    recorded(100, "no jitter", (63146.02, 3822.11), (1856.03, 59.94)),
    recorded(100, "equal jitter", (6758.78, 622.58), (812.52, 8.27)),
    recorded(100, "full jitter", (4830.61, 514.53), (796.19, 7.0)),
    recorded(100, "decorrelated", (4674.01, 786.24), (1000.95, 28.74)),
];

/// The policy of that name, without an end of attempts. The article's counter is 1 at the first failure, so the first delay is
/// 10 ms; its decorrelated delay is cut to 2 s after the draw.
fn policy(name: &str) -> Result<Policy> {
    let mut grown =
        *Policy::options().backoff(Backoff::exponential(Duration::from_millis(10), 2.0).max(Duration::from_secs(2)));
    let mut options: Options = match name {
        "no delay" => *Policy::options().backoff(Backoff::constant(Duration::ZERO)).jitter(Jitter::None),
        "no jitter" => *grown.jitter(Jitter::None),
        "equal jitter" => *grown.jitter(Jitter::Equal),
        "full jitter" => *grown.jitter(Jitter::Full),
        _ => {
            let backoff = Backoff::decorrelated(Duration::from_millis(5)).max(Duration::from_secs(2));
            *Policy::options().backoff(backoff).jitter(Jitter::None).cap(Cap::Clip)
        }
    };
    options.forever().build().with_context(|| format!("the policy `{name}`"))
}

/// A message on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    /// To the server: read the version.
    Read,
    /// To the client: the version is this.
    Version(u32),
    /// To the server: write if the version is still this.
    Write(u32),
    /// To the client: the write was made or refused.
    Written(bool),
}

/// How long a message is on its way: normally distributed around [`WAY`], and never negative.
fn way(rng: &mut Rng) -> Span {
    let (radius, angle) = (libm::sqrt(-2.0 * libm::log(1.0 - rng.uniform())), TAU * rng.uniform());
    let millis = (WAY.0 + WAY.1 * radius * libm::cos(angle)).abs();
    Span::from_nanos((millis * 1e6) as u64)
}

/// One run: the milliseconds until the last client knows that it has written, and the number of writes.
fn run(policy: &Policy, clients: u32, seed: u64) -> (f64, f64) {
    let mut rng = Rng::new(seed);
    let mut retries: Vec<_> =
        (0..clients).map(|client| Retry::new(seed ^ u64::from(client) << 32, Timestamp::ZERO)).collect();
    let mut messages: BinaryHeap<_> =
        (0..clients).map(|client| Reverse((Timestamp::ZERO.after(way(&mut rng)), client, Message::Read))).collect();
    let (mut version, mut writes, mut now) = (0, 0, Timestamp::ZERO);
    while let Some(Reverse((at, client, message))) = messages.pop() {
        now = at;
        let (sent, answer) = match message {
            Message::Read => (now, Message::Version(version)),
            Message::Version(read) => (now, Message::Write(read)),
            Message::Write(read) => {
                let made = read == version;
                version += u32::from(made);
                writes += 1;
                (now, Message::Written(made))
            }
            Message::Written(true) => continue,
            Message::Written(false) => {
                let Some(retry) = retries.get_mut(client as usize) else { continue };
                let Decision::Sleep { until, .. } = retry.on_failure(policy, now, Failure::TRANSIENT) else { continue };
                (until, Message::Read)
            }
        };
        messages.push(Reverse((sent.after(way(&mut rng)), client, answer)));
    }
    (now.as_nanos() as f64 / 1e6, f64::from(writes))
}

/// The mean of some runs, and the standard deviation of one.
fn mean(runs: impl Iterator<Item = f64> + Clone) -> Mean {
    let count = f64::from(TRIALS);
    let mean = runs.clone().sum::<f64>() / count;
    (mean, libm::sqrt(runs.map(|run| (run - mean) * (run - mean)).sum::<f64>() / (count - 1.0)))
}

/// How many standard errors of their difference two means are apart.
fn apart(ours: Mean, recorded: Mean) -> f64 {
    let error = libm::sqrt((ours.1 * ours.1 + recorded.1 * recorded.1) / f64::from(TRIALS));
    (ours.0 - recorded.0).abs() / error
}

/// The table of means beside the recorded ones, and the standard errors between the two that are furthest apart.
///
/// # Errors
/// None of the policies is invalid; the core checks them all the same.
pub fn contention(seed: u64) -> Result<(String, f64)> {
    let mut text = String::from(
        "                          ms until all have written       writes\n\
         clients  policy               here  recorded  apart      here  recorded  apart\n",
    );
    let mut worst = 0.0;
    for Recorded { clients, policy: name, millis, writes } in RECORDED {
        let policy = policy(name)?;
        let runs: Vec<_> = (0..TRIALS).map(|trial| run(&policy, clients, seed << 32 | u64::from(trial))).collect();
        let ours = [mean(runs.iter().map(|run| run.0)), mean(runs.iter().map(|run| run.1))];
        let aparts = [apart(ours[0], millis), apart(ours[1], writes)];
        let _ = writeln!(
            text,
            "{clients:7}  {name:12} {:12.0} {:9.0} {:6.2} {:9.1} {:9.1} {:6.2}",
            ours[0].0, millis.0, aparts[0], ours[1].0, writes.0, aparts[1],
        );
        worst = aparts.into_iter().fold(worst, f64::max);
    }
    Ok((text, worst))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_within_two_standard_errors_of_the_recorded_ones() {
        let (text, worst) = contention(7).unwrap();
        assert!(worst < 2.0, "{text}");
    }
}
