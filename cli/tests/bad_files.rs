//! Files that nobody means well in a folder that is scanned: a note counts them, and nothing else happens.

mod common;

use anstream::adapter::strip_str;
use common::{folder, holdoff, put, text};
use holdoff_cli::{Entry, EntryKind, Host, run};
use serde_json::Value;
use std::fs::File;

/// A policy with one warning, `no_jitter`.
const FIXED: &str = "{\n  \"attempts\": 3,\n  \"jitter\": \"none\"\n}\n";
/// A route with one warning, `unreachable_attempts`.
const ROUTE: &str = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n  - timeout: 3s\n    retries:\n      \
    attempts: 2\n      perTryTimeout: 2s\n      retryOn: 5xx\n";

/// The findings of a scan of one file that only the test has: line, column and name of each, and the exit code.
fn scanned(name: &str, bytes: &[u8]) -> (u8, Vec<(u64, u64, String)>, String) {
    let read = |path: &str| if path == name { Ok(bytes.to_vec()) } else { Err("there is no such file".to_owned()) };
    let list = |path: &str| match path {
        "." => Ok(vec![Entry { name: name.to_owned(), kind: EntryKind::File }]),
        _ => Err("is no folder".to_owned()),
    };
    let host = Host {
        read: &read,
        size: &|_| Ok(bytes.len() as u64),
        list: &list,
        write: &|_, _| Ok(()),
        start: None,
        progress: &|_| {},
        width: 100,
    };
    let output = run(["holdoff", "scan", "--json"], host);
    let all: Vec<Value> = serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("{name}: {}", output.out));
    let number = |one: &Value, name: &str| one[name].as_u64().unwrap_or(0);
    let of = |one: &Value| (number(one, "line"), number(one, "column"), one["name"].as_str().unwrap().to_owned());
    (output.code, all.iter().map(of).collect(), strip_str(&output.err).to_string())
}

#[test]
fn line_ends_and_marks_change_no_place() {
    let expected = vec![(7, 7, "unreachable_attempts".to_owned())];
    for text in
        [ROUTE.to_owned(), ROUTE.replace('\n', "\r\n"), format!("\u{feff}{ROUTE}"), format!("{ROUTE}\n\n# \u{1f680}")]
    {
        let (code, found, _) = scanned("route.yaml", text.as_bytes());
        let found: Vec<_> = found.into_iter().filter(|one| one.2 == "unreachable_attempts").collect();
        assert_eq!((code, found), (1, expected.clone()), "{text:?}");
    }
    // A mark of UTF-16 is no text in UTF-8.
    let utf16: Vec<_> = "\u{feff}{\"retry\": 1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (code, found, notes) = scanned("utf16.json", &utf16);
    assert!(code == 0 && found.is_empty(), "{notes}");
}

#[test]
fn merge_keys_bring_fields_that_are_not_there() {
    let base = "x-retry: &usual { attempts: 2, perTryTimeout: 2s, retryOn: 5xx }\n";
    let merged = ROUTE.replace("      attempts: 2\n      perTryTimeout: 2s\n", "      <<: *usual\n");
    // The place is that of the value which the alias stands for.
    let text = format!("{base}{}", merged.replace("      retryOn: 5xx\n", ""));
    let (code, found, _) = scanned("route.yaml", text.as_bytes());
    assert!(code == 1 && found.contains(&(1, 19, "unreachable_attempts".to_owned())), "{found:?}");
    // A field of the object comes before a merged one, wherever it stands.
    let text = format!("{base}{}", merged.replace("retryOn: 5xx", "attempts: 0"));
    let (code, found, _) = scanned("route.yaml", text.as_bytes());
    assert!(code == 0 || found.iter().all(|one| one.2 != "unreachable_attempts"), "{found:?}");
    for text in
        ["retry: &a\n  <<: *a\n", "retry: &a [*a]\n", "retry: { <<: 3, attempts: 2 }\n", "retry: { <<: [*none] }\n"]
    {
        assert_eq!(scanned("route.yaml", text.as_bytes()).0, 0, "{text}");
    }
}

/// Small files of every syntax, each with its name.
const FILES: [(&str, &str); 9] = [
    ("route.yaml", ROUTE),
    ("policy.retry.json", FIXED),
    (
        "appsettings.json",
        "{ // .NET\n \"Retry\": { \"MaxRetryAttempts\": 3, \"Delay\": \"00:00:02\", },\n \"AttemptTimeout\": { \"Timeout\": \"00:00:01\" } }",
    ),
    (
        "machine.asl.json",
        "{\"StartAt\":\"A\",\"States\":{\"A\":{\"Type\":\"Task\",\"Retry\":[{\"ErrorEquals\":[\"States.ALL\"],\"BackoffRate\":2.5}]}}}",
    ),
    (
        "queue.tf",
        "resource \"aws_sqs_queue\" \"q\" {\n  redrive_policy = jsonencode({ maxReceiveCount = 3, x = \"${a.b}\" })\n  d = <<-E\n{\"retry\": [1]}\n\
        E\n}\n",
    ),
    ("haproxy.cfg", "defaults\n  retries 3 # few\nbackend b\n  retry-on 503 'empty-response'\n  option redispatch 2\n"),
    (
        "nginx.conf",
        "upstream u { server a; server b; }\nlocation / { proxy_pass http://u; proxy_next_upstream error http_502; }\n",
    ),
    ("config", "[default]\nretry_mode = standard\nmax_attempts = 4\n"),
    (
        "job.yaml",
        "apiVersion: batch/v1\nkind: Job\nspec: { backoffLimit: 3 }\n---\napiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: { templates: \
        [{ name: a, retryStrategy: { limit: '${N:-3}', backoff: { duration: 1m, factor: 2 } } }] }\n",
    ),
];

