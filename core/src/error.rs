//! One table of numbered stop reasons and errors, the same numbers and words in every language, never reused.
//!
//! 1 to 99 say why an operation stopped, 100 to 199 what is wrong with a configuration, a saved state or a log, 200 to 299
//! that a machine was handed something it cannot work with (only a language without types can do that).

use crate::field::Field;
use crate::time::Span;
use core::fmt;

/// Why an operation stopped without success.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum StopReason {
    /// The failure is one that is never retried, or the server said never.
    Permanent = 1,
    /// All attempts are used.
    Attempts = 2,
    /// The next attempt would not fit before the deadline.
    Deadline = 3,
    /// The budget for retries is spent.
    Budget = 4,
    /// The circuit breaker is open.
    Breaker = 5,
    /// The rate limit is reached.
    Limiter = 6,
    /// As many calls run and wait as there may be.
    Bulkhead = 7,
    /// The server asked for a longer wait than the policy allows.
    Hint = 8,
    /// The caller cancelled.
    Cancelled = 9,
}

impl StopReason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Permanent,
        Self::Attempts,
        Self::Deadline,
        Self::Budget,
        Self::Breaker,
        Self::Limiter,
        Self::Bulkhead,
        Self::Hint,
        Self::Cancelled,
    ];

    /// The number, the same in every language.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The word, the same in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Attempts => "attempts",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
            Self::Breaker => "breaker",
            Self::Limiter => "limiter",
            Self::Bulkhead => "bulkhead",
            Self::Hint => "hint",
            Self::Cancelled => "cancelled",
        }
    }

    /// The reason in a sentence, for an error's text.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Permanent => "the failure is permanent",
            Self::Attempts => "all attempts are used",
            Self::Deadline => "the next attempt would not fit before the deadline",
            Self::Budget => "the budget for retries is spent",
            Self::Breaker => "the circuit breaker is open",
            Self::Limiter => "the rate limit is reached",
            Self::Bulkhead => "as many calls run and wait as there may be",
            Self::Hint => "the server asked for a longer wait than the policy allows",
            Self::Cancelled => "the operation was cancelled",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number of an error. A configuration error is explained by [`ConfigError`], which adds the field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u16)]
