//! The headers of the C binding and its interface as data, printed from its source: one header a topic.

use super::compile::STRICT;
use super::interface::{self, Constant, Interface, TYPES, VERSION};
use crate::shell::{self, say};
use anyhow::{Context as _, Result, ensure};
use cbindgen::{Builder, Config, DocumentationStyle, ItemType, Language, Layout, Style};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// A header: the modules that it is printed from in a reader's order, and the families of words that it has.
struct Topic {
    header: &'static str,
    about: &'static str,
    includes: &'static [&'static str],
    texts: &'static [(&'static str, &'static str, &'static str)],
    modules: &'static [&'static str],
    words: &'static [&'static str],
}

/// The header of a program that only calls and retries; it has the rules for pointers, units and threads.
const MAIN: &str = "holdoff.h";

/// Every header that is printed, in the order in which they include each other.
const TOPICS: [Topic; 10] = [
    Topic {
        header: "holdoff/errors.h",
        about: "The numbers of errors; docs/errors.md says what to do about each.",
        includes: &[],
        texts: &[],
        modules: &[],
        words: &["HOLDOFF_OK", "HOLDOFF_ERROR_"],
    },
    Topic {
        header: MAIN,
        about: PREAMBLE,
        includes: &["holdoff/errors.h"],
        texts: &[("HOLDOFF_VERSION", VERSION, "The version of this header.")],
        modules: &["abi", "problem", "options", "policy", "failure", "step", "call", "retry", "names", "panic"],
        words: &[
            "HOLDOFF_REASON_",
            "HOLDOFF_CAUSE_",
            "HOLDOFF_TRANSIENT",
            "HOLDOFF_THROTTLED",
            "HOLDOFF_TIMEOUT",
            "HOLDOFF_PERMANENT",
        ],
    },
    Topic {
        header: "holdoff/fields.h",
        about: "Policies from plain numbers, for programs that must be small: no names, no texts, and no code for them.",
        includes: &["../holdoff.h"],
        texts: &[],
        modules: &["fields"],
        words: &[
            "HOLDOFF_BACKOFF_",
            "HOLDOFF_JITTER_",
            "HOLDOFF_CAP_",
            "HOLDOFF_DEADLINE_",
            "HOLDOFF_HINT_",
            "HOLDOFF_LONG_HINT_",
        ],
    },
    Topic {
        header: "holdoff/classify.h",
        about: "Failures from HTTP answers and from what is known of an error: headers, and the rules of a policy document.",
        includes: &["../holdoff.h"],
        texts: &[],
        modules: &["headers", "rules"],
        words: &[],
    },
    Topic {
        header: "holdoff/guards.h",
        about: "Guards, which many calls share; calls under guards; retries inside retries.",
        includes: &["../holdoff.h"],
        texts: &[
            (
                "HOLDOFF_TOKEN_HEADER",
                "x-retry-attempt",
                "The name of the header whose value holdoff_token_header writes.",
            ),
            (
                "HOLDOFF_TOKEN_GRPC",
                "grpc-previous-rpc-attempts",
                "The name of the gRPC metadata whose value holdoff_token_grpc writes.",
            ),
        ],
        modules: &[
            "guards/budget",
            "guards/breaker",
            "guards/limiter",
            "guards/adaptive",
            "guards/bulkhead",
            "guards/timing",
            "guards/fields",
            "guards/saved",
            "guards",
            "guards/guarded",
            "guards/nested",
        ],
        words: &["HOLDOFF_BREAKER_"],
    },
    Topic {
        header: "holdoff/log.h",
        about: "States that outlive their process, and logs of calls: saved states, events, the recorder, replay.",
        includes: &["../holdoff.h", "guards.h"],
        texts: &[],
        modules: &["saved", "log/event", "log/recorder", "log/replay"],
        words: &["HOLDOFF_EVENT_", "HOLDOFF_REPLAY_"],
    },
    Topic {
        header: "holdoff/document.h",
        about: "Policies as texts: JSON documents, the forms of other systems, explanations and lints.",
        includes: &["../holdoff.h", "classify.h", "guards.h"],
        texts: &[],
        modules: &["json", "document", "explain"],
        words: &["HOLDOFF_FORM_", "HOLDOFF_LINT_", "HOLDOFF_IN_TIME_"],
    },
    Topic {
        header: "holdoff/machines.h",
        about: "Other machines of retries: a policy's delays alone, a retry inside a retry, the backoffs of Kubernetes' loops, \
                something that runs again and again, gates and token buckets, failures on purpose.",
        includes: &["../holdoff.h"],
        texts: &[],
        modules: &["schedule", "layered", "wait_backoff", "loop_backoff", "periodic", "gate", "bucket", "chaos"],
        words: &["HOLDOFF_LEVEL_", "HOLDOFF_TIMER_", "HOLDOFF_ANSWER_", "HOLDOFF_ENDED_"],
    },
    Topic {
        header: "holdoff/wheel.h",
        about: "Timing wheels: one timer of the host for a million retries.",
        includes: &["../holdoff.h"],
        texts: &[],
        modules: &["wheel"],
        words: &[],
    },
    Topic {
        header: "holdoff_testing.h",
        about: "For the tests of this repository and not installed: delays and intervals for draws that the test chooses, and a panic.",
        includes: &["holdoff/machines.h"],
        texts: &[],
        modules: &["testing"],
        words: &[],
    },
];

