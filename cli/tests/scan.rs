//! Scans of folders: what is read, what is left out, and what is printed about it.

#[allow(dead_code, reason = "each test has its own part")]
mod common;

use common::{folder, holdoff, put, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A policy with one warning, `no_jitter`.
const FIXED: &str = "{\n  \"attempts\": 3,\n  \"jitter\": \"none\"\n}\n";

/// The exit code, the text and the notes of a scan.
fn scan(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = holdoff(folder, &[&["scan"], arguments].concat());
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The findings of a scan: file, line and name of each.
fn findings(folder: &Path, arguments: &[&str]) -> Vec<(String, u64, String)> {
    let output = holdoff(folder, &[&["scan", "--json"], arguments].concat());
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    all.iter().map(|one| (word(one, "file"), one["line"].as_u64().unwrap_or(0), word(one, "name"))).collect()
}

fn files(folder: &Path, arguments: &[&str]) -> Vec<String> {
    findings(folder, arguments).into_iter().map(|finding| finding.0).collect()
}

#[test]
fn ignored_files_are_left_out() {
    let root = folder("ignored");
    for name in [
        "a.retry.json",
        "b/c.retry.json",
        "b/kept.retry.json",
        "b/out/d.retry.json",
        "dist/e.retry.json",
        ".hidden/f.retry.json",
        "node_modules/x/g.retry.json",
        ".git/h.retry.json",
        "deep/b/c.retry.json",
    ] {
        put(&root, name, FIXED);
    }
    put(&root, ".gitignore", "dist/\n/b/*.retry.json\n!kept.retry.json\n[\n");
    put(&root, "b/.ignore", "out\n");
    let all = [".hidden/f.retry.json", "a.retry.json", "b/kept.retry.json", "deep/b/c.retry.json"];
    assert_eq!(files(&root, &[]), all);
    assert_eq!(files(&root, &["."]), all);
    assert_eq!(files(&root, &["b"]), ["b/kept.retry.json"], "the patterns of the folder around count");
    assert_eq!(files(&root.join("b"), &[]), ["c.retry.json", "kept.retry.json"]);
    let absolute = root.join("b");
    assert_eq!(files(&root, &[absolute.to_str().unwrap()]).len(), 1);
    assert_eq!(files(&root, &["dist/e.retry.json", "b"]).len(), 2, "a file that is named is read");
    assert_eq!(files(&root, &["b", "b/kept.retry.json", "./b"]).len(), 1, "and once only");
}

#[test]
fn what_cannot_be_read_is_counted() {
    let root = folder("unread");
    put(&root, "good.retry.json", FIXED);
    put(&root, "binary.retry.json", b"retry \xff\xfe\0");
    put(&root, "large.retry.json", format!("{{\"retry\": \"{}\"}}", "x".repeat(5_000_001)));
    put(&root, "empty.retry.json", "");
    put(&root, "picture.png", b"retry \xff");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(".", root.join("around")).unwrap();
        std::os::unix::fs::symlink("nowhere.json", root.join("broken.json")).unwrap();
        Command::new("mkfifo").arg(root.join("pipe.json")).status().unwrap();
    }
    put(&root, "odd \u{1b}[2J\n,:%\u{e9}.retry.json", FIXED);
    let (code, out, err) = scan(&root, &[]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(err.contains("1 file is not text in UTF-8: binary.retry.json"), "{err}");
    assert!(err.contains("1 file is larger than 5 MB: large.retry.json"), "{err}");
    assert!(!err.contains("picture"), "{err}");
    if cfg!(unix) {
        assert!(err.contains("2 links were not followed: around, broken.json"), "{err}");
        assert!(err.contains("pipe.json"), "{err}");
    }
    assert!(out.contains("good.retry.json:3:3") && !out.contains('\u{1b}'), "{out}");
    let (_, github, _) = scan(&root, &["--github"]);
    let odd = github.lines().find(|line| line.contains("odd")).unwrap();
    assert!(odd.contains("%0A%2C%3A%25\u{e9}.retry.json,line=3,col=3"), "{odd}");
}

#[test]
fn a_configuration_says_what_counts() {
    let root = folder("configured");
    let many = FIXED.replace('3', "12");
    put(&root, "a.retry.json", &many);
    put(&root, "legacy/b.retry.json", &many);
    put(&root, "test/c.retry.json", &many);
    let names = |arguments: &[&str]| -> Vec<String> {
        findings(&root, arguments).into_iter().map(|(file, _, name)| format!("{file} {name}")).collect()
    };
    assert_eq!(names(&[]).len(), 6);
    put(
        &root,
        ".holdoff.toml",
        "exclude = [\"test/\"]\nallow = [\"many_attempts\"]\n[allow-in]\n\"legacy/**\" = [\"no_jitter\"]\n\
        [severity]\nno_jitter = \"note\"\n",
    );
    assert_eq!(names(&[]), ["a.retry.json no_jitter"]);
    assert_eq!(scan(&root, &[]).0, 0, "a note does not fail");
    put(&root, "paths.toml", "paths = [\"legacy\"]\nfail-on = \"error\"\n");
    assert_eq!(names(&["--config", "paths.toml"]).len(), 2);
    assert_eq!(scan(&root, &["--config", "paths.toml"]).0, 0);
    assert_eq!(scan(&root, &["--config", "paths.toml", "--fail-on", "warning"]).0, 1);
    assert_eq!(names(&["--config", "paths.toml", "--allow", "no_jitter"]), ["legacy/b.retry.json many_attempts"]);
    for (text, error) in [
        ("alow = []", "wrong.toml:1:1: unknown field `alow`"),
        ("allow = [\"no_jiter\"]", "wrong.toml: no_jiter: is no name of a finding"),
        ("[severity]\nno_jitter = \"bad\"", "wrong.toml:2:13: unknown variant `bad`"),
        ("x", "wrong.toml:1:2"),
    ] {
        put(&root, "wrong.toml", text);
        let (code, out, err) = scan(&root, &["--config", "wrong.toml"]);
        assert!(code == 2 && out.is_empty() && err.contains(error), "{err}");
    }
    assert_eq!(scan(&root, &["--config", "nothing.toml"]).0, 2);
}

#[test]
fn a_baseline_keeps_known_findings_quiet() {
    let root = folder("baseline");
    put(&root, "a.retry.json", FIXED);
    let (code, _, err) = scan(&root, &["--baseline", "known.json"]);
    assert!(code == 2 && err.contains("--write-baseline"), "{err}");
    assert_eq!(scan(&root, &["--write-baseline"]).0, 2);
    let (code, out, _) = scan(&root, &["--baseline", "known.json", "--write-baseline"]);
    assert_eq!((code, &*out), (0, "known.json: 1 finding known\n"));
    let (code, out, _) = scan(&root, &["--baseline", "known.json"]);
    assert_eq!((code, &*out), (0, "1 policy in 1 of 2 files: no findings besides 1 of the baseline\n"));
    put(&root, "a.retry.json", format!("\n\n{}", FIXED.replace('3', "12")));
    put(&root, ".holdoff.toml", "baseline = \"known.json\"");
    let left = findings(&root, &[]);
    assert_eq!(left, [("a.retry.json".to_owned(), 4, "many_attempts".to_owned())]);
    put(&root, "known.json", "{\"version\": 2, \"findings\": []}");
    assert_eq!(scan(&root, &[]).0, 2);
}

#[test]
fn sarif_has_the_places_of_the_findings() {
    let root = folder("sarif");
    put(&root, "a b/\u{e9}.retry.json", FIXED);
    put(&root, "wrong.retry.json", "{\"attempts\": 0}");
    let log: Value = serde_json::from_str(&scan(&root, &["--sarif"]).1).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!((log["version"].as_str(), results.len()), (Some("2.1.0"), 2));
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%A9.retry.json");
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&3.into(), &3.into()));
    assert_eq!((&results[0]["level"], &results[1]["level"]), (&"error".into(), &"warning".into()));
}

