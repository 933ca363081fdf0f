//! The packages of the C library for CMake, Meson, Conan and vcpkg, and throw-away projects that use them.

use crate::{setup, shell};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Before 1.0 every minor version may change the ABI.
pub(super) fn soname() -> String {
    let mut parts = VERSION.split('.');
    match (parts.next(), parts.next()) {
        (Some("0"), Some(minor)) => format!("libholdoff.so.0.{minor}"),
        (major, _) => format!("libholdoff.so.{}", major.unwrap_or("0")),
    }
}

/// Writes what CMake and pkg-config look for into a prefix.
pub(super) fn describe(prefix: &Path) -> Result<()> {
    let pkgconfig = prefix.join("lib/pkgconfig");
    fill(&bindings().join("holdoff.pc.in"), &pkgconfig.join("holdoff.pc"), &[])?;
    for file in ["holdoff-config.cmake", "holdoff-config-version.cmake"] {
        fill(&templates().join(file), &prefix.join("lib/cmake/holdoff").join(file), &[])?;
    }
    Ok(())
}

/// Makes target/dist/c-packages of a prefix: an archive that Meson and Conan build from, a wrap and a port of vcpkg for it.
pub(crate) fn dist(prefix: &Path) -> Result<PathBuf> {
    let packages = emptied(shell::target().join("dist/c-packages"))?;
    let folder = format!("holdoff-{VERSION}");
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let archive = format!("{folder}-{arch}-{os}.tar.gz");
    let root = packages.join(&folder);
    shell::run(shell::command("cp").arg("-a").arg(prefix).arg(&root))?;
    let conan_os = if os == "macos" { "Macos" } else { "Linux" };
    let conan_arch = if arch == "aarch64" { "armv8" } else { arch };
    for file in ["meson.build", "conanfile.py"] {
        fill(&templates().join(file), &root.join(file), &[("@OS@", conan_os), ("@ARCH@", conan_arch)])?;
    }
    let mut tar = shell::command("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-czf", &archive, &folder]);
    shell::run(tar.current_dir(&packages))?;
    let sum = shell::output(shell::command("sha256sum").arg(packages.join(&archive)))?;
    let sha256 = sum.split(' ').next().unwrap_or_default();
    let named = [("@FOLDER@", &*folder), ("@ARCHIVE@", &archive), ("@SHA256@", sha256)];
    fill(&templates().join("holdoff.wrap"), &packages.join("holdoff.wrap"), &named)?;
    let port = packages.join("vcpkg/holdoff");
    for file in ["portfile.cmake", "vcpkg.json"] {
        fill(&templates().join("vcpkg").join(file), &port.join(file), &named)?;
    }
    fs::copy(packages.join(&archive), port.join(&archive))?;
    fs::remove_dir_all(root)?;
    Ok(packages)
}

/// Uses the prefix and the packages in projects that know nothing of this repository.
pub(super) fn test(prefix: &Path, scratch: &Path) -> Result<()> {
    setup::conan()?;
    let packages = dist(prefix)?;
    cmake(prefix, scratch)?;
    meson(&packages, scratch)?;
    conan(&packages, scratch)?;
    vcpkg(&packages, scratch)
}

/// A Makefile with pkg-config: linked dynamically and statically.
pub(super) fn pkg_config(prefix: &Path, scratch: &Path) -> Result<()> {
    let project = project("c", scratch)?;
    for target in ["check-shared", "check-static"] {
        let mut make = Command::new("make");
        make.arg("--silent").arg(target).current_dir(&project);
        make.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix.join("lib"));
        shell::step(&format!("{target} in a throw-away C project"), &mut make)?;
    }
    Ok(())
}

/// CMake's `find_package` in an installed prefix.
fn cmake(prefix: &Path, scratch: &Path) -> Result<()> {
    let project = project("cmake", scratch)?;
    build_with_cmake("a prefix", &project, &[format!("-DCMAKE_PREFIX_PATH={}", prefix.display())])
}

/// Meson's `dependency` by a wrap, shared and static.
fn meson(packages: &Path, scratch: &Path) -> Result<()> {
    let project = project("meson", scratch)?;
    let (wraps, files) = (project.join("subprojects"), project.join("subprojects/packagefiles"));
    fs::create_dir_all(&files)?;
    fs::copy(packages.join("holdoff.wrap"), wraps.join("holdoff.wrap"))?;
    let archive = archive_in(packages)?;
    fs::copy(&archive, files.join(archive.file_name().unwrap_or_default()))?;
    for kind in ["shared", "static"] {
        let build = format!("build-{kind}");
        let kind = format!("--default-library={kind}");
        let mut setup = Command::new("meson");
        shell::step(&format!("meson setup {kind}"), setup.args(["setup", &kind, &build]).current_dir(&project))?;
        let mut test = Command::new("meson");
        shell::step(&format!("meson test, {build}"), test.args(["test", "-C", &build]).current_dir(&project))?;
    }
    Ok(())
}