const PREAMBLE: &str = "\
Retry decisions as pure state machines: the current time and a seed go in, a decision comes out.

This header has policies, calls and retries. holdoff_loop.h runs an operation on a POSIX system; holdoff/guards.h, \
classify.h, document.h, fields.h, log.h, machines.h and wheel.h have the rest, holdoff/all.h has all of them.

Generated by `cargo xtask generate`; the text is in bindings-c/src.

Memory: every object lives in the caller's memory, so nothing has to be freed but a holdoff_wheel; only that, and reading \
JSON, allocates. Pointers are NULL, which is an error or means \"not wanted\" as each function says, or point to an object \
of their type; texts end with a zero. Memory without a valid object in it, such as zeroed memory, and memory that is not \
aligned for an object are an error and not a decision.

Units: every time and length of time is a uint64_t of nanoseconds. `now` counts from any epoch, should come from a \
monotonic clock, and may run backwards or to the end without harm. All sums saturate.

Errors: functions that can fail return 0 or a HOLDOFF_ERROR_ number as an int, and write through their out-parameters \
only on success. Functions that decide return a step; for wrong use that is HOLDOFF_STOP with HOLDOFF_INVALID, so that \
a loop until HOLDOFF_STOP always ends.

Threads: no globals but the function of holdoff_on_panic and a count of wheels. A policy is only read; any other object belongs to one thread at a time.";

const GENERATED: &str = "Generated by `cargo xtask generate`; the text is in bindings-c/src.";

/// Every file that is printed from the binding's source: its path and what it has to say.
pub(crate) fn printed() -> Result<Vec<(String, String)>> {
    let (modules, interface) = read()?;
    let mut files = vec![("bindings-c/interface.json".to_owned(), interface.json()?)];
    for topic in &TOPICS {
        let folder = if topic.header.contains("testing") { "bindings-c/tests" } else { "bindings-c/include" };
        files.push((format!("{folder}/{}", topic.header), print(topic, &modules, &interface)?));
    }
    files.push(("bindings-c/include/holdoff/all.h".to_owned(), umbrella()));
    Ok(files)
}

fn read() -> Result<(BTreeMap<String, String>, Interface)> {
    let modules = interface::expanded()?;
    let interface = interface::read(&modules, |module, name| {
        let of_words = |topic: &Topic| topic.words.iter().any(|words| name.starts_with(words));
        let mut topics = TOPICS.iter();
        let found = match module {
            "words" => topics.find(|topic| of_words(topic)),
            _ => topics.find(|topic| topic.modules.contains(&module)),
        };
        found.map(|topic| topic.header)
    })?;
    Ok((modules, interface))
}

