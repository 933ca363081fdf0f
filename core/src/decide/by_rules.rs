//! Decisions by all rules: also of policies of several stages, with rules that count for themselves, or with limits that need
//! more than one count.

use crate::decide::backoff::UNSTARTED;
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::HintMode;
use crate::decide::jitter;
use crate::decide::policy::{
    AGES, ASKED, COUNTED, DeadlineFrom, DelayFrom, FOREVER, Limits, Policy, RULES, RuleNumbers, STAGE_AT, UNLIMITED,
};
use crate::decide::retry::{Decision, Retry, Used, give_up};
use crate::decide::stage_numbers::{Choices, HINT, StageNumbers};
use crate::decide::stages::{StagePosition, in_turn, position};
use crate::error::StopReason;
use crate::time::{Span, Timestamp};

/// The bit of a state's `began` that says, where the last limit ends an operation, that the attempts are spent.
const SPENT: u64 = 1 << 63;

/// The lowest bit of the number of the policy's own stage in a count, where a time ends a stage.
const POLICY_STAGE_AT: u32 = 24;
/// The delays that are counted of such a stage.
const COUNTED_OF_STAGE: u32 = (1 << POLICY_STAGE_AT) - 1;

/// The stage that a delay comes from.
struct Found<'p> {
    position: StagePosition<'p>,
    /// Its number among all stages.
    source: u32,
    /// Where a time ends a stage of the policy: which stage that is, and how many delays there have been since it began.
    policy_stage: Option<(u32, u32)>,
}

impl Policy {
    /// The rule that takes a failure. Of a failure that nobody has judged it is the first that holds for its kind alone.
    pub(crate) fn rule(&self, failure: Failure) -> Option<(usize, &RuleNumbers)> {
        let kind = 1_u8.wrapping_shl(u32::from(failure.kind.code()).wrapping_sub(1));
        let index = match failure.rule {
            0 => self.rules.iter().position(|rule| rule.kinds & kind != 0)?,
            number => usize::from(number).wrapping_sub(1),
        };
        Some((index, self.rules.get(index)?))
    }

    /// True if a time ends a stage of the policy itself.
    pub(crate) fn ends_by_time(&self) -> bool {
        self.own_stages().iter().any(|record| record.until != UNLIMITED)
    }

    /// The jitter, cap and hint for a delay: of the rule's stage, else of the rule, else of the policy's stage, else the policy's
    /// (spec 8.10).
    fn choices(&self, rule: Option<&RuleNumbers>, record: &StageNumbers) -> Choices {
        let of_rule = rule.map_or(&Choices::NONE, |rule| &rule.own);
        if !self.has_rules() || of_rule.given | record.own.given == 0 {
            return self.own;
        }
        let is_own = rule.is_some_and(|rule| rule.stages == 0);
        let [first, second] = if is_own { [of_rule, &record.own] } else { [&record.own, of_rule] };
        let mut choices = first.or(second);
        if self.path & ASKED != 0 {
            choices.given &= !HINT;
        }
        choices.or(&self.own)
    }
}

impl Retry {
    /// Decides by all rules (spec 9.1). `pinned` takes the place of the draw.
    pub(crate) fn decide(
        &mut self,
        policy: &Policy,
        now: Timestamp,
        failure: Failure,
        pinned: Option<f64>,
    ) -> Decision {
        let now = self.observe(now);
        let took = if policy.has_rules() { self.begin_anew(policy, now) } else { 0 };
        let rule = if policy.has_rules() { policy.rule(failure) } else { None };
        let (count, limit) = self.count_failure(policy, rule);
        let never = failure.hint.is_never() && policy.hint_mode() != HintMode::Ignore;
        if failure.kind as u8 == FailureKind::Permanent as u8 || never {
            return give_up(StopReason::Permanent);
        }
        let spent = count >= limit;
        if self.is_over(policy, spent) {
            return give_up(StopReason::Attempts);
        }
        let Some(Found { position, source, policy_stage }) = self.find_stage(policy, rule, count, now) else {
            return give_up(StopReason::Deadline);
        };
        let choices = policy.choices(rule.map(|rule| rule.1), position.record);
        let asked = match choices.allowed(failure.hint, now) {
            Ok(asked) => asked,
            Err(decision) => return decision,
        };
        let draws = choices.jitter != jitter::NONE || position.record.stage.is_random();
        let u = match pinned {
            _ if !draws => 0.0,
            Some(u) => u,
            None => self.rng.uniform(),
        };
        let fresh = self.used.base == UNSTARTED || self.used.count >> STAGE_AT != source;
        let mut own = position.delay(policy, &mut self.used.base, fresh, &choices, u);
        self.advance(rule, source, policy_stage);
        if policy.has_rules() && policy.delay_from() == DelayFrom::Start {
            own = own.shortened(took);
        }
        let (delay, cause, obeyed) = choices.applied(policy, &own, asked, u);
        let until = now.after(Span::from_nanos(delay));
        let reason =
            if policy.has_rules() && spent && count == limit { StopReason::Attempts } else { StopReason::Deadline };
        let decision = self.fit(policy, now, until, cause, obeyed, reason);
        if let Decision::Sleep { until, .. } = decision {
            self.begin_at(policy, until);
        }
        decision
    }

