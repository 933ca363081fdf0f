//! Policies as other systems write them down: read into a policy, and written from one.
//!
//! A team that moves to holdoff has its numbers in a service config, a `RetryPolicy` or a `wait.Backoff` already, and a team
//! that runs both needs them to agree. Like a policy document a form is read from (path, value) pairs, so that every
//! language reads all of them with the parser it has; what each system means by its numbers is decided here once.
//!
//! Names are the system's own JSON names. As Go and protobuf do, they are compared without regard to case and underscores.

use crate::decide::grpc::GrpcCode;
use crate::decide::hint::HintMode;
use crate::decide::jitter;
use crate::decide::policy::{Policy, RULES};
use crate::decide::stage_numbers::{Choices, HINT};
use crate::describe::options::Options;
use crate::describe::rules::{HostText, Rules};
use crate::error::{Error, ErrorCode};
use crate::fields::Field;
use crate::json::Open;
use crate::nearest::nearest;
use crate::value::Value;
use crate::words::words;
use core::fmt::{self, Write};

mod aster;
mod dapr;
mod duration;
mod exponential;
mod gateway_api;
mod grpc;
mod istio;
mod kubernetes;
mod langgraphgo;
mod polly;
mod resilience4j;
mod serverless_workflow;
mod statuses;
mod step_functions;
mod temporal;
mod values;
mod wrapper;

use values::{Item, Kind, System, Values, error, indexed};
use wrapper::{Around, Found, Wrapper};

words! {
    /// A system whose form of a policy is read and written.
    #[non_exhaustive]
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
        /// The `Retry` field of a state of AWS Step Functions (states-language.net, "Errors"); only read.
        StepFunctions = 7 "step-functions";
        /// The `retry` of a Serverless Workflow (serverlessworkflow.io, DSL 1.0). Times are text of ISO 8601 or objects.
        ServerlessWorkflow = 8 "serverless-workflow";
        /// A retry of a Dapr `Resiliency` (docs.dapr.io), alone or in its resource. Times are Go's text.
        Dapr = 9 "dapr";
        /// The `retry` of a rule of a Gateway API `HTTPRoute` (GEP-1731), or the `retryConstraint` of an `XBackendTrafficPolicy`
        /// (GEP-3388); only read. Times are Go's text.
        GatewayApi = 10 "gateway-api";
        /// The `retries` of a route of an Istio `VirtualService`, or the `retryBudget` of a `DestinationRule`; only read. Times
        /// are Go's text.
        Istio = 11 "istio";
        /// An instance of resilience4j's `retry` in Spring's configuration. Times are text such as `"500ms"`, or milliseconds.
        Resilience4j = 12 "resilience4j";
        /// Polly's `RetryStrategyOptions` as .NET's configuration has them, with the timeouts and the breaker beside them.
        Polly = 13 "polly";
    }
}

impl Form {
    /// A reader of this form.
    pub const fn reader(self) -> FormReader {
        FormReader {
            values: [Values::EMPTY; RULES],
            rules: Rules::NONE,
            entries: grpc::Entries::NONE,
            wrapper: Wrapper::NONE,
            lists: resilience4j::Lists::NONE,
            form: self,
        }
    }

