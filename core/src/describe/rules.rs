//! Rules: the failures that a document treats in its own way.
//!
//! The core's own classification (HTTP, gRPC, a host's errors) suits most operations. Rules are for the others: a service whose
//! 404 goes away, a client whose errors are only text, a throttled client that has to wait longer. They are data, so
//! that the services of a company can share one answer. The texts of names and patterns stay with the host, which has the
//! error and a fast substring search, so that rules are plain numbers of a fixed size.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::grpc::GrpcCode;
use crate::decide::policy::RULES;
use crate::words::words;

#[cfg(feature = "foreign")]
mod foreign;
mod numbers;
pub(crate) mod replaced;
pub(crate) mod set;
#[cfg(feature = "alloc")]
pub(crate) mod texts;
pub(crate) mod write;

/// The facts about an error beside its failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Facts {
    /// Its HTTP status; 0 when it has none.
    pub http: u16,
    /// One bit for each alternative of the rules one of whose `codes` is a code of the error.
    pub codes: u16,
    /// One bit for each alternative one of whose `types` is the type of the error, or one of those it derives from.
    pub types: u16,
    /// One bit for each alternative one of whose `patterns` is in the message.
    pub patterns: u16,
    /// Its gRPC code, an unknown code as `UNKNOWN`; 255 when it has none.
    pub grpc: u8,
    /// The value of the header `x-should-retry`: 1 for true, 2 for false, 0 for no header and any other value.
    pub should_retry: u8,
    /// True if the operation can run twice without harm.
    pub idempotent: bool,
    /// True if the request was never sent: the connection was refused, the name not found, no connection free.
    pub unsent: bool,
    /// True if the host knows the error for one of the program itself.
    pub program_fault: bool,
    /// No padding: the facts are their bytes.
    pub unused: bool,
}

impl Facts {
    /// Nothing but that the operation can run twice: no status, no code, no name and no pattern.
    pub const NONE: Self = Self {
        http: 0,
        codes: 0,
        types: 0,
        patterns: 0,
        grpc: u8::MAX,
        should_retry: 0,
        idempotent: true,
        unsent: false,
        program_fault: false,
        unused: false,
    };
}

words! {
    /// A list of texts that the host holds against an error.
    pub enum TextList: u8 {
        /// Codes of the error: errno, those of clients, SQLSTATE.
        Codes = 1 "codes";
        /// Names of the type of the error, or of one it derives from.
        Types = 2 "types";
        /// Texts that the message contains: case counts, and the empty text is in every message.
        Patterns = 3 "patterns";
    }
}

/// A text that the host has to store, because rules are plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostText<'a> {
    /// The list of this alternative is empty so far: the texts that the host has stored for it go.
    NoTexts {
        /// The number of the alternative, from 0: its bit in [`Facts`].
        alternative: u8,
        /// Which list of the alternative.
        list: TextList,
    },
    /// A text of a list.
    Text {
        /// The number of the alternative, from 0: its bit in [`Facts`].
        alternative: u8,
        /// Which list of the alternative.
        list: TextList,
        /// True if the list begins anew: the texts that the host has stored for it go.
        begins: bool,
        /// The text.
        text: &'a str,
    },
    /// The full name of a type of errors that are never retried (only Temporal's form has them).
    ErrorType(&'a str),
}

/// The rules of a document (spec 8): 720 bytes of plain numbers, without the texts of their names and patterns.
///
/// # Contract
/// [`Rules::default`] has no rule, so that every failure stays what it is unless the operation may not run twice.
/// [`Options::set`](crate::Options::set) fills it in the order of the document; afterwards [`Rules::judge`] is a pure function. Every bit pattern is
/// valid, and no input panics.
///
/// A host asks it about failures only: a caller's cancellation is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Rules {
    /// One bit for each status, from 100 on; each set is of one or more alternatives.
    statuses: [[u64; 8]; SETS],
    alternatives: [Alternative; ALTERNATIVES],
    /// [`STAYS`], [`RETRIES`] or [`NEVER`] for each rule.
    retry: [u8; RULES],
    /// How many rules there are.
    rules: u8,
    /// How many alternatives there are, over all rules.
    used: u8,
    /// How many sets of statuses there are.
    sets: u8,
    /// One bit for each rule that has an `if`; the others hold always.
    conditioned: u8,
    /// No padding: the rules are their bytes.
    unused: [u8; 4],
}

/// Conditions that must all hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
struct Alternative {
    /// One bit for each gRPC code.
    grpc: u32,
    /// The index of its rule.
    rule: u8,
    /// Its place in the list of its rule.
    index: u8,
    /// A bit for each condition that there is.
    conditions: u8,
    /// One bit for each kind, by its number.
    kinds: u8,
    /// The set of its statuses.
    set: u8,
    /// The value of `idempotent` and, above it, of `unsent`.
    flags: u8,
    /// No padding: the rules are their bytes.
    unused: [u8; 2],
}

const SETS: usize = 8;
const ALTERNATIVES: usize = 16;

const STAYS: u8 = 0;
const RETRIES: u8 = 1;
const NEVER: u8 = 2;

