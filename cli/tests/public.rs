//! Files as they stand in public repositories, in their smallest forms: each was read wrongly once.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of a folder of its own.
fn file(name: &str, text: &str) -> PathBuf {
    let digits = text.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("public-{digits:x}"));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn holdoff(arguments: &[&str], path: &Path) -> (String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_holdoff")).args(arguments).arg(path).env("COLUMNS", "500").output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).into()
}

/// The longest delays of a policy in milliseconds, those of the first table that has some, and its words.
fn explained(path: &Path, entry: &str) -> (Vec<f64>, String) {
    let (out, err) = holdoff(&["explain", "--json", "--entry", entry], path);
    assert!(!err.contains("error"), "{err}");
    let all: Value = serde_json::from_str(&out).unwrap();
    let tables = all["tables"].as_array().unwrap().iter().map(|table| table["retries"].as_array().unwrap());
    let rows = tables.filter(|rows| !rows.is_empty()).flatten();
    let words = all["words"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
    (rows.map(|row| row["max_ms"].as_f64().unwrap()).collect(), words)
}

/// The lines and the names of the findings in the folder of a file, and the notes.
fn scanned(path: &Path) -> (Vec<(u64, String)>, String) {
    let (out, err) = holdoff(&["scan", "--json"], path.parent().unwrap());
    let all: Vec<Value> = serde_json::from_str(&out).unwrap();
    let of = |one: &Value| (one["line"].as_u64().unwrap(), one["name"].as_str().unwrap().to_owned());
    (all.iter().map(of).collect(), err)
}

fn names(findings: &[(u64, String)]) -> Vec<&str> {
    findings.iter().map(|finding| finding.1.as_str()).collect()
}

#[test]
fn resilience4j_reads_the_name_of_its_first_version() {
    let path = file(
        "application.yml",
        "resilience4j.retry:\n  configs:\n    default:\n      maxRetryAttempts: 5\n      waitDuration: 200\n  instances:\n    \
         orders:\n      baseConfig: default\n    stock:\n      max-attempts: 2\n",
    );
    assert_eq!(explained(&path, "instances.orders").0, [200.0; 4]);
    assert_eq!(explained(&path, "instances.stock").0, [200.0]);
    let (findings, _) = scanned(&path);
    assert!(findings.contains(&(4, "no_effect".to_owned())), "{findings:?}");
    assert!(findings.iter().all(|finding| finding.1 == "no_effect" || finding.1 == "no_jitter"), "{findings:?}");
}

#[test]
fn resilience4j_reads_backends_and_lists_in_one_text() {
    let path = file(
        "application.yaml",
        "resilience4j.retry:\n  backends:\n    orders:\n      maxAttempts: 4\n      waitDuration: 1500\n      \
         retryExceptions: java.io.IOException, java.util.concurrent.TimeoutException\n",
    );
    let (delays, words) = explained(&path, "backends.orders");
    assert_eq!(delays[..3], [1500.0; 3], "{words}");
    assert_eq!(names(&scanned(&path).0), ["no_jitter"]);
}

#[test]
fn a_class_of_resilience4j_is_no_mistake() {
    let path = file(
        "application.yml",
        "resilience4j:\n  retry:\n    instances:\n      status:\n        max-attempts: 3\n        wait-duration: 500ms\n        \
         retry-exception-predicate: com.example.Retriable\n        result-predicate: com.example.Empty\n      own:\n        \
         interval-bi-function: com.example.Interval\n",
    );
    assert_eq!(explained(&path, "instances.status").0, [500.0; 2]);
    let (findings, notes) = scanned(&path);
    assert_eq!(names(&findings), ["no_jitter"]);
    assert!(notes.contains("takes values from outside"), "{notes}");
    let (_, err) = holdoff(&["explain", "--entry", "instances.own"], &path);
    assert!(err.contains("intervalBiFunction is a class"), "{err}");
}

/// A Dapr resource whose retries are used by one app and one component, with that breaker beside the retry of the app.
fn dapr(breaker: &str, trip: &str) -> PathBuf {
    file(
        "resiliency.yaml",
        &format!(
            "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata:\n  name: all\nspec:\n  policies:\n    retries:\n      forever:\n        \
             policy: constant\n        maxRetries: -1\n      many:\n        policy: constant\n        \
             duration: 5s\n        maxRetries: 30\n    circuitBreakers:\n      simple:\n        timeout: 5s\n        \
             trip: {trip}\n  targets:\n    apps:\n      orders:\n        retry: many\n        {breaker}\n    components:\n      \
             store:\n        outbound:\n          retry: forever\n          circuitBreaker: simple\n"
        ),
    )
}

#[test]
fn a_breaker_of_dapr_ends_the_retries() {
    let with = "circuitBreaker: simple";
    let (findings, _) = scanned(&dapr(with, "consecutiveFailures >= 5"));
    assert_eq!(names(&findings), ["no_jitter", "no_jitter"]);
    for (breaker, trip) in
        [("timeout: 5s", "consecutiveFailures >= 5"), (with, "requests > 5"), ("circuitBreaker: other", "requests > 5")]
    {
        let path = dapr(breaker, trip);
        let (findings, _) = scanned(&path);
        let has_forever = names(&findings).contains(&"forever");
        assert_eq!(has_forever, trip.starts_with("requests"), "{breaker} {trip} {findings:?}");
        assert!(names(&findings).contains(&"many_attempts"), "{breaker} {trip} {findings:?}");
        let (out, _) = holdoff(&["scan", "--json"], path.parent().unwrap());
        assert!(out.contains("order is retried without a circuit breaker"), "{out}");
    }
    let (findings, _) = scanned(&dapr(with, "consecutiveFailures > 20"));
    assert_eq!(names(&findings), ["no_jitter", "no_jitter", "many_attempts"]);
}

#[test]
fn an_empty_retry_is_what_its_system_makes_of_it() {
    let path = file(
        "routes.yaml",
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec:\n  rules:\n  - retry: {}\n  - retry:\n      attempts: 2\n      \
         backoff: 100ms\n    timeouts: {}\n---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n  - retries: {}\n",
    );
    assert_eq!(explained(&path, "rules[1]").0, [100.0; 2]);
    assert!(explained(&path, "http[0]").1.contains("1 attempt"));
    let (_, err) = holdoff(&["explain", "--entry", "rules[0]"], &path);
    assert!(err.contains("the gateway decides"), "{err}");
    // A route cannot ask for jitter.
    let (findings, notes) = scanned(&path);
    assert!(findings.is_empty() && notes.contains("takes values from outside"), "{findings:?} {notes}");
}

#[test]
fn a_file_without_retries_is_no_policy_with_mistakes() {
    for text in [
        "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata:\n  name: none\nspec:\n  policies:\n    retries:\n",
        "server:\n  port: 8085\nspring:\n  config:\n    import: retry.yml\n",
        "{\"Logging\": {\"LogLevel\": {\"Default\": \"Warning\"}}, \"AllowedHosts\": \"*\"}",
    ] {
        let path = file("some.yaml", text);
        let (_, err) = holdoff(&["explain"], &path);
        assert!(err.ends_with("some.yaml: has no retries\n"), "{err}");
        // A hook names each file that was changed.
        assert_eq!(holdoff(&["scan", "--json"], &path).0.trim(), "[]");
    }
    for text in [
        "atempts: 4\n",
        "attempts: 4\nbackof: none\n",
        "backoff:\n  kind: wrong\nspec: 1\n",
        "jiter: full\nbakoff: none\nx: 1\n",
    ] {
        let (_, err) = holdoff(&["explain"], &file("some.yaml", text));
        assert!(err.contains("error["), "{err}");
    }
}

#[test]
fn comments_in_json_are_no_mistake_of_a_file_without_policies() {
    let path = file("types.json", "// Made by a tool.\n{\"maxRetries\": 3, /* and so on */ \"more\": [1,]}\n");
    assert_eq!(scanned(&path), (vec![], String::new()));
    let retry = "\"Retry\": [{\"ErrorEquals\": [\"States.ALL\"], \"IntervalSeconds\": 3, \"MaxAttempts\": 2}]";
    let machine = format!("{{// A comment.\n\"StartAt\": \"A\", \"States\": {{\"A\": {{{retry}}}}}}}");
    // Step Functions takes no comments; the tools that use this end of a name do.
    let (_, notes) = scanned(&file("machine.json", &machine));
    assert!(notes.contains("1 file is no valid JSON or YAML"), "{notes}");
    assert_eq!(explained(&file("machine.json5", &machine), "States.A").0[..2], [3000.0, 6000.0]);
    let options = "{\"Http\": {/* Polly */ \"Retry\": {\"MaxRetryAttempts\": 2, \"Delay\": \"00:00:01\", \"BackoffType\": \"Constant\"}}}";
    assert_eq!(explained(&file("settings.json", options), "Http").0, [1000.0; 2]);
}

#[test]
fn resilience4j_is_read_from_properties() {
    let path = file(
        "application.properties",
        "server.port=8000\n# Twice as long each time.\nresilience4j.retry.instances.stock.max-attempts=3\n\
         resilience4j.retry.instances.stock.wait-duration=300ms\nresilience4j.retry.instances.stock.enable-exponential-backoff = true\n\
         resilience4j.retry.instances.stock.exponential-backoff-multiplier: 2\n\
         resilience4j.retry.instances.stock.retry-exceptions=com.example.Down,java.io.IOException\n",
    );
    assert_eq!(explained(&path, "instances.stock").0[..2], [300.0, 600.0]);
    let (findings, notes) = scanned(&path);
    assert_eq!((names(&findings), notes.as_str()), (vec!["no_jitter"], ""));
}

#[test]
fn a_file_of_another_format_is_not_called_broken() {
    for name in ["versions.toml", "agent.config", "telegraf.conf"] {
        let path = file(name, "[agent]\n  max retries = 3\n  b: [\n");
        assert_eq!(scanned(&path), (vec![], String::new()), "{name}");
    }
}

#[test]
fn a_route_with_nothing_but_a_timeout_is_read_where_its_file_is_named() {
    let path = file(
        "route.yaml",
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  hosts: [stock]\n  http:\n  - timeout: 1s\n    route:\n    - \
         destination:\n        host: stock\n",
    );
    assert_eq!(explained(&path, "http[0]").0, [24.999999, 49.999999]);
    let (out, _) = holdoff(&["scan", "--json"], &path);
    assert!(out.contains("mesh_without_budget") && !out.contains("unknown_field"), "{out}");
    assert_eq!(names(&scanned(&path).0), ["mesh_without_budget"]);
}

#[test]
fn delays_that_a_route_does_not_say_are_no_finding() {
    let route = |backoff: &str| {
        let retry = format!("      attempts: 5{backoff}\n    timeouts:\n      request: 400ms\n");
        let text =
            format!("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec:\n  rules:\n  - retry:\n{retry}");
        scanned(&file("route.yaml", &text)).0
    };
    assert_eq!(names(&route("")), Vec::<&str>::new());
    assert_eq!(names(&route("\n      backoff: 1s")), ["unreachable_attempts", "wait_above_deadline"]);
}

#[test]
fn containers_of_argo_have_retries_of_their_own() {
    let path = file(
        "workflow.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec:\n  templates:\n  - name: build\n    containerSet:\n      retryStrategy:\n        \
         retries: \"2\"\n        duration: 30s\n",
    );
    assert_eq!(explained(&path, "spec.templates[0].containerSet").0, [30_000.0; 2]);
    assert_eq!(scanned(&path), (vec![], String::new()));
}

#[test]
fn a_hedge_of_grpc_needs_no_jitter() {
    let policy = "{\"maxAttempts\": 3, \"hedgingDelay\": \"0.5s\"}";
    let path = file(
        "hedge.json",
        &format!("{{\"methodConfig\": [{{\"name\": [{{\"service\": \"a.B\"}}], \"hedgingPolicy\": {policy}}}]}}"),
    );
    assert!(!names(&scanned(&path).0).contains(&"no_jitter"));
}