    /// True if no failure has been counted.
    fn is_unfailed(&self) -> bool {
        self.used.failures == 0 && self.used.counts == [0; RULES]
    }

    /// The deadline where it counts only in some states (spec 6.7 and 6.8).
    #[cold]
    #[inline(never)]
    pub(crate) fn deadline_by_rules(self, policy: &Policy) -> Timestamp {
        let waits = policy.deadline_from() == DeadlineFrom::FirstFailure && self.is_unfailed();
        let open = policy.limits() == Limits::Last && self.used.began & SPENT == 0;
        if waits || open { Timestamp::NEVER } else { self.deadline_from_start(policy) }
    }

    /// [`Retry::attempt_at`] under a policy with rules.
    #[cold]
    #[inline(never)]
    pub(crate) fn attempt_at_by_rules(mut self, policy: &Policy, now: Timestamp) -> (Timestamp, u64) {
        self.begin_at(policy, now);
        let timeout = Timestamp::from_nanos(now.as_nanos().saturating_add(policy.attempt_timeout));
        let aborts = policy.aborts_from(self.used.began & !SPENT, !self.is_unfailed());
        (if aborts { timeout.min(self.deadline_from_start(policy)) } else { timeout }, self.used.began)
    }

    /// Notes that an attempt begins, at a time from the latest one on.
    pub(crate) fn begin_at(&mut self, policy: &Policy, at: Timestamp) {
        if policy.has_rules() && policy.path & AGES != 0 {
            self.used.began = (self.used.began & SPENT) | self.age(at).min(SPENT - 1);
        }
    }

    /// Begins the operation anew after a long attempt, or at the first failure (spec 6.8 and 6.9). Returns how long the attempt took.
    #[cold]
    #[inline(never)]
    fn begin_anew(&mut self, policy: &Policy, now: Timestamp) -> u64 {
        let took = self.age(now).saturating_sub(self.used.began & !SPENT);
        if took >= policy.reset_after && policy.reset_after != UNLIMITED {
            (self.started, self.used) = (now, Used::NONE);
        }
        if policy.deadline_from() == DeadlineFrom::FirstFailure && self.is_unfailed() {
            (self.started, self.used.began) = (now, 0);
        }
        took
    }

    /// True if no attempt is left, where the failure's count is `spent` or not (spec 6.7). Takes a note of it.
    #[inline(always)]
    fn is_over(&mut self, policy: &Policy, spent: bool) -> bool {
        if !policy.has_rules() {
            return spent;
        }
        let all_spent = policy.total != FOREVER && self.sum(policy, |_| true) >= policy.total;
        let over = all_spent || spent && policy.limits() != Limits::Last;
        if !over {
            self.used.began = (self.used.began & !SPENT) | if spent { SPENT } else { 0 };
        }
        over
    }

    /// Counts a failure. Returns the count that it went to, and its limit (spec 8.9).
    fn count_failure(&mut self, policy: &Policy, rule: Option<(usize, &RuleNumbers)>) -> (u32, u32) {
        if let Some(counted) = self.count_in_rule(rule) {
            return counted;
        }
        self.used.failures = self.used.failures.saturating_add(1).min(u32::MAX - 1);
        (self.used.failures, policy.attempts)
    }

