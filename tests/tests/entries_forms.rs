//! Which policy of another system's file is read: the one that was chosen, or the only one; never another.

use conformance::documents;
use holdoff_core::{Document, Form};

fn read(form: Form, entry: Option<u32>, text: &str) -> Result<Document, String> {
    let reader = entry.map_or(form.reader(), |entry| form.reader().entry(entry));
    documents::read_form(reader, text).map_err(|error| format!("{} {error}", error.error.code.code()))
}

/// The attempts of an entry, 0 for no limit, or the error.
fn attempts(form: Form, entry: impl Into<Option<u32>>, text: &str) -> Result<u32, String> {
    read(form, entry.into(), text).map(|document| document.policy.attempts().unwrap_or(0))
}

fn none<T>() -> Result<T, String> {
    Err("157 a policy document has no policy of this format".into())
}

fn no_entry<T>(count: u32) -> Result<T, String> {
    Err(format!(
        "158 entries = {count}: is the number of policies here: the chosen entry, counted from 0, does not exist"
    ))
}

const SERVICE_CONFIG: &str = r#"{ "methodConfig": [ { "name": [{"service": "a.A"}], "timeout": "1s" },
    { "name": [{"service": "a.B"}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s",
      "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]} } ], "childPolicy": {"x": 1} }"#;
const ROUTES: &str = r#"{ "kind": "VirtualService", "spec": { "hosts": ["x"], "http": [ { "route": [{"weight": 1}] }, {},
    { "retries": {"attempts": 4} }, { "retries": {"attempts": 7} } ] } }"#;
const RETRIES: &str = r#"{ "spec": { "policies": { "circuitBreakers": {"cb": {"maxRequests": 1}}, "retries": {
    "a": {}, "b": null, "c": {"maxRetries": 4}, "d.e": {"maxRetries": 5} } }, "targets": {"apps": {"x": {"retry": "c"}}} } }"#;
const MACHINE: &str = r#"{ "StartAt": "A", "States": {
    "A": { "Type": "Task", "Retry": [{"ErrorEquals": ["X"], "MaxAttempts": 1}] },
    "P": { "Type": "Parallel", "Branches": [ { "StartAt": "B", "States": {
      "B": { "Parameters": {"Retry": [{"ErrorEquals": 1}]}, "Retry": [{"ErrorEquals": ["X"], "MaxAttempts": 2}] } } } ],
      "Retry": [{"ErrorEquals": ["X"], "MaxAttempts": 3}] },
    "E": { "Type": "Task", "Retry": [] },
    "C": { "Type": "Task", "Retry": [{"ErrorEquals": ["X"], "MaxAttempts": 4}] } } }"#;
const SPRING: &str = r#"{ "server": {"port": 8080}, "spring": {"application": {"name": "a"}}, "resilience4j": {
    "circuitbreaker": {"instances": {"a": {"slidingWindowSize": 10}}}, "retry": {
      "configs": { "default": {"maxAttempts": 5, "retryExceptions": ["E"]}, "fast": {"maxAttempts": 8, "baseConfig": "none"} },
      "instances": { "a": {"waitDuration": "1s"}, "b": {"maxAttempts": 2, "ignoreExceptions": ["F"]} } } } }"#;
const SETTINGS: &str = r#"{ "Logging": {"LogLevel": {"Default": "Information"}}, "Queue": {"Retry": {"Count": 7}},
    "A": { "AttemptTimeout": {"Timeout": "00:00:01"} },
    "B": { "AttemptTimeout": {"Timeout": "00:00:02"}, "Retry": {"MaxRetryAttempts": 2, "Name": "x"},
           "RateLimiter": {"PermitLimit": 1} },
    "C": { "D": { "Retry": {"MaxRetryAttempts": 6} } } }"#;

