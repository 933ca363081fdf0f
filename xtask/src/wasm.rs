//! Building, testing and packing the binding for JavaScript and TypeScript.

use crate::{notices, rust, setup, shell};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

pub(crate) mod bindgen;
pub(crate) mod packages;
mod page;

/// The npm package's folder.
pub(crate) fn package() -> PathBuf {
    shell::root().join("bindings-wasm")
}

/// A program that npm has installed for the package, started in the package's folder.
fn tool(name: &str) -> Command {
    let mut command = shell::command(package().join("node_modules/.bin").join(name));
    command.current_dir(package());
    command
}

/// A script for Node, started in the package's folder.
fn node(script: impl AsRef<Path>) -> Command {
    let mut command = shell::command("node");
    command.current_dir(package()).arg(script.as_ref());
    command
}

/// Compiles the core, once for each of the modules, and makes `bindings-wasm/dist` of them.
pub(crate) fn build() -> Result<()> {
    static BUILT: Mutex<Option<()>> = Mutex::new(None);
    shell::once(&BUILT, build_anew)
}

fn build_anew() -> Result<()> {
    setup::npm(&["bindings-wasm"])?;
    let dist = package().join("dist");
    fs::create_dir_all(&dist)?;
    // A module that is built no more must not be weighed or read by a test.
    for old in sorted(&dist)?.iter().filter(|path| path.extension().is_some_and(|extension| extension == "wasm")) {
        fs::remove_file(old)?;
    }
    let modules = [
        ("hot.wasm", "hot", "lite"),
        ("policies.wasm", "policies", "lite"),
        ("rules.wasm", "rules", "lite"),
        ("guards.wasm", "guards", "wasm"),
        ("wheel.wasm", "wheel", "wasm"),
    ];
    for (file, features, profile) in modules {
        let module = compile(file, features, profile)?;
        fs::copy(&module, dist.join(file)).with_context(|| format!("cannot copy {}", module.display()))?;
    }
    for name in ["tools", "cli"] {
        bindgen::run(&compile(&format!("{name}.wasm"), name, "bindgen")?, &dist.join("bindgen"), name)?;
        fs::rename(dist.join(format!("bindgen/{name}_bg.wasm")), dist.join(format!("{name}.wasm")))?;
    }
    shell::step("building the npm package", &mut node("build.mjs"))
}

/// Builds and packs the main entry alone, which the demo imports; says where the tarball is.
pub(crate) fn main_entry() -> Result<PathBuf> {
    setup::npm(&["bindings-wasm"])?;
    fs::create_dir_all(package().join("dist"))?;
    fs::copy(compile("hot.wasm", "hot", "lite")?, package().join("dist/hot.wasm"))?;
    shell::step("building the main entry of the npm package", node("build.mjs").arg("--main"))?;
    pack(&package())
}

/// Compiles one module, and says where it is.
fn compile(file: &str, features: &str, profile: &str) -> Result<PathBuf> {
    let mut cargo = shell::cargo();
    cargo.args(["build", "--quiet", "--target", "wasm32-unknown-unknown", "-p", "holdoff-wasm"]);
    cargo.args(["--config", &shell::without_machine_paths()?]);
    shell::step(&format!("compiling {file}"), cargo.args(["--profile", profile, "--features", features]))?;
    Ok(shell::target().join("wasm32-unknown-unknown").join(profile).join("holdoff_wasm.wasm"))
}

/// Builds what is shipped into target/dist/npm, and says where it is.
pub(crate) fn dist() -> Result<PathBuf> {
    static TARBALL: Mutex<Option<PathBuf>> = Mutex::new(None);
    shell::once(&TARBALL, tarball)
}

fn tarball() -> Result<PathBuf> {
    build()?;
    let dist = package().join("dist");
    for module in sorted(&dist)?.iter().filter(|path| path.extension().is_some_and(|extension| extension == "wasm")) {
        shell::has_no_machine_paths(module)?;
    }
    notices::write(&dist, &package(), "wasm32-unknown-unknown", "hot,policies,rules,guards,wheel,tools,cli")?;
    let tarball = pack(&package())?;
    if !tarball.ends_with(concat!("holdoff-", env!("CARGO_PKG_VERSION"), ".tgz")) {
        bail!("{} was packed: is the version in package.json that of the workspace?", tarball.display());
    }
    Ok(tarball)
}

/// Packs a folder whose `dist` is built, with the licences, and says where the tarball is.
pub(crate) fn pack(package: &Path) -> Result<PathBuf> {
    let folder = shell::target().join("dist/npm");
    fs::create_dir_all(&folder)?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(shell::root().join(name), package.join("dist").join(name))?;
    }
    let mut npm = shell::command("npm");
    npm.current_dir(package).args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(&folder);
    Ok(folder.join(shell::output(&mut npm)?))
}

/// Builds the package, and fails if the declarations that a build prints were others in the repository.
pub(crate) fn declarations() -> Result<()> {
    let declarations = package().join("src-ts/tools/core.d.ts");
    let before = fs::read(&declarations)?;
    // The first build of a run: no earlier one has printed the declarations.
    dist()?;
    if fs::read(&declarations)? != before {
        bail!("{} was stale: commit what it is now", declarations.display());
    }
    Ok(())
}

