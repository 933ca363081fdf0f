//! The wheels and the source distribution.

use super::tools::{binding, tool};
use crate::{notices, setup, shell};
use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// A platform with a wheel of its own.
#[derive(Clone, Copy)]
struct Platform {
    /// The compiler's name for it.
    target: &'static str,
    /// The oldest system that the wheel is for, as pip names it; unless given, the oldest system of the compiler.
    oldest: Option<&'static str>,
}

impl Platform {
    /// True if Zig links for it. maturin asks Zig for a name that no module for Windows exports, so MinGW links those.
    fn is_linked_by_zig(self) -> bool {
        self.target != setup::WINDOWS
    }
}

/// Every platform. All are linked on any machine.
const PLATFORMS: [Platform; 7] = [
    Platform { target: "x86_64-unknown-linux-gnu", oldest: Some("manylinux2014") },
    Platform { target: "aarch64-unknown-linux-gnu", oldest: Some("manylinux2014") },
    Platform { target: "x86_64-unknown-linux-musl", oldest: Some("musllinux_1_2") },
    Platform { target: "aarch64-unknown-linux-musl", oldest: Some("musllinux_1_2") },
    Platform { target: "x86_64-apple-darwin", oldest: None },
    Platform { target: "aarch64-apple-darwin", oldest: None },
    Platform { target: setup::WINDOWS, oldest: None },
];

/// Builds the wheel of the module for this machine, and says where it is.
pub(crate) fn wheel() -> Result<PathBuf> {
    static WHEEL: Mutex<Option<PathBuf>> = Mutex::new(None);
    shell::once(&WHEEL, || for_host(&binding()))
}

/// Builds the wheel of a package for this machine, and says where it is.
pub(crate) fn for_host(package: &Path) -> Result<PathBuf> {
    let host = shell::host()?;
    let platform = PLATFORMS.into_iter().find(|platform| platform.target == host);
    build(package, &host, platform)
}

/// Builds the source distribution and the wheel for this machine into target/dist/python, and says where they are.
pub(super) fn ours() -> Result<Vec<PathBuf>> {
    let out = empty(shell::target().join("dist/python"))?;
    let built = [source(), wheel(), for_host(&command_line())];
    built.into_iter().map(|file| copied(&file?, &out)).collect()
}

/// Builds the source distribution and every wheel into target/dist/python, loads each wheel, and says where they are.
pub(super) fn all(load: impl Fn(&str, &Path) -> Result<()>) -> Result<Vec<PathBuf>> {
    let out = empty(shell::target().join("dist/python"))?;
    let mut built = vec![copied(&source()?, &out)?];
    let mut failed = Vec::new();
    for platform in PLATFORMS {
        let ours = |package: PathBuf| build(&package, platform.target, Some(platform));
        let wheels = setup::target(platform.target).and_then(|()| {
            let wheel = ours(binding())?;
            load(platform.target, &wheel)?;
            Ok([wheel, ours(command_line())?])
        });
        match wheels {
            Ok(wheels) => {
                built.extend(wheels.map(|wheel| copied(&wheel, &out)).into_iter().collect::<Result<Vec<_>>>()?)
            }
            Err(error) => failed.push(format!("{}: {error:#}", platform.target)),
        }
    }
    if !failed.is_empty() {
        bail!("these wheels could not be built:\n  {}", failed.join("\n  "));
    }
    Ok(built)
}

/// Builds the source distribution, and says where it is.
pub(super) fn source() -> Result<PathBuf> {
    let out = empty(shell::target().join("wheels/source"))?;
    let mut maturin = tool("maturin", &["sdist", "--manifest-path"]);
    shell::step("pack the Python sources", maturin.arg(binding().join("Cargo.toml")).arg("--out").arg(&out))?;
    only(&out, "gz")
}

fn build(package: &Path, target: &str, platform: Option<Platform>) -> Result<PathBuf> {
    setup::python(&[setup::BUILD])?;
    let name = package.file_name().unwrap_or_default();
    let out = empty(shell::target().join("wheels").join(name).join(target))?;
    // The wheel takes it along as one of its licences, and maturin adds a bill of materials.
    notices::write_licences(package, package, target, "")?;
    let mut maturin = tool("maturin", &["build", "--quiet", "--manifest-path"]);
    maturin.arg(package.join("Cargo.toml")).arg("--interpreter").arg(shell::python()).arg("--out").arg(&out);
    maturin.args(["--config", &shell::without_machine_paths()?]);
    maturin.args(["--target", target]).env("CARGO_TARGET_DIR", shell::target());
    if let Some(platform) = platform.filter(|platform| platform.is_linked_by_zig()) {
        maturin.arg("--zig").env("PATH", with_zig()?);
        maturin.args(platform.oldest.into_iter().flat_map(|oldest| ["--compatibility", oldest]));
    }
    shell::step(&format!("build the wheel of {} for {target}", name.display()), without_symbolizer(&mut maturin))?;
    let built = if package == command_line() { "holdoff" } else { "lib_holdoff.so" };
    let built = shell::target().join(target).join("wheel").join(built);
    // Libraries of other systems have other names.
    if built.exists() {
        shell::has_no_machine_paths(&built)?;
    }
    let wheel = only(&out, "whl")?;
    // Better than any compressor of its format, and thirty times slower.
    shell::step(
        "compress the wheel",
        shell::command("advzip").args(["--recompress", "--shrink-extra", "--quiet"]).arg(&wheel),
    )?;
    Ok(wheel)
}

/// The search path with the environment's own programs first: its Python has Zig, the linker.
fn with_zig() -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment = shell::python().parent().map(Path::to_path_buf);
    Ok(std::env::join_paths(environment.into_iter().chain(std::env::split_paths(&path)))?)
}

/// Builds the standard library, too, without what turns the addresses of a backtrace into names: a sixth of the wheel, used
/// by no caller. Stable compilers build it only if told to, so a build from the sources uses the standard library that comes
/// with the compiler.
fn without_symbolizer(maturin: &mut Command) -> &mut Command {
    maturin
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_unwind")
        .env("CARGO_UNSTABLE_BUILD_STD_FEATURES", "optimize_for_size")
}

/// The folder of the command line, whose wheel has no module but a program.
pub(crate) fn command_line() -> PathBuf {
    shell::root().join("cli")
}

fn empty(folder: PathBuf) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn copied(file: &Path, folder: &Path) -> Result<PathBuf> {
    let to = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, &to)?;
    Ok(to)
}

/// The file with that extension in a folder.
fn only(folder: &Path, extension: &str) -> Result<PathBuf> {
    let files = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let found =
        files.into_iter().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == extension));
    found.with_context(|| format!("no .{extension} in {}", folder.display()))
}
