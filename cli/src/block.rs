//! An object of a file with a policy.

use crate::system::System;
use crate::tree::Node;
use std::rc::Rc;

/// An object with a policy.
pub(crate) struct Block {
    pub(crate) system: System,
    /// The names of the file itself: `http[2]`, `retries.important`; empty for a file that is the policy.
    pub(crate) name: String,
    /// The file's own index.
    pub(crate) entry: Option<u32>,
    /// The name of the resource that the policy is in.
    pub(crate) resource: Option<String>,
    /// The path of the object in its document; empty for the document.
    pub(crate) path: String,
    /// The path of the policy in the object.
    pub(crate) inside: String,
    /// The object as the reader of its form takes it.
    pub(crate) node: Rc<Node>,
    /// The policy that the reader reads of the object, where there are several.
    pub(crate) chosen: Option<u32>,
    /// Remarks about parts of the retries that no policy has.
    pub(crate) left_out: Vec<String>,
    /// The reasons why the policy is known only to the program; none for a policy that can be read.
    pub(crate) unknown: Vec<String>,
}

impl Block {
    /// A policy that has no name.
    pub(crate) fn of(system: impl Into<System>, node: &Rc<Node>) -> Self {
        let (name, path, inside) = (String::new(), String::new(), String::new());
        let system = system.into();
        let (left_out, unknown) = (Vec::new(), Vec::new());
        let node = Rc::clone(node);
        Self { system, name, entry: None, resource: None, path, inside, node, chosen: None, left_out, unknown }
    }
}

/// True for a resource of Kubernetes of one of some kinds.
pub(crate) fn is_kind(root: &Rc<Node>, api: &str, kinds: &[&str]) -> bool {
    let text = |name| root.get(name).and_then(|value| value.text()).unwrap_or_default();
    text("apiVersion").starts_with(api) && kinds.contains(&text("kind"))
}
