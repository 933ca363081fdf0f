//! Running other programs: where things are, what is being done, and what to say when it fails.

use anyhow::{Context as _, Result, bail, ensure};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

thread_local! {
    /// Where everything goes that this thread and its programs print, unless a person sees it at once.
    static OUTPUT: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// Runs some work whose output goes into a file, so that two threads do not mix their lines; gives what was printed, too.
pub(crate) fn captured<T>(name: &str, work: impl FnOnce() -> Result<T>) -> (Result<T>, String) {
    let folder = target().join("jobs");
    let file = folder.join(format!("{}.txt", name.replace(' ', "-")));
    let opened = std::fs::create_dir_all(&folder).and_then(|()| File::create(&file));
    let done = opened.with_context(|| format!("cannot write {}", file.display())).and_then(|opened| {
        OUTPUT.set(Some(opened));
        let done = catch_unwind(AssertUnwindSafe(work));
        OUTPUT.take();
        done.unwrap_or_else(|_| bail!("{name} panicked"))
    });
    (done, String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned())
}

/// Does two pieces of work at the same time. The output of the other one follows the output of this one.
pub(crate) fn both<A, B: Send>(
    one: impl FnOnce() -> Result<A>,
    (name, other): (&str, impl FnOnce() -> Result<B> + Send),
) -> Result<(A, B)> {
    std::thread::scope(|scope| {
        let other = scope.spawn(|| captured(name, other));
        let one = one();
        let (other, printed) = other.join().unwrap_or_else(|panic| resume_unwind(panic));
        print(&printed);
        Ok((one?, other?))
    })
}

/// Prints a line, as `println!` does, where the output of this thread goes.
macro_rules! say {
    ($($text:tt)*) => { $crate::shell::print(&format!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;

pub(crate) fn print(text: &str) {
    match output_file() {
        Some(mut file) => drop(file.write_all(text.as_bytes())),
        None => print!("{text}"),
    }
}

/// Prints what is being done.
fn progress(text: &str) {
    match output_file() {
        Some(mut file) => drop(file.write_all(text.as_bytes())),
        None => eprint!("{text}"),
    }
}

/// The same file, with the place in it that all share who write it.
fn output_file() -> Option<File> {
    OUTPUT.with_borrow(|file| file.as_ref()?.try_clone().ok())
}

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

/// Lets the messages of panics name other people's sources without the machine that has compiled them: a setting for cargo's `--config`.
pub(crate) fn without_machine_paths() -> Result<String> {
    let library = format!("{}/lib/rustlib/src/rust", output(rustc().args(["--print", "sysroot"]))?);
    let cargo = std::env::var("CARGO_HOME").or_else(|_| anyhow::Ok(format!("{}.cargo", home()?)))?;
    let flags = [(library, "rust"), (cargo, "cargo")].map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    Ok(format!("build.rustflags = {flags:?}"))
}

/// Fails if a file names a folder of the machine that has made it.
pub(crate) fn has_no_machine_paths(file: &Path) -> Result<()> {
    let home = home()?;
    let bytes = std::fs::read(file)?;
    let found = bytes.windows(home.len()).any(|part| part == home.as_bytes());
    ensure!(!found, "{} names a folder below {home}", file.display());
    Ok(())
}

fn home() -> Result<String> {
    Ok(format!("{}/", std::env::var("HOME").context("there is no home")?))
}

/// Runs a command whose output the person wants to see.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    // A file and no pipe: a server that is left running would keep a pipe open.
    if let (Some(out), Some(err)) = (output_file(), output_file()) {
        command.stdin(Stdio::null()).stdout(out).stderr(err);
    }
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a command with one line of progress, and shows its output only when it fails.
pub(crate) fn step(what: &str, command: &mut Command) -> Result<()> {
    progress(&format!("  {what} ... "));
    finish(what, command, Instant::now())
}

/// A step that needs the network, which may fail once.
pub(crate) fn download(what: &str, command: impl Fn() -> Command) -> Result<()> {
    progress(&format!("  {what} ... "));
    let begun = Instant::now();
    let mut first = command();
    if first.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success()) {
        progress(&format!("{:.1} s\n", begun.elapsed().as_secs_f64()));
        return Ok(());
    }
    progress("once more ... ");
    finish(what, &mut command(), begun)
}

fn finish(what: &str, command: &mut Command, begun: Instant) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        progress(&format!("failed\n{out}{err}"));
        bail!("{what}: {} failed ({})", shown(command), output.status);
    }
    progress(&format!("{:.1} s\n", begun.elapsed().as_secs_f64()));
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

/// Makes something once, however often this program asks for it: while it runs, no source changes. A thread that asks while another
/// makes it waits.
pub(crate) fn once<T: Clone>(made: &Mutex<Option<T>>, make: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    match &*made {
        Some(made) => Ok(made.clone()),
        None => Ok(made.insert(make()?).clone()),
    }
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
