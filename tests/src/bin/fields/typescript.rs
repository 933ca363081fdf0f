//! The types of policies and guards in TypeScript, and the tables that JavaScript checks options by.

use super::{GENERATED, group, quoted, wrapped};
use anyhow::{Context as _, Result, bail};
use conformance::fields::{GUARDS, described, groups, names};
use holdoff_core::{ErrorCode, Field, GrpcCode, Preset, Range, Rules, Section, Span, Takes};
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &part[..1].to_uppercase() + &part[1..])
}

/// A comment of TypeScript, in lines of at most 120 letters.
pub(super) fn comment(text: &str, indent: &str) -> String {
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

/// A union of TypeScript behind `start`, a line each where it is too long for one.
fn union(start: &str, words: &[String]) -> String {
    let line = format!("{start} {};\n", words.join(" | "));
    if line.len() <= 121 {
        return line;
    }
    words.iter().fold(start.to_owned(), |union, word| union + "\n  | " + word) + ";\n"
}

/// The type of a field in TypeScript.
pub(super) fn type_of(field: Field) -> String {
    match field {
        Field::BackoffKind => return "BackoffKind".into(),
        Field::JitterKind => return "JitterKind".into(),
        Field::Preset => return "PresetName".into(),
        _ if field.path().ends_with(".refusal") => return "Refusal".into(),
        _ => {}
    }
    match field.takes() {
        Takes::Word(_) => quoted(field.words()).join(" | "),
        Takes::Span { .. } => "Duration".into(),
        Takes::SpanOrNone { .. } => "Duration | \"none\"".into(),
        Takes::Number(_) | Takes::WholeNumber(..) => "number".into(),
        Takes::Attempts => "number | \"forever\"".into(),
        Takes::Spans => "readonly Duration[]".into(),
        Takes::SpanOrSpans(_) => "Duration | readonly Duration[]".into(),
        Takes::Version => "1".into(),
        Takes::Flag => "boolean".into(),
    }
}

/// A field of an interface.
fn member(name: &str, of: &str, doc: &str) -> String {
    comment(doc, "  ") + &format!("  {}?: Maybe<{of}>;\n", camel(name))
}

/// The names of a group's fields with the kinds that have a use for each, where kinds differ in that.
fn variants(path: &str) -> Vec<(Vec<&'static str>, Vec<String>)> {
    let fields = names(path);
    let Some((_, kind)) = fields.first().filter(|first| first.0 == "kind") else { return Vec::new() };
    let Takes::Word(words) = kind.takes() else { return Vec::new() };
    let mut variants: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for (word, number) in words.iter() {
        let fits = |field: Field| number != 0 && (field.fits(number) || !field.path().starts_with(path));
        let group: Vec<_> = fields.iter().skip(1).filter(|(_, field)| fits(*field)).map(|(name, _)| *name).collect();
        match variants.iter_mut().find(|known| known.0 == group) {
            Some(known) => known.1.push(word.to_owned()),
            None => variants.push((group, vec![word.to_owned()])),
        }
    }
    if variants.len() > 1 { variants } else { Vec::new() }
}

fn interface(group_path: &str) -> String {
    let Some((path, name, doc)) = group(group_path) else { return String::new() };
    let variants = variants(path);
    let head = if variants.is_empty() {
        format!("/** {doc} */\nexport interface {name}Fields {{\n")
    } else {
        format!("interface Any{name} {{\n")
    };
    let mut out = head;
    for (name, field) in names(path) {
        if name == "open_for" {
            out += &member(name, "Duration | readonly Duration[] | OpenForFields", &described(field));
        } else if field.path().ends_with(name) || field.path() == *path && name == "initial" {
            out += &member(name, &type_of(field), &described(field));
        } else {
            out += &member(name, &type_of(field), "Another name of `initial`.");
        }
    }
    out += "}\n";
    if variants.is_empty() {
        return out;
    }
    let of = |(fields, kinds): &(Vec<&str>, Vec<String>)| {
        let fields = quoted(fields.iter().map(|name| camel(name)).collect::<Vec<_>>().iter().map(String::as_str));
        let fields = if fields.is_empty() { "never".to_owned() } else { fields.join(" | ") };
        format!("Only<Any{name}, {}, {fields}>", quoted(kinds.iter().map(String::as_str)).join(" | "))
    };
    out += &format!("\n/** {doc} Each kind has fields of its own. */\n");
    out + &union(&format!("export type {name}Fields ="), &variants.iter().map(of).collect::<Vec<_>>())
}

/// The fields of some kinds, and none of the others.
const ONLY: &str = "/** The fields of some kinds alone: the others may not be given. */\n\
    type Only<All, Kind, Names> = {\n  [Name in keyof All]: Name extends \"kind\" ? Maybe<Kind> : Name extends Names ? \
    All[Name] : null | undefined;\n};\n";

pub(super) fn policy() -> String {
    let mut out = format!(
        "/** What a policy can be given as. The core reads the values and says what is wrong. {GENERATED} */\n\
         import type {{ GuardFields, NestedFields }} from \"./guards/fields.js\";\n\
         import type {{ Duration }} from \"./values.js\";\n\
         import type {{ FailureKind }} from \"./words.js\";\n\n\
         type Maybe<T> = T | null | undefined;\n\n{ONLY}\n\
         /** A named policy: what another system does when nobody tells it otherwise. */\n"
    );
    out += &union("export type PresetName =", &quoted(Preset::ALL.iter().map(|preset| preset.name())));
    out += "\n/** How delays grow. */\n";
    out += &union("export type BackoffKind =", &quoted(Field::BackoffKind.words()));
    out += "\n/** How delays are spread. */\n";
    out += &union("export type JitterKind =", &quoted(Field::JitterKind.words()));
    for path in ["backoff", "jitter", "hint"] {
        out += "\n";
        out += &interface(path);
    }
    out += r#"
/** Conditions of a rule, which must all hold; of a list one entry. */
export interface Conditions {
  /** HTTP statuses, and classes of them: `[408, 429, "5xx"]`. */
  http?: Maybe<readonly (number | "1xx" | "2xx" | "3xx" | "4xx" | "5xx")[]>;
  /** gRPC codes by number or name: `["UNAVAILABLE"]`. */
  grpc?: Maybe<readonly (number | string)[]>;
  /** Kinds of failures. */
  kinds?: Maybe<readonly FailureKind[]>;
  /** Codes of errors: of Node (`"ECONNRESET"`), of a client, an SQLSTATE; `code` or `sqlState` of an error or of its causes. */
  codes?: Maybe<readonly string[]>;
  /** Names of classes of errors, and of classes that they derive from. */
  types?: Maybe<readonly string[]>;
  /** Texts, one of which the message must contain; case counts. */
  patterns?: Maybe<readonly string[]>;
  /** True for operations that can run twice, false for others. */
  idempotent?: Maybe<boolean>;
  /** True for requests that were never sent, false for others. */
  unsent?: Maybe<boolean>;
}

/** Fields that take the place of the policy's. */
interface Instead {
  /** How delays are spread. */
  jitter?: Maybe<JitterKind | JitterFields>;
  /** The value that the longest delay bounds. */
  cap?: PolicyFields["cap"];
  /** What is done with a server's hint on when to come back. */
  hint?: Maybe<HintFields["mode"] | HintFields>;
}

/** A stage of a chain. */
export type StageFields = BackoffFields & Instead;

interface If {
  /** The failures that the rule takes: conditions, or a list of such objects of which one must hold. Default: every failure. */
  if?: Maybe<Conditions | readonly Conditions[]>;
}

/** A rule that makes failures permanent. */
export interface NeverRule extends If {
  retry: false;
}

/** A rule about failures that are retried. */
export interface RetryRule extends If, Instead {
  /** True retries permanent failures, too. */
  retry?: Maybe<true>;
  /** The number of attempts, counted by the failures of this rule alone. Default: they count in the policy's. */
  attempts?: Maybe<number | "forever">;
  /** How the delays grow. */
  backoff?: Maybe<BackoffKind | StageFields | readonly StageFields[]>;
}

/** What is done about some failures: the first rule that holds takes a failure. */
export type Rule = NeverRule | RetryRule;

type Backoff = BackoffKind | StageFields;

/** The fields of a policy. A field that is missing or null has its default. */
export interface PolicyFields extends GuardFields {
"#;
    for field in Field::ALL.iter().filter(|field| !field.is_guards() && !field.path().contains('.')) {
        out += &member(field.path(), &type_of(*field), &described(*field));
    }
    for (name, of, doc) in [
        (
            "backoff",
            "Backoff | readonly Backoff[]",
            "How delays grow: one backoff, or up to sixteen stages of which each takes over from the one before.",
        ),
        ("jitter", "JitterKind | JitterFields", "How delays are spread."),
        ("hint", "HintFields[\"mode\"] | HintFields", "What is done with a server's hint on when to come back."),
        ("rules", "readonly Rule[]", "What is done about which failure: the first rule that holds takes it."),
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

/// The errors of policies and of their use that JavaScript finds by itself.
const CODES: [ErrorCode; 22] = [
    ErrorCode::UnknownField,
    ErrorCode::WrongType,
    ErrorCode::UnknownWord,
    ErrorCode::NotADuration,
    ErrorCode::AttemptsRange,
    ErrorCode::FactorRange,
    ErrorCode::MaxBelowInitial,
    ErrorCode::ZeroLimit,
    ErrorCode::MinAttemptRange,
    ErrorCode::ClipNeedsMinAttempt,
    ErrorCode::JitterFactorRange,
    ErrorCode::NotForKind,
    ErrorCode::JitterFactorMissing,
    ErrorCode::SeedRange,
    ErrorCode::ExponentRange,
    ErrorCode::JitterBoundMissing,
    ErrorCode::DocumentVersion,
    ErrorCode::NotJson,
    ErrorCode::NotAnObject,
    ErrorCode::NotSupported,
    ErrorCode::TimeRange,
    ErrorCode::UnknownFailureKind,
];

/// The errors of the fields and policies that the entry `holdoff` does not read.
const POLICY_CODES: [ErrorCode; 14] = [
    ErrorCode::DelaysMissing,
    ErrorCode::TimesMissing,
    ErrorCode::TooManyStages,
    ErrorCode::FloorAboveMax,
    ErrorCode::PresetStages,
    ErrorCode::TimesRange,
    ErrorCode::OffsetRange,
    ErrorCode::UntilPlace,
    ErrorCode::RepeatPlace,
    ErrorCode::LimitsLast,
    ErrorCode::CountRange,
    ErrorCode::NotAFlag,
    ErrorCode::NeverRetries,
    ErrorCode::RuleAttempts,
];

/// The errors about rules and their conditions.
const RULE_CODES: [ErrorCode; 8] = [
    ErrorCode::HttpStatus,
    ErrorCode::GrpcCode,
    ErrorCode::RetryKind,
    ErrorCode::PatternText,
    ErrorCode::NotAList,
    ErrorCode::NotAFlag,
    ErrorCode::TooManyRules,
    ErrorCode::Replaced,
];

/// A number of a field as a literal of TypeScript: the longest time is no double.
fn literal(field: Field, number: u64) -> String {
    match field.takes() {
        Takes::Number(_) => f64::from_bits(number).to_string(),
        _ if number == u64::MAX => "Infinity".into(),
        _ if number == Span::MAX.as_nanos() => "LONGEST".into(),
        _ => number.to_string(),
    }
}

/// A field's row: number, names, the kinds of backoffs or guards that have a use for it as bits, default, and the values that it takes.
fn row(field: Field) -> String {
    let names: Vec<_> = Field::names().filter(|known| known.1 == field).map(|known| known.0).collect();
    let is_of_kinds = field.is_guards() || field.path().starts_with("backoff");
    let kinds = (0..16).filter(|kind| is_of_kinds && field.fits(*kind)).fold(0_u32, |bits, kind| bits | 1 << kind);
    let none = match (field.is_guards(), field.is_needed()) {
        (true, true) => "null",
        (true, false) => "undefined",
        _ => "0",
    };
    let default = field.default().map_or_else(|| none.to_owned(), |number| literal(field, number));
    format!("[{}, {:?}, {kinds}, {default}, {:?}]", field.code(), names.join(" "), takes(field))
}

/// The values that a field takes, in the words of the table.
fn takes(field: Field) -> String {
    match field.takes() {
        // The table of presets has them.
        Takes::Word(_) if field == Field::Preset => "preset".into(),
        Takes::Word(words) => {
            let first = words.iter().next().map_or(0, |word| word.1);
            format!("word {first} {}", field.words().collect::<Vec<_>>().join(" "))
        }
        Takes::Span { from: 1 } => "span above".into(),
        Takes::Span { .. } => "span".into(),
        Takes::SpanOrNone { none: u64::MAX, .. } => "limit".into(),
        Takes::SpanOrNone { .. } => "longest".into(),
        Takes::Number(Range::Share) => "number share".into(),
        Takes::Number(Range::AboveZero) => "number above".into(),
        Takes::Number(Range::From(1.0)) => "number 1".into(),
        Takes::Number(_) => "number".into(),
        Takes::WholeNumber(from, to) => format!("whole {from} {to}"),
        Takes::Attempts => "attempts".into(),
        Takes::Spans => "spans".into(),
        Takes::SpanOrSpans(most) => format!("span list {most}"),
        Takes::Version => "version".into(),
        Takes::Flag => "flag".into(),
    }
}

/// The errors about guards alone, and those about lists, which the entry `holdoff` does not read.
const GUARD_CODES: [ErrorCode; 6] = [
    ErrorCode::CountRange,
    ErrorCode::ShareRange,
    ErrorCode::RateRange,
    ErrorCode::FieldMissing,
    ErrorCode::DelaysMissing,
    ErrorCode::TooManyStages,
];

pub(super) fn guards_table() -> Result<String> {
    let mut out = format!(
        "/** The fields of guards and the rules about them, for the checks in JavaScript. {GENERATED} */\n\
         import {{ LONGEST }} from \"../table.js\";\n\n\
         /** The guards in the order of their bits. */\nexport const NAMES = [{}] as const;\n\n\
         /**\n * A field: number, names, the kinds that have a use for it as bits, default, the values that it takes, and its rule where these\n \
         * do not say it. The default is null for a field that its kinds need.\n */\n\
         export type Row = readonly [number, string, number, number | bigint | null | undefined, string, string?];\n\n\
         export const ROWS: readonly Row[] = [\n",
        quoted(GUARDS.iter().map(|guard| guard.0)).join(", ")
    );
    let guards = || Field::ALL.iter().copied().filter(|field| field.is_guards());
    for field in guards() {
        let rule = ErrorCode::WrongType.rule(Some(field));
        let own = match field.takes() {
            Takes::WholeNumber(from, to) => format!("must be a whole number from {from} to {to}"),
            Takes::Number(Range::From(0.0)) => ErrorCode::RateRange.rule(None).to_owned(),
            Takes::Number(Range::Share) => ErrorCode::ShareRange.rule(None).to_owned(),
            Takes::Number(_) => String::new(),
            _ => rule.to_owned(),
        };
        let rule = if rule == own { String::new() } else { format!(", {rule:?}") };
        let _ = writeln!(out, "  {}{rule}],", row(field).trim_end_matches(']'));
    }
    out += "];\n\n/**\n * The numbers of configurations in their order: a double, or a whole number of 64, 32 or 8 bits, and its name.\n */\n";
    out += "export const LAYOUTS: Readonly<Record<string, string>> = {\n";
    for (name, class, _) in GUARDS {
        let _ = writeln!(out, "  {name}: {:?},", layout(&format!("{class}Config"))?.join(", "));
    }
    out += "};\n\n/** The rules that have other words for a field of a guard. */\n";
    let (zero, max, full) = (ErrorCode::ZeroLimit, ErrorCode::MaxBelowInitial, ErrorCode::TooManyStages);
    let _ = writeln!(out, "export const NOT_ZERO = {:?};", zero.rule(Some(Field::BudgetWindow)));
    let _ = writeln!(out, "export const OPEN_MAX = {:?};", max.rule(Some(Field::BreakerOpenMax)));
    let _ = writeln!(out, "export const OPEN_FULL = {:?};\n", full.rule(Some(Field::BreakerOpenFor)));
    out += "/** The word and the rule of each error about guards and their lists, by its number. */\n";
    out += "export const GUARD_RULES: Readonly<Record<number, string>> = {\n";
    for code in GUARD_CODES {
        let _ = writeln!(out, "  {}: {:?},", code.code(), format!("{} {}", code.name(), code.rule(None)));
    }
    Ok(out + "};\n")
}

/// The numbers of a struct of the core in their order.
fn layout(of: &str) -> Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/decide");
    let mut files = vec![root.join("backoff.rs"), root.join("guards")];
    while let Some(file) = files.pop() {
        if file.is_dir() {
            files.extend(std::fs::read_dir(file)?.filter_map(|entry| Some(entry.ok()?.path())));
            continue;
        }
        let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let Some((_, fields)) = text.split_once(&format!("pub struct {of} {{\n")) else { continue };
        let fields =
            fields.lines().take_while(|line| *line != "}").map(str::trim).filter(|line| !line.starts_with("//"));
        let fields = fields.map(|line| line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) "));
        let numbers =
            fields.filter_map(|line| line.trim_end_matches(',').split_once(": ")).map(|(name, of)| numbers(name, of));
        return Ok(numbers.collect::<Result<Vec<_>>>()?.concat());
    }
    bail!("there is no {of}")
}

fn numbers(name: &str, of: &str) -> Result<Vec<String>> {
    let letter = |of| {
        Ok(match of {
            "f64" => "d",
            "u64" => "l",
            "u32" => "w",
            "u8" => "b",
            _ => bail!("{of} is no number of a configuration"),
        })
    };
    if of == "BackoffNumbers" {
        let named = |number: &String| {
            number.split_once(' ').map_or_else(|| number.clone(), |(of, number)| format!("{of} {name}.{number}"))
        };
        return Ok(layout(of)?.iter().map(named).collect());
    }
    let Some((of, length)) = of.trim_matches(['[', ']']).split_once("; ") else {
        return Ok(vec![if name == "unused" { letter(of)?.to_owned() } else { format!("{} {name}", letter(of)?) }]);
    };
    let length = if length == "OPEN_TIMES - 1" { 7 } else { length.parse()? };
    let number = |index: usize| {
        Ok(if name == "unused" { letter(of)?.to_owned() } else { format!("{} {name}.{index}", letter(of)?) })
    };
    (0..length).map(number).collect()
}

/// True for a field that `options.ts` reads; false for one that it leaves to `holdoff/policies`.
fn is_read_by_javascript(field: Field) -> bool {
    field.code() < Field::BackoffOffset.code() && field != Field::BackoffFloor
}

pub(super) fn table() -> String {
    let mut out = format!(
        "/** The fields of policies and the rules about them, for the checks in JavaScript. {GENERATED} */\n\n\
         /** The longest time, in nanoseconds. */\n\
         export const LONGEST = 9223372036854775807n;\n"
    );
    let fields = Field::ALL.iter().copied().filter(|field| !field.is_guards());
    let (here, others): (Vec<Field>, Vec<Field>) = fields.partition(|field| is_read_by_javascript(*field));
    // Constants come first: a build puts only those of a file's beginning in line.
    out += "\n/** The numbers of the fields. */\n";
    for field in &here {
        let _ = writeln!(out, "export const {} = {};", field.path().replace('.', "_").to_uppercase(), field.code());
    }
    out += "\n/** The numbers of words that rules are about. */\n";
    for field in [Field::BackoffKind, Field::JitterKind, Field::Cap, Field::OnDeadline] {
        let Takes::Word(words) = field.takes() else { continue };
        let of = field.path().trim_end_matches(".kind").to_uppercase();
        for (word, number) in words.iter() {
            let _ = writeln!(out, "export const {}_{of} = {number};", word.to_uppercase());
        }
    }
    out += "\n/** The number of the field that names a budget, also in a preset. */\n";
    let _ = writeln!(out, "export const BUDGET_KIND = {};", Field::BudgetKind.code());
    let _ = writeln!(out, "export const BUDGET_LIMIT = {};\n", Field::BudgetLimit.code());
    out += "/** The number of the kind of the budget that loops bring. */\n";
    let of_loops = Field::BudgetKind.words().take_while(|word| *word != "default").count();
    let _ = writeln!(out, "export const BUDGET_OF_LOOPS = {of_loops};\n");
    out += "/** A field: number, names, the kinds of backoffs that have a use for it as bits, default, and the values that it takes. */\n\
            export type Row = readonly [number, string, number, number | bigint, string];\n\n\
            export const FIELDS: readonly Row[] = [\n";
    for field in &here {
        let _ = writeln!(out, "  {},", row(*field));
    }
    out += "];\n\n/** The fields that few policies have: the core reads them. */\nexport const OTHERS =\n  ";
    let _ = writeln!(out, "{:?};", others.iter().map(|field| field.path()).collect::<Vec<_>>().join(" "));
    out += "\n/** The sections of guards. */\nexport const SECTIONS = ";
    let _ = writeln!(out, "{:?};\n", Section::GUARDS.iter().map(|section| section.name).collect::<Vec<_>>().join(" "));
    out += "/** Paths, each before the names that other libraries have for it, without capitals and underscores. */\n";
    let peers = Field::PEERS.map(|(path, names)| format!("{path} {names}")).join(",");
    let _ = writeln!(out, "export const PEERS =\n  {peers:?};\n");
    out += "/** The number of the error whose words are the rule of a field that takes no words. */\n";
    out += "export const RULE_OF: Readonly<Record<number, number>> = {\n";
    for field in here {
        let rule = ErrorCode::WrongType.rule(Some(field));
        let code = CODES.iter().chain(&POLICY_CODES).find(|code| code.rule(None) == rule);
        if let Some(code) = code.filter(|code| **code != ErrorCode::NotADuration) {
            let _ = writeln!(out, "  {}: {},", field.code(), code.code());
        }
    }
    out += "};\n\n";
    // A page that retries and does not read times of machines has no need of their rule.
    let (of_times, others): (Vec<ErrorCode>, Vec<ErrorCode>) =
        CODES.into_iter().partition(|code| *code == ErrorCode::TimeRange);
    out += &texts("RULES", "each error", &others);
    out += &texts("TIME_RULES", "the error about times", &of_times);
    out += &texts("CONDITION_RULES", "each error about rules", &RULE_CODES);
    out += "/** The conditions of rules with their bits. */\nexport const CONDITIONS: Readonly<Record<string, number>> = {\n";
    for (name, bit) in Rules::CONDITIONS {
        let _ = writeln!(out, "  {name}: {bit},");
    }
    out += "};\n\n/** What a rule has. */\n";
    let _ = writeln!(out, "export const RULE_PARTS = {:?};\n", Rules::PARTS.join(" "));
    out += "/** The names of gRPC's codes, from 0 on. */\n";
    let _ = writeln!(out, "export const GRPC_CODES =\n  {:?};", GrpcCode::ALL.map(GrpcCode::name).join(" "));
    out
}

/// The word and the rule of errors by their numbers.
fn texts(name: &str, of: &str, codes: &[ErrorCode]) -> String {
    let mut out = format!("/** The word and the rule of {of} by its number. */\n");
    let _ = writeln!(out, "export const {name}: Readonly<Record<number, string>> = {{");
    for code in codes {
        let rule = code.rule(None).replace('\'', "\\'");
        let _ = writeln!(out, "  {}: '{} {rule}',", code.code(), code.name());
    }
    out + "};\n\n"
}

pub(super) fn policies_table() -> String {
    let mut out = format!(
        "/** The fields that few policies have, and the presets. {GENERATED} */\n\
         import type {{ Row }} from \"../table.js\";\n\nexport const FIELDS: readonly Row[] = [\n"
    );
    for field in Field::ALL.iter().filter(|field| !field.is_guards() && !is_read_by_javascript(**field)) {
        let _ = writeln!(out, "  {},", row(*field));
    }
    out += "];\n\n";
    out += &texts("RULES", "each error about policies of any fields", &POLICY_CODES);
    out += "/** The presets in the order of their numbers, from 1 on, each with the numbers of its guards. */\n";
    out += "export const PRESETS: Readonly<Record<string, Readonly<Record<number, number>>>> = {\n";
    for preset in Preset::ALL {
        let guards = Field::ALL.iter().filter_map(|field| Some((field, preset.guard(*field)?)));
        let guards: Vec<_> =
            guards.map(|(field, number)| format!("{}: {}", field.code(), literal(*field, number))).collect();
        let guards = if guards.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", guards.join(", ")) };
        let _ = writeln!(out, "  {:?}: {guards},", preset.name());
    }
    out + "};\n"
}

pub(super) fn guards() -> String {
    let mut out = format!(
        "/** What guards can be given as: the sections of a policy document. {GENERATED} */\n\
         import type {{ Duration }} from \"../values.js\";\n\n\
         type Maybe<T> = T | null | undefined;\n\n{ONLY}\n\
         /** The behaviour of a refused call: give up at once, or sleep until the guard would let it through. */\n"
    );
    out += &union("export type Refusal =", &quoted(Field::BreakerRefusal.words()));
    for group in groups().skip(3) {
        out += "\n";
        out += &interface(group.0);
    }
    out +=
        "\n/** The sections of guards: an object each, or its first field alone. */\nexport interface GuardFields {\n";
    for section in Section::GUARDS.iter().filter(|section| section.name != "nested") {
        let Some((path, name, doc)) = group(section.name) else { continue };
        let alone = match section.first.takes() {
            // spec 32.2: a number is the capacity of the budget of loops
            Takes::Word(_) if section.name == "budget" => format!("{name}Fields[\"kind\"] | number"),
            Takes::Word(_) => format!("{name}Fields[\"kind\"]"),
            _ => type_of(section.first),
        };
        out += &member(path, &format!("{alone} | {name}Fields"), doc);
    }
    out + "}\n"
}