/// Checks that the headers are what would be printed, that all of it is documented, that each compiles alone in every version
/// of C and C++, and that the interface says what the compilers do.
pub(super) fn check(scratch: &Path) -> Result<()> {
    for (path, wanted) in printed()? {
        let checked_in = fs::read_to_string(shell::root().join(&path)).with_context(|| path.clone())?;
        ensure!(checked_in.trim_end() == wanted.trim_end(), "{path} is stale: run `cargo xtask generate`");
    }
    let (_, interface) = read()?;
    let bare: Vec<&str> = interface.undocumented().collect();
    ensure!(bare.is_empty(), "these have no documentation: {bare:?}");
    compile_each(scratch)?;
    let program = scratch.join("layouts.c");
    fs::write(&program, interface::layouts(&interface))?;
    for target in ["x86_64-linux-gnu", "thumbv7m-none-eabi", "wasm32-unknown-unknown"] {
        let mut clang = shell::command("clang");
        clang.args([&format!("--target={target}"), "-std=c11", "-ffreestanding", "-fsyntax-only"]);
        clang.arg("-I").arg(include()).arg(&program);
        shell::step(&format!("sizes and offsets of interface.json for {target}"), &mut clang)?;
    }
    Ok(())
}

/// Compiles each header alone.
fn compile_each(scratch: &Path) -> Result<()> {
    for header in installed() {
        for (language, compilers, standards) in [
            ("c", ["gcc", "clang"], &["c99", "c11", "c17", "c2x"][..]),
            ("c++", ["g++", "clang++"], &["c++11", "c++14", "c++17", "c++20"]),
        ] {
            let source = scratch.join(if language == "c" { "header.c" } else { "header.cpp" });
            fs::write(&source, format!("#include <{header}>\nextern int not_empty;\n"))?;
            for compiler in compilers {
                for standard in standards {
                    let mut compile = shell::command(compiler);
                    compile.args(STRICT).args([&format!("-std={standard}"), "-fsyntax-only"]);
                    shell::output(compile.arg("-I").arg(include()).arg(&source))
                        .with_context(|| format!("{header} alone as {standard} with {compiler}"))?;
                }
            }
        }
    }
    say!("  each header compiles alone, in eight versions of C and C++ and with two compilers");
    Ok(())
}

fn include() -> std::path::PathBuf {
    shell::root().join("bindings-c/include")
}

/// A header of a topic.
fn print(topic: &Topic, modules: &BTreeMap<String, String>, interface: &Interface) -> Result<String> {
    let guard: String =
        topic.header.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let mut text = comment(topic.about, topic.header == MAIN);
    write!(text, "\n#ifndef {guard}\n#define {guard}\n\n")?;
    if topic.includes.iter().all(|include| include.contains("errors.h")) && !topic.modules.is_empty() {
        text += "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n";
    }
    for include in topic.includes {
        writeln!(text, "#include \"{include}\"")?;
    }
    for (name, value, doc) in topic.texts {
        write!(text, "\n{}#define {name} \"{value}\"\n", block(doc))?;
    }
    // Words are numbered by family, and in the order of their table.
    let words: Vec<&Constant> = topic.words.iter().flat_map(|family| interface.family(family)).collect();
    text += &constants(&words)?;
    if topic.modules.is_empty() {
        return Ok(text + "\n#endif\n");
    }
    text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
    for module in topic.modules {
        text += &constants(&interface.of_module(module))?;
        let source = modules.get(*module).with_context(|| format!("the C binding has no module {module}"))?;
        text += &declarations(module, source)?;
    }
    Ok(text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
}

/// The types and the functions of a module, by cbindgen.
fn declarations(module: &str, source: &str) -> Result<String> {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        no_includes: true,
        documentation_style: DocumentationStyle::Doxy,
        usize_is_size_t: true,
        ..Config::default()
    };
    config.function.args = Layout::Horizontal;
    config.parse.parse_deps = false;
    config.export.item_types = vec![ItemType::Structs, ItemType::OpaqueItems, ItemType::Typedefs, ItemType::Functions];
    config.export.rename = TYPES.map(|(core, c)| (core.to_owned(), c.to_owned())).into();
    let file = shell::target().join("expanded/module.rs");
    fs::write(&file, source)?;
    let mut bytes = Vec::new();
    let bindings = Builder::new().with_config(config).with_src(file).generate();
    bindings.with_context(|| format!("the declarations of {module}"))?.write(&mut bytes);
    let text = String::from_utf8(bytes)?;
    let text = text.trim();
    Ok(if text.is_empty() { String::new() } else { format!("\n{}\n", tidy(text)) })
}

