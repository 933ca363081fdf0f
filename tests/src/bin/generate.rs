//! Writes the generated vectors, the page of the catalogue and the printed parts of pages; with `--check`, only says whether they are what
//! would be written; with `--facts`, writes the printed parts alone.

use anyhow::{Result, bail};
use std::path::Path;

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let check = argument == "--check";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    if argument != "--facts" {
        let vectors = conformance::generate::files()?.into_iter();
        files.extend(vectors.map(|(name, content)| (format!("tests/vectors/holdoff/{name}"), content)));
        files.push(("docs/catalogue/README.md".to_owned(), conformance::catalogue::page()?));
    }
    for page in conformance::facts::pages()? {
        let content = conformance::facts::page(&page)?;
        files.push((page, content));
    }
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
