//! Settings of other systems' files that their systems do not use.

use crate::reading::Named;
use crate::resilience4j::OLD_ATTEMPTS;
use crate::system::System;
use crate::tree::{Data, Field, Node};
use holdoff_core::Form;
use std::ops::Range;

/// A setting without effect, and the reason.
pub(crate) struct Idle {
    /// Its name as the file writes it.
    pub(crate) name: String,
    /// The bytes of the name.
    pub(crate) place: Range<usize>,
    pub(crate) reason: &'static str,
}

/// The fields of a policy, by names without regard to case, hyphens and underscores.
struct Fields<'f>(&'f [Field]);

impl Fields<'_> {
    fn find(&self, name: &str) -> Option<&Field> {
        self.0.iter().find(|field| plain(&field.name) == name)
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some_and(|field| !matches!(field.value.data, Data::Null))
    }

    fn is_on(&self, name: &str) -> bool {
        self.find(name).is_some_and(|field| match &field.value.data {
            Data::Flag(flag) => *flag,
            Data::Text(text) => text.eq_ignore_ascii_case("true"),
            _ => false,
        })
    }

    fn is(&self, name: &str, word: &str) -> bool {
        self.find(name).and_then(|field| field.value.text()).is_some_and(|text| text.eq_ignore_ascii_case(word))
    }

    fn is_number(&self, name: &str, number: f64) -> bool {
        self.find(name).is_some_and(|field| matches!(field.value.data, Data::Number(found) if found == number))
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The settings of a policy of `text` that have no effect.
pub(crate) fn idle(policy: &Named, text: &str) -> Vec<Idle> {
    let (Some(System::Core(form)), Some(node)) = (policy.system, policy.object()) else { return Vec::new() };
    match form {
        Form::StepFunctions => {
            let retriers = node.get("Retry").map_or(&[][..], |list| list.items());
            retriers.iter().flat_map(|retrier| of(form, retrier.fields(), &[])).collect()
        }
        Form::Istio => node.get("retries").map_or_else(Vec::new, |retries| of(form, retries.fields(), &[])),
        // An instance has the settings of its configuration, too: any of them may have the switch.
        Form::Resilience4j => {
            let shared = policy.around().get("configs").map_or(&[][..], |configs| configs.fields());
            let shared: Vec<_> = shared.iter().map(|config| &*config.value).collect();
            let mut idle = of(form, node.fields(), &shared);
            let written = |field: &Field| text.get(field.at.clone()).map(plain);
            let old = node.fields().iter().find(|field| written(field).is_some_and(|name| name == plain(OLD_ATTEMPTS)));
            idle.extend(old.map(|field| Idle {
                name: OLD_ATTEMPTS.to_owned(),
                place: field.at.clone(),
                reason: "is the name up to version 1.7: later ones pass it over, and try 3 times; write maxAttempts",
            }));
            idle
        }
        _ => of(form, node.fields(), &[]),
    }
}

fn of(form: Form, fields: &[Field], shared: &[&Node]) -> Vec<Idle> {
    let of = Fields(fields);
    let any = |test: &dyn Fn(&Fields<'_>) -> bool| test(&of) || shared.iter().any(|node| test(&Fields(node.fields())));
    let is_on = |name| any(&|fields| fields.is_on(name));
    let has = |name| any(&|fields| fields.has(name));
    let (exponential, random) = (is_on("enableexponentialbackoff"), is_on("enablerandomizedwait"));
    let checks: &[(&str, bool, &'static str)] = match form {
        Form::Resilience4j => &[
            ("exponentialbackoffmultiplier", !exponential, "has no effect unless enableExponentialBackoff is true"),
            ("exponentialmaxwaitduration", !exponential, "has no effect unless enableExponentialBackoff is true"),
            ("randomizedwaitfactor", !random, "has no effect unless enableRandomizedWait is true"),
            (
                "exponentialmaxwaitduration",
                exponential && !has("exponentialbackoffmultiplier"),
                "has no effect without exponentialBackoffMultiplier",
            ),
            ("enableexponentialbackoff", exponential && !has("waitduration"), "has no effect without waitDuration"),
            ("enablerandomizedwait", random && !has("waitduration"), "has no effect without waitDuration"),
        ],
        Form::Dapr => &[
            ("duration", of.is("policy", "exponential"), "has no effect beside policy: exponential"),
            ("maxinterval", !of.is("policy", "exponential"), "has no effect unless policy is exponential"),
        ],
        Form::StepFunctions => &[
            ("maxdelayseconds", of.is_number("backoffrate", 1.0), "has no effect beside a BackoffRate of 1"),
            ("backoffrate", of.is_number("maxattempts", 0.0), "has no effect without retries"),
        ],
        Form::Istio => &[("pertrytimeout", of.is_number("attempts", 0.0), "has no effect without attempts")],
        _ => &[],
    };
    let found = checks.iter().filter(|(_, is_idle, _)| *is_idle);
    let idle = |(name, _, reason): &(&str, bool, &'static str)| {
        let field = of.find(name)?;
        Some(Idle { name: field.name.clone(), place: field.at.clone(), reason })
    };
    found.filter_map(idle).collect()
}