#[test]
fn an_entry_that_is_not_there_is_an_error() {
    for (form, text, count) in [
        (Form::Grpc, SERVICE_CONFIG, 2),
        (Form::Istio, ROUTES, 4),
        (Form::Dapr, RETRIES, 4),
        (Form::StepFunctions, MACHINE, 4),
        (Form::Resilience4j, SPRING, 4),
        (Form::Polly, SETTINGS, 2),
        (Form::Temporal, r#"{"maximumAttempts": 3}"#, 1),
        (Form::Dapr, r#"{"maxRetries": 3}"#, 1),
        (Form::Istio, r#"{"retries": {"attempts": 3}}"#, 1),
        (
            Form::Grpc,
            r#"{"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"]}"#,
            1,
        ),
    ] {
        assert_eq!(attempts(form, 9, text), no_entry(count), "{text}");
        assert_eq!(attempts(form, count, text), no_entry(count), "{text}");
    }
    let bare = r#"{"maximumAttempts": 3}"#;
    assert_eq!(attempts(Form::Temporal, 0, bare), Ok(3));
}

#[test]
fn a_file_without_a_policy_is_an_error() {
    for (form, text) in [
        (Form::Grpc, "{}"),
        (Form::Grpc, r#"{"methodConfig": [{"name": [{}], "timeout": "1s"}]}"#),
        (Form::Istio, "{}"),
        (Form::Istio, r#"{"spec": {"http": [{"route": [{"weight": 1}]}]}}"#),
        (Form::Istio, r#"{"spec": {"http": [{"retries": null}]}}"#),
        (Form::GatewayApi, r#"{"kind": "HTTPRoute", "spec": {"rules": [{"backendRefs": []}]}}"#),
        (Form::StepFunctions, r#"{"StartAt": "A", "States": {"A": {"Type": "Pass"}}}"#),
        (Form::StepFunctions, "{}"),
        (Form::Dapr, r#"{"spec": {"policies": {"retries": {}}}}"#),
        (Form::Resilience4j, r#"{"spring": {"application": {"name": "a"}}}"#),
        (Form::Resilience4j, r#"{"resilience4j": {"retry": {}}}"#),
        (Form::ServerlessWorkflow, r#"{"document": {"dsl": "1.0.0"}, "do": [{"a": {"call": "http"}}]}"#),
        (Form::Polly, r#"{"Logging": {"LogLevel": {"Default": "Information"}}}"#),
    ] {
        assert_eq!(attempts(form, None, text), none(), "{text}");
        assert_eq!(attempts(form, 0, text), none(), "{text}");
    }
    // An entry that is there without a policy is none, too.
    assert_eq!(attempts(Form::Grpc, 0, SERVICE_CONFIG), none());
    assert_eq!(attempts(Form::Istio, 1, ROUTES), none());
}

#[test]
fn entries_have_the_numbers_of_the_file() {
    for (form, text, expected) in [
        (Form::Grpc, SERVICE_CONFIG, &[(1, 4)][..]),
        (Form::Istio, ROUTES, &[(2, 5), (3, 8)]),
        (Form::Dapr, RETRIES, &[(0, 0), (2, 5), (3, 6)]),
        (Form::StepFunctions, MACHINE, &[(0, 2), (1, 3), (2, 4), (3, 5)]),
        (Form::Resilience4j, SPRING, &[(0, 5), (2, 5), (3, 2)]),
        (Form::Polly, SETTINGS, &[(0, 3), (1, 7)]),
    ] {
        for (entry, wanted) in expected {
            assert_eq!(attempts(form, *entry, text), Ok(*wanted), "{entry} {text}");
        }
    }
    for (form, text) in [
        (Form::Istio, ROUTES),
        (Form::Dapr, RETRIES),
        (Form::StepFunctions, MACHINE),
        (Form::Resilience4j, SPRING),
        (Form::Polly, SETTINGS),
    ] {
        let error = attempts(form, None, text).unwrap_err();
        assert!(error.starts_with("148 ") && error.contains("is a second policy"), "{error}");
    }
    // Two lists of a stream may have entries with the same number.
    let list = format!(r#"{{ "kind": "List", "items": [ {ROUTES}, {ROUTES} ] }}"#);
    assert!(attempts(Form::Istio, 2, &list).unwrap_err().starts_with("148 "));
}

#[test]
fn a_file_may_hold_anything_around_its_policies() {
    assert_eq!(attempts(Form::Grpc, None, SERVICE_CONFIG), Ok(4));
    let list = r#"{ "kind": "List", "items": [ { "kind": "Service", "spec": {"ports": [{"port": 1}]} },
        { "kind": "HTTPRoute", "spec": { "rules": [ {"matches": [{"x": 1}], "retry": {"attempts": 3}} ] } } ] }"#;
    assert_eq!(attempts(Form::GatewayApi, None, list), Ok(4));
    let second = read(Form::Polly, Some(0), SETTINGS).unwrap();
    assert_eq!(second.policy.attempt_timeout().map(|time| time.as_nanos()), Some(2_000_000_000));
    let workflow = r#"{ "document": {"dsl": "1.0.0"}, "do": [ { "get": { "try": [{"call": {"call": "http"}}],
        "catch": { "errors": {"with": {"status": 503}}, "retry": {"delay": "PT1S", "limit": {"attempt": {"count": 2}}} } } } ] }"#;
    assert_eq!(attempts(Form::ServerlessWorkflow, None, workflow), Ok(3));
    let deep = r#"{ "StartAt": "M", "States": { "M": { "Type": "Map", "ItemProcessor": { "StartAt": "P", "States": { "P": {
        "Type": "Parallel", "Branches": [ { "StartAt": "T", "States": { "T": { "Type": "Task",
          "Retry": [ {"ErrorEquals": ["States.ALL"], "MaxAttempts": 6} ] } } } ] } } } } } }"#;
    assert_eq!(attempts(Form::StepFunctions, None, deep), Ok(7));
}

#[test]
fn a_policy_holds_its_own_fields_alone() {
    for (form, text, words) in [
        (
            Form::Istio,
            r#"{"spec": {"http": [{"timeout": "1s", "retries": {"attempts": 1, "perTryTimeuot": "1s"}}]}}"#,
            "143 spec.http[0].retries.perTryTimeuot = \"1s\": is not a field of the retries of an Istio VirtualService, or of the \
             retryBudget of a DestinationRule; did you mean \"retries.perTryTimeout\"?",
        ),
        (
            Form::GatewayApi,
            r#"{"retry": {"attempts": 1, "codez": [503]}}"#,
            "143 retry.codez[0] = 503: is not a field of the retry of an HTTPRoute, or of an XBackendTrafficPolicy; did you mean \
             \"retry.codes\"?",
        ),
        (
            Form::Resilience4j,
            r#"{"colour": 1, "maxAttempts": 3}"#,
            "143 a policy document has a field that is none of an instance of resilience4j's retry, beside those of one",
        ),
        (
            Form::Resilience4j,
            r#"{"maxAttempts": 3, "colour": 1}"#,
            "143 colour = 1: is not a field of an instance of resilience4j's retry",
        ),
        (
            Form::Resilience4j,
            r#"{"maxAttemps": 3}"#,
            "143 maxAttemps = 3: is not a field of an instance of resilience4j's retry; did you mean \"maxAttempts\"?",
        ),
        (
            Form::Polly,
            r#"{"A": {"Retry": {"Colour": 1, "MaxRetryAttempts": 3}}}"#,
            "143 a policy document has a field that is none of Polly's RetryStrategyOptions, beside those of them",
        ),
    ] {
        assert_eq!(read(form, None, text).map(|document| document.to_json()), Err(words.into()), "{text}");
    }
    // What the system knows and what changes no retry is passed over.
    let known = r#"{"retries": {"attempts": 2, "retryRemoteLocalities": true, "retryIgnorePreviousHosts": false}}"#;
    assert_eq!(attempts(Form::Istio, None, known), Ok(3));
    assert_eq!(attempts(Form::Resilience4j, None, r#"{"maxAttempts": 2, "eventConsumerBufferSize": 5}"#), Ok(2));
}

#[test]
fn an_instance_builds_on_its_configurations() {
    let read = |text: &str| read(Form::Resilience4j, None, text).map(|document| document.to_json());
    let same = |text: &str, instance: &str| assert_eq!(read(text), read(instance), "{text}");
    same(
        r#"{"configs": {"default": {"maxAttempts": 5, "waitDuration": "1s"}}, "instances": {"a": {"waitDuration": "100ms"}}}"#,
        r#"{"maxAttempts": 5, "waitDuration": "100ms"}"#,
    );
    same(
        r#"{"instances": {"a": {"baseConfig": "shared"}}, "configs": {"shared": {"maxAttempts": 5, "waitDuration": "1s"}}}"#,
        r#"{"maxAttempts": 5, "waitDuration": "1s"}"#,
    );
    // A configuration builds on the default one; the wait of the nearest one makes the interval, without the factor of another.
    same(
        r#"{"configs": {"default": {"maxAttempts": 7, "randomizedWaitFactor": 0.1, "enableRandomizedWait": true},
             "shared": {"waitDuration": "2s", "retryExceptions": ["A", "B"]}},
            "instances": {"a": {"baseConfig": "shared", "enableExponentialBackoff": true}}}"#,
        r#"{"maxAttempts": 7, "waitDuration": "2s", "enableRandomizedWait": true, "retryExceptions": ["A", "B"]}"#,
    );
    same(
        r#"{"configs": {"default": {"retryExceptions": ["A", "B"]}}, "instances": {"a": {"retryExceptions": ["C"]}}}"#,
        r#"{"retryExceptions": ["C"]}"#,
    );
    same(
        r#"{"instances": {"a": {"retryExceptions": ["C"]}}, "configs": {"default": {"retryExceptions": ["A", "B"]}}}"#,
        r#"{"retryExceptions": ["C"]}"#,
    );
    same(r#"{"configs": {"only": {"maxAttempts": 4}}}"#, r#"{"maxAttempts": 4}"#);
    for (text, words) in [
        (
            r#"{"instances": {"a": {"baseConfig": "shared"}}}"#,
            "144 baseConfig: names a configuration that is not in the document: write its values here",
        ),
        (
            r#"{"configs": {"default": {"retryExceptions": ["A"]}, "other": {"retryExceptions": ["B"]}},
                "instances": {"a": {"baseConfig": "other"}}}"#,
            "147 ignoreExceptions, retryExceptions: of a configuration are read only if it is the one with such a list, and the policy \
             builds on it: write the types into the policy",
        ),
        (
            r#"{"configs": {"default": {"resultPredicate": "x.Y"}}, "instances": {"a": {"maxAttempts": 2}}}"#,
            "144 configs: is a class, which no policy can hold: use rules",
        ),
        (
            r#"{"configs": {"a": {"maxAttempts": 2}, "b": {"maxAttempts": 3}}}"#,
            "148 configs: is a second policy: choose an entry",
        ),
    ] {
        assert_eq!(read(text), Err(words.into()), "{text}");
    }
}
