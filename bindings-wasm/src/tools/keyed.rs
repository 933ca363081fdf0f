//! Gates, and buckets of tokens, which outlive operations.

use super::ffi::{
    Answer, AnyTime, Draw, Fields, Length, SameTime, Time, Whole, draw, exact, fail, from_words, length, like, misuse,
    time_of, to_words,
};
use holdoff_core as core;
use holdoff_core::{Direction, ErrorCode, Gate, Growth, Span, Timestamp};
use js_sys::{Array, Map};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(raw_module = "./ffi.ts")]
extern "C" {
    #[wasm_bindgen(typescript_type = "GateOptions")]
    pub type GateOptions;
    #[wasm_bindgen(typescript_type = "FlowcontrolOptions")]
    pub type FlowcontrolOptions;
    #[wasm_bindgen(typescript_type = "ChromiumPolicy")]
    pub type ChromiumPolicy;
    #[wasm_bindgen(typescript_type = "GateConfig | GateOptions")]
    pub type AnyGate;
    #[wasm_bindgen(typescript_type = "GatesOptions")]
    pub type GatesOptions;
    #[wasm_bindgen(typescript_type = "GateState<Same<T>>")]
    pub type GateState;
    #[wasm_bindgen(typescript_type = "K")]
    pub type Key;
    #[wasm_bindgen(typescript_type = "BucketOptions")]
    pub type BucketOptions;

    #[wasm_bindgen(js_name = makeGateState)]
    fn make_gate_state(failures: f64, delay: SameTime, release: SameTime, is: Vec<u8>) -> GateState;
}

/// The checked choices for gates.
#[wasm_bindgen]
pub struct GateConfig(core::GateConfig);

fn checked(made: Result<core::GateConfig, core::Error>) -> Answer<GateConfig> {
    made.map(GateConfig).map_err(|error| fail(&error, "", &JsValue::UNDEFINED))
}

/// The milliseconds of a field of Chromium's; a negative number is no limit.
fn chromium_millis(fields: &Fields<'_>, name: &str) -> Answer<Option<u64>> {
    let value = fields.get(name)?.unwrap_or_default();
    let number =
        value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= js_sys::Number::MAX_SAFE_INTEGER);
    let number = number.ok_or_else(|| misuse(ErrorCode::WrongType, name, &value))?;
    Ok((number >= 0.0).then_some(number as u64))
}

#[wasm_bindgen]
impl GateConfig {
    #[wasm_bindgen(constructor)]
    pub fn new(options: Option<GateOptions>) -> Answer<GateConfig> {
        let (fields, by_default) = (Fields::of(&options), core::GateOptions::default());
        let all = fields.get("forgives")?.is_some_and(|value| value.as_string().is_some_and(|text| text == "all"));
        let count =
            |name, otherwise| Ok::<_, JsValue>(fields.integer(name, ErrorCode::WrongType)?.unwrap_or(otherwise));
        let options = core::GateOptions {
            initial: fields.length("initial")?.unwrap_or(by_default.initial),
            factor: fields.real("factor", by_default.factor)?,
            max: fields.limit("max", Some(by_default.max))?.unwrap_or(Span::MAX),
            jitter: fields.real("jitter", by_default.jitter)?,
            direction: fields.word("direction", Direction::from_name, by_default.direction)?,
            growth: fields.word("growth", Growth::from_name, by_default.growth)?,
            grace: count("grace", by_default.grace)?,
            grace_delay: fields.length("graceDelay")?.unwrap_or(by_default.grace_delay),
            ahead: fields.flag("ahead", by_default.ahead)?,
            forgives: if all { u32::MAX } else { count("forgives", by_default.forgives)? },
            rest: fields.length("rest")?.unwrap_or(by_default.rest),
            quiet: fields.limit("quiet", by_default.quiet)?,
            keep: fields.limit("keep", by_default.keep)?,
            keep_failed: fields.limit("keepFailed", by_default.keep_failed)?,
            quantum: fields.length("quantum")?.unwrap_or(by_default.quantum),
        };
        checked(options.build())
    }

    /// An entry of Kubernetes' `flowcontrol.Backoff`; it begins again after `quiet`, twice `max` unless given.
    pub fn flowcontrol(options: &FlowcontrolOptions) -> Answer<GateConfig> {
        let fields = Fields::at(options);
        let (initial, max) = (fields.required("initial")?, fields.required("max")?);
        let (jitter, quiet) = (fields.real("maxJitter", 0.0)?, fields.length("quiet")?);
        let made = core::GateConfig::flowcontrol(initial, max, jitter);
        checked(made.map(|config| quiet.map_or(config, |quiet| config.with_quiet(quiet))))
    }

    /// An item of Kubernetes' `ItemExponentialFailureRateLimiter`.
    #[wasm_bindgen(js_name = itemExponential)]
    pub fn item_exponential(base: &Length, max: &Length) -> Answer<GateConfig> {
        Ok(GateConfig(core::GateConfig::item_exponential(length(base, "base")?, length(max, "max")?)))
    }

