//! Kubernetes: `flowcontrol.Backoff` and the rate limiters of the work queue, on gates kept by key and on the bucket.

use super::k8s::{Wrapped, real, refused, same, span, whole_or};
use super::{Recording, Verdict};
use holdoff_core::{Bucket, BucketConfig, Error, Gate, GateConfig, Keyed, Span, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// More keys than any case has.
const KEYS: usize = 1 << 20;

fn name(from: &Value) -> Result<String, String> {
    from["id"].as_str().map(str::to_owned).ok_or_else(|| "an input names no key".to_owned())
}

/// Kind `k8s_flowcontrol`.
pub(super) fn flowcontrol(case: &Recording) -> Result<Verdict, String> {
    // Events may be before the start.
    const START: i64 = 1 << 62;
    let config = &case.config;
    let jitter = real(config, "max_jitter_factor")?;
    let made = match (span(config, "initial")?, span(config, "max")?) {
        (Some(initial), Some(max)) => Some(GateConfig::flowcontrol(initial, max, jitter)),
        _ => None,
    };
    let Some(Ok(mut gates)) = made else { return refused(made) };
    if let Some(rule) = config["has_expired"].as_str() {
        gates = gates.with_quiet(quiet(rule)?);
    }
    let mut draws = config["uniforms"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let (mut keyed, mut clock, mut wrapped) = (Keyed::new(KEYS, Span::MAX), START, Wrapped::default());
    let mut lost = HashSet::new();
    // Twice the maximum is the time after which an entry has expired, and a negative one is always over.
    let expires_at_once = config["has_expired"].is_null() && whole_or(config, "max", 0)?.checked_mul(2).is_none();
    for (at, (input, expected)) in case.steps()? {
        clock = clock.saturating_add(whole_or(input, "ns", 0)?).max(0);
        let event = clock.saturating_add(whole_or(input, "event_offset", 0)?).max(0);
        let event = Timestamp::from_nanos(event as u64);
        let now = Timestamp::from_nanos(clock as u64);
        let found = |keyed: &Keyed<String, Gate>| Ok::<_, String>(keyed.peek(&name(input)?, now).copied());
        let got = match input["op"].as_str().unwrap_or_default() {
            "advance" => Value::Null,
            "next" => {
                let gate = keyed.entry(name(input)?, now, Gate::new);
                let script = if gate.draws(&gates, event) { draws.next().and_then(Value::as_f64) } else { Some(0.0) };
                let u = drawn(script.ok_or("more draws than the original made")?);
                json!(gate.failure_of(&gates, event, now, u).as_nanos())
            }
            "get" => json!(found(&keyed)?.unwrap_or_default().delay().as_nanos()),
            "in_backoff_since_update" => json!(found(&keyed)?.unwrap_or_default().covers(&gates, event)),
            "in_backoff_since" => json!(found(&keyed)?.unwrap_or_default().covers_since(&gates, event, now)),
            "reset" | "delete" => {
                keyed.remove(&name(input)?);
                Value::Null
            }
            "gc" => {
                keyed.retain(|_, gate| !gate.is_discardable(&gates, now));
                let asked = expected.as_object().into_iter().flat_map(Map::keys);
                asked.map(|key| (key.clone(), json!(keyed.peek(key, now).is_some()))).collect::<Map<_, _>>().into()
            }
            other => return Err(format!("unknown op {other}")),
        };
        let key = input["id"].as_str().unwrap_or_default();
        if matches!(input["op"].as_str(), Some("reset" | "delete")) {
            lost.remove(key);
        }
        // A wrapped delay is doubled again, which may give any number, until the entry is gone.
        if wrapped.is(&[expected.as_i64().unwrap_or(0)]) {
            lost.insert(key);
        } else if !lost.contains(key) && !expires_at_once && !case.is_impl_defined() {
            same(at, "answer", expected, &got)?;
        } else if *expected != got {
            wrapped.add();
        }
    }
    Ok(wrapped.verdict())
}

/// The uniform that the original drew. This family scripts the source below Go's generator, whose `Float64` takes the low 53
/// bits of a number into which the script wrote 43, so that every draw is the 1024th part of what is written.
fn drawn(script: f64) -> f64 {
    (script * f64::from(1_u32 << 31) * f64::from(1 << 12)).trunc() / (1_u64 << 53) as f64
}

/// `event-last >= N`, said as more than the nanosecond before.
fn quiet(rule: &str) -> Result<Span, String> {
    let limit = rule.strip_prefix("event-last >= ").and_then(|nanos| nanos.parse::<u64>().ok());
    limit.and_then(|nanos| nanos.checked_sub(1)).map(Span::from_nanos).ok_or_else(|| format!("unknown rule {rule}"))
}

/// A rate limiter of the work queue.
enum Limiter {
    Items(GateConfig, Keyed<String, Gate>),
    Bucket(BucketConfig, Bucket),
    MaxOf(Vec<Self>),
}

impl Limiter {
    /// Nothing where a number is negative that may not be.
    fn of(config: &Value) -> Result<Option<Result<Self, Error>>, String> {
        let items = |gates| Some(Ok(Self::Items(gates, Keyed::new(KEYS, Span::MAX))));
        Ok(match config["kind"].as_str().unwrap_or_default() {
            "ItemExponentialFailure" => match (span(config, "base")?, span(config, "max")?) {
                (Some(base), Some(max)) => items(GateConfig::item_exponential(base, max)),
                _ => None,
            },
            "ItemFastSlow" => match (span(config, "fast")?, span(config, "slow")?) {
                (Some(fast), Some(slow)) => {
                    items(GateConfig::fast_slow(fast, slow, whole_or(config, "max_fast_attempts", 0)?))
                }
                _ => None,
            },
            "Bucket" => {
                let rate = real(config, "limit_per_s")?;
                let burst = u64::try_from(whole_or(config, "burst", 0)?).ok();
                burst.map(|burst| {
                    let made = BucketConfig::per_second(rate, burst);
                    made.map(|made| Self::Bucket(made, Bucket::full(&made, Timestamp::ZERO)))
                })
            }
            "MaxOf" => {
                let mut limiters = Vec::new();
                for one in config["of"].as_array().ok_or("of what?")? {
                    match Self::of(one)? {
                        Some(Ok(limiter)) => limiters.push(limiter),
                        other => return Ok(other),
                    }
                }
                Some(Ok(Self::MaxOf(limiters)))
            }
            other => return Err(format!("unknown limiter {other}")),
        })
    }

    fn when(&mut self, id: &str, now: Timestamp) -> Span {
        match self {
            Self::Items(config, items) => items.entry(id.to_owned(), now, Gate::new).failure(config, now, 0.0),
            // Go says "never" as its longest duration.
            Self::Bucket(config, bucket) => bucket.reserve(config, 1, now).unwrap_or(Span::MAX),
            Self::MaxOf(limiters) => limiters.iter_mut().map(|limiter| limiter.when(id, now)).max().unwrap_or_default(),
        }
    }

    fn requeues(&self, id: &str, now: Timestamp) -> u64 {
        match self {
            Self::Items(_, items) => items.peek(id, now).map_or(0, Gate::failures),
            Self::Bucket(..) => 0,
            Self::MaxOf(limiters) => limiters.iter().map(|limiter| limiter.requeues(id, now)).max().unwrap_or(0),
        }
    }

    fn forget(&mut self, id: &str) {
        match self {
            Self::Items(_, items) => drop(items.remove(id)),
            Self::Bucket(..) => {}
            Self::MaxOf(limiters) => limiters.iter_mut().for_each(|limiter| limiter.forget(id)),
        }
    }
}

/// Kind `k8s_workqueue`.
pub(super) fn workqueue(case: &Recording) -> Result<Verdict, String> {
    let made = Limiter::of(&case.config)?;
    let Some(Ok(mut limiter)) = made else { return refused(made) };
    let longest = span(&case.config, "max").ok().flatten().unwrap_or(Span::MAX);
    let mut wrapped = Wrapped::default();
    for (at, (input, expected)) in case.steps()? {
        let now = Timestamp::from_nanos(u64::try_from(whole_or(input, "at", 0)?).map_err(|error| error.to_string())?);
        let id = input["id"].as_str().unwrap_or_default();
        let got = match input["op"].as_str().unwrap_or_default() {
            "when" => json!(limiter.when(id, now).as_nanos()),
            "requeues" => json!(limiter.requeues(id, now)),
            "forget" => {
                limiter.forget(id);
                Value::Null
            }
            other => return Err(format!("unknown op {other}")),
        };
        if wrapped.is(&[expected.as_i64().unwrap_or(0)]) {
            same(at, "a delay in range", &true, &got.as_u64().is_some_and(|delay| delay <= longest.as_nanos()))?;
        } else if *expected != got
            && input["op"] == "when"
            && leaves(&case.config, limiter.requeues(id, now).saturating_sub(1))
        {
            // The longest of several hides the negative one.
            wrapped.add();
        } else {
            same(at, "answer", expected, &got)?;
        }
    }
    Ok(wrapped.verdict())
}

/// Whether an exponential limiter inside another leaves the range of an integer after that many failures: its product is
/// exactly 2^63, or no number.
fn leaves(config: &Value, failures: u64) -> bool {
    let power = 2_f64.powi(i32::try_from(failures).unwrap_or(i32::MAX));
    let is_out = |one: &Value| {
        one["base"].as_f64().is_some_and(|base| base * power == 2_f64.powi(63) || (base * power).is_nan())
    };
    config["of"].as_array().into_iter().flatten().any(|one| is_out(one) || leaves(one, failures))
}
