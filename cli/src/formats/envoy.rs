//! Envoy's `retry_policy` of a route or a virtual host (config.route.v3.RetryPolicy), with the limits of the route's cluster.
//!
//! Envoy waits for any part of an interval that doubles from `base_interval` on (25 ms unless given) up to `max_interval` (ten
//! times as much). Its words in `retry_on` are those that Istio has, too, so the core reads them. Without `retry_back_off` the
//! numbers are those of a route of Istio.

use super::fields::{Fields, written};
use super::statuses::{self, Conditions};
use crate::block::Block;
use crate::system::System;
use crate::tree::{Data, Field, Node, walk, with};
use holdoff_core::Span;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::rc::Rc;

/// Words of `retry_on` that need a header of the request or of the answer.
const HEADERS: [&str; 2] = ["retriable-headers", "envoy-ratelimited"];
const POLICY: [&str; 14] = [
    "retry_on",
    "num_retries",
    "per_try_timeout",
    "per_try_idle_timeout",
    "retry_priority",
    "retry_host_predicate",
    "retry_options_predicates",
    "host_selection_retry_max_attempts",
    "retriable_status_codes",
    "retry_back_off",
    "rate_limited_retry_back_off",
    "retriable_headers",
    "retriable_request_headers",
    "name",
];

/// True for a configuration of Envoy, a resource of its API, or a filter of Istio for it.
pub(crate) fn has_shape(root: &Rc<Node>) -> bool {
    let has = |name: &str| root.get(name).is_some();
    let is_resource = root.get("@type").and_then(|kind| kind.text()).is_some_and(|kind| kind.contains("/envoy."));
    has("static_resources")
        || has("staticResources")
        || has("virtual_hosts")
        || has("virtualHosts")
        || is_resource
        || is_filter(root)
        || root.get("resources").is_some_and(|list| list.items().iter().any(has_shape))
}

/// Routes and virtual hosts at any depth.
pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    let root = &snake(root);
    let mut clusters = HashMap::new();
    walk(root, "", &mut |node, _| {
        let is_cluster = node.get("load_assignment").or_else(|| node.get("circuit_breakers")).is_some();
        if let (true, Some(name)) = (is_cluster, node.get("name").and_then(|name| name.text())) {
            clusters.insert(name.to_owned(), Rc::clone(node));
        }
    });
    let patches = root.at(&["spec", "config_patches"]).filter(|_| is_filter(root));
    let merged = patches.map_or(&[][..], |patches| patches.items());
    let merged = merged
        .iter()
        .enumerate()
        .filter(|(_, patch)| patch.at(&["patch", "operation"]).and_then(|word| word.text()) == Some("MERGE"));
    let merged: Vec<_> = merged.map(|(index, _)| format!("spec.config_patches[{index}].")).collect();
    walk(root, "", &mut |node, path| {
        let Some(policy) = node.get("retry_policy").filter(|policy| matches!(policy.data, Data::Object(_))) else {
            return;
        };
        // Other parts of Envoy have policies of that name with other fields.
        let is_host = node.get("domains").is_some();
        let is_route = path.ends_with(".route") || path.ends_with("route_configuration") || path == "route";
        if !is_host && !is_route && policy.get("retry_on").is_none() {
            return;
        }
        let cluster = node.get("cluster").and_then(|name| name.text());
        let own = cluster.and_then(|name| clusters.get(name)).into_iter().flat_map(limits);
        let is_part = merged.iter().any(|patch| path.starts_with(patch));
        let own = own.chain(is_host.then(|| flag(HOST))).chain(is_part.then(|| flag(PART)));
        let block = Block::of(System::Envoy, &with(node, own));
        let name = if is_host { node.get("name").and_then(|name| name.text()) } else { None };
        let name = name.map_or_else(|| path.strip_suffix(".route").unwrap_or(path).to_owned(), str::to_owned);
        found.push(Block { name: short(&name), path: path.to_owned(), ..block });
    });
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

