//! The retries of a Kubernetes `Job`, alone or in a `CronJob`: a failed pod is made again after 10 s, doubled up to 6 minutes, as its
//! documentation says (Jobs, "Pod backoff failure policy"; the code of recent versions has 10 minutes).
//!
//! With `restartPolicy: OnFailure` the kubelet restarts the container in its pod, with its own delays: at once, then after 10 s,
//! doubled up to 5 minutes.

use super::fields::{Fields, seconds};
use crate::block::{Block, is_kind};
use crate::system::System;
use crate::tree::Node;
use serde_json::{Value, json};
use std::rc::Rc;

pub(crate) fn has_shape(root: &Rc<Node>) -> bool {
    is_kind(root, "batch/", &["Job", "CronJob"])
}

pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let path = if is_kind(root, "batch/", &["CronJob"]) { "spec.jobTemplate.spec" } else { "spec" };
    let names: Vec<_> = path.split('.').collect();
    if let Some(spec) = root.at(&names) {
        found.push(Block { path: path.to_owned(), ..Block::of(System::KubernetesJob, spec) });
    }
}

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    let rule = "must be a whole number of retries from 0 to 2147483647";
    let most = f64::from(i32::MAX);
    let each = of.count("backoffLimitPerIndex", 0.0, most, rule);
    let all = of.count("backoffLimit", 0.0, most, rule);
    let retries = match of.given(&["backoffLimitPerIndex", "backoffLimit"]) {
        Some("backoffLimitPerIndex") => each?,
        Some(_) => all?,
        None => 6,
    };
    let time = "must be whole seconds above 0";
    let deadline = of.time("activeDeadlineSeconds", seconds, time);
    let restarts = of.word(
        "template.spec.restartPolicy",
        &["Never", "OnFailure"],
        "must be \"Never\" or \"OnFailure\", which are those of a Job",
    );
    let is_restarted = restarts == Some("OnFailure");
    let backoff = if is_restarted {
        json!([{ "kind": "constant", "delay": "0s", "times": 1 }, { "kind": "exponential", "initial": "10s", "factor": 2, "max": "5m" }])
    } else {
        json!({ "kind": "exponential", "initial": "10s", "factor": 2, "max": "6m" })
    };
    let mut policy = json!({ "attempts": u64::from(retries) + 1, "backoff": backoff, "jitter": "none" });
    if let Some(deadline) = deadline {
        policy["deadline"] = json!(deadline);
    }
    if !is_restarted && let Some(limit) = of.time("template.spec.activeDeadlineSeconds", seconds, time) {
        policy["attempt_timeout"] = json!(limit);
    }
    if of.has("podFailurePolicy") {
        of.remark("podFailurePolicy chooses the failures that count, which the policy leaves out");
    }
    Some(policy)
}
