//! Inputs that nobody means well: deep, long, and no text at all. Each is answered in words, soon, and without a panic.

use anstream::adapter::strip_str;
use holdoff_cli::{Host, Output, run};
use std::time::{Duration, Instant};

/// Runs the program on a file with that content.
fn ran(command: &[&str], content: &[u8]) -> Output {
    let begun = Instant::now();
    let read = |_: &str| Ok(content.to_vec());
    let Output { out, err, code } = run(["holdoff"].iter().chain(command), Host { read: &read, width: 80 });
    let [out, err] = [out, err].map(|text| strip_str(&text).to_string());
    assert!(begun.elapsed() < Duration::from_secs(10), "{command:?} took {:?}", begun.elapsed());
    Output { out, err, code }
}

#[test]
fn a_deep_document_is_refused_at_its_place() {
    let text = format!("{{\"backoff\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
    let output = ran(&["check", "deep.json"], text.as_bytes());
    assert!(output.out.contains("is no field of a policy") && output.out.contains("deep.json:1:20"), "{output:?}");
    assert_eq!(output.code, 1);
}

#[test]
fn a_line_of_a_megabyte_is_not_shown() {
    let text = format!("{{\"rules\": [{}{{\"retri\": 1}}]}}", "{\"retry\": true}, ".repeat(60_000));
    let output = ran(&["check", "long.json"], text.as_bytes());
    assert!(output.out.contains("long.json:1:") && output.out.len() < 1_000, "{}", output.out.len());
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