pub enum ErrorCode {
    /// No policy field has this name.
    UnknownField = 100,
    /// The value is of a type that the field does not take.
    WrongType = 101,
    /// The word is not one of those allowed.
    UnknownWord = 102,
    /// Not a length of time: negative, not finite, too long, or without a known unit.
    NotADuration = 103,
    /// Attempts outside 1 to 4294967294.
    AttemptsRange = 104,
    /// A backoff factor that is negative or not finite.
    FactorRange = 105,
    /// A longest delay below the first delay.
    MaxBelowInitial = 106,
    /// A limit of no time at all.
    ZeroLimit = 107,
    /// `min_attempt` leaves no room before the deadline.
    MinAttemptRange = 108,
    /// `on_deadline` is `clip` without a `min_attempt`.
    ClipNeedsMinAttempt = 109,
    /// A jitter factor that is negative, not finite, or above 1 where it may not be.
    JitterFactorRange = 110,
    /// A field that the chosen kind has no use for.
    NotForKind = 111,
    /// A jitter that needs a factor has none.
    JitterFactorMissing = 112,
    /// A seed that is not a whole number from 0 to 2^64-1.
    SeedRange = 113,
    /// An exponent that is negative or not finite.
    ExponentRange = 114,
    /// A list of delays without any.
    DelaysMissing = 115,
    /// A jitter that needs a bound has none.
    JitterBoundMissing = 116,
    /// A stage that another follows does not say for how many delays it is.
    TimesMissing = 117,
    /// More stages or delays than a policy has room for.
    TooManyStages = 118,
    /// Every stage is for one kind of failure, none for the others.
    NoStageForAll = 119,
    /// An entry of `retry_on.http` that is no status and no class of them.
    HttpStatus = 120,
    /// An entry of `retry_on.grpc` that is no code and no name of one.
    GrpcCode = 121,
    /// An entry of `retry_on.kinds` that is no kind of failure that can be retried.
    RetryKind = 122,
    /// An entry of `retry_on.patterns` that is no text.
    PatternText = 123,
    /// Something else where a list is needed.
    NotAList = 124,
    /// A field of the backoff was given beside a preset whose backoff has several stages.
    PresetStages = 128,
    /// A number of delays outside 1 to 536870911.
    TimesRange = 129,
    /// Bytes that do not begin as a saved state does.
    NotAState = 130,
    /// A saved state that is too short or too long.
    StateLength = 131,
    /// A saved state in a layout of another version.
    StateVersion = 132,
    /// A saved state of another kind of machine, or of none.
    StateKind = 133,
    /// A saved state that was changed, or contradicts itself.
    StateDamaged = 134,
    /// A state that was saved under another policy.
    StatePolicy = 135,
    /// No field of a saved state has this name.
    UnknownStateField = 136,
    /// A field of a saved state that is not there.
    MissingStateField = 137,
    /// The document is of a version that this library does not read.
    DocumentVersion = 140,
    /// The text of a document is no JSON.
    NotJson = 141,
    /// The document is no object.
    NotAnObject = 142,
    /// No field of the other system's form has this name.
    UnknownFormField = 143,
    /// The value is none that the field takes in the other system's form.
    FormValue = 144,
    /// A field that the other system's form needs is not there.
    FormMissing = 145,
    /// The other system's form has no way to say this part of the policy.
    NotInForm = 146,
    /// A part of the other system's form that this version does not have: budgets, hedging.
    NotSupported = 147,
    /// The document has several policies, and none of them was chosen.
    SeveralPolicies = 148,
    /// A field that is in the document twice.
    Twice = 149,
    /// A count outside its range.
    CountRange = 150,
    /// A share that is none.
    ShareRange = 151,
    /// A rate or an amount that is negative or not finite.
    RateRange = 152,
    /// A field that the chosen kind needs.
    FieldMissing = 153,
    /// Memory or bytes that hold no guard of that kind.
    NotAGuard = 154,
    /// A guard that was saved under another configuration.
    GuardConfig = 155,
    /// A saved guard that is too short or too long.
    GuardLength = 156,
    /// A log without any event.
    LogEmpty = 160,
    /// A log that does not begin with event 1, of type STARTED.
    LogStart = 161,
    /// An event of a log that is not there.
    LogGap = 162,
    /// An event of a log that is there twice.
    LogTwice = 163,
    /// An event that comes after a later one.
    LogOrder = 164,
    /// An event that cannot come at that place of a log.
    LogImpossible = 165,
    /// An event that is earlier than the one before it.
    LogTime = 166,
    /// A log that was written under another policy.
    LogPolicy = 167,
    /// A decision in a log that is not the one that the policy makes.
    LogDiverged = 168,
    /// An event that was changed, or contradicts itself.
    EventDamaged = 169,
    /// An event of a version that this library does not read.
    EventVersion = 170,
    /// No field of an event has this name.
    UnknownEventField = 171,
    /// A field of an event that is not there.
    MissingEventField = 172,
    /// Bytes that end within an event.
    EventCut = 173,
    /// A null pointer where an object is needed.
    NullPointer = 200,
    /// Memory that holds no policy: zeroed, stale or foreign.
    NotAPolicy = 201,
    /// Memory that holds no call: stale or foreign.
    NotACall = 202,
    /// A time that is negative, not a number, or beyond what its type holds exactly.
    TimeRange = 203,
    /// A failure kind that is none of the table.
    UnknownFailureKind = 204,
    /// Memory that is too small for what is to be written into it.
    NoRoom = 205,
}

