//! What gates make of failures and successes.

use crate::format::N;
use crate::run::all_same;
use holdoff_core::{Error, Gate, GateConfig, Keyed, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// Gates, what happens to them, and how they stand after each.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct GateCase {
    /// The configuration.
    pub gate: GateWord,
    /// The most keys; without it there is one gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<usize>,
    /// What happens.
    pub ops: Vec<KeyedOp>,
    /// How the op's gate stands after each.
    pub answers: Vec<GateAnswer>,
}

/// What happens to the gate of a key.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct KeyedOp {
    #[serde(flatten)]
    op: GateOp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    key: String,
}

/// A configuration in the words of the system it comes from.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "preset", rename_all = "snake_case", deny_unknown_fields)]
pub enum GateWord {
    /// Chromium's `net::BackoffEntry::Policy`; -1 for no limit.
    Chromium {
        /// How many failures close it only as long as a success does.
        num_errors_to_ignore: u32,
        /// The first delay.
        initial_delay_ms: u64,
        /// What each further failure multiplies it by.
        multiply_factor: f64,
        /// The part of a delay that jitter takes away.
        jitter_factor: f64,
        /// The longest delay.
        maximum_backoff_ms: i64,
        /// For how long an unused entry is kept.
        entry_lifetime_ms: i64,
        /// Whether every answer closes it for the first delay at least.
        always_use_initial_delay: bool,
    },
    /// Kubernetes' `flowcontrol.Backoff`.
    Flowcontrol {
        /// The first delay.
        initial: N,
        /// The longest one after it.
        max: N,
        /// The part of a delay that jitter adds to the next one.
        max_jitter: f64,
    },
    /// Kubernetes' `ItemExponentialFailureRateLimiter`.
    ItemExponential {
        /// The first delay.
        base: N,
        /// The longest one.
        max: N,
    },
    /// Kubernetes' `ItemFastSlowRateLimiter`.
    FastSlow {
        /// The first delays.
        fast: N,
        /// The later ones.
        slow: N,
        /// How many are fast.
        max_fast_attempts: i64,
    },
}

/// What happens to a gate.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum GateOp {
    /// Nothing but time has passed.
    Look {
        /// The time.
        now: N,
    },
    /// A failure.
    Failure {
        /// The time.
        now: N,
        /// The uniform of its jitter.
        #[serde(default)]
        u: f64,
    },
    /// A success.
    Success {
        /// The time.
        now: N,
    },
    /// Somebody says when it opens.
    ReleaseAt {
        /// The time.
        now: N,
        /// When it opens.
        at: N,
    },
    /// It starts anew.
    Forget {
        /// The time.
        now: N,
    },
}

/// How a gate stands.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct GateAnswer {
    /// Whether it is closed.
    pub reject: bool,
    /// When it opens or opened.
    pub release: N,
    /// Whether it can be thrown away.
    pub can_discard: bool,
    /// The keys that have a gate, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
}

impl GateWord {
    fn config(&self) -> Result<GateConfig, Error> {
        let span = |n: N| Span::from_nanos(n.0);
        match *self {
            Self::Chromium {
                num_errors_to_ignore,
                initial_delay_ms,
                multiply_factor,
                jitter_factor,
                maximum_backoff_ms,
                entry_lifetime_ms,
                always_use_initial_delay,
            } => GateConfig::chromium(
                initial_delay_ms,
                multiply_factor,
                jitter_factor,
                u64::try_from(maximum_backoff_ms).ok(),
                u64::try_from(entry_lifetime_ms).ok(),
                num_errors_to_ignore,
                always_use_initial_delay,
            ),
            Self::Flowcontrol { initial, max, max_jitter } => {
                GateConfig::flowcontrol(span(initial), span(max), max_jitter)
            }
            Self::ItemExponential { base, max } => Ok(GateConfig::item_exponential(span(base), span(max))),
            Self::FastSlow { fast, slow, max_fast_attempts } => {
                Ok(GateConfig::fast_slow(span(fast), span(slow), max_fast_attempts))
            }
        }
    }
}

/// Drives gates through a case.
pub fn run(case: &GateCase) -> Result<(), String> {
    let config = case.gate.config().map_err(|error| error.to_string())?;
    let mut gates = Keyed::new(case.most.unwrap_or(1), Span::MAX);
    let answer = |KeyedOp { op, key }: &KeyedOp| {
        let now = op.apply(&mut gates, key, &config);
        let gate = gates.peek(key, now).copied().unwrap_or_default();
        GateAnswer {
            reject: !gate.is_open(now),
            release: N(gate.release().as_nanos()),
            can_discard: gate.is_discardable(&config, now),
            keys: case.most.map(|_| gates.iter().map(|(key, _)| key.clone()).collect()),
        }
    };
    all_same(&case.answers, &case.ops.iter().map(answer).collect::<Vec<_>>())
}

impl GateOp {
    /// Does it to the gate of a key, and returns its time.
    fn apply(&self, gates: &mut Keyed<String, Gate>, key: &str, config: &GateConfig) -> Timestamp {
        let (Self::Look { now }
        | Self::Failure { now, .. }
        | Self::Success { now }
        | Self::ReleaseAt { now, .. }
        | Self::Forget { now }) = *self;
        let now = Timestamp::from_nanos(now.0);
        let key = key.to_owned();
        match *self {
            Self::Look { .. } => {}
            Self::Failure { u, .. } => _ = gates.entry(key, now, Gate::new).failure(config, now, u),
            Self::Success { .. } => gates.entry(key, now, Gate::new).success(config, now),
            Self::ReleaseAt { at, .. } => gates.entry(key, now, Gate::new).release_at(Timestamp::from_nanos(at.0)),
            Self::Forget { .. } => _ = gates.remove(&key),
        }
        now
    }
}
