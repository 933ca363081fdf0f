//! The servers that tests start by themselves: their programs, and none of their services.
//!
//! Debian's packages start what they bring, on the ports that everybody knows, and RabbitMQ's listens on every address. The
//! tests want the programs alone.

use super::needs::Package;
use crate::shell;
use anyhow::{Context as _, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub(super) const REDIS: Package = Package { name: "redis-server", is_there: || is_program("redis-server") };
pub(super) const PACKAGES: [Package; 4] = [
    Package { name: "postgresql", is_there: has_postgresql },
    REDIS,
    Package { name: "rabbitmq-server", is_there: || is_program("rabbitmq-server") },
    Package { name: "prometheus", is_there: || shell::has("prometheus") && shell::has("promtool") },
];

/// The services that each package would start when the machine boots.
const SERVICES: [(&str, &[&str]); 4] = [
    ("postgresql", &["postgresql.service"]),
    ("redis-server", &["redis-server.service"]),
    ("rabbitmq-server", &["rabbitmq-server.service", "epmd.service", "epmd.socket"]),
    ("prometheus", &["prometheus.service"]),
];

/// Asked by Debian's packages before they start a service; 101 says that they must not.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// As long as this lives, packages that are installed start nothing; afterwards, what they brought stays off.
pub(super) struct Asleep {
    services: Vec<&'static str>,
    policy: Option<PathBuf>,
}

impl Asleep {
    /// Around the installation of these packages; does nothing when none of them is a server.
    pub(super) fn around(packages: &[&str]) -> Result<Self> {
        let chosen = SERVICES.iter().filter(|(package, _)| packages.contains(package));
        let services: Vec<_> = chosen.flat_map(|(_, services)| services.iter().copied()).collect();
        let mut asleep = Self { services, policy: None };
        // A machine that has a policy of its own keeps it.
        if !asleep.services.is_empty() && !Path::new(POLICY).exists() {
            let refuse = || {
                fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
                fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))
            };
            asleep.policy = Some(POLICY.into());
            refuse().with_context(|| format!("cannot write {POLICY}"))?;
        }
        Ok(asleep)
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        if let Some(policy) = &self.policy {
            // Nobody is left to tell.
            let _ = fs::remove_file(policy);
        }
        if !self.services.is_empty() && shell::has("systemctl") {
            for service in &self.services {
                let mut disable = shell::command("systemctl");
                disable.args(["disable", "--quiet", "--now", service]).stdout(Stdio::null()).stderr(Stdio::null());
                // A machine without the service has nothing to turn off.
                let _ = disable.status();
            }
        }
    }
}

/// Debian keeps these out of PATH, a folder for each version.
fn has_postgresql() -> bool {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    shell::has("postgres") || versions.into_iter().any(|version| version.path().join("bin/postgres").is_file())
}

/// A person's PATH may lack the folder of servers.
fn is_program(name: &str) -> bool {
    shell::has(name) || Path::new("/usr/sbin").join(name).is_file()
}