    const fn system(self) -> &'static System {
        match self {
            Self::Grpc => &grpc::SYSTEM,
            Self::Temporal => &temporal::SYSTEM,
            Self::Kubernetes => &kubernetes::SYSTEM,
            Self::Langgraphgo => &langgraphgo::NODE,
            Self::LanggraphgoGraph => &langgraphgo::GRAPH,
            Self::Aster => &aster::SYSTEM,
            Self::StepFunctions => &step_functions::SYSTEM,
            Self::ServerlessWorkflow => &serverless_workflow::SYSTEM,
            Self::Dapr => &dapr::SYSTEM,
            Self::GatewayApi => &gateway_api::SYSTEM,
            Self::Istio => &istio::SYSTEM,
            Self::Resilience4j => &resilience4j::SYSTEM,
            Self::Polly => &polly::SYSTEM,
        }
    }

    /// True if policies are written in this form; the others are only read.
    pub fn is_written(self) -> bool {
        self.system().export.is_some()
    }

    /// The policy in this form, with its rules and its guards: gRPC's has a throttle and a hedge that takes all attempts, the
    /// others have no guards. Only what reads back to the same decisions can be exported.
    ///
    /// # Errors
    /// [`ErrorCode::NotInForm`] with the path of the first field that the system does not have (`deadline`, `rules`), or
    /// with the name of a guard (`breaker`).
    #[inline(never)] // A host that is compiled for speed would take this in, at three times the size.
    pub fn export(self, policy: &Policy, rules: &Rules, guards: &Options) -> Result<ForeignPolicy, Error> {
        let system = self.system();
        let cannot = |field| error(ErrorCode::NotInForm, field, system.inexpressible);
        let is_known = |section: &&str| self == Self::Grpc && ["budget", "hedge"].contains(section);
        if let Some(section) = guards.sections().find(|section| !is_known(section)) {
            return Err(cannot(section));
        }
        let mut values = system.export.ok_or(cannot(""))?(policy);
        if self == Self::Grpc {
            grpc::export_guards(&mut values, policy, guards).map_err(cannot)?;
        }
        let mut read = (system.import)(&values).and_then(|options| options.build()).map_err(|error| {
            let counts = error.name.ends_with("Attempts") || error.name == "Steps";
            cannot(if counts { Field::Attempts.path() } else { "backoff" })
        })?;
        let is_hedged = values.has(Item::HedgeAttempts);
        if is_hedged {
            // There is no backoff where all attempts are in one round.
            (read.stages, read.own_count, read.delays) = (policy.stages, policy.own_count, policy.delays);
            read.own = Choices { given: HINT, ..read.own }.or(&policy.own);
        }
        // A system that reads no hints has the policy without them.
        let has_hints = !system.ignores_hints && read.hint_mode() != HintMode::Ignore;
        let is_compared = |field: Field| has_hints || !field.path().starts_with("hint");
        if let Some(field) = difference(&normalized(policy), &normalized(&read), is_compared) {
            return Err(cannot(field));
        }
        let says_nothing = *rules == Rules::NONE;
        match self {
            Self::Grpc => {
                // Without rules of its own a policy retries what gRPC's codes mean by themselves.
                let codes = if says_nothing { Some(RETRIED) } else { rules.only_codes() };
                let codes = codes.filter(|codes| is_hedged || *codes != 0).ok_or(cannot("rules"))?;
                values.put(if is_hedged { Item::NonFatal } else { Item::Codes }, codes.into());
            }
            Self::LanggraphgoGraph if rules.has_only_patterns() => {}
            _ if says_nothing && self != Self::LanggraphgoGraph => {}
            _ => return Err(cannot("rules")),
        }
        Ok(ForeignPolicy { form: self, values })
    }
}

const RETRIED: u32 = 1 << GrpcCode::DeadlineExceeded.code()
    | 1 << GrpcCode::ResourceExhausted.code()
    | 1 << GrpcCode::Unavailable.code();

/// The policy with a cap that makes no difference set to one value.
fn normalized(policy: &Policy) -> Policy {
    let mut normalized = *policy;
    if normalized.own.jitter == jitter::NONE && normalized.own.cap == jitter::CAP_BEFORE_JITTER {
        normalized.own.cap = crate::Cap::KeepSpread.code();
    }
    normalized
}

/// The first of the compared fields in which two policies differ.
fn difference(a: &Policy, b: &Policy, is_compared: impl Fn(Field) -> bool) -> Option<&'static str> {
    if (a.stages, a.own_count, a.delays) != (b.stages, b.own_count, b.delays) {
        return Some("backoff");
    }
    if a.rules != b.rules {
        return Some("rules");
    }
    let differs = |field: &&Field| a.number(**field) != b.number(**field) && is_compared(**field);
    Field::ALL.iter().find(differs).map(|field| field.path())
}

/// A policy that a system's form can express, ready to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForeignPolicy {
    form: Form,
    values: Values,
}

impl ForeignPolicy {
    /// Writes the system's JSON text. `patterns` are those of the rule that retries (langgraphgo's graph), `types` the names of
    /// the types of errors that are never retried (Temporal); other forms have neither.
    ///
    /// A service config has the policy for every method. Go's times are whole nanoseconds, which is how Go writes and reads
    /// them.
    ///
    /// # Errors
    /// The error of `out` when it takes no more.
    pub fn write<'t>(
        &self,
        patterns: impl IntoIterator<Item = &'t str>,
        types: impl IntoIterator<Item = &'t str>,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let (mut values, mut object) = (self.values, Open::new(out, '{')?);
        let (mut patterns, mut types) = (patterns.into_iter(), types.into_iter().peekable());
        if types.peek().is_some() {
            values.put(Item::ErrorTypes, 0);
        }
        let lists: &mut dyn Iterator<Item = _> =
            if self.form == Form::LanggraphgoGraph { &mut patterns } else { &mut types };
        match (self.form, self.form.system().tables) {
            (Form::Grpc, _) => grpc::write(&values, &mut object)?,
            (_, tables) => tables.iter().try_for_each(|table| values.write(table, lists, &mut object))?,
        }
        object.end('}')
    }
}

