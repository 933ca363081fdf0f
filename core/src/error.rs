//! One table of numbered stop reasons and errors, the same numbers and words in every language, never reused.
//!
//! 1 to 99 say why an operation stopped, 100 to 199 what is wrong with a configuration, a saved state or a log, 200 to 299
//! that a machine was handed something it cannot work with (only a language without types can do that).

use crate::fields::Field;
use crate::time::Span;
use crate::words::words;
use core::fmt;

words! {
    /// Why an operation stopped without success.
    #[non_exhaustive]
    pub enum StopReason: u8 {
        /// The failure is never retried, or the server said never.
        Permanent = 1 "permanent" "the failure is permanent";
        /// All attempts are used.
        Attempts = 2 "attempts" "all attempts are used";
        /// The next attempt would not fit before the deadline.
        Deadline = 3 "deadline" "the next attempt would not fit before the deadline";
        /// The budget for retries is spent.
        Budget = 4 "budget" "the budget for retries is spent";
        /// The circuit breaker is open.
        Breaker = 5 "breaker" "the circuit breaker is open";
        /// The rate limit is reached.
        Limiter = 6 "limiter" "the rate limit is reached";
        /// The bulkhead and its queue are full.
        Bulkhead = 7 "bulkhead" "the bulkhead and its queue are full";
        /// The server asked for a longer wait than the policy allows.
        Hint = 8 "hint" "the server asked for a longer wait than the policy allows";
        /// The caller cancelled.
        Cancelled = 9 "cancelled" "the operation was cancelled";
        /// The body of the request cannot be sent again; only a host knows.
        Body = 10 "body" "the request's body cannot be sent again";
    }
}