impl ErrorCode {
    /// Every code, in the order of their numbers.
    pub const ALL: [Self; 72] = [
        Self::UnknownField,
        Self::WrongType,
        Self::UnknownWord,
        Self::NotADuration,
        Self::AttemptsRange,
        Self::FactorRange,
        Self::MaxBelowInitial,
        Self::ZeroLimit,
        Self::MinAttemptRange,
        Self::ClipNeedsMinAttempt,
        Self::JitterFactorRange,
        Self::NotForKind,
        Self::JitterFactorMissing,
        Self::SeedRange,
        Self::ExponentRange,
        Self::DelaysMissing,
        Self::JitterBoundMissing,
        Self::TimesMissing,
        Self::TooManyStages,
        Self::NoStageForAll,
        Self::HttpStatus,
        Self::GrpcCode,
        Self::RetryKind,
        Self::PatternText,
        Self::NotAList,
        Self::PresetStages,
        Self::TimesRange,
        Self::NotAState,
        Self::StateLength,
        Self::StateVersion,
        Self::StateKind,
        Self::StateDamaged,
        Self::StatePolicy,
        Self::UnknownStateField,
        Self::MissingStateField,
        Self::DocumentVersion,
        Self::NotJson,
        Self::NotAnObject,
        Self::UnknownFormField,
        Self::FormValue,
        Self::FormMissing,
        Self::NotInForm,
        Self::NotSupported,
        Self::SeveralPolicies,
        Self::Twice,
        Self::CountRange,
        Self::ShareRange,
        Self::RateRange,
        Self::FieldMissing,
        Self::NotAGuard,
        Self::GuardConfig,
        Self::GuardLength,
        Self::LogEmpty,
        Self::LogStart,
        Self::LogGap,
        Self::LogTwice,
        Self::LogOrder,
        Self::LogImpossible,
        Self::LogTime,
        Self::LogPolicy,
        Self::LogDiverged,
        Self::EventDamaged,
        Self::EventVersion,
        Self::UnknownEventField,
        Self::MissingEventField,
        Self::EventCut,
        Self::NullPointer,
        Self::NotAPolicy,
        Self::NotACall,
        Self::TimeRange,
        Self::UnknownFailureKind,
        Self::NoRoom,
    ];

