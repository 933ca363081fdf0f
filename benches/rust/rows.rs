//! `cargo bench -p benches --bench rows`: every work by everybody in turns, as a list of rows for `cargo xtask bench`.
//!
//! `--only TEXT` for the works whose name has it; `--quick` for fewer rounds, less than a minute of them, and `--full` for
//! more, a quarter of an hour. Otherwise it takes about five minutes, and three gigabytes for ten million entries of some peers.

use benches::counting::Counting;
use benches::sample::sample;
use benches::scale::{self, Depth};
use benches::{compile, fleet, sizes, works};
use std::time::Duration;

#[global_allocator]
static MEMORY: Counting = Counting;

struct Options {
    depth: Depth,
    only: Option<String>,
}

impl Options {
    fn read(given: &[String]) -> Self {
        let is = |name: &str| given.iter().any(|argument| argument == name);
        let depth = match (is("--quick"), is("--full")) {
            (true, _) => Depth::Quick,
            (false, false) => Depth::Usual,
            (false, true) => Depth::Full,
        };
        let only = given.iter().skip_while(|argument| *argument != "--only").nth(1).cloned();
        Self { depth, only }
    }

    /// How many rounds of samples, and how long one is.
    const fn rounds(&self) -> (usize, Duration) {
        let (rounds, micros) = match self.depth {
            Depth::Quick => (300, 100),
            Depth::Usual => (500, 200),
            Depth::Full => (2000, 200),
        };
        (rounds, Duration::from_micros(micros))
    }

    fn wants(&self, work: &str) -> bool {
        self.only.as_ref().is_none_or(|text| work.contains(text))
    }
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench` cargo runs this as a test; there is none.
    if !given.iter().any(|argument| argument == "--bench") {
        return;
    }
    let options = Options::read(&given);
    let mut works: Vec<_> = works::all().into_iter().filter(|work| options.wants(&work.name)).collect();
    let (rounds, length) = options.rounds();
    let mut rows = sample(&mut works, rounds, length);
    rows.extend(sizes::rows().into_iter().filter(|row| options.wants(&row.work)));
    rows.extend(scale::rows(options.depth, &|work| options.wants(work)));
    if options.wants(fleet::WORK) {
        rows.push(fleet::row());
    }
    if options.wants(compile::WORK) {
        rows.extend(compile::rows(if options.depth == Depth::Quick { 1 } else { 2 }));
    }
    let rows: Vec<_> = rows.iter().map(ToString::to_string).collect();
    println!("[{}]", rows.join(",\n"));
}
