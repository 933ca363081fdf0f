//! Lints: settings that are valid but probably a mistake. Read a policy that is checked in by this once.
//!
//! A lint is an opinion and changes nothing. Each has a number and a word that stay, so that a team can allow one.

use crate::decide::backoff::Backoff;
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::grpc::GrpcCode;
use crate::decide::guards::Refusal;
use crate::decide::guards::budget::config::retry_costs;
use crate::decide::guards::guard::GuardFields as _;
use crate::decide::guards::nested::{Nesting, Token};
use crate::decide::hint::{Hint, HintMode, HintOver};
use crate::decide::jitter::Jitter;
use crate::decide::policy::{FOREVER, Limits, Policy, RuleNumbers, UNLIMITED};
use crate::decide::retry::MANY;
use crate::decide::stage::Stage;
use crate::describe::options::Options;
use crate::describe::path::{COUNTED, Path};
use crate::describe::rules::{Facts, Rules};
use crate::error::Quantity;
use crate::fields::Field;
use crate::time::Span;
use crate::words::words;
use core::fmt;

words! {
    /// A kind of lint: its number, the same in every language.
    #[non_exhaustive]
    pub enum LintKind: u16 {
        /// Retries for ever without a deadline or a budget: a caller may wait for ever.
        Forever = 301 "forever" "retries for ever without a deadline or a budget";
        /// A factor below 1: each delay is shorter than the one before, while the trouble gets older.
        Shrinking = 302 "shrinking" "a factor below 1 makes each delay shorter than the one before";
        /// No jitter: clients that fail together come back together.
        NoJitter = 303 "no_jitter" "without jitter, clients that fail together retry together";
        /// More than 10 attempts (Aster's linter has this number).
        ManyAttempts = 304 "many_attempts" "many attempts keep a caller waiting and a struggling server busy";
        /// The sleeps alone take longer than the deadline, without jitter.
        WaitAboveDeadline = 305 "wait_above_deadline" "the sleeps alone take longer than the deadline, without jitter";
        /// Not all attempts fit before the deadline, even with the shortest sleeps. An attempt counts with its limit if it has one, and
        /// as taking no time otherwise.
        UnreachableAttempts = 306 "unreachable_attempts" "not all attempts fit before the deadline, even with the shortest sleeps";
        /// An attempt may take as long as the whole operation, so that its own limit says nothing.
        AttemptTimeoutAboveDeadline = 307 "attempt_timeout_above_deadline" "an attempt may take as long as the whole operation";
        /// Hints are clamped to more than the deadline, so that no clamped one ever fits.
        HintAboveDeadline = 308 "hint_above_deadline" "hints are clamped to a wait that never fits before the deadline";
        /// The sleeps take long: more than 15 minutes where delays multiply, 5 minutes otherwise (Aster's numbers).
        LongWait = 309 "long_wait" "the sleeps take long, without jitter";
        /// Hedging without a budget: when the server is slow for everybody, every call starts as many attempts as it may.
        HedgeWithoutBudget = 310 "hedge_without_budget" "without a budget, hedging multiplies the load on a server that is slow";
        /// A round may have more attempts than the policy allows in all.
        HedgeAboveAttempts = 311 "hedge_above_attempts" "a hedge has more attempts than the policy allows in all";
        /// The second attempt would start when the first one's time, or the whole operation's, is over.
        LateHedge = 312 "late_hedge" "a hedge starts when the first attempt's time is over";
        /// A policy has more attempts than it may make with the retries around it.
        AttemptsAboveNested = 313 "attempts_above_nested" "there are more attempts than nested retries may make together";
        /// A call waits for the breaker, which stays open for longer than the call may take.
        OpenAboveDeadline = 314 "open_above_deadline" "a call waits for a breaker that stays open until after the deadline";
        /// The budget never allows a retry.
        EmptyBudget = 315 "empty_budget" "the budget never allows a retry";
        /// The sleeps alone take longer than the caller waits, whatever the deadline.
        WaitAboveTimeout = 316 "wait_above_timeout" "the sleeps alone take longer than the caller waits, without jitter";
        /// Retries inside retries multiply attempts.
        NestedRetries = 317 "nested_retries" "a retry inside a retry multiplies attempts";
        /// The attempts are used long before the deadline: with the longest sleeps, and every attempt as long as its limit, they take less
        /// than a tenth of it.
        AttemptsBeforeDeadline = 318 "attempts_before_deadline" "the attempts are used long before the deadline, even with the longest sleeps and attempts";
        /// No attempt may run long enough to begin the operation anew.
        ResetNever = 319 "reset_never" "no attempt can run long enough to reset the operation";
        /// A rule never takes a failure, because an earlier one takes them all.
        HiddenRule = 320 "hidden_rule" "a rule after one that matches every failure never applies";
        /// A server's hint may keep a call, or a breaker open, for longer than an hour, and no deadline ends the call before.
        LongHint = 321 "long_hint" "a server may ask for a wait of more than an hour";
        /// A server's hint of no time may drive retries as fast as they run: there are many attempts, and the policy's own delays, which
        /// such a hint is held against, take next to no time.
        HintWithoutFloor = 322 "hint_without_floor" "a server may ask for retries without a wait";
        /// An exponential delay has no maximum and grows beyond 5 minutes.
        NoCap = 323 "no_cap" "without a maximum, delays keep growing";
        /// The first rule retries every failure, also those that will fail again in the same way.
        RetriesEverything = 324 "retries_everything" "every failure is retried, even one that will fail again";
        /// A rule retries an answer that says that the request itself is wrong.
        RetriesClientErrors = 325 "retries_client_errors" "an answer is retried although the request is wrong";
        /// A setting of another system's file has no effect there (only a reader of files knows).
        NoEffect = 326 "no_effect" "a setting has no effect";
        /// A route retries a method that is not idempotent after the server may have done the work (only a reader of files knows).
        UnsafeMethod = 327 "unsafe_method" "a server may do the work of such a request twice";
        /// A mesh retries a service for which no file sets a limit of concurrent retries (only a reader of files knows).
        MeshWithoutBudget = 328 "mesh_without_budget" "without a budget, a mesh multiplies the load on a service that fails";
    }
}

