//! `retry_mode` and `max_attempts` of a profile in `~/.aws/config` (AWS SDKs and Tools Reference Guide, "Retry behavior"): the
//! presets of the core by mode. Since November 2026 the mode is `standard` unless given, with its numbers of that year. `legacy`
//! is another policy in each SDK.

use super::fields::Fields;
use crate::block::Block;
use crate::system::System;
use crate::tree::Node;
use serde_json::{Value, json};
use std::rc::Rc;

pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let is_given = |node: &Rc<Node>| ["retry_mode", "max_attempts"].iter().any(|name| node.get(name).is_some());
    for (index, field) in root.fields().iter().enumerate().filter(|(_, field)| is_given(&field.value)) {
        let name = field.name.strip_prefix("profile ").unwrap_or(&field.name).to_owned();
        let (entry, path) = (Some(index as u32), field.name.clone());
        found.push(Block { name, entry, path, ..Block::of(System::AwsConfig, &field.value) });
    }
}

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    let rule = "must be \"standard\", \"adaptive\" or \"legacy\"";
    let mode = of.word("retry_mode", &["standard", "adaptive", "legacy"], rule);
    let mode = if of.has("retry_mode") { mode? } else { "standard" };
    let attempts = of.count_or_text("max_attempts", 1.0, f64::MAX, "must be a whole number of attempts above 0");
    let mut policy = json!({ "preset": "aws-standard-2.1" });
    match mode {
        "legacy" => {
            of.unsaid("retry_mode", "\"legacy\" is another policy in each SDK");
            return None;
        }
        "adaptive" => policy["adaptive"] = json!({ "kind": "cubic", "refusal": "wait" }),
        _ => {}
    }
    if let Some(attempts) = attempts {
        policy["attempts"] = json!(attempts);
    }
    Some(policy)
}
