//! The policy: the choices after a failure, as numbers that are valid by construction.
//!
//! Configuration is checked in one place, [`Options::build`](crate::Options::build), and never again: a machine that
//! holds a [`Policy`] has nothing left to refuse. The fields, their names and their rules are the same in every
//! language, because every language sets them through [`Options::set`](crate::Options::set).

use crate::decide::backoff::{self, Backoff, BackoffNumbers};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy_table::{each_policy_number, kind_of_number};
use crate::decide::stage::Stage;
use crate::decide::stage_numbers::{CAP, Choices, DELAYS, JITTER, STAGES, StageNumbers, part};
use crate::fields::Field;
pub(crate) use crate::fields::UNLIMITED;
use crate::time::Span;
use crate::words::words;

/// The most rules of a policy.
pub(crate) const RULES: usize = 8;

/// The delays that are counted. Later ones are delays of the last stage.
pub(crate) const COUNTED: u32 = (1 << STAGE_AT) - 1;
/// The lowest bit of the number of a stage in a count.
pub(crate) const STAGE_AT: u32 = 28;

/// The number of a first attempt without a limit, whose beginning decides something: the host reads its clock.
pub(crate) const NOT_LIMITED: u64 = UNLIMITED - 1;
/// The number of "retry for ever".
pub(crate) const FOREVER: u32 = u32::MAX;

