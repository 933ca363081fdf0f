use super::*;
use core::time::Duration;
use std::string::ToString;

fn read(json: &str) -> Result<Document, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn the_document_of_the_guide_is_read() {
    let document = read(
        r#"{ "version": 1,
             "backoff": [ { "kind": "constant", "delay": "1s", "times": 1 },
                          { "kind": "exponential", "initial": "2s", "factor": 3, "max": "1m" } ],
             "jitter": { "kind": "proportional", "factor": 0.25 }, "attempts": 5, "deadline": "2m", "hint": {},
             "rules": [ { "if": [ { "http": [408, 429, "5xx"] }, { "patterns": ["timeout", "reset"] } ], "retry": true },
                        { "if": {}, "retry": false } ] }"#,
    )
    .unwrap();
    assert_eq!(document.texts.get(1, TextList::Patterns).collect::<Vec<_>>(), ["timeout", "reset"]);
    assert_eq!(document.policy.deadline().unwrap().as_duration(), Duration::from_secs(120));
    assert_eq!(document.policy.stages().count(), 2);
    assert!(document.rules.has_texts(TextList::Patterns));
}

#[test]
fn what_lies_too_deep_is_refused_in_lists_and_objects() {
    for (open, close) in [("[", "]"), (r#"{"max": "#, "}")] {
        let json = std::format!("{{\"backoff\": {}1{}}}", open.repeat(20), close.repeat(20));
        assert!(read(&json).unwrap_err().contains("= ...: is not a field of a policy"), "{json}");
    }
}

#[test]
fn what_is_wrong_is_said_with_path_value_and_rule() {
    for (json, error) in [
        (
            r#"{"backoff": [{"times": 1}, {"max": 5}]}"#,
            "backoff[1].max = 5: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \
             \"2m\"",
        ),
        (r#"{"atempts": 5}"#, "atempts = 5: is not a field of a policy; did you mean \"attempts\"?"),
        (r#"{"version": 2}"#, "version = 2: must be 1"),
        (
            r#"{"retry_on": {"non_idempotent": {"http": [503]}}}"#,
            "retry_on.non_idempotent.http[0] = 503: is a rule: \"rules\": [{\"if\": {\"http\": [...], \"idempotent\": \
             false}, \"retry\": true}, {\"if\": {\"idempotent\": false}, \"retry\": false}]; did you mean \"rules\"?",
        ),
        (
            r#"{"retry_on": {"http": [408, "5xx"], "patterns": ["reset"]}, "attempts": 5}"#,
            "retry_on.http[0] = 408: is a rule: \"rules\": [{\"if\": {\"http\": [...]}, \"retry\": true}, {\"if\": {}, \
             \"retry\": false}]; did you mean \"rules\"?",
        ),
        (r#"{"attempts": [[3]]}"#, "attempts[0][0] = 3: is not a field of a policy"),
        (
            r#"{"rules": [{"if": {"grpc": ["UNAVAILABEL"]}}]}"#,
            "rules[0].if.grpc[0] = \"UNAVAILABEL\": must be a gRPC code from 0 to 16, or its name, such as \
             \"UNAVAILABLE\"; did you mean \"UNAVAILABLE\"?",
        ),
        ("[]", "a policy document = [...]: must be an object"),
        ("7", "a policy document = 7: must be an object"),
        (r#"{"attempts": 2, "attempts": 3}"#, "attempts: must occur only once"),
        (r#"{"": {"attempts": 2}}"#, ".attempts = 2: is not a field of a policy; did you mean \"attempts\"?"),
        (
            &alloc::format!("{}1{}", r#"{"a":"#.repeat(17), "}".repeat(17)),
            "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = ...: is not a field",
        ),
    ] {
        let got = read(json).unwrap_err();
        assert!(got.starts_with(error), "{got}\n{error}");
    }
}

#[test]
fn what_is_wrong_is_data_as_well() {
    let read = |json: &str| Document::read(&mut serde_json::Deserializer::from_str(json)).unwrap_err();
    let error = read(r#"{"backoff": [{"kind": "linear", "times": 1}, {"kind": "expontial"}]}"#);
    assert_eq!((error.error.code, error.path.as_str()), (ErrorCode::UnknownWord, "backoff[1].kind"));
    assert_eq!((error.value.as_deref(), error.error.nearest), (Some("\"expontial\""), Some("exponential")));
    let error = read(r#"{"deadline": "1s", "min_attempt": "2s"}"#);
    assert_eq!((error.path.as_str(), error.value.as_deref()), ("min_attempt", Some("2s")));
    let error = read("{");
    assert_eq!((error.error.code, error.path.as_str(), error.value.as_deref()), (ErrorCode::NotJson, "", None));
    assert_eq!(
        error.to_string(),
        "a policy document must be JSON text: EOF while parsing an object at line 1 column 1"
    );
}

#[test]
fn a_form_is_read_and_written() {
    let json = r#"{"methodConfig": [{"name": [{"service": "a.B"}], "timeout": "30s", "retryPolicy": {"maxAttempts": 4,
        "initialBackoff": ".1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": [14, "aborted"]}}]}"#;
    let read =
        |form: Form, json: &str| Document::read_form(form.reader(), &mut serde_json::Deserializer::from_str(json));
    let document = read(Form::Grpc, json).unwrap();
    let again = read(Form::Grpc, &document.to_form(Form::Grpc).unwrap()).unwrap();
    assert_eq!(again, document);
    assert_eq!(serde_json::from_str::<Document>(&document.to_json()).unwrap(), document);

    let json = r#"{"maximumAttempts": 5, "nonRetryableErrorTypes": ["BadRequest", "NotFound"]}"#;
    let document = read(Form::Temporal, json).unwrap();
    assert_eq!(document.error_types, ["BadRequest", "NotFound"]);
    assert_eq!(read(Form::Temporal, &document.to_form(Form::Temporal).unwrap()).unwrap(), document);

    let json = r#"{"MaxRetries": 2, "BackoffStrategy": 2, "RetryableErrors": ["reset", "timeout"]}"#;
    let document = read(Form::LanggraphgoGraph, json).unwrap();
    assert_eq!(document.texts.get(0, TextList::Patterns).collect::<Vec<_>>(), ["reset", "timeout"]);
    let again = document.to_form(Form::LanggraphgoGraph).unwrap();
    assert_eq!(read(Form::LanggraphgoGraph, &again).unwrap(), document);

    let error = read(Form::Kubernetes, r#"{"Duration": "1s", "Stepz": 3}"#).unwrap_err();
    assert_eq!(error.to_string(), "Stepz = 3: is not a field of a Kubernetes wait.Backoff; did you mean \"Steps\"?");
}

#[test]
fn a_form_with_very_many_names_that_it_ignores_is_read_in_linear_time() {
    let names: Vec<String> = (0..200_000).map(|name| alloc::format!("\"{name:06}\": 0")).collect();
    let json = alloc::format!(
        "{{\"metadata\": {{{}}}, \"spec\": {{\"policies\": {{\"retries\": {{\"a\": {{\"maxRetries\": 1}}}}}}}}}}",
        names.join(", ")
    );
    let begun = std::time::Instant::now();
    let document = Document::read_form(Form::Dapr.reader(), &mut serde_json::Deserializer::from_str(&json)).unwrap();
    assert_eq!(document.policy.stages().count(), 1);
    // One look at each pair of names takes minutes.
    assert!(begun.elapsed() < Duration::from_secs(60));
}