    /// The number, the same in every language.
    #[must_use]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The word, the same in every language.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownField => "unknown_field",
            Self::WrongType => "wrong_type",
            Self::UnknownWord => "unknown_word",
            Self::NotADuration => "not_a_duration",
            Self::AttemptsRange => "attempts_range",
            Self::FactorRange => "factor_range",
            Self::MaxBelowInitial => "max_below_initial",
            Self::ZeroLimit => "zero_limit",
            Self::MinAttemptRange => "min_attempt_range",
            Self::ClipNeedsMinAttempt => "clip_needs_min_attempt",
            Self::JitterFactorRange => "jitter_factor_range",
            Self::NotForKind => "not_for_kind",
            Self::JitterFactorMissing => "jitter_factor_missing",
            Self::SeedRange => "seed_range",
            Self::ExponentRange => "exponent_range",
            Self::DelaysMissing => "delays_missing",
            Self::JitterBoundMissing => "jitter_bound_missing",
            Self::TimesMissing => "times_missing",
            Self::TooManyStages => "too_many_stages",
            Self::NoStageForAll => "no_stage_for_all",
            Self::PresetStages => "preset_stages",
            Self::TimesRange => "times_range",
            Self::HttpStatus => "http_status",
            Self::GrpcCode => "grpc_code",
            Self::RetryKind => "retry_kind",
            Self::PatternText => "pattern_text",
            Self::NotAList => "not_a_list",
            Self::NotAState => "not_a_state",
            Self::StateLength => "state_length",
            Self::StateVersion => "state_version",
            Self::StateKind => "state_kind",
            Self::StateDamaged => "state_damaged",
            Self::StatePolicy => "state_policy",
            Self::UnknownStateField => "unknown_state_field",
            Self::MissingStateField => "missing_state_field",
            Self::DocumentVersion => "document_version",
            Self::NotJson => "not_json",
            Self::NotAnObject => "not_an_object",
            Self::UnknownFormField => "unknown_form_field",
            Self::FormValue => "form_value",
            Self::FormMissing => "form_missing",
            Self::NotInForm => "not_in_form",
            Self::NotSupported => "not_supported",
            Self::SeveralPolicies => "several_policies",
            Self::Twice => "twice",
            Self::CountRange => "count_range",
            Self::ShareRange => "share_range",
            Self::RateRange => "rate_range",
            Self::FieldMissing => "field_missing",
            Self::NotAGuard => "not_a_guard",
            Self::GuardConfig => "guard_config",
            Self::GuardLength => "guard_length",
            Self::LogEmpty => "log_empty",
            Self::LogStart => "log_start",
            Self::LogGap => "log_gap",
            Self::LogTwice => "log_twice",
            Self::LogOrder => "log_order",
            Self::LogImpossible => "log_impossible",
            Self::LogTime => "log_time",
            Self::LogPolicy => "log_policy",
            Self::LogDiverged => "log_diverged",
            Self::EventDamaged => "event_damaged",
            Self::EventVersion => "event_version",
            Self::UnknownEventField => "unknown_event_field",
            Self::MissingEventField => "missing_event_field",
            Self::EventCut => "event_cut",
            Self::NullPointer => "null_pointer",
            Self::NotAPolicy => "not_a_policy",
            Self::NotACall => "not_a_call",
            Self::TimeRange => "time_range",
            Self::UnknownFailureKind => "unknown_failure_kind",
            Self::NoRoom => "no_room",
        }
    }

    /// The rule that was broken, for `field` where it depends on one: what follows "must" or stands for itself.
    #[must_use]
    pub const fn rule(self, field: Option<Field>) -> &'static str {
        match self {
            Self::UnknownField => "is no field of a policy",
            Self::WrongType => match field {
                Some(field) => field.takes(),
                None => "has the wrong type",
            },
            Self::UnknownWord => match field {
                Some(field) => field.takes(),
                None => "is not a known word",
            },
            Self::NotADuration => {
                "must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\""
            }
            Self::AttemptsRange => "must be a whole number from 1 to 4294967294, or \"forever\"",
            Self::FactorRange => match field {
                Some(field @ (Field::StretchFactor | Field::BreakerOpenFactor)) => field.takes(),
                _ => "must be a finite number from 0 on, for decorrelated backoff from 1 on",
            },
            Self::MaxBelowInitial => match field {
                Some(Field::BreakerOpenMax) => "must not be below the open time at first (it is 30s unless given)",
                _ => "must not be below the stage's initial delay (it is 5s unless given)",
            },
            Self::ZeroLimit => match field {
                None | Some(Field::Deadline | Field::AttemptTimeout) => "must be more than 0, or \"none\"",
                Some(_) => "must be more than 0",
            },
            Self::MinAttemptRange => "must be below the deadline",
            Self::ClipNeedsMinAttempt => "\"clip\" needs a min_attempt above 0",
            Self::JitterFactorRange => "must be a finite number from 0 on, at most 1 unless the jitter is additive",
            Self::NotForKind => "has no meaning for the chosen kind",
            Self::JitterFactorMissing => "is needed by additive, proportional and subtractive jitter",
            Self::SeedRange => "must be a whole number from 0 to 18446744073709551615",
            Self::ExponentRange => "must be a finite number from 0 on",
            Self::DelaysMissing => "must list at least one delay",
            Self::JitterBoundMissing => "is needed by bounded jitter",
            Self::TimesMissing => "is needed by a stage that another one follows",
            Self::TooManyStages => "is one too many: there is room for 6 stages, three listed delays counting as one",
            Self::NoStageForAll => {
                "must be left out of at least one stage, for the failures that have none of their own"
            }
            Self::PresetStages => {
                "has several stages in this preset: give a whole backoff, with its kind, or none of its fields"
            }
            Self::TimesRange => "must be a whole number from 1 to 536870911",
            Self::HttpStatus => "must be a status from 100 to 599, or a class of them from \"1xx\" to \"5xx\"",
            Self::GrpcCode => "must be a gRPC code from 0 to 16, or its name, such as \"UNAVAILABLE\"",
            Self::RetryKind => "must be one of transient, throttled, timeout",
            Self::PatternText => "must be text",
            Self::NotAList => "must be a list",
            Self::NotAState => "does not begin as a saved state does",
            Self::StateLength => "must be 56 bytes for a retry, 72 for a call",
            Self::StateVersion => "is not the layout that this version reads, which is 1",
            Self::StateKind => "must be the kind of machine that is resumed: a retry or a call",
            Self::StateDamaged => "was changed, or its fields contradict each other",
            Self::StatePolicy => "is another than the one it was saved under",
            Self::UnknownStateField => "is no field of a saved state",
            Self::MissingStateField => "is missing",
            Self::DocumentVersion => "must be 1",
            Self::NotJson => "must be JSON text",
            Self::NotAnObject => "must be an object",
            Self::UnknownFormField => "is no field of the form",
            Self::FormValue => "is nothing that the field takes in that form",
            Self::FormMissing => "is needed",
            Self::NotInForm => "cannot be said in that form",
            Self::NotSupported => "is not in this version",
            Self::SeveralPolicies => "is a second policy: say which entry is meant",
            Self::Twice => "must be there once",
            Self::CountRange => match field {
                Some(field) => field.takes(),
                None => "must be a whole number in the range of its field",
            },
            Self::ShareRange => "must be a number above 0 and at most 1",
            Self::RateRange => match field {
                Some(field) => field.takes(),
                None => "must be a finite number from 0 on",
            },
            Self::FieldMissing => "is needed by the chosen kind",
            Self::NotAGuard => "the memory holds no such guard",
            Self::GuardConfig => "is another than the one the guard was saved under",
            Self::GuardLength => "must be as long as its guard saves itself",
            Self::LogEmpty => "has no event",
            Self::LogStart => "does not begin the log: that is event 1, STARTED",
            Self::LogGap => "is missing",
            Self::LogTwice => "is there twice",
            Self::LogOrder => "comes after a later one",
            Self::LogImpossible => "cannot come here",
            Self::LogTime => "is earlier than the event before it",
            Self::LogPolicy => "was written under another policy",
            Self::LogDiverged => "is not what the policy decides",
            Self::EventDamaged => "was changed, or its fields contradict each other",
            Self::EventVersion => "is not the version that this library reads, which is 1",
            Self::UnknownEventField => "is no field of an event",
            Self::MissingEventField => "is missing",
            Self::EventCut => "is cut: the bytes end within it",
            Self::NullPointer => "a pointer is null",
            Self::NotAPolicy => "the memory holds no policy",
            Self::NotACall => "the memory holds no call",
            Self::TimeRange => "must be a time from 0 on that its type holds exactly",
            Self::UnknownFailureKind => "must be one of transient, throttled, timeout, permanent",
            Self::NoRoom => "does not fit into the memory that was given for it",
        }
    }
}