/// The members of a policy.
macro_rules! policy {
    (
        shared $shared:tt
        simple { $($(#[doc = $doc:literal])+ $simple:ident: $simple_type:ident, $simple_field:ident, $simple_kind:ident $simple_more:tt;)+ }
        rare { $($(#[doc = $rare_doc:literal])+ $rare:ident: $rare_type:ident, $rare_field:ident, $rare_kind:ident ();)+ }
    ) => {
        /// A valid retry policy: 2,464 bytes of plain numbers, to be shared by any number of operations.
        ///
        /// Built by [`Policy::options`]; [`Policy::default`] is safe to use as it is (spec 3.1).
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(C)]
        pub struct Policy {
            /// The stages of the policy itself, and behind them those of its rules.
            pub(crate) stages: [StageNumbers; STAGES],
            /// Its jitter, cap and use of hints.
            pub(crate) own: Choices,
            $(pub(crate) $simple: $simple_type,)+
            /// How many of the stages are the policy's own.
            pub(crate) own_count: u8,
            /// The bits [`DRAWS`], [`HAS_RULES`], [`AGES`], [`LIMITED`] and [`ASKED`].
            pub(crate) path: u8,
            /// No padding: a policy is its bytes.
            pub(crate) unused: [u8; 5],
            $(pub(crate) $rare: $rare_type,)+
            /// How many delays leave an attempt and come from one endless stage; 0 for a policy of other stages, or [`Policy::has_rules`].
            pub(crate) plain_delays: u32,
            /// How long the first attempt may take, [`NOT_LIMITED`] or [`UNLIMITED`]: the one number that a host asks before it.
            pub(crate) first_limit: u64,
            pub(crate) rules: [RuleNumbers; RULES],
            /// The delays of lists.
            pub(crate) delays: [u64; DELAYS],
        }

        impl Policy {
            /// The default policy (spec 3.1): langgraphgo's numbers, with full jitter and hints obeyed up to a minute.
            pub const DEFAULT: Self = Self {
                stages: one(BackoffNumbers {
                    initial: 100_000_000,
                    step: 2.0_f64.to_bits(),
                    max: 5_000_000_000,
                    kind: backoff::EXPONENTIAL,
                    ..BackoffNumbers::EMPTY
                }),
                own: Choices::DEFAULT,
                $($simple: Field::$simple_field.default_number() as $simple_type,)+
                own_count: 1,
                path: DRAWS,
                unused: [0; 5],
                $($rare: Field::$rare_field.default_number() as $rare_type,)+
                plain_delays: 2,
                first_limit: UNLIMITED,
                rules: [RuleNumbers::EMPTY; RULES],
                delays: [0; DELAYS],
            };

            /// The numbers that a policy without rules cannot have, with their fields and defaults.
            pub(crate) fn rare_numbers(&self) -> impl Iterator<Item = (Field, u64, u64)> {
                [
                    (Field::JitterGrows, self.own.grows.into(), 0),
                    $((Field::$rare_field, self.$rare.into(), const { Field::$rare_field.default_number() }),)+
                ]
                .into_iter()
            }
        }
    };
}

each_policy_number!(policy);

/// The numbers of a rule of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct RuleNumbers {
    /// Its jitter, cap and hint.
    pub(crate) own: Choices,
    /// The most failures that the rule takes and counts for itself, or [`FOREVER`]; 0 if they count among the policy's.
    pub(crate) attempts: u32,
    /// The place of its first stage.
    pub(crate) at: u8,
    /// How many stages it has.
    pub(crate) stages: u8,
    /// The kinds of failures for which the rule holds whatever else is known, one bit each: the lower four of operations that
    /// can run twice, the upper four of others.
    pub(crate) kinds: u8,
    /// No padding: a policy is its bytes.
    pub(crate) unused: u8,
}

impl RuleNumbers {
    pub(crate) const EMPTY: Self = Self { own: Choices::NONE, attempts: 0, at: 0, stages: 0, kinds: 0, unused: 0 };

    /// True if the rule changes what a machine decides about the failures that it takes.
    pub(crate) const fn decides(&self) -> bool {
        self.attempts != 0 || self.stages != 0 || self.own.given != 0
    }

    /// The failures that the rule takes before it gives up; `None` if it does not count them.
    pub(crate) const fn limit(&self) -> Option<u32> {
        if self.attempts == 0 { None } else { Some(self.attempts) }
    }
}

words! {
    /// The limit that ends an operation, where it has a number of attempts and a deadline (spec 6.7).
    #[non_exhaustive]
    pub enum Limits: u8 = First {
        /// The first of them that is spent.
        First = 0 "first";
        /// The last of them that is spent.
        Last = 1 "last";
    }
}

words! {
    /// The moment from which the deadline counts (spec 6.8).
    #[non_exhaustive]
    pub enum DeadlineFrom: u8 = Start {
        /// The start of the first attempt.
        Start = 0 "start";
        /// The first failure: how long an operation may fail.
        FirstFailure = 1 "first_failure";
    }
}

words! {
    /// The moment from which a delay counts (spec 5.9).
    #[non_exhaustive]
    pub enum DelayFrom: u8 = Failure {
        /// The failure.
        Failure = 0 "failure";
        /// The start of the attempt that failed.
        Start = 1 "start";
    }
}

words! {
    /// The choice when the next attempt would not fit before the deadline (spec 6).
    #[non_exhaustive]
    pub enum OnDeadline: u8 = Stop {
        /// Give up at once instead of sleeping in vain.
        Stop = 0 "stop";
        /// Sleep less, so that one last attempt has `min_attempt` of time left.
        Clip = 1 "clip";
    }
}

/// Every delay of one endless stage takes a draw.
pub(crate) const DRAWS: u8 = 1;
/// The policy has rules, or limits and stages of few policies: see [`Policy::has_rules`].
pub(crate) const HAS_RULES: u8 = 4;
/// An attempt may be aborted, or the policy has rules.
pub(crate) const LIMITED: u8 = 16;
/// The start of the latest attempt decides something, or what the latest failure has spent.
pub(crate) const AGES: u8 = 8;
/// The use of hints is the policy's for every failure: see [`Policy::with_exact_hints`].
pub(crate) const ASKED: u8 = 32;

/// The stages of a policy with one endless stage.
pub(crate) const fn one(stage: BackoffNumbers) -> [StageNumbers; STAGES] {
    let mut stages = [StageNumbers::EMPTY; STAGES];
    let [first, ..] = &mut stages;
    *first = StageNumbers::of(stage);
    stages
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Policy {
    /// How delays grow: the stages of the policy itself, without those of its rules. Most policies have one stage. A list of
    /// delays is as many constant stages of one delay each.
    pub fn stages(&self) -> impl Iterator<Item = Stage> {
        self.shown(self.own_stages())
    }

    /// The stages of one of the rules, as [`Policy::stages`] has those of the policy.
    pub(crate) fn stages_of(&self, rule: &RuleNumbers) -> impl Iterator<Item = Stage> {
        self.shown(self.of_rule(rule))
    }

    fn shown<'p>(&'p self, records: &'p [StageNumbers]) -> impl Iterator<Item = Stage> + 'p {
        records.iter().flat_map(|record| {
            let parts = if record.is_list() { record.stage.times } else { 1 };
            (0..parts).map(|part| self.stage(record, part))
        })
    }

    /// The stages of the policy itself.
    pub(crate) fn own_stages(&self) -> &[StageNumbers] {
        part(&self.stages, 0, self.own_count as usize)
    }

    /// The stages of one of the rules.
    pub(crate) fn of_rule(&self, rule: &RuleNumbers) -> &[StageNumbers] {
        part(&self.stages, rule.at, rule.stages as usize)
    }

    /// The first stage.
    #[inline(always)]
    pub(crate) const fn first(&self) -> &StageNumbers {
        let [first, ..] = &self.stages;
        first
    }

    /// True if the policy has one stage, which is simple.
    pub(crate) const fn is_single(&self) -> bool {
        // Without the feature no other is built.
        cfg!(not(feature = "powers")) || self.own_count == 1 && self.first().is_simple()
    }

    /// A stage, or one of the delays of a list.
    fn stage(&self, record: &StageNumbers, part: u32) -> Stage {
        let backoff = match record.is_list() {
            true => Backoff::Constant { delay: Span::from_nanos(record.at(&self.delays, part, 0)) },
            false => record.stage.backoff(),
        };
        let times = if record.is_list() { 1 } else { record.stage.times };
        Stage {
            backoff,
            times: Some(times).filter(|times| *times != 0),
            floor: Span::from_nanos(record.floor),
            offset: Span::from_nanos(record.offset),
            from: record.from,
            until: kind_of_number!(read limit record.until),
            repeats: record.repeats != 0,
            jitter: record.own.has(JITTER).then(|| record.own.jitter()),
            cap: record.own.has(CAP).then(|| Cap::read(record.own.cap)),
        }
    }

    /// True if rules, or the limits and the fields of stages that few policies have, decide: `decide/by_rules.rs`. Never without the
    /// crate's feature, so that the compiler leaves them out.
    #[inline(always)]
    pub(crate) const fn has_rules(&self) -> bool {
        cfg!(feature = "rules") && self.path & HAS_RULES != 0
    }

    /// True if an attempt may be aborted, or may begin too late.
    #[inline(always)]
    pub(crate) const fn is_limited(&self) -> bool {
        self.path & LIMITED != 0
    }

    /// How delays are spread.
    pub const fn jitter(&self) -> Jitter {
        self.own.jitter()
    }

    /// True if the attempts are counted and end the operation, whatever its deadline (spec 36.1).
    pub const fn ends_by_attempts(&self) -> bool {
        self.attempts != FOREVER && !matches!(self.limits(), Limits::Last)
    }

    /// The same policy for a failure whose delay the host's user has chosen (spec 7.17): the hint is the delay, whatever
    /// the limits of hints are. The hints of stages and rules say nothing.
    #[must_use]
    pub const fn with_exact_hints(mut self) -> Self {
        let (hint_mode, hint_over) = (HintMode::Exact.code(), HintOver::Clamp.code());
        self.own = Choices { hint_mode, hint_over, hint_max: UNLIMITED, hint_reach: UNLIMITED, ..self.own };
        self.path |= ASKED;
        self
    }

    /// The most attempts of one operation, those of rules included; `None` without a limit (spec 8.11).
    pub fn most_attempts(&self) -> Option<u32> {
        Some(self.most()).filter(|most| *most != FOREVER)
    }

    /// The same, [`FOREVER`] without a limit.
    pub(crate) fn most(&self) -> u32 {
        let sum = self.rules.iter().filter_map(RuleNumbers::limit).fold(self.attempts, |sum, limit| match limit {
            FOREVER => FOREVER,
            _ => sum.saturating_add(limit.saturating_sub(1)),
        });
        sum.min(self.total)
    }

    /// True if a call under guards that has begun so many attempts may begin one beside others.
    pub(crate) fn allows_beside(&self, begun: u32) -> bool {
        if self.has_rules() { self.reset_after != UNLIMITED || begun < self.most() } else { begun < self.attempts }
    }

    /// How long the first attempt may take: the smaller of deadline and attempt timeout, `None` without either.
    ///
    /// The one sum a host makes by itself: it adds this to the time of its first attempt, to abort it.
    #[inline]
    pub const fn first_limit(&self) -> Option<Span> {
        if self.first_limit < NOT_LIMITED { Some(Span::from_nanos(self.first_limit)) } else { None }
    }

    /// True if the host reads its clock before the first attempt: that attempt has a limit, or something else is counted from
    /// its beginning (spec 10.9).
    #[inline(always)]
    pub const fn is_timed(&self) -> bool {
        self.first_limit != UNLIMITED
    }

    /// The same policy for an operation that a limit around it ends `limit` after its start, or earlier (spec 6.11).
    #[must_use]
    pub fn within(mut self, limit: Span) -> Self {
        self.deadline_from = DeadlineFrom::Start.code();
        self.limits = Limits::First.code();
        self.reset_after = UNLIMITED;
        if limit.as_nanos() < self.deadline {
            self.deadline = limit.as_nanos();
            self.abort_at_deadline = 1;
        }
        self.prepare();
        self
    }

    /// True if the deadline aborts an attempt that begins so long after the start (spec 6.6, 6.9).
    #[cold]
    #[inline(never)]
    pub(crate) fn aborts_from(&self, began: u64, failed: bool) -> bool {
        let counts = self.deadline_from() != DeadlineFrom::FirstFailure || failed;
        let resets = self.reset_after != UNLIMITED && self.deadline >= began.saturating_add(self.reset_after);
        counts && self.abort_at_deadline != 0 && self.limits() != Limits::Last && !resets
    }

    /// Sets the numbers that the fast path compares.
    pub(crate) fn prepare(&mut self) {
        let ages =
            self.reset_after != UNLIMITED || self.delay_from() == DelayFrom::Start || self.limits() == Limits::Last;
        let ruled = self.rare_field().is_some() || self.has_deciding_rules();
        let deadline = if self.aborts_from(0, false) { self.deadline } else { UNLIMITED };
        let counts = ages || self.deadline != UNLIMITED && self.deadline_from() != DeadlineFrom::FirstFailure;
        let path = if ruled { HAS_RULES | LIMITED } else { 0 } | if ages { AGES } else { 0 };
        self.prepare_as(deadline, path);
        if counts && self.first_limit == UNLIMITED {
            self.first_limit = NOT_LIMITED;
        }
    }

    /// [`Policy::prepare`] for a policy without rules.
    pub(crate) const fn prepare_without_rules(&mut self) {
        self.prepare_as(self.deadline, 0);
    }

    /// The same for a policy whose first attempt is aborted after a time at most, with these bits and others in its path.
    const fn prepare_as(&mut self, deadline: u64, path: u8) {
        let most = if self.attempts <= COUNTED { self.attempts.wrapping_sub(1) } else { COUNTED };
        let apart = self.own.cap == jitter::CAP_CLIP || self.first().stage.kind == backoff::DECORRELATED_V2;
        self.plain_delays = if path & HAS_RULES != 0 || !self.is_single() || apart { 0 } else { most };
        self.first_limit = if deadline < self.attempt_timeout { deadline } else { self.attempt_timeout };
        let draws = self.own.jitter != jitter::NONE || self.first().stage.is_random();
        self.path = path | if draws { DRAWS } else { 0 } | if self.first_limit != UNLIMITED { LIMITED } else { 0 };
    }

    /// The first field with a value that needs the code of rules without any rule.
    pub(crate) fn rare_field(&self) -> Option<Field> {
        let of_policy = || self.rare_numbers().find(|row| row.1 != row.2).map(|row| row.0);
        self.own_stages().iter().find_map(StageNumbers::rare_field).or_else(of_policy)
    }

    /// True if a rule changes what a machine decides.
    pub(crate) fn has_deciding_rules(&self) -> bool {
        self.rules.iter().any(RuleNumbers::decides)
    }
}
