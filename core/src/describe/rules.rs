//! Which failures are worth another try, when a policy document says so itself.
//!
//! The core's own classification (HTTP, gRPC, a host's errors) suits most operations. `retry_on` is for the others: a
//! service whose 404 goes away, a client whose errors are only text, an operation that may not run twice. It is data, so
//! that the services of a company can share one answer; the texts of its patterns stay with the host, which has the
//! message and a fast substring search, so that the rules are plain numbers of a fixed size.

use crate::decide::failure::{Failure, FailureKind};
use crate::decide::grpc::GrpcCode;
use crate::error::{Error, ErrorCode};
use crate::nearest::nearest;
use crate::value::Value;

pub(crate) mod write;

/// The facts about an error beside its failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Facts {
    /// Its HTTP status; 0 when it has none.
    pub http: u16,
    /// Its gRPC code, an unknown code as `UNKNOWN`; 255 when it has none.
    pub grpc: u8,
    /// True if its message contains a pattern of the list that [`Rules::patterns`] says.
    pub matched: bool,
    /// True if the operation can run twice without harm.
    pub idempotent: bool,
}

impl Facts {
    /// Of an operation that can run twice: no status, no code, no pattern in the message.
    pub const NONE: Self = Self { http: 0, grpc: u8::MAX, matched: false, idempotent: true };
}

/// For which operations a list of `retry_on` is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Operations {
    /// `retry_on`: operations that can run twice without harm, and all when the document does not tell them apart.
    All = 1,
    /// `retry_on.non_idempotent`: operations that may not run twice.
    NonIdempotent = 2,
}

/// A text that the host has to store, because rules are plain numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostText<'a> {
    /// The list of patterns for these operations is empty so far: the patterns that the host has stored for them go.
    NoPatterns(Operations),
    /// A pattern.
    Pattern {
        /// The operations that it is for.
        operations: Operations,
        /// True if the list begins anew: the patterns that the host has stored for these operations go.
        begins: bool,
        /// A text that a message must contain: case counts, and the empty text is in every message.
        text: &'a str,
    },
    /// The full name of a type of errors that are never retried (only Temporal's form has them).
    ErrorType(&'a str),
}

/// A document's `retry_on` (spec 8): 160 bytes of plain numbers, without the texts of its patterns.
///
/// # Contract
/// [`Rules::default`] says nothing, so that every failure stays what it is. [`Rules::set`] fills it, entry by entry in the
/// order of the document; afterwards [`Rules::judge`] is a pure function. Every bit pattern is valid, and no input panics.
///
/// A host asks it about failures only: a caller's cancellation is none, and what it knows for a programming error is
/// permanent whatever the rules say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Rules {
    all: Lists,
    non_idempotent: Lists,
}

/// The lists for one sort of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
struct Lists {
    /// One bit for each status, from 100 on.
    http: [u64; 8],
    /// One bit for each code.
    grpc: u32,
    /// One bit for each kind, by its number.
    kinds: u8,
    /// A bit for each list that there is, empty lists included.
    listed: u8,
    /// No padding: the rules are their bytes.
    unused: [u8; 10],
}

const HTTP: u8 = 1;
const GRPC: u8 = 2;
const KINDS: u8 = 4;
const PATTERNS: u8 = 8;

/// The first status there is, and how many there are.
const FIRST_STATUS: u32 = 100;
const STATUSES: u32 = 500;

/// The kinds that can be listed.
const RETRIED: [FailureKind; 3] = [FailureKind::Transient, FailureKind::Throttled, FailureKind::Timeout];

/// The classes of HTTP statuses, with the first of each.
const CLASSES: [(&str, u32); 5] = [("1xx", 100), ("2xx", 200), ("3xx", 300), ("4xx", 400), ("5xx", 500)];

/// Every list by its path in `retry_on` and in a document: for which operations it is, and which one.
const LISTS: [(&str, &str, Operations, u8); 8] = [
    ("http", "retry_on.http", Operations::All, HTTP),
    ("grpc", "retry_on.grpc", Operations::All, GRPC),
    ("kinds", "retry_on.kinds", Operations::All, KINDS),
    ("patterns", "retry_on.patterns", Operations::All, PATTERNS),
    ("non_idempotent.http", "retry_on.non_idempotent.http", Operations::NonIdempotent, HTTP),
    ("non_idempotent.grpc", "retry_on.non_idempotent.grpc", Operations::NonIdempotent, GRPC),
    ("non_idempotent.kinds", "retry_on.non_idempotent.kinds", Operations::NonIdempotent, KINDS),
    ("non_idempotent.patterns", "retry_on.non_idempotent.patterns", Operations::NonIdempotent, PATTERNS),
];

