//! The events of the feature `tracing`, as a subscriber sees them.
#![cfg(feature = "tracing")]

use holdoff::core::{Backoff, BreakerConfig, Jitter};
use holdoff::{Policy, SharedGuards, testing::VirtualTime};
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes down each event as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // A function's path is the test's own affair.
        if field.name() != "operation" {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "holdoff"
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_retry_the_end_and_a_change_of_a_breaker_are_events_and_a_success_is_none() {
    let backoff = Backoff::constant(Duration::from_secs(1));
    let policy = Policy::options().attempts(2).backoff(backoff).jitter(Jitter::None).build().unwrap();
    let open = Duration::from_secs(5).into();
    let guards = SharedGuards::new().with(BreakerConfig::consecutive(2, open).unwrap());
    let (lines, time) = (Lines::default(), VirtualTime::new());
    tracing::subscriber::with_default(lines.clone(), || {
        let answer = holdoff::retry(&policy, || Ok::<_, &str>(1)).sleeper(time.clone()).guards(&guards).call();
        assert_eq!(answer, Ok(1));
        let answer = holdoff::retry(&policy, || Err::<(), _>("down")).sleeper(time.clone()).guards(&guards).call();
        assert!(answer.is_err());
        guards.breaker().unwrap().reset();
    });
    assert_eq!(
        *lines.0.lock().unwrap(),
        [
            "DEBUG message=retry attempt=1 kind=\"transient\" delay=1s cause=\"backoff\"",
            "WARN message=breaker before=\"closed\" after=\"open\"",
            "WARN message=give up attempt=2 reason=\"attempts\" retry_in=None",
            "WARN message=breaker before=\"open\" after=\"closed\"",
        ]
    );
}
