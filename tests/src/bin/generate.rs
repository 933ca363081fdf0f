//! Writes the generated vectors; with `--check`, only says whether they are what would be written.

use anyhow::{Result, bail};
use std::path::Path;

fn main() -> Result<()> {
    let check = std::env::args().nth(1).is_some_and(|argument| argument == "--check");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/holdoff");
    for (name, content) in conformance::generate::files()? {
        let path = folder.join(name);
        let same = std::fs::read_to_string(&path).is_ok_and(|old| old == content);
        if check && !same {
            bail!("tests/vectors/holdoff/{name} is stale: run `cargo xtask generate`");
        }
        if !same {
            std::fs::write(path, content)?;
            println!("tests/vectors/holdoff/{name}");
        }
    }
    Ok(())
}