/// The name under which the lists for operations that may not run twice stand, in `retry_on` and in a document.
const NON_IDEMPOTENT: (&str, &str) = ("non_idempotent", "retry_on.non_idempotent");

impl Lists {
    /// True if a list names the error; `None` when no list speaks about it (spec 8.5).
    fn name(&self, facts: Facts, kind: FailureKind) -> Option<bool> {
        let code = GrpcCode::from_code(u32::from(facts.grpc)).unwrap_or(GrpcCode::Unknown);
        let says = [
            (self.listed & HTTP != 0 && facts.http != 0, self.has_status(u32::from(facts.http))),
            (self.listed & GRPC != 0 && facts.grpc != u8::MAX, self.grpc >> code.code() & 1 == 1),
            (self.listed & KINDS != 0, self.kinds >> kind.code() & 1 == 1),
            (self.listed & PATTERNS != 0, facts.matched),
        ];
        let mut speaking = says.into_iter().filter(|list| list.0).peekable();
        speaking.peek()?;
        Some(speaking.any(|list| list.1))
    }

    fn has_status(&self, status: u32) -> bool {
        let Some((word, bit)) = slot(status) else { return false };
        self.http.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
    }

    fn add_status(&mut self, status: u32) {
        if let Some((word, bit)) = slot(status)
            && let Some(bits) = self.http.get_mut(word)
        {
            *bits |= 1 << bit;
        }
    }

    /// Adds an entry to a list, or returns it if it is a pattern.
    fn add<'a>(&mut self, list: u8, value: Value<'a>) -> Result<Option<&'a str>, Error> {
        let integer = if let Value::Number { value, .. } = value { exact(value) } else { None };
        let text = if let Value::Text(text) = value { text } else { "" };
        match list {
            HTTP => {
                let class = CLASSES.into_iter().find(|class| class.0 == text).map(|class| (class.1, 100));
                let status = integer.filter(|status| slot(*status).is_some()).map(|status| (status, 1));
                let near = || nearest(text, CLASSES.into_iter().map(|class| class.0));
                let (first, count) = class.or(status).ok_or_else(|| refused(ErrorCode::HttpStatus, value, near()))?;
                (first..).take(count).for_each(|status| self.add_status(status));
            }
            GRPC => {
                let code = integer.and_then(GrpcCode::from_code).or_else(|| GrpcCode::parse(text));
                let near = || nearest(text, GrpcCode::ALL.into_iter().map(GrpcCode::name));
                self.grpc |= 1 << code.ok_or_else(|| refused(ErrorCode::GrpcCode, value, near()))?.code();
            }
            KINDS => {
                let kind = RETRIED.into_iter().find(|kind| kind.name() == text);
                let near = || nearest(text, RETRIED.into_iter().map(FailureKind::name));
                self.kinds |= 1 << kind.ok_or_else(|| refused(ErrorCode::RetryKind, value, near()))?.code();
            }
            _ if matches!(value, Value::Text(_)) => return Ok(Some(text)),
            _ => return Err(refused(ErrorCode::PatternText, value, None)),
        }
        Ok(None)
    }

    /// Empties a list and notes that there is one.
    fn begin(&mut self, list: u8) {
        self.listed |= list;
        match list {
            HTTP => self.http = [0; 8],
            GRPC => self.grpc = 0,
            KINDS => self.kinds = 0,
            _ => {}
        }
    }
}

/// The word and the bit of a status; `None` outside 100 to 599.
fn slot(status: u32) -> Option<(usize, u32)> {
    let index = status.checked_sub(FIRST_STATUS).filter(|index| *index < STATUSES)?;
    Some((usize::try_from(index / u64::BITS).ok()?, index % u64::BITS))
}

impl Lists {
    const NONE: Self = Self { http: [0; 8], grpc: 0, kinds: 0, listed: 0, unused: [0; 10] };
}

impl Rules {
    /// Rules that say nothing: every failure stays what it is.
    pub const NONE: Self = Self { all: Lists::NONE, non_idempotent: Lists::NONE };

    /// The failure as the document judges it, if the default classification says `default` (spec 8.4 to 8.8).
    ///
    /// The hint stays, and so does the kind of a failure that is retried, unless it was permanent: then it is transient.
    pub fn judge(&self, facts: Facts, default: Failure) -> Failure {
        let operations = self.operations(facts.idempotent);
        let kind = match (self.lists(operations).name(facts, default.kind), operations) {
            (Some(true), _) if default.kind == FailureKind::Permanent => FailureKind::Transient,
            (Some(true), _) | (None, Operations::All) => default.kind,
            // spec 8.8: what is not said to be safe is not
            (Some(false), _) | (None, Operations::NonIdempotent) => FailureKind::Permanent,
        };
        Failure { kind, ..default }
    }

