//! Changes of the figures since the baseline.

use super::Figure;
use std::fmt;

/// By how much a figure may differ from the baseline without being mentioned.
const TOLERANCE: f64 = 0.05;

/// The change of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Grew,
    Shrank,
    /// The baseline has it not.
    New,
    /// Only the baseline has it.
    Gone,
}

/// Something to be mentioned.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    figure: Figure,
    was: f64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, unit, was, is) = (self.figure.words(), self.figure.unit.name(), self.was, self.figure.value);
        let percent = (is / was - 1.0) * 100.0;
        match self.verdict {
            Verdict::Grew => write!(f, "{words} GREW: was {was} {unit}, is {is} ({percent:+.1} %)"),
            Verdict::Shrank => write!(f, "{words} shrank: was {was} {unit}, is {is} ({percent:+.1} %)"),
            Verdict::New => write!(f, "{words} is NEW: {is} {unit}"),
            Verdict::Gone => write!(f, "{words} is GONE: was {was} {unit}"),
        }
    }
}

/// True if a figure has grown so much that somebody has to say why.
pub(super) fn grew(was: f64, is: f64) -> bool {
    is > was * (1.0 + TOLERANCE)
}

/// All that is to be mentioned: what grew first, then what is new or gone, then what shrank.
pub(super) fn compare(now: &[Figure], before: &[Figure]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for figure in now {
        let was = before.iter().find(|old| old.names(figure)).map(|old| old.value);
        let verdict = match was {
            None => Verdict::New,
            Some(was) if grew(was, figure.value) => Verdict::Grew,
            Some(was) if figure.value < was * (1.0 - TOLERANCE) => Verdict::Shrank,
            Some(_) => continue,
        };
        findings.push(Finding { verdict, figure: figure.clone(), was: was.unwrap_or_default() });
    }
    for old in before.iter().filter(|old| !now.iter().any(|figure| figure.names(old))) {
        findings.push(Finding { verdict: Verdict::Gone, figure: old.clone(), was: old.value });
    }
    findings.sort_by_key(|finding| match finding.verdict {
        Verdict::Grew => 0,
        Verdict::New => 1,
        Verdict::Gone => 2,
        Verdict::Shrank => 3,
    });
    findings
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::baseline) fn figure(who: &str, bytes: u64) -> Figure {
        Figure::bytes("state", who, bytes)
    }

    #[test]
    fn a_twentieth_more_is_let_be_and_more_is_not() {
        let before = [figure("a", 100), figure("b", 100), figure("c", 100), figure("d", 100)];
        let now = [figure("a", 105), figure("b", 106), figure("c", 95), figure("d", 94)];
        let verdicts: Vec<_> = compare(&now, &before).into_iter().map(|one| (one.verdict, one.figure.who)).collect();
        assert_eq!(verdicts, [(Verdict::Grew, "b".to_owned()), (Verdict::Shrank, "d".to_owned())]);
    }

    #[test]
    fn what_is_new_or_gone_is_said() {
        let findings = compare(&[figure("new", 1)], &[figure("gone", 2)]);
        let verdicts: Vec<_> = findings.iter().map(|finding| finding.verdict).collect();
        assert_eq!(verdicts, [Verdict::New, Verdict::Gone]);
    }

    #[test]
    fn a_finding_says_what_was_and_what_is() {
        let findings = compare(&[figure("Retry", 48)], &[figure("Retry", 40)]);
        assert_eq!(findings[0].to_string(), "sizes: state, Retry GREW: was 40 bytes, is 48 (+20.0 %)");
    }
}
