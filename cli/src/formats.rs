//! Systems whose forms the core does not have. Each file finds the policies of one system in a tree, and translates their fields
//! into a policy document, which the core reads.
//!
//! They are here and not in the core because their files need more than JSON, and because no language of holdoff reads them: only
//! `scan` and `explain` do. They are a folder of their own, so that a system is one file.

pub(crate) mod argo;
pub(crate) mod aws_config;
pub(crate) mod envoy;
pub(crate) mod fields;
pub(crate) mod haproxy;
pub(crate) mod kubernetes_job;
pub(crate) mod lambda;
pub(crate) mod nginx;
pub(crate) mod sqs;
mod statuses;

use crate::names::own_names;
use crate::system::{CONFIGURATIONS, System};
use crate::tree::Node;
use fields::{Fields, Mistake, Translated};
use holdoff_core::Document;
use serde_json::Value;
use std::rc::Rc;

/// Translates the fields of an object into a policy document.
type Translate = fn(&mut Fields<'_>) -> Option<Value>;

const fn translate(system: System) -> Option<Translate> {
    Some(match system {
        System::Core(_) => return None,
        System::Envoy => envoy::policy,
        System::KubernetesJob if CONFIGURATIONS => kubernetes_job::policy,
        System::ArgoWorkflows if CONFIGURATIONS => argo::policy,
        System::Lambda if CONFIGURATIONS => lambda::policy,
        System::Sqs if CONFIGURATIONS => sqs::policy,
        System::Haproxy if CONFIGURATIONS => haproxy::policy,
        System::Nginx if CONFIGURATIONS => nginx::policy,
        System::AwsConfig if CONFIGURATIONS => aws_config::policy,
        _ => return None,
    })
}

/// Reads an object; `None` for a system of the core.
pub(crate) fn translated(system: System, node: &Rc<Node>) -> Option<Translated> {
    let translate = translate(system)?;
    let mut fields = Fields::of(node);
    let policy = translate(&mut fields);
    let mut read = fields.translated;
    if let Some(mut policy) = policy.filter(|_| read.mistakes.is_empty() && read.unknown.is_empty()) {
        // A preset has its own; no other system has the budget of holdoff's loops, or reads a hint unless it says so.
        if policy.get("preset").is_none() {
            for (name, value) in [("budget", "none"), ("hint", "ignore")] {
                if policy.get(name).is_none() {
                    policy[name] = value.into();
                }
            }
        }
        // One reader of documents is enough: that of trees.
        match Document::read(&Node::from(&policy)) {
            Ok(document) => read.document = Some(document),
            Err(wrong) => {
                let own = own_names(system, &wrong.path);
                let path = own.iter().find(|path| node.value(path).is_some()).copied().unwrap_or_default();
                read.mistakes.push(Mistake { path: path.to_owned(), message: wrong.to_string(), is_name: false });
            }
        }
    }
    Some(read)
}
