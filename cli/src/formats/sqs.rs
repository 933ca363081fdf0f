//! The redelivery of a queue of Amazon SQS: a message that was received and not deleted comes back after the visibility timeout
//! (30 s unless given), `maxReceiveCount` times, until its retention ends it (4 days unless given).
//!
//! A queue without a `maxReceiveCount` is no policy here: its messages come back until they are too old, and nobody wrote that
//! down.

use super::fields::Fields;
use crate::block::Block;
use crate::placeholder::is_unknown;
use crate::syntax::json::json;
use crate::system::System;
use crate::tree::{Data, Field, Node, walk, with};
use serde_json::{Value, json};
use std::rc::Rc;

/// Queues at any depth of a template: with the type of CloudFormation, or in the resources of Terraform.
pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    walk(root, "", &mut |node, path| {
        let is_queue = node.get("Type").and_then(|kind| kind.text()) == Some("AWS::SQS::Queue");
        let is_terraform = path.strip_prefix("resource.aws_sqs_queue.").is_some_and(|name| !name.contains('.'));
        let (queue, names, inside) = match node.get("Properties") {
            Some(properties) if is_queue => (properties, &CLOUDFORMATION, ".Properties"),
            _ if is_terraform => (node, &TERRAFORM, ""),
            _ => return,
        };
        let [redrive, visibility, retention] = names;
        let Some(written) = queue.get(redrive).map(written) else { return };
        if written.get("maxReceiveCount").is_none() && !is_unknown(&written) {
            return;
        }
        let field = |name: &str, own: &str| {
            let field = queue.fields().iter().find(|field| field.name == own)?;
            let value = if own == *redrive { Rc::clone(&written) } else { Rc::clone(&field.value) };
            Some(Field { name: name.to_owned(), at: field.at.clone(), value })
        };
        let own = [("redrive", redrive), ("visibility", visibility), ("retention", retention)];
        let own = own.into_iter().filter_map(|(name, own)| field(name, own));
        let block = Block::of(System::Sqs, &with(queue, own));
        let name = path.rsplit('.').next().unwrap_or(path);
        found.push(Block { name: name.to_owned(), path: format!("{path}{inside}"), ..block });
    });
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

/// A redrive policy, which may be JSON in a text.
fn written(node: &Rc<Node>) -> Rc<Node> {
    let inner = node.text().filter(|text| text.trim_start().starts_with('{')).and_then(|text| json(text, false).ok());
    let Some(inner) = inner else { return Rc::clone(node) };
    let at = |field: &Field| Field {
        name: field.name.clone(),
        at: node.span.clone(),
        value: Rc::new(Node { span: node.span.clone(), data: field.value.data.clone() }),
    };
    Rc::new(Node { span: node.span.clone(), data: Data::Object(inner.fields().iter().map(at).collect()) })
}

/// The names of the redrive policy, the visibility timeout and the retention.
const CLOUDFORMATION: [&str; 3] = ["RedrivePolicy", "VisibilityTimeout", "MessageRetentionPeriod"];
const TERRAFORM: [&str; 3] = ["redrive_policy", "visibility_timeout_seconds", "message_retention_seconds"];

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    let rule = "must be a whole number of receives from 1 to 1000";
    of.value("redrive")?;
    let count = of.count_or_text("redrive.maxReceiveCount", 1.0, 1_000.0, rule)?;
    let rule = "must be whole seconds from 0 to 43200";
    let visibility = of.count_or_text("visibility", 0.0, 43_200.0, rule).unwrap_or(30);
    let rule = "must be whole seconds from 60 to 1209600";
    let retention = of.count_or_text("retention", 60.0, 1_209_600.0, rule).unwrap_or(345_600);
    Some(json!({
        "attempts": count,
        "backoff": { "kind": "constant", "delay": format!("{visibility}s") },
        "jitter": "none",
        "deadline": format!("{retention}s"),
    }))
}
