//! Runs every path at two lengths, with a mark before each, and prints what was run: `cargo xtask check` counts the
//! instructions between the marks, see xtask/src/baseline/counts.rs.

use std::hint::black_box;

/// So often, and then twice as often. A multiple of the windows that come round.
const TIMES: u32 = 1024;

/// Where one count ends and the next begins.
#[inline(never)]
fn mark() {
    black_box(());
}

fn main() {
    let paths = counts::all();
    for path in &paths {
        // One-time work is done now.
        (path.run)(black_box(8));
        mark();
        (path.run)(black_box(TIMES));
        mark();
        (path.run)(black_box(2 * TIMES));
        mark();
    }
    let row = |path: &counts::Path| format!(r#"{{"work":"{}","who":"{}","times":{}}}"#, path.work, path.who, TIMES);
    let counted: Vec<String> = paths.iter().map(row).collect();
    println!("{{\"counted\":[{}]}}", counted.join(","));
}
