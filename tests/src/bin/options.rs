//! Prints random policy documents and what the core makes of each, a line of JSON each, for hosts that read options by themselves.

use anyhow::{Context as _, Result};
use holdoff_core::{Error, Field, Options, Policy, Rules, Schedule, Section, Takes, Value as Setting, seed_at};
use serde_json::{Map, Value, json};

/// Draws from splitmix64.
struct Random {
    seed: u64,
    draws: u64,
}

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.draws += 1;
        (seed_at(self.seed, self.draws) % count as u64) as usize
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// A value of any type, most of them a time, a number or a word.
    fn value(&mut self, field: Option<Field>) -> Value {
        let words: Vec<_> = field.into_iter().flat_map(Field::words).collect();
        let texts = [
            "0s",
            "1ns",
            "250ms",
            "1.5s",
            "2m",
            "0.0000000019s",
            "100h",
            "9223372036854775807ns",
            "9007199254740993ns",
            "2562047h",
            "99999999999h",
            "none",
            "forever",
            "soon",
            "5",
            "",
        ];
        let numbers =
            [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, -1.0, 10.0, 100.0, 1e3, 1e13, 1e20, 4294967294.0, 4294967295.0];
        let (text, number) = match field.map(Field::takes) {
            Some(Takes::Version) => return if self.one_in(9) { json!(2) } else { json!(1) },
            Some(Takes::Word(_)) => (3, 3),
            Some(Takes::Number(_) | Takes::WholeNumber(..) | Takes::Attempts) => (4, 15),
            _ => (15, 18),
        };
        match self.below(20) {
            at if at < text => self.pick(&texts).into(),
            at if at < number => self.pick(&numbers).into(),
            18 => Value::Null,
            19 => self.pick(&[json!(true), json!({}), json!([]), json!([1]), json!({ "x": 1 })]),
            17 if !words.is_empty() => misspelled(self, words[0]).into(),
            _ if !words.is_empty() => self.pick(&words).into(),
            _ => json!(self.below(8)),
        }
    }

    /// Fields under a prefix, each with a value.
    fn fields(&mut self, prefix: &str, most: usize) -> Map<String, Value> {
        let known: Vec<_> = Field::names()
            .filter(|(_, field)| !field.is_guards())
            .filter_map(|(name, field)| Some((name.strip_prefix(prefix)?, field)))
            .filter(|(name, _)| !name.contains('.'))
            .collect();
        let mut fields = Map::new();
        for _ in 0..self.below(most + 1) {
            let (name, field) = if prefix.is_empty() && self.one_in(4) { known[0] } else { self.pick(&known) };
            let name = if self.one_in(25) { misspelled(self, name) } else { name.to_owned() };
            let value = match (prefix, name.as_str()) {
                (_, "delays") if !self.one_in(4) => {
                    let count = self.below(9);
                    (0..count).map(|_| self.value(None)).collect()
                }
                ("", "backoff") if !self.one_in(5) => self.backoff(),
                ("", "jitter") if !self.one_in(3) => self.fields("jitter.", 3).into(),
                ("", "hint") if !self.one_in(3) => self.fields("hint.", 3).into(),
                _ => self.value(Some(field)),
            };
            fields.insert(name, value);
        }
        fields
    }

    /// Rules with conditions, or with a schedule of their own.
    fn rules(&mut self) -> Value {
        if self.one_in(20) {
            return (0..self.below(12)).map(|_| json!({ "retry": true })).collect();
        }
        (0..self.below(4)).map(|_| self.rule()).collect()
    }

    fn rule(&mut self) -> Value {
        let mut rule = Map::new();
        for _ in 0..self.below(4) {
            let parts = ["if", "if", "if", "retry", "attempts", "backoff", "jitter", "cap", "hint"];
            let few = self.one_in(2);
            let name = self.pick(if few { &parts[..4] } else { &parts });
            let value = match name {
                "if" if self.one_in(3) => {
                    let most = if self.one_in(9) { 20 } else { 4 };
                    let count = self.below(most);
                    (0..count).map(|_| self.conditions()).collect()
                }
                "if" => self.conditions(),
                "retry" if !self.one_in(9) => self.one_in(2).into(),
                "attempts" if !self.one_in(4) => (1 + self.below(5)).into(),
                "attempts" => self.value(Some(Field::Attempts)),
                "backoff" => self.backoff(),
                "jitter" => self.fields("jitter.", 3).into(),
                "hint" => self.fields("hint.", 3).into(),
                _ => self.value(None),
            };
            let name = if self.one_in(30) { misspelled(self, name) } else { name.to_owned() };
            rule.insert(name, value);
        }
        rule.into()
    }

    fn conditions(&mut self) -> Value {
        let statuses = [json!(503), json!("5xx"), json!(429), json!(100), json!(599), json!("4xx"), json!(200)];
        let odd =
            [json!(600), json!("6xx"), json!("5XX"), json!(1.5), json!(-1), json!("a"), json!(null), json!([503])];
        let codes = [json!("UNAVAILABLE"), json!("ok"), json!(14), json!(0), json!(16)];
        let wrong = [json!(17), json!("UNAVAILBLE"), json!("not-found"), json!(true)];
        let kinds = [json!("transient"), json!("throttled"), json!("timeout"), json!("permanent")];
        let mut conditions = Map::new();
        for _ in 0..self.below(4) {
            let (name, _) = self.pick(&Rules::CONDITIONS);
            let (usual, odd) = match name {
                "http" => (&statuses[..], &odd[..]),
                "grpc" => (&codes[..], &wrong[..]),
                "kinds" => (&kinds[..], &[json!("permanentt"), json!(""), json!(1)][..]),
                "idempotent" | "unsent" => (&[json!(true), json!(false)][..], &odd[..]),
                _ => (&[json!("EPIPE"), json!("a"), json!("")][..], &odd[..]),
            };
            let entry = |random: &mut Self| {
                let of = if random.one_in(9) { odd } else { usual };
                random.pick(of)
            };
            let is_list = matches!(name, "idempotent" | "unsent") == self.one_in(20);
            let count = self.below(3);
            let value = if is_list { (0..count).map(|_| entry(self)).collect() } else { entry(self) };
            let name = if self.one_in(40) { misspelled(self, name) } else { name.to_owned() };
            conditions.insert(name, value);
        }
        conditions.into()
    }

    /// Sections of guards.
    fn guards(&mut self) -> Map<String, Value> {
        let known: Vec<_> = Field::names().filter(|(_, field)| field.is_guards()).collect();
        let mut guards = Map::new();
        if self.one_in(8) {
            guards.insert(
                "preset".to_owned(),
                self.pick(&["aws-standard-2.0", "aws-standard-2.1", "aws-adaptive"]).into(),
            );
        }
        for _ in 0..=self.below(2) {
            let section = self.pick(Section::GUARDS).name;
            let within = format!("{section}.");
            let own: Vec<_> =
                known.iter().filter_map(|(name, field)| Some((name.strip_prefix(&within)?, *field))).collect();
            let mut fields = Map::new();
            for _ in 0..self.below(6) {
                let (name, field) = self.pick(&own);
                let value = match field.takes() {
                    Takes::SpanOrSpans(most) if self.one_in(2) => {
                        let count = self.below(usize::from(most) + 2);
                        (0..count).map(|_| self.value(Some(field))).collect()
                    }
                    _ => self.value(Some(field)),
                };
                match name.split_once('.') {
                    _ if self.one_in(25) => _ = fields.insert(misspelled(self, name), value),
                    None => _ = fields.insert(name.to_owned(), value),
                    Some((group, name)) => _ = fields.insert(group.to_owned(), json!({ name: value })),
                }
            }
            let whole = self.one_in(6).then(|| known.iter().find(|(name, _)| *name == section)).flatten();
            let value = whole.map_or_else(|| fields.into(), |(_, field)| self.value(Some(*field)));
            // JavaScript tells an unknown name before what is wrong with a guard, wherever it stands.
            if self.one_in(40) {
                return Map::from_iter([(misspelled(self, section), value)]);
            }
            guards.insert(section.to_owned(), value);
        }
        guards
    }

    fn backoff(&mut self) -> Value {
        if self.one_in(2) {
            return self.fields("backoff.", 4).into();
        }
        let stages = self.below(8);
        (0..stages).map(|_| Value::from(self.fields("backoff.", 4))).collect()
    }
}