/// The longest delay that may grow without a maximum.
const LONG: Span = Span::from_secs(300);
/// The client errors that may go away: a timeout of the server, a conflict, a body that is too large for now (RFC 9110, 15.5.14), a
/// lock, an early request, throttling.
const PASSING: [u16; 6] = [408, 409, 413, 423, 425, 429];
/// The gRPC codes that say that the request is wrong: INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
/// FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED and UNAUTHENTICATED.
const WRONG_REQUEST: [u8; 8] = [3, 5, 6, 7, 9, 11, 12, 16];
/// The longest wait that a server may ask for unquestioned.
const HOUR: Span = Span::from_secs(3600);
/// The delay that is questioned where a hint can be shorter.
const SHORT: Span = Span::from_millis(10);

/// One thing that is questionable about a policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lint {
    /// Which.
    pub kind: LintKind,
    /// The value in the policy: a time, a number, or nothing to show.
    pub found: Quantity,
    /// The value it is compared with.
    pub limit: Quantity,
}

/// `warning 304 many_attempts: many attempts keep a caller waiting ... (12, limit 10)`.
impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warning {} {}: {}", self.kind.code(), self.kind.name(), self.kind.text())?;
        match (self.found, self.limit) {
            (Quantity::None, Quantity::None) if self.kind == LintKind::NestedRetries => {
                f.write_str(" (without an end)")
            }
            (found, _) if self.kind == LintKind::NestedRetries => write!(f, " (at most {} in all)", found),
            (Quantity::None, Quantity::None) => Ok(()),
            (Quantity::None, limit) => write!(f, " (without an end, limit {limit})"),
            (can, all) if self.kind == LintKind::UnreachableAttempts => {
                write!(f, " ({can} of {all})")
            }
            (hidden, taker) if self.kind == LintKind::HiddenRule => write!(f, " (rule {hidden} after rule {taker})"),
            (Quantity::Number(answer), _) if self.kind == LintKind::RetriesClientErrors => {
                match GrpcCode::from_code(answer as u32) {
                    Some(code) => write!(f, " ({})", code.name()),
                    None => write!(f, " ({answer})"),
                }
            }
            (found, limit) => write!(f, " ({}, limit {})", Readable(found), Readable(limit)),
        }
    }
}

