//! Longer delays while much fails.

use crate::parameters::{Delay, Now};
use holdoff_core::{Error, Options, StretchConfig, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

guard! {
    Stretch(self, py) "stretch": holdoff_core::Stretch, StretchConfig;
    fresh |builder, _, now| builder.stretch()?.map(|config| (config, holdoff_core::Stretch::new(&config, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Stretch::restore(bytes, config, now)?;
    new(*, now: Now; **fields: "Unpack[StretchFields]", config: "StretchConfig");
    repr |config, _| "<Stretch up to {} times>", config.factor();

    /// An attempt ended.
    at record(failed: bool) -> () = |config, state, now| state.record(config, now, failed);

    /// The stretched delay, both in nanoseconds.
    at stretch(delay: Delay) -> u64 = |config, state, now| state.stretch(config, now, delay.0).as_nanos();

    /// How many attempts the window holds, and how many of them failed.
    at counts() -> (u32, u32) = |config, state, now| state.counts(config, now);
}
