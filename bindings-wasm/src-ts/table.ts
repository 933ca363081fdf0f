/** The fields of policies and the rules about them, for the checks in JavaScript. Generated from core/src/fields.rs by `cargo xtask generate`. */

/** The longest time, in nanoseconds. */
export const LONGEST = 9223372036854775807n;

/** The numbers of the fields. */
export const BACKOFF_KIND = 1;
export const BACKOFF_INITIAL = 2;
export const BACKOFF_FACTOR = 3;
export const BACKOFF_INCREMENT = 4;
export const BACKOFF_MAX = 5;
export const BACKOFF_EXPONENT = 16;
export const BACKOFF_TIMES = 17;
export const BACKOFF_DELAYS = 19;
export const JITTER_KIND = 6;
export const JITTER_FACTOR = 7;
export const JITTER_BOUND = 20;
export const CAP = 21;
export const ATTEMPTS = 8;
export const DEADLINE = 9;
export const MIN_ATTEMPT = 10;
export const ON_DEADLINE = 11;
export const ATTEMPT_TIMEOUT = 12;
export const HINT_MODE = 13;
export const HINT_MAX = 14;
export const HINT_OVER = 15;
export const HINT_REACH = 22;
export const PRESET = 23;
export const VERSION = 24;

/** The numbers of words that rules are about. */
export const CONSTANT_BACKOFF = 1;
export const LINEAR_BACKOFF = 2;
export const EXPONENTIAL_BACKOFF = 3;
export const POLYNOMIAL_BACKOFF = 4;
export const FIBONACCI_BACKOFF = 5;
export const LIST_BACKOFF = 6;
export const DECORRELATED_BACKOFF = 7;
export const DECORRELATED_V2_BACKOFF = 8;
export const NONE_JITTER = 0;
export const FULL_JITTER = 1;
export const EQUAL_JITTER = 2;
export const ADDITIVE_JITTER = 3;
export const PROPORTIONAL_JITTER = 4;
export const BOUNDED_JITTER = 5;
export const SUBTRACTIVE_JITTER = 6;
export const KEEP_SPREAD_CAP = 0;
export const BEFORE_JITTER_CAP = 1;
export const CLIP_CAP = 2;
export const STOP_ON_DEADLINE = 0;
export const CLIP_ON_DEADLINE = 1;

/** The number of the field that names a budget, also in a preset. */
export const BUDGET_KIND = 25;
export const BUDGET_LIMIT = 37;

/** The number of the kind of the budget that loops bring. */
export const BUDGET_OF_LOOPS = 7;

/** A field: number, names, the kinds of backoffs that have a use for it as bits, default, and the values that it takes. */
export type Row = readonly [number, string, number, number | bigint, string];

export const FIELDS: readonly Row[] = [
  [1, "backoff.kind backoff", 65534, 3, "word 1 constant linear exponential polynomial fibonacci list decorrelated decorrelated_v2"],
  [2, "backoff.initial backoff.delay", 446, 100000000, "span"],
  [3, "backoff.factor", 136, 2, "number"],
  [4, "backoff.increment", 4, 0, "span"],
  [5, "backoff.max", 444, 5000000000, "longest"],
  [16, "backoff.exponent", 16, 2, "number"],
  [17, "backoff.times", 446, 0, "whole 1 268435455"],
  [19, "backoff.delays", 64, 0, "spans"],
  [6, "jitter.kind jitter", 0, 1, "word 0 none full equal additive proportional bounded subtractive"],
  [7, "jitter.factor", 0, 0, "number"],
  [20, "jitter.bound", 0, 0, "span"],
  [21, "cap", 0, 0, "word 0 keep_spread before_jitter clip"],
  [8, "attempts", 0, 3, "attempts"],
  [9, "deadline", 0, Infinity, "limit"],
  [10, "min_attempt", 0, 0, "span"],
  [11, "on_deadline", 0, 0, "word 0 stop clip"],
  [12, "attempt_timeout", 0, Infinity, "limit"],
  [13, "hint.mode hint", 0, 0, "word 0 floor replace ignore exact at_least"],
  [14, "hint.max", 0, 60000000000, "longest"],
  [15, "hint.over", 0, 0, "word 0 stop clamp ignore"],
  [22, "hint.reach", 0, Infinity, "limit"],
  [23, "preset", 0, 1, "preset"],
  [24, "version", 0, 1, "version"],
];