const HTTP: u8 = 1;
const GRPC: u8 = 2;
const KINDS: u8 = 4;
const IDEMPOTENT: u8 = 8;
const UNSENT: u8 = 16;
const CODES: u8 = 32;
const TYPES: u8 = 64;
const PATTERNS: u8 = 128;

/// The first status there is, and how many there are.
const FIRST_STATUS: u32 = 100;
const STATUSES: u32 = 500;

/// The classes of HTTP statuses, from 1 on.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

impl Alternative {
    const EMPTY: Self = Self { grpc: 0, rule: 0, index: 0, conditions: 0, kinds: 0, set: 0, flags: 0, unused: [0; 2] };

    const fn has(&self, condition: u8) -> bool {
        self.conditions & condition != 0
    }

    /// True if the condition has the other value.
    const fn contradicts(&self, condition: u8, value: bool) -> bool {
        let wanted = self.flags & condition != 0;
        self.has(condition) && wanted != value
    }
}

/// The word and the bit of a status; `None` outside 100 to 599.
fn slot(status: u32) -> Option<(usize, u32)> {
    let index = status.checked_sub(FIRST_STATUS).filter(|index| *index < STATUSES)?;
    Some((usize::try_from(index / u64::BITS).ok()?, index % u64::BITS))
}

fn has_status(set: &[u64; 8], status: u32) -> bool {
    slot(status).and_then(|(word, bit)| Some(set.get(word)? >> bit & 1 == 1)).unwrap_or(false)
}

impl Default for Rules {
    fn default() -> Self {
        Self::NONE
    }
}

impl Rules {
    /// Every condition by its name in an alternative, with its bit.
    pub const CONDITIONS: [(&str, u8); 8] = [
        ("http", HTTP),
        ("grpc", GRPC),
        ("kinds", KINDS),
        ("codes", CODES),
        ("types", TYPES),
        ("patterns", PATTERNS),
        ("idempotent", IDEMPOTENT),
        ("unsent", UNSENT),
    ];

    /// The names of what a rule has.
    pub const PARTS: [&str; 7] = ["if", "retry", "attempts", "backoff", "jitter", "cap", "hint"];

    /// No rule.
    pub const NONE: Self = Self {
        statuses: [[0; 8]; SETS],
        alternatives: [Alternative::EMPTY; ALTERNATIVES],
        retry: [STAYS; RULES],
        rules: 0,
        used: 0,
        sets: 0,
        conditioned: 0,
        unused: [0; 4],
    };

    /// True if there is no rule.
    pub const fn is_none(&self) -> bool {
        self.rules == 0
    }

    /// How many rules there are.
    pub const fn count(&self) -> u8 {
        if self.rules as usize > RULES { RULES as u8 } else { self.rules }
    }

    /// True if the rule with that index makes failures permanent.
    pub(crate) fn never_retries(&self, index: u8) -> bool {
        self.word(index) == NEVER
    }

    /// True if the first rule retries whatever failed.
    pub(crate) fn retries_everything(&self) -> bool {
        self.count() > 0 && self.word(0) == RETRIES && self.kinds(0) == u8::MAX
    }

    /// The word of a rule about retries.
    fn word(&self, index: u8) -> u8 {
        self.retry.get(usize::from(index)).copied().unwrap_or(STAYS)
    }

    /// The kinds for which a rule holds whatever else is known, one bit each; above them of operations that may not run twice.
    pub(crate) fn kinds(&self, rule: u8) -> u8 {
        if !self.has_if(rule) {
            return u8::MAX;
        }
        let of_kinds = |alternative: &Alternative| alternative.conditions & !(KINDS | IDEMPOTENT) == 0;
        let all = self.alternatives().map(|(alternative, _)| alternative);
        all.filter(|alternative| alternative.rule == rule && of_kinds(alternative)).fold(0, |kinds, alternative| {
            let own = if alternative.has(KINDS) { alternative.kinds.wrapping_shr(1) & 15 } else { 15 };
            let safe = if alternative.contradicts(IDEMPOTENT, true) { 0 } else { own };
            kinds | safe | if alternative.contradicts(IDEMPOTENT, false) { 0 } else { own.wrapping_shl(4) }
        })
    }

    fn has_if(&self, rule: u8) -> bool {
        self.conditioned.wrapping_shr(rule as u32) & 1 == 1
    }

    /// Adds a rule that holds for one kind of failure. Returns its number, from 1; `None` without room.
    pub(crate) fn add_kind(&mut self, kind: FailureKind) -> Option<u8> {
        let rule = self.rules;
        let slot = self.alternatives.get_mut(usize::from(self.used)).filter(|_| usize::from(rule) < RULES)?;
        *slot =
            Alternative { rule, conditions: KINDS, kinds: 1_u8.wrapping_shl(kind.code().into()), ..Alternative::EMPTY };
        (self.rules, self.used) = (rule.saturating_add(1), self.used.saturating_add(1));
        self.conditioned |= 1_u8.wrapping_shl(rule.into());
        Some(self.rules)
    }

