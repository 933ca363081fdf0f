//! What an adaptive rate, stretched delays and a quantile of times make of what they are told.

use crate::format::N;
use holdoff_core::{
    Adaptive, AdaptiveConfig, AdaptiveStart, Latency, Options, Span, Stretch, Timestamp, Value as Setting,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An adaptive rate, what happens to it, and what it says to that.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct AdaptiveCase {
    /// Where the numbers are published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The `adaptive` of a policy document.
    pub adaptive: Value,
    /// When the guard is made.
    pub began_ns: N,
    /// What it knows at first, if not nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartWord>,
    /// By which part of itself a rate, a number of tokens or a wait may differ.
    pub within: f64,
    /// What happens.
    pub events: Vec<AdaptiveEvent>,
    /// What the guard says to each.
    pub answers: Vec<AdaptiveAnswer>,
}

/// What a guard that has limited before begins with.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct StartWord {
    rate: f64,
    tokens: f64,
    measured: f64,
    last_max_rate: f64,
    throttled_ns: N,
    limits: bool,
}

/// What happens to an adaptive rate: one thing, or several of them over and over.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveEvent {
    op: AdaptiveOp,
    /// The time; a repeat has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_ns: Option<N>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    throttled: bool,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    cost: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every_ns: Option<N>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<AdaptiveEvent>,
}

const fn one() -> f64 {
    1.0
}

fn is_one(cost: &f64) -> bool {
    *cost == 1.0
}

/// The inputs of an adaptive rate.
#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
#[serde(rename_all = "snake_case")]
pub enum AdaptiveOp {
    /// Nothing but time has passed.
    Look,
    /// An attempt asks for tokens.
    Take,
    /// An attempt gives tokens back.
    GiveBack,
    /// An answer came.
    Update,
    /// An attempt asks for a token, and if it gets it has its answer at once.
    Call,
    /// The events inside, so many times, each time so much later.
    Repeat,
}

/// What an adaptive rate says. What is not there is not looked at.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveAnswer {
    /// How many of the attempts got their tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<u64>,
    /// How long the latest one that did not has to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<N>,
    /// The rate after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The measured rate after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// The tokens after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
}

struct Machine {
    config: AdaptiveConfig,
    guard: Adaptive,
    taken: u64,
    wait: Option<N>,
    now: Timestamp,
}

impl Machine {
    fn hand(&mut self, event: &AdaptiveEvent, later: u64) {
        let now = event.at_ns.map_or(self.now, |now| at(now).after(Span::from_nanos(later)));
        self.now = now;
        match event.op {
            AdaptiveOp::Look => {}
            AdaptiveOp::Update => self.guard.update(&self.config, now, event.throttled),
            AdaptiveOp::GiveBack => self.guard.give_back(&self.config, event.cost, now),
            AdaptiveOp::Take | AdaptiveOp::Call => match self.guard.take(&self.config, event.cost, now) {
                Ok(()) => {
                    self.taken += 1;
                    if let AdaptiveOp::Call = event.op {
                        self.guard.update(&self.config, now, event.throttled);
                    }
                }
                Err(Timestamp::NEVER) => self.wait = Some(N(u64::MAX)),
                Err(until) => self.wait = Some(N(until.since(now).as_nanos())),
            },
            AdaptiveOp::Repeat => {
                let every = event.every_ns.map_or(0, |every| every.0);
                for round in 0..event.times.unwrap_or(1) {
                    event.events.iter().for_each(|event| self.hand(event, later + round * every));
                }
            }
        }
    }
}

/// Drives an adaptive rate through a case.
pub fn adaptive(case: &AdaptiveCase) -> Result<(), String> {
    let config = built("adaptive", &case.adaptive)?.adaptive().map_err(|error| error.to_string())?;
    let config = config.ok_or("no adaptive rate")?;
    let began = at(case.began_ns);
    let guard = match &case.start {
        None => Adaptive::new(&config, began),
        Some(start) => {
            let throttled_at = at(start.throttled_ns);
            let StartWord { rate, tokens, measured, last_max_rate, limits, .. } = *start;
            let start = AdaptiveStart { rate, tokens, measured, last_max_rate, throttled_at, limits };
            Adaptive::started(&config, start, began)
        }
    };
    let mut machine = Machine { config, guard, taken: 0, wait: None, now: began };
    if case.events.len() != case.answers.len() {
        return Err(format!("{} answers for {} events", case.answers.len(), case.events.len()));
    }
    for (step, (event, expected)) in case.events.iter().zip(&case.answers).enumerate() {
        (machine.taken, machine.wait) = (0, None);
        machine.hand(event, 0);
        let near = |expected: Option<f64>, got: f64| {
            expected.is_none_or(|expected| (got - expected).abs() <= case.within * expected.abs().max(got.abs()))
        };
        // A wait is cut to a nanosecond, too.
        let waits = match (expected.wait_ns, machine.wait) {
            (None, _) => true,
            (Some(N(u64::MAX)), got) => got == Some(N(u64::MAX)),
            (Some(_), None) => false,
            (Some(expected), Some(got)) => {
                expected.0.abs_diff(got.0) as f64 <= (case.within * expected.0 as f64).max(1.0)
            }
        };
        let guard = &machine.guard;
        let tokens = guard.tokens(machine.now);
        let right = expected.taken.is_none_or(|taken| taken == machine.taken)
            && waits
            && near(expected.rate, guard.rate())
            && near(expected.measured, guard.measured())
            // Of tokens that are used up a rounding is left.
            && (near(expected.tokens, tokens) || expected.tokens.is_some_and(|none| none == 0.0 && tokens.abs() < 1e-9));
        if !right {
            let got = AdaptiveAnswer {
                taken: Some(machine.taken),
                wait_ns: machine.wait,
                rate: Some(guard.rate()),
                measured: Some(guard.measured()),
                tokens: Some(tokens),
            };
            return Err(format!("expected {expected:?}, got {got:?} (at step {step})"));
        }
    }
    Ok(())
}

