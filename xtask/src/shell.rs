//! Running other programs: where things are, what is being done, and what to say when it fails.

use anyhow::{Context as _, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where everything that is built goes.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The Python of the project's own virtual environment.
pub(crate) fn python() -> PathBuf {
    target().join("venv/bin/python")
}

/// A command that starts in the root of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The compiler that cargo uses.
pub(crate) fn rustc() -> Command {
    command(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The target that the compiler builds for unless told otherwise.
pub(crate) fn host() -> Result<String> {
    let version = output(rustc().arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).with_context(|| format!("the compiler names no host:\n{version}"))
}

/// The linker that the compiler brings, beside its own libraries.
pub(crate) fn lld() -> Result<PathBuf> {
    let libraries = output(rustc().args(["--print", "target-libdir"]))?;
    Ok(Path::new(&libraries).with_file_name("bin/rust-lld"))
}

/// Runs a command whose output the person wants to see.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a command with one line of progress, and shows its output only when it fails.
pub(crate) fn step(what: &str, command: &mut Command) -> Result<()> {
    eprint!("  {what} ... ");
    finish(what, command, Instant::now())
}

/// A step that needs the network, which may fail once.
pub(crate) fn download(what: &str, command: impl Fn() -> Command) -> Result<()> {
    eprint!("  {what} ... ");
    let begun = Instant::now();
    let mut first = command();
    if first.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success()) {
        eprintln!("{:.1} s", begun.elapsed().as_secs_f64());
        return Ok(());
    }
    eprint!("once more ... ");
    finish(what, &mut command(), begun)
}

fn finish(what: &str, command: &mut Command, begun: Instant) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        eprintln!("failed");
        eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("{what}: {} failed ({})", shown(command), output.status);
    }
    eprintln!("{:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The output of a command, without the last line break.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    text_of(output, command)
}

/// The outputs of commands that run at the same time, each as [`output`] gives it.
pub(crate) fn outputs(mut commands: Vec<Command>) -> Result<Vec<String>> {
    let start = |command: &mut Command| {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        child.with_context(|| format!("cannot start {}", shown(command)))
    };
    let children = commands.iter_mut().map(start).collect::<Result<Vec<_>>>()?;
    // Wait for all of them, also when the first has failed.
    let ended: Vec<_> = children.into_iter().map(Child::wait_with_output).collect();
    ended.into_iter().zip(&commands).map(|(output, command)| text_of(output?, command)).collect()
}

fn text_of(output: Output, command: &Command) -> Result<String> {
    if !output.status.success() {
        bail!("{} failed ({})\n{}", shown(command), output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Does a piece of work once, however often this program asks for it: while it runs, no source changes.
pub(crate) fn once(done: &OnceLock<()>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    if done.get().is_none() {
        work()?;
        done.get_or_init(|| ());
    }
    Ok(())
}

/// Where a program is, looked up like a shell does.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// True if a program is there.
pub(crate) fn has(program: &str) -> bool {
    find(program).is_some()
}

/// A browser of the Chromium family: the one named by `CHROMIUM`, else the first that is installed.
pub(crate) fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].into_iter().find_map(find)
}

fn shown(command: &Command) -> String {
    let parts = std::iter::once(command.get_program()).chain(command.get_args());
    parts.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
