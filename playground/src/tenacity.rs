//! Lines of Python that set up tenacity, as policy documents.
//!
//! The reader knows the calls of tenacity's documentation, with numbers written out, and nothing else of Python: an argument that it
//! does not understand is an error that names it, never another policy. The formulas are those of tenacity 9 (`tenacity/wait.py`,
//! `tenacity/stop.py`).

mod reader;
mod tokens;
mod wait;

use crate::problem::Problem;
use reader::{Argument, Reader};
use std::ops::Range;
use tokens::{Kind, Token, tokens};
use wait::{time, word, written};

/// A call of tenacity's `retry`.
#[derive(Debug)]
pub(crate) struct Call {
    /// The function that is retried, or the line.
    pub(crate) name: String,
    /// The bytes of the call.
    pub(crate) span: Range<usize>,
    /// The text of a policy document that makes the same decisions.
    pub(crate) document: String,
    /// What the document does not say.
    pub(crate) notes: Vec<String>,
}

/// Arguments of `retry` that change no decision about when to try again.
const OTHERS: [&str; 12] = [
    "after",
    "before",
    "before_sleep",
    "enabled",
    "name",
    "nap",
    "reraise",
    "result",
    "retry_error_callback",
    "retry_error_cls",
    "sleep",
    "statistics",
];

/// True if a text sets up tenacity.
pub(crate) fn is_like(text: &str) -> bool {
    !starts(&tokens(text)).is_empty()
}

