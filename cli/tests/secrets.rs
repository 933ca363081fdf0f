//! What is printed about a file has settings of its retries, and no other value of the file.

#[allow(dead_code, reason = "each test has its own part")]
mod common;

use common::{folder, holdoff, put, text};
use serde_json::Value;

const SECRET: &str = "hunter2";

/// Files with a secret beside and inside of their policies, each with at least one finding if it is a policy at all.
const FILES: [(&str, &str); 16] = [
    ("a.retry.json", "{\"attempts\": 12, \"jitter\": \"none\", \"password\": \"hunter2\"}"),
    ("b.retry.json", "{\n  \"password\": \"hunter2\",\n  \"attempts\": 12,\n  \"jitter\": \"hunter\"\n}"),
    ("c.retry.json", "{\"password\": hunter2, \"attempts\": 12}"),
    ("d.retry.json", "[\"hunter2\"]"),
    ("e.retry.json", "\"hunter2\""),
    (
        "f.retry.json",
        "{\"attempts\": 3, \"hunter\": {\"password\": \"hunter2\"}, \"backoff\": {\"hunter\": [\"hunter2\"]}}",
    ),
    (
        "workflow.json",
        "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Task\", \"Parameters\": {\"Key\": \"hunter2\"}, \"Retry\": [{\
         \"ErrorEquals\": [\"States.ALL\"], \"MaxAttempts\": 90, \"BackoffRate\": 9}], \"ResultSelector\": {\"k\": \"hunter2\"}}}}",
    ),
    (
        "workflow2.json",
        "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Task\", \"Parameters\": {\"Key\": \"hunter2\"}, \"Retry\": [{\
         \"ErrorEquals\": [\"States.ALL\"], \"MaxAttempt\": 90, \"Hunter\": \"hunter2\"}], \"ResultSelector\": {\"k\": \"hunter2\"}}}}",
    ),
    (
        "route.yaml",
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  hosts: [shop]\n  http:\n  - { match: [{ headers: \
         { authorization: { exact: hunter2 } }, method: { exact: POST } }], timeout: 1s, retries: { attempts: 20, perTryTimeout: \
         9s, retryOn: 5xx }, headers: { request: { set: { key: hunter2 } } } } # hunter2\n  - match: [{ uri: { exact: /hunter2 } }]\n    \
         timeout: 1s # hunter2\n    route: [{ destination: { host: hunter } }]\n",
    ),
    (
        "route2.yaml",
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n  - retries: { attempts: 2, key: hunter2 }\n",
    ),
    (
        "application.yml",
        "spring: { datasource: { password: hunter2 } }\nresilience4j.retry: { key: hunter2, instances: { shop: { maxAttempts: 20, \
         waitDuration: 900s, exponentialBackoffMultiplier: 2 }, lost: { baseConfig: missing, key: hunter2 } } } # hunter2\n",
    ),
    (
        "appsettings.json",
        "{\"Key\": \"hunter2\", \"Http\": {\"Password\": \"hunter2\", \"Retry\": {\"MaxRetryAttempts\": 40, \"BackoffType\": \"Constant\", \
         \"UseJitter\": false, \"Delay\": \"01:00:00\"}, \"Last\": \"hunter2\"}}",
    ),
    (
        "grpc.json",
        "{\"key\": \"hunter2\", \"methodConfig\": [{\"name\": [{\"service\": \"a.B\"}], \"retryPolicy\": {\"maxAttempts\": 4, \
         \"initialBackoff\": \"1s\", \"maxBackoff\": \"1000s\", \"backoffMultiplier\": 90, \"retryableStatusCodes\": [\"INTERNAL\", \
         \"INVALID_ARGUMENT\"], \"key\": \"hunter2\"}}]}",
    ),
    (
        "dapr.yaml",
        "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nspec: { policies: { retries: { shop: { policy: constant, duration: 900s, \
         maxRetries: -1 } } }, key: hunter2 }\n",
    ),
    ("broken.yaml", "retries: [hunter2, {attempts: *hunter2}\nkey: \"hunter2\n"),
    ("twice.yaml", "key: hunter2\nkey: hunter2\nattempts: 3\n"),
];

#[test]
fn no_other_value_of_a_file_is_printed() {
    let root = folder("secrets");
    for (name, content) in FILES {
        put(&root, name, content);
    }
    put(&root, ".holdoff.toml", "[severity]\nno_jitter = \"note\" # hunter2\n");
    let mut named: Vec<Vec<&str>> = FILES.iter().map(|(name, _)| vec![*name]).collect();
    named.push(vec![]);
    for paths in named {
        for style in [&[][..], &["--json"], &["--github"], &["--sarif"]] {
            let output = holdoff(&root, &[&["scan"], style, &paths[..]].concat());
            let printed = text(&output.stdout) + &text(&output.stderr);
            assert!(!printed.contains(SECRET), "{paths:?} {style:?}\n{printed}");
        }
        if let [path] = paths[..] {
            let output = holdoff(&root, &["explain", path]);
            let printed = text(&output.stdout) + &text(&output.stderr);
            assert!(!printed.contains(SECRET), "explain {path}\n{printed}");
        }
    }
    // None of this is so because nothing was found.
    for (name, _) in FILES {
        let found: Vec<Value> = serde_json::from_slice(&holdoff(&root, &["scan", "--json", name]).stdout).unwrap();
        assert!(!found.is_empty(), "{name}");
    }
}