/// Conan's recipe, shared and static, in a home of its own.
fn conan(packages: &Path, scratch: &Path) -> Result<()> {
    let home = emptied(scratch.join("conan-home"))?;
    let conan = |arguments: &[&str], folder: &Path| {
        let mut conan = Command::new(shell::target().join("venv-c/bin/conan"));
        conan.args(arguments).current_dir(folder).env("CONAN_HOME", &home);
        shell::step(&format!("conan {}", arguments.join(" ")), &mut conan)
    };
    let source = emptied(scratch.join("conan-source"))?;
    shell::run(shell::command("tar").arg("-xzf").arg(archive_in(packages)?).arg("-C").arg(&source))?;
    let source = source.join(format!("holdoff-{VERSION}"));
    conan(&["profile", "detect"], &source)?;
    for shared in ["-o=holdoff/*:shared=True", "-o=holdoff/*:shared=False"] {
        conan(&["create", ".", "--no-remote", shared], &source)?;
        let project = project("conan", scratch)?;
        conan(&["install", ".", "--no-remote", "--output-folder=.", shared], &project)?;
        let toolchain = format!("-DCMAKE_TOOLCHAIN_FILE={}", project.join("conan_toolchain.cmake").display());
        build_with_cmake(shared, &project, &[toolchain, "-DCMAKE_BUILD_TYPE=Release".to_owned()])?;
    }
    Ok(())
}

/// vcpkg's port, by CMake alone: its tool is in no package registry, so tests/packages/vcpkg stands for its functions.
fn vcpkg(packages: &Path, scratch: &Path) -> Result<()> {
    let tool = shell::root().join("tests/packages/vcpkg/tool.cmake");
    for linkage in ["dynamic", "static"] {
        let installed = emptied(scratch.join(format!("vcpkg-{linkage}")))?;
        let mut port = shell::command("cmake");
        port.arg(format!("-DVCPKG_LIBRARY_LINKAGE={linkage}"));
        port.arg(format!("-DCURRENT_PACKAGES_DIR={}", installed.display()));
        port.arg(format!("-DPORT={}", packages.join("vcpkg/holdoff").display())).arg("-P").arg(&tool);
        shell::step(&format!("the port of vcpkg, {linkage}"), &mut port)?;
        let shared = installed.join("lib/libholdoff.so").exists();
        ensure!(shared == (linkage == "dynamic"), "the port of vcpkg installed another linkage than {linkage}");
        let project = project("conan", scratch)?;
        build_with_cmake(
            &format!("vcpkg, {linkage}"),
            &project,
            &[format!("-DCMAKE_PREFIX_PATH={}", installed.display())],
        )?;
    }
    Ok(())
}

fn build_with_cmake(name: &str, project: &Path, definitions: &[String]) -> Result<()> {
    let build = project.join("build");
    let mut configure = shell::command("cmake");
    configure.args(["-G", "Ninja", "-S"]).arg(project).arg("-B").arg(&build).args(definitions);
    shell::step(&format!("cmake of {name}: configure"), &mut configure)?;
    shell::step(&format!("cmake of {name}: build"), shell::command("cmake").arg("--build").arg(&build))?;
    let mut test = shell::command("ctest");
    test.args(["--output-on-failure", "--no-tests=error", "--test-dir"]).arg(&build);
    shell::step(&format!("cmake of {name}: test"), &mut test)
}

/// A fresh copy of a project of tests/packages, with the two programs of all of them.
fn project(name: &str, scratch: &Path) -> Result<PathBuf> {
    let folder = emptied(scratch.join("consumers").join(name))?;
    let tests = shell::root().join("tests/packages");
    for program in ["c/main.c", "cpp/main.cpp"] {
        fs::copy(tests.join(program), folder.join(Path::new(program).file_name().unwrap_or_default()))?;
    }
    for file in fs::read_dir(tests.join(name))? {
        let file = file?;
        fill(&file.path(), &folder.join(file.file_name()), &[])?;
    }
    Ok(folder)
}

/// Writes a file with its names of versions and the like filled in.
fn fill(from: &Path, to: &Path, names: &[(&str, &str)]) -> Result<()> {
    let mut text = fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    let pointer = size_of::<usize>().to_string();
    let always = [("@VERSION@", VERSION), ("@SONAME@", &soname()), ("@POINTER@", &pointer)];
    for (name, value) in always.iter().chain(names) {
        text = text.replace(name, value);
    }
    fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
    Ok(fs::write(to, text)?)
}

fn archive_in(packages: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(packages)?.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    files.into_iter().find(|file| file.extension().is_some_and(|end| end == "gz")).context("there is no archive")
}

fn emptied(folder: PathBuf) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn bindings() -> PathBuf {
    shell::root().join("bindings-c")
}

fn templates() -> PathBuf {
    bindings().join("packaging")
}