/// A name with one letter less, more or other.
fn misspelled(random: &mut Random, name: &str) -> String {
    let mut letters: Vec<_> = name.chars().collect();
    let at = random.below(letters.len());
    match random.below(4) {
        0 => _ = letters.remove(at),
        1 => letters.insert(at, 'x'),
        2 => letters[at] = '\u{fc}',
        _ => letters.splice(0..0, "max_".chars()).for_each(drop),
    }
    letters.into_iter().collect()
}

/// Sets a value the way every host flattens its options; `unit` is that of plain numbers.
fn set(options: &mut Options, path: &str, value: &Value, unit: f64) -> Result<(), (Error, String)> {
    let setting = match value {
        Value::Null => Setting::Nothing,
        Value::Object(fields) if fields.is_empty() => Setting::Empty,
        Value::Object(fields) => {
            return fields.iter().try_for_each(|(name, value)| set(options, &format!("{path}.{name}"), value, unit));
        }
        Value::String(text) => Setting::Text(text),
        Value::Number(number) => Setting::Number { value: number.as_f64().unwrap_or(f64::NAN), unit },
        Value::Array(items) if items.is_empty() => Setting::NoItems,
        Value::Array(items) => {
            let mut indexed = items.iter().enumerate();
            return indexed.try_for_each(|(index, value)| set(options, &format!("{path}[{index}]"), value, unit));
        }
        Value::Bool(flag) => Setting::Flag(*flag),
    };
    options.set(path, setting).map(|_| ()).map_err(|error| (error, path.to_owned()))
}

