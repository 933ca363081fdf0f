//! Prints the typed options of JavaScript and Python and the tables of docs/policy.md from the core's table of fields.

use anyhow::{Context as _, Result, bail};
use holdoff_core::{Field, Preset, Range, Section, Span, Takes};
use std::fmt::Write as _;

/// The groups of fields: the prefix of their paths, the name of their type, and what they are.
const GROUPS: [(&str, &str, &str); 12] = [
    ("backoff", "Backoff", "How delays grow from one failure to the next; one stage of a chain."),
    ("jitter", "Jitter", "How delays are spread."),
    ("hint", "Hint", "What is done with a server's hint on when to come back."),
    ("budget", "Budget", "How many retries there may be for the calls there are."),
    ("breaker.open_for", "OpenFor", "How long a breaker stays open, longer with each opening in a row."),
    ("breaker", "Breaker", "When a breaker stops calls to a server that keeps failing."),
    ("limiter", "Limiter", "How many attempts there may be in a time."),
    ("bulkhead", "Bulkhead", "How many attempts may run at once."),
    ("adaptive", "Adaptive", "A rate of attempts that follows the server's throttling."),
    ("stretch", "Stretch", "Longer delays while many attempts fail."),
    ("hedge", "Hedge", "A second attempt beside a slow one."),
    ("nested", "Nested", "What a retry does inside another one."),
];

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("policy.ts") => print!("{}", policy_ts()),
        Some("guards.ts") => print!("{}", guards_ts()),
        Some("python") => print!("{}", python()),
        Some("docs") => print!("{}", docs(&std::fs::read_to_string("docs/policy.md")?)?),
        other => bail!("policy.ts, guards.ts, python or docs, not {other:?}"),
    }
    Ok(())
}

/// The names in a group, without its prefix, each with its field. A group within it has a type of its own.
fn names(group: &str) -> Vec<(&'static str, Field)> {
    let prefix = format!("{group}.");
    let own = Field::names().filter_map(|(name, field)| Some((name.strip_prefix(&prefix)?, field)));
    own.filter(|(name, _)| !name.contains('.')).collect()
}

/// The type of the group with that path.
fn group(path: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    GROUPS.iter().find(|group| group.0 == path)
}

/// The default of a field, as a document has it; empty where there is none.
fn default(field: Field) -> String {
    let number = |number: u64| match field.takes() {
        Takes::Word(words) => {
            words.iter().find(|word| u64::from(word.1) == number).map_or("", |word| word.0).to_owned()
        }
        Takes::SpanOrNone { none, .. } if number == none => "none".to_owned(),
        Takes::Span { .. } | Takes::SpanOrNone { .. } => Span::from_nanos(number).to_string(),
        Takes::Number(_) => f64::from_bits(number).to_string(),
        _ => number.to_string(),
    };
    let parts = [field.default().map(number), Some(field.default_note().to_owned())];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The range of a field; empty where any value of its type will do.
fn range(field: Field) -> String {
    match field.takes() {
        Takes::WholeNumber(from, u32::MAX) => format!("from {from} on"),
        Takes::WholeNumber(from, to) => format!("{from} to {to}"),
        Takes::Number(Range::From(from)) => format!("from {from} on"),
        Takes::Number(Range::AboveZero) | Takes::Span { from: 1 } | Takes::SpanOrNone { from: 1, .. } => {
            "above 0".into()
        }
        Takes::Number(Range::Share) => "above 0, at most 1".into(),
        Takes::Attempts => "from 1 on".into(),
        _ => String::new(),
    }
}

/// The kinds that a field is for; empty where it is for all of its group.
fn kinds(field: Field) -> String {
    let group = field.path().rsplit_once('.').map_or("", |path| path.0);
    let group = if field == Field::BreakerOpenFor { "breaker.open_for" } else { group };
    // Every mode of a hint has a use for all of its fields.
    let first = names(group).first().copied().filter(|first| matches!(first.0, "kind" | "mode") && group != "hint");
    let Some((_, kind)) = first else { return String::new() };
    let Takes::Word(words) = kind.takes() else { return String::new() };
    let all: Vec<_> = words.iter().filter(|word| word.0 != "none").collect();
    let fits: Vec<_> = all.iter().filter(|word| field.fits(word.1)).map(|word| word.0).collect();
    if field == kind || fits.len() == all.len() {
        return String::new();
    }
    if fits.len() + 2 >= all.len() && all.len() > 3 {
        let others: Vec<_> = all.iter().filter(|word| !field.fits(word.1)).map(|word| word.0).collect();
        return format!("not for {}", others.join(" and "));
    }
    format!("for {}", fits.join(", "))
}

/// The doc of a field with its range, its kinds and its default, in sentences.
fn described(field: Field) -> String {
    let capital = |text: String| text[..1].to_uppercase() + &text[1..];
    let mut doc = field.doc().trim().to_owned();
    for (lead, text) in [("", range(field)), ("", kinds(field)), ("Default: ", default(field))] {
        if !text.is_empty() {
            let _ = write!(doc, " {}.", if lead.is_empty() { capital(text) } else { format!("{lead}{text}") });
        }
    }
    if field.is_needed() && !matches!(field.path(), "backoff.delays") {
        doc += if kinds(field).is_empty() { " Needed." } else { " Needed there." };
    }
    doc
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &part[..1].to_uppercase() + &part[1..])
}

