//! A file of known findings, so that a repository with many can begin with the new ones.

use crate::finding::Finding;
use crate::host::{Host, error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the file.
const VERSION: u32 = 1;

/// The known findings. Lines are left out: they change with each edit.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    version: u32,
    findings: Vec<Known>,
}

/// How many findings of a name a policy has.
#[derive(Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord, Clone)]
#[serde(deny_unknown_fields)]
struct Known {
    file: String,
    policy: String,
    name: String,
    count: usize,
}

impl Baseline {
    pub(crate) fn read(path: &str, host: &Host<'_>) -> Result<Self, String> {
        let bytes = (host.read)(path).map_err(|cause| {
            error(format_args!("{path}: {cause}; `holdoff scan --baseline {path} --write-baseline` writes it"))
        })?;
        let read: Self = serde_json::from_slice(&bytes).map_err(|wrong| error(format_args!("{path}: {wrong}")))?;
        if read.version != VERSION {
            return Err(error(format_args!("{path}: version = {}: must be {VERSION}", read.version)));
        }
        Ok(read)
    }

    pub(crate) fn of(findings: &[Finding]) -> Self {
        let mut counts = BTreeMap::<_, usize>::new();
        for finding in findings {
            *counts.entry((&finding.file, &finding.policy, finding.name)).or_default() += 1;
        }
        let known = |((file, policy, name), count): ((&String, &String, &str), usize)| Known {
            file: file.clone(),
            policy: policy.clone(),
            name: name.to_owned(),
            count,
        };
        Self { version: VERSION, findings: counts.into_iter().map(known).collect() }
    }

    pub(crate) fn write(&self, path: &str, host: &Host<'_>) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(error)? + "\n";
        (host.write)(path, &text).map_err(|cause| error(format_args!("{path}: {cause}")))
    }

    /// How many findings the file has.
    pub(crate) fn len(&self) -> usize {
        self.findings.iter().map(|known| known.count).sum()
    }

    /// Removes the known findings. Returns how many there were.
    pub(crate) fn remove(&self, findings: &mut Vec<Finding>) -> usize {
        let all = findings.len();
        let of = |known: &Known| ((known.file.clone(), known.policy.clone(), known.name.clone()), known.count);
        let mut left: BTreeMap<_, _> = self.findings.iter().map(of).collect();
        findings.retain(|finding| {
            let key = (finding.file.clone(), finding.policy.clone(), finding.name.to_owned());
            match left.get_mut(&key) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            }
        });
        all - findings.len()
    }
}
