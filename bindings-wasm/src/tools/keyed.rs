//! Gates, and buckets of tokens, which outlive operations.

use super::arguments::{Argument, Draw, Key, Limit, Now, SameTime, fill};
use super::ffi::{
    Answer, FromJs, fail, fail_together, from_words, js_types, methods, misuse, object, property, to_words,
};
use holdoff_core as core;
use holdoff_core::{ErrorCode, Gate, Span, Timestamp};
use js_sys::{Array, Map, Uint32Array};
use wasm_bindgen::prelude::*;

js_types! {
    GateOptions = "GateOptions", FlowcontrolOptions = "FlowcontrolOptions", ChromiumPolicy = "ChromiumPolicy",
    AnyGate = "GateConfig | GateOptions", GatesOptions = "GatesOptions", GateState = "GateState<Same<T>>",
    BucketOptions = "BucketOptions", Keys = "IterableIterator<K>",
}

/// The checked choices for gates.
#[wasm_bindgen]
pub struct GateConfig(core::GateConfig);

methods! { GateConfig;
    #[wasm_bindgen(constructor)]
    fn new(options: Argument<Option<GateOptions>>) -> GateConfig { GateConfig(config_of(&options)?) }

    /// An entry of Kubernetes' `flowcontrol.Backoff`; it begins again after `quiet`, twice `max` unless given.
    fn flowcontrol(options: Argument<FlowcontrolOptions>) -> GateConfig {
        let (initial, max, jitter) = (options.get("initial")?, options.get("max")?, options.or("maxJitter", 0.0)?);
        let made = core::GateConfig::flowcontrol(initial, max, jitter).map_err(fail_together)?;
        GateConfig(options.get::<Option<Span>>("quiet")?.map_or(made, |quiet| made.with_quiet(quiet)))
    }

    /// An item of Kubernetes' `ItemExponentialFailureRateLimiter`.
    fn itemExponential(base: Span, max: Span) -> GateConfig { GateConfig(core::GateConfig::item_exponential(base, max)) }

    /// An item of Kubernetes' `ItemFastSlowRateLimiter`; `slow` at once for a number of attempts that is not positive.
    fn fastSlow(fast: Span, slow: Span, maxFastAttempts: i64) -> GateConfig {
        GateConfig(core::GateConfig::fast_slow(fast, slow, maxFastAttempts))
    }

    /// Chromium's `net::BackoffEntry`, from its policy, whose times are milliseconds and whose -1 is no limit.
    fn chromium(policy: Argument<ChromiumPolicy>) -> GateConfig {
        let millis = |name| Ok::<_, JsValue>(u64::try_from(policy.get::<i64>(name)?).ok());
        GateConfig(core::GateConfig::chromium(
            millis("initial_delay_ms")?.unwrap_or(0),
            policy.get("multiply_factor")?,
            policy.get("jitter_factor")?,
            millis("maximum_backoff_ms")?,
            millis("entry_lifetime_ms")?,
            policy.or("num_errors_to_ignore", 0)?,
            policy.or("always_use_initial_delay", false)?,
        ).map_err(fail_together)?)
    }

    #[wasm_bindgen(getter, skip_typescript)]
    fn words(&self;) -> Vec<u32> { to_words(&self.0) }
}

/// The configuration that options describe, or that has been made of such.
fn config_of<J>(fields: &Argument<J>) -> Answer<core::GateConfig> {
    if let Some(made) = from_words(&property(&fields.0, "words")?) {
        return Ok(made);
    }
    let mut options = core::GateOptions::default();
    fill!(options, fields: initial, factor, jitter, direction, growth, grace, grace_delay, ahead, rest, quantum);
    options.max = fields.or("max", Limit(Some(options.max)))?.0.unwrap_or(Span::MAX);
    options.quiet = fields.or("quiet", Limit(options.quiet))?.0;
    options.keep = fields.or("keep", Limit(options.keep))?.0;
    options.keep_failed = fields.or("keepFailed", Limit(options.keep_failed))?.0;
    let forgives = property(&fields.0, "forgives")?;
    options.forgives = if forgives == "all" { u32::MAX } else { fields.or("forgives", options.forgives)? };
    options.build().map_err(fail_together)
}

/// A gate for each key: a host, an item, an image. A key that is not known has a gate that is open. Times are nanoseconds since
/// any moment, as numbers or bigints, and come back in the same type.
#[wasm_bindgen]
pub struct Gates {
    config: core::GateConfig,
    most: u32,
    /// The words of each key's gate, in the order of their last use.
    gates: Map,
}

