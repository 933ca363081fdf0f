//! The classes of guards in TypeScript, from the rows of their methods.

use super::typescript::{camel, comment, type_of};
use anyhow::{Context as _, Result, bail};
use conformance::fields::{GUARDS, Group};
use conformance::methods::{Argument, Method, methods};
use holdoff_core::{Field, Section, Takes};
use std::fmt::Write as _;
use std::path::Path;

/// What the classes use.
const HEAD: &str = r#"import { kindOf } from "../failure.js";
import { like } from "../memory.js";
import type { Duration, Same, Time } from "../values.js";
import { BREAKER_STATES, type BreakerState, type FailureKind } from "../words.js";
import { type AdaptiveOptions, StartedGuard } from "./adaptive.js";
import { type Acquired, acquired, WatchedGuard } from "./breaker.js";
import type * as Fields from "./fields.js";
import { Guard, type GuardOptions, PlainGuard } from "./guard.js";
import { core, load, memory, readArgument } from "./memory.js";
import {
  checkedCount,
  checkedVerdict,
  type Entry,
  entryOf,
  lengthOf,
  type Length,
  numberOf,
  real,
  withdrawalOf,
  writeLength,
  writeSpan,
} from "./methods.js";
"#;

/// The class that a class derives from, and the type of its options.
fn base(name: &str, has_methods: bool) -> (&'static str, &'static str) {
    match name {
        "breaker" => ("WatchedGuard", "GuardOptions"),
        "adaptive" => ("StartedGuard", "AdaptiveOptions"),
        _ if has_methods => ("Guard", "GuardOptions"),
        _ => ("PlainGuard", "GuardOptions"),
    }
}

pub(super) fn classes() -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings-wasm/src/guards/single.rs");
    let methods = methods(&std::fs::read_to_string(path)?)?;
    let mut out = format!(
        "/** The classes of guards. Generated from core/src/decide/guards.rs and bindings-wasm/src/guards/single.rs by `cargo xtask \
         generate`. */\n{HEAD}"
    );
    for (index, guard) in GUARDS.iter().enumerate() {
        out += &class(index, guard, &methods)?;
    }
    let each =
        |line: &dyn Fn(&str, &str) -> String| GUARDS.iter().map(|guard| line(guard.0, guard.1)).collect::<String>();
    Ok(out
        + &format!(
            "\n/** The guards of a set. */\nexport abstract class GuardSet {{\n{}}}\n\n\
             /** The classes in the order of their bits. */\nconst CLASSES: readonly {{ readonly prototype: Guard }}[] = [\n{}];\n\
             export default CLASSES;\n",
            each(&|name, class| format!("  declare readonly {name}: {class} | undefined;\n")),
            each(&|_, class| format!("  {class},\n")),
        ))
}

fn class(index: usize, (name, class, doc): &Group, methods: &[Method]) -> Result<String> {
    let prefix = format!("{name}_");
    let own = || methods.iter().filter_map(|method| Some((method.name.strip_prefix(&prefix)?, method)));
    let (base, options) = base(name, own().next().is_some());
    let section = Section::GUARDS.iter().find(|section| section.name == *name).context("no such section")?;
    let of = match section.first.takes() {
        Takes::Word(_) => format!("Fields.{class}Fields"),
        Takes::Span { .. } | Takes::SpanOrNone { .. } => {
            format!("{} | bigint | Fields.{class}Fields", type_of(section.first))
        }
        _ => format!("{} | Fields.{class}Fields", type_of(section.first)),
    };
    let needs =
        Field::ALL.iter().any(|field| field.path().starts_with(&format!("{name}.")) && needs(section.first, *field));
    let (fields, given) = match section.first.default().filter(|_| !needs) {
        Some(kind) if matches!(section.first.takes(), Takes::Word(_)) => (
            format!("fields?: {of}[\"kind\"] | {of}"),
            format!("fields ?? {:?}", section.first.words().nth(kind as usize).unwrap_or("")),
        ),
        _ => (format!("fields: {of}"), "fields".to_owned()),
    };
    let mut out = format!("\n{}export class {class} extends {base} {{\n", comment(doc.trim(), ""));
    let _ =
        writeln!(out, "  constructor({fields}, options?: {options}) {{\n    super({index}, {given}, options);\n  }}");
    for (name, method) in own() {
        out += &format!("\n{}", comment(&method.doc, "  "));
        out += &body(&camel(name), method).with_context(|| method.name.clone())?;
    }
    Ok(out + "}\n")
}

/// True if the kind that stands for a guard without one needs the field.
fn needs(first: Field, field: Field) -> bool {
    first.default().is_some_and(|kind| field.is_needed() && field.fits(kind as u8))
}

