//! `cargo bench -p benches --bench rows`: every work by everybody in turns, as a list of rows for `cargo xtask bench`.
//!
//! `--only TEXT` for the works whose name has it; `--quick` for fewer rounds, `--full` for more.

use benches::sample::sample;
use benches::works;
use std::time::Duration;

struct Options {
    rounds: usize,
    sample: Duration,
    only: Option<String>,
}

impl Options {
    fn read(given: &[String]) -> Self {
        let is = |name: &str| given.iter().any(|argument| argument == name);
        let (rounds, micros) = match (is("--quick"), is("--full")) {
            (true, _) => (100, 100),
            (false, false) => (300, 200),
            (false, true) => (1000, 300),
        };
        let only = given.iter().skip_while(|argument| *argument != "--only").nth(1).cloned();
        Self { rounds, sample: Duration::from_micros(micros), only }
    }

    fn wants(&self, work: &str) -> bool {
        self.only.as_ref().is_none_or(|text| work.contains(text))
    }
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench` cargo runs this as a test, of which there is none.
    if !given.iter().any(|argument| argument == "--bench") {
        return;
    }
    let options = Options::read(&given);
    let mut works: Vec<_> = works::all().into_iter().filter(|work| options.wants(&work.name)).collect();
    let rows = sample(&mut works, options.rounds, options.sample);
    let rows: Vec<_> = rows.iter().map(ToString::to_string).collect();
    println!("[{}]", rows.join(",\n"));
}
