//! Tests that read a real clock, wait in real time for something to happen, or send themselves a signal after such a wait: on a busy machine,
//! or in a shell that ignores signals, they may fail although nothing is wrong.
//!
//! `tests/real_clocks.json` has the number of such places in each file. It may only fall: a file with more of them is a fault, and so is a
//! number that is too high.

use super::sources::{Fault, Files, has_ending, is_test};
use crate::shell;
use anyhow::{Context as _, Result};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = "tests/real_clocks.json";

/// Endings of files, and the calls that need a real clock in their language.
const CALLS: [(&[&str], &str); 4] = [
    (
        &["py"],
        r"\b(?:time|real)\.(?:monotonic|time|perf_counter|sleep)(?:_ns)?\(|\bperf_counter(?:_ns)?\(|datetime\.now\(|threading\.Timer\(|\bsetitimer\(|signal\.alarm\(|raise_signal\(|os\.kill\(os\.getpid|\b(?:asyncio|trio|anyio)\.sleep\(0?\.",
    ),
    (
        &["mjs", "js", "ts", "mts"],
        r"\bDate\.now\(|performance\.now\(|\bhrtime\b|(?:^|[^.\w])set(?:Timeout|Interval)\(|process\.kill\(process\.pid",
    ),
    (&["rs"], r"(?:^|[^:\w]|std::time::)(?:Instant|SystemTime)::now\(|thread::sleep\(|park_timeout\("),
    (
        &["c", "h", "hpp", "cpp"],
        r"\b(?:clock_gettime|nanosleep|usleep|setitimer|holdoff_now|holdoff_sleep_until)\(|sleep_for\(|_clock::now\(",
    ),
];

/// Tests that only `cargo xtask test --all` runs, and files that are no tests although their path says so.
const ELSEWHERE: [&str; 5] =
    ["engines/durable/tests/crash/", "playground/test/", "site/test/", "tests/fuzz/", "xtask/"];

/// The content of `tests/real_clocks.json`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    #[allow(dead_code, reason = "it is for people")]
    about: String,
    files: BTreeMap<String, usize>,
}

/// The files whose tests need a real clock in more places than they may, and the numbers that are too high.
pub(super) fn faults(files: &Files) -> Result<Vec<Fault>> {
    let list = std::fs::read_to_string(shell::root().join(LIST)).context(LIST)?;
    let Allowed { files: allowed, .. } = serde_json::from_str(&list).context(LIST)?;
    Ok(differences(&places(files), &allowed))
}

/// The lines of each test that need a real clock.
fn places(files: &Files) -> BTreeMap<String, Vec<usize>> {
    let mut places = BTreeMap::new();
    for (endings, calls) in CALLS {
        let calls = Regex::new(calls).expect("is valid");
        let tests = files.iter().filter(|(path, _)| has_ending(path, endings) && is_test(path));
        for (path, text) in tests.filter(|(path, _)| !ELSEWHERE.iter().any(|folder| path.starts_with(folder))) {
            let lines = text.lines().enumerate();
            let lines: Vec<_> = lines.flat_map(|(at, line)| calls.find_iter(line).map(move |_| at + 1)).collect();
            if !lines.is_empty() {
                places.insert(path.clone(), lines);
            }
        }
    }
    places
}

fn differences(places: &BTreeMap<String, Vec<usize>>, allowed: &BTreeMap<String, usize>) -> Vec<Fault> {
    let paths: BTreeSet<_> = places.keys().chain(allowed.keys()).collect();
    let mut faults = Vec::new();
    for path in paths {
        let lines = places.get(path).map_or(&[][..], Vec::as_slice);
        let (count, most) = (lines.len(), allowed.get(path).copied().unwrap_or_default());
        if count > most {
            let listed = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let message = format!(
                "{count} places need a real clock (lines {listed}), and {LIST} allows {most}: use virtual time, or wait for an event"
            );
            faults.push(Fault::new(path, lines.last().copied().unwrap_or(1), message));
        } else if count < most {
            let message = format!("{path} needs a real clock in {count} places, not in {most}: lower the number");
            faults.push(Fault::new(LIST, 1, message));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        let files = [(path.to_owned(), text.to_owned())].into();
        places(&files).values().map(Vec::len).sum()
    }

    #[test]
    fn real_clocks_are_found_in_each_language_and_virtual_ones_are_not() {
        assert_eq!(
            found("engines/a/tests/test_a.py", "time.sleep(1)\nawait asyncio.sleep(0.01)\nawait asyncio.sleep(60)"),
            2
        );
        assert_eq!(
            found("a/tests/test_a.py", "os.kill(os.getpid(), SIGINT)\nclock.sleep(1)\nthreading.Timer(1, f)"),
            2
        );
        assert_eq!(found("a/test/a.test.mjs", "setTimeout(f, 1);\nclock.setTimeout(f, 1); Date.now();"), 2);
        assert_eq!(
            found("a/tests/a.rs", "Instant::now(); std::time::Instant::now();\ntokio::time::Instant::now();"),
            2
        );
        assert_eq!(found("a/tests/a.c", "holdoff_now();\nmy_now();"), 1);
        assert_eq!(found("a/src/a.py", "time.sleep(1)"), 0);
        assert_eq!(found("engines/durable/tests/crash/life.py", "time.sleep(1)"), 0);
    }

    #[test]
    fn the_numbers_may_only_fall() {
        let places = BTreeMap::from([("a".to_owned(), vec![3, 9]), ("b".to_owned(), vec![1])]);
        let allowed = |a, b| BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)]);
        assert_eq!(differences(&places, &allowed(2, 1)), []);
        let more = differences(&places, &allowed(1, 1));
        assert_eq!((more.len(), &*more[0].path, more[0].line), (1, "a", 9));
        let fewer = differences(&places, &allowed(2, 4));
        assert_eq!((fewer.len(), &*fewer[0].path), (1, LIST));
        assert!(fewer[0].message.contains("b needs a real clock in 1 places, not in 4"));
        assert_eq!(differences(&places, &BTreeMap::new()).len(), 2);
    }
}