/// An argument: as a parameter, and as what is passed on.
fn argument((name, of, default): &Argument) -> Result<(String, String)> {
    let given = |of: &str| match default {
        Some(default) => format!("{name} = {default}"),
        None => format!("{name}: {of}"),
    };
    Ok(match of.as_str() {
        "u32" | "QueuePlace" | "Withdrawal" => (given("number"), format!("checkedCount({name}, {name:?})")),
        "Option<Withdrawal>" => (format!("{name}?: number"), format!("numberOf({name}, {name:?})")),
        "f64" => (given("number"), format!("real({name})")),
        "bool" => (given("boolean"), format!("{name} ? 1 : 0")),
        "FailureKind" => (given("FailureKind"), format!("kindOf({name})")),
        "Verdict" => (given("\"success\" | \"failure\""), format!("checkedVerdict({name})")),
        "Permit" => (given("number"), name.clone()),
        _ => bail!("no argument is a {of}"),
    })
}

fn body(name: &str, method: &Method) -> Result<String> {
    let arguments = method.arguments.iter().map(argument).collect::<Result<Vec<_>>>()?;
    let answer = method.answer.as_deref().unwrap_or("");
    // An answer that is a time is a number or a bigint, as the time is that was given.
    let sampled = method.sort != "get" && matches!(answer, "Option<Timestamp>" | "Result<Permit, Timestamp>" | "Span");
    let mut parameters: Vec<_> = arguments.iter().map(|argument| argument.0.clone()).collect();
    let mut lines = Vec::new();
    match (method.is_timed, sampled && method.long.is_none()) {
        (true, true) => lines.push("const sample = this.at(now) as T;".to_owned()),
        (true, false) => lines.push("this.at(now);".to_owned()),
        _ => lines.push("load(this);".to_owned()),
    }
    let time = if sampled { "T" } else { "Time" };
    if let Some((name, of, default)) = &method.long {
        let (of, write) = if of == "Length" { ("Length", "writeLength") } else { (time, "writeSpan") };
        let default = default.as_ref().map(|default| format!(" = {default}")).unwrap_or_default();
        parameters.push(format!("{name}: {of}{default}"));
        lines.push(format!("{write}({name}, {name:?});"));
    }
    if method.is_timed {
        parameters.push(if method.long.is_some() { "now?: Time".to_owned() } else { format!("now?: {time}") });
    }
    let passed: Vec<_> = arguments.into_iter().map(|argument| argument.1).collect();
    let call = format!("core.{}({})", method.name, passed.join(", "));
    let call = if matches!(method.sort.as_str(), "watch" | "change") {
        format!("this.{}(() => {call})", method.sort)
    } else {
        call
    };
    let sample = method.long.as_ref().map_or("sample", |long| &long.0);
    let (of, of_call) = match answer {
        "" => ("void".to_owned(), None),
        "u32" => ("number".into(), Some(format!("{call} >>> 0"))),
        "f64" => ("number".into(), Some(call.clone())),
        "bool" => ("boolean".into(), Some(format!("{call} !== 0"))),
        "BreakerState" => ("BreakerState".into(), Some(format!("BREAKER_STATES[{call}] as BreakerState"))),
        "Option<Withdrawal>" => ("number | undefined".into(), Some(format!("withdrawalOf({call})"))),
        "Entry" => ("Entry".into(), Some(format!("entryOf({call})"))),
        "Result<Permit, Timestamp>" => ("Acquired<Same<T>>".into(), Some(format!("acquired({call}, sample)"))),
        "Option<Timestamp>" => {
            let later = "like(sample, memory().readNumber(1))";
            ("Same<T> | undefined".into(), Some(format!("{call} === 0 ? undefined : {later}")))
        }
        _ => {
            // It is in the memory.
            lines.push(format!("{call};"));
            let read = |(at, name): (usize, &String)| format!("{name}: readArgument({})", at + 1);
            match answer {
                "Timestamp" => ("number".into(), Some("readArgument(1)".into())),
                "Span" if sampled => ("Same<T>".into(), Some(format!("like({sample}, memory().readNumber(1))"))),
                "Span" => ("bigint".into(), Some("memory().readNumber(1)".into())),
                "Option<Span>" => ("bigint | undefined".into(), Some("lengthOf(memory().readNumber(1))".into())),
                _ if !method.numbers.is_empty() => {
                    let of: Vec<_> = method.numbers.iter().map(|name| format!("readonly {name}: number")).collect();
                    let read: Vec<_> = method.numbers.iter().enumerate().map(read).collect();
                    (format!("{{ {} }}", of.join("; ")), Some(format!("{{ {} }}", read.join(", "))))
                }
                _ => bail!("no answer is a {answer}"),
            }
        }
    };
    lines.push(of_call.map_or_else(|| format!("{call};"), |answer| format!("return {answer};")));
    let generic = match (sampled, method.long.is_some()) {
        (true, true) => "<T extends Time>",
        (true, false) => "<T extends Time = number>",
        _ => "",
    };
    let get = if method.sort == "get" { "get " } else { "" };
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    Ok(format!("  {get}{name}{generic}({}): {of} {{\n{body}  }}\n", parameters.join(", ")))
}