/// A quantity whose times from an hour on are hours: `61.7h`.
struct Readable(Quantity);

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Quantity::Span(span)) = self else { return self.0.fmt(f) };
        let tenths = span.as_nanos().saturating_add(TENTH / 2) / TENTH;
        match (tenths / 10, tenths % 10) {
            _ if *span < HOUR => span.rounded().fmt(f),
            (hours, 0) => write!(f, "{hours}h"),
            (hours, tenth) => write!(f, "{hours}.{tenth}h"),
        }
    }
}

/// A tenth of an hour, in nanoseconds.
const TENTH: u64 = 360_000_000_000;

impl Policy {
    /// The lints of the policy alone, in the order of their numbers. Work is bounded whatever the policy.
    pub fn lints(&self) -> impl Iterator<Item = Lint> {
        Options::lints(&Options::NEW, self)
    }

    /// The same for a caller with a timeout that the policy does not know of: a request's, a job's.
    pub fn lints_within(&self, timeout: Span) -> impl Iterator<Item = Lint> {
        Options::lints_within(&Options::NEW, self, timeout)
    }

    fn smallest_factor(&self) -> Option<f64> {
        let factor = |backoff| if let Backoff::Exponential { factor, .. } = backoff { Some(factor) } else { None };
        self.stages().filter_map(|stage| factor(stage.backoff)).filter(|factor| *factor < 1.0).reduce(f64::min)
    }

    /// The failures that the lints look at: transient ones, and those of each rule with an effect on decisions.
    fn looked_at(&self) -> impl Iterator<Item = Failure> {
        let ruled = self.deciding_rules().map(|(rule, of)| Failure { rule, ..Failure::new(of.retried_kind()) });
        core::iter::once(Failure::TRANSIENT).chain(ruled)
    }

    /// The longest total wait.
    fn longest_total_wait(&self) -> Option<Span> {
        self.looked_at().filter_map(|failure| self.total_wait_after(failure)).max()
    }

    /// True if an operation whose failures are all like this one sleeps, and no sleep is drawn.
    fn never_draws(&self, failure: Failure) -> bool {
        if failure.rule == 0 {
            return self.jitter() == Jitter::None && !self.is_random() && self.attempts() != Some(1);
        }
        let mut paths = [0, u32::MAX].map(Path::pinned);
        let mut sleeps = false;
        for _ in 0..COUNTED {
            let delays = paths.each_mut().map(|path| path.next(self, failure).map(|(delay, _)| delay));
            match delays {
                [Some(low), Some(high)] if low == high => sleeps |= low > Span::ZERO,
                [None, None] => return sleeps,
                _ => return false,
            }
        }
        sleeps
    }

    /// The limit of an attempt if it is below the deadline.
    fn attempt_limit(&self) -> Option<u64> {
        let limit = self.attempt_timeout().filter(|limit| self.deadline().is_none_or(|deadline| *limit < deadline));
        limit.map(Span::as_nanos)
    }

