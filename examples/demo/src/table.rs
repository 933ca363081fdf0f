//! The comparison as a person reads it, at most 100 columns wide.

use crate::compare::{Comparison, Mark, Row, Section};
use crate::trace::Attempt;
use std::fmt::Write as _;

/// Turns a comparison into text, with colours when it goes to a terminal.
#[must_use]
pub fn render(comparison: &Comparison, colours: bool) -> String {
    let paint = Paint(colours);
    let mut out = String::new();
    let head = format!("    {:<22}{:<11}{:>14}  {:<11}", "saw", "decision", "delay", "because");
    let hosts: String = comparison.hosts.iter().map(|name| format!("{name:<width$}", width = width(name))).collect();
    line(&mut out, "");
    line(&mut out, &paint.dim(format!("{head}{hosts}").trim_end()));
    for section in &comparison.sections {
        line(&mut out, "");
        let about = format!("{} {}", paint.bold(section.path), section.about);
        line(&mut out, &format!("{about}{}", paint.dim(&format!("  [{}]", section.policy))));
        for row in &section.rows {
            show(&mut out, row, &comparison.hosts, paint);
        }
        for complaint in &section.complaints {
            line(&mut out, &format!("    {}", paint.bad(complaint)));
        }
    }
    line(&mut out, "");
    for complaint in &comparison.complaints {
        line(&mut out, &paint.bad(complaint));
    }
    line(&mut out, &summary(comparison, paint));
    out
}

fn show(out: &mut String, row: &Row, hosts: &[String], paint: Paint) {
    let [saw, decision, delay, because] = words(&row.most);
    let marks: String = hosts
        .iter()
        .zip(&row.marks)
        .map(|(host, mark)| {
            let cell = match mark {
                Mark::Same => paint.good("✓"),
                Mark::Other(_) => paint.bad("✗"),
                Mark::None => paint.bad("-"),
            };
            format!("{cell}{:pad$}", "", pad = width(host).saturating_sub(1))
        })
        .collect();
    let number = row.most.attempt;
    line(out, format!("{number:>3} {saw:<22}{decision:<11}{delay:>14}  {because:<11}{marks}").trim_end());
    for (host, mark) in hosts.iter().zip(&row.marks) {
        if let Mark::Other(attempt) = mark {
            let [saw, decision, delay, because] = words(attempt);
            let mut text = format!("    {saw:<22}{decision:<11}{delay:>14}  {because:<11}{host}");
            if attempt.failure != row.most.failure {
                let kind = |attempt: &Attempt| attempt.failure.clone().unwrap_or_else(|| "no failure".to_owned());
                let _ = write!(text, ": {}, not {}", kind(attempt), kind(&row.most));
            }
            line(out, &paint.bad(&text));
        }
    }
}

/// The failure, the decision, the delay, and the reason.
fn words(attempt: &Attempt) -> [String; 4] {
    let hint = attempt.hint.as_deref().and_then(|hint| hint.parse::<u64>().ok());
    let saw = match (attempt.saw.as_str(), hint) {
        ("lost", _) => "connection lost".to_owned(),
        ("timeout", _) => "no answer in time".to_owned(),
        (status, Some(nanos)) => format!("{status} retry-after {}s", nanos / NANOS),
        (status, None) => status.to_owned(),
    };
    let decision = match attempt.decision.as_str() {
        "gave_up" => "give up",
        "succeeded" => "done",
        other => other,
    };
    let delay = attempt.delay_ns.as_deref().map_or_else(String::new, milliseconds);
    let because = attempt.cause.as_ref().or(attempt.reason.as_ref()).cloned().unwrap_or_default();
    [saw, decision.to_owned(), delay, because]
}

const NANOS: u64 = 1_000_000_000;

/// Nanoseconds as milliseconds with every digit: what is compared is what is shown.
fn milliseconds(nanos: &str) -> String {
    nanos.parse::<u64>().map_or_else(|_| nanos.to_owned(), |n| format!("{}.{:06} ms", n / 1_000_000, n % 1_000_000))
}

fn width(host: &str) -> usize {
    host.chars().count().saturating_add(2)
}

fn summary(comparison: &Comparison, paint: Paint) -> String {
    let counts = [
        counted(comparison.hosts.len(), "host"),
        counted(comparison.sections.len(), "path"),
        counted(comparison.decisions(), "decision"),
    ]
    .join(", ");
    if comparison.agrees() {
        return format!("{counts}: {}", paint.good("all agree"));
    }
    let silent = comparison.complaints.len();
    if silent > 0 {
        return format!("{counts}: {}", paint.bad(&format!("{} brought no trace", counted(silent, "host"))));
    }
    let wrong = comparison.sections.iter().filter(|section| !Section::agrees(section)).count();
    format!("{counts}: {}", paint.bad(&format!("no agreement on {}", counted(wrong, "path"))))
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// The few colours, or none.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    fn bad(self, text: &str) -> String {
        self.with("31", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Section {
        let text = |word: &str| Some(word.to_owned());
        let first = Attempt {
            attempt: 1,
            saw: "503".to_owned(),
            failure: text("transient"),
            hint: text("1000000000"),
            decision: "sleep".to_owned(),
            delay_ns: text("1000000007"),
            cause: text("hint"),
            reason: None,
        };
        let last = Attempt {
            attempt: 2,
            saw: "lost".to_owned(),
            decision: "gave_up".to_owned(),
            reason: text("attempts"),
            ..Attempt::default()
        };
        let rows = vec![
            Row { most: first, marks: vec![Mark::Same, Mark::Same] },
            Row { most: last.clone(), marks: vec![Mark::Same, Mark::Other(Attempt { saw: "200".to_owned(), ..last })] },
        ];
        Section { path: "/busy", about: "asks for rest", policy: "2 attempts", rows, complaints: Vec::new() }
    }

    fn comparison() -> Comparison {
        let hosts = vec!["rust".to_owned(), "python".to_owned()];
        Comparison { hosts, sections: vec![section()], complaints: Vec::new() }
    }

    #[test]
    fn every_nanosecond_is_shown_and_the_odd_one_has_a_line() {
        let expected = "
    saw                   decision            delay  because    rust  python

/busy asks for rest  [2 attempts]
  1 503 retry-after 1s    sleep      1000.000007 ms  hint       ✓     ✓
  2 connection lost       give up                    attempts   ✓     ✗
    200                   give up                    attempts   python

2 hosts, 1 path, 2 decisions: no agreement on 1 path
";
        assert_eq!(render(&comparison(), false), expected);
    }

    #[test]
    fn the_demo_fits_into_100_columns() {
        let hosts: Vec<String> = ["rust", "node", "browser", "python", "c"].map(str::to_owned).to_vec();
        let wide = |section: Section, path: &crate::plan::Path| Section {
            path: path.path,
            about: path.about,
            policy: path.policy_in_words,
            rows: section.rows.into_iter().map(|row| Row { marks: vec![Mark::Same; 5], ..row }).collect(),
            complaints: section.complaints,
        };
        let sections = crate::plan::paths().iter().map(|path| wide(section(), path)).collect();
        let shown = render(&Comparison { hosts, sections, complaints: Vec::new() }, false);
        let long: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        assert!(!render(&comparison(), false).contains('\x1b'));
        assert!(render(&comparison(), true).contains("\x1b[32m✓\x1b[0m"));
    }
}
