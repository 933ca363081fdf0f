//! Failures and delays on purpose.

use super::arguments::{Argument, Seed};
use super::ffi::{Answer, FromJs, fail_together, js_types, methods};
use holdoff_core as core;
use holdoff_core::Span;
use wasm_bindgen::prelude::*;

js_types! { ChaosRates = "ChaosRates" }

/// Which attempts fail on purpose and how long each is held up, by its number from 0.
#[wasm_bindgen]
pub struct Chaos(core::Chaos);

methods! { Chaos;
    #[wasm_bindgen(constructor)]
    fn new(rates: Argument<ChaosRates>) -> Chaos {
        let seed: Option<Seed> = rates.get("seed")?;
        let (failures, held_up) = (rates.or("failureRate", 0.0)?, rates.or("latencyRate", 1.0)?);
        let (shortest, longest) = (rates.or("shortest", Span::ZERO)?, rates.or("longest", Span::ZERO)?);
        let made = core::Chaos::new(seed.map_or(0, |seed| seed.0), failures, held_up, shortest, longest);
        Chaos(made.map_err(fail_together)?)
    }

    /// True if the attempt fails on purpose.
    fn fails(&self; k: u64) -> bool { self.0.fails(k) }

    /// The nanoseconds by which the attempt is held up.
    fn latency(&self; k: u64) -> u64 { self.0.latency(k).as_nanos() }
}