/// The most characters of a line.
const WIDTH: usize = 120;

/// Comments of one line in one line, and functions in as many as they need.
fn tidy(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let closes = line.trim() == "*/";
        if let [.., open, only] = &lines[..]
            && closes
            && open.trim() == "/**"
            && only.trim_start().starts_with("* ")
        {
            let (indent, only) = only.split_at(only.find('*').unwrap_or(0));
            let one = format!("{}/** {} */", &indent[..indent.len().saturating_sub(1)], only[2..].trim_end());
            if one.len() <= WIDTH {
                lines.truncate(lines.len() - 2);
                lines.push(one);
                continue;
            }
        }
        if line.starts_with(['/', ' ']) || !line.ends_with(");") {
            lines.push(line.to_owned());
            continue;
        }
        let declared = wrap(&line.replace("struct ", ""), WIDTH - 4);
        lines.extend(
            declared.iter().enumerate().map(|(at, part)| if at == 0 { part.clone() } else { format!("    {part}") }),
        );
    }
    lines.join("\n")
}

/// Numbers, each with its comment; unsigned where C++ would narrow them.
fn constants(constants: &[&Constant]) -> Result<String> {
    let mut text = String::new();
    for (place, Constant { name, kind, value, doc, .. }) in constants.iter().enumerate() {
        let value = match &**kind {
            "uint64_t" if *value == u64::MAX => "UINT64_MAX".to_owned(),
            "uint64_t" => format!("UINT64_C({value})"),
            // Functions return the numbers of errors as an int.
            "uint32_t" if !name.starts_with("HOLDOFF_ERROR_") && name != "HOLDOFF_OK" => format!("{value}U"),
            _ => value.to_string(),
        };
        let (define, apart) = (format!("#define {name} {value}"), if place == 0 { "\n" } else { "" });
        let line = format!("{define} /**< {doc} */");
        let (before, line) = if line.len() <= WIDTH { (String::new(), line) } else { (block(doc), define) };
        writeln!(text, "{apart}{before}{line}")?;
    }
    Ok(text)
}

/// A comment before a declaration.
fn block(doc: &str) -> String {
    match wrap(doc, WIDTH - 3).as_slice() {
        [only] if only.len() <= WIDTH - 7 => format!("/** {only} */\n"),
        lines => format!("/**\n{} */\n", lines.iter().map(|line| format!(" * {line}\n")).collect::<String>()),
    }
}

/// The comment at the top of a header.
fn comment(about: &str, complete: bool) -> String {
    let about = if complete { about.to_owned() } else { format!("{about}\n\n{GENERATED}") };
    let mut text = String::from("/*\n");
    for line in about.split('\n').flat_map(|line| wrap(line, WIDTH - 3)) {
        text += format!(" * {line}").trim_end();
        text.push('\n');
    }
    text + " */\n"
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last().map_or(0, String::len);
        if last > 0 && last + 1 + word.len() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}

/// The header that has all of them but the loop.
fn umbrella() -> String {
    let mut text = comment("All headers of machines; the loop of POSIX systems is holdoff_loop.h.", false);
    text += "\n#ifndef HOLDOFF_ALL_H\n#define HOLDOFF_ALL_H\n\n#include \"../holdoff.h\"\n";
    let mut names: Vec<&str> = TOPICS.iter().filter_map(|topic| topic.header.strip_prefix("holdoff/")).collect();
    names.sort_unstable();
    for name in names {
        text += &format!("#include \"{name}\"\n");
    }
    text + "\n#endif\n"
}

/// The headers that are installed, by their paths below `include`.
pub(super) fn installed() -> Vec<&'static str> {
    let mut headers: Vec<&str> =
        TOPICS.iter().map(|topic| topic.header).filter(|one| !one.contains("testing")).collect();
    headers.extend([
        "holdoff/all.h",
        "holdoff_curl.h",
        "holdoff_host.h",
        "holdoff_loop.h",
        "holdoff_posix.h",
        "holdoff_shared.h",
        "holdoff_virtual.h",
    ]);
    headers
}

/// The functions that the headers declare.
pub(super) fn functions() -> Result<Vec<String>> {
    Ok(read()?.1.functions.into_iter().map(|one| one.name).collect())
}