/// A reader of a policy in a system's form.
///
/// # Contract
/// [`FormReader::set`] with each value of the system's JSON document, in its order, then [`FormReader::options`]. Setting an
/// entry of a list that begins with index 0 once is all the order there is. No name and no value panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormReader {
    /// The values of the policy; of Step Functions those of each retrier, of resilience4j also those of its configurations.
    values: [Values; RULES],
    rules: Rules,
    entries: grpc::Entries,
    wrapper: Wrapper,
    lists: resilience4j::Lists,
    form: Form,
}

impl FormReader {
    /// Reads that one of the policies in the document and passes over the others. In a list the number is that of the list
    /// (`methodConfig[2]`, `http[2]`), among names it is the place in the document, both from 0. Unless chosen there may be only one.
    #[must_use]
    pub const fn entry(mut self, index: u32) -> Self {
        self.entries.chosen = index;
        self.wrapper.chosen = index;
        self
    }

    /// Sets the field called `name` to `value`. Paths are made as for [`crate::Options::set`]:
    /// `methodConfig[0].retryPolicy.maxAttempts`, `RetryableErrors[2]`. A number counts the system's own unit; null is not
    /// given. Returns a text that the host has to store.
    ///
    /// # Errors
    /// An unknown name, a value that the field does not take, a part of the form that this version has not.
    #[inline(never)] // As `Form::export`.
    pub fn set<'v>(&mut self, name: &str, value: Value<'v>) -> Result<Option<HostText<'v>>, Error> {
        let system = self.form.system();
        let found = match self.form {
            Form::Grpc => self.entries.find(name, value == Value::Nothing)?.map(|(name, row)| Found::of(name, row)),
            _ => self.wrapper.find(system, name, value)?,
        };
        let Some(Found { slot, name, row, unit, config, around }) = found else { return Ok(None) };
        let slot = match config {
            Some(config) => resilience4j::slot_of(&mut self.values, config)?,
            None => slot,
        };
        if let ([own, outer, ..], true) = (&mut self.values, around != Around::Keep) {
            if around == Around::Take {
                own.inherit(outer, &[]);
            }
            *outer = Values::EMPTY;
        }
        let before = usize::from(slot).checked_sub(1).and_then(|before| self.values.get(before));
        if self.form == Form::StepFunctions && before.is_some_and(|before| !before.has(Item::ErrorTypes)) {
            return Err(error(ErrorCode::FormMissing, "", "must come behind retriers that have ErrorEquals"));
        }
        let (base, index) = indexed(name);
        let Some(row) = row else {
            let names = system.tables.iter().copied().flatten();
            let near = nearest(base, names.map(|row| if self.form == Form::Grpc { row.name() } else { row.path }));
            return Err(Error { nearest: near, ..error(ErrorCode::UnknownFormField, "", system.unknown) });
        };
        if value == Value::Nothing {
            return Ok(None);
        }
        let wrong = Error { value: value.shown(), ..error(ErrorCode::FormValue, row.name(), row.rule) };
        let is_rule = matches!(row.kind, Kind::Rule(_));
        if !is_rule && index.is_some() != (row.kind.is_list() && value != Value::NoItems) {
            return Err(wrong);
        }
        let mut values = self.values.get(usize::from(slot)).copied().unwrap_or(Values::EMPTY);
        let begins = !values.has(row.item);
        let (mut number, mut text) = (0, None);
        match (row.kind, value) {
            (Kind::Group, Value::Empty | Value::NoItems) | (Kind::ErrorTypes, Value::NoItems) => {}
            (Kind::ErrorTypes, Value::Text(name)) => text = Some(HostText::ErrorType(name)),
            (Kind::Patterns, Value::NoItems) => text = self.set_rule(".patterns", value)?,
            (Kind::Patterns, Value::Text(_)) => {
                text = self.set_rule(if begins { ".patterns[0]" } else { ".patterns[1]" }, value)?;
            }
            (Kind::CodesOrNone, Value::NoItems) => text = self.set_rule(".grpc", value)?,
            (Kind::Codes | Kind::CodesOrNone, _) if value != Value::NoItems => {
                text = self.set_rule(if begins { ".grpc[0]" } else { ".grpc[1]" }, value)?;
            }
            (Kind::Rule(_), _) if self.form == Form::Resilience4j => {
                number = slot.into();
                text = self.lists.read(&mut self.rules, [slot.into(), row.item as u64], index, value)?;
            }
            (Kind::Rule(read), _) => text = read(&mut self.rules, slot, index, value)?,
            _ if let Some(unit) = unit => {
                let part = Kind::Count.read(value).and_then(|count| count.checked_mul(unit));
                number = part.and_then(|part| part.checked_add(values.at(row.item))).ok_or(wrong)?;
            }
            // A class of a configuration on which nothing builds does no harm.
            (Kind::Function, _) if config.is_some() => {}
            _ => number = row.kind.read(value).ok_or(wrong)?,
        }
        values.put(row.item, number);
        if let Some(slot) = self.values.get_mut(usize::from(slot)) {
            *slot = values;
        }
        Ok(text)
    }

    /// The options of the policy that the fields mean, with its rules and its guards: gRPC's `retryThrottling` is a budget, its
    /// `hedgingPolicy` a hedge.
    ///
    /// # Errors
    /// A document without a policy of the form, or without the chosen one; a field that is missing or out of range, or two that
    /// do not fit together.
    #[inline(never)] // As `Form::export`.
    pub fn options(&self) -> Result<Options, Error> {
        let ([mut values, outer, ..], system) = (self.values, self.form.system());
        match self.form {
            Form::Grpc => self.entries.check()?,
            _ => self.wrapper.check(system)?,
        }
        match self.form {
            Form::Grpc if self.entries.is_timeout_of_others() => values.remove(Item::Deadline),
            Form::Polly if self.wrapper.has_only_around() => values.inherit(&outer, &[]),
            _ => {}
        }
        let mut options = match self.form {
            Form::StepFunctions => step_functions::import(&self.values, self.rules, self.wrapper.has_read())?,
            Form::Resilience4j => {
                let values = resilience4j::merged(&self.values, self.wrapper.config(), self.wrapper.has_read())?;
                *(system.import)(&values)?.with_rules(self.lists.rules(self.rules, &values)?)
            }
            Form::Grpc => {
                let read = (system.import)(&values).map_err(|error| self.entries.blamed(error));
                *read?.with_rules(self.rules(&values))
            }
            _ => *(system.import)(&values)?.with_rules(self.rules(&values)),
        };
        if system.ignores_hints {
            options.hint_mode(HintMode::Ignore);
        }
        Ok(*options.without_budget_of_loops())
    }

    /// The form's rules about which errors are retried.
    fn rules(&self, values: &Values) -> Rules {
        let list = match self.form {
            // A hedge without codes that do not end it ends at the first failure.
            Form::Grpc if values.has(Item::HedgeAttempts) && !values.has(Item::NonFatal) => ".grpc",
            // A graph without a list of patterns retries nothing.
            Form::LanggraphgoGraph if !values.has(Item::Patterns) => ".patterns",
            Form::Grpc | Form::LanggraphgoGraph if !self.rules.is_none() => "",
            Form::Istio if istio::is_usual(values) => return istio::usual_rules(),
            Form::GatewayApi if values.has(Item::Codes) => return statuses::and_no_other(self.rules),
            _ => return self.rules,
        };
        let mut rules = self.rules;
        if !list.is_empty() {
            let _ = rules.set_condition(0, list, Value::NoItems);
            let _ = rules.set_retry(0, Value::Flag(true));
        }
        rules.and_nothing_else(self.form == Form::Grpc)
    }

    /// Sets an entry of the one list of errors that are retried.
    fn set_rule<'v>(&mut self, path: &str, value: Value<'v>) -> Result<Option<HostText<'v>>, Error> {
        let text = self.rules.set_condition(0, path, value)?;
        self.rules.set_retry(0, Value::Flag(true))?;
        Ok(text)
    }
}

#[cfg(all(test, feature = "powers", feature = "rules"))]
mod tests;
