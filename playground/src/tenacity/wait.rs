//! tenacity's waits, as the stages of a backoff.

use super::reader::{Argument, Reader};
use super::tokens::Token;
use crate::problem::Problem;

/// The fields of an object: names, and values as JSON text.
pub(super) type Object = Vec<(&'static str, String)>;

/// A wait: the fields of a stage.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) backoff: Object,
    jitter: String,
    /// How the longest delay limits the others, where that is not the document's default.
    cap: Option<&'static str>,
}

/// A time in seconds as a document has it.
pub(super) fn time(seconds: f64) -> String {
    format!("\"{seconds}s\"")
}

/// A word as JSON text. None has a sign that would need another.
pub(super) fn word(word: &str) -> String {
    format!("\"{word}\"")
}

/// An object as JSON text.
pub(super) fn written(fields: &[(&'static str, String)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn stage(kind: &str, numbers: &[(&'static str, String)], jitter: &str) -> Stage {
    let mut backoff = vec![("kind", word(kind))];
    backoff.extend_from_slice(numbers);
    Stage { backoff, jitter: word(jitter), cap: None }
}

/// Jitter of up to so many seconds.
fn bounded(seconds: f64) -> String {
    written(&[("kind", word("bounded")), ("bound", time(seconds))])
}

fn constant(seconds: f64) -> Stage {
    stage("constant", &[("delay", time(seconds))], "none")
}

/// No wait at all.
pub(super) fn none() -> Stage {
    constant(0.0)
}

impl Stage {
    /// The fields beside the backoff.
    pub(super) fn others(&self) -> Object {
        let cap = self.cap.map(|cap| ("cap", word(cap)));
        std::iter::once(("jitter", self.jitter.clone())).chain(cap).collect()
    }
}

impl<'t> Reader<'t> {
    /// The stages of a wait: one, or those of a chain.
    pub(super) fn wait(self, tokens: &[Token<'t>]) -> Result<Vec<Stage>, Problem> {
        let expected = "wait_fixed(...), wait_random(...), wait_incrementing(...), wait_exponential(...), wait_random_exponential(...), \
            wait_exponential_jitter(...), wait_chain(...), wait_combine(...) or wait_none()";
        let tokens = self.bare(tokens)?;
        if let parts @ [_, _, ..] = &self.split(tokens, '+')[..] {
            return self.sum(parts, tokens);
        }
        let (function, arguments) = self.named(tokens, expected)?;
        let longest = |max: Option<f64>| ("max", max.map_or_else(|| word("none"), time));
        let one = match function {
            "wait_none" => {
                self.numbers(function, &arguments, [])?;
                none()
            }
            "wait_fixed" => {
                let [wait] = self.numbers(function, &arguments, ["wait"])?;
                constant(wait.ok_or_else(|| self.unknown(tokens, "a number in the brackets"))?)
            }
            "wait_random" => {
                let [min, max] = self.numbers(function, &arguments, ["min", "max"])?;
                let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(1.0));
                stage("constant", &[("delay", time(max)), ("floor", time(min))], "full")
            }
            "wait_incrementing" => {
                let [start, increment, max] = self.numbers(function, &arguments, ["start", "increment", "max"])?;
                let (start, increment) = (time(start.unwrap_or(0.0)), time(increment.unwrap_or(100.0)));
                stage("linear", &[("initial", start), ("increment", increment), longest(max)], "none")
            }
            "wait_exponential" | "wait_random_exponential" | "wait_full_jitter" => {
                let names = ["multiplier", "max", "exp_base", "min"];
                let [multiplier, max, base, min] = self.numbers(function, &arguments, names)?;
                let (initial, factor) = (time(multiplier.unwrap_or(1.0)), base.unwrap_or(2.0));
                let jitter = if function == "wait_exponential" { "none" } else { "full" };
                let numbers = [("initial", initial), ("factor", factor.to_string()), longest(max)];
                let mut stage = stage("exponential", &numbers, jitter);
                stage.backoff.extend(min.filter(|min| *min > 0.0).map(|min| ("floor", time(min))));
                stage
            }
            "wait_exponential_jitter" => {
                let names = ["initial", "max", "exp_base", "jitter"];
                let [initial, max, base, jitter] = self.numbers(function, &arguments, names)?;
                let (initial, factor) = (time(initial.unwrap_or(1.0)), base.unwrap_or(2.0));
                let numbers = [("initial", initial), ("factor", factor.to_string()), longest(max)];
                let jitter = bounded(jitter.unwrap_or(1.0));
                Stage { cap: Some("clip"), jitter, ..stage("exponential", &numbers, "none") }
            }
            "wait_chain" => return self.chain(&arguments, tokens),
            "wait_combine" => {
                let parts: Vec<_> = arguments.iter().map(|argument| argument.value).collect();
                return self.sum(&parts, tokens);
            }
            _ => return Err(self.unknown(tokens, expected)),
        };
        Ok(vec![one])
    }

    /// A chain: each wait is used once, the last one from then on.
    fn chain(self, arguments: &[Argument<'_, 't>], whole: &[Token<'t>]) -> Result<Vec<Stage>, Problem> {
        let mut stages = Vec::new();
        for argument in arguments {
            let [stage] = <[Stage; 1]>::try_from(self.wait(argument.value)?)
                .map_err(|_| self.unknown(argument.value, "a wait that is no chain"))?;
            stages.push(stage);
        }
        if stages.is_empty() {
            return Err(self.unknown(whole, "a wait in the brackets"));
        }
        let last = stages.len() - 1;
        stages[..last].iter_mut().for_each(|stage| stage.backoff.push(("times", "1".to_owned())));
        Ok(stages)
    }

    /// A wait without jitter, and a random one on top of it.
    fn sum(self, parts: &[&[Token<'t>]], whole: &[Token<'t>]) -> Result<Vec<Stage>, Problem> {
        let expected = || self.unknown(whole, "a wait without chance and wait_random(...), in this order,");
        let [first, second] = parts else { return Err(expected()) };
        let (function, arguments) = self.named(self.bare(second)?, "wait_random(...)")?;
        let stages = self.wait(first)?;
        if function != "wait_random" || stages.len() != 1 || stages[0].jitter != word("none") {
            return Err(expected());
        }
        let [min, max] = self.numbers(function, &arguments, ["min", "max"])?;
        let (min, max) = (min.unwrap_or(0.0), max.unwrap_or(1.0));
        let mut sum = stages.into_iter().next().ok_or_else(expected)?;
        if sum.backoff.contains(&("kind", word("constant"))) {
            sum.backoff.push(("offset", time(min)));
        } else if min > 0.0 {
            // The longest delay of such a wait counts before the offset is added, and a document's after it.
            return Err(expected());
        } else {
            sum.cap = Some("before_jitter");
        }
        sum.jitter = bounded(max - min);
        Ok(vec![sum])
    }
}