    /// How many attempts fit before the deadline after failures like this one and how many there are, when that is fewer. A deadline
    /// that leaves room for thousands is taken to leave room for all.
    fn reachable(&self, failure: Failure) -> Option<(u32, u32)> {
        let attempts = self.attempts_after(failure)?;
        let deadline = self.deadline()?.as_nanos();
        let limit = self.attempt_limit().unwrap_or_default();
        let all = attempts.min(COUNTED);
        let mut paths = [0, u32::MAX].map(Path::pinned);
        let mut can = 1_u32;
        while can < all {
            let in_time = paths.each_mut().map(|path| path.next(self, failure).is_some_and(|next| next.1));
            let sleeps = paths.iter().map(|path| path.total.as_nanos()).min().unwrap_or_default();
            let tries = limit.saturating_mul(u64::from(can.saturating_add(1)));
            let late = limit > 0 && sleeps.saturating_add(tries) >= deadline;
            if in_time == [false; 2] || late {
                return Some((can, attempts));
            }
            can = can.saturating_add(1);
        }
        None
    }

    /// How long all attempts and sleeps take together with the longest draws, as far as there is an end. Retries after the 4096th are
    /// not looked at: they are not few.
    fn longest_wait(&self, failure: Failure) -> Option<Span> {
        let limit = self.attempt_limit()?;
        let attempts = self.attempts_after(failure)?;
        let retries = attempts.saturating_sub(1);
        let mut endless = Self { deadline: UNLIMITED, ..*self };
        endless.prepare();
        let mut paths = [0, u32::MAX].map(Path::pinned);
        for _ in 0..retries.min(COUNTED) {
            if paths.each_mut().map(|path| path.next(&endless, failure)) == [None; 2] {
                break;
            }
        }
        let sleeps = paths.iter().map(|path| path.total.as_nanos()).max()?;
        let all = sleeps.saturating_add(limit.saturating_mul(u64::from(attempts)));
        (retries <= COUNTED).then_some(Span::from_nanos(all))
    }

    /// The number of the first rule that never takes a failure, and of the rule that takes them all.
    fn hidden_rule(&self) -> Option<(u32, u32)> {
        let taker = self.rules.iter().position(|rule| rule.kinds == u8::MAX)?;
        let hidden = taker.saturating_add(1);
        let is_there = self.rules.get(hidden).is_some_and(|rule| *rule != RuleNumbers::EMPTY);
        is_there.then_some(((hidden as u32).saturating_add(1), hidden as u32))
    }

    /// The longest delay of a backoff that multiplies without a maximum; [`Quantity::None`] without an end of attempts.
    fn uncapped(&self) -> Option<Quantity> {
        let grows = |stage: Stage| match stage.backoff {
            Backoff::Exponential { factor, max, .. } => factor > 1.0 && max == Span::MAX,
            _ => false,
        };
        let longest = |failure: Failure| {
            // An earlier stage has an end.
            let last = match self.rule(failure) {
                Some((_, rule)) => self.stages_of(rule).last(),
                None => self.stages().last(),
            };
            let grows = last.is_some_and(grows);
            let mut path = Path::pinned(u32::MAX);
            let retries = self.attempts_after(failure).map(|attempts| attempts.saturating_sub(1));
            let delays = (0..retries.unwrap_or(COUNTED).min(COUNTED)).map_while(|_| path.next(self, failure));
            let longest = delays.map(|next| next.0).max().filter(|delay| grows && *delay > LONG)?;
            Some(if retries.is_none() { Quantity::None } else { Quantity::Span(longest) })
        };
        let all = self.looked_at().filter(|_| self.deadline().is_none()).filter_map(longest);
        let rank = |longest: &Quantity| if let Quantity::Span(span) = longest { *span } else { Span::MAX };
        all.max_by_key(rank)
    }

    /// True if a call without a deadline sleeps longer for a longer hint, even above an hour.
    fn obeys_long_hints(&self) -> bool {
        let sleep = |failure: Failure, nanos: u64| {
            let hint = Hint::after(Span::from_nanos(HOUR.as_nanos().saturating_add(nanos)));
            Path::pinned(0).next(self, failure.with_hint(hint)).map(|(delay, _)| delay)
        };
        self.deadline().is_none() && self.looked_at().any(|failure| sleep(failure, 1) > sleep(failure, 0))
    }

