//! Rules as a host keeps them: the core's numbers, and the texts of their names and patterns beside them.

use crate::format::{ClassifyCase, Document};
use crate::options;
use holdoff_core::{Facts, Failure, Rules, Texts};

/// The rules of a document.
#[derive(Default)]
pub struct Classifier {
    rules: Rules,
    texts: Texts,
}

/// An error as a host knows it.
pub struct Known<'a> {
    /// What needs no texts.
    pub facts: Facts,
    /// Its codes.
    pub codes: &'a [&'a str],
    /// The names of its type, and of those it derives from.
    pub types: &'a [&'a str],
    /// Its text.
    pub message: &'a str,
}

impl<'a> Known<'a> {
    /// An error that is only text, of an operation that can run twice.
    pub const fn text(message: &'a str) -> Self {
        Self { facts: Facts::NONE, codes: &[], types: &[], message }
    }
}

impl Classifier {
    /// Reads a document.
    pub fn new(document: &Document) -> Result<Self, String> {
        let mut texts = Texts::default();
        let options = options::read(document, &mut texts).map_err(|error| format!("{error:?}"))?;
        Ok(Self { rules: options.rules(), texts })
    }

    /// What becomes of an error that is `default` by itself.
    pub fn judge(&self, error: &Known<'_>, default: Failure) -> Failure {
        let facts = self.texts.facts(&self.rules, error.facts, error.codes, error.types, || error.message);
        self.rules.judge(facts, default)
    }
}

/// What the rules of a case make of its error.
pub fn judged(case: &ClassifyCase) -> Result<Failure, String> {
    let failure = case.failure.failure().ok_or("an unknown failure kind")?;
    let [codes, types] = [&case.codes, &case.types].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    let facts = Facts {
        http: case.http.unwrap_or(0),
        grpc: case.grpc.unwrap_or(u8::MAX),
        should_retry: case.should_retry.map_or(0, |yes| if yes { 1 } else { 2 }),
        idempotent: case.idempotent,
        unsent: case.unsent,
        program_fault: case.program_fault,
        ..Facts::NONE
    };
    let known = Known { facts, codes: &codes, types: &types, message: &case.message };
    Ok(Classifier::new(&case.policy)?.judge(&known, failure))
}

/// Checks a case: the failure after the rules, and the rule that takes it if the case names one.
pub fn run(case: &ClassifyCase) -> Result<(), String> {
    let judged = judged(case)?;
    crate::run::same(&case.judged, &Failure { rule: 0, ..judged }.into())?;
    let rule = if judged.rule == Failure::NO_RULE { 0 } else { judged.rule };
    case.rule.map_or(Ok(()), |expected| crate::run::same(&expected, &rule))
}
