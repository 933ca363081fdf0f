//! Files of systems whose forms the core does not have, read as they stand. The expected numbers are worked out by hand from the
//! documentation of each system.

mod common;

use common::{folder, holdoff, put, text};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A policy, as it is explained.
struct Explained {
    words: String,
    /// The longest delays of the first table, in milliseconds.
    delays: Vec<f64>,
    /// The shortest ones.
    least: Vec<f64>,
    notes: String,
}

/// The policy `entry` of a file; an empty entry is the only one.
fn explained(folder: &Path, file: &str, entry: &str) -> Explained {
    let entry = if entry.is_empty() { vec![] } else { vec!["--entry", entry] };
    let output = holdoff(folder, &[&["explain", file, "--json"], &entry[..]].concat());
    let notes = text(&output.stderr);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{file}: {notes}"));
    let words: Vec<_> = found["words"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let tables = found["tables"].as_array().unwrap();
    let has_rows = |table: &&Value| !table["retries"].as_array().unwrap().is_empty();
    let own = tables.iter().filter(|table| table["after"].is_null()).find(has_rows).or(tables.iter().find(has_rows));
    let rows = own.map_or(&[][..], |table| table["retries"].as_array().unwrap());
    let of = |name: &str| rows.iter().map(|row| row[name].as_f64().unwrap().round()).collect();
    Explained { words: words.join("\n"), delays: of("max_ms"), least: of("min_ms"), notes }
}

/// The error of a file that is not explained.
fn refused(folder: &Path, file: &str, arguments: &[&str]) -> String {
    let output = holdoff(folder, &[&["explain", file], arguments].concat());
    assert_eq!(output.status.code(), Some(2), "{file}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// The policies of a file that a scan finds, by the names of their findings: file, policy, line, name.
fn findings(folder: &Path, arguments: &[&str]) -> Vec<(String, String, u64, String)> {
    let output = holdoff(folder, &[&["scan", "--json"], arguments].concat());
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let of = |one: &Value| (word(one, "file"), word(one, "policy"), one["line"].as_u64().unwrap(), word(one, "name"));
    all.iter().map(of).collect()
}

const ENVOY: &str = "static_resources:
  listeners:
  - filter_chains:
    - filters:
      - typed_config:
          route_config:
            virtual_hosts:
            - name: shop
              domains: ['*']
              retry_policy: { retry_on: gateway-error }
              routes:
              - match: { prefix: /pay }
                route:
                  cluster: payments
                  timeout: 3s
                  retry_policy:
                    retry_on: 5xx,reset,retriable-status-codes
                    retriable_status_codes: [429]
                    num_retries: 4
                    per_try_timeout: 0.5s
                    retry_back_off: { base_interval: 0.1s, max_interval: 0.3s }
              - match: { prefix: /stock }
                route: { cluster: stock, retry_policy: { retryOn: connect-failure } }
              - match: { prefix: /limited }
                route:
                  cluster: unknown
                  timeout: 0s
                  retry_policy:
                    retry_on: envoy-ratelimited,cancelled
                    rate_limited_retry_back_off: { reset_headers: [{ name: Retry-After }] }
  clusters:
  - name: payments
    outlier_detection: { consecutive_5xx: 5 }
    circuit_breakers:
      thresholds:
      - { priority: HIGH, max_retries: 50 }
      - retry_budget: { budget_percent: { value: 25 }, min_retry_concurrency: 5 }
  - { name: stock, load_assignment: {}, circuit_breakers: { thresholds: [{ max_connections: 9 }] } }
";

#[test]
fn envoy() {
    let root = folder("formats-envoy");
    put(&root, "envoy.yaml", ENVOY);
    let route = explained(&root, "envoy.yaml", "virtual_hosts[0].routes[0]");
    // Any part of 100 ms, 200 ms, then the cap.
    assert_eq!((route.delays, route.least), (vec![100.0, 200.0, 300.0, 300.0], vec![0.0; 4]));
    for words in ["5 attempts", "deadline 3s", "attempt timeout 500ms", "hints: ignored", "0.25 retries at once"] {
        assert!(route.words.contains(words), "{words}: {}", route.words);
    }
    assert!(route.notes.contains("outlier_detection"), "{}", route.notes);
    let route = explained(&root, "envoy.yaml", "virtual_hosts[0].routes[1]");
    // One retry after any part of 25 ms, in the 15 s of a route, and three retries at once in a cluster.
    assert_eq!(route.delays, [25.0]);
    for words in ["2 attempts", "deadline 15s", "at least 3"] {
        assert!(route.words.contains(words), "{words}: {}", route.words);
    }
    let route = explained(&root, "envoy.yaml", "virtual_hosts[0].routes[2]");
    assert!(route.words.contains("no deadline") && route.words.contains("hint"), "{}", route.words);
    assert!(
        route.notes.contains("envoy-ratelimited") && !route.words.contains("at once"),
        "{}{}",
        route.notes,
        route.words
    );
    assert!(explained(&root, "envoy.yaml", "shop").words.contains("2 attempts"));
    for (old, new, line, message) in [
        ("num_retries: 4", "num_retry: 4", 19, "num_retry: is not a field of a retry policy of Envoy"),
        ("num_retries: 4", "num_retries: -1", 19, "num_retries = -1: must be a whole number of retries, 0 or more"),
        ("per_try_timeout: 0.5s", "per_try_timeout: 500ms", 20, "\"500ms\": must be a time in seconds"),
        ("5xx,reset", "5xxx,reset", 17, "did you mean \"5xx\"?"),
    ] {
        put(&root, "wrong.yaml", ENVOY.replace(old, new));
        let output = holdoff(&root, &["scan", "wrong.yaml", "--json", "--allow", "long_wait"]);
        let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let wrong = all.iter().find(|finding| finding["severity"] == "error").unwrap();
        assert!(wrong["message"].as_str().unwrap().contains(message), "{wrong}");
        assert_eq!((wrong["line"].as_u64(), output.status.code()), (Some(line), Some(1)), "{wrong}");
    }
}

#[test]
fn patches_of_envoy() {
    let root = folder("envoy-patches");
    let filter = "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nspec:\n  configPatches:\n  - applyTo: HTTP_ROUTE\n    \
        patch:\n      operation: MERGE\n      value: { route: { retry_policy: { retry_on: 5xx, num_retries: 3 } } }\n";
    put(&root, "merged.yaml", filter);
    assert!(refused(&root, "merged.yaml", &[]).contains("merged into a policy of another place"));
    put(&root, "added.yaml", filter.replace("MERGE", "ADD"));
    assert!(explained(&root, "added.yaml", "").words.contains("4 attempts, deadline 15s"));
}

#[test]
fn kubernetes_jobs() {
    let root = folder("formats-jobs");
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: { name: bill }\nspec:\n  backoffLimit: 8\n  activeDeadlineSeconds: 3600\n  \
        template: { spec: { restartPolicy: Never, activeDeadlineSeconds: 60 } }\n";
    put(&root, "job.yaml", job);
    let found = explained(&root, "job.yaml", "");
    let seconds = [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 360.0, 360.0];
    assert_eq!(found.delays, seconds.map(|seconds| seconds * 1e3));
    for words in ["9 attempts", "deadline 1h", "attempt timeout 1m"] {
        assert!(found.words.contains(words), "{words}: {}", found.words);
    }
    // The kubelet restarts at once, and then after 10 s doubled up to 5 minutes.
    put(&root, "restart.yaml", job.replace("Never", "OnFailure").replace("backoffLimit: 8", "backoffLimit: 7"));
    let found = explained(&root, "restart.yaml", "");
    assert_eq!(found.delays, [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0].map(|seconds| seconds * 1e3));
    let cron = "apiVersion: batch/v1\nkind: CronJob\nspec:\n  jobTemplate:\n    spec:\n      backoffLimit: 0\n      podFailurePolicy: {}\n";
    put(&root, "cron.yaml", cron);
    let found = explained(&root, "cron.yaml", "");
    assert!(found.words.contains("1 attempt") && found.notes.contains("podFailurePolicy"), "{}", found.notes);
    put(&root, "usual.yaml", "apiVersion: batch/v1\nkind: Job\nspec: { template: {} }\n");
    assert!(explained(&root, "usual.yaml", "").words.contains("7 attempts"));
    put(&root, "each.yaml", "apiVersion: batch/v1\nkind: Job\nspec: { backoffLimitPerIndex: 1, backoffLimit: 9 }\n");
    assert!(explained(&root, "each.yaml", "").words.contains("2 attempts"));
    put(&root, "helm.yaml", "apiVersion: batch/v1\nkind: Job\nspec: { backoffLimit: \"{{ .Values.limit }}\" }\n");
    assert!(refused(&root, "helm.yaml", &[]).contains("backoffLimit: the value is not known"));
    // Nobody can give a Job another jitter.
    let found = findings(&root, &["job.yaml", "restart.yaml"]);
    assert!(found.iter().all(|finding| finding.3 != "no_jitter"), "{found:?}");
}

#[test]
fn argo_workflows() {
    let root = folder("formats-argo");
    let workflow = "apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
spec:
  templateDefaults: { retryStrategy: { limit: 2 } }
  templates:
  - name: load
    retryStrategy:
      limit: \"5\"
      retryPolicy: Always
      backoff: { duration: \"30\", factor: 2, cap: 2m, maxDuration: 1h }
    container: { args: [\"{{inputs.parameters.x}}\"] }
  - name: fixed
    activeDeadlineSeconds: 60
    retryStrategy: { limit: 1, backoff: { duration: 1m30s } }
  - name: endless
    retryStrategy: {}
  - name: open
    retryStrategy: { limit: \"{{inputs.parameters.limit}}\" }
";
    put(&root, "flow.yaml", workflow);
    let load = explained(&root, "flow.yaml", "load");
    assert_eq!(load.delays, [30.0, 60.0, 120.0, 120.0, 120.0].map(|seconds| seconds * 1e3));
    assert!(load.words.contains("6 attempts") && load.words.contains("deadline 1h"), "{}", load.words);
    let fixed = explained(&root, "flow.yaml", "fixed");
    assert_eq!(fixed.delays, [90e3]);
    assert!(fixed.words.contains("attempt timeout 1m"), "{}", fixed.words);
    assert!(explained(&root, "flow.yaml", "endless").words.contains("for ever"));
    assert_eq!(explained(&root, "flow.yaml", "0").delays, [0.0, 0.0]);
    assert!(refused(&root, "flow.yaml", &["--entry", "open"]).contains("limit: the value is not known"));
    let found = findings(&root, &["flow.yaml"]);
    let has = |policy: &str, name: &str| found.iter().any(|one| one.1 == policy && one.3 == name);
    assert!(has("load", "retries_everything") && has("endless", "forever"), "{found:?}");
    put(&root, "wrong.yaml", workflow.replace("factor: 2", "factr: 2"));
    let found = findings(&root, &["wrong.yaml"]);
    assert!(found.iter().any(|one| one.2 == 10 && one.3 == "unknown_form_field"), "{found:?}");
    // A sensor of Argo Events has another retryStrategy.
    put(&root, "sensor.yaml", workflow.replace("WorkflowTemplate", "Sensor"));
    assert!(refused(&root, "sensor.yaml", &[]).contains("error"));
}

#[test]
fn lambda_and_queues() {
    let root = folder("formats-lambda");
    let template = "Resources:
  Handler:
    Type: AWS::Serverless::Function
    Properties:
      EventInvokeConfig: { MaximumRetryAttempts: 1, MaximumEventAgeInSeconds: 3600 }
      Events: { Stream: { Type: Kinesis, Properties: { MaximumRetryAttempts: 100 } } }
  Config:
    Type: AWS::Lambda::EventInvokeConfig
    Properties: { FunctionName: !Ref Handler, MaximumRetryAttempts: \"2\" }
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: 60
      MessageRetentionPeriod: 86400
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3 }
  Usual:
    Type: AWS::SQS::Queue
    Properties: { RedrivePolicy: { maxReceiveCount: 2 } }
  Open:
    Type: AWS::SQS::Queue
    Properties: { RedrivePolicy: { maxReceiveCount: !Ref Receives } }
  Dead: { Type: AWS::SQS::Queue }
";
    put(&root, "template.yaml", template);
    let handler = explained(&root, "template.yaml", "Handler");
    assert_eq!(handler.delays, [60e3]);
    assert!(handler.words.contains("2 attempts") && handler.words.contains("deadline 1h"), "{}", handler.words);
    assert_eq!(explained(&root, "template.yaml", "Config").delays, [60e3, 120e3]);
    let orders = explained(&root, "template.yaml", "Orders");
    assert_eq!(orders.delays, [60e3, 60e3]);
    assert!(orders.words.contains("3 attempts") && orders.words.contains("deadline 24h"), "{}", orders.words);
    assert_eq!(explained(&root, "template.yaml", "Usual").delays, [30e3]);
    assert!(refused(&root, "template.yaml", &["--entry", "Open"]).contains("not known"));
    let notes = text(&holdoff(&root, &["scan", "--fail-on", "never"]).stderr);
    assert!(notes.contains("1 file has retries, but not enough for a policy: template.yaml"), "{notes}");
    let stream = "Resources.Handler.Properties.Events.Stream.Properties";
    assert!(refused(&root, "template.yaml", &["--entry", stream]).contains("AWS does not say after which delays"));
    put(
        &root,
        "serverless.yml",
        "service: shop\nfunctions:\n  bill: { handler: bill.run, maximumRetryAttempts: 1, maximumEventAge: 120 }\n  \
        other: { maximumRetryAttempts: 3 }\nresources:\n  Resources:\n    Q: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: \
        '${self:custom.x}', RedrivePolicy: { maxReceiveCount: 5 } } }\n",
    );
    assert_eq!(explained(&root, "serverless.yml", "bill").delays, [60e3]);
    let found = findings(&root, &["serverless.yml"]);
    assert!(found.iter().any(|one| one.1 == "other" && one.2 == 4 && one.3 == "form_value"), "{found:?}");
    let terraform = "resource \"aws_sqs_queue\" \"orders\" {\n  visibility_timeout_seconds = 45\n  redrive_policy = jsonencode({\n    \
        maxReceiveCount = 4\n  })\n}\nresource \"aws_sqs_queue\" \"open\" {\n  redrive_policy = \
        \"{\\\"maxReceiveCount\\\":${var.n}}\"\n}\nresource \"aws_lambda_function_event_invoke_config\" \"bill\" {\n  \
        maximum_retry_attempts = 0\n}\n";
    put(&root, "queues.tf", terraform);
    assert_eq!(explained(&root, "queues.tf", "orders").delays, [45e3, 45e3, 45e3]);
    assert!(explained(&root, "queues.tf", "bill").words.contains("1 attempt"));
    assert!(refused(&root, "queues.tf", &["--entry", "open"]).contains("not known"));
    let queue = "{\"resource\": {\"aws_sqs_queue\": {\"q\": {\"redrive_policy\": \"{\\\"maxReceiveCount\\\": 3}\"}}}}";
    put(&root, "queues.tf.json", queue);
    assert_eq!(explained(&root, "queues.tf.json", "").delays, [30e3, 30e3]);
    put(&root, "wrong.tf.json", queue.replace('3', "0"));
    assert!(findings(&root, &["wrong.tf.json"]).iter().any(|one| one.3 == "form_value"));
}

#[test]
fn state_machines_in_terraform() {
    let root = folder("formats-terraform");
    let machine = |body: &str| {
        format!(
            "resource \"aws_sfn_state_machine\" \"m\" {{\n  role_arn = aws_iam_role.r.arn\n  definition = {body}\n}}\n"
        )
    };
    let json = "<<EOF\n{\n  \"StartAt\": \"Pay\",\n  \"States\": { \"Pay\": { \"Type\": \"Task\", \"Resource\": \"${aws_lambda_function.pay.arn}\",\n    \
        \"Retry\": [{ \"ErrorEquals\": [\"Busy\"], \"IntervalSeconds\": 3, \"MaxAttempts\": 2 }], \"End\": true } }\n}\nEOF";
    put(&root, "heredoc.tf", machine(json));
    // 3 s, and twice as much.
    assert_eq!(explained(&root, "heredoc.tf", "").delays, [3e3, 6e3]);
    let found = findings(&root, &["heredoc.tf"]);
    assert!(found.iter().any(|one| one.1 == "States.Pay" && one.2 == 7 && one.3 == "no_jitter"), "{found:?}");
    let encoded = "jsonencode({\n    StartAt = \"Pay\"\n    States = { Pay = { Type = \"Task\", Resource = aws_lambda_function.pay.arn,\n    \
        Retry = [{ ErrorEquals = [\"Busy\"], IntervalSeconds = 4, MaxAttempts = 1 }], End = true } }\n  })";
    put(&root, "encoded.tf", machine(encoded));
    assert_eq!(explained(&root, "encoded.tf", "").delays, [4e3]);
    put(&root, "open.tf", machine(&encoded.replace("= 4", "= var.seconds")));
    assert!(refused(&root, "open.tf", &[]).contains("not known"));
    // A script inside is not the file.
    let script = "resource \"aws_instance\" \"proxy\" {\n  user_data = <<EOF\ndefaults\n  retries 9\nEOF\n}\n";
    put(&root, "script.tf", format!("{script}{}", machine(encoded)));
    assert_eq!(explained(&root, "script.tf", "").delays, [4e3]);
    put(&root, "template.tf", machine(&json.replace("3", "${var.seconds}")));
    let output = holdoff(&root, &["scan"]);
    let notes = text(&output.stderr);
    assert!(notes.contains("2 files are templates, or take values from outside: open.tf, template.tf"), "{notes}");
}

#[test]
fn haproxy() {
    let root = folder("formats-haproxy");
    let config = "global\n  daemon\ndefaults\n  mode http\n  retries 2\n  timeout connect 500ms\nbackend web\n  retries 4\n  \
        retry-on conn-failure 503\n  server a 10.0.0.1:80\nbackend all\n  retry-on all-retryable-errors\n  option redispatch\n\
        backend plain\n  server b 10.0.0.2:80\n";
    put(&root, "haproxy.cfg", config);
    // HAProxy waits for the time of a connection, which is shorter than a second.
    assert_eq!(explained(&root, "haproxy.cfg", "defaults").delays, [500.0; 2]);
    let web = explained(&root, "haproxy.cfg", "web");
    assert_eq!(web.delays, [500.0; 4]);
    assert!(web.words.contains("5 attempts"), "{}", web.words);
    // The last retry goes to another server, at once.
    assert_eq!(explained(&root, "haproxy.cfg", "all").delays, [500.0, 0.0]);
    assert!(refused(&root, "haproxy.cfg", &["--entry", "plain"]).contains("there is defaults, web, all"));
    put(&root, "usual.cfg", "defaults\n  retry-on none\nlisten x\n  retries 1\n  timeout connect 5s\n  retry-on 502\n");
    assert!(explained(&root, "usual.cfg", "defaults").words.contains("1 attempt"));
    assert_eq!(explained(&root, "usual.cfg", "x").delays, [1_000.0]);
    put(&root, "every.cfg", "backend x\n  retries 3\n  option redispatch 1\n");
    assert_eq!(explained(&root, "every.cfg", "").delays, [0.0; 3]);
    put(&root, "wrong.cfg", "backend x\n  retries 3\n  retry-on 418\n");
    let found = findings(&root, &["wrong.cfg"]);
    assert_eq!(found, [("wrong.cfg".to_owned(), "x".to_owned(), 3, "form_value".to_owned())]);
    let found = findings(&root, &["haproxy.cfg"]);
    assert!(found.iter().all(|one| one.3 != "no_jitter"), "{found:?}");
}

#[test]
fn nginx() {
    let root = folder("formats-nginx");
    let config = "upstream app { server a:80; server b:80 weight=2; server c:80 backup; server d:80 down; }\nserver {\n  \
        proxy_next_upstream error timeout http_502 non_idempotent;\n  location / {\n    proxy_pass http://app/x;\n    \
        proxy_next_upstream_timeout 10s;\n  }\n  location /two { proxy_pass http://app; proxy_next_upstream_tries 2; }\n  \
        location /off { fastcgi_pass app; fastcgi_next_upstream off; }\n}\n";
    put(&root, "nginx.conf", config);
    let all = explained(&root, "nginx.conf", "server location /");
    // Three servers are up, so there are two more tries, at once.
    assert_eq!(all.delays, [0.0; 2]);
    assert!(all.words.contains("3 attempts") && all.words.contains("deadline 10s"), "{}", all.words);
    assert!(all.notes.contains("not idempotent"), "{}", all.notes);
    assert!(explained(&root, "nginx.conf", "server location /two").words.contains("2 attempts"));
    assert!(explained(&root, "nginx.conf", "server location /off").words.contains("1 attempt"));
    assert!(refused(&root, "nginx.conf", &["--entry", "server"]).contains("as many tries as servers"));
    let one = config.replace("http://app/x", "http://127.0.0.1:8080");
    put(
        &root,
        "one.conf",
        one.replace(
            "  location /two",
            "  location /name { proxy_pass http://b:80; proxy_next_upstream error; }\n  location /two",
        ),
    );
    assert!(explained(&root, "one.conf", "server location /").words.contains("1 attempt"), "an address is one server");
    assert!(refused(&root, "one.conf", &["--entry", "server location /name"]).contains("as many tries as servers"));
    put(&root, "wrong.conf", config.replace("http_502", "http_418"));
    let found = findings(&root, &["wrong.conf"]);
    assert!(found.iter().any(|one| one.2 == 3 && one.3 == "form_value"), "{found:?}");
    put(&root, "broken.conf", "location / {\n  proxy_next_upstream error;\n");
    assert_eq!(holdoff(&root, &["scan", "broken.conf"]).status.code(), Some(1));
}

#[test]
fn aws_config() {
    let root = folder("formats-aws");
    let config = "[default]\nregion = eu-west-1\nretry_mode = standard\nmax_attempts = 5\n\n[profile batch]\nretry_mode = adaptive\n\
        [profile old]\nretry_mode = legacy\n[profile few]\nmax_attempts = 2\n[profile none]\nregion = us-east-1\n";
    put(&root, ".aws/config", config);
    let default = explained(&root, ".aws/config", "default");
    assert!(default.words.contains("5 attempts"), "{}", default.words);
    // The preset: any part of 50 ms, doubled.
    assert_eq!(default.delays[..3], [50.0, 100.0, 200.0]);
    let batch = explained(&root, ".aws/config", "batch");
    assert!(batch.words.contains("3 attempts") && batch.words.contains("adaptive"), "{}", batch.words);
    assert!(explained(&root, ".aws/config", "few").words.contains("2 attempts"));
    assert!(refused(&root, ".aws/config", &["--entry", "old"]).contains("another policy in each SDK"));
    assert!(refused(&root, ".aws/config", &["--entry", "none"]).contains("there is default, batch, old, few"));
    put(&root, "config", config.replace("standard", "standrd").replace("= 2", "= 0"));
    let found = findings(&root, &["config"]);
    let wrong: Vec<_> = found.iter().filter(|one| one.3 == "form_value").map(|one| (&*one.1, one.2)).collect();
    assert_eq!(wrong, [("default", 3), ("few", 11)]);
}

#[test]
fn placeholders() {
    let root = folder("formats-placeholders");
    put(
        &root,
        "application.yml",
        "resilience4j:\n  retry:\n    instances:\n      orders: { maxAttempts: \"${ORDER_TRIES:4}\", waitDuration: \"${orders.wait:250ms}\" }\n      \
        open: { maxAttempts: \"${TRIES}\" }\n",
    );
    let orders = explained(&root, "application.yml", "orders");
    assert_eq!(orders.delays, [250.0; 3]);
    assert!(orders.notes.contains("maxAttempts = 4: the default of a placeholder counts"), "{}", orders.notes);
    assert!(refused(&root, "application.yml", &["--entry", "open"]).contains("not known"));
    let dapr = "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nspec: { policies: { retries: { r: { policy: constant, duration: 1s, \
        maxRetries: \"${N:-3}\" } } } }\n";
    put(&root, "dapr.yaml", dapr);
    assert_eq!(explained(&root, "dapr.yaml", "").delays, [1_000.0; 3]);
    let output = holdoff(&root, &["scan"]);
    let notes = text(&output.stderr);
    assert!(notes.contains("2 files have placeholders, whose defaults count"), "{notes}");
    assert!(notes.contains("1 file is a template, or takes values from outside: application.yml"), "{notes}");
    // A placeholder where a text may stand is not the name of an error.
    put(
        &root,
        "open.asl.json",
        "{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Task\",\"Resource\":\"${Arn}\",\"Retry\":[{\"ErrorEquals\":[\"${Error}\"]}]}}}",
    );
    assert!(refused(&root, "open.asl.json", &[]).contains("not known"));
    put(
        &root,
        "known.asl.json",
        "{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Task\",\"Resource\":\"${Arn}\",\"Retry\":[{\"ErrorEquals\":[\"Busy\"]}]}}}",
    );
    assert_eq!(explained(&root, "known.asl.json", "").delays, [1e3, 2e3, 4e3]);
    put(&root, "rendered.json", "{\"methodConfig\": [{\"retryPolicy\": {\"maxAttempts\": ${n}}}]}");
    assert!(refused(&root, "rendered.json", &[]).contains("is a template"));
}

#[test]
fn proxies_are_layers_of_their_services() {
    let root = folder("formats-layers");
    put(
        &root,
        "nginx.conf",
        "upstream payments { server a:80; server b:80; }\nserver {\n  location / {\n    proxy_pass http://payments;\n    \
        proxy_next_upstream error http_503 non_idempotent;\n  }\n}\n",
    );
    put(
        &root,
        "application.yml",
        "resilience4j: { retry: { instances: { payment: { maxAttempts: 4, waitDuration: 1s, enableRandomizedWait: true } } } }\n",
    );
    put(&root, "haproxy.cfg", "backend stock-service\n  retries 2\n");
    put(&root, "envoy.yaml", ENVOY);
    let route = "{\"virtual_hosts\": [{\"routes\": [{\"route\": {\"cluster\": \"NAME\", \"retry_policy\": {\"retry_on\": \"5xx\"}}}]}]}";
    put(&root, "bare.json", route.replace("NAME", "billing"));
    put(&root, "limited.json", route.replace("NAME", "shipping"));
    put(
        &root,
        "cluster.json",
        "{\"name\": \"shipping\", \"circuitBreakers\": {\"thresholds\": [{\"retryBudget\": {}}]}}",
    );
    let found = findings(&root, &[]);
    let of = |name: &str| -> Vec<_> { found.iter().filter(|one| one.3 == name).map(|one| (&*one.0, one.2)).collect() };
    // Four attempts of the client around two tries of nginx, and five of Envoy; nginx passes a POST on.
    assert_eq!(of("nested_retries"), [("envoy.yaml", 19)]);
    assert_eq!(of("unsafe_method"), [("nginx.conf", 5)]);
    // One cluster has its budget in another file. HAProxy and nginx have no budgets.
    assert_eq!(of("mesh_without_budget"), [("bare.json", 1), ("envoy.yaml", 28)]);
}

#[test]
fn a_folder_is_searched_for_each_setting_alone() {
    let root = folder("formats-alone");
    for (name, text) in [
        ("fastcgi.conf", "location / { fastcgi_pass 127.0.0.1:9000; fastcgi_next_upstream error; }\n"),
        ("haproxy.cfg", "backend a\n  option redispatch\n"),
        (
            "age.tf",
            "resource \"aws_lambda_function_event_invoke_config\" \"a\" {\n  maximum_event_age_in_seconds = 300\n}\n",
        ),
        ("serverless.yml", "service: a\nfunctions:\n  f:\n    maximumEventAge: 300\n"),
        ("queue.tf", "resource \"aws_sqs_queue\" \"a\" {\n  redrive_policy = jsonencode({ maxReceiveCount = 3 })\n}\n"),
        ("config", "[default]\nmax_attempts = 4\n"),
        ("envoy.yaml", "virtual_hosts: [{ domains: ['*'], retry_policy: { retry_on: 5xx } }]\n"),
        ("job.yaml", "apiVersion: batch/v1\nkind: Job\nspec: { backoffLimit: 1 }\n"),
    ] {
        put(&root, name, text);
        let summary = text_of(&holdoff(&root, &["scan", "--fail-on", "never"]));
        assert!(summary.contains("1 policy in 1 of 1 file"), "{name}: {summary}");
        std::fs::remove_file(root.join(name)).unwrap();
    }
}

/// What a command printed.
fn text_of(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}