    /// An item of Kubernetes' `ItemFastSlowRateLimiter`; `slow` at once for a number of attempts that is not positive.
    #[wasm_bindgen(js_name = fastSlow)]
    pub fn fast_slow(
        fast: &Length,
        slow: &Length,
        #[wasm_bindgen(js_name = maxFastAttempts)] most: &Whole,
    ) -> Answer<GateConfig> {
        let attempts = signed(most).ok_or_else(|| misuse(ErrorCode::WrongType, "maxFastAttempts", most))?;
        Ok(GateConfig(core::GateConfig::fast_slow(length(fast, "fast")?, length(slow, "slow")?, attempts)))
    }

    /// Chromium's `net::BackoffEntry`, from its policy, whose times are milliseconds and whose -1 is no limit.
    pub fn chromium(policy: &ChromiumPolicy) -> Answer<GateConfig> {
        let fields = Fields::at(policy);
        checked(core::GateConfig::chromium(
            chromium_millis(&fields, "initial_delay_ms")?.unwrap_or(0),
            fields.real("multiply_factor", f64::NAN)?,
            fields.real("jitter_factor", f64::NAN)?,
            chromium_millis(&fields, "maximum_backoff_ms")?,
            chromium_millis(&fields, "entry_lifetime_ms")?,
            fields.integer("num_errors_to_ignore", ErrorCode::WrongType)?.unwrap_or(0),
            fields.flag("always_use_initial_delay", false)?,
        ))
    }

    #[wasm_bindgen(getter, skip_typescript)]
    pub fn words(&self) -> Vec<u32> {
        to_words(&self.0)
    }
}

/// A whole number of 64 bits with a sign: a bigint, or a number that is one.
pub(super) fn signed(value: &JsValue) -> Option<i64> {
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() <= js_sys::Number::MAX_SAFE_INTEGER;
    match value.as_f64() {
        Some(number) => Some(number).filter(whole).map(|number| number as i64),
        None => wasm_bindgen::convert::TryFromJsValue::try_from_js_value_ref(value),
    }
}

/// A gate for each key: a host, an item, an image. A key that is not known has a gate that is open. Times are nanoseconds since
/// any moment, as numbers or bigints, and come back in the same type.
#[wasm_bindgen]
pub struct Gates {
    config: core::GateConfig,
    most: u32,
    /// The slot of each key's gate, in the order of their last use.
    slots: Map,
    gates: Vec<Gate>,
    free: Vec<usize>,
}

#[wasm_bindgen]
impl Gates {
    #[wasm_bindgen(constructor)]
    pub fn new(config: Option<AnyGate>, options: Option<GatesOptions>) -> Answer<Gates> {
        let fields = Fields::of(&options);
        let most = fields.integer("most", ErrorCode::WrongType)?.unwrap_or(10_000);
        if most == 0 {
            return Err(misuse(ErrorCode::WrongType, "most", &0.into()));
        }
        let words = Fields::of(&config)
            .get("words")?
            .and_then(|words| from_words(&words.dyn_into::<js_sys::Uint32Array>().ok()?.to_vec()));
        let config = match words {
            Some(config) => config,
            None => GateConfig::new(config.map(JsCast::unchecked_into))?.0,
        };
        Ok(Gates { config, most, slots: Map::new(), gates: Vec::new(), free: Vec::new() })
    }

    /// It failed at `now`, over something that happened at `event`; says for how long it closes, for a draw `u`.
    pub fn failure(&mut self, key: &Key, now: &Time, u: Option<Draw>, event: Option<AnyTime>) -> Answer<SameTime> {
        let (time, config) = (time_of(now)?, self.config);
        let event = event.map_or(Ok(time), |event| exact(&event, "event").map(Timestamp::from_nanos))?;
        let delay = self.used(key).failure_of(&config, event, time, draw(u));
        Ok(like(now, delay.as_nanos()))
    }

    /// It succeeded at `now`.
    pub fn success(&mut self, key: &Key, now: &AnyTime) -> Answer<()> {
        let (time, config) = (time_of(now)?, self.config);
        self.used(key).success(&config, time);
        Ok(())
    }

    /// It opens at `release` and no other time, until a failure puts it off: a server's answer, or a person's choice.
    #[wasm_bindgen(js_name = releaseAt)]
    pub fn release_at(&mut self, key: &Key, release: &AnyTime) -> Answer<()> {
        let release = exact(release, "release").map(Timestamp::from_nanos)?;
        self.used(key).release_at(release);
        Ok(())
    }

    /// True if it is open at `now`.
    #[wasm_bindgen(js_name = isOpen)]
    pub fn is_open(&self, key: &Key, now: &AnyTime) -> Answer<bool> {
        Ok(self.gate(key).is_open(time_of(now)?))
    }

