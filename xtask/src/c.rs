//! Building, testing and packing the C binding.
//!
//! The tests use what is shipped: a prefix with headers, static and shared library, and a pkg-config file. The library
//! is built without std, so that it asks a C program for nothing but `memcpy` and the like, and `malloc` for JSON and wheels.

use crate::notices;
use crate::shell::{self, say};
use anyhow::{Result, bail, ensure};
use compile::{STRICT, pkg_config, rpath};
use interface::VERSION;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

pub(crate) mod bench;
mod compile;
mod cpp;
mod embedded;
mod headers;
mod interface;
pub(crate) mod packages;

pub(crate) use headers::printed;

/// Builds a prefix as `make install` would leave it: target/dist/c/{include,lib,lib/pkgconfig,share/doc/holdoff}.
pub(crate) fn dist() -> Result<PathBuf> {
    static PREFIX: Mutex<Option<PathBuf>> = Mutex::new(None);
    shell::once(&PREFIX, prefix)
}

fn prefix() -> Result<PathBuf> {
    let built = build()?;
    let prefix = shell::target().join("dist/c");
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    if prefix.exists() {
        fs::remove_dir_all(&prefix)?;
    }
    fs::create_dir_all(include.join("holdoff"))?;
    for header in headers::installed().into_iter().chain(["holdoff.hpp", "holdoff/policy.hpp"]) {
        fs::copy(bindings().join("include").join(header), include.join(header))?;
    }
    packages::describe(&prefix)?;

    let documents = prefix.join("share/doc/holdoff");
    fs::create_dir_all(&documents)?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(shell::root().join(licence), documents.join(licence))?;
    }

    notices::write(&documents, &bindings(), &shell::host()?, "")?;

    let object = object(&built, &lib)?;
    archive(&object, &lib)?;
    shared(&object, &lib)?;
    fs::remove_file(object)?;
    Ok(prefix)
}

/// The lints of each choice of features.
pub(crate) fn clippy() -> Result<()> {
    for features in [&[][..], &["--no-default-features"], &["--no-default-features", "--features", "heap"]] {
        let mut clippy = shell::cargo();
        clippy.args(["clippy", "--quiet", "--package", "holdoff-c"]).args(features).args(["--", "--deny", "warnings"]);
        let name = if features.is_empty() { "all of it".to_owned() } else { features.join(" ") };
        shell::step(&format!("clippy of the C ABI, {name}"), &mut clippy)?;
    }
    Ok(())
}

/// Builds the library, and holds what it exports, needs and names.
pub(crate) fn library() -> Result<()> {
    let prefix = dist()?;
    symbols_are_ours(&prefix)?;
    needs_are_few(&prefix)?;
    ["libholdoff.so", "libholdoff.a"]
        .iter()
        .try_for_each(|name| shell::has_no_machine_paths(&prefix.join("lib").join(name)))
}

/// The programs that most people would write: the tests with gcc and under valgrind, the examples, and a project with pkg-config.
pub(crate) fn test() -> Result<()> {
    let (prefix, scratch) = (dist()?, scratch()?);
    programs(&prefix, &scratch, &COMPILERS[..1])?;
    alone(&prefix, &scratch)?;
    examples(&prefix, &scratch)?;
    packages::pkg_config(&prefix, &scratch)
}

/// The tests by the other compilers of C, and threads that are watched.
pub(crate) fn compilers() -> Result<()> {
    let (prefix, scratch) = (dist()?, scratch()?);
    programs(&prefix, &scratch, &COMPILERS[1..])?;
    threads(&prefix, &scratch)
}

/// The tests and the examples of C++.
pub(crate) fn test_cpp() -> Result<()> {
    cpp::test(&dist()?, &scratch()?)
}

/// The tests by the other compilers of C++.
pub(crate) fn cpp_compilers() -> Result<()> {
    cpp::compilers(&dist()?, &scratch()?)
}