/// The fields of a cluster that limit retries.
fn limits(cluster: &Rc<Node>) -> impl Iterator<Item = Field> {
    let fields: Vec<_> = cluster.fields().to_vec();
    fields.into_iter().filter(|field| ["circuit_breakers", "outlier_detection"].contains(&&*field.name))
}

/// A field of the policy of a virtual host.
const HOST: &str = " host";
/// A field of a policy that is merged into one of another place.
const PART: &str = " part";

fn flag(name: &str) -> Field {
    Field { name: name.to_owned(), at: 0..0, value: Rc::new(Node { span: 0..0, data: Data::Flag(true) }) }
}

fn is_filter(root: &Rc<Node>) -> bool {
    root.get("kind").and_then(|kind| kind.text()) == Some("EnvoyFilter")
}

/// The end of a path, from the virtual host on.
fn short(path: &str) -> String {
    path.rfind("virtual_hosts").and_then(|at| path.get(at..)).unwrap_or(path).to_owned()
}

/// The tree with the names that protobuf writes in YAML: `num_retries` for `numRetries`.
fn snake(node: &Rc<Node>) -> Rc<Node> {
    let data = match &node.data {
        Data::List(items) => Data::List(items.iter().map(snake).collect()),
        Data::Object(fields) => {
            let field = |field: &Field| Field {
                name: snake_name(&field.name),
                at: field.at.clone(),
                value: snake(&field.value),
            };
            Data::Object(fields.iter().map(field).collect())
        }
        _ => return Rc::clone(node),
    };
    Rc::new(Node { span: node.span.clone(), data })
}

fn snake_name(name: &str) -> String {
    let is_camel =
        name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(char::is_alphanumeric);
    if !is_camel {
        return name.to_owned();
    }
    let letter = |letter: char| {
        let mark = if letter.is_ascii_uppercase() { "_" } else { "" };
        format!("{mark}{}", letter.to_ascii_lowercase())
    };
    name.chars().map(letter).collect()
}

const TIME: &str = "must be a time in seconds, such as \"0.25s\"";

/// A time as protobuf writes it.
fn seconds(node: &Node) -> Option<Span> {
    let text = node.text()?;
    let is_seconds = text.strip_suffix('s').is_some_and(|number| number.ends_with(|last: char| last.is_ascii_digit()));
    Span::parse(text).filter(|_| is_seconds)
}

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    of.only("retry_policy", &POLICY, "a retry policy of Envoy");
    of.only("retry_policy.retry_back_off", &["base_interval", "max_interval"], "a backoff of Envoy");
    if of.has(PART) {
        of.unsaid("retry_policy", "it is merged into a policy of another place");
        return None;
    }
    let count = "must be a whole number of retries, 0 or more";
    let retries = of.count("retry_policy.num_retries", 0.0, f64::MAX, count);
    let retries = if of.has("retry_policy.num_retries") { retries? } else { 1 };
    let conditions = conditions(of)?;
    let mut policy = match statuses::policy(retries, &conditions) {
        Ok(policy) => policy,
        Err(rule) => return of.wrong("retry_policy.retry_on", &rule),
    };
    if let Some(timeout) = of.time("retry_policy.per_try_timeout", seconds, TIME).filter(|time| time != "0ns") {
        policy["attempt_timeout"] = json!(timeout);
    }
    let base = of.time("retry_policy.retry_back_off.base_interval", seconds, TIME);
    let max = of.time("retry_policy.retry_back_off.max_interval", seconds, TIME);
    if of.has("retry_policy.retry_back_off") {
        let Some(base) = base else { return of.missing("retry_policy.retry_back_off.base_interval") };
        // Ten times the base is the core's to compute.
        let usual = json!({ "retries": { "attempts": 1, "backoff": base } });
        policy["backoff"] = statuses::backoff_of(&usual)?;
        if let Some(max) = max {
            policy["backoff"]["max"] = json!(max);
        }
    }
    deadline(of, &mut policy);
    limited(of, &mut policy);
    if of.has("outlier_detection") {
        of.remark("outlier_detection takes failing hosts out of the cluster, which the policy leaves out");
    }
    if let Some(budget) = budget(of) {
        policy["budget"] = budget;
    }
    Some(policy)
}