words! {
    /// The number of an error. A configuration error is explained by [`Error`], which adds the field.
    #[non_exhaustive]
    pub enum ErrorCode: u16 {
        /// No policy field has this name.
        UnknownField = 100 "unknown_field" "is not a field of a policy";
        /// The value is of a type that the field does not take.
        WrongType = 101 "wrong_type" "has the wrong type";
        /// The word is not one of those allowed.
        UnknownWord = 102 "unknown_word" "is not a known word";
        /// Not a length of time: negative, not finite, too long, or without a known unit.
        NotADuration = 103 "not_a_duration" "must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"";
        /// Attempts outside 1 to 4294967294.
        AttemptsRange = 104 "attempts_range" "must be a whole number from 1 to 4294967294, or \"forever\"";
        /// A backoff factor that is negative or not finite.
        FactorRange = 105 "factor_range" "must be a finite number, 0 or more; for decorrelated backoff 1 or more";
        /// A longest delay below the first delay.
        MaxBelowInitial = 106 "max_below_initial" "must not be below the stage's initial delay (it is 5s unless given)";
        /// A limit of no time at all.
        ZeroLimit = 107 "zero_limit" "must be more than 0, or \"none\"";
        /// `min_attempt` leaves no room before the deadline.
        MinAttemptRange = 108 "min_attempt_range" "must be below the deadline";
        /// `on_deadline` is `clip` without a `min_attempt`.
        ClipNeedsMinAttempt = 109 "clip_needs_min_attempt" "\"clip\" needs a min_attempt above 0";
        /// A jitter factor that is negative, not finite, or above 1 where it may not be.
        JitterFactorRange = 110 "jitter_factor_range" "must be a finite number, 0 or more; at most 1 unless the jitter is additive";
        /// A field that the chosen kind has no use for.
        NotForKind = 111 "not_for_kind" "has no meaning for the chosen kind";
        /// A jitter that needs a factor has none.
        JitterFactorMissing = 112 "jitter_factor_missing" "is needed by additive, proportional and subtractive jitter";
        /// A seed that is not a whole number from 0 to 2^64-1.
        SeedRange = 113 "seed_range" "must be a whole number from 0 to 18446744073709551615";
        /// An exponent that is negative or not finite.
        ExponentRange = 114 "exponent_range" "must be a finite number, 0 or more";
        /// A list of delays without any.
        DelaysMissing = 115 "delays_missing" "must list at least one delay";
        /// A jitter that needs a bound has none.
        JitterBoundMissing = 116 "jitter_bound_missing" "is needed by bounded jitter";
        /// A stage that another follows does not say for how many delays it is.
        TimesMissing = 117 "times_missing" "is needed by each stage but the last";
        /// More stages, delays or numbers than a policy has room for.
        TooManyStages = 118 "too_many_stages" "exceeds the limit of 16 stages and 64 listed delays";
        /// An entry of `http` that is no status and no class of them.
        HttpStatus = 120 "http_status" "must be a status from 100 to 599, or a class of them from \"1xx\" to \"5xx\"";
        /// An entry of `grpc` that is no code and no name of one.
        GrpcCode = 121 "grpc_code" "must be a gRPC code from 0 to 16, or its name, such as \"UNAVAILABLE\"";
        /// An entry of `kinds` that is no kind of failure.
        RetryKind = 122 "retry_kind" "must be one of transient, throttled, timeout, permanent";
        /// An entry of `codes`, `types` or `patterns` that is no text.
        PatternText = 123 "pattern_text" "must be text";
        /// Something else where a list is needed.
        NotAList = 124 "not_a_list" "must be a list";
        /// A field of the backoff was given beside a preset whose backoff has several stages.
        PresetStages = 128 "preset_stages" "has several stages in this preset: give a whole backoff, with its kind, or none of its fields";
        /// A number of delays outside 1 to 268435455.
        TimesRange = 129 "times_range" "must be a whole number from 1 to 268435455";
        /// Bytes that do not begin as a saved state does.
        NotAState = 130 "not_a_state" "was not written by holdoff";
        /// A saved state that is too short or too long.
        StateLength = 131 "state_length" "must be 80 bytes for a retry, 96 for a call";
        /// A saved state in a layout of another version.
        StateVersion = 132 "state_version" "must be 1, the layout that this version reads";
        /// A saved state of another kind of machine, or of none.
        StateKind = 133 "state_kind" "must be the kind of machine that is resumed: a retry or a call";
        /// A saved state that was changed, or contradicts itself.
        StateDamaged = 134 "state_damaged" "is damaged, or its fields contradict each other";
        /// A state that was saved under another policy.
        StatePolicy = 135 "state_policy" "is not the one it was saved under";
        /// No field of a saved state has this name.
        UnknownStateField = 136 "unknown_state_field" "is not a field of a saved state";
        /// A field of a saved state that is not there.
        MissingStateField = 137 "missing_state_field" "is missing";
        /// The document is of a version that this library does not read.
        DocumentVersion = 140 "document_version" "must be 1";
        /// The text of a document is no JSON.
        NotJson = 141 "not_json" "must be JSON text";
        /// The document is no object.
        NotAnObject = 142 "not_an_object" "must be an object";
        /// No field of the other system's form has this name.
        UnknownFormField = 143 "unknown_form_field" "is not a field of the form";
        /// The value is none that the field takes in the other system's form.
        FormValue = 144 "form_value" "is not a value of this field in that format";
        /// A field that the other system's form needs is not there.
        FormMissing = 145 "form_missing" "is needed";
        /// The other system's form has no way to say this part of the policy.
        NotInForm = 146 "not_in_form" "that format cannot express this";
        /// A part of the other system's form that this version does not have: budgets, hedging.
        NotSupported = 147 "not_supported" "is not in this version";
        /// The document has several policies, and none of them was chosen.
        SeveralPolicies = 148 "several_policies" "is a second policy: choose an entry";
        /// A field that is in the document twice.
        Twice = 149 "twice" "must occur only once";
        /// A count outside its range.
        CountRange = 150 "count_range" "must be a whole number in the range of its field";
        /// A share that is none.
        ShareRange = 151 "share_range" "must be a number above 0 and at most 1";
        /// A rate or an amount that is negative or not finite.
        RateRange = 152 "rate_range" "must be a finite number, 0 or more";
        /// A field that the chosen kind needs.
        FieldMissing = 153 "field_missing" "is needed by the chosen kind";
        /// Memory or bytes that hold no guard of that kind.
        NotAGuard = 154 "not_a_guard" "the memory holds no such guard";
        /// A guard that was saved under another configuration.
        GuardConfig = 155 "guard_config" "is not the one the guard was saved under";
        /// A saved guard that is too short or too long.
        GuardLength = 156 "guard_length" "has the wrong length for its guard";
        /// The document has no policy in the other system's form.
        NoPolicy = 157 "no_policy" "has no policy of this format";
        /// The chosen policy is not in the document.
        NoEntry = 158 "no_entry" "is the number of policies here: the chosen entry, counted from 0, does not exist";
        /// A log without any event.
        LogEmpty = 160 "log_empty" "has no event";
        /// A log that does not begin with event 1, of type STARTED.
        LogStart = 161 "log_start" "must begin the log, with the type STARTED";
        /// An event of a log that is not there.
        LogGap = 162 "log_gap" "is missing";
        /// An event of a log that occurs twice.
        LogTwice = 163 "log_twice" "occurs twice";
        /// An event that comes after a later one.
        LogOrder = 164 "log_order" "comes after a later one";
        /// An event that cannot come at that place of a log.
        LogImpossible = 165 "log_impossible" "cannot come here";
        /// An event that is earlier than the one before it.
        LogTime = 166 "log_time" "is earlier than the event before it";
        /// A log that was written under another policy.
        LogPolicy = 167 "log_policy" "was written under another policy";
        /// A decision in a log that the policy does not make.
        LogDiverged = 168 "log_diverged" "is not what the policy decides";
        /// An event that was changed, or contradicts itself.
        EventDamaged = 169 "event_damaged" "is damaged, or its fields contradict each other";
        /// An event of a version that this library does not read.
        EventVersion = 170 "event_version" "must be 1, the version that this library reads";
        /// No field of an event has this name.
        UnknownEventField = 171 "unknown_event_field" "is not a field of an event";
        /// A field of an event that is not there.
        MissingEventField = 172 "missing_event_field" "is missing";
        /// Bytes that end within an event.
        EventCut = 173 "event_cut" "is cut off: the bytes end within it";
        /// Something else where true or false is needed.
        NotAFlag = 174 "not_a_flag" "must be true or false";
        /// A shortest delay above the longest.
        FloorAboveMax = 175 "floor_above_max" "must not be above the stage's longest delay (it is 5s unless given)";
        /// An offset that leaves nothing below the longest delay.
        OffsetRange = 176 "offset_range" "must be below the stage's longest delay (it is 5s unless given)";
        /// A stage that ends by time where no stage does, or before the stage in front of it.
        UntilPlace = 177 "until_place" "must be later than in the stages before; rules and backoffs that repeat have none";
        /// A stage that repeats but is not the last, or has no end.
        RepeatPlace = 178 "repeat_place" "is for the last stage, which needs times or a list of delays";
        /// `limits` is `last` without two limits, or beside a clipped sleep.
        LimitsLast = 179 "limits_last" "\"last\" needs attempts and a deadline, and no clipped sleep";
        /// More rules or alternatives than a policy has room for.
        TooManyRules = 180 "too_many_rules" "exceeds the limit of 8 rules, 16 alternatives and 8 sets of statuses";
        /// A number of a rule that never retries.
        NeverRetries = 181 "never_retries" "has no meaning in a rule with \"retry\": false";
        /// Attempts of a rule outside 1 to 65535.
        RuleAttempts = 182 "rule_attempts" "must be a whole number from 1 to 65535, or \"forever\"";
        /// A field of an earlier form of the document.
        Replaced = 183 "replaced" "is written as a rule";
        /// A null pointer where an object is needed.
        NullPointer = 200 "null_pointer" "a pointer is null";
        /// Memory that holds no policy: zeroed, stale or foreign.
        NotAPolicy = 201 "not_a_policy" "the memory holds no policy";
        /// Memory that holds no call: stale or foreign.
        NotACall = 202 "not_a_call" "the memory holds no call";
        /// A time that is negative, not a number, or beyond what its type holds exactly.
        TimeRange = 203 "time_range" "must be 0 or more, and exact in its type";
        /// A failure kind that is none of the table.
        UnknownFailureKind = 204 "unknown_failure_kind" "must be one of transient, throttled, timeout, permanent";
        /// Memory that is too small for what is to be written into it.
        NoRoom = 205 "no_room" "does not fit into the given memory";
    }
}