/// Stretched delays, what happens to them, and what delays become.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct StretchCase {
    /// The `stretch` of a policy document.
    pub stretch: Value,
    /// When the guard is made.
    pub began_ns: N,
    /// What happens.
    pub events: Vec<StretchEvent>,
    /// What each delay that is asked about becomes; null for another event.
    pub delays: Vec<Option<N>>,
}

/// What happens to stretched delays.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum StretchEvent {
    /// Attempts ended.
    Record {
        /// The time.
        at_ns: N,
        /// How many ended well.
        #[serde(default)]
        ok: u32,
        /// How many failed.
        #[serde(default)]
        failed: u32,
    },
    /// What does a delay become?
    Stretch {
        /// The time.
        at_ns: N,
        /// The delay.
        delay_ns: N,
    },
}

/// Drives stretched delays through a case.
pub fn stretch(case: &StretchCase) -> Result<(), String> {
    let config = built("stretch", &case.stretch)?.stretch().map_err(|error| error.to_string())?;
    let config = config.ok_or("no stretched delays")?;
    let mut guard = Stretch::new(&config, at(case.began_ns));
    let mut delays = Vec::new();
    for event in &case.events {
        delays.push(match *event {
            StretchEvent::Record { at_ns, ok, failed } => {
                (0..ok).for_each(|_| guard.record(&config, at(at_ns), false));
                (0..failed).for_each(|_| guard.record(&config, at(at_ns), true));
                None
            }
            StretchEvent::Stretch { at_ns, delay_ns } => {
                Some(N(guard.stretch(&config, at(at_ns), Span::from_nanos(delay_ns.0)).as_nanos()))
            }
        });
    }
    crate::run::all_same(&case.delays, &delays)
}

/// A hedge's delay, the times of attempts, and what is made of them.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct LatencyCase {
    /// The `hedge` of a policy document.
    pub hedge: Value,
    /// How long attempts took, one after the other.
    pub took_ns: Vec<N>,
    /// The estimate before them and after each.
    pub quantile_ns: Vec<Option<N>>,
    /// The delay before the next attempt starts, at the end.
    pub delay_ns: N,
}

/// Tells a quantile the times of a case.
pub fn latency(case: &LatencyCase) -> Result<(), String> {
    let config = built("hedge", &case.hedge)?.hedge().map_err(|error| error.to_string())?.ok_or("no hedge")?;
    let mut guard = Latency::new();
    let mut quantiles = vec![guard.quantile()];
    for took in &case.took_ns {
        guard.record(Span::from_nanos(took.0), config.percentile().unwrap_or_default());
        quantiles.push(guard.quantile());
    }
    let quantiles: Vec<_> = quantiles.into_iter().map(|quantile| quantile.map(|span| N(span.as_nanos()))).collect();
    crate::run::all_same(&case.quantile_ns, &quantiles)?;
    crate::run::same(&case.delay_ns, &N(config.delay(&guard).as_nanos())).map_err(|why| format!("the delay: {why}"))
}

/// The guards of a document that has only this one.
pub(crate) fn built(name: &str, value: &Value) -> Result<Options, String> {
    let mut builder = Options::default();
    set(&mut builder, name, value)?;
    Ok(builder)
}

fn set(builder: &mut Options, name: &str, value: &Value) -> Result<(), String> {
    let setting = match value {
        Value::Null => Setting::Nothing,
        Value::Object(fields) => {
            return fields.iter().try_for_each(|(field, value)| set(builder, &format!("{name}.{field}"), value));
        }
        Value::String(text) => Setting::Text(text),
        Value::Number(number) => Setting::Number { value: number.as_f64().unwrap_or(f64::NAN), unit: 1.0 },
        Value::Array(_) | Value::Bool(_) => Setting::Other,
    };
    builder.set(name, setting).map(|_| ()).map_err(|error| error.to_string())
}

fn at(n: N) -> Timestamp {
    Timestamp::from_nanos(n.0)
}
