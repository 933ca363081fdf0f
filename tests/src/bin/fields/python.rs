//! The types of policies and guards in Python, and what `help()` says of its classes.

use super::{GENERATED, group, quoted, wrapped};
use anyhow::{Context as _, Result};
use conformance::fields::{GUARDS, Group, default, described, groups, names};
use holdoff_core::{Field, Takes};
use std::fmt::Write as _;

/// Types of Python whose fields take the place of a policy's, each with its doc and its base.
const RULED: [(&str, &str, &str); 2] = [
    ("Stage", "One stage of a chain, and what it has instead of the policy's.", "Backoff"),
    ("Manner", "How long a rule waits, instead of the policy.", "TypedDict"),
];

/// The type of a field in Python.
fn type_of(field: Field) -> String {
    let of = match (field, field.takes()) {
        (Field::DeadlineFrom | Field::Limits | Field::DelayFrom | Field::BudgetReturns | Field::BreakerRamp, _) => {
            return format!("Literal[{}]", quoted(field.words()).join(", "));
        }
        (Field::BackoffKind, _) => "BackoffKind",
        (Field::JitterKind, _) => "JitterKind",
        (Field::HintMode, _) => "HintMode",
        (Field::HintOver, _) => "HintOver",
        (Field::BudgetKind, _) => "BudgetKind",
        (Field::BreakerKind, _) => "BreakerKind",
        (Field::BreakerOpenKind, _) => "OpenForKind",
        (Field::BreakerReopen, _) => "Reopen",
        (Field::BreakerMode, _) => "BreakerMode",
        (Field::BreakerHint, _) => "BreakerHint",
        (Field::LimiterKind, _) => "LimiterKind",
        (Field::AdaptiveKind, _) => "AdaptiveKind",
        (Field::NestedMode, _) => "NestedMode",
        (Field::Preset, _) => "PresetName",
        (Field::Cap, _) => "Cap",
        (Field::OnDeadline, _) => "OnDeadline",
        (_, Takes::Attempts) => "int | Literal[\"forever\"]",
        (_, Takes::Word(_)) => "Refusal",
        (_, Takes::Span { .. }) => "Duration",
        (_, Takes::SpanOrNone { .. }) => "Duration | Literal[\"none\"]",
        (_, Takes::Number(_)) => "float",
        (_, Takes::Spans) => "Sequence[Duration]",
        (_, Takes::SpanOrSpans(_)) => "Duration | Sequence[Duration]",
        (_, Takes::Flag) => "bool",
        _ => "int",
    };
    of.to_owned()
}

fn member(name: &str, of: &str, doc: &str) -> String {
    let mut out = format!("    {name}: {of}\n");
    if doc.len() <= 110 {
        let _ = writeln!(out, "    \"\"\"{doc}\"\"\"");
        return out;
    }
    let lines = wrapped(doc, 112);
    out + "    \"\"\"" + &lines.join("\n    ") + "\n    \"\"\"\n"
}

/// The name of a group's type in Python.
fn class(group: &Group) -> String {
    let plain = matches!(group.0, "backoff" | "jitter" | "hint" | "breaker.open_for");
    format!("{}{}", group.1, if plain { "" } else { "Fields" })
}

