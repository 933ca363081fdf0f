//! Compares the hosts with each other, with the plan, and with the requests that the server counted.

use crate::host::Report;
use crate::plan::Path;
use crate::trace::Attempt;

/// One host's report about one attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mark {
    /// The same as most.
    Same,
    /// Something else.
    Other(Attempt),
    /// There was no such attempt, or the host has no trace at all.
    None,
}

/// One attempt of one path.
#[derive(Clone, Debug)]
pub struct Row {
    /// The report of most hosts.
    pub most: Attempt,
    /// The report of each host, in the order of the hosts.
    pub marks: Vec<Mark>,
}

/// One path.
#[derive(Clone, Debug)]
pub struct Section {
    /// The path.
    pub path: &'static str,
    /// Its script in words.
    pub about: &'static str,
    /// Its policy in words.
    pub policy: &'static str,
    /// Its attempts.
    pub rows: Vec<Row>,
    /// Complaints beyond marks that differ.
    pub complaints: Vec<String>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The paths of the plan.
    pub sections: Vec<Section>,
    /// Hosts without a trace, and why.
    pub complaints: Vec<String>,
}

impl Comparison {
    /// True if every host took every decision, the same as all others and as the plan expects, with not one
    /// request more or less than it reports.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.complaints.is_empty() && !self.hosts.is_empty() && self.sections.iter().all(Section::agrees)
    }

    /// How many decisions each host took.
    #[must_use]
    pub fn decisions(&self) -> usize {
        self.sections.iter().map(|section| section.rows.len()).sum()
    }
}

impl Section {
    /// True if nothing is wrong with this path.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let same = |row: &Row| row.marks.iter().all(|mark| *mark == Mark::Same);
        self.complaints.is_empty() && !self.rows.is_empty() && self.rows.iter().all(same)
    }
}

/// Compares what the hosts report.
#[must_use]
pub fn compare(paths: &[Path], reports: &[Report]) -> Comparison {
    let complaint = |report: &Report| report.trace.as_ref().err().map(|why| format!("{} {why}", report.name));
    Comparison {
        hosts: reports.iter().map(|report| report.name.clone()).collect(),
        sections: paths.iter().enumerate().map(|(index, path)| section(index, path, reports)).collect(),
        complaints: reports.iter().filter_map(complaint).collect(),
    }
}

fn section(index: usize, path: &Path, reports: &[Report]) -> Section {
    let runs: Vec<&[Attempt]> = reports.iter().map(|report| attempts(report, path.path)).collect();
    let length = runs.iter().map(|run| run.len()).max().unwrap_or(0);
    let rows: Vec<Row> = (0..length).filter_map(|n| row(&runs, n)).collect();
    let mut complaints = Vec::new();
    let end = rows.last().map(|row| (rows.len(), outcome(&row.most)));
    if end != Some((path.ends.attempts, path.ends.outcome)) {
        complaints.push(format!("the plan ends with \"{}\" in attempt {}", path.ends.outcome, path.ends.attempts));
    }
    for (report, run) in reports.iter().zip(&runs) {
        let counted = report.requests.get(index).copied().unwrap_or(0);
        if report.trace.is_ok() && usize::try_from(counted) != Ok(run.len()) {
            let (name, reported) = (&report.name, run.len());
            complaints.push(format!("{name} reports {reported} attempts, the server counted {counted} requests"));
        }
    }
    Section { path: path.path, about: path.about, policy: path.policy_in_words, rows, complaints }
}

fn attempts<'a>(report: &'a Report, path: &str) -> &'a [Attempt] {
    let runs = report.trace.as_ref().map_or(&[][..], |trace| &trace.runs);
    runs.iter().find(|run| run.path == path).map_or(&[], |run| &run.attempts)
}

/// The `n`-th attempt of all hosts; `None` when no host has it.
fn row(runs: &[&[Attempt]], n: usize) -> Option<Row> {
    let votes = |wanted: &Attempt| runs.iter().filter(|run| run.get(n) == Some(wanted)).count();
    // The first of the values with the most votes, so that a tie goes to the first host.
    let most = runs.iter().rev().filter_map(|run| run.get(n)).max_by_key(|attempt| votes(attempt))?.clone();
    let marks = runs
        .iter()
        .map(|run| match run.get(n) {
            Some(attempt) if *attempt == most => Mark::Same,
            Some(attempt) => Mark::Other(attempt.clone()),
            None => Mark::None,
        })
        .collect();
    Some(Row { most, marks })
}

