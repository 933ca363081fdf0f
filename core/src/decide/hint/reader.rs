//! The hint in the header lines of an answer.

use super::Hint;
use super::quota::{self, Line, QUOTAS, Quota, Resets};
use super::value::{ReadValue, last, millis_value, retry_after_value, whole_millis_value};

/// Reads the hint out of an answer's header lines, whatever their order.
///
/// # Contract
/// Give it each line with [`HintReader::header`], lines that say nothing about retrying included, then ask with
/// [`HintReader::hint_for`]. Names are read in any case. Of a line that comes again, or a value with commas, the last
/// readable value counts (smithy reads `DATE, 45` as 45 s); of quotas, all do. A line that
/// cannot be read is ignored. Reading needs no memory but this state, which is plain numbers: every bit pattern is valid and no bytes panic.
///
/// The first of these that is there counts (spec 7.9):
///
/// 1. `grpc-retry-pushback-ms`, see [`Hint::pushback`];
/// 2. `retry-after-ms` and 3. `x-ms-retry-after-ms`, milliseconds, perhaps with a fraction: the exact form of the
///    `Retry-After` beside it, and before it, as in the clients of OpenAI and Azure;
/// 4. `Retry-After`, see [`Hint::retry_after`];
/// 5. `x-amz-retry-after`, whole milliseconds (AWS);
/// 6. the resets of quotas: the longest of the spent quotas; if none is spent and the status is 429, 503 or not
///    known, the longest of the quotas that do not say how much is left. A quota with something left is no hint.
///
/// ```
/// use holdoff_core::{Failure, Hint, HintReader, Span};
///
/// let wall = 1_795_219_200_000_000_000; // 2026-11-21T00:00:00Z
/// let mut reader = HintReader::new(wall);
/// reader.header(b"content-type", b"text/plain");
/// reader.header(b"retry-after", b"Sat, 21 Nov 2026 00:00:30 GMT");
/// let failure = Failure::of_answer(503, reader.hint_for(503)).unwrap();
/// assert_eq!(failure.hint, Hint::after(Span::from_secs(30)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct HintReader {
    wall: u64,
    /// The hints of [`DIRECT`], in its order.
    direct: [Hint; 5],
    field: Resets,
    quotas: [Quota; QUOTAS],
    /// [`HintReader::should_retry`].
    should_retry: u64,
}

const PUSHBACK: usize = 0;

/// The headers that carry a hint directly, in the order in which they count, and the reader of one value of each.
const DIRECT: [(&[u8], ReadValue); 5] = [
    (b"grpc-retry-pushback-ms", |value, _| Hint::pushback(value)),
    (b"retry-after-ms", millis_value),
    (b"x-ms-retry-after-ms", millis_value),
    (b"retry-after", retry_after_value),
    (b"x-amz-retry-after", whole_millis_value),
];

impl Hint {
    /// Reads one header line by itself, of any header that [`HintReader`] knows; `wall` as for [`HintReader::new`].
    pub fn from_header(name: &[u8], value: &[u8], wall: u64) -> Self {
        let mut reader = HintReader::new(wall);
        reader.header(name, value);
        reader.hint()
    }
}

impl HintReader {
    /// A reader of an answer that came at `wall`: nanoseconds since the Unix epoch, by the clock on the wall; `u64::MAX`
    /// if it is not known, and then a date is no hint.
    pub const fn new(wall: u64) -> Self {
        Self { wall, direct: [Hint::NONE; 5], field: Resets::NONE, quotas: [Quota::UNSAID; QUOTAS], should_retry: 0 }
    }

    /// Takes one header line: its name, and its value as it came, white space around it allowed.
    pub fn header(&mut self, name: &[u8], value: &[u8]) {
        for (at, ((known, read), hint_of_header)) in DIRECT.iter().zip(&mut self.direct).enumerate() {
            if name.eq_ignore_ascii_case(known) {
                let hint = match at {
                    // gRPC: more than one value is as good as unreadable.
                    PUSHBACK if !hint_of_header.is_none() => Hint::NEVER,
                    PUSHBACK => read(value, self.wall),
                    _ => last(value, self.wall, *read),
                };
                *hint_of_header = if hint.is_none() { *hint_of_header } else { hint };
                return;
            }
        }
        if name.eq_ignore_ascii_case(b"x-should-retry") {
            self.should_retry = match value.trim_ascii() {
                b"true" => 1,
                b"false" => 2,
                _ => self.should_retry,
            };
            return;
        }
        match quota::line(name) {
            Some(Line::Field) => self.field.field(value),
            Some(Line::Remaining(which)) => {
                if let Some(quota) = self.quotas.get_mut(which) {
                    quota.remaining(value);
                }
            }
            Some(Line::Reset(which)) => {
                if let Some(quota) = self.quotas.get_mut(which) {
                    quota.reset(value, self.wall);
                }
            }
            None => {}
        }
    }

    /// The value of `x-should-retry`, as [`Facts::should_retry`](crate::Facts::should_retry) has it: 1 for `true`, 2 for
    /// `false`, 0 for no such line or another value.
    pub const fn should_retry(&self) -> u8 {
        if self.should_retry > 2 { 0 } else { self.should_retry as u8 }
    }

    /// The hint for an answer whose status is not known: [`HintReader::hint_for`] with 0.
    pub fn hint(&self) -> Hint {
        self.hint_for(0)
    }