/// The headers, each alone, and the interface that they are printed from.
pub(crate) fn check_headers() -> Result<()> {
    headers::check(&scratch()?)
}

/// The example for a microcontroller.
pub(crate) fn test_embedded() -> Result<()> {
    embedded::test(&thumb()?, &scratch()?)
}

/// The packages for CMake, Meson, Conan and vcpkg.
pub(crate) fn test_packages() -> Result<()> {
    packages::test(&dist()?, &scratch()?)
}

/// Plays the vectors.
pub(crate) fn vectors() -> Result<()> {
    shell::run(&mut runner(&shell::root().join("tests/vectors"))?)
}

/// Where programs are compiled.
fn scratch() -> Result<PathBuf> {
    let scratch = shell::target().join("c-tests");
    fs::create_dir_all(&scratch)?;
    Ok(scratch)
}

/// The conformance runner for a folder of vectors, built and ready to start.
pub(crate) fn runner(dir: &Path) -> Result<Command> {
    let prefix = dist()?;
    let program = scratch()?.join("run");
    let mut compile = shell::command("gcc");
    compile.args(STRICT).args(["-std=c99", "-O2"]).args(sources(&shell::root().join("tests/runners/c"))?);
    compile.arg("-I").arg(bindings().join("tests"));
    compile.arg("-o").arg(&program).arg("-lm");
    compile.args(pkg_config(&prefix, &["--cflags", "--libs", "--static", "holdoff", "libcjson"])?).arg(rpath(&prefix));
    shell::step("compile the C runner", &mut compile)?;
    let mut command = shell::command(program);
    command.arg(dir);
    Ok(command)
}

fn bindings() -> PathBuf {
    shell::root().join("bindings-c")
}

/// The heap's part of Rust comes compiled for panics that unwind, and names what would do that; here nothing unwinds.
const NO_UNWINDING: [&str; 2] = ["--defsym=rust_eh_personality=0", "--defsym=_Unwind_Resume=0"];

/// Builds Rust's archive, optimized and without std, from which both libraries are made; says where it is. Rust's own library is
/// compiled with it, for size, which stable compilers do only if told to.
fn build() -> Result<PathBuf> {
    let host = shell::host()?;
    let mut cargo = shell::cargo();
    cargo.args(["rustc", "--quiet", "--package", "holdoff-c", "--lib", "--crate-type", "staticlib", "--profile", "c"]);
    cargo.args(["--target", &host, "-Zbuild-std=core,alloc", "-Zbuild-std-features=optimize_for_size"]);
    cargo.args(["--config", &shell::without_machine_paths()?]).env("RUSTC_BOOTSTRAP", "1");
    shell::step("build libholdoff", &mut cargo)?;
    Ok(shell::target().join(host).join("c/libholdoff_c.a"))
}

/// The static library, without what takes memory, for a processor without an operating system; says where it is.
pub(crate) fn thumb() -> Result<PathBuf> {
    static ARCHIVE: Mutex<Option<PathBuf>> = Mutex::new(None);
    shell::once(&ARCHIVE, build_thumb)
}

fn build_thumb() -> Result<PathBuf> {
    let mut cargo = shell::cargo();
    cargo.args(["rustc", "--quiet", "--package", "holdoff-c", "--lib", "--crate-type", "staticlib"]);
    cargo.args(["--no-default-features", "--target", "thumbv7m-none-eabi", "--profile", "c"]);
    shell::step("build libholdoff for thumbv7m", &mut cargo)?;
    Ok(shell::target().join("thumbv7m-none-eabi/c/libholdoff_c.a"))
}

