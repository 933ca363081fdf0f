//! The work of reading header lines, counted in bytes that are looked at: it does not grow faster than the lines.

use super::super::reader::HintReader;
use super::super::value::LONGEST;
use core::cell::Cell;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

std::thread_local!(static WORK: Cell<usize> = const { Cell::new(0) });

pub(in super::super) fn add(bytes: usize) {
    WORK.with(|work| work.set(work.get() + bytes));
}

const NAMES: [&str; 11] = [
    "Retry-After",
    "retry-after-ms",
    "x-amz-retry-after",
    "grpc-retry-pushback-ms",
    "Date",
    "RateLimit",
    "X-RateLimit-Reset",
    "X-RateLimit-Remaining",
    "anthropic-ratelimit-tokens-reset",
    "x-should-retry",
    "Content-Type",
];

/// Pieces that a value may be made of, each the beginning of something that can be read.
const PIECES: [&str; 22] = [
    ",",
    ", ",
    ",,,,",
    "\"",
    "\\\"",
    "\\",
    ";",
    "=",
    "r=0;t=5,",
    "9",
    "99999999",
    "1.",
    "1,",
    "-",
    " ",
    "Mon,",
    "Sun, 06 Nov 1994 08:49:37 GMX,",
    "Sunday, 06-Nov-94 08:49:37 GMX,",
    "1994-11-06T08:49:37.0000000",
    "1d2h3m4s",
    "+01:00",
    "\u{b5}s",
];

/// The work of some lines of one name.
fn work(name: &str, lines: &[String], wall: u64) -> usize {
    WORK.set(0);
    let mut reader = HintReader::new(wall);
    lines.iter().for_each(|line| reader.header(name.as_bytes(), line.as_bytes()));
    let _ = reader.hint_for(429);
    WORK.get()
}

fn bytes(lines: &[String]) -> usize {
    lines.iter().map(String::len).sum()
}

/// The most work a byte: a date is compared with a handful of formats, alone and with the part before it.
const A_BYTE: usize = 20;

#[test]
fn a_line_of_any_length_takes_bounded_work() {
    for name in NAMES {
        for piece in PIECES {
            let line = |length: usize| [piece.repeat(length / piece.len() + 1)];
            for length in [64 << 10, 1 << 20] {
                let work = work(name, &line(length), 0);
                assert!(work <= A_BYTE * LONGEST, "{name}: {length} bytes of {piece:?} took {work}");
            }
        }
    }
}

#[test]
fn the_last_value_is_read_at_once_behind_ten_million_bytes() {
    let mut line = ",".repeat(10 << 20);
    line.push_str(" 7");
    assert_eq!(work("Retry-After", &[line], 0), 1);
}

proptest! {
    #[test]
    fn work_is_linear_in_lines_of_any_kind(
        name in 0..NAMES.len(),
        pieces in prop::collection::vec(0..PIECES.len(), 1..8),
        length in 1_usize..9000,
        lines in 1_usize..30,
        wall: u64,
    ) {
        let one: String = pieces.iter().map(|at| PIECES[*at]).collect();
        let line = one.repeat(length / one.len() + 1);
        let lines: Vec<_> = (0..lines).map(|_| line.clone()).collect();
        let work = work(NAMES[name], &lines, wall);
        prop_assert!(work <= A_BYTE * bytes(&lines), "{} for {} bytes of {one:?}", work, bytes(&lines));
    }
}
