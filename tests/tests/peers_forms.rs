//! The configurations of other systems, and the documents that mean the same.

use conformance::documents;
use holdoff_core::{Document, Form};

fn read(form: Form, text: &str) -> Result<Document, String> {
    documents::read_form(form.reader(), text).map_err(|error| error.to_string())
}

/// Holds that the form's text means the same as a document of holdoff. A loop brings no budget to a policy of another system, so a document
/// that names no budget stands for one that names "none"; and most systems never read how long a server asks to wait.
fn same(form: Form, text: &str, document: &str) {
    let read = read(form, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(document).unwrap();
    fields.entry("budget").or_insert("none".into());
    fields.entry("hint").or_insert(serde_json::json!({"mode": "ignore"}));
    let document = serde_json::Value::from(fields).to_string();
    let expected = documents::read(&document).unwrap_or_else(|error| panic!("{document}: {error}"));
    assert_eq!(read.to_json(), expected.to_json(), "{text}");
    assert!(read.policy == expected.policy && read.rules == expected.rules, "{text}");
}

/// Holds that the form's text is refused in these words.
fn refused(form: Form, text: &str, words: &str) {
    assert_eq!(read(form, text).map(|document| document.to_json()), Err(words.into()), "{text}");
}

#[test]
fn retriers_of_step_functions_are_rules_with_attempts_and_delays_of_their_own() {
    same(
        Form::StepFunctions,
        r#"{ "Type": "Task", "Resource": "arn:x", "Next": "Y", "Parameters": {"a": {"b": 1}}, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Z"}],
            "Retry": [
              { "ErrorEquals": ["ErrorA", "ErrorB"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 2 },
              { "ErrorEquals": ["ErrorC"], "IntervalSeconds": 5 } ] }"#,
        r#"{ "attempts": 1, "jitter": "none", "rules": [
              { "if": {"types": ["ErrorA", "ErrorB"]}, "retry": true, "attempts": 3, "jitter": "none", "cap": "before_jitter",
                "backoff": {"initial": "1s", "factor": 2, "max": "none"} },
              { "if": {"types": ["ErrorC"]}, "retry": true, "attempts": 4, "jitter": "none", "cap": "before_jitter",
                "backoff": {"initial": "5s", "factor": 2, "max": "none"} },
              { "if": {}, "retry": false } ] }"#,
    );
    same(
        Form::StepFunctions,
        r#"{ "Retry": [
              { "ErrorEquals": ["States.Timeout", "Lambda.TooMany"], "MaxDelaySeconds": 60, "JitterStrategy": "FULL" },
              { "ErrorEquals": ["Fatal"], "MaxAttempts": 0 },
              { "ErrorEquals": ["States.ALL"], "MaxAttempts": 99999999 } ] }"#,
        r#"{ "attempts": 1, "jitter": "none", "rules": [
              { "if": [{"kinds": ["timeout"]}, {"types": ["Lambda.TooMany"]}], "retry": true, "attempts": 4, "jitter": "full",
                "cap": "before_jitter", "backoff": {"initial": "1s", "factor": 2, "max": "60s"} },
              { "if": {"types": ["Fatal"]}, "retry": false },
              { "if": {}, "retry": true, "attempts": "forever", "jitter": "none", "cap": "before_jitter",
                "backoff": {"initial": "1s", "factor": 2, "max": "none"} } ] }"#,
    );
    for (text, words) in [
        (r#"{"Retry": [{"IntervalSeconds": 1}]}"#, "ErrorEquals: is needed"),
        (r#"{"Retry": [{}]}"#, "Retry[0] = {}: must have ErrorEquals"),
        (r#"{"Retry": [{"Comment": "c"}]}"#, "ErrorEquals: is needed"),
        (
            r#"{"Retry": [{"Comment": "c"}, {"ErrorEquals": ["A"]}]}"#,
            "Retry[1].ErrorEquals[0] = \"A\": must come behind retriers that have ErrorEquals",
        ),
        (
            r#"{"Retry": [{"ErrorEquals": ["States.ALL", "A"]}]}"#,
            "Retry[0].ErrorEquals[1] = \"A\": States.ALL must stand alone, and in the last retrier",
        ),
        (
            r#"{"Retry": [{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["A"]}]}"#,
            "Retry[1].ErrorEquals[0] = \"A\": States.ALL must stand alone, and in the last retrier",
        ),
        (
            r#"{"Retry": [{"ErrorEquals": ["A"], "IntervalSecond": 1}]}"#,
            "Retry[0].IntervalSecond = 1: is not a field of a retrier of Step Functions; did you mean \"IntervalSeconds\"?",
        ),
        (
            r#"{"Retry": [{"ErrorEquals": ["A"], "BackoffRate": 0.5}]}"#,
            "BackoffRate = 0.5: must be a number, 1 or more",
        ),
        (
            r#"{"Retry": [{"ErrorEquals": ["A"], "MaxDelaySeconds": 1}]}"#,
            "MaxDelaySeconds = 1s: must be whole seconds above IntervalSeconds and below 31622400",
        ),
    ] {
        refused(Form::StepFunctions, text, words);
    }
    // The numbers of the only retrier that retries are those of the policy.
    same(
        Form::StepFunctions,
        r#"{ "Retry": [ { "ErrorEquals": ["Fatal"], "MaxAttempts": 0 },
              { "ErrorEquals": ["States.ALL"], "IntervalSeconds": 2, "MaxAttempts": 99999999, "JitterStrategy": "FULL" } ] }"#,
        r#"{ "attempts": 100000000, "jitter": "full", "cap": "before_jitter", "backoff": {"initial": "2s", "factor": 2, "max": "none"},
             "rules": [ {"if": {"types": ["Fatal"]}, "retry": false}, {"if": {}, "retry": true} ] }"#,
    );
    same(
        Form::StepFunctions,
        r#"{ "Retry": [ { "ErrorEquals": ["States.Timeout", "States.TaskFailed"], "MaxAttempts": 1 } ] }"#,
        r#"{ "attempts": 2, "jitter": "none", "cap": "before_jitter", "backoff": {"initial": "1s", "factor": 2, "max": "none"},
             "rules": [ {"if": {"kinds": ["transient", "throttled", "timeout", "permanent"]}, "retry": true} ] }"#,
    );
    let none = r#"{ "attempts": 1, "jitter": "none" }"#;
    same(Form::StepFunctions, r#"{ "Type": "Task", "Retry": [] }"#, none);
    same(Form::StepFunctions, r#"{ "StartAt": "A", "States": { "A": { "Type": "Task", "Retry": [] } } }"#, none);
    same(Form::StepFunctions, r#"{ "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 0}] }"#, none);
    let many = (0..8).map(|name| format!(r#"{{"ErrorEquals": ["{name}"]}}"#)).collect::<Vec<_>>().join(",");
    let error = read(Form::StepFunctions, &format!(r#"{{"Retry": [{many}]}}"#)).unwrap_err();
    assert!(error.contains("exceeds the limit of 8 rules"), "{error}");
}

#[test]
fn the_retry_of_a_serverless_workflow_has_its_jitter_on_top() {
    same(
        Form::ServerlessWorkflow,
        r#"{ "retry": { "delay": {"seconds": 3}, "backoff": {"exponential": {}}, "limit": {"attempt": {"count": 4}},
             "jitter": {"from": {"milliseconds": 100}, "to": "PT0.3S"} } }"#,
        r#"{ "attempts": 5, "backoff": {"initial": "3s", "max": "none", "offset": "100ms"},
             "jitter": {"kind": "bounded", "bound": "200ms"} }"#,
    );
    same(
        Form::ServerlessWorkflow,
        r#"{ "delay": "PT1M30S", "backoff": {"linear": {}}, "limit": {"attempt": {"duration": "PT10S"}, "duration": {"hours": 1}} }"#,
        r#"{ "attempts": "forever", "backoff": {"kind": "linear", "initial": "90s", "max": "none"}, "jitter": "none",
             "attempt_timeout": "10s", "deadline": "1h" }"#,
    );
    for (text, words) in [
        (
            r#"{"backoff": {"linear": {}, "constant": {}}}"#,
            "backoff: must be an object with one of constant, exponential and linear, each an object without fields",
        ),
        (r#"{"jitter": {"from": "PT1S"}}"#, "jitter.to = 0s: must be a time not below jitter.from"),
        (r#"{"when": "${ .x }"}"#, "when = \"${ .x }\": is an expression, which no policy can hold: use rules"),
        (
            r#"{"delay": "1s"}"#,
            "delay = \"1s\": must be a time, 0 or more, such as \"PT1M30S\" or {\"minutes\": 1, \"seconds\": 30}",
        ),
    ] {
        refused(Form::ServerlessWorkflow, text, words);
    }
}

#[test]
fn a_retry_of_dapr_is_constant_or_that_of_cenkalti() {
    same(
        Form::Dapr,
        r#"{ "apiVersion": "dapr.io/v1alpha1", "kind": "Resiliency", "metadata": {"name": "x"}, "spec": {
             "policies": { "timeouts": {"general": "5s"}, "retries": { "important": {
               "policy": "constant", "duration": "2s", "maxRetries": 10, "matching": {"httpStatusCodes": "429, 500-502"} } } },
             "targets": {"apps": {"shop": {"retry": "important"}}} } }"#,
        r#"{ "attempts": 11, "backoff": {"kind": "constant", "delay": "2s"}, "jitter": "none", "rules": [
             {"if": {"http": [429, 500, 501, 502]}, "retry": true},
             {"if": {"http": ["1xx", "2xx", "3xx", "4xx", "5xx"]}, "retry": false} ] }"#,
    );
    same(
        Form::Dapr,
        r#"{ "policy": "exponential", "maxInterval": "15s", "maxRetries": -1 }"#,
        r#"{ "attempts": "forever", "deadline": "15m", "backoff": {"initial": "500ms", "factor": 1.5, "max": "15s"},
             "jitter": {"kind": "proportional", "factor": 0.5}, "cap": "before_jitter" }"#,
    );
    // The first interval is not cut down to the longest.
    same(
        Form::Dapr,
        r#"{ "policy": "exponential", "maxInterval": "100ms", "maxRetries": 3 }"#,
        r#"{ "attempts": 4, "deadline": "15m", "backoff": [ {"kind": "constant", "delay": "500ms", "times": 1},
               {"kind": "constant", "delay": "100ms"} ],
             "jitter": {"kind": "proportional", "factor": 0.5}, "cap": "before_jitter" }"#,
    );
    let several = r#"{"spec": {"policies": {"retries": {"a": {"maxRetries": 1}, "b": {"maxRetries": 2}}}}}"#;
    refused(Form::Dapr, several, "spec.policies.retries.b.maxRetries = 2: is a second policy: choose an entry");
    let second = documents::read_form(Form::Dapr.reader().entry(1), several).unwrap();
    assert_eq!(second.policy.attempts(), Some(3));
    for (text, words) in [
        (
            r#"{"matching": {"httpStatusCodes": "500-"}}"#,
            "matching.httpStatusCodes = \"500-\": must be a text of statuses from 100 to 599 and ranges of them, such as \
             \"429,500-599\"",
        ),
        (
            r#"{"spec": {"policies": {"circuitBreakers": {"simple": {"trip": "x"}}}}}"#,
            "a policy document has no policy of this format",
        ),
        (
            r#"{"spec": {"policies": {"retries": {"a": {"maxRetrys": 3}}}}}"#,
            "spec.policies.retries.a.maxRetrys = 3: is not a field of a retry of Dapr; did you mean \"maxRetries\"?",
        ),
    ] {
        refused(Form::Dapr, text, words);
    }
}