/// A comment of TypeScript, in lines of at most 120 letters.
fn comment(text: &str, indent: &str) -> String {
    let whole = format!("{indent}/** {text} */");
    if whole.len() <= 120 {
        return whole + "\n";
    }
    let mut out = format!("{indent}/**\n");
    for line in wrapped(text, 120 - indent.len() - 3) {
        let _ = writeln!(out, "{indent} * {line}");
    }
    out + &format!("{indent} */\n")
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    words.map(|word| format!("{word:?}")).collect()
}

/// A union of TypeScript behind `start`, a line each where it is too long for one.
fn union(start: &str, words: &[String]) -> String {
    let line = format!("{start} {};\n", words.join(" | "));
    if line.len() <= 121 {
        return line;
    }
    words.iter().fold(start.to_owned(), |union, word| union + "\n  | " + word) + ";\n"
}

/// The type of a field in TypeScript.
fn type_ts(field: Field) -> String {
    match field {
        Field::BackoffKind => return "BackoffKind".into(),
        Field::JitterKind => return "JitterKind".into(),
        Field::Preset => return "PresetName".into(),
        Field::BackoffOn => return "Retried".into(),
        Field::BreakerRefusal | Field::LimiterRefusal | Field::AdaptiveRefusal => return "Refusal".into(),
        _ => {}
    }
    match field.takes() {
        Takes::Word(_) => quoted(field.words()).join(" | "),
        Takes::Span { .. } | Takes::SpanOrNone { .. } => "Duration".into(),
        Takes::Number(_) | Takes::WholeNumber(..) => "number".into(),
        Takes::Attempts => "number | \"forever\"".into(),
        Takes::Spans => "readonly Duration[]".into(),
        Takes::Version => "1".into(),
    }
}

/// A field of an interface, in both spellings.
fn member(name: &str, of: &str, doc: &str) -> String {
    let mut out = comment(doc, "  ");
    let _ = writeln!(out, "  {}?: Maybe<{of}>;", camel(name));
    if camel(name) != name {
        let _ = writeln!(out, "  /** Another spelling of `{}`. */\n  {name}?: Maybe<{of}>;", camel(name));
    }
    out
}

fn interface(group_path: &str) -> String {
    let Some((path, name, doc)) = group(group_path) else { return String::new() };
    let mut out = format!("/** {doc} */\nexport interface {name}Fields {{\n");
    for (name, field) in names(path) {
        if name == "open_for" {
            out += &member(name, "Duration | OpenForFields", &described(field));
        } else if field.path().ends_with(name) || field.path() == *path && name == "initial" {
            out += &member(name, &type_ts(field), &described(field));
        } else {
            out += &member(name, &type_ts(field), "Another name of `initial`.");
        }
    }
    out + "}\n"
}

const GENERATED: &str = "Generated from core/src/fields.rs by `cargo xtask generate`.";