    /// The list whose patterns the host is to look for in the message of an error, `None` when no list of patterns applies and the
    /// message need not be made.
    pub fn patterns(&self, idempotent: bool) -> Option<Operations> {
        let operations = self.operations(idempotent);
        if self.lists(operations).listed & PATTERNS != 0 { Some(operations) } else { None }
    }

    /// True if an HTTP answer is to be judged: a status from 400 on is a failure anyway, and a lower one when the document
    /// lists it (202 for an operation that is not done yet) (spec 8.9).
    pub fn is_failure(&self, status: u32, idempotent: bool) -> bool {
        status >= 400 || self.lists(self.operations(idempotent)).has_status(status)
    }

    /// Which lists apply (spec 8.8).
    const fn operations(&self, idempotent: bool) -> Operations {
        if idempotent || self.non_idempotent.listed == 0 { Operations::All } else { Operations::NonIdempotent }
    }

    const fn lists(&self, operations: Operations) -> &Lists {
        match operations {
            Operations::All => &self.all,
            Operations::NonIdempotent => &self.non_idempotent,
        }
    }

    const fn lists_mut(&mut self, operations: Operations) -> &mut Lists {
        match operations {
            Operations::All => &mut self.all,
            Operations::NonIdempotent => &mut self.non_idempotent,
        }
    }

    /// Sets one entry of a list, an empty list ([`Value::NoItems`]: given, and naming nothing), or nothing at all
    /// ([`Value::Nothing`], and [`Value::Empty`] where fields may stand).
    ///
    /// `path` is what follows `retry_on.` in the document, `http[0]` or `non_idempotent.patterns[2]`; empty for `retry_on`
    /// itself. Entry 0 begins its list anew, so that a document set later replaces the list of one set earlier.
    ///
    /// # Errors
    /// An unknown path, a list that is none, an entry that is not what the list takes.
    pub fn set<'a>(&mut self, path: &str, value: Value<'a>) -> Result<Option<HostText<'a>>, Error> {
        if path.is_empty() || path == NON_IDEMPOTENT.0 {
            return match value {
                Value::Nothing | Value::Empty => Ok(None),
                _ => Err(refused(ErrorCode::WrongType, value, None)),
            };
        }
        let (operations, list, index) = find(path)?;
        let lists = self.lists_mut(operations);
        let Some(index) = index else {
            return match value {
                Value::Nothing => Ok(None),
                Value::NoItems => {
                    lists.begin(list);
                    Ok(Some(HostText::NoPatterns(operations)).filter(|_| list == PATTERNS))
                }
                _ => Err(refused(ErrorCode::NotAList, value, None)),
            };
        };
        let begins = index == 0;
        // An entry that is refused changes nothing.
        let mut changed = *lists;
        if begins {
            changed.begin(list);
        }
        changed.listed |= list;
        let text = changed.add(list, value)?;
        *lists = changed;
        Ok(text.map(|text| HostText::Pattern { operations, begins, text }))
    }
}

/// The number as an integer, if it is one.
fn exact(number: f64) -> Option<u32> {
    // The cast saturates, so that a number that is no integer in range does not come back equal.
    let integer = number as u32;
    if f64::from(integer) == number { Some(integer) } else { None }
}

/// The list that a path names, and the place of the entry when it names one.
fn find(path: &str) -> Result<(Operations, u8, Option<u32>), Error> {
    let (name, index) = match path.split_once('[') {
        Some((name, rest)) => (name, rest.strip_suffix(']').and_then(place_in_list).map(Some)),
        None => (path, Some(None)),
    };
    match (LISTS.into_iter().find(|known| known.0 == name), index) {
        (Some((_, _, operations, list)), Some(index)) => Ok((operations, list, index)),
        (known, _) => {
            let near = known.map(|known| known.1).or_else(|| {
                let names = LISTS.into_iter().map(|known| (known.0, known.1)).chain([NON_IDEMPOTENT]);
                let near = nearest(name, names.clone().map(|known| known.0))?;
                names.into_iter().find(|known| known.0 == near).map(|known| known.1)
            });
            Err(refused(ErrorCode::UnknownField, Value::Other, near))
        }
    }
}

/// The digits between brackets as a number.
fn place_in_list(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The one function that makes errors of `retry_on`. The code that set the value knows its path.
fn refused(code: ErrorCode, value: Value<'_>, nearest: Option<&'static str>) -> Error {
    Error { value: value.shown(), nearest, ..Error::of_use(code) }
}

#[cfg(test)]
mod tests;