fn build(document: &Map<String, Value>, unit: f64) -> Result<(Policy, Rules), (Error, String)> {
    let mut options = Options::NEW;
    for (name, value) in document {
        set(&mut options, name, value, unit)?;
    }
    options.build().map(|policy| (policy, options.rules())).map_err(|error| (error, String::new()))
}

/// The policy's fingerprint and its first delays, or what is wrong.
fn outcome(document: &Map<String, Value>, unit: f64) -> Value {
    match build(document, unit) {
        Ok((policy, rules)) => {
            let delays: Vec<_> = Schedule::new(&policy, 7).take(8).map(|delay| delay.as_nanos().to_string()).collect();
            json!({ "fingerprint": policy.fingerprint().to_string(), "delays": delays, "rules": bytes_of(&rules) })
        }
        Err(wrong) => told(&wrong),
    }
}

/// The error in words; `given` is the name that no field has.
fn told((error, given): &(Error, String)) -> Value {
    json!({
        "code": error.code.code(),
        "word": error.code.name(),
        "path": if error.field.is_some() { error.path().to_string() } else { given.clone() },
        "rule": error.rule(),
        "nearest": error.nearest,
    })
}

/// The configurations as bytes, or what is wrong.
fn guarded(document: &Map<String, Value>, unit: f64) -> Value {
    let configs = || {
        let mut options = Options::NEW;
        for (name, value) in document {
            set(&mut options, name, value, unit)?;
        }
        options.check_guards().map_err(|error| (error, String::new()))?;
        // The budget that a loop brings is no guard.
        let beside = options.guards().beside_loop();
        let mut configs = Map::new();
        macro_rules! add {
            ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
                $(if let Some(config) = beside.guard::<$config>().map_err(|error| (error, String::new()))? {
                    configs.insert(stringify!($name).to_owned(), json!(bytes_of(&config)));
                })*
            };
        }
        holdoff_core::each_guard!(add);
        Ok(configs)
    };
    configs().map_or_else(|wrong| told(&wrong), Value::from)
}

/// The bytes of a configuration, in hexadecimal.
#[allow(unsafe_code)]
fn bytes_of<C: Copy>(config: &C) -> String {
    // SAFETY: configurations are numbers without padding between them, the same in every language.
    let bytes = unsafe { std::slice::from_raw_parts(std::ptr::from_ref(config).cast::<u8>(), size_of::<C>()) };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() -> Result<()> {
    let count: u64 = std::env::args().nth(1).context("usage: options COUNT")?.parse()?;
    for seed in 0..count {
        let mut random = Random { seed, draws: 0 };
        let mut fields = random.fields("", 4);
        if random.one_in(2) {
            fields.insert("rules".to_owned(), random.rules());
        }
        // Numbers in a document have no unit; in a program they are milliseconds.
        let (document, code) = (outcome(&fields, f64::NAN), outcome(&fields, 1e6));
        println!("{}", json!({ "fields": fields, "document": document, "code": code }));
        let fields = random.guards();
        let (document, code) = (guarded(&fields, f64::NAN), guarded(&fields, 1e6));
        println!("{}", json!({ "guards": fields, "document": document, "code": code }));
    }
    Ok(())
}
