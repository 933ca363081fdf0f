//! Hedging: a second attempt beside a slow one.

use crate::parameters::{Now, Took};
use holdoff_core::{Error, HedgeConfig, Latency, Options, Span, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

guard! {
    Hedge(self, py) "hedge": Latency, HedgeConfig;
    fresh |builder, _, _| builder.hedge()?.map(|config| (config, Latency::new()));
    save |_, state, _| state.save();
    restore |bytes, config, _| Latency::restore(bytes)?;
    new(**fields: "Unpack[HedgeFields]", config: "HedgeConfig");
    repr |config, state| "<Hedge after {}>", config.delay(state);

    /// An attempt that succeeded took that many nanoseconds.
    ref record(took: Took) =
        self.0.with(|config, state| state.record(took.0, config.percentile().unwrap_or_default()));

    /// How long the percentile of attempts takes, in nanoseconds; None before the first.
    get quantile: Option<u64> = self.0.with(|_, state| state.quantile().map(Span::as_nanos));

    /// How many attempts have been recorded.
    get records: u32 = self.0.with(|_, state| state.records());

    /// How long after an attempt the next one starts beside it, in nanoseconds.
    get delay: u64 = self.0.with(|config, state| config.delay(state).as_nanos());

    /// How many attempts there may be at once.
    get attempts: u32 = self.0.config().attempts();
}
