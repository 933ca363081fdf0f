//! `proxy_next_upstream`, `proxy_next_upstream_tries` and `proxy_next_upstream_timeout` of nginx (ngx_http_proxy_module), and the
//! same of the modules for FastCGI, uwsgi, SCGI, gRPC and memcached.
//!
//! nginx passes a failed request on to the next server at once. Without a number of tries there are as many as servers in the
//! `upstream`; without a condition it passes on after an error and a timeout.

use super::fields::Fields;
use super::statuses::{self, Conditions};
use crate::block::Block;
use crate::syntax::nginx::MODULES;
use crate::system::System;
use crate::tree::{Data, Field, Node, with};
use holdoff_core::Span;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::rc::Rc;

const ON: &str = "must be words such as \"error timeout http_502\"";
const STATUSES: [&str; 8] =
    ["http_500", "http_502", "http_503", "http_504", "http_403", "http_404", "http_429", "not_found"];

/// Blocks with a directive about the next server, with what they inherit from the blocks around them.
pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let before = found.len();
    let mut servers = HashMap::new();
    count_servers(root, &mut servers);
    let context = Context { servers: &servers, inherited: &[], path: "" };
    context.look(root, found);
    for (index, block) in found.iter_mut().skip(before).enumerate() {
        block.entry = Some(index as u32);
    }
}

/// The servers of each upstream.
fn count_servers(node: &Rc<Node>, servers: &mut HashMap<String, usize>) {
    for Field { name, value, .. } in node.fields() {
        if let Some(name) = name.strip_prefix("upstream ") {
            let own = value.fields().iter().filter(|field| field.name == "server");
            let up =
                own.filter(|field| field.value.text().is_none_or(|text| !text.split(' ').any(|word| word == "down")));
            servers.insert(name.trim().trim_matches(['"', '\'']).to_owned(), up.count());
        }
        count_servers(value, servers);
    }
}

struct Context<'c> {
    servers: &'c HashMap<String, usize>,
    inherited: &'c [Field],
    path: &'c str,
}

impl Context<'_> {
    fn look(&self, node: &Rc<Node>, found: &mut Vec<Block>) {
        // The last of several directives counts, and those of the block before inherited ones.
        let own = node.fields().iter().filter(|field| is_about_next(&field.name));
        let own: BTreeMap<_, _> = own.map(|field| (&*field.name, field)).collect();
        let own: Vec<_> = own.into_values().cloned().collect();
        let more = self.inherited.iter().filter(|field| own.iter().all(|known| known.name != field.name)).cloned();
        let all: Vec<_> = own.iter().cloned().chain(more).collect();
        for module in MODULES {
            let is_own = |field: &&Field| field.name.starts_with(&format!("{module}_next_upstream"));
            if own.iter().any(|field| is_own(&field)) {
                let plain = |field: &Field| Field { name: field.name.replacen(module, "proxy", 1), ..field.clone() };
                let fields: Vec<_> = all.iter().filter(is_own).map(plain).collect();
                let servers = self.servers_of(node, module);
                let object = Node { span: node.span.clone(), data: Data::Object(fields) };
                let name = if self.path.is_empty() { "http".to_owned() } else { self.path.to_owned() };
                let block = Block::of(System::Nginx, &with(&Rc::new(object), servers));
                found.push(Block { name: name.clone(), path: self.path.to_owned(), ..block });
            }
        }
        for Field { name, value, .. } in
            node.fields().iter().filter(|field| matches!(field.value.data, Data::Object(_)))
        {
            let path = if self.path.is_empty() { name.clone() } else { format!("{} {name}", self.path) };
            Context { inherited: &all, path: &path, ..*self }.look(value, found);
        }
    }

    /// The number of servers that a block passes requests to, as a field.
    fn servers_of(&self, node: &Rc<Node>, module: &str) -> Option<Field> {
        let to = node.get(&format!("{module}_pass"))?.text()?;
        let name = to.split_once("://").map_or(to, |(_, rest)| rest);
        let name = name.split(['/', ' ', '?']).next().unwrap_or(name);
        // An address is one server. A name that is no upstream may have several addresses.
        let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
        let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() || name.starts_with("unix:");
        let count = self.servers.get(name).copied().or(is_address.then_some(1))?;
        let value = Rc::new(Node { span: 0..0, data: Data::Number(count as f64) });
        Some(Field { name: SERVERS.to_owned(), at: 0..0, value })
    }
}

