//! The numbers of errors in the header, held to those of the core.

use holdoff_core::ErrorCode;

/// No error.
pub const HOLDOFF_OK: u32 = 0;
/// No policy field has this name.
pub const HOLDOFF_ERROR_UNKNOWN_FIELD: u32 = 100;
/// The value is of a type that the field does not take.
pub const HOLDOFF_ERROR_WRONG_TYPE: u32 = 101;
/// The word is not one of those allowed.
pub const HOLDOFF_ERROR_UNKNOWN_WORD: u32 = 102;
/// Not a length of time: negative, not finite, too long, or without a known unit.
pub const HOLDOFF_ERROR_NOT_A_DURATION: u32 = 103;
/// Attempts outside 1 to 4294967294.
pub const HOLDOFF_ERROR_ATTEMPTS_RANGE: u32 = 104;
/// A backoff factor that is negative or not finite.
pub const HOLDOFF_ERROR_FACTOR_RANGE: u32 = 105;
/// A longest delay below the first delay.
pub const HOLDOFF_ERROR_MAX_BELOW_INITIAL: u32 = 106;
/// A limit of no time at all.
pub const HOLDOFF_ERROR_ZERO_LIMIT: u32 = 107;
/// min_attempt leaves no room before the deadline.
pub const HOLDOFF_ERROR_MIN_ATTEMPT_RANGE: u32 = 108;
/// on_deadline is "clip" without a min_attempt.
pub const HOLDOFF_ERROR_CLIP_NEEDS_MIN_ATTEMPT: u32 = 109;
/// A jitter factor that is negative, not finite, or above 1 where it may not be.
pub const HOLDOFF_ERROR_JITTER_FACTOR_RANGE: u32 = 110;
/// A field that the chosen kind has no use for.
pub const HOLDOFF_ERROR_NOT_FOR_KIND: u32 = 111;
/// A jitter that needs a factor has none.
pub const HOLDOFF_ERROR_JITTER_FACTOR_MISSING: u32 = 112;
/// A seed that is no whole number from 0 to 2^64-1: impossible in C, where a seed is a uint64_t.
pub const HOLDOFF_ERROR_SEED_RANGE: u32 = 113;
/// An exponent that is negative or not finite.
pub const HOLDOFF_ERROR_EXPONENT_RANGE: u32 = 114;
/// A list of delays without any.
pub const HOLDOFF_ERROR_DELAYS_MISSING: u32 = 115;
/// A jitter that needs a bound has none.
pub const HOLDOFF_ERROR_JITTER_BOUND_MISSING: u32 = 116;
/// A stage that another follows does not say for how many delays it is.
pub const HOLDOFF_ERROR_TIMES_MISSING: u32 = 117;
/// More stages or delays than a policy has room for.
pub const HOLDOFF_ERROR_TOO_MANY_STAGES: u32 = 118;
/// Every stage is for one kind of failure, none for the others.
pub const HOLDOFF_ERROR_NO_STAGE_FOR_ALL: u32 = 119;
/// An entry of retry_on.http that is no status and no class of them.
pub const HOLDOFF_ERROR_HTTP_STATUS: u32 = 120;
/// An entry of retry_on.grpc that is no code and no name of one.
pub const HOLDOFF_ERROR_GRPC_CODE: u32 = 121;
/// An entry of retry_on.kinds that is no kind of failure that can be retried.
pub const HOLDOFF_ERROR_RETRY_KIND: u32 = 122;
/// An entry of retry_on.patterns that is no text.
pub const HOLDOFF_ERROR_PATTERN_TEXT: u32 = 123;
/// Something else where a list is needed.
pub const HOLDOFF_ERROR_NOT_A_LIST: u32 = 124;
/// A field of the backoff was given beside a preset whose backoff has several stages.
pub const HOLDOFF_ERROR_PRESET_STAGES: u32 = 128;
/// A number of delays outside 1 to 536870911.
pub const HOLDOFF_ERROR_TIMES_RANGE: u32 = 129;
/// Bytes that do not begin as a saved state does.
pub const HOLDOFF_ERROR_NOT_A_STATE: u32 = 130;
/// A saved state that is too short or too long.
pub const HOLDOFF_ERROR_STATE_LENGTH: u32 = 131;
/// A saved state in a layout of another version.
pub const HOLDOFF_ERROR_STATE_VERSION: u32 = 132;
/// A saved state of another kind of machine, or of none.
pub const HOLDOFF_ERROR_STATE_KIND: u32 = 133;
/// A saved state that was changed, or contradicts itself.
pub const HOLDOFF_ERROR_STATE_DAMAGED: u32 = 134;
/// A state that was saved under another policy.
pub const HOLDOFF_ERROR_STATE_POLICY: u32 = 135;
/// No field of a saved state has this name.
pub const HOLDOFF_ERROR_UNKNOWN_STATE_FIELD: u32 = 136;
/// A field of a saved state that is not there.
pub const HOLDOFF_ERROR_MISSING_STATE_FIELD: u32 = 137;
/// The document is of a version that this library does not read.
pub const HOLDOFF_ERROR_DOCUMENT_VERSION: u32 = 140;
/// The text of a document is no JSON.
pub const HOLDOFF_ERROR_NOT_JSON: u32 = 141;
/// The document is no object.
pub const HOLDOFF_ERROR_NOT_AN_OBJECT: u32 = 142;
/// No field of the other system's form has this name.
pub const HOLDOFF_ERROR_UNKNOWN_FORM_FIELD: u32 = 143;
/// The value is none that the field takes in the other system's form.
pub const HOLDOFF_ERROR_FORM_VALUE: u32 = 144;
/// A field that the other system's form needs is not there.
pub const HOLDOFF_ERROR_FORM_MISSING: u32 = 145;
/// The other system's form has no way to say this part of the policy.
pub const HOLDOFF_ERROR_NOT_IN_FORM: u32 = 146;
/// A part of the other system's form that this version does not have, or that nothing was lent for.
pub const HOLDOFF_ERROR_NOT_SUPPORTED: u32 = 147;
/// The document has several policies, and none of them was chosen.
pub const HOLDOFF_ERROR_SEVERAL_POLICIES: u32 = 148;
/// A field that is in the document twice.
pub const HOLDOFF_ERROR_TWICE: u32 = 149;
/// A count outside its range.
pub const HOLDOFF_ERROR_COUNT_RANGE: u32 = 150;
/// A share that is none.
pub const HOLDOFF_ERROR_SHARE_RANGE: u32 = 151;
/// A rate or an amount that is negative or not finite.
pub const HOLDOFF_ERROR_RATE_RANGE: u32 = 152;
/// A field that the chosen kind needs, or a guard that the options do not describe.
pub const HOLDOFF_ERROR_FIELD_MISSING: u32 = 153;
/// Memory or bytes that hold no guard of that kind.
pub const HOLDOFF_ERROR_NOT_A_GUARD: u32 = 154;
/// A guard that was saved under another configuration.
pub const HOLDOFF_ERROR_GUARD_CONFIG: u32 = 155;
/// A saved guard that is too short or too long.
pub const HOLDOFF_ERROR_GUARD_LENGTH: u32 = 156;
/// A log without any event.
pub const HOLDOFF_ERROR_LOG_EMPTY: u32 = 160;
/// A log that does not begin with event 1, of type STARTED.
pub const HOLDOFF_ERROR_LOG_START: u32 = 161;
/// An event of a log that is not there.
pub const HOLDOFF_ERROR_LOG_GAP: u32 = 162;
/// An event of a log that is there twice.
pub const HOLDOFF_ERROR_LOG_TWICE: u32 = 163;
/// An event that comes after a later one.
pub const HOLDOFF_ERROR_LOG_ORDER: u32 = 164;
/// An event that cannot come at that place of a log.
pub const HOLDOFF_ERROR_LOG_IMPOSSIBLE: u32 = 165;
/// An event that is earlier than the one before it.
pub const HOLDOFF_ERROR_LOG_TIME: u32 = 166;
/// A log that was written under another policy.
pub const HOLDOFF_ERROR_LOG_POLICY: u32 = 167;
/// A decision in a log that is not the one that the policy makes.
pub const HOLDOFF_ERROR_LOG_DIVERGED: u32 = 168;
/// An event that was changed, or contradicts itself.
pub const HOLDOFF_ERROR_EVENT_DAMAGED: u32 = 169;
/// An event of a version that this library does not read.
pub const HOLDOFF_ERROR_EVENT_VERSION: u32 = 170;
/// No field of an event has this name.
pub const HOLDOFF_ERROR_UNKNOWN_EVENT_FIELD: u32 = 171;
/// A field of an event that is not there.
pub const HOLDOFF_ERROR_MISSING_EVENT_FIELD: u32 = 172;
/// Bytes that end within an event.
pub const HOLDOFF_ERROR_EVENT_CUT: u32 = 173;
/// A null pointer where an object is needed.
pub const HOLDOFF_ERROR_NULL_POINTER: u32 = 200;
/// Memory that holds no policy (or options, or rules): zeroed, stale or foreign.
pub const HOLDOFF_ERROR_NOT_A_POLICY: u32 = 201;
/// Memory that holds no call (or another machine): stale or foreign.
pub const HOLDOFF_ERROR_NOT_A_CALL: u32 = 202;
/// A time beyond what its type holds: impossible in C, where a time is a uint64_t.
pub const HOLDOFF_ERROR_TIME_RANGE: u32 = 203;
/// A failure kind that is none of the four.
pub const HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND: u32 = 204;
/// Memory that is too small for what is to be written into it.
pub const HOLDOFF_ERROR_NO_ROOM: u32 = 205;