/// Makes one object of Rust's archive, in which only our own names are visible, so that it links beside other libraries made with
/// Rust.
fn object(rust: &Path, lib: &Path) -> Result<PathBuf> {
    let (plain, object) = (lib.join("rust.a"), lib.join("holdoff.o"));
    // Bitcode is of no use to a C linker, and the plugin of another LLVM trips over it. Nothing unwinds through the library: its
    // unwind tables would be a tenth of it, and the compiler leaves Rust's own in whatever it is told.
    let unneeded = [".llvmbc", ".llvmcmd", ".eh_frame", ".rela.eh_frame", ".gcc_except_table"];
    let unneeded = unneeded.map(|section| format!("--remove-section={section}"));
    shell::output(shell::command("objcopy").args(unneeded).arg(rust).arg(&plain))?;
    let mut link = shell::command("ld");
    // A group that another Rust library has too would be taken from one of them, although its names are hidden here.
    link.args(["-r", "--force-group-allocation"]).args(NO_UNWINDING);
    link.args(["-u", "holdoff_version", "-o"]).arg(&object).arg(&plain);
    shell::run(&mut link)?;
    let mut localize = shell::command("objcopy");
    localize.args(["--wildcard", "--keep-global-symbol=holdoff_*", "--strip-debug"]).arg(&object);
    shell::run(&mut localize)?;
    fs::remove_file(plain)?;
    Ok(object)
}

/// Makes libholdoff.a of the object.
fn archive(object: &Path, lib: &Path) -> Result<()> {
    shell::run(shell::command("ar").arg("rcsD").arg(lib.join("libholdoff.a")).arg(object))
}

/// Makes libholdoff.so of the object, with the links to it.
fn shared(object: &Path, lib: &Path) -> Result<()> {
    let real = format!("libholdoff.so.{VERSION}");
    // The linker that the compiler brings merges functions with the same code, and leaves no gaps between parts of the file.
    let mut link = shell::command(shell::lld()?);
    link.args(["-flavor", "gnu", "-shared", "--gc-sections", "--icf=all", "--strip-all", "-O2", "--hash-style=gnu"]);
    link.args(["-z", "relro", "-z", "now", "-z", "noexecstack", "-soname", &packages::soname(), "-o"]);
    link.arg(lib.join(&real)).arg("--build-id").arg(object);
    shell::run(&mut link)?;
    for link in [packages::soname(), "libholdoff.so".to_owned()] {
        std::os::unix::fs::symlink(&real, lib.join(link))?;
    }
    Ok(())
}

/// Compares the names that the libraries export with the names that the headers declare.
fn symbols_are_ours(prefix: &Path) -> Result<()> {
    let declared: BTreeSet<String> = headers::functions()?.into_iter().collect();
    for (library, table) in [("libholdoff.so", "-gD"), ("libholdoff.a", "-g")] {
        let mut nm = shell::command("nm");
        nm.args([table, "--defined-only", "--format=posix"]).arg(prefix.join("lib").join(library));
        let listed = shell::output(&mut nm)?;
        let symbols = listed.lines().filter_map(|line| line.split_once(' '));
        let exported: BTreeSet<String> = symbols.map(|(name, _)| name.to_owned()).collect();
        let odd: Vec<_> = exported.symmetric_difference(&declared).collect();
        ensure!(odd.is_empty(), "{library} exports, or lacks, against the header: {odd:?}");
    }
    say!("  {} functions in the headers and in both libraries, no other names", declared.len());
    Ok(())
}

/// The needs of the libraries, as the guide lists them.
const NEEDED: [&str; 10] =
    ["abort", "bcmp", "calloc", "free", "malloc", "memcmp", "memcpy", "memmove", "memset", "strlen"];

/// The libraries need nothing else.
fn needs_are_few(prefix: &Path) -> Result<()> {
    for (library, table) in [("libholdoff.so", "-uD"), ("libholdoff.a", "-u")] {
        let mut nm = shell::command("nm");
        nm.args([table, "--format=posix"]).arg(prefix.join("lib").join(library));
        let listed = shell::output(&mut nm)?;
        let symbols = listed.lines().filter_map(|line| line.split_once(' ')).filter(|(_, kind)| kind.starts_with('U'));
        let odd: Vec<_> = symbols.map(|(name, _)| name).filter(|name| !NEEDED.contains(name)).collect();
        ensure!(odd.is_empty(), "{library} needs {odd:?}");
    }
    Ok(())
}