/** The fields that few policies have: the core reads them. */
export const OTHERS =
  "backoff.floor backoff.offset backoff.from backoff.until backoff.repeat jitter.grows total deadline_from limits abort_at_deadline delay_from reset_after";

/** The sections of guards. */
export const SECTIONS = "budget breaker limiter bulkhead adaptive stretch hedge pause nested";

/** Paths, each before the names that other libraries have for it, without capitals and underscores. */
export const PEERS =
  "attempts retries maxretries retry tries maxtries maxattempts stop numretries stopafterattempt limit numofattempts,deadline stopafterdelay maxtime maxelapsed maxelapsedtime maxduration totaltimeout maxretrytime,attempt_timeout timeout pertrytimeout,backoff wait,backoff.initial delay base basedelay initialdelay interval mintimeout min sleep mindelay retrydelay startingdelay initialinterval,backoff.max maxdelay maxinterval maxtimeout backofflimit,backoff.factor multiplier expbase coefficient backofffactor exponentialbase timemultiple,jitter randomize,rules retryif retryable statusforcelist statuscodes,hint retryafter respectretryafter,hint.max maxretryafter";

/** The number of the error whose words are the rule of a field that takes no words. */
export const RULE_OF: Readonly<Record<number, number>> = {
  3: 105,
  16: 114,
  17: 129,
  19: 115,
  7: 110,
  8: 104,
  24: 140,
};

/** The word and the rule of each error by its number. */
export const RULES: Readonly<Record<number, string>> = {
  100: 'unknown_field is not a field of a policy',
  101: 'wrong_type has the wrong type',
  102: 'unknown_word is not a known word',
  103: 'not_a_duration must be a time from 0 to 292 years with its unit, such as "250ms", "1.5s" or "2m"',
  104: 'attempts_range must be a whole number from 1 to 4294967294, or "forever"',
  105: 'factor_range must be a finite number, 0 or more; for decorrelated backoff 1 or more',
  106: 'max_below_initial must not be below the stage\'s initial delay (it is 5s unless given)',
  107: 'zero_limit must be more than 0, or "none"',
  108: 'min_attempt_range must be below the deadline',
  109: 'clip_needs_min_attempt "clip" needs a min_attempt above 0',
  110: 'jitter_factor_range must be a finite number, 0 or more; at most 1 unless the jitter is additive',
  111: 'not_for_kind has no meaning for the chosen kind',
  112: 'jitter_factor_missing is needed by additive, proportional and subtractive jitter',
  113: 'seed_range must be a whole number from 0 to 18446744073709551615',
  114: 'exponent_range must be a finite number, 0 or more',
  116: 'jitter_bound_missing is needed by bounded jitter',
  140: 'document_version must be 1',
  141: 'not_json must be JSON text',
  142: 'not_an_object must be an object',
  147: 'not_supported is not in this version',
  204: 'unknown_failure_kind must be one of transient, throttled, timeout, permanent',
};

/** The word and the rule of the error about times by its number. */
export const TIME_RULES: Readonly<Record<number, string>> = {
  203: 'time_range must be 0 or more, and exact in its type',
};

/** The word and the rule of each error about rules by its number. */
export const CONDITION_RULES: Readonly<Record<number, string>> = {
  120: 'http_status must be a status from 100 to 599, or a class of them from "1xx" to "5xx"',
  121: 'grpc_code must be a gRPC code from 0 to 16, or its name, such as "UNAVAILABLE"',
  122: 'retry_kind must be one of transient, throttled, timeout, permanent',
  123: 'pattern_text must be text',
  124: 'not_a_list must be a list',
  174: 'not_a_flag must be true or false',
  180: 'too_many_rules exceeds the limit of 8 rules, 16 alternatives and 8 sets of statuses',
  183: 'replaced is written as a rule',
};

/** The conditions of rules with their bits. */
export const CONDITIONS: Readonly<Record<string, number>> = {
  http: 1,
  grpc: 2,
  kinds: 4,
  codes: 32,
  types: 64,
  patterns: 128,
  idempotent: 8,
  unsent: 16,
};

/** What a rule has. */
export const RULE_PARTS = "if retry attempts backoff jitter cap hint";

/** The names of gRPC's codes, from 0 on. */
export const GRPC_CODES =
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED";