#[test]
fn a_route_of_the_gateway_api_retries_its_codes_under_a_budget() {
    same(
        Form::GatewayApi,
        r#"{ "kind": "HTTPRoute", "spec": { "hostnames": ["x"], "rules": [ { "matches": [{"path": {"value": "/"}}],
             "timeouts": {"request": "10s", "backendRequest": "2s"},
             "retry": {"codes": [502, 503], "attempts": 2, "backoff": "100ms"} } ] } }"#,
        r#"{ "attempts": 3, "deadline": "10s", "attempt_timeout": "2s", "backoff": {"kind": "constant", "delay": "100ms"},
             "jitter": "none", "rules": [ {"if": {"http": [502, 503]}, "retry": true},
             {"if": {"http": ["1xx", "2xx", "3xx", "4xx", "5xx"]}, "retry": false} ] }"#,
    );
    same(
        Form::GatewayApi,
        r#"{ "spec": { "targetRefs": [{"name": "x"}], "retryConstraint": {"budget": {"percent": 25, "interval": "20s"},
             "minRetryRate": {"count": 5, "interval": "2s"}} } }"#,
        r#"{ "budget": {"kind": "ratio", "ratio": 0.25, "window": "20s", "min_per_second": 2.5} }"#,
    );
    // A rule without a retry has none, and one without a number has one, as Envoy does.
    same(Form::GatewayApi, r#"{ "timeouts": {"request": "10s"} }"#, r#"{ "attempts": 1, "deadline": "10s" }"#);
    same(
        Form::GatewayApi,
        r#"{ "retry": {"backoff": "50ms"} }"#,
        r#"{ "attempts": 2, "backoff": {"kind": "constant", "delay": "50ms"}, "jitter": "none" }"#,
    );
    refused(Form::GatewayApi, r#"{"retry": {"codes": 503}}"#, "retry.codes = 503: must be a list");
}

#[test]
fn a_route_of_istio_retries_what_envoy_does() {
    same(
        Form::Istio,
        r#"{ "spec": { "hosts": ["x"], "http": [ { "route": [{"destination": {"host": "x"}}], "timeout": "10s",
             "retries": {"attempts": 3, "perTryTimeout": "2s", "retryOn": "connect-failure, 503, unavailable"} } ] } }"#,
        r#"{ "attempts": 4, "deadline": "10s", "attempt_timeout": "2s", "backoff": {"initial": "25ms", "max": "250ms"},
             "cap": "before_jitter",
             "rules": [ {"if": [{"unsent": true}, {"http": [503]}, {"grpc": ["UNAVAILABLE"]}], "retry": true}, {"if": {}, "retry": false} ] }"#,
    );
    same(
        Form::Istio,
        r#"{ "retries": {"attempts": 2, "backoff": "1s", "retryOn": "gateway-error,reset"} }"#,
        r#"{ "attempts": 3, "backoff": {"initial": "1s", "max": "10s"}, "cap": "before_jitter",
             "rules": [ {"if": [{"http": [502, 503, 504]}, {"unsent": true}], "retry": true},
               {"if": {"http": ["1xx", "2xx", "3xx", "4xx", "5xx"]}, "retry": false},
               {"if": {"grpc": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}, "retry": false} ] }"#,
    );
    same(
        Form::Istio,
        r#"{ "retries": {"attempts": 0} }"#,
        r#"{ "attempts": 1, "backoff": {"initial": "25ms", "max": "250ms"}, "cap": "before_jitter",
             "rules": [ {"if": [{"unsent": true}, {"grpc": ["UNAVAILABLE", "CANCELLED"]}], "retry": true}, {"if": {}, "retry": false} ] }"#,
    );
    same(
        Form::Istio,
        r#"{ "spec": {"host": "x", "trafficPolicy": {"retryBudget": {"percent": 10}}} }"#,
        r#"{ "attempts": 3, "backoff": {"initial": "25ms", "max": "250ms"}, "cap": "before_jitter",
             "budget": {"kind": "share", "ratio": 0.1, "min_concurrency": 3} }"#,
    );
    // Istio retries every route, also one that says nothing but a timeout; an empty text is none.
    let usual = r#"[ {"if": [{"unsent": true}, {"grpc": ["UNAVAILABLE", "CANCELLED"]}], "retry": true}, {"if": {}, "retry": false} ]"#;
    let backoff = r#""backoff": {"initial": "25ms", "max": "250ms"}, "cap": "before_jitter""#;
    same(
        Form::Istio,
        r#"{ "timeout": "4s" }"#,
        &format!(r#"{{ "attempts": 3, "deadline": "4s", {backoff}, "rules": {usual} }}"#),
    );
    same(
        Form::Istio,
        r#"{ "retries": {"attempts": 2, "retryOn": ""} }"#,
        &format!(r#"{{ "attempts": 3, {backoff}, "rules": {usual} }}"#),
    );
    same(
        Form::Istio,
        r#"{ "retries": {"attempts": 2, "retryOn": " refused-stream,"} }"#,
        &format!(
            r#"{{ "attempts": 3, {backoff}, "rules": [ {{"if": {{"unsent": true}}, "retry": true}}, {{"if": {{}}, "retry": false}} ] }}"#
        ),
    );
    same(
        Form::Istio,
        r#"{ "spec": {"trafficPolicy": {"connectionPool": {"http": {"maxRetries": 5, "http1MaxPendingRequests": 10}}}} }"#,
        &format!(r#"{{ "attempts": 3, {backoff}, "budget": {{"kind": "share", "ratio": 0, "min_concurrency": 5}} }}"#),
    );
    for (text, words) in [
        (
            r#"{"retries": {"attempts": 1, "retryOn": "conect-failure"}}"#,
            "retries.retryOn = \"conect-failure\": must be a text of Envoy's words and of HTTP statuses, such as \
             \"503,connect-failure,reset\"; did you mean \"connect-failure\"?",
        ),
        (r#"{"retries": {"perTryTimeout": "1s"}}"#, "retries.attempts: is needed"),
    ] {
        refused(Form::Istio, text, words);
    }
}

#[test]
fn an_instance_of_resilience4j_is_read_as_spring_reads_it() {
    same(
        Form::Resilience4j,
        "{}",
        r#"{ "backoff": {"kind": "constant", "delay": "500ms"}, "jitter": "none", "cap": "clip", "attempts": 3 }"#,
    );
    same(
        Form::Resilience4j,
        r#"{ "resilience4j": {"retry": {"instances": {"backend-a": {
             "max-attempts": 5, "wait-duration": "1s", "enable-exponential-backoff": true, "exponential-backoff-multiplier": 3,
             "exponential-max-wait-duration": 20000, "enable-randomized-wait": true, "randomized-wait-factor": 0.25,
             "retry-exceptions": ["java.io.IOException"], "ignore-exceptions": ["shop.Declined"] } } } } }"#,
        r#"{ "attempts": 5, "backoff": {"initial": "1s", "factor": 3, "max": "20s"}, "cap": "clip",
             "jitter": {"kind": "proportional", "factor": 0.25},
             "rules": [ {"if": {"types": ["shop.Declined"]}, "retry": false},
                        {"if": {"types": ["java.io.IOException"]}, "retry": true}, {"if": {}, "retry": false} ] }"#,
    );
    // With both switches a factor counts beside a multiplier only, and a longest delay beside both.
    same(
        Form::Resilience4j,
        r#"{ "waitDuration": "1s", "enableExponentialBackoff": true, "enableRandomizedWait": true, "randomizedWaitFactor": 0.2 }"#,
        r#"{ "attempts": 3, "backoff": {"initial": "1s", "factor": 1.5, "max": "none"}, "cap": "clip",
             "jitter": {"kind": "proportional", "factor": 0.5} }"#,
    );
    same(
        Form::Resilience4j,
        r#"{ "waitDuration": "1s", "enableExponentialBackoff": true, "enableRandomizedWait": true,
             "exponentialBackoffMultiplier": 3, "exponentialMaxWaitDuration": "2s" }"#,
        r#"{ "attempts": 3, "backoff": {"initial": "1s", "factor": 3, "max": "none"}, "cap": "clip",
             "jitter": {"kind": "proportional", "factor": 0.5} }"#,
    );
    for (text, words) in [
        (
            r#"{"baseConfig": "default"}"#,
            "baseConfig: names a configuration that is not in the document: write its values here",
        ),
        (r#"{"maxAttempts": 0}"#, "maxAttempts = 0: must be a whole number, 1 or more"),
        (r#"{"enableRandomizedWait": 1}"#, "enableRandomizedWait = 1: must be true or false"),
        (
            r#"{"resilience4j": {"circuitbreaker": {"instances": {"a": {"slidingWindowSize": 5}}}}}"#,
            "a policy document has no policy of this format",
        ),
    ] {
        refused(Form::Resilience4j, text, words);
    }
}

#[test]
fn a_pipeline_of_polly_is_read_with_its_timeouts_and_its_breaker() {
    same(
        Form::Polly,
        r#"{ "Retry": {"MaxRetryAttempts": 3, "BackoffType": "Exponential", "UseJitter": true, "Delay": "00:00:02",
             "ShouldRetryAfterHeader": true}, "AttemptTimeout": {"Timeout": "00:00:10"},
             "TotalRequestTimeout": {"Timeout": "00:00:30"},
             "CircuitBreaker": {"FailureRatio": 0.2, "BreakDuration": "00:00:05"} }"#,
        r#"{ "backoff": {"kind": "decorrelated_v2", "initial": "2s", "max": "none"}, "jitter": "none",
             "hint": {"mode": "exact", "max": "1h"}, "cap": "clip", "attempt_timeout": "10s", "deadline": "30s", "attempts": 4,
             "breaker": {"kind": "time", "failure_rate": 0.2, "min_calls": 100, "window": "30s", "open_for": "5s"} }"#,
    );
    same(
        Form::Polly,
        r#"{ "UseJitter": true, "BackoffType": "Linear", "MaxDelay": "00:00:05" }"#,
        r#"{ "attempts": 4, "backoff": {"kind": "linear", "initial": "2s", "max": "5s"}, "cap": "clip",
             "jitter": {"kind": "proportional", "factor": 0.25} }"#,
    );
    // Beside a timeout or a breaker it is the standard handler of HTTP clients, whose defaults are others.
    same(
        Form::Polly,
        r#"{ "Retry": {"MaxRetryAttempts": 5}, "TotalRequestTimeout": {"Timeout": "00:01:00"} }"#,
        r#"{ "backoff": {"kind": "decorrelated_v2", "initial": "2s", "max": "none"}, "jitter": "none", "attempts": 6,
             "hint": {"mode": "exact", "max": "1h"}, "cap": "clip", "attempt_timeout": "10s", "deadline": "1m" }"#,
    );
    same(
        Form::Polly,
        r#"{ "ShouldRetryAfterHeader": false, "Delay": "00:00:01" }"#,
        r#"{ "attempts": 4, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none", "cap": "clip",
             "hint": {"mode": "ignore"} }"#,
    );
    for (text, words) in [
        (r#"{"Delay": "2s"}"#, "Delay = \"2s\": must be a time from 0 to a day, such as \"00:00:02\""),
        (
            r#"{"Retry": {"MaxRetryAttempt": 3}}"#,
            "Retry.MaxRetryAttempt = 3: is not a field of Polly's RetryStrategyOptions, or of the pipeline around it; did you mean \
             \"MaxRetryAttempts\"?",
        ),
    ] {
        refused(Form::Polly, text, words);
    }
}

