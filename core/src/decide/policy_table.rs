//! The table of a policy's numbers, from which members, getters, setters and fingerprint are made.

/// The table of a policy's numbers: `member: type, Field, kind (more);`. It is expanded by a macro of the caller's, which gets all rows.
///
/// - `shared`: a stage or a rule may have its own. More are the choice that the number belongs to, its place in the
///   fingerprint, its name in C, and a note for C.
/// - `simple`: a number of the policy alone. More are its place in the fingerprint, its name in C, and a note for C.
/// - `rare`: a number that needs the feature `rules`. The fingerprint has rare numbers in the order of these rows.
///
/// The kinds are those of `kind_of_number`. Defaults are those of `fields.rs`. A note begins with a space, as a doc comment does.
#[doc(hidden)]
#[macro_export]
macro_rules! each_policy_number {
    ($expand:ident) => {
        $expand! {
            shared {
                /// The value that the longest delay bounds: the jittered delay, its spread kept, unless given.
                cap: u8, Cap, Cap (CAP, 8, cap, " A HOLDOFF_CAP_ number.");
                /// The use of a server's hint: floor unless given.
                hint_mode: u8, HintMode, HintMode (HINT, 10, hint_mode, " A HOLDOFF_HINT_ number.");
                /// The use of a hint that is longer than `hint_max`: stop unless given.
                hint_over: u8, HintOver, HintOver (HINT, 11, hint_over, " A HOLDOFF_LONG_HINT_ number.");
                /// The longest hint that is obeyed; 60 s unless given.
                hint_max: u64, HintMax, span (HINT, 4, hint_max_ns);
                /// How far a hint may move a delay beyond the policy's own; no limit unless given.
                hint_reach: u64, HintReach, limit (HINT, 5, hint_reach_ns);
            }
            simple {
                /// How long the whole operation may take, attempts included: above 0; no limit unless given.
                deadline: u64, Deadline, limit (1, deadline_ns);
                /// How much time an attempt needs before the deadline to be worth starting: below the deadline; 0 unless given.
                min_attempt: u64, MinAttempt, span (2, min_attempt_ns);
                /// How long one attempt may take: above 0; no limit unless given.
                attempt_timeout: u64, AttemptTimeout, limit (3, attempt_timeout_ns);
                /// How many attempts there may be, the first one included: 1 to 4294967294; 3 unless given.
                attempts: u32, Attempts, count (6, attempts, " 4294967295 is no limit.");
                /// The behaviour when the next attempt would not fit before the deadline: stop unless given.
                on_deadline: u8, OnDeadline, OnDeadline (9, on_deadline, " A HOLDOFF_DEADLINE_ number.");
            }
            rare {
                /// The limit that ends an operation: the first of attempts and deadline unless given.
                limits: u8, Limits, Limits ();
                /// The moment from which the deadline counts: the start unless given.
                deadline_from: u8, DeadlineFrom, DeadlineFrom ();
                /// The moment from which a delay counts: the failure unless given.
                delay_from: u8, DelayFrom, DelayFrom ();
                /// True if a running attempt is aborted at the deadline, as it is unless given. Otherwise the deadline only stops
                /// attempts from beginning.
                abort_at_deadline: u8, AbortAtDeadline, flag ();
                /// How long an attempt must run before it fails to begin the operation anew: above 0; no attempt does unless given.
                reset_after: u64, ResetAfter, limit ();
                /// How many attempts of all failures together there may be: 1 to 4294967294; no limit unless given.
                total: u32, Total, count ();
            }
        }
    };
}

/// The types of a kind of number and the conversions between them: the type of a getter, the type that a builder's method takes, and
/// the number of each. A kind that is none of `span`, `limit`, `count`, `flag`, `f64` and
/// `u32` is an enum of words.
macro_rules! kind_of_number {
    (type span) => { Span };
    (type limit) => { Option<Span> };
    (type count) => { Option<u32> };
    (type flag) => { bool };
    (type $word:ident) => { $word };
    (read span $number:expr) => { Span::from_nanos($number) };
    (read limit $number:expr) => { if $number == UNLIMITED { None } else { Some(Span::from_nanos($number)) } };
    (read count $number:expr) => { if $number == FOREVER { None } else { Some($number) } };
    (read flag $number:expr) => { $number != 0 };
    (read $word:ident $number:expr) => { $word::read($number) };
    (write span $value:expr) => { $value.as_nanos() };
    (write limit $value:expr) => { match $value { Some(limit) => limit.as_nanos(), None => UNLIMITED } };
    // The number that means "for ever" is out of range like 0: `None` says it.
    (write count $value:expr) => { match $value { Some(FOREVER) => 0, Some(count) => count, None => FOREVER } };
    (write flag $value:expr) => { $value as u8 };
    (write f64 $value:expr) => { $value };
    (write u32 $value:expr) => { $value };
    (write $word:ident $value:expr) => { $value.code() };
    (given span) => { Duration };
    (given limit) => { Duration };
    (given count) => { u32 };
    (given flag) => { bool };
    (given $word:ident) => { $word };
    (take span $value:expr) => { Span::from_duration($value).as_nanos() };
    (take limit $value:expr) => { Span::from_duration($value).as_nanos() };
    (take count $value:expr) => { if $value == FOREVER { 0 } else { $value } };
    (take flag $value:expr) => { $value };
    (take $word:ident $value:expr) => { $value.code() };
}
pub(crate) use {each_policy_number, kind_of_number};