pub(super) fn types() -> String {
    let mut classes: Vec<_> = GUARDS.iter().map(|guard| guard.1).collect();
    classes.sort_unstable();
    let classes = format!("(\n{})", classes.iter().map(|class| format!("    {class},\n")).collect::<String>());
    let mut out = format!(
        "\"\"\"The types of the fields of policies and guards. {GENERATED}\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Sequence\n\
         from datetime import timedelta\n\
         from typing import Literal, TypeAlias, TypedDict\n\n\
         from ._holdoff import {classes}\nfrom ._literals import (\n    AdaptiveKind,\n    BackoffKind,\n    BreakerHint,\n    BreakerKind,\n    \
         BreakerMode,\n    BudgetKind,\n    Cap,\n    HintMode,\n    HintOver,\n    JitterKind,\n    LimiterKind,\n    NestedMode,\n    \
         OnDeadline,\n    OpenForKind,\n    PresetName,\n    Refusal,\n    Reopen,\n)\n\n\
         Duration: TypeAlias = float | str | timedelta\n\
         \"\"\"A length of time: seconds, text with a unit such as ``\"250ms\"``, or a timedelta.\"\"\"\n"
    );
    for group in groups() {
        let (path, _, doc) = group;
        let mut base = "TypedDict";
        if *path == "backoff" {
            // A word of Python cannot be written as a field of a class.
            out += "\n\n_From = TypedDict(\"_From\", {\"from\": int | None}, total=False)\n";
            base = "_From";
        }
        let _ = write!(out, "\n\nclass {}({base}, total=False):\n    \"\"\"{doc}\"\"\"\n\n", class(group));
        for (name, field) in names(path).into_iter().filter(|(name, _)| *name != "from") {
            let alias = !(field.path().ends_with(name) || field.path() == *path && name == "initial");
            let text = if alias { "Another name of ``initial``.".to_owned() } else { described(field) };
            let of =
                if name == "open_for" { "Duration | Sequence[Duration] | OpenFor".to_owned() } else { type_of(field) };
            out += &member(name, &format!("{of} | None"), &text.replace('`', "``").replace("````", "``"));
        }
    }
    for (name, doc, own) in RULED {
        let _ = write!(out, "\n\nclass {name}({}, total=False):\n    \"\"\"{doc}\"\"\"\n\n", own);
        for (name, of, doc) in [
            ("jitter", "Jitter | JitterKind", "How the delays are spread, instead of the policy's ``jitter``."),
            ("cap", "Cap", "The value that ``max`` bounds, instead of the policy's ``cap``."),
            ("hint", "Hint | HintMode", "The use of a server's hint, instead of the policy's ``hint``."),
        ] {
            out += &member(name, &format!("{of} | None"), doc);
        }
    }
    out += "\n\nclass PlainFields(TypedDict, total=False):\n    \"\"\"The fields of a policy that are single values.\"\"\"\n\n";
    for field in Field::ALL.iter().filter(|field| !field.path().contains('.') && field.path() != "version") {
        let doc = described(*field).replace('`', "``");
        out += &member(field.path(), &format!("{} | None", type_of(*field)), &doc);
    }
    out + &guards()
}

/// The types of the guards' sections, and of sets of guards.
fn guards() -> String {
    let (mut aliases, mut options, mut sections) = (String::new(), String::new(), String::new());
    for group in GUARDS {
        let (path, name, doc) = group;
        let first = names(path).first().map_or(Field::BudgetKind, |first| first.1);
        let alone = match first.takes() {
            // spec 32.2: a number is the capacity of the budget of loops
            Takes::Word(_) if *path == "budget" => format!(" | {} | int", type_of(first)),
            Takes::Word(_) if names(path).iter().any(|(_, field)| field.is_needed() && field.fits(1)) => String::new(),
            _ => format!(" | {}", type_of(first)),
        };
        let _ = writeln!(aliases, "{name}Config: TypeAlias = {}{alone} | None", class(group));
        if *path == "budget" {
            aliases += "\"\"\"The budget section of a document. The other guards have the same kind of type.\"\"\"\n";
        }
        let _ = writeln!(options, "    {path}: {name} | {name}Config");
        sections += &member(path, &format!("{name}Config"), doc);
    }
    format!(
        "\n\n{aliases}\n\nclass GuardOptions(TypedDict, total=False):\n    \"\"\"Guards: each a configuration, or a shared \
         object.\"\"\"\n\n{options}\n\nclass GuardSections(TypedDict, total=False):\n    \"\"\"The sections of guards in a \
         policy.\"\"\"\n\n{sections}"
    )
}

