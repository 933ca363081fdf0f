//! Inputs that nobody means well: deep, long, and no text at all. Each is answered in words, soon, and without a panic.

use anstream::adapter::strip_str;
use holdoff_cli::{Entry, EntryKind, Host, Output, run};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs the program on a file with that content.
fn ran(command: &[&str], content: &[u8]) -> Output {
    let begun = Instant::now();
    let read = |path: &str| match path {
        ".holdoff.toml" => Err("there is no such file".to_owned()),
        _ => Ok(content.to_vec()),
    };
    let list = |_: &str| Err("is no folder".to_owned());
    let host = Host {
        read: &read,
        size: &|_| Ok(0),
        list: &list,
        write: &|_, _| Ok(()),
        start: None,
        progress: &|_| {},
        width: 200,
    };
    let Output { out, err, code, .. } = run(["holdoff"].iter().chain(command), host);
    let [out, err] = [out, err].map(|text| strip_str(&text).to_string());
    // An input that is looked at once for each of its bytes takes hours.
    assert!(begun.elapsed() < Duration::from_secs(300), "{command:?} took {:?}", begun.elapsed());
    Output { out, err, code, ..Output::default() }
}

#[test]
fn a_deep_document_is_refused_at_its_place() {
    let text = format!("{{\"backoff\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
    let output = ran(&["check", "deep.json"], text.as_bytes());
    assert!(output.out.contains("maximum nesting depth") && output.out.contains("deep.json:1:522"), "{output:?}");
    assert_eq!(output.code, 1);
}

#[test]
fn a_line_of_a_megabyte_is_not_shown() {
    let text = format!("{{\"rules\": [{}{{\"retri\": 1}}]}}", "{\"retry\": true}, ".repeat(60_000));
    let output = ran(&["check", "long.json"], text.as_bytes());
    assert!(output.out.contains("long.json:1:") && output.out.len() < 1_000, "{}", output.out.len());
}

#[test]
fn a_mistake_at_a_letter_of_several_bytes_is_shown() {
    for text in [
        "retry:\n  a: \u{feff}b: c\n",
        "retry: [a\n\u{e9}: b\n",
        "{\"retry\": \u{e9}}",
        "retry: {\"a\": \u{1f600}\u{1f600}",
    ] {
        for name in ["a.yaml", "a.json"] {
            let output = ran(&["check", name], text.as_bytes());
            assert!(output.code == 1 && output.out.contains(name), "{text:?} {output:?}");
        }
    }
}

#[test]
fn large_and_repeated_texts_are_answered_soon() {
    let many = |count: usize, of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<String>();
    let fields = many(20_000, &|index| format!("f{index}: 1, "));
    let route = "  - { timeout: 3s, retries: { attempts: 2, perTryTimeout: 2s } }\n";
    let head = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n";
    for (name, text) in [
        ("merged.yaml", format!("retry: &a {{ {fields} }}\nb: {{ {fields} <<: [*a, *a, *a] }}\n")),
        ("routes.yaml", format!("{head}{}", route.repeat(3_000))),
        ("blocks.tf", many(40_000, &|index| format!("retry \"a\" \"b{index}\" {{}}\n"))),
        ("labels.tf", format!("retry {}{{}}", "a ".repeat(300_000))),
        (
            "configs.yml",
            format!(
                "service: a\nfunctions:\n{}",
                many(5_000, &|index| format!("  f{index}: {{ maximumRetryAttempts: 1 }}\n"))
            ),
        ),
        ("nginx.conf", format!("http {{ {} }}", "proxy_next_upstream_tries 2;\n".repeat(40_000))),
        ("haproxy.cfg", format!("defaults\n{}", many(10_000, &|index| format!("backend b{index}\n retries 2\n")))),
        (
            "config",
            format!(
                "[default]\nretry_mode = standard\n{}",
                many(5_000, &|index| format!("[profile p{index}]\nmax_attempts = 3\n"))
            ),
        ),
        (
            "envoy.yaml",
            format!(
                "virtual_hosts:\n- routes:\n{}clusters:\n{}",
                many(2_000, &|index| format!(
                    "  - {{ route: {{ cluster: c{index}, retry_policy: {{ retry_on: 5xx }} }} }}\n"
                )),
                many(2_000, &|index| format!("- {{ name: c{index}, circuit_breakers: {{ thresholds: [] }} }}\n")),
            ),
        ),
    ] {
        let output = ran(&["scan", name, "--json"], text.as_bytes());
        assert!(output.code <= 1 && output.out.ends_with("]\n"), "{name}: {}", output.err);
    }
}

#[test]
fn any_bytes_are_answered() {
    let mut seed = 7_u64;
    for length in 0..300_usize {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Half of the files are made of the characters of JSON.
                let byte = (seed >> 56) as u8;
                if length % 2 == 0 { byte } else { b"{}[]\",:1e-n \n\\u"[usize::from(byte) % 15] }
            })
            .collect();
        for command in [&["check", "-"][..], &["replay", "-"], &["convert", "-", "--form", "grpc"], &["explain", "-"]] {
            let output = ran(command, &bytes);
            assert!(output.code > 0 && !(output.out.is_empty() && output.err.is_empty()), "{command:?} {bytes:?}");
        }
    }
}