    /// Counts a failure of an attempt beside which another one runs or begins: in the count of its rule, if it has one.
    pub(crate) fn count_hedged(&mut self, policy: &Policy, failure: Failure) {
        if policy.has_rules() {
            self.count_in_rule(policy.rule(failure));
        }
    }

    /// Counts a failure in the count of a rule, if it has one. Returns the count and its limit.
    fn count_in_rule(&mut self, rule: Option<(usize, &RuleNumbers)>) -> Option<(u32, u32)> {
        let (index, rule) = rule?;
        let (limit, count) = (rule.limit()?, self.used.counts.get_mut(index)?);
        *count = count.saturating_add(1);
        Some(((*count).into(), limit))
    }

    /// True if a call under guards that has begun so many attempts may begin no other after this failure (spec 29.5).
    pub(crate) fn has_begun_all(&self, policy: &Policy, failure: Failure, begun: u32) -> bool {
        if !policy.has_rules() {
            return begun >= policy.attempts;
        }
        if policy.reset_after != UNLIMITED {
            // The attempts before a reset do not count: the machine's own counts decide.
            return false;
        }
        let of_rules = self.sum(policy, |_| true).saturating_sub(self.used.failures);
        let own =
            policy.rule(failure).is_none_or(|(_, rule)| rule.limit().is_none()) && policy.limits() != Limits::Last;
        begun >= policy.total || own && begun.saturating_sub(of_rules) >= policy.attempts
    }

    /// The failures of the policy's count and of the counts of some rules.
    fn sum(&self, policy: &Policy, includes: impl Fn(&RuleNumbers) -> bool) -> u32 {
        let counts =
            policy.rules.iter().zip(self.used.counts).filter(|(rule, _)| rule.limit().is_some() && includes(rule));
        let sum = counts.fold(self.used.failures, |sum, (_, count)| sum.saturating_add(count.into()));
        sum.min(FOREVER - 1)
    }

    /// The stage that the delay comes from (spec 4.9, 4.10, 4.12, 8.10). `None` if the time of the last stage is over.
    #[inline(always)]
    fn find_stage<'p>(
        &self,
        policy: &'p Policy,
        rule: Option<(usize, &RuleNumbers)>,
        count: u32,
        now: Timestamp,
    ) -> Option<Found<'p>> {
        if !policy.has_rules() {
            let position = policy.position(self.used.count & COUNTED);
            return Some(Found { position, source: position.index, policy_stage: None });
        }
        let timed = policy.ends_by_time();
        let staged = rule.map(|rule| rule.1).filter(|rule| rule.stages != 0);
        let own = (timed, self.used.count >> POLICY_STAGE_AT & 15, self.used.count & COUNTED_OF_STAGE);
        if let Some(rule) = staged {
            let n = match rule.limit() {
                Some(_) => count.saturating_sub(1),
                // Where the count starts anew with each stage, it does not say how many delays there have been.
                None if timed => self.sum(policy, |rule| rule.stages == 0).saturating_sub(1),
                None => self.used.count & COUNTED,
            };
            let records = policy.of_rule(rule);
            let position = position(records, in_turn(records, n.min(COUNTED)))?;
            let kept = timed.then_some((own.1, own.2));
            return Some(Found { position, source: position.index.saturating_add(rule.at.into()), policy_stage: kept });
        }
        if timed {
            let (position, stay) = policy.position_by_time(own.1, own.2, self.age(now))?;
            return Some(Found { position, source: position.index, policy_stage: Some((position.index, stay)) });
        }
        let position = policy.position(self.used.count & COUNTED);
        Some(Found { position, source: position.index, policy_stage: None })
    }

    /// Counts the delay, unless the rule counts its own delays.
    fn advance(&mut self, rule: Option<(usize, &RuleNumbers)>, source: u32, policy_stage: Option<(u32, u32)>) {
        let alone = rule.is_some_and(|(_, rule)| rule.limit().is_some() && rule.stages != 0);
        let more = u32::from(!alone);
        let low = match policy_stage {
            Some((stage, delays)) => stage << POLICY_STAGE_AT | delays.saturating_add(more).min(COUNTED_OF_STAGE),
            None => (self.used.count & COUNTED).saturating_add(more).min(COUNTED),
        };
        self.used.count = source << STAGE_AT | low;
    }
}

#[cfg(all(test, feature = "powers", feature = "rules"))]
mod tests;