/// The options of one use in Python, each with its doc.
const OPTIONS: [(&str, &str, &str); 17] = [
    ("policy", "None", "A `Policy` or the name of a preset, instead of the fields."),
    (
        "on",
        "None",
        "The errors to retry: a type of Exception, a tuple of types, or a function of the error. Default: every error \
        but programming errors.",
    ),
    ("classify", "None", "A function from the error to a Failure, the word of a kind, or None for the default rules."),
    ("on_result", "None", "A function of the returned value that says whether it is a failure; True for HTTP answers."),
    ("on_attempt", "None", "A function that is called with an AttemptEvent before each attempt."),
    ("on_retry", "None", "A function that is called with a RetryEvent before each sleep."),
    ("on_success", "None", "A function that is called with a SuccessEvent after the attempt that succeeds."),
    ("on_give_up", "None", "A function that is called with a GiveUpEvent when the operation ends without a success."),
    (
        "delay",
        "None",
        "A function of the DelayEvent of a failure: the delay, False for no retry, None for the policy's.",
    ),
    ("name", "None", "The name of the operation in events. Default: the qualified name of the function."),
    ("sleep", "None", "A function of the seconds that sleeps in place of holdoff."),
    ("fallback", "None", "A function of the last error, whose value is returned instead."),
    ("cancel", "None", "A Cancel token."),
    ("idempotent", "True", "False if the operation must not run twice."),
    ("seed", "None", "An int that makes the jitter repeatable."),
    ("guards", "None", "A Guards object, or a dict of the options of guards, which replaces the guards of the policy."),
    (
        "key",
        "None",
        "The server that is called, \"scheme://host:port\": each has a budget of its own. Default: one for the policy.",
    ),
];

/// The signature and the doc of a class or function of Python, for `help()` and for editors that ask the interpreter.
pub(super) fn help(of: &str) -> Result<String> {
    let (name, first, doc) = match of {
        "policy" => (
            "Policy",
            "name=None, /",
            "When to retry and when to give up; immutable, to be shared by any number of operations.",
        ),
        "retry" => (
            "retry",
            "function=None, /",
            "Retry a function: a decorator, bare or with options and with the fields of a policy.",
        ),
        "attempts" => (
            "attempts",
            "policy=None",
            "Attempts at a block of code, to loop over with `for` or `async for`: each is a context manager.",
        ),
        "retrying" => (
            "Retrying",
            "policy=None, /",
            "A policy with the options of one use: call functions with it, or decorate them.",
        ),
        _ => return guard_help(of),
    };
    let own = OPTIONS.iter().filter(|(name, ..)| match of {
        "retry" => true,
        "retrying" => *name != "policy",
        "attempts" => !matches!(*name, "policy" | "on_result" | "fallback"),
        _ => false,
    });
    let fields = top_fields();
    let mut parameters = vec![first.to_owned(), "*".to_owned()];
    parameters.extend(own.clone().map(|option| format!("{}={}", option.0, option.1)));
    parameters.extend(fields.iter().map(|(name, _, default, _)| format!("{name}={default}")));
    let mut out = format!("{name}({})\n--\n\n{doc}\n", parameters.join(", "));
    if of == "policy" {
        out += "\nname: the name of a preset, which replaces the defaults below.\n";
        out += TIMES;
        for (name, takes, _, doc) in &fields {
            out += &item(name, takes, doc);
        }
    } else {
        out += "\nOptions:\n";
        for (name, _, doc) in own {
            out += &item(name, "", doc);
        }
        out += "\nThe other parameters are the fields of a policy: see help(holdoff.Policy).\n";
    }
    Ok(out)
}

const TIMES: &str = "\nA time is a number of seconds, text with a unit (\"250ms\", \"1.5s\", \"2m\") or a timedelta. None means the default.\n\n";

/// A parameter, what it takes and its doc, in lines.
fn item(name: &str, takes: &str, doc: &str) -> String {
    let takes = if takes.is_empty() { String::new() } else { format!(": {takes}") };
    let lines = wrapped(&doc.replace('`', "\""), 92);
    format!("    {name}{takes}\n        {}\n", lines.join("\n        "))
}