/// The library needs nothing of the world around it: as a module of wasm it imports nothing, and the core builds for a
/// processor without an operating system.
pub(crate) fn purity() -> Result<()> {
    let mut wasm = shell::cargo();
    wasm.args(["rustc", "--quiet", "--package", "holdoff-c", "--lib", "--crate-type", "cdylib", "--profile", "wasm"]);
    // A state on the stack has some hundred bytes; a whole page of memory for each instance is more than enough.
    wasm.args(["--target", "wasm32-unknown-unknown", "--", "-C", "link-arg=-zstack-size=65536"]);
    shell::step("build the C ABI for wasm32", &mut wasm)?;
    let module = fs::read(shell::target().join("wasm32-unknown-unknown/wasm/holdoff_c.wasm"))?;
    let (mut exports, mut pages) = (0, 0);
    for payload in wasmparser::Parser::new(0).parse_all(&module) {
        match payload? {
            wasmparser::Payload::ImportSection(section) if section.count() > 0 => {
                let names: Vec<String> = section.into_iter().flatten().map(|import| format!("{import:?}")).collect();
                bail!("the C ABI is not pure, its wasm imports {}", names.join(", "));
            }
            wasmparser::Payload::ExportSection(section) => exports = section.count(),
            wasmparser::Payload::MemorySection(section) => {
                pages = section.into_iter().flatten().map(|memory| memory.initial).sum();
            }
            _ => {}
        }
    }
    let functions = headers::functions()?.len();
    ensure!(exports as usize > functions, "the wasm of the C ABI exports only {exports} of {functions} functions");
    // The stack has one page; constants and what changes have the others.
    ensure!(pages <= 4, "the wasm of the C ABI begins with {pages} pages of 64 KiB");
    say!("  the C ABI for wasm32: {exports} exports, 0 imports, {pages} pages, {} bytes", module.len());
    let mut metal = shell::cargo();
    metal.args(["build", "--quiet", "--package", "holdoff-core", "--release", "--target", "thumbv7m-none-eabi"]);
    shell::step("build the core for thumbv7m", &mut metal)
}

/// The compilers of the test programs.
const COMPILERS: [(&str, &[&str]); 3] =
    [("gcc", &["-std=c99"]), ("clang", &["-std=c99"]), ("g++", &["-std=c++17", "-x", "c++"])];

/// The test programs, by some compilers; those of gcc under valgrind.
fn programs(prefix: &Path, scratch: &Path, compilers: &[(&str, &[&str])]) -> Result<()> {
    let sources = sources(&bindings().join("tests"))?;
    for &(compiler, arguments) in compilers {
        let program = scratch.join(format!("test-{compiler}"));
        let mut compile = shell::command(compiler);
        compile.args(STRICT).args(["-g", "-O1", "-pthread"]).args(arguments).args(&sources).arg("-o").arg(&program);
        // The files after this one are a library again, not C++.
        compile.args(if compiler == "g++" { &["-x", "none"][..] } else { &[] });
        compile.args(pkg_config(prefix, &["--cflags", "--libs", "holdoff"])?).arg(rpath(prefix));
        shell::step(&format!("compile the C tests with {compiler}"), &mut compile)?;
        if compiler != "gcc" {
            shell::step(&format!("run the C tests of {compiler}"), &mut Command::new(&program))?;
            continue;
        }
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=1", "--leak-check=full", "--show-leak-kinds=all"]);
        shell::run(valgrind.arg(&program))?;
    }
    Ok(())
}

