//! The texts of patterns, in room that the caller lends: one after the other, each with its list and its length.

use holdoff_core::{ErrorCode, HostText, Operations};

/// List, then length.
const HEAD: usize = 5;

/// Stores the pattern in a value that was set; `used` counts the bytes of `room` that hold patterns.
pub(crate) fn store(room: &mut [u8], used: &mut usize, text: Option<HostText<'_>>) -> Result<(), ErrorCode> {
    if let Some(HostText::NoPatterns(operations) | HostText::Pattern { operations, begins: true, .. }) = text {
        *used = forget(room, *used, operations);
    }
    if let Some(HostText::Pattern { operations, text, .. }) = text {
        *used = add(room, *used, operations, text.as_bytes()).ok_or(ErrorCode::NoRoom)?;
    }
    Ok(())
}

/// Tells whether the message contains a pattern of the list. Every message contains the empty pattern.
pub(crate) fn any_in(kept: &[u8], list: Operations, message: &[u8]) -> bool {
    let contains = |text: &[u8]| text.is_empty() || message.windows(text.len()).any(|part| part == text);
    each(kept, list).any(contains)
}

/// The patterns of a list as texts, which they are unless their memory was overwritten.
pub(crate) fn texts(kept: &[u8], list: Operations) -> impl Iterator<Item = &str> {
    each(kept, list).map(|text| str::from_utf8(text).unwrap_or("\u{fffd}"))
}

/// The patterns of a list.
fn each(kept: &[u8], list: Operations) -> impl Iterator<Item = &[u8]> {
    let mut left = kept;
    let all = core::iter::from_fn(move || {
        let (of, text, rest) = first(left)?;
        left = rest;
        Some((of, text))
    });
    all.filter(move |pattern| pattern.0 == list as u8).map(|pattern| pattern.1)
}

/// The first pattern with the number of its list, and what is behind it.
fn first(kept: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = kept.split_first_chunk::<HEAD>()?;
    let [list, length @ ..] = *head;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
    Some((list, text, rest))
}

fn add(room: &mut [u8], used: usize, list: Operations, text: &[u8]) -> Option<usize> {
    let length = u32::try_from(text.len()).ok()?;
    let (head, rest) = room.get_mut(used..)?.split_first_chunk_mut::<HEAD>()?;
    rest.get_mut(..text.len())?.copy_from_slice(text);
    let [a, b, c, d] = length.to_le_bytes();
    *head = [list as u8, a, b, c, d];
    Some(used + HEAD + text.len())
}

/// Moves the patterns of the other list together; where they end.
fn forget(room: &mut [u8], used: usize, list: Operations) -> usize {
    let (mut from, mut to) = (0, 0);
    while let Some((of, text, _)) = first(room.get(from..used).unwrap_or_default()) {
        let next = from + HEAD + text.len();
        if of != list as u8 {
            room.copy_within(from..next, to);
            to += next - from;
        }
        from = next;
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: Operations = Operations::NonIdempotent;

    fn pattern(operations: Operations, begins: bool, text: &str) -> Option<HostText<'_>> {
        Some(HostText::Pattern { operations, begins, text })
    }

    #[test]
    fn a_list_begins_anew_and_leaves_the_other_alone() {
        let (mut room, mut used) = ([0; 40], 0);
        for text in [
            pattern(Operations::All, true, "reset"),
            pattern(OTHERS, true, "busy"),
            pattern(Operations::All, false, "again"),
            pattern(Operations::All, true, "late"),
        ] {
            store(&mut room, &mut used, text).unwrap();
        }
        let kept = &room[..used];
        assert!(any_in(kept, OTHERS, b"too busy") && any_in(kept, Operations::All, b"too late"));
        assert!(!any_in(kept, Operations::All, b"reset again, busy"));
        store(&mut room, &mut used, Some(HostText::NoPatterns(OTHERS))).unwrap();
        assert_eq!(used, HEAD + 4);
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_changes_nothing() {
        let (mut room, mut used) = ([0; 10], 0);
        store(&mut room, &mut used, pattern(OTHERS, true, "")).unwrap();
        assert_eq!(store(&mut room, &mut used, pattern(OTHERS, false, "x")), Err(ErrorCode::NoRoom));
        assert!(any_in(&room[..used], OTHERS, b""));
        assert_eq!(store(&mut [], &mut 0, pattern(OTHERS, true, "")), Err(ErrorCode::NoRoom));
    }

    #[test]
    fn what_was_overwritten_matches_nothing_it_does_not_hold() {
        assert!(!any_in(&[1, 255, 255, 255, 255, 97], Operations::All, b"a"));
        assert!(!any_in(&[1, 0, 0], Operations::All, b"a"));
    }
}
