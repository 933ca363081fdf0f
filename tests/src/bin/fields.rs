//! Prints the typed options of JavaScript and Python and the tables of docs/policy.md from the core's table of fields.

use anyhow::{Context as _, Result, bail};
use holdoff_core::{Backoff, ErrorCode, Field, Jitter, Policy, Preset, Range, Rules, Section, Span, Stage, Takes};
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
        Some("table.ts") => print!("{}", table_ts()),
        Some("presets.ts") => print!("{}", presets_ts()?),
        Some("guards.ts") => print!("{}", guards_ts()),
        Some("guards_table.ts") => print!("{}", guards_table_ts()),
        Some("python") => print!("{}", python()),
        Some("docs") => print!("{}", docs(&std::fs::read_to_string("docs/policy.md")?)?),
        Some("help") => print!("{}", help(&std::env::args().nth(2).unwrap_or_default())?),
        other => {
            bail!("policy.ts, table.ts, presets.ts, guards.ts, guards_table.ts, python, docs or help, not {other:?}")
        }
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
        Takes::Attempts if number == u64::from(u32::MAX) => "forever".to_owned(),
        Takes::Flag => (number != 0).to_string(),
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
        Field::BreakerRefusal | Field::LimiterRefusal | Field::AdaptiveRefusal => return "Refusal".into(),
        _ => {}
    }
    match field.takes() {
        Takes::Word(_) => quoted(field.words()).join(" | "),
        Takes::Span { .. } => "Duration".into(),
        Takes::SpanOrNone { .. } => "Duration | \"none\"".into(),
        Takes::Number(_) | Takes::WholeNumber(..) => "number".into(),
        Takes::Attempts => "number | \"forever\"".into(),
        Takes::Spans => "readonly Duration[]".into(),
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
            out += &member(name, "Duration | OpenForFields", &described(field));
        } else if field.path().ends_with(name) || field.path() == *path && name == "initial" {
            out += &member(name, &type_ts(field), &described(field));
        } else {
            out += &member(name, &type_ts(field), "Another name of `initial`.");
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

const GENERATED: &str = "Generated from core/src/fields.rs by `cargo xtask generate`.";

fn policy_ts() -> String {
    let mut out = format!(
        "/** What a policy can be given as. The core reads the values and says what is wrong. {GENERATED} */\n\
         import type {{ GuardFields, NestedFields }} from \"./guards/fields.js\";\n\
         import type {{ Duration }} from \"./times.js\";\n\
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
        out += &member(field.path(), &type_ts(*field), &described(*field));
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
const CODES: [ErrorCode; 38] = [
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
    ErrorCode::DelaysMissing,
    ErrorCode::JitterBoundMissing,
    ErrorCode::TimesMissing,
    ErrorCode::TooManyStages,
    ErrorCode::NotAFlag,
    ErrorCode::FloorAboveMax,
    ErrorCode::OffsetRange,
    ErrorCode::UntilPlace,
    ErrorCode::RepeatPlace,
    ErrorCode::LimitsLast,
    ErrorCode::TooManyRules,
    ErrorCode::NeverRetries,
    ErrorCode::RuleAttempts,
    ErrorCode::Replaced,
    ErrorCode::PresetStages,
    ErrorCode::TimesRange,
    ErrorCode::DocumentVersion,
    ErrorCode::NotJson,
    ErrorCode::NotAnObject,
    ErrorCode::NotSupported,
    ErrorCode::CountRange,
    ErrorCode::TimeRange,
    ErrorCode::UnknownFailureKind,
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

/// A field's row: number, names, the kinds that have a use for it as bits, default, and the values that it takes.
fn row(field: Field) -> String {
    let names: Vec<_> = Field::names().filter(|known| known.1 == field).map(|known| known.0).collect();
    let kinds = (0..16).filter(|kind| field.fits(*kind)).fold(0_u32, |bits, kind| bits | 1 << kind);
    let none = if field.is_guards() && field.is_needed() { "null" } else { "undefined" };
    let default = field.default().map_or_else(|| none.to_owned(), |number| literal(field, number));
    format!("[{}, {:?}, {kinds}, {default}, {:?}]", field.code(), names.join(" "), takes(field))
}

/// The values that a field takes, in the words of the table.
fn takes(field: Field) -> String {
    match field.takes() {
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
        Takes::Version => "version".into(),
        Takes::Flag => "flag".into(),
    }
}

/// The errors about guards alone.
const GUARD_CODES: [ErrorCode; 3] = [ErrorCode::ShareRange, ErrorCode::RateRange, ErrorCode::FieldMissing];

fn guards_table_ts() -> String {
    let mut out = format!(
        "/** The fields of guards and the rules about them, for the checks in JavaScript. {GENERATED} */\n\
         import {{ LONGEST }} from \"../table.js\";\n\n\
         /**\n * A field: number, names, the kinds that have a use for it as bits, default, the values that it takes, and its rule where these\n \
         * do not say it. The default is null for a field that its kinds need.\n */\n\
         export type Row = readonly [number, string, number, number | bigint | null | undefined, string, string?];\n\n\
         export const ROWS: readonly Row[] = [\n"
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
    out += "];\n\n/** The rules that have other words for a field of a guard. */\n";
    let (zero, max) = (ErrorCode::ZeroLimit, ErrorCode::MaxBelowInitial);
    let _ = writeln!(out, "export const NOT_ZERO = {:?};", zero.rule(Some(Field::BudgetWindow)));
    let _ = writeln!(out, "export const OPEN_MAX = {:?};\n", max.rule(Some(Field::BreakerOpenMax)));
    out += "/** The word and the rule of each error about guards alone, by its number. */\n";
    out += "export const GUARD_RULES: Readonly<Record<number, string>> = {\n";
    for code in GUARD_CODES {
        let _ = writeln!(out, "  {}: {:?},", code.code(), format!("{} {}", code.name(), code.rule(None)));
    }
    out + "};\n"
}

fn table_ts() -> String {
    let mut out = format!(
        "/** The fields of policies and the rules about them, for the checks in JavaScript. {GENERATED} */\n\n\
         /** The longest time, in nanoseconds. */\n\
         export const LONGEST = 9223372036854775807n;\n\n\
         /** A field: number, names, the kinds that have a use for it as bits, default, and the values that it takes. */\n\
         export type Row = readonly [number, string, number, number | bigint | undefined, string];\n\n\
         export const FIELDS: readonly Row[] = [\n"
    );
    for field in Field::ALL.iter().filter(|field| !field.is_guards()) {
        let _ = writeln!(out, "  {},", row(*field));
    }
    out += "];\n\n/** The numbers of the fields. */\n";
    for field in Field::ALL.iter().filter(|field| !field.is_guards()) {
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
    out += "\n/** The sections of guards. */\nexport const SECTIONS = ";
    let _ = writeln!(out, "{:?};\n", Section::GUARDS.map(|section| section.name).join(" "));
    out += "/** The number of the field that names a budget, also in a preset. */\n";
    let _ = writeln!(out, "export const BUDGET_KIND = {};\n", Field::BudgetKind.code());
    out += "/** The number of the error whose words are the rule of a field that takes no words. */\n";
    out += "export const RULE_OF: Readonly<Record<number, number>> = {\n";
    for field in Field::ALL.iter().filter(|field| !field.is_guards()) {
        let rule = ErrorCode::WrongType.rule(Some(*field));
        let code = CODES.iter().find(|code| code.rule(None) == rule);
        if let Some(code) = code.filter(|code| **code != ErrorCode::NotADuration) {
            let _ = writeln!(out, "  {}: {},", field.code(), code.code());
        }
    }
    out += "};\n\n/** The word and the rule of each error by its number. */\n";
    out += "export const RULES: Readonly<Record<number, string>> = {\n";
    for code in CODES {
        let rule = code.rule(None).replace('\'', "\\'");
        let _ = writeln!(out, "  {}: '{} {rule}',", code.code(), code.name());
    }
    out + "};\n"
}

/// A stage of a policy: kind, first delay, step, longest delay, number of delays.
fn stage_ts(stage: Stage) -> Result<String> {
    let nanos = |span: Span| literal(Field::BackoffInitial, span.as_nanos());
    let (kind, initial, step, max) = match stage.backoff {
        Backoff::Constant { delay } => (1, delay, "0".to_owned(), Span::MAX),
        Backoff::Exponential { initial, factor, max } => (3, initial, factor.to_string(), max),
        Backoff::DecorrelatedV2 { initial, max } => (8, initial, "0".to_owned(), max),
        other => bail!("no preset has {other:?} so far"),
    };
    let times = stage.times.unwrap_or(0);
    Ok(format!("[{kind}, {}, {step}, {}, {times}]", nanos(initial), nanos(max)))
}

/// The words of a policy and of rules, which are their bytes.
#[expect(unsafe_code, reason = "both are numbers without padding, of which JavaScript gets copies")]
fn words_of(policy: Policy, rules: Rules) -> ([u32; 128], [u32; 180]) {
    // SAFETY: the sizes are equal, and every bit pattern is a word.
    unsafe { (std::mem::transmute::<Policy, [u32; 128]>(policy), std::mem::transmute::<Rules, [u32; 180]>(rules)) }
}

/// The rules of a preset as words: what the machine has of them, their records in its pool, and their conditions by place;
/// nothing without rules.
fn rules_ts(preset: Preset) -> String {
    let rules = Policy::options().preset(preset).rules();
    let (policy, conditions) = words_of(preset.policy(), rules);
    let list = |words: &[u32]| {
        let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        words[..used.next_multiple_of(2)].iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    };
    let (decides, pool) = policy[32..].split_at(16);
    let set = conditions.iter().enumerate().filter(|(_, word)| **word != 0);
    let set: Vec<_> = set.map(|(at, word)| format!("{at}: {word}")).collect();
    if set.is_empty() {
        return String::new();
    }
    format!(", rules: [[{}], [{}], {{ {} }}]", list(decides), list(pool), set.join(", "))
}

/// The number of a field that is no stage's.
fn number_of(policy: &Policy, field: Field) -> Result<u64> {
    Ok(match field {
        Field::JitterKind => match policy.jitter() {
            Jitter::None => 0,
            Jitter::Full => 1,
            Jitter::Equal => 2,
            Jitter::Additive { .. } => 3,
            Jitter::Proportional { .. } => 4,
            Jitter::Bounded { .. } => 5,
            Jitter::Subtractive { .. } => 6,
            other => bail!("{other:?} has no number here"),
        },
        Field::JitterFactor => match policy.jitter() {
            Jitter::Additive { factor } | Jitter::Proportional { factor } | Jitter::Subtractive { factor } => {
                factor.to_bits()
            }
            _ => 0,
        },
        Field::JitterBound => match policy.jitter() {
            Jitter::Bounded { bound } => bound.as_nanos(),
            _ => 0,
        },
        Field::Cap => policy.cap() as u64,
        Field::Attempts => policy.attempts().unwrap_or(u32::MAX).into(),
        Field::Deadline => policy.deadline().map_or(u64::MAX, Span::as_nanos),
        Field::HintMode => policy.hint_mode() as u64,
        Field::HintMax => policy.hint_max().as_nanos(),
        Field::HintOver => policy.hint_over() as u64,
        Field::HintReach => policy.hint_reach().map_or(u64::MAX, Span::as_nanos),
        field => field.default().unwrap_or(0),
    })
}

fn presets_ts() -> Result<String> {
    let mut out = format!(
        "/** The presets: their stages, and the fields that differ from the defaults by their numbers. {GENERATED} */\n\
         import {{ LONGEST }} from \"../table.js\";\n\n\
         /** A stage: kind, first delay, step, longest delay, number of delays. */\n\
         export type Stage = readonly [number, number, number, number | bigint, number];\n\n\
         /** A named policy; `guards` are the fields of its guards, where it has some. */\n\
         export interface Preset {{\n  readonly stages: readonly Stage[];\n  \
         readonly fields: Readonly<Record<number, number | bigint>>;\n  readonly guards?: Readonly<Record<number, number>>;\n  \
         /** Its rules, their records and their conditions, as the core's words. */\n  \
         readonly rules?: readonly [readonly number[], readonly number[], Readonly<Record<number, number>>];\n}}\n\n\
         export const PRESETS: Readonly<Record<string, Preset>> = {{\n"
    );
    for preset in Preset::ALL {
        let policy = preset.policy();
        let stages = policy.stages().map(stage_ts).collect::<Result<Vec<_>>>()?.join(", ");
        let plain = Field::ALL.iter().filter(|field| !field.is_guards() && !field.path().starts_with("backoff"));
        let mut fields = Vec::new();
        for field in plain {
            let number = number_of(&policy, *field)?;
            if number != field.default().unwrap_or(0) {
                fields.push(format!("{}: {}", field.code(), literal(*field, number)));
            }
        }
        let guards = Field::ALL.iter().filter_map(|field| Some((field, preset.guard(*field)?)));
        let guards: Vec<_> =
            guards.map(|(field, number)| format!("{}: {}", field.code(), literal(*field, number))).collect();
        let guards = if guards.is_empty() { String::new() } else { format!(", guards: {{ {} }}", guards.join(", ")) };
        let fields = if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) };
        let _ = writeln!(
            out,
            "  {:?}: {{ stages: [{stages}], fields: {fields}{guards}{} }},",
            preset.name(),
            rules_ts(preset)
        );
    }
    Ok(out + "};\n")
}

fn guards_ts() -> String {
    let mut out = format!(
        "/** What guards can be given as: the sections of a policy document. {GENERATED} */\n\
         import type {{ Duration }} from \"../times.js\";\n\n\
         type Maybe<T> = T | null | undefined;\n\n{ONLY}\n\
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
/// Types of Python whose fields take the place of a policy's, each with its doc and its base.
const RULED: [(&str, &str, &str); 2] = [
    ("Stage", "One stage of a chain, and what it has instead of the policy's.", "Backoff"),
    ("Manner", "How long a rule waits, instead of the policy.", "TypedDict"),
];

fn type_python(field: Field) -> String {
    let of = match (field, field.takes()) {
        (Field::DeadlineFrom | Field::Limits | Field::DelayFrom, _) => {
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
        (_, Takes::Flag) => "bool",
        _ => "int",
    };
    of.to_owned()
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
         BreakerMode,\n    BudgetKind,\n    Cap,\n    HintMode,\n    HintOver,\n    JitterKind,\n    LimiterKind,\n    NestedMode,\n    \
         OnDeadline,\n    OpenForKind,\n    PresetName,\n    Refusal,\n    Reopen,\n)\n\n\
         Duration: TypeAlias = float | str | timedelta\n\
         \"\"\"A length of time: seconds, text with a unit such as ``\"250ms\"``, or a timedelta.\"\"\"\n"
    );
    for group in &GROUPS {
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
            let of = if name == "open_for" { "Duration | OpenFor".to_owned() } else { type_python(field) };
            out += &member_python(name, &format!("{of} | None"), &text.replace('`', "``").replace("````", "``"));
        }
    }
    for (name, doc, own) in RULED {
        let _ = write!(out, "\n\nclass {name}({}, total=False):\n    \"\"\"{doc}\"\"\"\n\n", own);
        for (name, of, doc) in [
            ("jitter", "Jitter | JitterKind", "How the delays are spread, instead of the policy's ``jitter``."),
            ("cap", "Cap", "The value that ``max`` bounds, instead of the policy's ``cap``."),
            ("hint", "Hint | HintMode", "The use of a server's hint, instead of the policy's ``hint``."),
        ] {
            out += &member_python(name, &format!("{of} | None"), doc);
        }
    }
    out += "\n\nclass PlainFields(TypedDict, total=False):\n    \"\"\"The fields of a policy that are single values.\"\"\"\n\n";
    for field in Field::ALL.iter().filter(|field| !field.path().contains('.') && field.path() != "version") {
        let doc = described(*field).replace('`', "``");
        out += &member_python(field.path(), &format!("{} | None", type_python(*field)), &doc);
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
            Takes::Flag => "`true`, `false`".into(),
        };
        let value = [value, range(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let value = [value, kinds(*field)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        let default = if field.is_needed() { "needed".to_owned() } else { default(*field) };
        let _ = writeln!(out, "| {} | {} | {value} | {default} |", names.join(", "), field.doc().trim());
    }
    out
}

/// The options of one use in Python, each with its doc.
const OPTIONS: [(&str, &str, &str); 12] = [
    ("policy", "None", "A `Policy` or the name of a preset, instead of the fields."),
    (
        "on",
        "None",
        "The errors to retry: a type of Exception, a tuple of types, or a function of the error. Default: every error \
        but programming errors.",
    ),
    ("classify", "None", "A function from the error to a Failure, the word of a kind, or None for the default rules."),
    ("on_result", "None", "A function of the returned value that says whether it is a failure; True for HTTP answers."),
    ("on_retry", "None", "A function that is called with a RetryEvent before each sleep."),
    ("on_give_up", "None", "A function that is called with the Outcome after the last failure."),
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
fn help(of: &str) -> Result<String> {
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
        "retrying" => (
            "Retrying",
            "policy=None, /",
            "A policy with the options of one use: call functions with it, or decorate them.",
        ),
        _ => return guard_help(of),
    };
    let own = OPTIONS.iter().filter(|option| of == "retry" || (of == "retrying" && option.0 != "policy"));
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
fn literal_python(field: Field) -> String {
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
        Takes::Span { .. } | Takes::SpanOrNone { .. } => format!("'{text}'"),
        _ => text.to_owned(),
    }
}

/// The values of a field, in words of Python.
fn takes_python(field: Field) -> String {
    match field.takes() {
        Takes::Word(_) => quoted(field.words()).join(", "),
        Takes::Span { .. } => "a time".into(),
        Takes::SpanOrNone { .. } => "a time or \"none\"".into(),
        Takes::Number(_) => "a number".into(),
        Takes::WholeNumber(..) => "an int".into(),
        Takes::Attempts => "an int or \"forever\"".into(),
        Takes::Spans => "a list of times".into(),
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
        let of_group = GROUPS.iter().find(|group| group.0 == top);
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
                let first = takes_python(*field);
                let default = if top == "nested" { "None".into() } else { literal_python(*field) };
                (top.into(), format!("{first}, or a dict{chain}"), default, format!("{doc} {}", members.join(" ")))
            }
            _ => (top.into(), takes_python(*field), literal_python(*field), described(*field)),
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
    let signature: Vec<_> = fields.iter().map(|(name, field)| format!("{name}={}", literal_python(*field))).collect();
    let mut out = format!("{name}(config=None, /, *{start}, {})\n--\n\n{doc}", signature.join(", "));
    out += " All calls that use the object share it.\n\n\
        config: the guard as a policy has it, a dict or its first field alone.\n";
    out += TIMES;
    for (name, field) in fields {
        out += &item(name, &takes_python(field), &described(field));
    }
    Ok(out)
}
