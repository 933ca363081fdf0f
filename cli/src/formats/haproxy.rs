//! `retries`, `retry-on` and `option redispatch` of HAProxy (configuration manual, section 4.2).
//!
//! HAProxy makes three retries unless given, and only after a connection that failed unless `retry-on` names more. Before a retry
//! on the same server it waits for one second, or for `timeout connect` if that is shorter; a retry on another server comes at
//! once. A `backend` has what the last `defaults` before it says.

use super::fields::Fields;
use super::statuses::{self, Conditions};
use crate::block::Block;
use crate::system::System;
use crate::tree::{Data, Node, with};
use holdoff_core::Span;
use serde_json::{Value, json};
use std::rc::Rc;

const RETRIES: [&str; 4] = ["retries", "retry-on", "option redispatch", "no option redispatch"];
const INHERITED: [&str; 3] = ["retries", "retry-on", "timeout connect"];
const STATUSES: [&str; 12] = ["401", "403", "404", "408", "421", "425", "429", "500", "501", "502", "503", "504"];
const ALL: &str = "conn-failure empty-response junk-response response-timeout 0rtt-rejected 500 502 503 504";
const ON: &str = "must be words of retry-on, such as \"conn-failure 503\"";

/// Sections with a line about retries, and what they inherit.
pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let mut defaults: Vec<(&str, &Rc<Node>)> = Vec::new();
    for (index, section) in root.fields().iter().enumerate() {
        let words: Vec<_> = section.name.split_whitespace().collect();
        let from = words.iter().position(|word| *word == "from").and_then(|at| words.get(at + 1));
        let base = match from {
            Some(name) => defaults.iter().rev().find(|(known, _)| known == name),
            None => defaults.last(),
        };
        let node = &section.value;
        let lacks = |name: &str| node.get(name).is_none();
        let inherited = base.into_iter().flat_map(|(_, base)| base.fields()).filter(|field| {
            let is_dispatch = field.name.ends_with("option redispatch");
            lacks(&field.name)
                && (INHERITED.contains(&&*field.name)
                    || is_dispatch && lacks("option redispatch") && lacks("no option redispatch"))
        });
        let whole = with(node, inherited.cloned());
        if RETRIES.iter().any(|name| node.get(name).is_some()) {
            let (entry, path) = (Some(index as u32), section.name.clone());
            let name = if words.len() > 1 { words.get(1).copied().unwrap_or_default() } else { &section.name };
            found.push(Block { name: name.to_owned(), entry, path, ..Block::of(System::Haproxy, &whole) });
        }
        if words.first() == Some(&"defaults") {
            defaults.push((words.get(1).copied().unwrap_or_default(), node));
        }
    }
}

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    let retries = of.count_or_text("retries", 0.0, f64::MAX, "must be a whole number of retries, 0 or more");
    let retries = if of.has("retries") { retries? } else { 3 };
    let conditions = conditions(of)?;
    let mut policy = match statuses::policy(retries, &conditions) {
        Ok(policy) => policy,
        Err(_) => return of.wrong("retry-on", ON),
    };
    let connect = of.time("timeout connect", time, "must be a time, such as \"5s\", or milliseconds");
    let second = Span::from_secs(1);
    let wait = connect.and_then(|time| Span::parse(&time)).map_or(second, |time| time.min(second));
    policy["backoff"] = backoff(of, retries, wait)?;
    policy["jitter"] = json!("none");
    Some(policy)
}

/// Retries on the same server wait; the last one goes to another server with `option redispatch`, and each N-th with N.
fn backoff(of: &mut Fields<'_>, retries: u32, wait: Span) -> Option<Value> {
    let wait = super::fields::written(wait);
    let constant = json!({ "kind": "constant", "delay": wait });
    if !of.has("option redispatch") || retries == 0 {
        return Some(constant);
    }
    let every = match of.text("option redispatch", "must be a number")? {
        "" => "-1",
        text => text,
    };
    let Ok(every) = every.parse::<i64>() else { return of.wrong("option redispatch", "must be a whole number") };
    let at_once = json!({ "kind": "constant", "delay": "0s" });
    let before = match every {
        0 => return Some(constant),
        1 => return Some(at_once),
        // Counted from the last retry.
        ..0 => i64::from(retries) + every,
        _ => every - 1,
    };
    if every > 1 && i64::from(retries) > every {
        of.remark("retries on another server come at once, which the policy says of the first of them alone");
    }
    Some(match u32::try_from(before) {
        Ok(0) => at_once,
        Ok(before) if before < retries => json!([
            { "kind": "constant", "delay": wait, "times": before },
            { "kind": "constant", "delay": "0s", "times": 1 },
            constant,
        ]),
        _ => constant,
    })
}

/// The failures that are retried: a connection that failed, unless `retry-on` says more.
fn conditions(of: &mut Fields<'_>) -> Option<Conditions> {
    let given = of.text("retry-on", ON);
    if of.has("retry-on") {
        given?;
    }
    let mut conditions = Conditions::default();
    let (mut is_response, mut is_timeout) = (false, false);
    let text = given.unwrap_or("conn-failure");
    let words =
        text.split_whitespace().flat_map(|word| if word == "all-retryable-errors" { ALL } else { word }.split(' '));
    for word in words {
        match word {
            "none" => {}
            "conn-failure" => conditions.words.push("connect-failure".to_owned()),
            "empty-response" | "junk-response" => is_response = true,
            "response-timeout" => is_timeout = true,
            "0rtt-rejected" => conditions.words.push("425".to_owned()),
            _ if STATUSES.contains(&word) => conditions.words.push(word.to_owned()),
            _ => return of.wrong("retry-on", ON),
        }
    }
    if is_response || is_timeout {
        conditions.words.push("reset".to_owned());
    }
    conditions.refused = match (is_response, is_timeout) {
        (true, false) => Some("timeout"),
        (false, true) => Some("transient"),
        _ => None,
    };
    Some(conditions)
}

/// A time as HAProxy writes it: milliseconds unless it has a unit.
pub(super) fn time(node: &Node) -> Option<Span> {
    let Data::Text(text) = &node.data else { return None };
    if let Some(days) = text.strip_suffix('d') {
        return Span::parse(&format!("{}h", days.parse::<u64>().ok()?.checked_mul(24)?));
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    Span::parse(&if is_number { format!("{text}ms") } else { text.clone() }).filter(|_| !text.contains('.'))
}