#[test]
fn what_is_written_reads_back_to_the_same() {
    for (form, text) in [
        (
            Form::ServerlessWorkflow,
            r#"{"delay": "PT3S", "backoff": {"linear": {}}, "jitter": {"from": "PT1S", "to": "PT2S"}}"#,
        ),
        (
            Form::ServerlessWorkflow,
            r#"{"delay": "PT3S", "limit": {"attempt": {"count": 0, "duration": "PT1S"}, "duration": "PT9S"}}"#,
        ),
        (Form::Dapr, r#"{"maxRetries": 3}"#),
        (Form::Dapr, r#"{"policy": "exponential", "maxInterval": "15s"}"#),
        (Form::Resilience4j, r#"{"waitDuration": "2s", "enableRandomizedWait": true, "randomizedWaitFactor": 0.25}"#),
        (
            Form::Resilience4j,
            r#"{"waitDuration": "2s", "enableExponentialBackoff": true, "exponentialBackoffMultiplier": 3, "exponentialMaxWaitDuration": "1m"}"#,
        ),
        (Form::Polly, r#"{"BackoffType": "Exponential", "UseJitter": true}"#),
        (Form::Polly, r#"{"BackoffType": "Exponential", "MaxDelay": "00:01:00", "ShouldRetryAfterHeader": true}"#),
        (Form::Polly, r#"{"UseJitter": true}"#),
    ] {
        let document = read(form, text).unwrap();
        let written = document.to_form(form).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(read(form, &written).as_ref() == Ok(&document), "{text} {written}");
    }
    let document = documents::read(r#"{"attempts": 3, "deadline": "1s"}"#).unwrap();
    for form in [Form::StepFunctions, Form::GatewayApi, Form::Istio] {
        assert!(!form.is_written());
        let error = document.to_form(form).unwrap_err().to_string();
        assert!(error.contains("holdoff only reads"), "{error}");
    }
    for form in [Form::Dapr, Form::Resilience4j, Form::Polly] {
        let error = document.to_form(form).unwrap_err().to_string();
        assert!(error.contains("cannot express this"), "{error}");
    }
}