#[test]
fn a_log_cannot_steer_the_terminal() {
    let line = |kind: &str, at: u64, rest: &str| {
        format!("{{\"version\":1,\"sequence\":{at},\"type\":\"{kind}\",\"at\":\"{at}\",\"attemptNumber\":1{rest}}}\n")
    };
    let log = line("STARTED", 1, ",\"policy\":\"1\",\"seed\":\"7\",\"guarded\":0")
        + &line(
            "ATTEMPT_FAILED",
            2,
            ",\"failureReason\":\"\\u001b[2J\\u0007down\",\"failure\":\"transient\",\"hint\":\"none\"",
        );
    let output = ran(&["replay", "log"], log.as_bytes());
    assert_eq!(output.out, "attempt 1 took 1ns: transient ( [2J down)\n");
}

#[test]
fn each_mistake_of_a_file_is_shown() {
    let text = r#"{"atempts": 3, "backoff": [{"kind": "expontial", "times": 1}, {"max": 5}], "jitter": "fulll",
        "rules": [{"if": {"http": [9]}, "retry": 1}], "deadline": "1s", "min_attempt": "2s"}"#;
    let output = ran(&["check", "many.json"], text.as_bytes());
    for words in [
        "atempts: is not a field of a policy; did you mean \"attempts\"?",
        "backoff[0].kind = \"expontial\": must be one of",
        "backoff[1].max = 5: must be a time",
        "jitter.kind = \"fulll\"",
        "rules[0].if.http[0] = 9: must be",
        "rules[0].retry = 1: must be",
        "min_attempt = 2s: must be below the deadline",
        "\n7 errors",
    ] {
        assert!(output.out.contains(words), "{words}\n{}", output.out);
    }
}

/// Entries by their names, those of folders with a `/` behind them.
fn entries(names: &[&str]) -> Vec<Entry> {
    let entry = |name: &&str| match name.strip_suffix('/') {
        Some(name) => Entry { name: name.to_owned(), kind: EntryKind::Folder },
        None => Entry { name: (*name).to_owned(), kind: EntryKind::File },
    };
    names.iter().map(entry).collect()
}

#[test]
fn a_pattern_stands_for_the_files_with_such_names() {
    let read = |path: &str| match path {
        "a/x.retry.json" | "a/b/y.retry.json" | "odd[1].json" => Ok(b"{}".to_vec()),
        _ => Err("there is no such file".to_owned()),
    };
    let list = |folder: &str| match folder {
        "." => Ok(entries(&["a/", ".git/", "odd[1].json"])),
        "a/" => Ok(entries(&["b/", "x.retry.json", "other.json"])),
        "a/b/" => Ok(entries(&["y.retry.json", ".hidden.retry.json"])),
        _ => Err("there is no such file".to_owned()),
    };
    let checked = |pattern: &str| {
        let size = |path: &str| read(path).map(|bytes| bytes.len() as u64);
        let host = Host {
            read: &read,
            size: &size,
            list: &list,
            write: &|_, _| Ok(()),
            start: None,
            progress: &|_| {},
            width: 200,
        };
        let Output { out, err, code, .. } = run(["holdoff", "check", pattern], host);
        let [out, err] = [out, err].map(|text| strip_str(&text).to_string());
        (code, out + &err)
    };
    assert_eq!(checked("**/*.retry.json"), (0, "2 files: no findings\n".to_owned()));
    assert_eq!(checked("a/*.retry.json"), (0, "no findings\n".to_owned()));
    assert_eq!(checked("odd[1].json").0, 0);
    assert_eq!(checked("a/*.yaml"), (2, "error: a/*.yaml: no file has such a name\n".to_owned()));
    assert_eq!(checked("none/*.json"), (2, "error: none/: there is no such file\n".to_owned()));
    assert_eq!(checked("a/***.json").0, 2);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [&["presets"][..], &["simulate", "default", "--clients", "50", "--json"], &["check", "nothing"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_holdoff"));
        program.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        let code = if arguments[0] == "check" { 2 } else { 0 };
        assert!(
            ended.status.code() == Some(code) && !said.contains("panicked"),
            "{arguments:?} {:?} {said}",
            ended.status
        );
    }
}
