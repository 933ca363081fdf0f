//! Guards in words, a line each, for an explanation.

use crate::decide::guards::Refusal;
use crate::decide::guards::adaptive::AdaptiveKind;
use crate::decide::guards::breaker::config::{BreakerMode, BreakerOptions, Reopen, Trip};
use crate::decide::guards::budget::BudgetKind;
use crate::decide::guards::limiter::LimiterKind;
use crate::decide::guards::nested::Nesting;
use crate::describe::options::Options;
use crate::time::Span;
use core::fmt;

impl Options {
    /// The guards in words: a line for each, in the order of the sections; nothing for a guard that breaks a rule.
    pub const fn guard_words(&self) -> GuardWords<'_> {
        GuardWords(self)
    }
}

/// Guards in words, by `Display`. Each line ends with a line feed.
#[derive(Clone, Copy, Debug)]
pub struct GuardWords<'g>(&'g Options);

impl fmt::Display for GuardWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guards = self.0;
        if let Ok(Some(budget)) = guards.budget_kind() {
            f.write_str("budget: ")?;
            write_budget(f, budget)?;
        }
        if let (Ok(Some(options)), Ok(_)) = (guards.breaker_options(), guards.breaker()) {
            f.write_str("breaker: ")?;
            write_breaker(f, &options)?;
        }
        if let Ok(Some(limiter)) = guards.limiter() {
            f.write_str("limiter: ")?;
            match limiter.kind() {
                LimiterKind::Gcra { limit, per, burst } => write!(f, "{limit} evenly in {per}, {burst} at once")?,
                LimiterKind::Bucket { limit, per, burst } => {
                    write!(f, "a bucket of {burst}, {limit} more in {per}")?;
                }
                LimiterKind::Window { limit, per } => write!(f, "about {limit} in any {per}")?,
                LimiterKind::Log { limit, per } => write!(f, "{limit} in any {per}")?,
            }
            refusal(f, limiter.refusal())?;
        }
        if let Ok(Some(bulkhead)) = guards.bulkhead() {
            write!(f, "bulkhead: {} at once", bulkhead.limit())?;
            if bulkhead.queue() > 0 {
                write!(f, ", {} wait", bulkhead.queue())?;
                most(f, bulkhead.max_wait())?;
            }
            f.write_str("\n")?;
        }
        if let Ok(Some(adaptive)) = guards.adaptive() {
            match adaptive.kind() {
                AdaptiveKind::Cubic { beta, scale, min_rate, .. } => write!(
                    f,
                    "adaptive: a cubic rate after throttling, times {beta}, growing by {scale}, from {min_rate} a second on"
                )?,
                AdaptiveKind::Aimd { beta, increase, min_rate, max_rate, initial_rate } => write!(
                    f,
                    "adaptive: from {initial_rate} a second, {increase} more a success, times {beta} at throttling, \
                     {min_rate} to {max_rate}"
                )?,
            }
            refusal(f, adaptive.refusal())?;
        }
        if let Ok(Some(stretch)) = guards.stretch() {
            let (factor, window, calls) = (stretch.factor(), stretch.window(), stretch.min_calls());
            writeln!(
                f,
                "stretch: delays up to {factor} times as long, by the failures of {window}, from {calls} attempts on"
            )?;
        }
        if let Ok(Some(hedge)) = guards.hedge() {
            write!(f, "hedge: {} attempts, each {} after the one before", hedge.attempts(), hedge.fixed_delay())?;
            match hedge.percentile() {
                Some(share) => writeln!(f, ", then after what {share} of attempts take")?,
                None => f.write_str("\n")?,
            }
        }
        match guards.nested() {
            Ok(Some(Nesting::Allow)) => f.write_str("nested: attempts multiply\n"),
            Ok(Some(Nesting::Innermost)) => f.write_str("nested: the innermost retries\n"),
            Ok(Some(Nesting::Outermost)) => f.write_str("nested: the outermost retries\n"),
            Ok(Some(Nesting::Cap(cap))) => writeln!(f, "nested: {cap} attempts in all"),
            _ => Ok(()),
        }
    }
}

fn write_budget(f: &mut fmt::Formatter<'_>, budget: BudgetKind) -> fmt::Result {
    match budget {
        BudgetKind::Token { capacity, cost, timeout_cost, throttled_cost, reward, refill } => {
            write!(f, "{capacity} tokens, a retry costs {cost}")?;
            if timeout_cost != cost {
                write!(f, ", after a timeout {timeout_cost}")?;
            }
            if throttled_cost != cost {
                write!(f, ", after throttling {throttled_cost}")?;
            }
            write!(f, ", a success gives {reward}")?;
            if refill > 0.0 {
                write!(f, ", a second {refill}")?;
            }
            f.write_str("\n")
        }
        BudgetKind::Throttle { capacity, reward } => {
            writeln!(f, "{capacity} tokens, a failure takes 1, a success gives {reward}, retries above half of them")
        }
        BudgetKind::Ratio { ratio, window, min_per_second } => {
            writeln!(f, "{ratio} retries a call of the last {window}, and {min_per_second} a second")
        }
        BudgetKind::Share { ratio, min_concurrency } => {
            writeln!(f, "{ratio} retries at once an active call, at least {min_concurrency}")
        }
        BudgetKind::Requests { k, window } => {
            writeln!(f, "{k} requests for each that was accepted in the last {window}")
        }
        BudgetKind::Window { limit, window } => writeln!(f, "{limit} retries in each {window}"),
    }
}

fn write_breaker(f: &mut fmt::Formatter<'_>, options: &BreakerOptions) -> fmt::Result {
    let (failure_rate, slow_rate, calls) = match options.trip {
        Trip::Consecutive { failures } => {
            write!(f, "opens after {failures} failures in a row")?;
            (None, None, 0)
        }
        Trip::Count { size, min_calls, failure_rate, slow_rate } => {
            write!(f, "opens when of the latest {size} calls ")?;
            (Some(failure_rate), slow_rate, min_calls)
        }
        Trip::Time { window, min_calls, failure_rate, slow_rate, .. } => {
            write!(f, "opens when of the calls of {window} ")?;
            (Some(failure_rate), slow_rate, min_calls)
        }
    };
    if let Some(rate) = failure_rate {
        write!(f, "{rate} failed")?;
        if let (Some(rate), Some(after)) = (slow_rate, options.slow_after) {
            write!(f, " or {rate} took {after}")?;
        }
        write!(f, ", from {calls} calls on")?;
    }
    f.write_str("; for ")?;
    crate::describe::explain::write_growth(f, options.open_for)?;
    if options.jitter > 0.0 {
        write!(f, ", up to {} of it more", options.jitter)?;
    }
    write!(f, "; {} at once try, {} in a row close it", options.probes, options.successes)?;
    if options.reopen == Reopen::Streak {
        f.write_str(", a streak opens it again")?;
    }
    if options.opens_on_hint {
        f.write_str("; hints open it")?;
    }
    if options.mode == BreakerMode::Observe {
        f.write_str("; it only observes")?;
    }
    refusal(f, options.refusal)
}

/// The end of a line about a guard that refuses attempts.
fn refusal(f: &mut fmt::Formatter<'_>, refusal: Refusal) -> fmt::Result {
    f.write_str(match refusal {
        Refusal::Stop => "\n",
        Refusal::Wait => "; calls wait for it\n",
    })
}

fn most(f: &mut fmt::Formatter<'_>, span: Span) -> fmt::Result {
    if span == Span::MAX { Ok(()) } else { write!(f, " at most {span}") }
}
