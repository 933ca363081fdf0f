//! The `retryStrategy` of a template of Argo Workflows (docs/retries.md and workflow/controller/operator.go).
//!
//! `limit` counts retries, and without it they have no end. The n-th delay is `duration` times `factor` to the power of n - 1, at
//! most `cap`; without a backoff there is no delay. A delay that would end after `maxDuration` is the end.

use super::fields::Fields;
use crate::block::{Block, is_kind};
use crate::system::System;
use crate::tree::{Data, Node, walk};
use holdoff_core::{Document, Form, Span};
use serde_json::{Value, json};
use std::rc::Rc;

const KINDS: [&str; 4] = ["Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow"];
const STRATEGY: [&str; 5] = ["limit", "retryPolicy", "backoff", "affinity", "expression"];
const POLICIES: [&str; 4] = ["Always", "OnFailure", "OnError", "OnTransientError"];
const TIME: &str = "must be a text of seconds, such as \"30\", or a time, such as \"2m\"";

pub(crate) fn has_shape(root: &Rc<Node>) -> bool {
    is_kind(root, "argoproj.io/", &KINDS)
}

/// Templates at any depth.
pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    walk(root, "", &mut |node, path| {
        if node.get("retryStrategy").is_some_and(|strategy| matches!(strategy.data, Data::Object(_) | Data::Null)) {
            let name = node.get("name").and_then(|name| name.text()).unwrap_or(path);
            let block = Block::of(System::ArgoWorkflows, node);
            found.push(Block { name: name.to_owned(), path: path.to_owned(), ..block });
        }
    });
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    if of.has("retryStrategy.retries") {
        return of_containers(of);
    }
    of.only("retryStrategy", &STRATEGY, "a retryStrategy");
    of.only("retryStrategy.backoff", &["duration", "factor", "maxDuration", "cap"], "a backoff of Argo Workflows");
    let limit = of.count_or_text("retryStrategy.limit", 0.0, f64::MAX, "must be a whole number of retries, 0 or more");
    let attempts = match limit {
        Some(limit) => json!(u64::from(limit) + 1),
        None if of.has("retryStrategy.limit") => return None,
        None => json!("forever"),
    };
    let mut policy = json!({ "attempts": attempts, "backoff": backoff(of)?, "jitter": "none" });
    if let Some(longest) = of.time("retryStrategy.backoff.maxDuration", time, TIME) {
        policy["deadline"] = json!(longest);
    } else if let Some(limit) = of.time("activeDeadlineSeconds", super::fields::seconds, "must be whole seconds") {
        policy["attempt_timeout"] = json!(limit);
    }
    let words = "must be \"Always\", \"OnFailure\", \"OnError\" or \"OnTransientError\"";
    if of.word("retryStrategy.retryPolicy", &POLICIES, words) == Some("Always") && !of.has("retryStrategy.expression") {
        policy["rules"] = json!([{ "if": {}, "retry": true }]);
    }
    if of.has("retryStrategy.expression") {
        of.remark("expression chooses the failures that are retried, which the policy leaves out");
    }
    Some(policy)
}

/// The retries of each container of a `containerSet`, all after the same time.
fn of_containers(of: &mut Fields<'_>) -> Option<Value> {
    of.only("retryStrategy", &["retries", "duration"], "the retryStrategy of a containerSet");
    let retries =
        of.count_or_text("retryStrategy.retries", 0.0, f64::MAX, "must be a whole number of retries, 0 or more")?;
    let delay = match of.has("retryStrategy.duration") {
        true => json!(of.time("retryStrategy.duration", time, TIME)?),
        false => json!("0s"),
    };
    let backoff = json!({ "kind": "constant", "delay": delay });
    Some(json!({ "attempts": u64::from(retries) + 1, "backoff": backoff, "jitter": "none" }))
}

fn backoff(of: &mut Fields<'_>) -> Option<Value> {
    if !of.has("retryStrategy.backoff") {
        return Some(json!({ "kind": "constant", "delay": "0s" }));
    }
    let duration = of.time("retryStrategy.backoff.duration", time, TIME);
    if !of.has("retryStrategy.backoff.duration") {
        return of.missing("retryStrategy.backoff.duration");
    }
    let factor = of.count_or_text("retryStrategy.backoff.factor", 0.0, f64::MAX, "must be a whole number, 0 or more");
    let cap = of.time("retryStrategy.backoff.cap", time, TIME);
    Some(match (factor, cap) {
        (None | Some(0), None) => json!({ "kind": "constant", "delay": duration? }),
        // A factor of 1 leaves the first delay, which the cap may cut.
        (factor, cap) => json!({
            "kind": "exponential",
            "initial": duration?,
            "factor": factor.filter(|factor| *factor > 0).unwrap_or(1),
            "max": cap.unwrap_or_else(|| "none".to_owned()),
        }),
    })
}

/// A number of seconds, or a time as Go writes it.
fn time(node: &Node) -> Option<Span> {
    let text = match &node.data {
        Data::Text(text) => text.clone(),
        Data::Number(_) => return super::fields::seconds(node),
        _ => return None,
    };
    if let Some(days) = text.strip_suffix('d') {
        // Argo has days, which Go does not have.
        let days: u64 = days.parse().ok()?;
        return Span::parse(&format!("{}h", days.checked_mul(24)?));
    }
    super::fields::seconds(node).or_else(|| go(&text))
}

/// A time as Go writes it, which the core reads in the form of Dapr.
fn go(text: &str) -> Option<Span> {
    let retry = json!({ "policy": "constant", "duration": text, "maxRetries": 1 });
    let document = Document::read_form(Form::Dapr.reader(), &retry).ok()?;
    document.policy.total_wait()
}