fn policy_ts() -> String {
    let mut out = format!(
        "/** What a policy can be given as. The core reads the values and says what is wrong. {GENERATED} */\n\
         import type {{ GuardFields, NestedFields }} from \"./guards/fields.js\";\n\
         import type {{ Duration }} from \"./times.js\";\n\
         import type {{ FailureKind }} from \"./words.js\";\n\n\
         type Maybe<T> = T | null | undefined;\n\n\
         /** A named policy: what another system does when nobody tells it otherwise. */\n"
    );
    out += &union("export type PresetName =", &quoted(Preset::ALL.iter().map(|preset| preset.name())));
    out += "\n/** How delays grow. */\n";
    out += &union("export type BackoffKind =", &quoted(Field::BackoffKind.words()));
    out += "\n/** How delays are spread. */\n";
    out += &union("export type JitterKind =", &quoted(Field::JitterKind.words()));
    out += "\ntype Retried = Exclude<FailureKind, \"permanent\">;\n";
    for path in ["backoff", "jitter", "hint"] {
        out += "\n";
        out += &interface(path);
    }
    out += r#"
/** Which failures are worth another try. A list that is not given says nothing, an empty one names nothing. */
export interface RetryOnLists {
  /** Statuses, and classes of them: `[408, 429, "5xx"]`. */
  http?: Maybe<readonly (number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx")[]>;
  /** Codes by number or name: `["UNAVAILABLE"]`. */
  grpc?: Maybe<readonly (number | string)[]>;
  /** Kinds of failures. */
  kinds?: Maybe<readonly Retried[]>;
  /** Texts, one of which a message must contain; case counts. */
  patterns?: Maybe<readonly string[]>;
}

/** The same, with lists of their own for operations that may not run twice (`idempotent: false`). */
export interface RetryOnFields extends RetryOnLists {
  /** The lists for operations that may not run twice. */
  nonIdempotent?: Maybe<RetryOnLists>;
  /** Another spelling of `nonIdempotent`. */
  non_idempotent?: Maybe<RetryOnLists>;
}

type Backoff = BackoffKind | BackoffFields;

/** The fields of a policy. A field that is missing or null has its default. Names in snake_case are accepted too. */
export interface PolicyFields extends GuardFields {
"#;
    for field in Field::ALL.iter().filter(|field| !field.is_guards() && !field.path().contains('.')) {
        out += &member(field.path(), &type_ts(*field), &described(*field));
    }
    for (name, of, doc) in [
        (
            "backoff",
            "Backoff | readonly Backoff[]",
            "How delays grow: one backoff, or up to six stages of which each takes over from the one before.",
        ),
        ("jitter", "JitterKind | JitterFields", "How delays are spread."),
        ("hint", "HintFields[\"mode\"] | HintFields", "What is done with a server's hint on when to come back."),
        ("retry_on", "RetryOnFields", "Which failures are worth another try."),
        (
            "nested",
            "NestedFields[\"mode\"] | NestedFields",
            "What a retry does inside another one, or around one; needs `holdoff/guards`, as the guards do.",
        ),
    ] {
        out += &member(name, of, doc);
    }
    out + "}\n"
}

fn guards_ts() -> String {
    let mut out = format!(
        "/** What guards can be given as: the sections of a policy document. {GENERATED} */\n\
         import type {{ Duration }} from \"../times.js\";\n\n\
         type Maybe<T> = T | null | undefined;\n\n\
         /** The behaviour of a refused call: give up at once, or sleep until the guard would let it through. */\n"
    );
    out += &union("export type Refusal =", &quoted(Field::BreakerRefusal.words()));
    for group in GROUPS.iter().skip(3) {
        out += "\n";
        out += &interface(group.0);
    }
    out +=
        "\n/** The sections of guards: an object each, or its first field alone. */\nexport interface GuardFields {\n";
    for section in Section::GUARDS.iter().filter(|section| section.name != "nested") {
        let Some((path, name, doc)) = group(section.name) else { continue };
        let alone = match section.first.takes() {
            Takes::Word(_) => format!("{name}Fields[\"kind\"]"),
            _ => type_ts(section.first),
        };
        out += &member(path, &format!("{alone} | {name}Fields"), doc);
    }
    out + "}\n"
}

/// The type of a field in Python.
fn type_python(field: Field) -> &'static str {
    match (field, field.takes()) {
        (Field::BackoffKind, _) => "BackoffKind",
        (Field::BackoffOn, _) => "RetryKind",
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
        (_, Takes::Word(_)) => "Refusal",
        (_, Takes::Span { .. }) => "Duration",
        (_, Takes::SpanOrNone { .. }) => "Duration | Literal[\"none\"]",
        (_, Takes::Number(_)) => "float",
        (_, Takes::Spans) => "Sequence[Duration]",
        _ => "int",
    }
}

fn member_python(name: &str, of: &str, doc: &str) -> String {
    let mut out = format!("    {name}: {of}\n");
    if doc.len() <= 110 {
        let _ = writeln!(out, "    \"\"\"{doc}\"\"\"");
        return out;
    }
    let lines = wrapped(doc, 112);
    out + "    \"\"\"" + &lines.join("\n    ") + "\n    \"\"\"\n"
}

/// The name of a group's type in Python.
fn class(group: &(&str, &str, &str)) -> String {
    let plain = matches!(group.0, "backoff" | "jitter" | "hint" | "breaker.open_for");
    format!("{}{}", group.1, if plain { "" } else { "Fields" })
}

fn python() -> String {
    let mut out = format!(
        "\"\"\"The types of the fields of policies and guards. {GENERATED}\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Sequence\n\
         from datetime import timedelta\n\
         from typing import Literal, TypeAlias, TypedDict\n\n\
         from ._literals import (\n    AdaptiveKind,\n    BackoffKind,\n    BreakerHint,\n    BreakerKind,\n    \
         BreakerMode,\n    BudgetKind,\n    HintMode,\n    HintOver,\n    JitterKind,\n    LimiterKind,\n    NestedMode,\n    \
         OpenForKind,\n    Refusal,\n    Reopen,\n    RetryKind,\n)\n\n\
         Duration: TypeAlias = float | str | timedelta\n\
         \"\"\"A length of time: seconds, text with a unit such as ``\"250ms\"``, or a timedelta.\"\"\"\n"
    );
    for group in &GROUPS {
        let (path, _, doc) = group;
        let _ = write!(out, "\n\nclass {}(TypedDict, total=False):\n    \"\"\"{doc}\"\"\"\n\n", class(group));
        for (name, field) in names(path) {
            let alias = !(field.path().ends_with(name) || field.path() == *path && name == "initial");
            let text = if alias { "Another name of ``initial``.".to_owned() } else { described(field) };
            let of = if name == "open_for" { "Duration | OpenFor" } else { type_python(field) };
            out += &member_python(name, &format!("{of} | None"), &text.replace('`', "``").replace("````", "``"));
        }
    }
    out
}

/// docs/policy.md with its tables of fields, each between `<!-- fields of GROUP -->` and `<!-- end -->`.
fn docs(page: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("<!-- fields of ") {
        let (group, behind) = behind.split_once(" -->\n").context("a marker has an end")?;
        let (_, after) = behind.split_once("<!-- end -->").context("a table has an end")?;
        let _ = write!(out, "{before}<!-- fields of {group} -->\n{}<!-- end -->", table(group));
        rest = after;
    }
    Ok(out + rest)
}

fn table(group: &str) -> String {
    let mut out = "| field | meaning | takes | default |\n|---|---|---|---|\n".to_owned();
    for field in Field::ALL.iter().filter(|field| field.path().starts_with(&format!("{group}."))) {
        let names: Vec<_> =
            Field::names().filter(|known| known.1 == *field).map(|known| format!("`{}`", known.0)).collect();
        let value = match field.takes() {
            Takes::Word(_) => field.words().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Takes::Span { .. } => "a time".into(),
            Takes::SpanOrNone { .. } => "a time or `none`".into(),
            Takes::Number(_) => "a number".into(),
            Takes::WholeNumber(..) => "a whole number".into(),
            Takes::Attempts => "a whole number or `forever`".into(),
            Takes::Spans => "a list of times".into(),
            Takes::Version => "1".into(),
        };
        let value = [value, range(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let value = [value, kinds(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        let default = if field.is_needed() { "needed".to_owned() } else { default(*field) };
        let _ = writeln!(out, "| {} | {} | {value} | {default} |", names.join(", "), field.doc().trim());
    }
    out
}
