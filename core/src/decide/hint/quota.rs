//! Quotas in header lines: how much is left, and when they are filled up again.
//!
//! There is no standard yet, but four spellings of one idea: the `RateLimit` field of the IETF draft
//! (draft-ietf-httpapi-ratelimit-headers), the three fields of its first six versions, the `X-` fields that came before,
//! and a set of those for each resource (`requests`, `tokens`), as OpenAI and Anthropic count them.

use super::value::{last, reset_value};
use super::{Hint, number};
use crate::time::Span;

/// The meaning of a header line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// The structured field, all quotas at once.
    Field,
    /// How much is left.
    Remaining(usize),
    /// When it is filled up again.
    Reset(usize),
}

/// The resources with quotas of their own; the first is for names without one.
const RESOURCES: [&[u8]; QUOTAS] = [b"", b"requests", b"tokens", b"input-tokens", b"output-tokens"];
pub(super) const QUOTAS: usize = 5;

/// The meaning of a header of this name: `[X-|Anthropic-] RateLimit|Rate-Limit [-RESOURCE] -WORD [-RESOURCE]`.
pub(super) fn line(name: &[u8]) -> Option<Line> {
    let rest = after(name, b"anthropic-").or_else(|| after(name, b"x-")).unwrap_or(name);
    let rest = after(rest, b"ratelimit").or_else(|| after(rest, b"rate-limit"))?;
    if rest.is_empty() {
        return name.eq_ignore_ascii_case(b"ratelimit").then_some(Line::Field);
    }
    let rest = after(rest, b"-")?;
    for (number, resource) in RESOURCES.iter().enumerate() {
        // The resource's name stands before the word or after it.
        let word = match resource.len() {
            0 => Some(rest),
            _ => after(rest, resource)
                .and_then(|word| after(word, b"-"))
                .or_else(|| before(rest, resource).and_then(|word| before(word, b"-"))),
        };
        let Some(word) = word else { continue };
        if word.eq_ignore_ascii_case(b"remaining") {
            return Some(Line::Remaining(number));
        }
        if RESETS.iter().any(|reset| word.eq_ignore_ascii_case(reset)) {
            return Some(Line::Reset(number));
        }
    }
    None
}

/// The words for a reset: its moment or the time to it, told apart by the value.
const RESETS: [&[u8]; 3] = [b"reset", b"reset-after", b"retry-after"];

fn after<'a>(text: &'a [u8], start: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start).then_some(rest)
}

fn before<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let (rest, tail) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    tail.eq_ignore_ascii_case(end).then_some(rest)
}

/// One quota: the newest word on what is left of it, and on its reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Quota {
    pub(super) left: u64,
    pub(super) reset: Hint,
}

const SPENT: u64 = 0;
const SOME: u64 = 1;
const UNSAID: u64 = u64::MAX;

impl Quota {
    pub(super) const UNSAID: Self = Self { left: UNSAID, reset: Hint::NONE };

    pub(super) fn remaining(&mut self, value: &[u8]) {
        let spent = value.split(|byte| *byte == b',').filter_map(|one| number::spent(one.trim_ascii())).next_back();
        if let Some(spent) = spent {
            self.left = if spent { SPENT } else { SOME };
        }
    }

    pub(super) fn reset(&mut self, value: &[u8], wall: u64) {
        let hint = last(value, wall, reset_value);
        if !hint.is_none() {
            self.reset = hint;
        }
    }
}

/// When quotas are filled up again: the longest span of the spent quotas, and the longest of the quotas that do not say how
/// much is left. A quota with something left is no hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Resets {
    pub(super) spent: Hint,
    pub(super) unsaid: Hint,
}

impl Resets {
    pub(super) const NONE: Self = Self { spent: Hint::NONE, unsaid: Hint::NONE };

    pub(super) fn count(&mut self, quota: &Quota) {
        match quota.left {
            SPENT => self.spent = later(self.spent, quota.reset),
            UNSAID => self.unsaid = later(self.unsaid, quota.reset),
            _ => {}
        }
    }

    /// Counts the quotas of a `RateLimit` field: a list of policies with remaining `r` and seconds `t`, as in
    /// `"default";r=0;t=30`, or the seventh draft's one quota, as in `limit=10, remaining=0, reset=30`. A member that is
    /// not well formed does not count.
    pub(super) fn field(&mut self, value: &[u8]) {
        let (mut named, mut formed) = (Quota::UNSAID, true);
        for member in split(value, b',') {
            let mut parts = split(member, b';').map(<[u8]>::trim_ascii);
            let policy = parts.next().unwrap_or_default();
            if let Some((key, value)) = pair(policy) {
                formed &= named.set(key, value, [b"remaining", b"reset"]);
                continue;
            }
            let mut quota = Quota::UNSAID;
            let whole = parts.all(|part| match pair(part) {
                Some((key, value)) => quota.set(key, value, [b"r", b"t"]),
                None => !part.is_empty(),
            });
            if whole && !policy.is_empty() {
                self.count(&quota);
            }
        }
        if formed {
            self.count(&named);
        }
    }
}