/// The format and the lints of everything in JavaScript, the types, and the package as publishers see it.
pub(crate) fn lint() -> Result<()> {
    let tarball = dist()?;
    let mut lint = shell::command(package().join("node_modules/.bin/biome"));
    lint.args(["check", "--error-on-warnings", "--config-path=bindings-wasm/lint.json"]);
    shell::step("biome", lint.args(SOURCES))?;
    let mut types = tool("tsc");
    shell::step("types, as consumers see them", types.args(["--project", "test/tsconfig.json"]))?;
    let mut lint = tool("publint");
    shell::step("publint", lint.arg("run").arg("--strict").arg(&tarball))?;
    // Node 10 knows no `exports`, and is not among the engines.
    let mut resolve = tool("attw");
    shell::step("types, as every resolution finds them", resolve.arg(&tarball).args(["--profile", "node16"]))
}

/// Everything written in JavaScript, from the root.
const SOURCES: [&str; 12] = [
    "bindings-wasm",
    "engines/bullmq",
    "tests/clients/node",
    "tests/requests/node",
    "tests/runners/node",
    "tests/packages",
    "examples/javascript",
    "examples/demo/javascript",
    "benches/peers/js",
    "playground/page",
    "playground/build.mjs",
    "playground/test",
];

/// The unit and property tests.
pub(crate) fn test() -> Result<()> {
    dist()?;
    unit_tests(&package())
}

/// Plays the vectors.
pub(crate) fn vectors() -> Result<()> {
    dist()?;
    shell::step("vectors", &mut run_vectors(&shell::root().join("tests/vectors/holdoff")))
}

/// The tarball in projects of others, and the examples.
pub(crate) fn consumers() -> Result<()> {
    let tarball = dist()?;
    for name in ["node-esm", "node-cjs", "typescript"] {
        packages::consume(name, &[&tarball], &package())?;
    }
    examples()
}

/// The tarball where bundlers, browsers and other runtimes take it, and the Rust crate in a page.
pub(crate) fn platforms() -> Result<()> {
    setup::npm(setup::RUNTIMES)?;
    let tarball = dist()?;
    for name in ["vite", "pages", "runtimes"] {
        packages::consume(name, &[&tarball], &package())?;
    }
    page::check(&package())
}

/// The clients of other packages, against the flaky server.
pub(crate) fn clients() -> Result<()> {
    let folder = "tests/clients/node";
    setup::npm(&[folder])?;
    dist()?;
    let (flaky, chromium) = (rust::program("flaky")?, shell::browser().context("no Chromium is installed")?);
    let mut tests = tests(&shell::root().join(folder))?;
    shell::step("clients in JavaScript", tests.env("FLAKY", flaky.get_program()).env("CHROMIUM", chromium))
}

/// How many requests programs make for one call, with a retry around a retry.
pub(crate) fn requests() -> Result<()> {
    let folder = "tests/requests/node";
    setup::npm(&[folder])?;
    dist()?;
    shell::step("requests for one call in JavaScript", &mut tests(&shell::root().join(folder))?)
}

/// Runs the `test/*.test.mjs` of an npm package.
pub(crate) fn unit_tests(package: &Path) -> Result<()> {
    shell::step("unit and property tests", tests(&package.join("test"))?.current_dir(package))
}

/// Node, about to run the `*.test.mjs` of a folder.
fn tests(folder: &Path) -> Result<Command> {
    let mut tests = shell::command("node");
    tests.current_dir(folder).args(["--test", "--expose-gc", "--test-reporter=spec"]);
    let files = sorted(folder)?;
    tests.args(files.iter().filter(|file| file.to_string_lossy().ends_with(".test.mjs")));
    Ok(tests)
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    build()?;
    Ok(run_vectors(dir))
}

fn run_vectors(dir: &Path) -> Command {
    let mut command = shell::command("node");
    command.arg("tests/runners/node/run.mjs").arg(dir);
    command
}

/// Reads random policies as the core's own reader reads them.
pub(crate) fn options() -> Result<()> {
    dist()?;
    let file = shell::target().join("options.jsonl");
    fs::write(&file, shell::output(rust::program("options")?.arg("5000"))?)?;
    let mut compare = shell::command("node");
    shell::step("random policies", compare.arg("tests/runners/node/options.mjs").arg(file))
}

/// Every example runs as a person would run it, against the package that was just built.
fn examples() -> Result<()> {
    let folder = packages::scratch("examples-javascript")?;
    packages::install_link(&folder, &package())?;
    for entry in sorted(&shell::root().join("examples/javascript"))? {
        let Some(name) = entry.file_name() else { continue };
        if entry.extension().is_some_and(|extension| extension == "mjs") {
            fs::copy(&entry, folder.join(name))?;
            let mut command = shell::command("node");
            shell::step(&format!("example {}", name.to_string_lossy()), command.current_dir(&folder).arg(name))?;
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
