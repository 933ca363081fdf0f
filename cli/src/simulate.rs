//! `simulate`: many clients with a policy, and a server that fails for a while.

use crate::explain::Style;
use crate::host::{Answer, Host, error};
use crate::input::{Format, Input};
use crate::simulated::{self, Run};
use clap::{Args, ValueEnum};
use holdoff_core::Preset;
use holdoff_sim::SECOND;
use holdoff_sim::bounds::Figures;
use holdoff_sim::fleet;
use holdoff_sim::scenario::Scenario;
use holdoff_sim::strategy::Strategy;
use serde_json::{Map, Value, json};

/// Simulate thousands of clients and a server that fails for a while, with a policy and with the default policy.
#[derive(Args)]
pub(crate) struct Simulate {
    /// Presets, or JSON files with a policy (`-`: the standard input).
    #[arg(required = true, value_name = "POLICY", value_hint = clap::ValueHint::FilePath)]
    policies: Vec<String>,
    #[command(flatten)]
    form: Format,
    /// Leave out the default policy.
    #[arg(long)]
    no_default: bool,
    /// A JSON file with a scenario: the fields of docs/storm.md. The options below replace its fields.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    scenario: Option<String>,
    /// The fault of the server (default: down).
    #[arg(long, value_enum)]
    fault: Option<Kind>,
    /// The share of the requests with the fault, from 0 to 1; for a rate limit, the share of its capacity that the server accepts.
    #[arg(long, value_name = "NUMBER", requires = "fault", default_value_t = 0.5, hide_default_value = true, value_parser = part)]
    share: f64,
    /// The length of the fault (default: 30s).
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    outage: Option<u64>,
    /// The number of clients (default: 10000).
    #[arg(long, value_name = "NUMBER")]
    clients: Option<u32>,
    /// The calls per second of each client, on average (default: 1).
    #[arg(long, value_name = "NUMBER")]
    rate: Option<f64>,
    /// The part of the server's capacity that the calls use if none fails (default: 0.8).
    #[arg(long, value_name = "NUMBER", value_parser = part)]
    load: Option<f64>,
    /// The seed of all random numbers: the same seed gives the same result.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    style: Style,
}

/// The faults of [`holdoff_sim::server::Fault`], with common numbers.
#[derive(ValueEnum, Clone, Copy)]
enum Kind {
    /// No request is answered.
    Down,
    /// The same, and the server comes back with a full queue.
    DownThenFull,
    /// The server works at half its speed.
    Slow,
    /// A share of the requests fails at once.
    Errors,
    /// A share of the requests gets no answer.
    Timeouts,
    /// The server refuses what is above a share of its capacity, with a Retry-After of 5 s.
    RateLimit,
    /// The server is down, and comes back with an empty cache.
    ColdCache,
}

/// The most clients: each takes some hundred bytes.
const MOST_CLIENTS: u32 = 1_000_000;
/// The most calls that come in a run.
const MOST_CALLS: f64 = 1e8;
/// A run ends early after so many attempts for each call, which only a policy without sleeps makes.
const MOST_ATTEMPTS: f64 = 30.0;
/// The name of the policy that others are held against.
const DEFAULT: &str = "default";

/// Reads a time of whole seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let nanos = crate::scan::span(text)?.as_nanos();
    let is_whole = (1..=3600).contains(&(nanos / SECOND)) && nanos % SECOND == 0;
    if is_whole { Ok(nanos / SECOND) } else { Err("must be whole seconds from 1s to 1h".to_owned()) }
}

/// Reads a part of a whole. A number from 10 on is meant as percent; a load above 1 is more than a server can do.
fn part(text: &str) -> Result<f64, String> {
    match text.trim_end_matches(['%', ' ']).parse() {
        Ok(number) if number >= 10.0 || text.ends_with('%') => {
            let meant = number / 100.0;
            Err(format!("is a part of 1, not percent; did you mean {meant}?"))
        }
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("must be a part of 1, such as 0.8".to_owned()),
    }
}

impl Kind {
    fn fault(self, share: f64) -> Value {
        let kind = self.to_possible_value().map(|value| value.get_name().to_owned());
        match self {
            Self::Down | Self::DownThenFull | Self::Slow => json!({ "kind": kind }),
            Self::Errors | Self::Timeouts => json!({ "kind": kind, "share": share }),
            Self::RateLimit => json!({ "kind": kind, "share": share, "retry_after": 5 }),
            Self::ColdCache => json!({ "kind": kind, "factor": 5, "requests": 10_000 }),
        }
    }
}

