//! Other Pythons than the project's own: of this machine, and Debian's Pythons of other machines and newer versions.

use crate::shell;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fmt, fs};

/// A Python out of Debian's packages, unpacked into a folder: nothing of it is installed.
pub(super) struct Debian {
    /// Debian's name of the machine.
    architecture: &'static str,
    suite: &'static str,
    version: &'static str,
    /// The emulator that starts its programs here.
    emulator: Option<&'static str>,
}

/// The newest Python.
pub(super) const NEWEST: Debian = Debian { architecture: "amd64", suite: "sid", version: "python3.14", emulator: None };
/// A Python for 64-bit ARM.
pub(super) const ARM: Debian =
    Debian { architecture: "arm64", suite: "bookworm", version: "python3.11", emulator: Some("qemu-aarch64") };

/// The Pythons of this machine beside the project's own that a wheel must fit, each once with its version: those on the search
/// path, and those of pyenv.
pub(super) fn installed() -> Vec<(String, PathBuf)> {
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let folders = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let versions: Vec<_> = folders.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")).collect();
    let known = version(&shell::python());
    let mut found = Vec::new();
    for minor in 10..30 {
        let name = format!("python3.{minor}");
        let here = versions.iter().map(|folder| folder.join(&name)).find(|program| program.is_file());
        // A program of that name may be a link of pyenv's to a version that is not there.
        let working = here.or_else(|| shell::find(&name)).and_then(|program| Some((version(&program)?, program)));
        found.extend(working.filter(|working| Some(&working.0) != known.as_ref()));
    }
    found
}

fn version(python: &Path) -> Option<String> {
    let script = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])";
    let output = shell::command(python).args(["-c", script]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl fmt::Display for Debian {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.version, self.architecture)
    }
}

impl Debian {
    /// True if its programs run here without an emulator.
    pub(super) fn is_of_this_machine(&self) -> bool {
        cfg!(all(target_os = "linux", target_arch = "x86_64")) && self.architecture == "amd64"
    }

    /// The interpreter, which imports the packages in a folder.
    pub(super) fn command(&self, packages: &Path) -> Result<Command> {
        let root = self.unpacked()?;
        let program = root.join("usr/bin").join(self.version);
        let mut command = match self.emulator {
            Some(emulator) => {
                let mut command = shell::command(shell::find(emulator).with_context(|| {
                    format!(
                        "{emulator} is missing, which runs programs for {}: apt-get install qemu-user",
                        self.architecture
                    )
                })?);
                command.arg("-L").arg(&root);
                command
            }
            // Its own loader, because its libraries are newer than those of this machine.
            None => {
                let mut command = shell::command(root.join("usr/lib64/ld-linux-x86-64.so.2"));
                command.arg("--library-path").arg(root.join("usr/lib/x86_64-linux-gnu"));
                command
            }
        };
        command.arg(program).env("PYTHONHOME", root.join("usr")).env("PYTHONPATH", packages);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }

    /// The folder of its packages, which are fetched once.
    fn unpacked(&self) -> Result<PathBuf> {
        let folder = shell::target().join("interpreters").join(format!("{}-{}", self.version, self.architecture));
        let root = folder.join("root");
        if root.is_dir() {
            return Ok(root);
        }
        let debs = folder.join("cache/archives");
        for made in [&folder.join("lists/partial"), &debs.join("partial")] {
            fs::create_dir_all(made)?;
        }
        fs::write(folder.join("status"), "")?;
        let mirror = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian";
        fs::write(folder.join("sources.list"), format!("deb {mirror} {} main\n", self.suite))?;
        shell::download("updating the list of Debian packages", || self.apt(&folder, &["update"]))?;
        shell::download(&format!("fetching {} for {}", self.version, self.architecture), || {
            let install = ["install", "--download-only", "--yes", "--no-install-recommends", self.version];
            self.apt(&folder, &install)
        })?;
        let part = folder.join("unpacking");
        for deb in fs::read_dir(debs)? {
            let deb = deb?.path();
            if deb.is_file() && deb.extension().is_some_and(|extension| extension == "deb") {
                shell::run(shell::command("dpkg-deb").arg("--extract").arg(deb).arg(&part))?;
            }
        }
        fs::rename(part, &root)?;
        Ok(root)
    }

    /// apt for that machine, with lists, state and cache of its own.
    fn apt(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut apt = shell::command("apt-get");
        let path = |name: &str| folder.join(name).display().to_string();
        let options = [
            format!("Dir::Etc::sourcelist={}", path("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "Dir::Etc::preferencesparts=/dev/null".to_owned(),
            format!("Dir::State::Lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures={}", self.architecture),
        ];
        for option in options {
            apt.arg("-o").arg(option);
        }
        apt.args(arguments);
        apt
    }
}
