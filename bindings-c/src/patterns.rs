//! The texts of rules, in room that the caller lends: one after the other, each with its list and its length.

use holdoff_core::{ErrorCode, HostText, TextList};

/// List, then length.
const HEAD: usize = 5;

/// Stores the pattern in a value that was set; `used` counts the bytes of `room` that hold patterns.
pub(crate) fn store(room: &mut [u8], used: &mut usize, text: Option<HostText<'_>>) -> Result<(), ErrorCode> {
    if let Some(HostText::NoTexts { alternative, list } | HostText::Text { alternative, list, begins: true, .. }) = text
    {
        *used = forget(room, *used, number(alternative, list));
    }
    if let Some(HostText::Text { alternative, list, text, .. }) = text {
        *used = add(room, *used, number(alternative, list), text.as_bytes()).ok_or(ErrorCode::NoRoom)?;
    }
    Ok(())
}

/// The number of a list of an alternative.
const fn number(alternative: u8, list: TextList) -> u8 {
    alternative << 2 | list as u8
}

/// One bit for each alternative with a pattern that the message contains. Every message contains the empty pattern.
pub(crate) fn matching(kept: &[u8], message: &[u8]) -> u16 {
    bits(kept, TextList::Patterns, |text| text.is_empty() || message.windows(text.len()).any(|part| part == text))
}

/// One bit for each alternative that has a text in that list for which the function is true.
pub(crate) fn bits(kept: &[u8], list: TextList, is_there: impl Fn(&[u8]) -> bool) -> u16 {
    let has = |alternative: &u8| each(kept, number(*alternative, list)).any(&is_there);
    (0..16).filter(has).fold(0, |bits, alternative| bits | 1 << alternative)
}

/// The patterns of a list as texts, which they are unless their memory was overwritten.
pub(crate) fn texts(kept: &[u8], alternative: u8, list: TextList) -> impl Iterator<Item = &str> {
    each(kept, number(alternative, list)).map(|text| str::from_utf8(text).unwrap_or("\u{fffd}"))
}

/// The patterns of a list.
fn each(kept: &[u8], list: u8) -> impl Iterator<Item = &[u8]> {
    let mut left = kept;
    let all = core::iter::from_fn(move || {
        let (of, text, rest) = first(left)?;
        left = rest;
        Some((of, text))
    });
    all.filter(move |pattern| pattern.0 == list).map(|pattern| pattern.1)
}

/// The first pattern with the number of its list, and what is behind it.
fn first(kept: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = kept.split_first_chunk::<HEAD>()?;
    let [list, length @ ..] = *head;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
    Some((list, text, rest))
}

fn add(room: &mut [u8], used: usize, list: u8, text: &[u8]) -> Option<usize> {
    let length = u32::try_from(text.len()).ok()?;
    let (head, rest) = room.get_mut(used..)?.split_first_chunk_mut::<HEAD>()?;
    rest.get_mut(..text.len())?.copy_from_slice(text);
    let [a, b, c, d] = length.to_le_bytes();
    *head = [list, a, b, c, d];
    Some(used + HEAD + text.len())
}

/// Moves the patterns of the other list together; where they end.
fn forget(room: &mut [u8], used: usize, list: u8) -> usize {
    let (mut from, mut to) = (0, 0);
    while let Some((of, text, _)) = first(room.get(from..used).unwrap_or_default()) {
        let next = from + HEAD + text.len();
        if of != list {
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

    fn pattern(alternative: u8, begins: bool, text: &str) -> Option<HostText<'_>> {
        Some(HostText::Text { alternative, list: TextList::Patterns, begins, text })
    }

    #[test]
    fn a_list_begins_anew_and_leaves_the_other_alone() {
        let (mut room, mut used) = ([0; 40], 0);
        for text in
            [pattern(0, true, "reset"), pattern(1, true, "busy"), pattern(0, false, "again"), pattern(0, true, "late")]
        {
            store(&mut room, &mut used, text).unwrap();
        }
        let kept = &room[..used];
        assert_eq!((matching(kept, b"too busy"), matching(kept, b"too late")), (2, 1));
        assert_eq!(matching(kept, b"reset again"), 0);
        store(&mut room, &mut used, Some(HostText::NoTexts { alternative: 1, list: TextList::Patterns })).unwrap();
        assert_eq!(used, HEAD + 4);
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_changes_nothing() {
        let (mut room, mut used) = ([0; 10], 0);
        store(&mut room, &mut used, pattern(1, true, "")).unwrap();
        assert_eq!(store(&mut room, &mut used, pattern(1, false, "x")), Err(ErrorCode::NoRoom));
        assert_eq!(matching(&room[..used], b""), 2);
        assert_eq!(store(&mut [], &mut 0, pattern(1, true, "")), Err(ErrorCode::NoRoom));
    }

    #[test]
    fn what_was_overwritten_matches_nothing_it_does_not_hold() {
        assert_eq!(matching(&[3, 255, 255, 255, 255, 97], b"a"), 0);
        assert_eq!(matching(&[3, 0, 0], b"a"), 0);
    }
}
