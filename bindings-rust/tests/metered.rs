//! The counters of the feature `metrics`, as Prometheus reads them.
#![cfg(feature = "metrics")]

use holdoff::core::{BreakerConfig, StopReason};
use holdoff::{Policy, SharedGuards, testing::VirtualTime};
use metrics_exporter_prometheus::PrometheusBuilder;
use std::time::Duration;

#[test]
fn prometheus_reads_attempts_retries_delays_and_ends() {
    let guards = SharedGuards::new().with(BreakerConfig::consecutive(3, Duration::from_secs(5).into()).unwrap());
    let (recorder, time) = (PrometheusBuilder::new().build_recorder(), VirtualTime::new());
    metrics::with_local_recorder(&recorder, || {
        let begin = || holdoff::retry(Policy::default(), || Err::<(), _>("down")).metrics().sleeper(time.clone());
        assert_eq!(begin().guards(&guards).call().unwrap_err().reason(), StopReason::Attempts);
        assert_eq!(begin().guards(&guards).call().unwrap_err().reason(), StopReason::Breaker);
        let answer = holdoff::retry(Policy::default(), || Ok::<_, &str>(1)).metrics().sleeper(time.clone()).call();
        assert_eq!(answer, Ok(1));
    });
    let text = recorder.handle().render();
    let count = |name: &str, labels: &[&str]| -> f64 {
        let lines =
            text.lines().filter(|line| line.starts_with(name) && labels.iter().all(|label| line.contains(label)));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    };
    assert_eq!(count("holdoff_attempts_total{", &[]), 4.0, "{text}");
    assert_eq!(count("holdoff_retries_total{", &["kind=\"transient\"", "cause=\"backoff\""]), 2.0, "{text}");
    assert_eq!(count("holdoff_successes_total{", &[]), 1.0, "{text}");
    assert_eq!(count("holdoff_give_ups_total{", &["kind=\"transient\"", "reason=\"attempts\""]), 1.0, "{text}");
    assert_eq!(count("holdoff_give_ups_total{", &["kind=\"none\"", "reason=\"breaker\""]), 1.0, "{text}");
    assert_eq!(count("holdoff_breaker_changes_total{", &["before=\"closed\"", "after=\"open\""]), 1.0, "{text}");
    assert_eq!(count("holdoff_delay_seconds_count{", &[]), 2.0, "{text}");
}