#[test]
fn any_change_of_a_file_is_answered() {
    let mut seed = 11_u64;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    for (name, text) in FILES {
        assert!(scanned(name, text.as_bytes()).2.is_empty() || text.contains("${"), "{name} is read");
        for _ in 0..150 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=next(3) {
                let (at, other) = (next(bytes.len()), next(text.len()));
                match next(5) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = b"{}[]\"':;,#$\n\t <&*!|-\\0"[next(22)],
                    2 => bytes[at] = next(256) as u8,
                    3 => bytes.truncate(at.max(1)),
                    _ => bytes.splice(at..at, text.as_bytes()[other..].iter().copied()).for_each(drop),
                }
            }
            // The JSON is whole, the exit code is one of the documented ones, and there is no panic.
            assert!(scanned(name, &bytes).0 <= 1, "{name}: {}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn a_file_of_100_megabytes_is_counted() {
    let root = folder("large-file");
    put(&root, "good.retry.json", FIXED);
    File::create(root.join("large.json")).unwrap().set_len(100_000_000).unwrap();
    let output = holdoff(&root, &["scan"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("1 file is larger than 5 MB: large.json"), "{output:?}");
}

/// Files with names of every sign, whose findings are the same as those of plain names.
#[cfg(target_os = "linux")]
#[test]
fn names_may_have_every_sign() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    let root = folder("signs");
    for byte in (1..=255_u8).filter(|byte| *byte != b'/') {
        let name = OsString::from_vec([b"a", &[byte][..], b".retry.json"].concat());
        std::fs::write(root.join(name), FIXED).unwrap();
    }
    let output = holdoff(&root, &["scan", "--json"]);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let files: std::collections::BTreeSet<_> = all.iter().map(|one| one["file"].as_str().unwrap()).collect();
    // Half of the names are no Unicode.
    assert_eq!((output.status.code(), files.len()), (Some(1), 126));
    assert!(files.contains("a\n.retry.json") && files.contains("a\".retry.json") && files.contains("a\\.retry.json"));
    assert!(
        text(&output.stderr).contains("128 entries are no files with names in Unicode"),
        "{}",
        text(&output.stderr)
    );
    let shown = text(&holdoff(&root, &["scan"]).stdout);
    assert!(shown.chars().all(|sign| !sign.is_control() || sign == '\n'), "{shown:?}");
    assert_eq!(text(&holdoff(&root, &["scan", "--github"]).stdout).lines().count(), 126, "a line for each");
    let sarif: Value = serde_json::from_slice(&holdoff(&root, &["scan", "--sarif"]).stdout).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 126);
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_are_not_followed() {
    use std::os::unix::fs::symlink;

    let root = folder("circle");
    put(&root, "a/good.retry.json", FIXED);
    symlink("../b/one.json", root.join("a/two.json")).unwrap();
    std::fs::create_dir(root.join("b")).unwrap();
    symlink("../a/two.json", root.join("b/one.json")).unwrap();
    symlink("..", root.join("b/up")).unwrap();
    let output = holdoff(&root, &["scan"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("3 links were not followed: a/two.json, b/one.json, b/up"), "{output:?}");
    // A file that is named must be read.
    let output = holdoff(&root, &["scan", "a/two.json"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("a/two.json"), "{output:?}");
    assert_eq!(holdoff(&root, &["scan", "none", "a"]).status.code(), Some(2));
}

#[test]
fn a_folder_that_cannot_be_read_is_counted() {
    let read = |path: &str| match path {
        "open/a.retry.json" => Ok(FIXED.into()),
        _ => Err("permission denied".to_owned()),
    };
    let entry = |name: &str, kind| Entry { name: name.to_owned(), kind };
    let list = |path: &str| match path {
        "." => Ok(vec![entry("locked", EntryKind::Folder), entry("open", EntryKind::Folder)]),
        "open/" => Ok(vec![entry("a.retry.json", EntryKind::File), entry("secret.retry.json", EntryKind::File)]),
        _ => Err("permission denied".to_owned()),
    };
    let size = |path: &str| if path.contains("secret") { Err("permission denied".to_owned()) } else { Ok(10) };
    let host = Host {
        read: &read,
        size: &size,
        list: &list,
        write: &|_, _| Ok(()),
        start: None,
        progress: &|_| {},
        width: 100,
    };
    let output = run(["holdoff", "scan"], host);
    let notes = strip_str(&output.err).to_string();
    assert!(notes.contains("1 folder cannot be read: locked/"), "{notes}");
    assert!(notes.contains("1 file cannot be read: open/secret.retry.json"), "{notes}");
    assert_eq!(output.code, 1, "what could be read has a warning");
    let output = run(["holdoff", "scan", "locked"], host);
    assert_eq!(output.code, 2, "a folder that is named must be read");
}