/// A value that broke a rule, where the core knows it as a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Given {
    /// Text or another value of the host's language, which the host shows itself.
    Unshown,
    /// A length of time.
    Span(Span),
    /// A number.
    Number(f64),
}

/// What is wrong with a configuration: the field, the value, the rule, and the nearest valid name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConfigError {
    /// The number of the rule that was broken.
    pub code: ErrorCode,
    /// The field; `None` when no field has the name that was given.
    pub field: Option<Field>,
    /// The index of the stage, where the backoff is a list of them.
    pub stage: Option<u8>,
    /// The index in the field's own list, where it has one.
    pub item: Option<u8>,
    /// The value that broke the rule.
    pub given: Given,
    /// The valid name or word nearest to the one that was given, when one is near.
    pub nearest: Option<&'static str>,
}

impl ConfigError {
    pub(crate) const fn new(code: ErrorCode, field: Field, given: Given) -> Self {
        Self { code, field: Some(field), stage: None, item: None, given, nearest: None }
    }

    /// An error that concerns no field.
    pub const fn of_use(code: ErrorCode) -> Self {
        Self { code, field: None, stage: None, item: None, given: Given::Unshown, nearest: None }
    }

    pub(crate) const fn of_stage(self, stage: u8) -> Self {
        Self { stage: Some(stage), ..self }
    }

    /// Where the error is in a document, `backoff[1].max`; empty when no field has the name that was given.
    #[must_use]
    pub const fn path(&self) -> Place {
        Place { field: self.field, stage: self.stage, item: self.item }
    }

    /// The rule in words: what the field must be.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        self.code.rule(self.field)
    }
}

/// The path of a value in a document, with the indexes of the lists it is in. Shown by `Display`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    field: Option<Field>,
    stage: Option<u8>,
    item: Option<u8>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.field.map_or("", Field::path);
        match (self.stage, path.strip_prefix("backoff")) {
            (Some(stage), Some(rest)) => write!(f, "backoff[{stage}]{rest}")?,
            _ => f.write_str(path)?,
        }
        match self.item {
            Some(item) => write!(f, "[{item}]"),
            None => Ok(()),
        }
    }
}

/// `deadline = 0s: must be more than 0, or "none"`, and `; did you mean "..."?` where a name is near.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(_) => self.path().fmt(f)?,
            None => f.write_str("this name")?,
        }
        match self.given {
            Given::Unshown => f.write_str(": ")?,
            Given::Span(span) => write!(f, " = {span}: ")?,
            Given::Number(number) => write!(f, " = {number}: ")?,
        }
        f.write_str(self.rule())?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean \"{nearest}\"?"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_in_order() {
        assert!(ErrorCode::ALL.is_sorted_by(|a, b| a.code() < b.code()));
        assert!(StopReason::ALL.is_sorted_by(|a, b| a.code() < b.code()));
    }
}
