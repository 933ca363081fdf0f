//! What other systems were recorded doing with a configuration, the policy that is read from the same configuration does.

use conformance::documents;
use holdoff_core::{Form, Policy, Schedule};
use serde_json::{Value, json};
use std::path::Path;

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/references").join(file);
    let mut content: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    content["cases"].as_array_mut().map(std::mem::take).unwrap()
}

/// The policy of a configuration in the declared domain, whose numbers a double holds.
fn policy(form: Form, config: &Value) -> Option<Policy> {
    let exact = |value: &Value| value.as_f64().is_none_or(|number| (0.0..=9_007_199_254_740_992.0).contains(&number));
    if !config.as_object()?.values().all(exact) {
        return None;
    }
    Some(documents::read_form(form.reader(), &config.to_string()).ok()?.policy)
}

/// The first delays of a policy without jitter.
fn delays(policy: &Policy, count: usize) -> Vec<i64> {
    Schedule::pinned(policy, 0).take(count).map(|delay| delay.as_nanos() as i64).collect()
}

#[test]
fn a_node_of_langgraphgo_waits_as_its_config_says() {
    let mut held = 0;
    for case in cases("langgraphgo_retrynode.json") {
        let given = &case["config"];
        let config = json!({
            "MaxAttempts": given["max_attempts"], "InitialDelay": given["initial_delay"],
            "MaxDelay": given["max_delay"], "BackoffFactor": given["backoff_factor"], "RetryableErrors": null,
        });
        let Some(policy) = policy(Form::Langgraphgo, &config) else { continue };
        for expected in case["expected"].as_array().into_iter().flatten() {
            let Some(waited) = expected["delays"].as_array() else { continue };
            let waited: Vec<_> = waited.iter().filter_map(Value::as_i64).collect();
            assert_eq!(delays(&policy, waited.len()), waited, "{}", case["name"]);
            held += 1;
        }
    }
    assert!(held >= 40, "{held} cases");
}

#[test]
fn a_backoff_of_kubernetes_steps_as_its_fields_say() {
    let mut held = 0;
    for case in cases("k8s_backoff.json") {
        let given = &case["config"];
        if given["op"] == "Jitter" || given["jitter"] != 0 {
            continue;
        }
        let config = json!({
            "Duration": given["duration"], "Factor": given["factor"], "Jitter": given["jitter"], "Steps": given["steps"],
            "Cap": given["cap"],
        });
        let Some(policy) = policy(Form::Kubernetes, &config) else { continue };
        let wait_backoff: Vec<_> = case["expected"].as_array().into_iter().flatten().collect();
        // One wait fewer than attempts; beyond that the original's steps are used up.
        let waits = policy.attempts().map_or(0, |attempts| attempts as usize - 1).min(wait_backoff.len());
        let expected: Option<Vec<_>> = wait_backoff.iter().take(waits).map(|step| step["delay"].as_i64()).collect();
        let Some(expected) = expected.filter(|delays| delays.iter().all(|delay| (0..1 << 53).contains(delay))) else {
            continue;
        };
        assert_eq!(delays(&policy, waits), expected, "{}", case["name"]);
        held += 1;
    }
    assert!(held >= 40, "{held} cases");
}

#[test]
fn a_graph_of_langgraphgo_waits_as_its_policy_says() {
    let mut held = 0;
    for case in cases("langgraphgo_graph.json") {
        let given = &case["config"]["policy"];
        let config = json!({
            "MaxRetries": given["max_retries"], "BackoffStrategy": given["strategy"], "RetryableErrors": given["retryable_errors"],
        });
        if case["config"]["op"] != "executeNodeWithRetry" || !given.is_object() {
            continue;
        }
        let Some(policy) = policy(Form::LanggraphgoGraph, &config) else { continue };
        for expected in case["expected"].as_array().into_iter().flatten() {
            let waited = expected["delays"].as_array().into_iter().flatten().map(Value::as_i64);
            let Some(waited) = waited.collect::<Option<Vec<_>>>() else { continue };
            if waited.iter().any(|delay| !(1..1 << 53).contains(delay)) {
                continue; // wrapped
            }
            assert_eq!(delays(&policy, waited.len()), waited, "{}", case["name"]);
            held += 1;
        }
    }
    assert!(held >= 10, "{held} cases");
}