    /// The hint of the lines so far for an answer with that HTTP status; 0 if it has none or it is not known.
    pub fn hint_for(&self, status: u32) -> Hint {
        if let Some(hint) = self.direct.into_iter().find(|hint| !hint.is_none()) {
            return hint;
        }
        let mut resets = self.field;
        self.quotas.iter().for_each(|quota| resets.count(quota));
        match status {
            _ if !resets.spent.is_none() => resets.spent,
            0 | 429 | 503 => resets.unsaid,
            _ => Hint::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// 1994-11-06T08:49:37Z.
    const WALL: u64 = 784_111_777_000_000_000;

    fn read(lines: &[(&str, &str)], status: u32) -> Hint {
        let mut reader = HintReader::new(WALL);
        lines.iter().for_each(|(name, value)| reader.header(name.as_bytes(), value.as_bytes()));
        reader.hint_for(status)
    }

    fn after_secs(seconds: u64) -> Hint {
        Hint::after(Span::from_secs(seconds))
    }

    #[test]
    fn the_order_of_what_counts_is_not_the_order_of_lines() {
        let lines = [
            ("X-RateLimit-Reset", "60"),
            ("x-amz-retry-after", "50000"),
            ("Retry-After", "40"),
            ("x-ms-retry-after-ms", "30000"),
            ("retry-after-ms", "20000"),
            ("grpc-retry-pushback-ms", "10000"),
        ];
        for count in 1..=lines.len() {
            let expected = after_secs(70 - 10 * count as u64);
            assert_eq!(read(&lines[..count], 429), expected);
            let mut backwards: Vec<_> = lines[..count].to_vec();
            backwards.reverse();
            assert_eq!(read(&backwards, 429), expected);
        }
    }

    #[test]
    fn the_last_readable_line_counts() {
        assert_eq!(read(&[("Retry-After", "5"), ("retry-after", "7"), ("RETRY-AFTER", "soon")], 503), after_secs(7));
        assert_eq!(read(&[("Retry-After", "soon"), ("x-amz-retry-after", "1500")], 503), Hint::after_millis(1500));
    }

    #[test]
    fn the_last_x_should_retry_that_can_be_read_counts() {
        let read = |lines: &[&str]| {
            let mut reader = HintReader::new(WALL);
            lines.iter().for_each(|line| reader.header(b"X-Should-Retry", line.as_bytes()));
            reader.should_retry()
        };
        assert_eq!([read(&[]), read(&["true"]), read(&[" false "]), read(&["TRUE"]), read(&["1"])], [0, 1, 2, 0, 0]);
        assert_eq!([read(&["true", "false"]), read(&["true", "perhaps"])], [2, 1]);
    }

    #[test]
    fn a_pushback_said_twice_is_never() {
        assert!(read(&[("grpc-retry-pushback-ms", "5"), ("grpc-retry-pushback-ms", "5")], 0).is_never());
    }

    #[test]
    fn a_quota_counts_when_it_is_spent_or_the_answer_says_so() {
        let reset = ("X-RateLimit-Reset", "30");
        assert_eq!(read(&[reset], 429), after_secs(30));
        assert_eq!(read(&[reset], 503), after_secs(30));
        assert_eq!(read(&[reset], 0), after_secs(30));
        assert_eq!(read(&[reset], 500), Hint::NONE);
        assert_eq!(read(&[reset, ("X-RateLimit-Remaining", "0")], 500), after_secs(30));
        assert_eq!(read(&[("X-RateLimit-Remaining", "3"), reset], 429), Hint::NONE);
    }

    #[test]
    fn the_longest_of_the_spent_quotas_counts() {
        let lines = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("RateLimit", "\"day\";r=9;t=9999"),
        ];
        assert_eq!(read(&lines, 429), after_secs(360));
        assert_eq!(read(&lines[..3], 429), after_secs(1));
        assert_eq!(read(&[("anthropic-ratelimit-tokens-reset", "1994-11-06T08:50:00Z")], 429), after_secs(23));
    }

    #[test]
    fn the_state_is_plain_words() {
        assert_eq!(size_of::<HintReader>(), 19 * size_of::<u64>());
    }

    proptest! {
        #[test]
        fn no_lines_panic(
            wall: u64,
            status: u32,
            lines in prop::collection::vec((0usize..12, prop::collection::vec(any::<u8>(), 0..60)), 0..8),
        ) {
            let mut reader = HintReader::new(wall);
            for (name, value) in lines {
                let names: [&[u8]; 7] = [
                    b"RateLimit",
                    b"X-RateLimit-Reset",
                    b"x-ratelimit-remaining-requests",
                    b"ratelimit-remaining",
                    b"\xff",
                    b"",
                    b"x-ratelimit-tokens-reset",
                ];
                let name = DIRECT.iter().map(|direct| &direct.0).chain(&names).nth(name).unwrap();
                reader.header(name, &value);
            }
            let hint = reader.hint_for(status);
            prop_assert!(hint.is_none() || hint.is_never() || hint.span().is_some());
        }

        #[test]
        fn no_state_panics(words: [u64; 18], name: Vec<u8>, value: Vec<u8>, status: u32) {
            let mut reader = HintReader::new(words[0]);
            reader.direct = [words[1], words[2], words[3], words[4], words[5]].map(Hint);
            reader.field = Resets { spent: Hint(words[6]), unsaid: Hint(words[7]) };
            for (quota, words) in reader.quotas.iter_mut().zip(words[8..].chunks(2)) {
                *quota = Quota { left: words[0], reset: Hint(words[1]) };
            }
            reader.header(&name, &value);
            let _ = (reader.hint_for(status), reader.hint());
        }
    }
}