/// A value in Python.
fn literal(field: Field) -> String {
    let text = default(field);
    let text = text.split("; ").next().unwrap_or_default();
    match field.takes() {
        _ if field.default().is_none() => "None".into(),
        Takes::Flag => {
            if text == "true" {
                "True".into()
            } else {
                "False".into()
            }
        }
        Takes::Attempts if text == "forever" => format!("'{text}'"),
        Takes::Word(_) => format!("'{text}'"),
        Takes::Span { .. } | Takes::SpanOrNone { .. } | Takes::SpanOrSpans(_) => format!("'{text}'"),
        _ => text.to_owned(),
    }
}

/// The values of a field, in words of Python.
fn takes(field: Field) -> String {
    match field.takes() {
        Takes::Word(_) => quoted(field.words()).join(", "),
        Takes::Span { .. } => "a time".into(),
        Takes::SpanOrNone { .. } => "a time or \"none\"".into(),
        Takes::Number(_) => "a number".into(),
        Takes::WholeNumber(..) => "an int".into(),
        Takes::Attempts => "an int or \"forever\"".into(),
        Takes::Spans => "a list of times".into(),
        Takes::SpanOrSpans(most) => format!("a time, or a list of up to {most}"),
        Takes::Version => "1".into(),
        Takes::Flag => "a bool".into(),
    }
}

/// The fields of a policy by their first names: name, what it takes, default, doc.
fn top_fields() -> Vec<(String, String, String, String)> {
    let mut fields: Vec<(String, String, String, String)> = Vec::new();
    for field in Field::ALL.iter().filter(|field| field.path() != "version") {
        let (top, inner) = field.path().split_once('.').map_or((field.path(), None), |path| (path.0, Some(path.1)));
        if fields.iter().any(|known| known.0 == top) {
            continue;
        }
        let of_group = groups().find(|group| group.0 == top);
        fields.push(match (inner, of_group) {
            (Some(_), Some((path, name, doc))) if field.is_guards() && *path != "nested" => (
                top.into(),
                "a dict, or the first field alone".into(),
                "None".into(),
                format!("{doc} See help(holdoff.{name})."),
            ),
            (Some(_), Some((path, _, doc))) => {
                let members: Vec<_> = names(path)
                    .into_iter()
                    .filter(|(name, field)| field.path().ends_with(name))
                    .map(|(name, field)| format!("{name}: {}", described(field)))
                    .collect();
                let chain = if top == "backoff" { ", or a list of dicts, each a stage" } else { "" };
                let first = takes(*field);
                let default = if top == "nested" { "None".into() } else { literal(*field) };
                (top.into(), format!("{first}, or a dict{chain}"), default, format!("{doc} {}", members.join(" ")))
            }
            _ => (top.into(), takes(*field), literal(*field), described(*field)),
        });
        if top == "hint" {
            let doc = "What is done about which failure; the first rule that holds takes it. Each is a dict: \"if\" has its \
                conditions, \"retry\" says whether it is retried, and \"attempts\", \"backoff\", \"jitter\", \"cap\" and \"hint\" \
                take the place of the policy's.";
            fields.push(("rules".into(), "a list of dicts".into(), "None".into(), doc.into()));
        }
    }
    fields
}

fn guard_help(of: &str) -> Result<String> {
    let (path, name, doc) = group(of).with_context(|| format!("no group {of:?}"))?;
    let start = match *path {
        "budget" | "breaker" => ", seed=None, now=None",
        "bulkhead" | "hedge" => "",
        _ => ", now=None",
    };
    let fields = names(path);
    let signature: Vec<_> = fields.iter().map(|(name, field)| format!("{name}={}", literal(*field))).collect();
    let mut out = format!("{name}(config=None, /, *{start}, {})\n--\n\n{doc}", signature.join(", "));
    out += " All calls that use the object share it.\n\n\
        config: the guard as a policy has it, a dict or its first field alone.\n";
    out += TIMES;
    for (name, field) in fields {
        out += &item(name, &takes(field), &described(field));
    }
    Ok(out)
}
