//! The table of docs/performance.md: the figures that a user asks for, each beside the bare operation and the best other library.

use super::table::{self, Table};
use super::targets::{Results, Targets};

/// A row of the table: what is measured in words, and the result that has it.
struct Asked {
    label: &'static str,
    lang: &'static str,
    work: &'static str,
    who: &'static str,
    figure: &'static str,
}

const fn time(label: &'static str, lang: &'static str, work: &'static str, who: &'static str) -> Asked {
    Asked { label, lang, work, who, figure: "ns" }
}

const fn start(label: &'static str, lang: &'static str, work: &'static str) -> Asked {
    Asked { label, lang, work, who: "holdoff", figure: "ms" }
}

const fn size(label: &'static str, work: &'static str, who: &'static str) -> Asked {
    Asked { label, lang: "sizes", work, who, figure: "bytes" }
}

const ASKED: &[Asked] = &[
    time("Rust: a call that succeeds", "rust", "loop, 0 failures", "holdoff"),
    time("Rust: a call with one failure", "rust", "loop, 1 failures", "holdoff"),
    time("Rust, async: a call that succeeds", "rust", "async loop, 0 failures", "holdoff"),
    time("Python: a call that succeeds", "python", "sync, 0 failures", "holdoff"),
    time("Python: a call with one failure", "python", "sync, 1 failures", "holdoff"),
    time("Python, async: a call that succeeds", "python", "async, 0 failures", "holdoff"),
    time("Python, async: a call with one failure", "python", "async, 1 failures", "holdoff"),
    time("JavaScript: a call that succeeds", "js", "0 failures", "wrap"),
    time("JavaScript: a call with one failure", "js", "1 failures", "wrap"),
    time("C: a call that succeeds", "c", "loop, 0 failures", "c abi"),
    time("`fetch`: a small GET", "js", "front, fetch", "holdoff"),
    time("`fetch`, lite: a small GET", "js", "front, lite/fetch", "holdoff"),
    time("axios: a small GET", "js", "front, axios", "holdoff"),
    time("got: a small GET", "js", "front, got", "holdoff"),
    time("undici: a small GET", "js", "front, undici", "holdoff"),
    time("httpx: a small GET", "python", "front, httpx", "holdoff"),
    time("requests: a small GET", "python", "front, requests", "holdoff"),
    time("aiohttp: a small GET", "python", "front, aiohttp", "holdoff"),
    start("Python: starting with the import", "python", "import"),
    start("Node: import and first retry", "js", "import and first retry"),
    size("npm, compressed: `holdoff/lite`", "npm, gzip: retry", "holdoff/lite"),
    size("npm, compressed: `holdoff`", "npm, gzip: retry", "holdoff"),
    size("npm, compressed: `holdoff/fetch`", "npm, gzip: fetch", "holdoff/fetch"),
    size("npm, compressed: `holdoff/guards`", "npm, gzip: retry and guards", "holdoff/guards"),
    size("Python: the wheel", "wheel", "compressed"),
    size("C: the shared library, stripped", "C library, shared", "stripped"),
    size("C: a policy and a breaker on a Cortex-M3", "thumbv7m", "call, policy from fields, breaker"),
];

/// The rows that were measured.
pub(crate) fn table(results: &Results, targets: &Targets) -> Table {
    let mut table = Table { head: vec!["what", "without", "holdoff", "best other", "library"], rows: Vec::new() };
    for Asked { label, lang, work, who, figure } in ASKED {
        let Some(rows) = results.get(*lang) else { continue };
        let Some(ours) = rows.get(work, who, figure) else { continue };
        let bare = rows.get(work, "bare", figure).map(|bare| table::shown(bare, figure));
        let peer = table::best_peer(lang, rows, targets, work, figure);
        let (name, other) = peer.map_or_else(Default::default, |(name, other)| (name, table::shown(other, figure)));
        let cells = [(*label).to_owned(), bare.unwrap_or_default(), table::shown(ours, figure), other, name.to_owned()];
        table.rows.push(cells.to_vec());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::results;
    use super::*;
    use anyhow::Result;

    #[test]
    fn every_row_was_measured() -> Result<()> {
        let (results, _) = results::read()?;
        let table = table(&results, &Targets::read()?);
        let found: Vec<&str> = table.rows.iter().map(|row| row[0].as_str()).collect();
        let asked: Vec<&str> = ASKED.iter().map(|asked| asked.label).collect();
        assert_eq!(found, asked);
        Ok(())
    }

    #[test]
    fn the_page_has_the_table_of_the_stored_results() -> Result<()> {
        let (results, _) = results::read()?;
        let page = std::fs::read_to_string(crate::shell::root().join("docs/performance.md"))?;
        assert!(page.contains(&table(&results, &Targets::read()?).markdown()), "run cargo xtask bench --again");
        Ok(())
    }
}