    /// Adds a rule that retries a status, if there is room.
    pub(crate) fn add_retried_status(&mut self, status: u32) {
        let rule = self.rules;
        let added = self.begin_conditions(rule).and_then(|()| self.alternative(rule, 0)).and_then(|number| {
            self.set_list(number, HTTP, true)?;
            self.add(number, HTTP, status)
        });
        self.set_word(rule, if added.is_ok() { RETRIES } else { STAYS });
    }

    /// The alternatives that are in use, with the bit of each in [`Facts`].
    fn alternatives(&self) -> impl Iterator<Item = (&Alternative, u16)> {
        let bits = (0..).map(|place| 1_u16.wrapping_shl(place));
        self.alternatives.iter().take(self.used.into()).zip(bits)
    }

    /// The statuses of an alternative.
    fn set_of(&self, alternative: &Alternative) -> &[u64; 8] {
        self.statuses.get(usize::from(alternative.set)).unwrap_or(&[0; 8])
    }

    /// True if all conditions of an alternative hold.
    fn holds(&self, alternative: &Alternative, bit: u16, facts: &Facts, kind: FailureKind) -> bool {
        let code = GrpcCode::from_code(u32::from(facts.grpc)).unwrap_or(GrpcCode::Unknown);
        let missing = [
            alternative.has(HTTP) && !has_status(self.set_of(alternative), facts.http.into()),
            alternative.has(GRPC) && (facts.grpc == u8::MAX || alternative.grpc >> code.code() & 1 == 0),
            alternative.has(KINDS) && alternative.kinds >> kind.code() & 1 == 0,
            alternative.has(CODES) && facts.codes & bit == 0,
            alternative.has(TYPES) && facts.types & bit == 0,
            alternative.has(PATTERNS) && facts.patterns & bit == 0,
            alternative.contradicts(IDEMPOTENT, facts.idempotent),
            alternative.contradicts(UNSENT, facts.unsent),
        ];
        !missing.contains(&true)
    }

    /// The failure as the document judges it, if the default classification says `default`, with the number of the rule that
    /// takes it (spec 8.4 to 8.8). The hint stays.
    pub fn judge(&self, facts: Facts, default: Failure) -> Failure {
        let advice = if facts.program_fault { 0 } else { facts.should_retry };
        let kind = default.advised(advice).kind;
        let permanent = |rule| Failure { kind: FailureKind::Permanent, rule, ..default };
        if advice == 2 {
            return permanent(Failure::NO_RULE);
        }
        // spec 8.8: a server that answers 425 has not begun.
        let safe = facts.idempotent || facts.unsent || facts.http == 425 || kind == FailureKind::Throttled;
        for index in 0..self.count() {
            let (mut taken, mut named) = (!self.has_if(index) && !facts.program_fault, false);
            for (alternative, bit) in self.alternatives().filter(|(alternative, _)| alternative.rule == index) {
                let asked = !facts.program_fault || alternative.has(TYPES);
                if asked && self.holds(alternative, bit, &facts, kind) {
                    (taken, named) = (true, named || alternative.has(IDEMPOTENT));
                }
            }
            if !taken {
                continue;
            }
            let rule = index.saturating_add(1);
            return match self.word(index) {
                NEVER => permanent(rule),
                _ if facts.program_fault && self.word(index) != RETRIES => permanent(rule),
                // spec 8.8: nobody knows whether the server did the work
                _ if !safe && !named => permanent(rule),
                RETRIES if kind == FailureKind::Permanent || facts.program_fault => {
                    Failure { kind: FailureKind::Transient, rule, ..default }
                }
                _ => Failure { kind, rule, ..default },
            };
        }
        if facts.program_fault || !safe {
            permanent(Failure::NO_RULE)
        } else {
            Failure { kind, rule: Failure::NO_RULE, ..default }
        }
    }

    /// True if an alternative has such a list, so that the host has to look at codes, types or the message of an error.
    pub fn has_texts(&self, list: TextList) -> bool {
        let conditions = bit_of(list);
        self.alternatives().any(|(alternative, _)| alternative.has(conditions))
    }

    /// True if an HTTP answer is to be judged: a status from 400 on is a failure anyway, and a lower one when a rule that retries
    /// names it (202 for an operation that is not done yet) (spec 8.12).
    pub fn is_failure(&self, status: u32, idempotent: bool) -> bool {
        let names = |alternative: &Alternative| {
            self.word(alternative.rule) == RETRIES
                && alternative.has(HTTP)
                && !alternative.contradicts(IDEMPOTENT, idempotent)
                && has_status(self.set_of(alternative), status)
        };
        status >= 400 || self.alternatives().any(|(alternative, _)| names(alternative))
    }
}

/// The bit of a list of texts in the conditions that an alternative has.
const fn bit_of(list: TextList) -> u8 {
    16_u8.wrapping_shl(list.code() as u32)
}

fn list_of(condition: u8) -> Option<TextList> {
    TextList::ALL.into_iter().find(|list| bit_of(*list) == condition)
}

#[cfg(test)]
mod tests;
