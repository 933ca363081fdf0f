//! Policies as other systems write them down: read into a policy, and written from one.
//!
//! A team that moves to holdoff has its numbers in a service config, a `RetryPolicy` or a `wait.Backoff` already, and a team
//! that runs both needs them to agree. Like a policy document a form is read from (path, value) pairs, so that every
//! language reads all of them with the parser it has; what each system means by its numbers is decided here once.
//!
//! Names are the system's own JSON names. As Go and protobuf do, they are compared without regard to case and underscores.

use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::rules::Rules;
use crate::error::{Error, ErrorCode, Quantity, Subject};
use crate::nearest::nearest;
use crate::value::Value;
use crate::words::words;

mod aster;
mod grpc;
mod kubernetes;
mod langgraphgo;
mod said;
mod temporal;
mod write;

use said::{Item, Said};
pub use write::Formed;

words! {
    /// A system whose form of a policy is read and written.
    pub enum Form: u8 {
        /// gRPC's service config (grpc/grpc-proto, service_config.proto, and gRFC A6): `retryThrottling`,
        /// `methodConfig[i].retryPolicy` or `hedgingPolicy` and the `timeout` beside it, or the `retryPolicy` alone. Times are text as protobuf writes it: `"0.1s"`.
        Grpc = 1 "grpc";
        /// Temporal's `RetryPolicy` (temporal/api/common/v1/message.proto). Times are text as protobuf writes it.
        Temporal = 2 "temporal";
        /// Kubernetes' `wait.Backoff` (apimachinery, pkg/util/wait/backoff.go). Times are whole nanoseconds or Go's text:
        /// `"1m30s"`.
        Kubernetes = 3 "kubernetes";
        /// langgraphgo's `RetryConfig` of a node (graph/retry.go). Times as for Kubernetes.
        Langgraphgo = 4 "langgraphgo";
        /// langgraphgo's `RetryPolicy` of a graph (graph/state_graph.go).
        LanggraphgoGraph = 5 "langgraphgo-graph";
        /// Aster's `RetryPolicy` of a workflow (docs/runtime/retry-semantics.md). Times are whole milliseconds.
        Aster = 6 "aster";
    }
}

/// The description of a system's form.
struct Shape {
    /// Every field, the name first as the system writes it.
    fields: &'static [(&'static str, Item)],
    /// The message for a name that is not one of them.
    unknown: &'static str,
    /// The values that a field takes.
    rule: fn(Item) -> &'static str,
    /// The policy that is meant.
    policy: fn(&Said) -> Result<Policy, Error>,
    /// The policy in the form, if the form can express it.
    said: fn(&Policy) -> Said,
}

impl Form {
    /// A reader of this form.
    pub const fn reader(self) -> FormReader {
        FormReader {
            said: Said::NOTHING,
            rules: Rules::NONE,
            entry: ANY,
            found: ANY,
            limited: ANY,
            form: self as u8,
            unused: [0; 3],
        }
    }

    const fn shape(self) -> &'static Shape {
        match self {
            Self::Grpc => &grpc::SHAPE,
            Self::Temporal => &temporal::SHAPE,
            Self::Kubernetes => &kubernetes::SHAPE,
            Self::Langgraphgo => &langgraphgo::NODE,
            Self::LanggraphgoGraph => &langgraphgo::GRAPH,
            Self::Aster => &aster::SHAPE,
        }
    }
}

impl Error {
    const fn of_form(code: ErrorCode, name: &'static str, rule: &'static str) -> Self {
        Self { own_rule: Some(rule), ..Self::named(code, Subject::Policy, name) }
    }

    const fn missing(name: &'static str) -> Self {
        Self::named(ErrorCode::FormMissing, Subject::Policy, name)
    }

    const fn form_value(name: &'static str, rule: &'static str, value: Quantity) -> Self {
        Self { value, ..Self::of_form(ErrorCode::FormValue, name, rule) }
    }
}

/// The part of a value that the host has to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FormKept<'a> {
    /// The reader holds all of it, or it does not matter to a retry.
    All,
    /// The next pattern: what a message must contain for the error to be retried, as one of `retry_on.patterns`.
    Pattern(&'a str),
    /// The next name of a type of error that is never retried: the type's own name, whole (Temporal).
    ErrorType(&'a str),
}

/// No entry of a service config's list, or any.
const ANY: u32 = u32::MAX;
/// The entry of a `retryPolicy` that is in no list.
const BARE: u32 = u32::MAX - 1;

/// A form in the making.
///
/// # Contract
/// [`FormReader::set`] with each value of the system's JSON document, in its order, then [`FormReader::build`] and
/// [`FormReader::rules`]. Setting an entry of a list that begins with index 0 once is all the order there is. Every bit
/// pattern is a reader (one of an unknown form reads gRPC's), and no name and no value panics.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct FormReader {
    said: Said,
    rules: Rules,
    /// The entry of a service config that was chosen.
    entry: u32,
    /// The entry that has the policy.
    found: u32,
    /// The entry that the timeout is of.
    limited: u32,
    form: u8,
    unused: [u8; 3],
}