/// Threads that share guards, watched for what they and the library touch without the lock.
fn threads(prefix: &Path, scratch: &Path) -> Result<()> {
    let program = scratch.join("test-threads");
    let mut compile = shell::command("gcc");
    compile.args(STRICT).args(["-std=c99", "-g", "-O1", "-pthread", "-fsanitize=thread"]);
    compile.arg(bindings().join("tests/threads/hammer.c")).arg(watched()?).arg("-o").arg(&program);
    compile.args(NO_UNWINDING.map(|symbol| format!("-Wl,{symbol}"))).arg("-Wl,--gc-sections");
    compile.args(pkg_config(prefix, &["--cflags", "holdoff"])?);
    shell::step("compile threads that share guards, for ThreadSanitizer", &mut compile)?;
    shell::run(&mut Command::new(&program))?;
    // Without the lock there is a race, and it is found inside the library.
    let control = Command::new(&program).arg("without-a-lock").output()?;
    let report = String::from_utf8_lossy(&control.stderr);
    let found = report.contains("data race") && report.contains("#0 holdoff_budget_fail");
    ensure!(found && !control.status.success(), "ThreadSanitizer does not watch the library:\n{report}");
    Ok(())
}

/// Builds the library for ThreadSanitizer; says where it is. Stable compilers have its pass behind a flag for themselves; what of
/// Rust's own library is not compiled again is not watched.
fn watched() -> Result<PathBuf> {
    let host = shell::output(shell::rustc().args(["--print", "host-tuple"]))?.trim().to_owned();
    let mut cargo = shell::cargo();
    cargo.args(["rustc", "--quiet", "--package", "holdoff-c", "--lib", "--crate-type", "staticlib", "--target", &host]);
    let settings = ["profile.watched.inherits = 'release'", "profile.watched.panic = 'abort'"];
    cargo.args(["--profile", "watched", "--config", settings[0], "--config", settings[1]]);
    cargo.args(["--config", "build.rustflags = ['-Zsanitizer=thread', '-Cunsafe-allow-abi-mismatch=sanitizer']"]);
    shell::step("build libholdoff for ThreadSanitizer", cargo.env("RUSTC_BOOTSTRAP", "1"))?;
    Ok(shell::target().join(host).join("watched/libholdoff_c.a"))
}

/// The C files of a folder, sorted.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    Ok(sources)
}

/// The programs that run alone: a first success without the library, and how much stack the configuration takes.
fn alone(prefix: &Path, scratch: &Path) -> Result<()> {
    let linked = pkg_config(prefix, &["--libs", "holdoff"])?;
    for (name, libraries) in [("first_success", &[][..]), ("stack", &linked)] {
        let program = scratch.join(format!("alone-{name}"));
        let mut compile = shell::command("gcc");
        compile.args(STRICT).args(["-std=c99", "-pthread"]).arg("-o").arg(&program);
        compile
            .arg(bindings().join(format!("tests/alone/{name}.c")))
            .args(pkg_config(prefix, &["--cflags", "holdoff"])?);
        // All names are bound before the program begins: what that costs later is not the library's stack.
        compile.args(libraries).arg(rpath(prefix)).arg("-Wl,-z,now");
        shell::step(&format!("compile {name}.c"), &mut compile)?;
        shell::step(&format!("run {name}.c"), &mut Command::new(&program))?;
    }
    Ok(())
}

/// The examples of the guide: they compile, run and end well.
fn examples(prefix: &Path, scratch: &Path) -> Result<()> {
    for source in sources(&shell::root().join("examples/c"))? {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = scratch.join(format!("example-{name}"));
        let mut compile = shell::command("gcc");
        compile.args(STRICT).args(["-std=c99", "-pthread"]).arg(&source).arg("-o").arg(&program);
        compile.args(pkg_config(prefix, &["--cflags", "--libs", "holdoff"])?).arg(rpath(prefix));
        shell::step(&format!("compile the example {name}"), &mut compile)?;
        shell::step(&format!("run the example {name}"), &mut Command::new(&program))?;
    }
    Ok(())
}