impl ErrorCode {
    /// The rule that was broken, for `field` where it depends on one: what follows "must" or stands for itself.
    pub const fn rule(self, field: Option<Field>) -> &'static str {
        match (self, field) {
            (Self::WrongType | Self::UnknownWord | Self::CountRange | Self::RateRange, Some(field))
            | (Self::FactorRange, Some(field @ (Field::StretchFactor | Field::BreakerOpenFactor))) => field.rule(),
            (Self::MaxBelowInitial, Some(Field::BreakerOpenMax)) => {
                "must not be below the open time at first (it is 30s unless given)"
            }
            (Self::TooManyStages, Some(Field::BreakerOpenFor)) => "exceeds the limit of 8 open times",
            (Self::ZeroLimit, Some(field)) if !matches!(field, Field::Deadline | Field::AttemptTimeout) => {
                "must be more than 0"
            }
            _ => self.text(),
        }
    }
}

/// A length of time or a number: a value that broke a rule, or the limit of a lint.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quantity {
    /// Neither: text or another value of the host's language, which the host shows itself.
    None,
    /// A length of time.
    Span(Span),
    /// A number.
    Number(f64),
}

/// Empty for [`Quantity::None`].
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Span(span) => span.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// The kind of input that an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A policy with its rules and guards, also in another system's form, or a use of the library.
    Policy,
    /// A saved state of a machine or a guard.
    State,
    /// The event with this number in its log; 0 where the number is not known.
    Event(u64),
}