/// The indexes of the names of calls.
fn starts(tokens: &[Token<'_>]) -> Vec<usize> {
    let is_start = |at: usize| {
        let Kind::Name(name) = tokens[at].kind else { return false };
        let calls = tokens.get(at + 1).is_some_and(|next| next.is('('));
        let decorates = at.checked_sub(1).is_some_and(|before| tokens[before].is('@'));
        match name.strip_prefix("tenacity.").unwrap_or(name) {
            "retry" => decorates || at == 0 && calls,
            "Retrying" | "AsyncRetrying" => calls,
            _ => false,
        }
    };
    (0..tokens.len()).filter(|at| is_start(*at)).collect()
}

/// The calls of a program.
///
/// # Errors
/// The first mistake of each call.
pub(crate) fn read(text: &str) -> Result<Vec<Call>, Vec<Problem>> {
    let tokens = tokens(text);
    let starts = starts(&tokens);
    if starts.is_empty() {
        return Err(Problem::of("there is no call of tenacity's retry in this program").into());
    }
    let (mut calls, mut problems) = (Vec::new(), Vec::new());
    for start in starts {
        match call(text, &tokens, start) {
            Ok(call) => calls.push(call),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(calls) } else { Err(problems) }
}

fn call(text: &str, tokens: &[Token<'_>], start: usize) -> Result<Call, Problem> {
    let reader = Reader::of(text);
    let (arguments, end) = match tokens.get(start + 1) {
        Some(next) if next.is('(') => {
            let end = reader.closing(tokens, start + 1)?;
            (reader.arguments(&tokens[start + 2..end])?, end)
        }
        _ => (Vec::new(), start),
    };
    let (mut stop, mut wait, mut notes) = (Stop::default(), None, Vec::new());
    for Argument { name, value, span } in arguments {
        match name {
            Some("stop") => stop = reader.stop(value)?,
            Some("wait") => wait = Some(reader.wait(value)?),
            Some("retry") => {
                notes.push(
                    "Which errors tenacity retries is not read: all failures of the simulation are retried.".to_owned(),
                );
            }
            Some(name) if OTHERS.contains(&name) => {}
            Some(name) => return Err(reader.wrong(span, &format!("`{name}` is no argument of tenacity's retry"))),
            None => {
                return Err(
                    reader.wrong(span, "an argument of tenacity's retry needs its name: stop=, wait= or retry=")
                );
            }
        }
    }
    let attempts = stop.attempts.map_or_else(|| word("forever"), |attempts| attempts.to_string());
    let mut document = vec![("attempts", attempts), ("hint", word("ignore")), ("budget", word("none"))];
    let mut stages = wait.unwrap_or_else(|| vec![wait::none()]);
    match (stop.after, stop.before, &mut stages[..]) {
        (None, None, _) => {}
        // The time of the last stage ends an operation at a failure, not in a sleep, as tenacity does.
        (Some(after), None, [stage]) if !stop.is_last => stage.backoff.push(("until", time(after))),
        (after, before, _) => {
            let deadline = [after, before].into_iter().flatten().fold(f64::INFINITY, f64::min);
            document.extend([("deadline", time(deadline)), ("abort_at_deadline", "false".to_owned())]);
            if after.is_some() {
                notes
                    .push("tenacity sleeps past the limit of stop_after_delay once; the document does not.".to_owned());
            }
        }
    }
    if stop.is_last {
        document.push(("limits", word("last")));
    }
    if let [stage] = &stages[..] {
        document.push(("backoff", written(&stage.backoff)));
        document.extend(stage.others());
    } else {
        let stages: Vec<_> =
            stages.iter().map(|stage| written(&[&stage.backoff[..], &stage.others()].concat())).collect();
        document.push(("backoff", format!("[{}]", stages.join(","))));
    }
    let function = tokens[end + 1..].windows(2).find(|pair| pair[0].kind == Kind::Name("def"));
    let function = function.and_then(|pair| pair[1].last_name());
    let is_decorator = start.checked_sub(1).is_some_and(|before| tokens[before].is('@'));
    let line = text[..tokens[start].span.start].matches('\n').count() + 1;
    Ok(Call {
        name: function.filter(|_| is_decorator).map_or_else(|| format!("line {line}"), str::to_owned),
        span: tokens[start].span.start..tokens[end].span.end,
        document: written(&document),
        notes,
    })
}

/// When tenacity stops.
#[derive(Clone, Copy, Default, Debug)]
struct Stop {
    attempts: Option<u32>,
    /// Seconds of `stop_after_delay`.
    after: Option<f64>,
    /// Seconds of `stop_before_delay`.
    before: Option<f64>,
    /// True if all limits must be reached.
    is_last: bool,
}

impl<'t> Reader<'t> {
    fn stop(self, tokens: &[Token<'t>]) -> Result<Stop, Problem> {
        let expected = "stop_after_attempt(...), stop_after_delay(...), stop_before_delay(...) or stop_never";
        let tokens = self.bare(tokens)?;
        for (sign, is_all) in [('|', false), ('&', true)] {
            if let parts @ [_, _, ..] = &self.split(tokens, sign)[..] {
                return self.stops(parts, is_all, tokens);
            }
        }
        let (function, arguments) = self.named(tokens, expected)?;
        let one = |name| Ok(self.numbers(function, &arguments, [name])?[0]);
        let needed = |number: Option<f64>| number.ok_or_else(|| self.unknown(tokens, "a number in the brackets"));
        match function {
            "stop_never" => Ok(Stop::default()),
            "stop_after_attempt" => {
                let number = needed(one("max_attempt_number")?)?;
                let is_count = number >= 1.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX);
                let count = || self.unknown(tokens, "a whole number of attempts, at least 1,");
                Ok(Stop { attempts: Some(is_count.then_some(number as u32).ok_or_else(count)?), ..Stop::default() })
            }
            "stop_after_delay" => Ok(Stop { after: Some(needed(one("max_delay")?)?), ..Stop::default() }),
            "stop_before_delay" => Ok(Stop { before: Some(needed(one("max_delay")?)?), ..Stop::default() }),
            "stop_any" | "stop_all" => {
                let parts: Vec<_> = arguments.iter().map(|argument| argument.value).collect();
                self.stops(&parts, function == "stop_all", tokens)
            }
            _ => Err(self.unknown(tokens, expected)),
        }
    }

    fn stops(self, parts: &[&[Token<'t>]], is_all: bool, whole: &[Token<'t>]) -> Result<Stop, Problem> {
        let mut found = Stop::default();
        let least = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::min);
        for part in parts {
            let stop = self.stop(part)?;
            let has_both = |stop: &Stop| stop.attempts.is_some() && (stop.after.is_some() || stop.before.is_some());
            let are_same = found.attempts.is_some() && stop.attempts.is_some()
                || (found.after.is_some() || found.before.is_some()) && (stop.after.is_some() || stop.before.is_some());
            if is_all && (has_both(&stop) || are_same) || stop.is_last {
                return Err(self.unknown(whole, "one number of attempts and one time"));
            }
            found = Stop {
                attempts: found.attempts.into_iter().chain(stop.attempts).min(),
                after: least(found.after, stop.after),
                before: least(found.before, stop.before),
                is_last: is_all,
            };
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdoff_cli::look;
    use serde_json::{Value, json};

    /// The shortest and the longest delays, in milliseconds, and the document.
    fn delays(line: &str) -> (Vec<(f64, f64)>, Value) {
        let calls = read(line).unwrap_or_else(|problems| panic!("{line}: {problems:?}"));
        let document = serde_json::from_str(&calls[0].document).unwrap();
        let read = look("x.json", &calls[0].document);
        let [policy] = &read.policies[..] else { panic!("{line}: {document}: {:?}", read.findings) };
        let millis = |span: holdoff_core::Span| (span.as_nanos() as f64 / 1e6).round();
        let rows: Vec<_> =
            policy.document.policy.explain().rows(5).iter().map(|row| (millis(row.min), millis(row.max))).collect();
        (rows, document)
    }

    #[test]
    fn the_delays_are_those_of_tenacity() {
        let seconds = |rows: &[(f64, f64)]| rows.iter().map(|(min, max)| (min * 1e3, max * 1e3)).collect::<Vec<_>>();
        for (line, expected) in [
            ("@retry(stop=stop_after_attempt(3), wait=wait_fixed(2))", &[(2.0, 2.0), (2.0, 2.0)][..]),
            (
                "@retry(wait=wait_exponential(multiplier=1, min=4, max=10), stop=stop_after_attempt(6))",
                &[(4.0, 4.0), (4.0, 4.0), (4.0, 4.0), (8.0, 8.0), (10.0, 10.0)],
            ),
            (
                "@tenacity.retry(wait=tenacity.wait_random_exponential(multiplier=0.5, max=3), stop=tenacity.stop_after_attempt(5))",
                &[(0.0, 0.5), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)],
            ),
            (
                "@retry(stop=stop_after_attempt(5), wait=wait_exponential_jitter(initial=1, max=6, jitter=2),)",
                &[(1.0, 3.0), (2.0, 4.0), (4.0, 6.0), (6.0, 6.0)],
            ),
            (
                "for attempt in Retrying(stop=stop_after_attempt(3), wait=wait_random(min=1, max=2)):",
                &[(1.0, 2.0), (1.0, 2.0)],
            ),
            ("@retry(stop=stop_after_attempt(3), wait=wait_fixed(3) + wait_random(1, 2))", &[(4.0, 5.0), (4.0, 5.0)]),
            (
                "@retry(stop=stop_after_attempt(4), wait=wait_incrementing(start=1, increment=60 * 2, max=timedelta(minutes=3)))",
                &[(1.0, 1.0), (121.0, 121.0), (180.0, 180.0)],
            ),
            (
                "@retry(stop=stop_after_attempt(4), wait=wait_chain(wait_fixed(1), wait_fixed(5), wait_random(0, 9)))",
                &[(1.0, 1.0), (5.0, 5.0), (0.0, 9.0)],
            ),
        ] {
            assert_eq!(delays(line).0, seconds(expected), "{line}");
        }
    }

    #[test]
    fn stops_are_attempts_and_times() {
        let document = |stop: &str| delays(&format!("@retry(stop={stop}, wait=wait_fixed(1))")).1;
        let both = document("(stop_after_attempt(5) | stop_after_delay(30))");
        assert_eq!((&both["attempts"], &both["backoff"]["until"]), (&json!(5), &json!("30s")));
        let all = document("stop_all(stop_after_attempt(5), stop_before_delay(1.5))");
        assert_eq!((&all["limits"], &all["deadline"]), (&json!("last"), &json!("1.5s")));
        assert_eq!(delays("@retry\ndef load(): ...").1["attempts"], json!("forever"));
    }

    #[test]
    fn calls_have_the_names_of_their_functions() {
        let text = "@retry(reraise=True)\n@other\nasync def load(x):\n    # @retry(nonsense)\n    pass\n\nr = Retrying(wait=wait_none())\n";
        let names: Vec<_> = read(text).unwrap().into_iter().map(|call| call.name).collect();
        assert_eq!(names, ["load", "line 7"]);
        assert!(!is_like("@holdoff.retry(attempts=3)\ndef load(): ...") && !is_like("retry: 3"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (arguments, words) in [
            ("stop=stop_after_attempt(MOST)", "`MOST` is not understood: a number that is written out is expected"),
            ("stop=stop_after_attempt(2.5)", "`stop_after_attempt(2.5)` is not understood: a whole number"),
            ("stop=stop_when_event_set(e)", "`stop_when_event_set(e)` is not understood: stop_after_attempt(...)"),
            ("waits=wait_fixed(1)", "`waits` is no argument of tenacity's retry"),
            ("wait=wait_fixed(1, 2)", "wait_fixed takes wait"),
            ("wait=my_wait", "`my_wait` is not understood: wait_fixed(...)"),
            (
                "wait=wait_chain(*[wait_fixed(1) for i in range(3)])",
                "`*[wait_fixed(1) for i in range(3)]` is not understood",
            ),
            ("wait_fixed(1)", "an argument of tenacity's retry needs its name"),
            ("wait=wait_fixed(1", "this bracket is not closed"),
            ("stop=stop_after_delay(1) & stop_before_delay(2)", "one number of attempts and one time is expected"),
            ("wait=", "the text ends where"),
        ] {
            let problems = read(&format!("@retry({arguments})\ndef f(): ...")).unwrap_err();
            assert!(problems[0].message.contains(words), "{arguments}: {:?}", problems[0]);
        }
        assert_eq!(read("@retry(x=1)\ndef f(): ...\n@retry(y=1)\ndef g(): ...").unwrap_err().len(), 2);
    }
}