methods! { Gates;
    #[wasm_bindgen(constructor)]
    fn new(config: Argument<Option<AnyGate>>, options: Argument<Option<GatesOptions>>) -> Gates {
        let most = options.or("most", 10_000)?;
        if most == 0 {
            return Err(misuse(ErrorCode::WrongType, "most", &0.into()));
        }
        Gates { config: config_of(&config)?, most, gates: Map::new() }
    }

    /// It failed at `now`, over something that happened at `event`; says for how long it closes, for a draw `u`.
    fn failure(&self; key: Key, now: Now, u: Draw, event: Option<Timestamp>) -> SameTime {
        let event = event.unwrap_or(now.time);
        now.like(self.change(&key, |gate| gate.failure_of(&self.config, event, now.time, u.0)).as_nanos())
    }

    /// It succeeded at `now`.
    fn success(&self; key: Key, now: Timestamp) -> () { self.change(&key, |gate| gate.success(&self.config, now)); }

    /// It opens at `release` and no other time, until a failure puts it off: a server's answer, or a person's choice.
    fn releaseAt(&self; key: Key, release: Timestamp) -> () { self.change(&key, |gate| gate.release_at(release)); }

    /// True if it is open at `now`.
    fn isOpen(&self; key: Key, now: Timestamp) -> bool { self.gate(&key).is_open(now) }

    /// How it stands at `now`, with regard to something that happened at `event`.
    fn look(&self; key: Key, now: Now, event: Option<Timestamp>) -> GateState {
        let (gate, config, event) = (self.gate(&key), &self.config, event.unwrap_or(now.time));
        object! {
            failures: gate.failures() as f64,
            delay: now.like(gate.delay().as_nanos()),
            release: now.like(gate.release().as_nanos()),
            isOpen: gate.is_open(now.time),
            isDiscardable: gate.is_discardable(config, now.time),
            covers: gate.covers(config, event),
            coversSince: gate.covers_since(config, event, now.time),
            draws: gate.draws(config, event),
        }
    }

    /// Starts anew; true if there was anything to forget.
    fn forget(&self; key: Key) -> bool { self.gates.delete(&key) }

    /// Throws away the gates that are not worth keeping at `now`; how many.
    fn collect(&self; now: Timestamp) -> u32 {
        let before = self.gates.size();
        for key in Array::from(&self.gates.keys()).iter() {
            if self.gate(&key).is_discardable(&self.config, now) {
                self.gates.delete(&key);
            }
        }
        before - self.gates.size()
    }

    /// The keys, the one used longest ago first.
    fn keys(&self;) -> Keys { self.gates.keys().unchecked_into() }

    /// The number of keys.
    #[wasm_bindgen(getter)]
    fn size(&self;) -> u32 { self.gates.size() }
}

impl Gates {
    fn gate(&self, key: &JsValue) -> Gate {
        from_words(&self.gates.get(key)).unwrap_or_default()
    }

    /// Changes the gate of a key, which is the one used last now. The key used longest ago is given up for a new one.
    fn change<T>(&self, key: &JsValue, change: impl FnOnce(&mut Gate) -> T) -> T {
        let mut gate = self.gate(key);
        if !self.gates.delete(key) && self.gates.size() >= self.most {
            let oldest = self.gates.keys().next().map_or(JsValue::UNDEFINED, |next| next.value());
            self.gates.delete(&oldest);
        }
        let answer = change(&mut gate);
        self.gates.set(key, &Uint32Array::from(&*to_words(&gate)));
        answer
    }
}

/// Tokens that drip into a bucket, as `golang.org/x/time/rate` counts them. Full at `now`.
#[wasm_bindgen]
pub struct Bucket {
    config: core::BucketConfig,
    bucket: core::Bucket,
}

methods! { Bucket;
    #[wasm_bindgen(constructor)]
    fn new(options: Argument<BucketOptions>, now: Timestamp) -> Bucket {
        let (rate, per, burst) = (options.get("rate")?, options.or("per", Span::from_secs(1))?, options.get("burst")?);
        let config = core::BucketConfig::new(rate, per, burst);
        let config = config.map_err(|error| fail(&error, "bucket", &JsValue::UNDEFINED))?;
        Bucket { config, bucket: core::Bucket::full(&config, now) }
    }

    /// Takes `count` tokens at `now` and says how long they take to be there, in nanoseconds; undefined, and nothing is taken,
    /// for more than a burst or when that is longer than `longest` (0 takes only the tokens there are).
    fn reserve(&mut self; count: u64, now: Now, longest: Option<u64>) -> Option<SameTime> {
        let longest = longest.map_or(Span::MAX, Span::from_nanos);
        let wait = self.bucket.reserve_within(&self.config, count, now.time, longest);
        wait.map(|wait| now.like(wait.as_nanos()))
    }

    /// The tokens there are at `now`; negative while some are reserved that are not there yet.
    fn tokensAt(&self; now: Timestamp) -> f64 { self.bucket.tokens_at(&self.config, now) }
}