    /// True if hints of no time can make every one of many delays next to none, even with the longest draws.
    fn obeys_short_hints(&self) -> bool {
        let replaces = matches!(self.hint_mode(), HintMode::Replace | HintMode::Exact);
        let at_once = |failure: Failure| {
            let mut path = Path::pinned(u32::MAX);
            let mut next = || path.next(self, failure.with_hint(Hint::after(Span::ZERO)));
            (0..MANY).all(|_| next().is_some_and(|(delay, _)| delay < SHORT))
        };
        replaces && self.most() > MANY && self.looked_at().any(at_once)
    }

    /// How long sleeps may take before they are questioned.
    fn patience(&self) -> Span {
        let multiplies = |backoff| {
            !matches!(backoff, Backoff::Constant { .. } | Backoff::Linear { .. } | Backoff::Polynomial { .. })
        };
        let mut stages = self.stages().chain(self.deciding_rules().flat_map(|(_, rule)| self.stages_of(rule)));
        Span::from_secs(if stages.any(|stage| multiplies(stage.backoff)) { 900 } else { 300 })
    }
}

impl Options {
    /// The lints of a policy with these guards, in the order of their numbers: [`Policy::lints`], which a budget
    /// quiets in one point, and what the guards add. Guards that break a rule add nothing.
    pub fn lints(&self, policy: &Policy) -> impl Iterator<Item = Lint> {
        LintKind::ALL.into_iter().filter_map(|kind| {
            let (found, limit) = self.found(policy, kind)?;
            Some(Lint { kind, found, limit })
        })
    }

    /// The same for a caller with a timeout of its own: adds [`LintKind::WaitAboveTimeout`] if the sleeps take longer. A
    /// deadline ends the sleeps, too (spec 13.7).
    pub fn lints_within(&self, policy: &Policy, timeout: Span) -> impl Iterator<Item = Lint> {
        let found = match [policy.longest_total_wait(), policy.deadline()].into_iter().flatten().min() {
            None => Some((Quantity::None, Quantity::Span(timeout))),
            longest => above(longest, Some(timeout)),
        };
        let lint = found.map(|(found, limit)| Lint { kind: LintKind::WaitAboveTimeout, found, limit });
        self.lints(policy).chain(lint)
    }