impl FormReader {
    /// Reads that entry of a service config's `methodConfig`, from 0, and passes over the others. Unless chosen there may be
    /// only one that has a `retryPolicy` or a `hedgingPolicy`.
    #[must_use]
    pub const fn entry(mut self, index: u32) -> Self {
        self.entry = index;
        self
    }

    fn form(&self) -> Form {
        Form::from_code(self.form.into()).unwrap_or(Form::Grpc)
    }

    /// Sets the field called `name` to `value`. Paths are made as for [`crate::Options::set`]:
    /// `methodConfig[0].retryPolicy.maxAttempts`, `RetryableErrors[2]`. A number counts what the system's own do, whatever
    /// its unit; null is not given.
    ///
    /// # Errors
    /// An unknown name, a value that the field does not take, a part of the form that this version has not.
    pub fn set<'v>(&mut self, name: &str, value: Value<'v>) -> Result<FormKept<'v>, Error> {
        let form = self.form();
        let shape = form.shape();
        let (name, item) = match form {
            Form::Grpc => match self.grpc_item(name, value == Value::Nothing)? {
                Some(found) => found,
                None => return Ok(FormKept::All),
            },
            _ => (name, find(shape, name)),
        };
        let Some((field, item)) = item else {
            let (base, _) = indexed(name);
            let others = if form == Form::Grpc { &grpc::OTHERS[..] } else { &[] };
            let near = nearest(base, shape.fields.iter().chain(others).map(|known| known.0));
            let error = Error::of_form(ErrorCode::UnknownFormField, "", shape.unknown);
            return Err(Error { nearest: near, ..error });
        };
        let wrong = || Error::form_value(field, (shape.rule)(item), value.shown());
        if item == Item::Ignored || value == Value::Nothing {
            return Ok(FormKept::All);
        }
        let indexed = indexed(name).1.is_some();
        if indexed != (item.is_list() && value != Value::NoItems) {
            return Err(wrong());
        }
        match (item, value) {
            (Item::Group, Value::Empty | Value::NoItems) => return Ok(FormKept::All),
            (Item::Patterns, Value::NoItems) => {
                let _ = self.rules.set("patterns", value)?;
            }
            (Item::Types, Value::NoItems) => {}
            (Item::Codes, Value::NoItems) => return Err(wrong()),
            (Item::NonFatal, Value::NoItems) => {
                self.rules.set("grpc", value)?;
            }
            (Item::Codes | Item::NonFatal, _) => {
                self.rules.set(if self.said.has(item) { "grpc[1]" } else { "grpc[0]" }, value)?;
            }
            (Item::Patterns, Value::Text(text)) => {
                let _ = self.rules.set("patterns[0]", value)?;
                self.said.give(item);
                return Ok(FormKept::Pattern(text));
            }
            (Item::Types, Value::Text(text)) => return Ok(FormKept::ErrorType(text)),
            _ => {
                if !self.said.set(form, item, value) {
                    return Err(wrong());
                }
            }
        }
        self.said.give(item);
        Ok(FormKept::All)
    }

    /// The policy that is meant.
    ///
    /// # Errors
    /// A field that is missing, or two that do not fit together.
    pub fn build(&self) -> Result<Policy, Error> {
        let form = self.form();
        let mut said = self.said;
        if form == Form::Grpc && self.limited != self.found {
            said.forget(Item::Deadline);
        }
        (form.shape().policy)(&said)
    }

    /// The guards that are meant: gRPC's `retryThrottling` is a budget, its `hedgingPolicy` a hedge. Other forms have none.
    ///
    /// # Errors
    /// A field that is missing or out of range.
    pub fn guards(&self) -> Result<Options, Error> {
        if self.form() == Form::Grpc { grpc::guards(&self.said) } else { Ok(Options::NEW) }
    }

    /// The form's rules about which errors are retried.
    pub fn rules(&self) -> Rules {
        // A hedge without codes that do not end it ends at the first failure.
        if self.form() == Form::Grpc && self.said.has(Item::Hedges) && !self.said.has(Item::NonFatal) {
            let mut rules = Rules::NONE;
            let _ = rules.set("grpc", Value::NoItems);
            return rules;
        }
        // A graph without a list of patterns retries nothing.
        if self.form() == Form::LanggraphgoGraph && !self.said.has(Item::Patterns) {
            let mut rules = Rules::NONE;
            let _ = rules.set("patterns", Value::NoItems);
            return rules;
        }
        self.rules
    }
}

/// The field that a path names.
fn find(shape: &Shape, name: &str) -> Option<(&'static str, Item)> {
    let (base, _) = indexed(name);
    shape.fields.iter().copied().find(|known| same(known.0, base))
}

/// A name and the index behind it.
fn indexed(name: &str) -> (&str, Option<u32>) {
    let inner = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match inner.and_then(|(base, index)| Some((base, index.parse().ok()?))) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    }
}

/// True if two names are the same but for case and underscores.
fn same(known: &str, given: &str) -> bool {
    letters(known).eq(letters(given))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
