//! The plan: the answers of the server on each path, and the policy that the path is called with.
//!
//! Delays follow from policy, seed, kinds of failure and hints alone, so they are the same in every host. Where a decision
//! looks at the clock (a deadline, an attempt timeout) the numbers leave it several hundred milliseconds of room.

use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The answer of the server to one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// An answer with this status at once.
    Status(u16),
    /// An answer with this status that asks to come back after so many seconds.
    RetryAfter(u16, u32),
    /// Half an answer, then a reset of the connection.
    Cut,
    /// An answer that comes when nobody waits for it any more.
    Slow(Duration),
}

/// How every host's run of a path must end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ending {
    /// How many attempts it took.
    pub attempts: usize,
    /// `succeeded`, or the reason to give up.
    pub outcome: &'static str,
}

/// One path of the server.
#[derive(Clone, Debug)]
pub struct Path {
    /// The path, from its slash on.
    pub path: &'static str,
    /// The script in words.
    pub about: &'static str,
    /// The answers to the first requests.
    pub first: &'static [Answer],
    /// The answer to every later request.
    pub then: Answer,
    /// The policy it is called with, as a document.
    pub policy: Value,
    /// The policy in words.
    pub policy_in_words: &'static str,
    /// The expected outcome.
    pub ends: Ending,
}

impl Path {
    /// The answer to the `n`-th request, counted from 1.
    #[must_use]
    pub fn answer(&self, n: u32) -> Answer {
        let index = usize::try_from(n).unwrap_or(usize::MAX).saturating_sub(1);
        self.first.get(index).copied().unwrap_or(self.then)
    }
}

const LATE: Duration = Duration::from_secs(5);

/// Every path, in the order in which hosts call them.
#[must_use]
pub fn paths() -> Vec<Path> {
    use Answer::{Cut, RetryAfter, Slow, Status};
    let succeeds = |attempts| Ending { attempts, outcome: "succeeded" };
    let stops = |attempts, outcome| Ending { attempts, outcome };
    vec![
        Path {
            path: "/steady",
            about: "answers at once",
            first: &[],
            then: Status(200),
            policy: json!({}),
            policy_in_words: "the default policy",
            ends: succeeds(1),
        },
        Path {
            path: "/hiccup",
            about: "fails three times, then answers",
            first: &[Status(500); 3],
            then: Status(200),
            policy: json!({"backoff": {"kind": "exponential", "initial": "50ms", "factor": 2, "max": "400ms"},
                           "jitter": "full", "attempts": 5}),
            policy_in_words: "exponential 50ms x 2, full jitter, 5 attempts",
            ends: succeeds(4),
        },
        Path {
            path: "/broken",
            about: "always fails",
            first: &[],
            then: Status(500),
            policy: json!({"backoff": {"initial": "40ms", "factor": 1.5, "max": "80ms"},
                           "jitter": "equal", "attempts": 4}),
            policy_in_words: "exponential 40ms x 1.5 to 80ms, equal jitter, 4 attempts",
            ends: stops(4, "attempts"),
        },
        Path {
            path: "/busy",
            about: "asks twice for a second of rest",
            first: &[RetryAfter(503, 1); 2],
            then: Status(200),
            policy: json!({"backoff": {"initial": "100ms"}, "jitter": "equal", "attempts": 4}),
            policy_in_words: "exponential 100ms x 2, equal jitter, 4 attempts",
            ends: succeeds(3),
        },
        Path {
            path: "/closed",
            about: "asks for two minutes",
            first: &[],
            then: RetryAfter(503, 120),
            policy: json!({"attempts": 4, "hint": {"max": "5s"}}),
            policy_in_words: "hints up to 5s",
            ends: stops(1, "hint"),
        },
        Path {
            path: "/modest",
            about: "asks for a minute, once",
            first: &[RetryAfter(429, 60)],
            then: Status(200),
            policy: json!({"backoff": {"initial": "50ms"}, "hint": {"max": "300ms", "over": "clamp"}}),
            policy_in_words: "hints clamped to 300ms, full jitter on top",
            ends: succeeds(2),
        },
        Path {
            path: "/crowded",
            about: "throttles twice",
            first: &[Status(429); 2],
            then: Status(200),
            policy: json!({"backoff": {"kind": "linear", "initial": "60ms", "increment": "30ms"},
                           "jitter": {"kind": "proportional", "factor": 0.5}, "attempts": 3}),
            policy_in_words: "linear 60ms + 30ms, 50 % proportional jitter, 3 attempts",
            ends: succeeds(3),
        },
        Path {
            path: "/cut",
            about: "resets the connection in mid-body, twice",
            first: &[Cut; 2],
            then: Status(200),
            policy: json!({"backoff": {"kind": "constant", "delay": "80ms"},
                           "jitter": {"kind": "additive", "factor": 0.5}, "attempts": 4}),
            policy_in_words: "constant 80ms, 50 % additive jitter, 4 attempts",
            ends: succeeds(3),
        },
        Path {
            path: "/slow",
            about: "answers too late, twice",
            first: &[Slow(LATE); 2],
            then: Status(200),
            policy: json!({"backoff": {"initial": "50ms"}, "attempts": 4, "attempt_timeout": "900ms"}),
            policy_in_words: "attempts of at most 900ms, full jitter",
            ends: succeeds(3),
        },
        Path {
            path: "/gone",
            about: "is not there",
            first: &[],
            then: Status(404),
            policy: json!({"attempts": 5}),
            policy_in_words: "5 attempts",
            ends: stops(1, "permanent"),
        },
        Path {
            path: "/hopeless",
            about: "fails until the deadline",
            first: &[],
            then: Status(502),
            policy: json!({"backoff": {"kind": "constant", "delay": "700ms"},
                           "jitter": {"kind": "proportional", "factor": 0.05},
                           "attempts": "forever", "deadline": "1.9s"}),
            policy_in_words: "constant 700ms, 5 % proportional jitter, deadline 1.9s",
            ends: stops(3, "deadline"),
        },
        Path {
            path: "/stuck",
            about: "never answers",
            first: &[],
            then: Slow(LATE),
            policy: json!({"backoff": {"kind": "constant", "delay": "100ms"}, "jitter": "none", "deadline": "1.2s"}),
            policy_in_words: "deadline 1.2s",
            ends: stops(1, "deadline"),
        },
    ]
}

/// The plan file that a host reads.
#[derive(Serialize, Debug)]
pub struct Plan {
    /// The address that each run's path is appended to.
    pub base: String,
    /// The runs, in order.
    pub runs: Vec<Planned>,
}

/// One run of a plan.
#[derive(Serialize, Debug)]
pub struct Planned {
    /// The path to call.
    pub path: &'static str,
    /// The seed, a decimal number in a string: not every JSON reader keeps 64 bits.
    pub seed: String,
    /// The policy document.
    pub policy: Value,
}

impl Plan {
    /// The plan for the host whose requests go below `base`. Each run has a seed of its own.
    #[must_use]
    pub fn new(base: String, seed: u64, paths: &[Path]) -> Self {
        let runs = paths
            .iter()
            .zip(0u64..)
            .map(|(path, index)| Planned {
                path: path.path,
                seed: seed.wrapping_add(index).to_string(),
                policy: path.policy.clone(),
            })
            .collect();
        Self { base, runs }
    }
}