    /// The two values of that lint, if there is reason for it.
    fn found(&self, policy: &Policy, kind: LintKind) -> Option<(Quantity, Quantity)> {
        let budget = self.budget().ok().flatten();
        let hedge = self.hedge().ok().flatten();
        let (attempts, deadline) = (policy.attempts(), policy.deadline());
        let unshown = |found: bool| found.then_some((Quantity::None, Quantity::None));
        let many = |count: u32, limit: u32| (count > limit).then_some((number(count), number(limit)));
        match kind {
            LintKind::Forever => {
                let ends_by_time = policy.stages().last().is_some_and(|stage| stage.until.is_some());
                let is_endless = policy.most_attempts().is_none() && deadline.is_none() && budget.is_none();
                unshown(is_endless && !ends_by_time)
            }
            LintKind::Shrinking => {
                policy.smallest_factor().map(|factor| (Quantity::Number(factor), Quantity::Number(1.0)))
            }
            LintKind::NoJitter => unshown(policy.looked_at().any(|failure| policy.never_draws(failure))),
            LintKind::ManyAttempts => many(policy.most_attempts()?, MANY),
            LintKind::WaitAboveDeadline => above(policy.longest_total_wait(), deadline),
            LintKind::UnreachableAttempts => policy
                .looked_at()
                .find_map(|failure| policy.reachable(failure))
                .map(|(can, all)| (number(can), number(all))),
            LintKind::AttemptTimeoutAboveDeadline => not_below(policy.attempt_timeout()?, deadline?),
            LintKind::HintAboveDeadline => {
                let clamped = policy.hint_mode() != HintMode::Ignore && policy.hint_over() == HintOver::Clamp;
                above(clamped.then_some(policy.hint_max()), deadline)
            }
            LintKind::LongWait => above(policy.longest_total_wait(), Some(policy.patience())),
            // spec 32.9: from here on the lints of guards
            LintKind::HedgeWithoutBudget => unshown(hedge.is_some() && budget.is_none()),
            LintKind::HedgeAboveAttempts => many(hedge?.attempts(), attempts?),
            LintKind::LateHedge => {
                let ends = [policy.attempt_timeout(), deadline].into_iter().flatten().min()?;
                not_below(hedge?.fixed_delay(), ends)
            }
            LintKind::AttemptsAboveNested => match self.nested().ok().flatten()? {
                Nesting::Cap(cap) => many(attempts?, cap),
                _ => None,
            },
            LintKind::OpenAboveDeadline => {
                let breaker = self.breaker().ok().flatten().filter(|breaker| breaker.refusal() == Refusal::Wait)?;
                above(Some(Span::from_nanos(breaker.open.initial)), deadline)
            }
            LintKind::EmptyBudget => {
                let none = |field: Field| field.shown(self.or_default(field)) == Quantity::Number(0.0);
                unshown(match Field::BudgetKind.word(self.or_default(Field::BudgetKind) as u8) {
                    _ if budget.is_none() => false,
                    "token" => {
                        let capacity = self.count(Field::BudgetCapacity);
                        let has_grace = capacity > 0 && self.span(Field::BudgetGrace) > Span::ZERO;
                        !has_grace && retry_costs(self).iter().all(|cost| capacity < *cost)
                    }
                    "default" => none(Field::BudgetCapacity),
                    "ratio" => none(Field::BudgetRatio) && none(Field::BudgetMinPerSecond),
                    "share" => none(Field::BudgetRatio) && none(Field::BudgetMinConcurrency),
                    "window" => none(Field::BudgetLimit),
                    _ => false,
                })
            }
            LintKind::AttemptsBeforeDeadline => {
                let retried = policy.looked_at().filter(|failure| policy.attempts_after(*failure) != Some(1));
                let mut longest = retried.map(|failure| policy.longest_wait(failure));
                let longest = longest.try_fold(None, |longest, wait| Some(longest.max(Some(wait?))))??;
                let limit = Span::from_nanos(deadline?.as_nanos() / 10);
                let apart = policy.limits() == Limits::First && longest < limit;
                apart.then_some((Quantity::Span(longest), Quantity::Span(deadline?)))
            }
            LintKind::ResetNever => {
                let longest = [policy.attempt_timeout(), deadline.filter(|_| policy.abort_at_deadline())];
                not_below(policy.reset_after()?, longest.into_iter().flatten().min()?)
            }
            LintKind::LongHint => {
                let max = policy.hint_max();
                let opens = self.breaker().ok().flatten().is_some_and(|breaker| breaker.opens_on_hint()) && max > HOUR;
                let max = if max == Span::MAX { Quantity::None } else { Quantity::Span(max) };
                (opens || policy.obeys_long_hints()).then_some((max, Quantity::Span(HOUR)))
            }
            LintKind::HintWithoutFloor => unshown(policy.obeys_short_hints()),
            LintKind::HiddenRule => policy.hidden_rule().map(|(hidden, taker)| (number(hidden), number(taker))),
            LintKind::NoCap => policy.uncapped().map(|longest| (longest, Quantity::Span(LONG))),
            // spec 13.7 to 13.10: the caller, the retries around it, the rules and the files are not known here
            LintKind::WaitAboveTimeout
            | LintKind::NestedRetries
            | LintKind::RetriesEverything
            | LintKind::RetriesClientErrors
            | LintKind::NoEffect
            | LintKind::UnsafeMethod
            | LintKind::MeshWithoutBudget => None,
        }
    }
}

