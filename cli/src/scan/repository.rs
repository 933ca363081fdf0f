//! Findings about several files together: the same service retried on several layers, and meshes without a budget.

use super::lint::{Of, finding, plain};
use crate::finding::Finding;
use crate::spans::Lines;
use crate::system::System;
use holdoff_core::{Form, Lint, LintKind, Nesting, Quantity};
use std::collections::BTreeMap;
use std::ops::Range;

/// The place of a retry among others around the same call, the outermost first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rank {
    /// A workflow or a job, which calls a client.
    Workflow,
    /// A client of the service.
    Client,
    /// A proxy between the client and the service.
    Mesh,
}

impl Rank {
    pub(crate) fn of(system: System) -> Option<Self> {
        let form = match system {
            System::Core(form) => form,
            System::KubernetesJob | System::ArgoWorkflows => return Some(Self::Workflow),
            System::AwsConfig => return Some(Self::Client),
            System::Envoy | System::Haproxy | System::Nginx => return Some(Self::Mesh),
            System::Lambda | System::Sqs => return None,
        };
        match form {
            Form::StepFunctions | Form::ServerlessWorkflow => Some(Self::Workflow),
            Form::Grpc | Form::Resilience4j | Form::Polly => Some(Self::Client),
            Form::Istio | Form::GatewayApi | Form::Dapr => Some(Self::Mesh),
            _ => None,
        }
    }
}

/// A policy that retries the calls of a service.
pub(crate) struct Layer {
    /// The name of the service.
    pub(crate) service: String,
    pub(crate) rank: Rank,
    /// The attempts; `None` for ever.
    pub(crate) attempts: Option<u32>,
    /// True if a budget of its own limits the retries of all calls together.
    pub(crate) has_budget: bool,
    pub(crate) file: String,
    pub(crate) policy: String,
    pub(crate) system: Option<System>,
    /// Line and column of its attempts.
    pub(crate) position: (usize, usize),
    pub(crate) span: Range<usize>,
}

/// The findings about the files of a scan together.
pub(crate) fn lints(layers: &[&Layer], budgets: &[&String]) -> Vec<Finding> {
    let mut services = BTreeMap::<&str, Vec<&Layer>>::new();
    for layer in layers.iter().copied().filter(|layer| layer.attempts != Some(1)) {
        services.entry(&layer.service).or_default().push(layer);
    }
    let has_budget = |service: &str| budgets.iter().any(|known| *known == service);
    let of = |(service, layers): (&str, Vec<&Layer>)| {
        let can_limit = |layer: &Layer| layer.system.is_none_or(|system| system.can_mend(LintKind::MeshWithoutBudget));
        let unlimited = layers.iter().find(|layer| layer.rank == Rank::Mesh && !layer.has_budget && can_limit(layer));
        let unlimited = unlimited.filter(|_| !has_budget(service)).map(|layer| without_budget(service, layer));
        [nested(service, &layers), unlimited]
    };
    services.into_iter().flat_map(of).flatten().collect()
}

/// The finding about a service that is retried on several layers; on each layer the most attempts count.
fn nested(service: &str, layers: &[&Layer]) -> Option<Finding> {
    let count = |layer: &Layer| layer.attempts.unwrap_or(u32::MAX);
    let mut ranks = BTreeMap::<Rank, &Layer>::new();
    for layer in layers {
        let most = ranks.entry(layer.rank).or_insert(layer);
        if count(layer) > count(most) {
            *most = layer;
        }
    }
    let lint = Lint::nested(ranks.values().map(|layer| (layer.attempts, Nesting::default())))?;
    let shown = |layer: &&Layer| {
        let attempts = layer.attempts.map_or("for ever".to_owned(), |attempts| format!("{attempts} attempts"));
        let form = layer.system.map_or("holdoff", System::name);
        format!("{form} ({}:{}: {attempts})", layer.file, layer.position.0)
    };
    let all: Vec<_> = ranks.values().map(shown).collect();
    let (_, innermost) = ranks.last_key_value()?;
    let total = match lint.found {
        Quantity::Number(number) => format!("at most {number} in all"),
        _ => "without an end".to_owned(),
    };
    let message = format!("{service} is retried by {}: {total}", all.join(" around "));
    Some(of(&lint, message, innermost))
}

/// The finding about a service whose retries no file limits.
fn without_budget(service: &str, layer: &Layer) -> Finding {
    of(
        &plain(LintKind::MeshWithoutBudget),
        match layer.system {
            // Dapr has no budget of retries.
            Some(System::Core(Form::Dapr)) => format!("{service} is retried without a circuit breaker"),
            _ => format!("{service} is retried, and no file has a retry budget for it"),
        },
        layer,
    )
}

/// A finding at the place of a layer.
fn of(lint: &Lint, message: String, layer: &Layer) -> Finding {
    let Layer { file, policy, system, .. } = layer;
    let found = finding(lint, &Of { file, lines: &Lines::of(""), policy, system: *system }, &|_| None);
    Finding { message, position: Some(layer.position), span: Some(layer.span.clone()), ..found }
}
