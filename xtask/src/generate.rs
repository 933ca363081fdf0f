//! Generated files that are checked in: writing them again, and saying when one is stale.

use crate::lang::Lang;
use crate::shell::say;
use crate::{rust, shell};
use anyhow::{Result, bail};
use std::path::Path;

/// The files that programs of the conformance crate print, each with the program and its argument.
const PRINTED: &[(&str, &[&str])] = &[
    ("docs/errors.md", &["words", "docs"]),
    ("docs/internals/numbers.md", &["words", "numbers"]),
    ("docs/policy.schema.json", &["schema"]),
    ("bindings-c/src/words.rs", &["words", "c"]),
    ("bindings-wasm/src-ts/words.ts", &["words", "typescript"]),
    ("bindings-wasm/src-ts/codes.ts", &["words", "codes"]),
    ("bindings-wasm/src-ts/places.ts", &["places"]),
    ("bindings-wasm/src-ts/lite/rules.ts", &["lite"]),
    ("bindings-python/python/holdoff/_words.py", &["words", "python"]),
    ("bindings-python/python/holdoff/_literals.py", &["words", "literals"]),
    ("bindings-wasm/src-ts/fields.ts", &["fields", "policy.ts"]),
    ("bindings-wasm/src-ts/table.ts", &["fields", "table.ts"]),
    ("bindings-wasm/src-ts/policies/table.ts", &["fields", "policies_table.ts"]),
    ("bindings-wasm/src-ts/guards/fields.ts", &["fields", "guards.ts"]),
    ("bindings-wasm/src-ts/guards/table.ts", &["fields", "guards_table.ts"]),
    ("bindings-wasm/src-ts/guards/classes.ts", &["fields", "guards_classes.ts"]),
    ("bindings-python/python/holdoff/_fields.py", &["fields", "python"]),
    ("bindings-python/src/help/policy.txt", &["fields", "help", "policy"]),
    ("bindings-python/src/help/attempts.txt", &["fields", "help", "attempts"]),
    ("bindings-python/src/help/retry.txt", &["fields", "help", "retry"]),
    ("bindings-python/src/help/retrying.txt", &["fields", "help", "retrying"]),
    ("docs/policy.md", &["fields", "docs"]),
    ("docs/clients.md", &["clients", "docs"]),
    ("bindings-wasm/src-ts/client_table.ts", &["clients", "typescript"]),
];

/// Writes every generated file that is not up to date; for C only the headers and the interface.
pub(crate) fn generate(lang: Lang) -> Result<()> {
    match lang {
        Lang::C => c(false),
        _ => each(false),
    }
}

/// Fails when a generated file is not what would be written.
pub(crate) fn check() -> Result<()> {
    each(true)
}

fn each(check: bool) -> Result<()> {
    rust::build(&["--bins"])?;
    let mut vectors = rust::program("generate")?;
    if check {
        vectors.arg("--check");
    }
    shell::run(&mut vectors)?;
    for (path, args) in PRINTED {
        let mut print = shell::command(shell::target().join("debug").join(args[0]));
        print.args(&args[1..]);
        keep(check, Path::new(path), &shell::output(&mut print)?)?;
    }
    let fields = |args: &[&str]| shell::output(shell::command(shell::target().join("debug/fields")).args(args));
    for guard in fields(&["guards"])?.lines() {
        let help = Path::new("bindings-python/src/help").join(guard).with_extension("txt");
        keep(check, &help, &fields(&["help", guard])?)?;
    }
    keep(check, Path::new("bindings-python/python/holdoff/_holdoff.pyi"), &crate::python::stub()?)?;
    c(check)
}

fn c(check: bool) -> Result<()> {
    crate::c::printed()?.iter().try_for_each(|(path, content)| keep(check, Path::new(path), content))
}

/// Writes a file, or checks that it has the content.
fn keep(check: bool, path: &Path, content: &str) -> Result<()> {
    let full = shell::root().join(path);
    let content = format!("{}\n", content.trim_end());
    if std::fs::read_to_string(&full).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if check {
        bail!("{} is stale: run `cargo xtask generate`", path.display());
    }
    std::fs::create_dir_all(full.parent().unwrap_or(&full))?;
    std::fs::write(full, content)?;
    say!("{}", path.display());
    Ok(())
}
