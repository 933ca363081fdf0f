//! The counters of the crate `metrics`, under the names that Prometheus has for them (spec 37.4).

use crate::handler::{Begun, GaveUp, Handler, Retried, Succeeded};
use metrics::{counter, histogram};

/// Counts the events of a call with the recorder that the program installed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metered;

impl<T, E> Handler<T, E> for Metered {
    fn listens(&self) -> bool {
        true
    }

    fn begun(&mut self, event: &Begun) {
        counter!("holdoff_attempts_total", "operation" => event.operation).increment(1);
    }

    fn retried(&mut self, event: &Retried<'_, E>) {
        let (operation, kind, cause) = (event.operation, event.failure.kind.name(), event.cause.name());
        counter!("holdoff_retries_total", "operation" => operation, "kind" => kind, "cause" => cause).increment(1);
        histogram!("holdoff_delay_seconds", "operation" => operation).record(event.delay);
    }

    fn succeeded(&mut self, event: &Succeeded) {
        counter!("holdoff_successes_total", "operation" => event.operation).increment(1);
    }

    fn gave_up(&mut self, event: &GaveUp<'_, E>) {
        let kind = event.failure.map_or("none", |failure| failure.kind.name());
        let (operation, reason) = (event.operation, event.reason.name());
        counter!("holdoff_give_ups_total", "operation" => operation, "kind" => kind, "reason" => reason).increment(1);
    }
}
