//! Writes the generated vectors and the page of the catalogue; with `--check`, only says whether they are what would be written.

use anyhow::{Result, bail};
use std::path::Path;

fn main() -> Result<()> {
    let check = std::env::args().nth(1).is_some_and(|argument| argument == "--check");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let vectors = conformance::generate::files()?.into_iter();
    let mut files: Vec<_> = vectors.map(|(name, content)| (format!("tests/vectors/holdoff/{name}"), content)).collect();
    files.push(("docs/catalogue/README.md".to_owned(), conformance::catalogue::page()?));
    for (name, content) in files {
        let path = root.join(&name);
        let same = std::fs::read_to_string(&path).is_ok_and(|old| old == content);
        if check && !same {
            bail!("{name} is stale: run `cargo xtask generate`");
        }
        if !same {
            std::fs::write(path, content)?;
            println!("{name}");
        }
    }
    Ok(())
}