/// The failures that are retried.
fn conditions(of: &mut Fields<'_>) -> Option<Conditions> {
    let words = of.text("retry_policy.retry_on", "must be a text of words with commas between them");
    if of.has("retry_policy.retry_on") {
        words?;
    } else {
        of.remark("retries nothing by itself: retry_on does not say which failures are retried");
    }
    let mut conditions = Conditions::default();
    for word in words.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "retriable-status-codes" => {
                let codes = of.value("retry_policy.retriable_status_codes").map_or(&[][..], |list| list.items());
                for code in codes {
                    match code.data {
                        Data::Number(status) => conditions.words.push(status.to_string()),
                        _ => return of.wrong("retry_policy.retriable_status_codes", "must be a list of statuses"),
                    }
                }
            }
            _ if HEADERS.contains(&word) => {
                of.remark(format!("{word} retries by a header, which the policy leaves out"))
            }
            "http3-post-connect-failure" => conditions.words.push("reset".to_owned()),
            _ => conditions.words.push(word.to_owned()),
        }
    }
    Some(conditions)
}

/// The timeout of a route holds all its attempts: 15 s unless given, and 0 is none.
fn deadline(of: &mut Fields<'_>, policy: &mut Value) {
    if of.has(HOST) {
        of.remark("the timeouts are those of its routes");
        return;
    }
    let given = of.time("timeout", seconds, TIME);
    match given.as_deref() {
        Some("0ns") => {}
        Some(time) => policy["deadline"] = json!(time),
        None if of.has("timeout") => {}
        None => policy["deadline"] = json!("15s"),
    }
}

/// `Retry-After` and headers like it count only if they are named, and the longest that is obeyed is 300 s unless given.
fn limited(of: &mut Fields<'_>, policy: &mut Value) {
    let path = "retry_policy.rate_limited_retry_back_off";
    if !of.has(path) {
        return;
    }
    of.only(path, &["reset_headers", "max_interval"], "a backoff of Envoy for limited rates");
    let max = of.time(&format!("{path}.max_interval"), seconds, TIME).unwrap_or_else(|| written(Span::from_secs(300)));
    policy["hint"] = json!({ "mode": "exact", "max": max, "over": "ignore" });
    of.remark("after a header of rate_limited_retry_back_off Envoy adds up to half of its time");
}

/// The limit of the cluster: a retry budget, or retries at once, of which there are three unless given. A cluster of another
/// file has a limit that this file does not say.
fn budget(of: &mut Fields<'_>) -> Option<Value> {
    let thresholds = of.value("circuit_breakers.thresholds")?.items();
    let is_usual =
        |node: &Rc<Node>| node.get("priority").and_then(|word| word.text()).is_none_or(|word| word == "DEFAULT");
    let index = thresholds.iter().position(is_usual)?;
    let path = format!("circuit_breakers.thresholds[{index}]");
    if of.has(&format!("{path}.retry_budget")) {
        let percent = of.value(&format!("{path}.retry_budget.budget_percent.value"));
        let least =
            of.count(&format!("{path}.retry_budget.min_retry_concurrency"), 0.0, f64::MAX, "must be a whole number");
        let percent = match percent.map(|node| &node.data) {
            None => 20.0,
            Some(Data::Number(number)) => *number,
            Some(_) => return of.wrong(&format!("{path}.retry_budget.budget_percent.value"), "must be a number"),
        };
        return Some(json!({ "kind": "share", "ratio": percent / 100.0, "min_concurrency": least.unwrap_or(3) }));
    }
    let most = of.count(&format!("{path}.max_retries"), 0.0, f64::MAX, "must be a whole number of retries at once");
    Some(json!({ "kind": "share", "ratio": 0, "min_concurrency": most.unwrap_or(3) }))
}