macro_rules! same {
    ($($header:ident = $core:ident),* $(,)?) => {
        $(const _: () = assert!($header == ErrorCode::$core as u32);)*

        #[cfg(test)]
        const KNOWN: &[ErrorCode] = &[$(ErrorCode::$core),*];
    };
}

same! {
    HOLDOFF_ERROR_UNKNOWN_FIELD = UnknownField,
    HOLDOFF_ERROR_WRONG_TYPE = WrongType,
    HOLDOFF_ERROR_UNKNOWN_WORD = UnknownWord,
    HOLDOFF_ERROR_NOT_A_DURATION = NotADuration,
    HOLDOFF_ERROR_ATTEMPTS_RANGE = AttemptsRange,
    HOLDOFF_ERROR_FACTOR_RANGE = FactorRange,
    HOLDOFF_ERROR_MAX_BELOW_INITIAL = MaxBelowInitial,
    HOLDOFF_ERROR_ZERO_LIMIT = ZeroLimit,
    HOLDOFF_ERROR_MIN_ATTEMPT_RANGE = MinAttemptRange,
    HOLDOFF_ERROR_CLIP_NEEDS_MIN_ATTEMPT = ClipNeedsMinAttempt,
    HOLDOFF_ERROR_JITTER_FACTOR_RANGE = JitterFactorRange,
    HOLDOFF_ERROR_NOT_FOR_KIND = NotForKind,
    HOLDOFF_ERROR_JITTER_FACTOR_MISSING = JitterFactorMissing,
    HOLDOFF_ERROR_SEED_RANGE = SeedRange,
    HOLDOFF_ERROR_EXPONENT_RANGE = ExponentRange,
    HOLDOFF_ERROR_DELAYS_MISSING = DelaysMissing,
    HOLDOFF_ERROR_JITTER_BOUND_MISSING = JitterBoundMissing,
    HOLDOFF_ERROR_TIMES_MISSING = TimesMissing,
    HOLDOFF_ERROR_TOO_MANY_STAGES = TooManyStages,
    HOLDOFF_ERROR_NO_STAGE_FOR_ALL = NoStageForAll,
    HOLDOFF_ERROR_HTTP_STATUS = HttpStatus,
    HOLDOFF_ERROR_GRPC_CODE = GrpcCode,
    HOLDOFF_ERROR_RETRY_KIND = RetryKind,
    HOLDOFF_ERROR_PATTERN_TEXT = PatternText,
    HOLDOFF_ERROR_NOT_A_LIST = NotAList,
    HOLDOFF_ERROR_PRESET_STAGES = PresetStages,
    HOLDOFF_ERROR_TIMES_RANGE = TimesRange,
    HOLDOFF_ERROR_NOT_A_STATE = NotAState,
    HOLDOFF_ERROR_STATE_LENGTH = StateLength,
    HOLDOFF_ERROR_STATE_VERSION = StateVersion,
    HOLDOFF_ERROR_STATE_KIND = StateKind,
    HOLDOFF_ERROR_STATE_DAMAGED = StateDamaged,
    HOLDOFF_ERROR_STATE_POLICY = StatePolicy,
    HOLDOFF_ERROR_UNKNOWN_STATE_FIELD = UnknownStateField,
    HOLDOFF_ERROR_MISSING_STATE_FIELD = MissingStateField,
    HOLDOFF_ERROR_DOCUMENT_VERSION = DocumentVersion,
    HOLDOFF_ERROR_NOT_JSON = NotJson,
    HOLDOFF_ERROR_NOT_AN_OBJECT = NotAnObject,
    HOLDOFF_ERROR_UNKNOWN_FORM_FIELD = UnknownFormField,
    HOLDOFF_ERROR_FORM_VALUE = FormValue,
    HOLDOFF_ERROR_FORM_MISSING = FormMissing,
    HOLDOFF_ERROR_NOT_IN_FORM = NotInForm,
    HOLDOFF_ERROR_NOT_SUPPORTED = NotSupported,
    HOLDOFF_ERROR_SEVERAL_POLICIES = SeveralPolicies,
    HOLDOFF_ERROR_TWICE = Twice,
    HOLDOFF_ERROR_COUNT_RANGE = CountRange,
    HOLDOFF_ERROR_SHARE_RANGE = ShareRange,
    HOLDOFF_ERROR_RATE_RANGE = RateRange,
    HOLDOFF_ERROR_FIELD_MISSING = FieldMissing,
    HOLDOFF_ERROR_NOT_A_GUARD = NotAGuard,
    HOLDOFF_ERROR_GUARD_CONFIG = GuardConfig,
    HOLDOFF_ERROR_GUARD_LENGTH = GuardLength,
    HOLDOFF_ERROR_LOG_EMPTY = LogEmpty,
    HOLDOFF_ERROR_LOG_START = LogStart,
    HOLDOFF_ERROR_LOG_GAP = LogGap,
    HOLDOFF_ERROR_LOG_TWICE = LogTwice,
    HOLDOFF_ERROR_LOG_ORDER = LogOrder,
    HOLDOFF_ERROR_LOG_IMPOSSIBLE = LogImpossible,
    HOLDOFF_ERROR_LOG_TIME = LogTime,
    HOLDOFF_ERROR_LOG_POLICY = LogPolicy,
    HOLDOFF_ERROR_LOG_DIVERGED = LogDiverged,
    HOLDOFF_ERROR_EVENT_DAMAGED = EventDamaged,
    HOLDOFF_ERROR_EVENT_VERSION = EventVersion,
    HOLDOFF_ERROR_UNKNOWN_EVENT_FIELD = UnknownEventField,
    HOLDOFF_ERROR_MISSING_EVENT_FIELD = MissingEventField,
    HOLDOFF_ERROR_EVENT_CUT = EventCut,
    HOLDOFF_ERROR_NULL_POINTER = NullPointer,
    HOLDOFF_ERROR_NOT_A_POLICY = NotAPolicy,
    HOLDOFF_ERROR_NOT_A_CALL = NotACall,
    HOLDOFF_ERROR_TIME_RANGE = TimeRange,
    HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND = UnknownFailureKind,
    HOLDOFF_ERROR_NO_ROOM = NoRoom,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_number_in_the_header() {
        assert_eq!(KNOWN, ErrorCode::ALL);
    }
}