impl Quota {
    /// Takes a parameter that has one of the two names; whether its value is what it must be.
    fn set(&mut self, key: &[u8], value: &[u8], [left, reset]: [&[u8]; 2]) -> bool {
        if key != left && key != reset {
            return true;
        }
        let Some(number) = number::integer(value) else { return false };
        if key == left {
            self.left = number.min(SOME);
        } else {
            self.reset = Hint::after(Span::from_secs(number));
        }
        true
    }
}

/// `key=value` outside quotes.
fn pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut halves = split(part, b'=');
    let pair = (halves.next()?.trim_ascii(), halves.next()?.trim_ascii());
    halves.next().is_none().then_some(pair)
}

/// The parts of a structured field between marks that stand outside quoted strings (RFC 9651 section 3.3.3).
fn split(text: &[u8], mark: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |&byte| {
        if escaped {
            escaped = false;
            return false;
        }
        escaped = quoted && byte == b'\\';
        quoted ^= byte == b'"';
        byte == mark && !quoted
    })
}

/// The longer of two hints; nothing is shorter than any.
fn later(one: Hint, other: Hint) -> Hint {
    match (one.span(), other.span()) {
        (Some(a), Some(b)) if a > b => one,
        (Some(_), None) => one,
        _ => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_use_are_known() {
        for (name, expected) in [
            ("RateLimit", Some(Line::Field)),
            ("ratelimit", Some(Line::Field)),
            ("RateLimit-Reset", Some(Line::Reset(0))),
            ("RateLimit-Remaining", Some(Line::Remaining(0))),
            ("RateLimit-Retry-After", Some(Line::Reset(0))),
            ("X-RateLimit-Reset", Some(Line::Reset(0))),
            ("X-Rate-Limit-Reset", Some(Line::Reset(0))),
            ("X-RateLimit-Reset-After", Some(Line::Reset(0))),
            ("X-RateLimit-Retry-After", Some(Line::Reset(0))),
            ("x-ratelimit-reset-requests", Some(Line::Reset(1))),
            ("x-ratelimit-remaining-requests", Some(Line::Remaining(1))),
            ("x-ratelimit-requests-remaining", Some(Line::Remaining(1))),
            ("x-ratelimit-reset-tokens", Some(Line::Reset(2))),
            ("anthropic-ratelimit-input-tokens-reset", Some(Line::Reset(3))),
            ("anthropic-ratelimit-output-tokens-remaining", Some(Line::Remaining(4))),
            ("X-RateLimit", None),
            ("Rate-Limit", None),
            ("RateLimit-Policy", None),
            ("RateLimit-Limit", None),
            ("X-RateLimit-Limit", None),
            ("X-RateLimit-", None),
            ("RateLimitReset", None),
            ("X-X-RateLimit-Reset", None),
            ("", None),
        ] {
            assert_eq!(line(name.as_bytes()), expected, "{name}");
        }
    }

    fn resets(value: &str) -> (Hint, Hint) {
        let mut resets = Resets::NONE;
        resets.field(value.as_bytes());
        (resets.spent, resets.unsaid)
    }

    fn after_secs(seconds: u64) -> Hint {
        Hint::after(Span::from_secs(seconds))
    }

    #[test]
    fn a_structured_field_is_read_policy_by_policy() {
        const NONE: Hint = Hint::NONE;
        for (value, spent, unsaid) in [
            (r#""default";r=0;t=30"#, after_secs(30), NONE),
            ("default;r=0;t=30", after_secs(30), NONE),
            (r#""default"; r=0 ; t=30"#, after_secs(30), NONE),
            (r#""a";r=0;t=30, "b";r=0;t=60, "c";r=9;t=90"#, after_secs(60), NONE),
            (r#""a";t=30"#, NONE, after_secs(30)),
            (r#""a;r=9,\"";r=0;t=30"#, after_secs(30), NONE),
            (r#""a";r=0;t=30;pk=:c29tZQ==:;vendor"#, after_secs(30), NONE),
            (r#""a";r=0;t=30;"#, NONE, NONE),
            (r#""a";r=-1;t=30"#, NONE, NONE),
            (r#""a";r=0;t=1.5"#, NONE, NONE),
            (r#""a";r=0;t=soon, "b";r=0;t=5"#, after_secs(5), NONE),
            (r#";r=0;t=30"#, NONE, NONE),
            (r#""a;r=0;t=30"#, NONE, NONE),
            ("limit=10, remaining=0, reset=30", after_secs(30), NONE),
            ("limit=10, remaining=3, reset=30", NONE, NONE),
            ("limit=10;w=60, reset=30", NONE, after_secs(30)),
            ("limit=10, remaining=many, reset=30", NONE, NONE),
            ("", NONE, NONE),
            (",;=,", NONE, NONE),
        ] {
            assert_eq!(resets(value), (spent, unsaid), "{value}");
        }
    }
}