/// An error: the rule that was broken, the field, the value, and the nearest valid name.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The number of the rule that was broken.
    pub code: ErrorCode,
    /// The kind of input.
    pub subject: Subject,
    /// The field of a policy; `None` when no field has the name in the input.
    pub field: Option<Field>,
    /// The index of the rule, where the field is a rule's.
    pub rule: Option<u8>,
    /// The index of the stage, where the backoff is a list of stages.
    pub stage: Option<u8>,
    /// True if the field is a stage's jitter, cap or hint.
    pub in_stage: bool,
    /// The index in the field's own list, where it has one.
    pub item: Option<u8>,
    /// The index of the policy in gRPC's `methodConfig`, where the field is in a service config.
    pub entry: Option<u16>,
    /// The name of the field in a saved state, an event or another system's form; else empty.
    pub name: &'static str,
    /// The value that broke the rule.
    pub value: Quantity,
    /// The rule in words, where the code and the field do not say it.
    pub(crate) special_rule: Option<&'static str>,
    /// The nearest valid name or word, if there is a near one.
    pub nearest: Option<&'static str>,
}

impl Error {
    pub(crate) const fn new(code: ErrorCode, field: Field, value: Quantity) -> Self {
        Self { field: Some(field), value, ..Self::of_use(code) }
    }

    /// An error that concerns no field.
    pub const fn of_use(code: ErrorCode) -> Self {
        Self::named(code, Subject::Policy, "")
    }

    /// An error of a saved state, or of its field with that name.
    pub const fn of_state(code: ErrorCode, name: &'static str) -> Self {
        Self::named(code, Subject::State, name)
    }

    /// An error of an event whose number is not known yet, or of its field with that name.
    pub const fn of_event(code: ErrorCode, name: &'static str) -> Self {
        Self::named(code, Subject::Event(0), name)
    }

    pub(crate) const fn named(code: ErrorCode, subject: Subject, name: &'static str) -> Self {
        let (field, rule, stage, item, special_rule, nearest) = (None, None, None, None, None, None);
        let (in_stage, value, entry) = (false, Quantity::None, None);
        Self { code, subject, field, rule, stage, in_stage, item, entry, name, value, special_rule, nearest }
    }

    pub(crate) fn found(self, number: impl Into<f64>) -> Self {
        Self { value: Quantity::Number(number.into()), ..self }
    }

    /// The same error in a rule.
    pub(crate) const fn of_rule(self, rule: u8) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// The field's path in a document, `backoff[1].max`, or its name; empty when no field has the name in the input.
    pub const fn path(&self) -> impl fmt::Display + use<> {
        Path(*self)
    }

    /// The number of the event in its log; 0 where it is not known, and for any other input.
    pub const fn sequence(&self) -> u64 {
        if let Subject::Event(sequence) = self.subject { sequence } else { 0 }
    }

    /// The rule in words: what the field must be.
    pub fn rule(&self) -> &'static str {
        self.special_rule.unwrap_or_else(|| self.code.rule(self.field))
    }
}

struct Path(Error);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { field, rule, stage, in_stage, item, entry, name, .. } = self.0;
        let path = field.map_or(name, Field::path);
        entry.map_or(Ok(()), |entry| write!(f, "methodConfig[{entry}]."))?;
        rule.map_or(Ok(()), |rule| write!(f, "rules[{rule}]."))?;
        match stage {
            Some(stage) if in_stage => write!(f, "backoff[{stage}].")?,
            None if in_stage => f.write_str("backoff.")?,
            _ => {}
        }
        match (stage, path.strip_prefix("backoff")) {
            (Some(stage), Some(rest)) if !in_stage => write!(f, "backoff[{stage}]{rest}")?,
            _ => f.write_str(path)?,
        }
        item.map_or(Ok(()), |item| write!(f, "[{item}]"))
    }
}

/// The number alone, for hosts that tell no more.
impl From<Error> for ErrorCode {
    fn from(error: Error) -> Self {
        error.code
    }
}

/// `deadline = 0s: must be more than 0, or "none"`, `event 3, attemptNumber = -1: must be a whole number from 0 to 4294967295`,
/// and `; did you mean "..."?` where a name is near.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = match self.subject {
            Subject::Policy => Ok(""),
            Subject::State => f.write_str("saved state").map(|()| ", "),
            Subject::Event(0) => f.write_str("event").map(|()| ", "),
            Subject::Event(number) => write!(f, "event {number}").map(|()| ", "),
        }?;
        let unknown = matches!(self.code, ErrorCode::UnknownStateField | ErrorCode::UnknownEventField);
        match (self.field, self.name) {
            (None, "") if unknown || whole.is_empty() => write!(f, "{whole}this name")?,
            (None, "") => {}
            _ => write!(f, "{whole}{}", self.path())?,
        }
        if self.value != Quantity::None {
            write!(f, " = {}", self.value)?;
        }
        write!(f, ": {}", self.rule())?;
        self.nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean \"{nearest}\"?"))
    }
}

impl core::error::Error for Error {}