/// A field with the number of servers.
const SERVERS: &str = " servers";

fn is_about_next(name: &str) -> bool {
    name.split_once("_next_upstream")
        .is_some_and(|(module, rest)| MODULES.contains(&module) && ["", "_tries", "_timeout"].contains(&rest))
}

pub(super) fn policy(of: &mut Fields<'_>) -> Option<Value> {
    let conditions = conditions(of)?;
    let rule = "must be a whole number of tries, 0 or more";
    let tries = of.count_or_text("proxy_next_upstream_tries", 0.0, f64::MAX, rule);
    if of.has("proxy_next_upstream_tries") {
        tries?;
    }
    let servers = of.count(SERVERS, 0.0, f64::MAX, rule);
    let attempts = match (tries.filter(|tries| *tries > 0), servers) {
        _ if conditions.words.is_empty() => 1,
        (Some(tries), Some(servers)) => tries.min(servers.max(1)),
        (Some(tries), None) => tries,
        (None, Some(servers)) => servers.max(1),
        (None, None) => {
            of.unsaid("proxy_next_upstream", "there are as many tries as servers, which this block does not say");
            return None;
        }
    };
    let mut policy = match statuses::policy(attempts - 1, &conditions) {
        Ok(policy) => policy,
        Err(_) => return of.wrong("proxy_next_upstream", ON),
    };
    policy["backoff"] = json!({ "kind": "constant", "delay": "0s" });
    policy["jitter"] = json!("none");
    let rule = "must be a time, such as \"10s\"";
    if let Some(timeout) = of.time("proxy_next_upstream_timeout", time, rule).filter(|timeout| timeout != "0ns") {
        policy["deadline"] = json!(timeout);
    }
    Some(policy)
}

fn conditions(of: &mut Fields<'_>) -> Option<Conditions> {
    let given = of.text("proxy_next_upstream", ON);
    if of.has("proxy_next_upstream") {
        given?;
    }
    let mut conditions = Conditions::default();
    let (mut is_error, mut is_timeout) = (false, false);
    for word in given.unwrap_or("error timeout").split_whitespace() {
        match word {
            "off" => return Some(Conditions::default()),
            "error" => is_error = true,
            "invalid_header" | "invalid_response" => is_error = true,
            "timeout" => is_timeout = true,
            "non_idempotent" => of.remark("requests that are not idempotent, such as POST, are passed on, too"),
            _ if STATUSES.contains(&word) => {
                let status = if word == "not_found" { "404" } else { word.trim_start_matches("http_") };
                conditions.words.push(status.to_owned());
            }
            _ => return of.wrong("proxy_next_upstream", ON),
        }
    }
    if is_error {
        conditions.words.push("connect-failure".to_owned());
    }
    if is_error || is_timeout {
        conditions.words.push("reset".to_owned());
    }
    conditions.refused = match (is_error, is_timeout) {
        (true, false) => Some("timeout"),
        (false, true) => Some("transient"),
        _ => None,
    };
    Some(conditions)
}

/// A time as nginx writes it: seconds unless it has a unit.
fn time(node: &Node) -> Option<Span> {
    let Data::Text(text) = &node.data else { return None };
    let text = text.trim_matches(['"', '\'']);
    if let Some(days) = text.strip_suffix('d') {
        return Span::parse(&format!("{}h", days.parse::<u64>().ok()?.checked_mul(24)?));
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    Span::parse(&if is_number { format!("{text}s") } else { text.to_owned() }).filter(|_| !text.contains('.'))
}
