//! The retries of resilience4j in Spring's configuration.

use crate::block::Block;
use crate::tree::{Data, Field, Node, joined};
use holdoff_core::Form;
use std::rc::Rc;

/// True for a document with retries of resilience4j.
pub(crate) fn has_shape(root: &Rc<Node>) -> bool {
    spring(root).is_some()
}

/// The retries of resilience4j in Spring's configuration, and the path to them.
fn spring(root: &Rc<Node>) -> Option<(&Rc<Node>, &'static str)> {
    [
        (root.at(&["resilience4j", "retry"]), "resilience4j.retry"),
        (root.get("resilience4j.retry"), "resilience4j.retry"),
        (root.get("retry"), "retry"),
        (Some(root), ""),
    ]
    .into_iter()
    .find_map(|(node, path)| {
        node.filter(|node| {
            GROUPS.iter().any(|group| node.get(group).is_some()) && (!path.is_empty() || node.fields().len() <= 2)
        })
        .map(|node| (node, path))
    })
}

/// Adds the instances and the configurations of a document.
pub(crate) fn find(root: &Rc<Node>, found: &mut Vec<Block>) {
    let Some((retry, path)) = spring(root) else { return };
    let groups = retry.fields().iter().filter(|group| GROUPS.contains(&&*group.name));
    let named = groups.flat_map(|group| group.value.fields().iter().map(move |own| (&group.name, own)));
    for (entry, (group, Field { name, value, .. })) in named.enumerate() {
        let (name, node) = (format!("{group}.{name}"), with_base(retry, value, MOST_BASES));
        let (entry, path) = (Some(entry as u32), joined(path, &name));
        let given = |names: &[&str]| -> Vec<_> {
            let is_given = |name: &&&str| node.fields().iter().any(|field| is_same(&field.name, name));
            names
                .iter()
                .filter(is_given)
                .map(|name| format!("{name} is a class, which only the program knows"))
                .collect()
        };
        let (left_out, unknown) = (given(&PREDICATES), given(&FUNCTIONS));
        let is_read = |field: &&Field| !PREDICATES.iter().any(|name| is_same(&field.name, name));
        let fields = node.fields().iter().filter(is_read).cloned().collect();
        let node = Rc::new(Node { span: node.span.clone(), data: Data::Object(fields) });
        found.push(Block { name, entry, path, left_out, unknown, ..Block::of(Form::Resilience4j, &node) });
    }
}

/// How many configurations may build on one another: they may do so in a circle.
const MOST_BASES: u32 = 16;

/// An instance with what it does not say itself from the configuration that it names, or from `default`.
fn with_base(retry: &Rc<Node>, given: &Rc<Node>, most: u32) -> Rc<Node> {
    let own = as_written_today(given);
    let is_base = |field: &Field| is_same(&field.name, "baseConfig");
    let named = own.fields().iter().find(|field| is_base(field)).and_then(|field| field.value.text());
    let base = retry.at(&["configs", named.unwrap_or("default")]).filter(|base| most > 0 && !Rc::ptr_eq(base, given));
    let Some(base) = base.map(|base| with_base(retry, base, most - 1)) else { return own };
    let has = |fields: &[Field], name: &str| fields.iter().any(|field| is_same(&field.name, name));
    // The one that says `waitDuration` makes the interval: with its own values, or with those that it inherits but for the factor.
    let waits = has(own.fields(), "waitDuration");
    let (passed_over, lost) = if waits { (&[][..], &INTERVAL[..1]) } else { (&INTERVAL[..], &[][..]) };
    let is_none_of = |names: &[&str], field: &Field| !names.iter().any(|name| is_same(&field.name, name));
    let keeps =
        |field: &&Field| !is_base(field) && (!has(base.fields(), "waitDuration") || is_none_of(passed_over, field));
    let kept: Vec<_> = own.fields().iter().filter(keeps).cloned().collect();
    let inherited = base.fields().iter().filter(|field| !has(&kept, &field.name) && is_none_of(lost, field)).cloned();
    let fields = kept.iter().cloned().chain(inherited).collect();
    Rc::new(Node { span: own.span.clone(), data: Data::Object(fields) })
}

/// What makes the interval beside `waitDuration`.
const INTERVAL: [&str; 5] = [
    "randomizedWaitFactor",
    "enableExponentialBackoff",
    "exponentialBackoffMultiplier",
    "exponentialMaxWaitDuration",
    "enableRandomizedWait",
];

/// The fields of an instance as resilience4j 2 has them.
fn as_written_today(own: &Rc<Node>) -> Rc<Node> {
    let has_new = own.fields().iter().any(|field| is_same(&field.name, "maxAttempts"));
    let newer = |field: &Field| {
        let mut field = field.clone();
        if is_same(&field.name, OLD_ATTEMPTS) {
            field.name = "maxAttempts".to_owned();
        }
        // Spring takes one text with commas for a list.
        if let (Data::Text(names), true) = (&field.value.data, LISTS.iter().any(|list| is_same(&field.name, list))) {
            let item =
                |name: &str| Rc::new(Node { span: field.value.span.clone(), data: Data::Text(name.trim().to_owned()) });
            let items = names.split(',').map(item).collect();
            field.value = Rc::new(Node { span: field.value.span.clone(), data: Data::List(items) });
        }
        field
    };
    let fields =
        own.fields().iter().filter(|field| !(has_new && is_same(&field.name, OLD_ATTEMPTS))).map(newer).collect();
    Rc::new(Node { span: own.span.clone(), data: Data::Object(fields) })
}

/// The name of `maxAttempts` up to version 1.7. Later versions pass over it.
pub(crate) const OLD_ATTEMPTS: &str = "maxRetryAttempts";
/// The groups of named policies.
const GROUPS: [&str; 3] = ["configs", "instances", "backends"];
/// Classes that decide which failures are retried.
const PREDICATES: [&str; 3] = ["retryExceptionPredicate", "resultPredicate", "consumeResultBeforeRetryAttempt"];
/// Classes that decide the delays.
const FUNCTIONS: [&str; 2] = ["intervalFunction", "intervalBiFunction"];
/// Lists of types of errors.
const LISTS: [&str; 2] = ["retryExceptions", "ignoreExceptions"];

/// True if Spring takes two names for the same.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let letters = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    letters(one) == letters(other)
}