/// How a run that ends with this attempt ended.
fn outcome(last: &Attempt) -> &str {
    last.reason.as_deref().unwrap_or(&last.decision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Answer, Ending};
    use crate::trace::{Run, Trace};
    use serde_json::json;

    fn path() -> Path {
        Path {
            path: "/x",
            about: "fails once",
            first: &[Answer::Status(500)],
            then: Answer::Status(200),
            policy: json!({}),
            policy_in_words: "the default",
            ends: Ending { attempts: 2, outcome: "succeeded" },
        }
    }

    fn failed(delay: &str) -> Attempt {
        let text = |word: &str| Some(word.to_owned());
        Attempt {
            attempt: 1,
            saw: "500".to_owned(),
            failure: text("transient"),
            hint: text("none"),
            decision: "sleep".to_owned(),
            delay_ns: text(delay),
            cause: text("backoff"),
            reason: None,
        }
    }

    fn succeeded() -> Attempt {
        Attempt { attempt: 2, saw: "200".to_owned(), decision: "succeeded".to_owned(), ..Attempt::default() }
    }

    fn report(name: &str, attempts: &[Attempt]) -> Report {
        let run = Run { path: "/x".to_owned(), attempts: attempts.to_vec() };
        let requests = vec![u32::try_from(attempts.len()).unwrap()];
        Report { name: name.to_owned(), trace: Ok(Trace { runs: vec![run] }), requests }
    }

    fn reports() -> Vec<Report> {
        ["rust", "node", "c"].iter().map(|name| report(name, &[failed("5"), succeeded()])).collect()
    }

    #[test]
    fn the_same_decisions_agree() {
        let comparison = compare(&[path()], &reports());
        assert!(comparison.agrees(), "{comparison:?}");
        assert_eq!(comparison.decisions(), 2);
    }

    #[test]
    fn one_nanosecond_is_a_difference_and_the_odd_host_has_it() {
        let mut reports = reports();
        reports[0] = report("rust", &[failed("6"), succeeded()]);
        let comparison = compare(&[path()], &reports);
        assert!(!comparison.agrees());
        let row = &comparison.sections[0].rows[0];
        assert_eq!(row.most, failed("5"));
        assert_eq!(row.marks, [Mark::Other(failed("6")), Mark::Same, Mark::Same]);
    }

    #[test]
    fn a_tie_goes_to_the_first_host() {
        let reports = [report("rust", &[failed("5"), succeeded()]), report("c", &[failed("6"), succeeded()])];
        let comparison = compare(&[path()], &reports);
        assert_eq!(comparison.sections[0].rows[0].marks, [Mark::Same, Mark::Other(failed("6"))]);
    }

    #[test]
    fn a_host_that_stops_early_does_not_agree() {
        let mut reports = reports();
        reports[2] = report("c", &[failed("5")]);
        let comparison = compare(&[path()], &reports);
        assert!(!comparison.agrees());
        assert_eq!(comparison.sections[0].rows[1].marks, [Mark::Same, Mark::Same, Mark::None]);
    }

    #[test]
    fn a_host_without_a_trace_does_not_agree() {
        let mut reports = reports();
        reports[1].trace = Err("hangs".to_owned());
        let comparison = compare(&[path()], &reports);
        assert!(!comparison.agrees());
        assert_eq!(comparison.complaints, ["node hangs"]);
        assert_eq!(comparison.sections[0].rows[0].marks, [Mark::Same, Mark::None, Mark::Same]);
    }

    #[test]
    fn no_host_at_all_does_not_agree() {
        assert!(!compare(&[path()], &[]).agrees());
    }

    #[test]
    fn all_hosts_wrong_in_the_same_way_do_not_agree_with_the_plan() {
        let lost =
            Attempt { attempt: 1, saw: "lost".to_owned(), decision: "succeeded".to_owned(), ..Attempt::default() };
        let reports: Vec<Report> = ["rust", "c"].iter().map(|name| report(name, std::slice::from_ref(&lost))).collect();
        let comparison = compare(&[path()], &reports);
        assert!(!comparison.agrees());
        assert_eq!(comparison.sections[0].complaints, ["the plan ends with \"succeeded\" in attempt 2"]);
    }

    #[test]
    fn a_request_that_nobody_reports_is_found() {
        let mut reports = reports();
        reports[1].requests = vec![3];
        let comparison = compare(&[path()], &reports);
        assert!(!comparison.agrees());
        let complaint = "node reports 2 attempts, the server counted 3 requests";
        assert_eq!(comparison.sections[0].complaints, [complaint]);
    }
}
