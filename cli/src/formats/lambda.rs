//! The retries of an asynchronous invocation of AWS Lambda: `MaximumRetryAttempts` and `MaximumEventAgeInSeconds` of
//! CloudFormation, SAM and Terraform, `maximumRetryAttempts` and `maximumEventAge` of the Serverless Framework.
//!
//! After an error of the function Lambda waits one minute, then two (Lambda's developer guide, "How Lambda handles errors and
//! retries with asynchronous invocation"). A throttled invocation comes back after 1 s, doubled up to 5 minutes, until the event
//! is too old. AWS does not say after which delays EventBridge and event source mappings retry, so they are no policy.

use super::fields::Fields;
use crate::block::Block;
use crate::system::System;
use crate::tree::{Data, Field, Node, walk, with};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::rc::Rc;

const RETRIES: [&str; 3] = ["MaximumRetryAttempts", "maximumRetryAttempts", "maximum_retry_attempts"];
const AGES: [&str; 3] = ["MaximumEventAgeInSeconds", "maximumEventAge", "maximum_event_age_in_seconds"];

/// True for a template with resources, a configuration of the Serverless Framework, or one of Terraform.
pub(crate) fn has_shape(root: &Rc<Node>) -> bool {
    let is_object = |name: &str| root.get(name).is_some_and(|node| matches!(node.data, Data::Object(_)));
    is_object("Resources") || is_object("functions") && root.get("service").is_some() || is_object("resource")
}

pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    let mut configs = HashSet::new();
    walk(root, "", &mut |node, path| {
        if node.get("Type").and_then(|kind| kind.text()) == Some("AWS::Lambda::EventInvokeConfig") {
            configs.extend(node.get("Properties").map(Rc::as_ptr));
        }
        if !RETRIES.iter().chain(&AGES).any(|name| node.get(name).is_some()) {
            return;
        }
        let is_config = configs.contains(&Rc::as_ptr(node));
        let parts: Vec<_> = path.split('.').collect();
        let (name, is_known) = match &parts[..] {
            ["functions", name] | ["resource", "aws_lambda_function_event_invoke_config", name] => (*name, true),
            [.., name, "Properties"] if is_config => (*name, true),
            [.., name, "Properties" | "Function", "EventInvokeConfig"] => (*name, true),
            _ => (path, false),
        };
        let event =
            Field { name: EVENT.to_owned(), at: 0..0, value: Rc::new(Node { span: 0..0, data: Data::Flag(true) }) };
        let block = Block::of(System::Lambda, &with(node, (!is_known).then_some(event)));
        found.push(Block { name: name.to_owned(), path: path.to_owned(), ..block });
    });
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

/// A field of the blocks whose delays AWS does not say.
const EVENT: &str = " event";

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    let (retries, age) = (of.given(&RETRIES), of.given(&AGES));
    if of.has(EVENT) {
        of.unsaid(retries.or(age).unwrap_or_default(), "AWS does not say after which delays");
        return None;
    }
    let rule = "must be a whole number of retries from 0 to 2";
    let count = retries.and_then(|path| of.count_or_text(path, 0.0, 2.0, rule));
    let rule = "must be whole seconds from 60 to 21600";
    let age = age.and_then(|path| of.count_or_text(path, 60.0, 21_600.0, rule)).unwrap_or(21_600);
    Some(json!({
        "attempts": count.unwrap_or(2) + 1,
        "backoff": { "kind": "exponential", "initial": "1m", "factor": 2, "max": "2m" },
        "jitter": "none",
        "deadline": format!("{age}s"),
        "rules": [{
            "if": { "kinds": ["throttled"] },
            "attempts": "forever",
            "backoff": { "kind": "exponential", "initial": "1s", "factor": 2, "max": "5m" },
        }],
    }))
}