#[test]
fn a_preset_and_a_folder_of_its_name_are_told_apart() {
    let root = folder("presets");
    assert_eq!(scan(&root, &["default"]).1, "no findings\n");
    put(&root, "default/a.retry.json", FIXED);
    assert_eq!(files(&root, &["default"]), ["default/a.retry.json"]);
    assert_eq!(scan(&root, &["defaultt"]).0, 2);
}

/// The findings that are true for a user, worked out by hand: a policy of the catalogue without a line has none.
const CATALOGUE: [(&str, &str); 18] = [
    // 3 s to 4.3 min, polynomial: 362 s.
    ("activejob", "long_wait"),
    // `hint.max` is "none": the caller sleeps for whatever Retry-After says, and there is no deadline.
    ("anthropic", "long_hint"),
    // An hour between two bursts, and fixed delays.
    ("bursts", "long_wait no_jitter"),
    // 100 attempts with fixed delays over 6.5 hours.
    ("cloud-tasks", "long_wait no_jitter many_attempts"),
    // A container is started again for ever, after fixed delays.
    ("crash-loop", "forever no_jitter"),
    // Eight fixed delays.
    ("elasticsearch-bulk", "no_jitter"),
    // Fixed delays; it gives up after 96 h.
    ("exim", "no_jitter"),
    // Eleven attempts after fixed delays.
    ("five-and-thirty", "no_jitter"),
    // Each retry after 100 ms sharp; its budget limits their number, not their moment.
    ("gateway-api", "no_jitter"),
    // `hint.max` is "none", as for anthropic.
    ("got", "long_hint"),
    // A connection is tried again for ever: whoever waits for it waits for ever.
    ("grpc-connect", "forever"),
    // 26 attempts in three weeks.
    ("sidekiq", "long_wait many_attempts"),
    // 0, 2, 10 and 30 s for every page that lost its server.
    ("signalr", "no_jitter"),
    // The delays of two rules are fixed.
    ("step-functions", "no_jitter"),
    // Fixed delays up to 10 h, 28 h in all.
    ("svix", "long_wait no_jitter"),
    // 1, 2 and 4 s for every page that lost its server.
    ("tanstack-query", "no_jitter"),
    // Fixed delays, one rule for each kind of failure.
    ("urllib3-by-kind", "no_jitter"),
    // Fixed delays, 11 attempts, and Retry-After of any length.
    ("urllib3", "no_jitter many_attempts long_hint"),
];
/// The same for presets: they do what their systems do.
const PRESETS: [(&str, &str); 6] = [
    // Its backoff has no limit of attempts: the program around it decides.
    ("chromium", "forever"),
    ("langgraphgo", "no_jitter"),
    ("langgraphgo-graph", "no_jitter"),
    // Its intervals are fixed unless a randomized one is named.
    ("resilience4j", "no_jitter"),
    // Its server retries an activity without a limit of attempts, after fixed delays.
    ("temporal", "forever no_jitter"),
    // tenacity stops never unless told to.
    ("tenacity-random-exponential", "forever"),
];
/// The policy of the first programs of README.md.
const README: &str = "{\"attempts\": 5, \"attempt_timeout\": \"5s\", \"deadline\": \"30s\"}";

