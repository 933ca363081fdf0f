//! The valid name nearest to an unknown one, for an error that helps.

/// The longest name worth comparing: longer than any there is, by enough to be no typing error.
const LONGEST: usize = 64;

/// The candidate nearest to `name`: first a candidate that `name` ends with, then a candidate that differs in at most a third
/// of its letters (spec 3.3).
pub(crate) fn nearest(name: &str, mut candidates: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    nearest_of(name, &mut candidates)
}

/// In one place for all lists of names.
#[inline(never)]
fn nearest_of(name: &str, candidates: &mut dyn Iterator<Item = &'static str>) -> Option<&'static str> {
    let near = candidates.filter_map(|candidate| {
        let ends = name.ends_with(candidate);
        // Each letter more is an edit.
        if !ends && name.len().abs_diff(candidate.len()).saturating_mul(3) > candidate.len() {
            return None;
        }
        let edits = edits(name, candidate);
        (ends || edits.saturating_mul(3) <= candidate.len()).then_some(((!ends, edits), candidate))
    });
    near.min_by_key(|near| near.0).map(|near| near.1)
}

/// The edit distance of two names (Levenshtein), one row at a time; `LONGEST` when one is too long to be a typing error.
fn edits(from: &str, to: &str) -> usize {
    if from.len() >= LONGEST || to.len() >= LONGEST {
        return LONGEST;
    }
    let mut row = [0_usize; LONGEST];
    for (at, cell) in row.iter_mut().enumerate() {
        *cell = at;
    }
    for (line, a) in from.bytes().enumerate() {
        let mut diagonal = line;
        let mut left = line.saturating_add(1);
        let (first, rest) = row.split_at_mut(1);
        if let Some(first) = first.first_mut() {
            *first = left;
        }
        for (cell, b) in rest.iter_mut().zip(to.bytes()) {
            let above = *cell;
            let swap = diagonal.saturating_add(usize::from(!a.eq_ignore_ascii_case(&b)));
            *cell = swap.min(above.saturating_add(1)).min(left.saturating_add(1));
            (diagonal, left) = (above, *cell);
        }
    }
    row.get(to.len()).copied().unwrap_or(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_nearest_name_is_one_that_it_ends_with_or_that_looks_like_it() {
        let names = || ["attempts", "deadline", "max"].into_iter();
        for (given, near) in [
            ("max_attempts", Some("attempts")),
            ("atempts", Some("attempts")),
            ("DEADLINE", Some("deadline")),
            ("deadlines", Some("deadline")),
            ("mix", Some("max")),
            ("miy", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(given, names()), near, "{given}");
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(name in ".{0,80}") {
            nearest(&name, ["attempts"].into_iter());
        }
    }
}