impl Lint {
    /// The lint of nested retries, the outermost first, each by its policy's attempts and
    /// its nesting ([`Nesting::default`] without guards): [`LintKind::NestedRetries`] where more than one of them retries,
    /// with the attempts of the innermost operation in all as what was found.
    pub fn nested(retries: impl IntoIterator<Item = (Option<u32>, Nesting)>) -> Option<Self> {
        let (attempts, retrying) = multiplied(retries);
        let found = attempts.map_or(Quantity::None, |attempts| Quantity::Number(attempts as f64));
        (retrying > 1).then_some(Self { kind: LintKind::NestedRetries, found, limit: Quantity::None })
    }
}

impl Rules {
    /// The lints of the rules, which hold whatever the policy.
    pub fn lints(&self) -> impl Iterator<Item = Lint> {
        let lint = |kind, found| Lint { kind, found, limit: Quantity::None };
        let everything = self.retries_everything();
        let wrong = self.retried_client_error().filter(|_| !everything);
        let everything = everything.then(|| lint(LintKind::RetriesEverything, Quantity::None));
        everything.into_iter().chain(wrong.map(|answer| lint(LintKind::RetriesClientErrors, number(answer))))
    }

    /// The first status, or else gRPC code, that says that a request is wrong and is retried.
    fn retried_client_error(&self) -> Option<u32> {
        let permanent = Failure::new(FailureKind::Permanent);
        let retries = |facts: Facts| self.judge(facts, permanent).kind != FailureKind::Permanent;
        // A last rule that takes the rest means no status by itself.
        if retries(Facts::NONE) {
            return None;
        }
        let statuses = (400..500).filter(|status| !PASSING.contains(status));
        let status = statuses.into_iter().find(|status| retries(Facts { http: *status, ..Facts::NONE }));
        let code = || WRONG_REQUEST.into_iter().find(|code| retries(Facts { grpc: *code, ..Facts::NONE }));
        status.map(u32::from).or_else(|| code().map(u32::from))
    }
}

/// How often an operation runs at most that never succeeds, inside all these retries, the outermost first, each by its
/// policy's attempts and its nesting; `None` for ever. No deadline, hedge or budget is looked at (spec 13.8).
pub fn nested_attempts(retries: impl IntoIterator<Item = (Option<u32>, Nesting)>) -> Option<u64> {
    multiplied(retries).0
}

/// The attempts in all, and how many of these retry.
fn multiplied(retries: impl IntoIterator<Item = (Option<u32>, Nesting)>) -> (Option<u64>, u32) {
    let mut retries = retries.into_iter().peekable();
    let (mut all, mut retrying, mut token) = (Some(1_u64), 0_u32, None);
    while let Some((own, nesting)) = retries.next() {
        let mut attempts = nesting.attempts(token, own.unwrap_or(FOREVER));
        token = Some(Token::child(token, 1, attempts));
        // spec 30.4: what has been given up inside is not tried again
        if nesting == Nesting::Innermost && retries.peek().is_some() {
            attempts = 1;
        }
        all = all.filter(|_| attempts != FOREVER).map(|all| all.saturating_mul(attempts.into()));
        retrying = retrying.saturating_add((attempts > 1).into());
    }
    (all, retrying)
}

/// Both, if the first is longer.
fn above(found: Option<Span>, limit: Option<Span>) -> Option<(Quantity, Quantity)> {
    let (found, limit) = (found?, limit?);
    (found > limit).then_some((Quantity::Span(found), Quantity::Span(limit)))
}

/// Both, unless the first is shorter.
fn not_below(found: Span, limit: Span) -> Option<(Quantity, Quantity)> {
    (found >= limit).then_some((Quantity::Span(found), Quantity::Span(limit)))
}

fn number(count: u32) -> Quantity {
    Quantity::Number(count.into())
}

#[cfg(all(test, feature = "powers", feature = "rules"))]
mod tests;