#[test]
fn the_catalogue_and_the_presets_have_the_findings_that_are_true() {
    let root = folder("catalogue");
    let catalogue = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/catalogue");
    let mut files = vec!["readme.retry.json".to_owned()];
    put(&root, &files[0], README);
    for entry in fs::read_dir(catalogue).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "json") {
            let entry: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let name = format!("{}.retry.json", path.file_stem().unwrap().to_str().unwrap());
            put(&root, &name, entry["policy"].to_string());
            files.push(name);
        }
    }
    let presets = text(&holdoff(&root, &["presets"]).stdout);
    let presets: Vec<_> = presets.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((files.len(), presets.len()), (28, 16));
    let found = findings(&root, &[&["."], &presets[..]].concat());
    for file in files.iter().map(String::as_str).chain(presets) {
        let of: Vec<_> = found.iter().filter(|one| one.0 == file).map(|one| &*one.2).collect();
        let name = file.strip_suffix(".retry.json");
        let known = name.map_or(&PRESETS[..], |_| &CATALOGUE);
        let expected = known.iter().find(|known| known.0 == name.unwrap_or(file)).map_or("", |known| known.1);
        assert_eq!(of.join(" "), expected, "{file}");
    }
}

/// A state machine whose workflow sleeps for 61.7 hours.
const CHARGE: &str = r#"{
  "StartAt": "Charge",
  "States": {
    "Charge": {
      "Type": "Task",
      "Resource": "arn:aws:states:::lambda:invoke",
      "Retry": [
        { "ErrorEquals": ["States.ALL"], "IntervalSeconds": 20, "BackoffRate": 10, "MaxAttempts": 5 }
      ],
      "End": true
    }
  }
}"#;

/// A route of a mesh whose three attempts do not fit before its timeout.
const ROUTE: &str = "apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: payments }
spec:
  hosts: [payments]
  http:
    - match: [{ method: { exact: POST } }]
      route: [{ destination: { host: payments.shop.svc.cluster.local } }]
      timeout: 8s
      retries:
        attempts: 2
        perTryTimeout: 3s
        retryOn: 5xx
";

/// A client of the same service.
const CLIENT: &str = "spring: { application: { name: shop } }
resilience4j:
  retry:
    instances:
      paymentService:
        maxAttempts: 4
        waitDuration: 500ms
        exponentialBackoffMultiplier: 2
";