    /// How it stands at `now`, with regard to something that happened at `event`.
    pub fn look(&self, key: &Key, now: &Time, event: Option<AnyTime>) -> Answer<GateState> {
        let (time, gate, config) = (time_of(now)?, self.gate(key), &self.config);
        let event = event.map_or(Ok(time), |event| exact(&event, "event").map(Timestamp::from_nanos))?;
        let is = [
            gate.is_open(time),
            gate.is_discardable(config, time),
            gate.covers(config, event),
            gate.covers_since(config, event, time),
            gate.draws(config, event),
        ];
        let (delay, release) = (like(now, gate.delay().as_nanos()), like(now, gate.release().as_nanos()));
        Ok(make_gate_state(gate.failures() as f64, delay, release, is.map(u8::from).to_vec()))
    }

    /// Starts anew; true if there was anything to forget.
    pub fn forget(&mut self, key: &Key) -> bool {
        self.slot(key).is_some_and(|slot| {
            self.free.push(slot);
            self.slots.delete(key)
        })
    }

    /// Throws away the gates that are not worth keeping at `now`; how many.
    pub fn collect(&mut self, now: &AnyTime) -> Answer<u32> {
        let (time, before) = (time_of(now)?, self.slots.size());
        for key in Array::from(&self.slots.keys().into()).iter() {
            if self.gate(key.unchecked_ref()).is_discardable(&self.config, time) {
                self.forget(key.unchecked_ref());
            }
        }
        Ok(before - self.slots.size())
    }

    /// The keys, the one used longest ago first.
    #[wasm_bindgen(unchecked_return_type = "IterableIterator<K>")]
    pub fn keys(&self) -> JsValue {
        self.slots.keys().into()
    }

    /// The number of keys.
    #[wasm_bindgen(getter)]
    pub fn size(&self) -> u32 {
        self.slots.size()
    }
}

impl Gates {
    fn slot(&self, key: &Key) -> Option<usize> {
        self.slots.get(key).as_f64().map(|slot| slot as usize)
    }

    fn gate(&self, key: &Key) -> Gate {
        self.slot(key).and_then(|slot| self.gates.get(slot)).copied().unwrap_or_default()
    }

    /// The gate of a key, which is the one used last now. The key used longest ago is given up for a new one.
    fn used(&mut self, key: &Key) -> &mut Gate {
        let known = self.slot(key);
        if known.is_some() {
            self.slots.delete(key);
        } else if self.slots.size() >= self.most {
            let oldest = self.slots.keys().next().map_or(JsValue::UNDEFINED, |next| next.value());
            self.forget(oldest.unchecked_ref());
        }
        let slot = known.unwrap_or_else(|| {
            let slot = self.free.pop().unwrap_or(self.gates.len());
            self.gates.truncate(self.gates.len().max(slot));
            if slot == self.gates.len() {
                self.gates.push(Gate::new())
            } else {
                self.gates[slot] = Gate::new()
            }
            slot
        });
        self.slots.set(key, &(slot as f64).into());
        &mut self.gates[slot]
    }
}

/// Tokens that drip into a bucket, as `golang.org/x/time/rate` counts them. Full at `now`.
#[wasm_bindgen]
pub struct Bucket {
    config: core::BucketConfig,
    bucket: core::Bucket,
}

#[wasm_bindgen]
impl Bucket {
    #[wasm_bindgen(constructor)]
    pub fn new(options: &BucketOptions, now: &AnyTime) -> Answer<Bucket> {
        let fields = Fields::at(options);
        let per = fields.length("per")?.unwrap_or(Span::from_secs(1));
        let burst = exact(&fields.get("burst")?.unwrap_or_default(), "burst")?;
        let config = core::BucketConfig::new(fields.real("rate", f64::NAN)?, per, burst);
        let config = config.map_err(|error| fail(&error, "bucket", &JsValue::UNDEFINED))?;
        Ok(Bucket { config, bucket: core::Bucket::full(&config, time_of(now)?) })
    }

    /// Takes `count` tokens at `now` and says how long they take to be there, in nanoseconds; undefined, and nothing is taken,
    /// for more than a burst or when that is longer than `longest` (0 takes only the tokens there are).
    #[wasm_bindgen(unchecked_return_type = "Same<T> | undefined")]
    pub fn reserve(&mut self, count: &AnyTime, now: &Time, longest: Option<AnyTime>) -> Answer<JsValue> {
        let (count, time) = (exact(count, "count")?, time_of(now)?);
        let longest = longest.map_or(Ok(Span::MAX), |longest| exact(&longest, "longest").map(Span::from_nanos))?;
        let wait = self.bucket.reserve_within(&self.config, count, time, longest);
        Ok(wait.map_or(JsValue::UNDEFINED, |wait| like(now, wait.as_nanos()).into()))
    }

    /// The tokens there are at `now`; negative while some are reserved that are not there yet.
    #[wasm_bindgen(js_name = tokensAt)]
    pub fn tokens_at(&self, now: &AnyTime) -> Answer<f64> {
        Ok(self.bucket.tokens_at(&self.config, time_of(now)?))
    }
}
