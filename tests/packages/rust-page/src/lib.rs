//! The crate `holdoff` for wasm32-unknown-unknown: in a page with the feature `web`, and without it on a clock of its own.
#![cfg(target_family = "wasm")]

use holdoff::core::{Backoff, Jitter};
use holdoff::{Error, Policy};
use std::time::Duration;

/// Three attempts, 20 ms apart.
fn policy() -> Result<Policy, Error> {
    let backoff = Backoff::constant(Duration::from_millis(20));
    Policy::options().attempts(3).backoff(backoff).jitter(Jitter::None).build()
}

/// Fails twice, and then returns how often it was called.
fn third_time_lucky() -> impl FnMut() -> Result<u32, &'static str> {
    let mut calls = 0;
    move || {
        calls += 1;
        if calls < 3 { Err("not yet") } else { Ok(calls) }
    }
}

/// The loop with the clock, the timer and the seeds of the page.
#[cfg(feature = "page")]
pub mod page {
    use wasm_bindgen::prelude::wasm_bindgen;

    /// The number of the attempt that succeeds.
    #[wasm_bindgen]
    pub async fn attempts() -> Result<u32, String> {
        let policy = super::policy().map_err(|error| error.to_string())?;
        let mut operation = super::third_time_lucky();
        holdoff::retry(policy, || std::future::ready(operation())).await.map_err(|stopped| stopped.to_string())
    }

    /// Why an attempt without an answer ends: its limit is the page's timer.
    #[wasm_bindgen]
    pub async fn silence() -> Result<String, String> {
        let policy = holdoff::Policy::options().attempts(1).attempt_timeout(std::time::Duration::from_millis(30));
        let policy = policy.build().map_err(|error| error.to_string())?;
        match holdoff::retry(policy, std::future::pending::<Result<(), String>>).await {
            Ok(()) => Err("an answer".to_owned()),
            Err(stopped) => Ok(stopped.to_string()),
        }
    }
}

/// Milliseconds of sleep on a clock that only sleeping moves, or `u32::MAX` after a failure.
#[cfg(not(feature = "page"))]
#[allow(unsafe_code)] // An export needs its name.
#[unsafe(no_mangle)]
extern "C" fn slept() -> u32 {
    let time = holdoff::testing::VirtualTime::new();
    let Ok(policy) = policy() else { return u32::MAX };
    match holdoff::retry(policy, third_time_lucky()).sleeper(time.clone()).seed(7).call() {
        Ok(_) => time.elapsed().as_millis() as u32,
        Err(_) => u32::MAX,
    }
}