#[test]
fn the_files_of_other_systems_are_recognised() {
    let root = folder("systems");
    put(&root, "charge.asl.json", CHARGE);
    put(&root, "deploy/route.yaml", ROUTE);
    put(&root, "src/main/resources/application.yml", CLIENT);
    put(&root, "values.yaml", "retries: 3\nbackoff: fast\nattempts: many\n");
    put(&root, "package.json", "{\"dependencies\": {\"retry\": \"1\"}}");
    put(&root, "some.json", "{\"retry\": [1, 2], \"attempts\": {}}");
    let found: Vec<_> = findings(&root, &[]);
    let at = |file: &str| -> Vec<_> {
        found.iter().filter(|one| one.0.ends_with(file)).map(|one| format!("{} {}", one.1, one.2)).collect()
    };
    let charge = ["7 long_wait", "7 no_cap", "7 no_jitter", "7 retries_everything"];
    assert_eq!(at("asl.json"), charge);
    let route = ["11 nested_retries", "13 unsafe_method", "11 unreachable_attempts", "11 mesh_without_budget"];
    assert_eq!(at("route.yaml"), route);
    assert_eq!(at("application.yml"), ["8 no_effect", "7 no_jitter"]);
    assert_eq!(found.len(), 10, "{found:?}");
    let (code, out, err) = scan(&root, &[]);
    assert!(code == 1 && err.is_empty(), "{err}");
    let out = unwrapped(&out);
    for words in [
        "A caller sleeps up to 61.7 h before it learns that the call has failed.",
        "without jitter (61.7h, limit 15m)",
        "application.yml:6: 4 attempts) around istio (deploy/route.yaml:11: 3 attempts): at most 12 in all",
        "One call sends up to 12 requests to the server.",
        "3 policies in 3 of 5 files: 9 warnings, 1 note",
    ] {
        assert!(out.contains(words), "{words}\n{out}");
    }
    put(
        &root,
        "deploy/budget.yaml",
        "apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: payments }
spec: { host: payments, trafficPolicy: { retryBudget: { percent: 20, minRetryConcurrency: 3 } } }
",
    );
    assert!(findings(&root, &[]).iter().all(|one| one.2 != "mesh_without_budget"));
    put(
        &root,
        "deploy/route.yaml",
        ROUTE.replace("retryOn: 5xx", "retryOn: connect-failure # holdoff: allow no_jitter"),
    );
    assert!(findings(&root, &[]).iter().all(|one| one.2 != "unsafe_method"));
    let allowed =
        ROUTE.replace("attempts: 2", "attempts: 2 # holdoff: allow unreachable_attempts, nested_retries: measured");
    put(&root, "deploy/route.yaml", allowed);
    let left = findings(&root, &["deploy"]);
    assert_eq!(left.iter().map(|one| &*one.2).collect::<Vec<_>>(), ["unsafe_method"]);
}

#[test]
fn files_that_are_not_whole_are_counted() {
    let root = folder("broken");
    put(
        &root,
        "helm/templates/route.yaml",
        "kind: VirtualService\nspec:\n  {{- range .Values.retries }}\n  - attempts: {{ . }}\n",
    );
    put(&root, "broken.yaml", "retries:\n  attempts: 3\n bad: [\n");
    put(&root, "cut.json", "{\"retryPolicy\": {");
    let mut laughs = "retries: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs += &format!("x{level}: &a{level} [{aliases}]\n");
    }
    put(&root, "laughs.yaml", laughs);
    put(&root, "deep.json", format!("{{\"retry\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000)));
    put(&root, "deep.yaml", format!("retry: {}{}", "[".repeat(200_000), "]".repeat(200_000)));
    let (code, out, err) = scan(&root, &[]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("0 policies in 0 of 6 files: no findings"), "{out}");
    assert!(err.contains("1 file is a template, or takes values from outside: helm/templates/route.yaml"), "{err}");
    assert!(err.contains("5 files are no valid JSON or YAML: broken.yaml, cut.json, deep.json, ..."), "{err}");
    let (code, _, _) = scan(&root, &["broken.yaml"]);
    assert_eq!(code, 1, "a file that is named must be whole");
}

#[test]
fn an_instance_of_resilience4j_inherits_from_its_configuration() {
    let root = folder("inherited");
    let text = "resilience4j.retry:
  configs:
    default: { maxAttempts: 5, waitDuration: 1s, enableExponentialBackoff: true, randomizedWaitFactor: 0.2 }
  instances:
    own: { wait-duration: 100ms, enable-exponential-backoff: false, enableRandomizedWait: true }
    inherited: { enableRandomizedWait: true }
    lost: { baseConfig: missing }
";
    put(&root, "application.yml", text);
    let explained = |entry: &str| {
        let out = holdoff(&root, &["explain", "application.yml", "--entry", entry]);
        text_of(&out)
    };
    for (entry, words) in [
        ("own", "50ms 100ms 150ms"),
        ("own", "5 attempts"),
        ("inherited", "exponential backoff from 1s by 1.5, no jitter"),
        ("lost", "names a configuration that is not in the document"),
    ] {
        assert!(explained(entry).contains(words), "{entry}: {}", explained(entry));
    }
}

/// What a command printed, and its errors.
fn text_of(out: &Output) -> String {
    unwrapped(&(text(&out.stdout) + &text(&out.stderr)))
}

/// A text without the ends of its lines.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