impl Simulate {
    pub(crate) fn run(&self, host: &Host<'_>) -> Answer {
        let (scenario, fault) = self.scenario(host)?;
        let read = |name: &String| self.form.policy(name, host).map_err(|problem| problem.render(host));
        let mut inputs = self.policies.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if !self.no_default && !self.policies.iter().any(|name| name == DEFAULT) {
            inputs.push(Input::of(Preset::Default));
        }
        // All policies are read before the first run, which may take a while.
        let strategies = inputs.iter().map(|Input { name, document, .. }| {
            Strategy::of(name, document).map_err(|wrong| error(format_args!("{name}: {wrong:#}")))
        });
        let strategies = strategies.collect::<Result<Vec<_>, _>>()?;
        let count = strategies.len();
        let runs = strategies.into_iter().zip(1..).map(|(strategy, number)| {
            let measures = fleet::watched(&scenario, &strategy, &|second| {
                let percent = 100 * second.min(scenario.end()) / scenario.end();
                (host.progress)(&format!("simulating {} ({number} of {count}): {percent} %", strategy.name));
            });
            Run { figures: Figures::of(&scenario, &measures), name: strategy.name, measures }
        });
        let runs: Vec<_> = runs.collect();
        (host.progress)("");
        Ok(match self.style {
            Style { json: true, .. } => simulated::data(&scenario, &fault, &runs),
            Style { svg: true, .. } => simulated::drawing(&scenario, &fault, &runs),
            _ => simulated::text(&scenario, &fault, &runs, host.width),
        }
        .into())
    }

    /// The scenario, and its fault as it is written.
    fn scenario(&self, host: &Host<'_>) -> Result<(Scenario, Value), String> {
        let mut fields = self.scenario.as_ref().map_or_else(|| Ok(Map::new()), |file| read(file, host))?;
        let mut set = |name: &str, value: Option<Value>| value.map(|value| fields.insert(name.to_owned(), value));
        set("fault", self.fault.map(|kind| kind.fault(self.share)));
        set("lasts", self.outage.map(Value::from));
        set("clients", self.clients.map(Value::from));
        set("rate", self.rate.map(Value::from));
        set("load", self.load.map(Value::from));
        set("seed", self.seed.map(Value::from));
        let fault = fields.get("fault").cloned().unwrap_or_else(|| Kind::Down.fault(0.0));
        let limited = fields.contains_key("most_attempts");
        let file = self.scenario.as_deref().unwrap_or("scenario");
        let wrong = |text: &str| error(format_args!("{file}: {text}"));
        let mut scenario: Scenario =
            serde_json::from_value(Value::Object(fields)).map_err(|at| wrong(&at.to_string()))?;
        if !(1..=MOST_CLIENTS).contains(&scenario.clients) {
            return Err(wrong(&format!("`clients` = {}: must be from 1 to {MOST_CLIENTS}", scenario.clients)));
        }
        scenario.check().map_err(|at| wrong(&at.to_string()))?;
        let calls = f64::from(scenario.clients) * scenario.rate * scenario.end() as f64;
        if calls > MOST_CALLS {
            let most = MOST_CALLS / 1e6;
            return Err(wrong(&format!(
                "{:.0} million calls (clients * rate * {} seconds) are too many: there may be {most} million",
                calls / 1e6,
                scenario.end()
            )));
        }
        if !limited {
            scenario.most_attempts = (calls * MOST_ATTEMPTS + 1e6) as u64;
        }
        Ok((scenario, fault))
    }
}

/// The fields of a scenario in a file.
fn read(file: &str, host: &Host<'_>) -> Result<Map<String, Value>, String> {
    let wrong = |text: &str| error(format_args!("{file}: {text}"));
    let bytes = (host.read)(file).map_err(|cause| wrong(&cause))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not text in UTF-8"))?;
    // The scenario itself is read first: its errors have a place in the text.
    serde_json::from_str::<Scenario>(&text).map_err(|at| {
        let words = at.to_string();
        let words = words.rsplit_once(" at line ").map_or(&*words, |(words, _)| words);
        error(format_args!("{file}:{}:{}: {words}", at.line(), at.column()))
    })?;
    serde_json::from_str(&text).map_err(|at| wrong(&at.to_string()))
}
