//! Prints bindings-wasm/src-ts/places.ts: what TypeScript knows of the wasm modules, read from their sources. The functions that they
//! export with their arguments, the names of the fields in their memory, and the places of those in the memory of `hot`.

use anyhow::{Context as _, Result};
use conformance::fields::GUARDS;
use conformance::methods::Method;
use core::mem::size_of;
use holdoff_core::{Budget, Call, Policy, RawStep, Rules};
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    println!(
        "/** The functions and the memory of the wasm modules. Generated from their sources by `cargo xtask generate`. */"
    );
    for (name, sources) in [
        ("Hot", &["hot.rs"] as &[_]),
        ("Rules", &["rules.rs"]),
        ("Policies", &["policies.rs"]),
        ("Guards", &["guards.rs", "guards/calls.rs", "guards/single.rs"]),
        ("Wheel", &["wheel.rs"]),
    ] {
        println!("\nexport interface {name}Exports {{");
        println!("  readonly memory: {{ readonly buffer: ArrayBuffer }};");
        for source in sources {
            let text = read(source)?;
            if text.contains("static PLACES") {
                println!("  readonly PLACES: {{ readonly value: number }};");
            }
            functions(&text);
            methods(&text)?;
        }
        println!("}}");
    }
    // The guards' memory has fields of its own, then a configuration and a state for each row of the core's table.
    let text = read("guards.rs")?;
    let own = text.split("place(offset_of!(Memory, ").skip(1).filter_map(|rest| rest.split_once(')'));
    let own = own.map(|(field, _)| camel(field)).filter(|field| !field.starts_with('$'));
    let guards = GUARDS.iter().flat_map(|guard| [format!("{}Config", guard.0), guard.0.to_owned()]);
    println!("\nexport const GUARDS_FIELDS = {:?} as const;", own.chain(guards).collect::<Vec<_>>());
    for (file, prefix) in [("hot.rs", ""), ("policies.rs", "BUILT_")] {
        println!("\n// The places of the fields in the memory of `{file}`, and their lengths, in words.");
        let (text, mut at) = (read(file)?, 0);
        for line in between(&text, "struct Memory {\n", "\n}").context("no memory")?.lines() {
            let Some((field, of)) = line.trim().trim_end_matches(',').split_once(": ") else { continue };
            // JavaScript knows no place in options, which come last.
            let Some(words) = words_of(of) else { continue };
            println!("export const {prefix}{} = {at};", field.to_uppercase());
            if words > 2 {
                println!("export const {prefix}{}_WORDS = {words};", field.to_uppercase());
            }
            at += words;
        }
        println!("export const {prefix}WORDS = {at};");
    }
    println!("export const RULES_WORDS = {};", size_of::<Rules>() / 4);
    println!("/** The place of the number of the latest refusal in a budget. */");
    println!("export const REFUSALS = {};", Budget::REFUSALS / 4);
    Ok(())
}

fn read(source: &str) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings-wasm/src").join(source);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn between<'t>(text: &'t str, from: &str, to: &str) -> Option<&'t str> {
    text.split_once(from)?.1.split_once(to).map(|parts| parts.0)
}

/// The words of 32 bits of a field in the memory of `hot`.
fn words_of(of: &str) -> Option<usize> {
    Some(match of {
        "u64" => 2,
        "[u64; 4]" => 8,
        "[u32; 6]" => 6,
        "Rules" => size_of::<Rules>() / 4,
        "RawStep" => size_of::<RawStep>() / 4,
        "Policy" => size_of::<Policy>() / 4,
        "Call" => size_of::<Call>() / 4,
        "Budget" => size_of::<Budget>() / 4,
        _ => return None,
    })
}

/// Prints each function that a module exports. Numbers of 64 bits do not cross in one argument, so all are numbers.
fn functions(text: &str) {
    for line in text.lines() {
        let exported = line.starts_with("    fn ") && line.contains(" = |");
        let Some(function) =
            line.strip_prefix("extern \"C\" fn ").or(line.strip_prefix("    fn ").filter(|_| exported))
        else {
            continue;
        };
        let Some((name, rest)) = function.split_once('(') else { continue };
        let Some((arguments, rest)) = rest.split_once(')') else { continue };
        let arguments: Vec<_> = arguments.split(", ").filter_map(|one| one.split_once(": ")).collect();
        let arguments: Vec<_> = arguments.iter().map(|(name, _)| format!("{}: number", camel(name))).collect();
        let answer = if rest.starts_with(" ->") { "number" } else { "void" };
        println!("  {name}({}): {answer};", arguments.join(", "));
    }
}

/// Prints the functions of guards' methods. A length of time crosses in the memory, and so do several numbers.
fn methods(text: &str) -> Result<()> {
    for Method { name, arguments, answer, .. } in conformance::methods::methods(text)? {
        let arguments: Vec<_> = arguments.iter().map(|(name, ..)| format!("{}: number", camel(name))).collect();
        let crosses = ["Span", "Option<Span>", "Timestamp"];
        let crosses = answer.is_none_or(|answer| answer.starts_with('[') || crosses.contains(&answer.as_str()));
        println!("  {name}({}): {};", arguments.join(", "), if crosses { "void" } else { "number" });
    }
    Ok(())
}

/// A name as TypeScript writes it.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default();
    let mut text = first[..1].to_lowercase() + &first[1..];
    for part in parts {
        text += &(part[..1].to_uppercase() + &part[1..]);
    }
    text
}
