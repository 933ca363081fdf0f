//! Guards in words, a line each, for an explanation.

use crate::describe::explain::write_growth;
use crate::describe::options::Options;
use crate::fields::{Field, Section};
use crate::time::Span;
use core::fmt;

impl Options {
    /// The guards in words: a line for each, in the order of the sections; nothing for a guard that breaks a rule.
    pub(crate) const fn guard_words(&self) -> GuardWords<'_> {
        GuardWords(self)
    }
}

/// Guards in words, by `Display`. Each line ends with a line feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardWords<'g>(&'g Options);

impl fmt::Display for GuardWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guards = self.0;
        let is = |field, word| guards.is(field, word);
        let has = |field| guards.number(field).is_some();
        let [cost, timeout_cost, throttled_cost] = guards.retry_costs();
        let budget = |kind| is(Field::BudgetKind, kind);
        let token = budget("token");
        let rates = !is(Field::BreakerKind, "consecutive");
        let queue = guards.count(Field::BulkheadQueue) > 0;
        let (cubic, aimd) = (is(Field::AdaptiveKind, "cubic"), is(Field::AdaptiveKind, "aimd"));
        // A name in brackets stands for the number of that field of the section.
        let words = [
            (Section::BUDGET, token, "[capacity] tokens, a retry costs [cost]"),
            (Section::BUDGET, token && timeout_cost != cost, ", after a timeout [timeout_cost]"),
            (Section::BUDGET, token && throttled_cost != cost, ", after throttling [throttled_cost]"),
            (Section::BUDGET, token, ", a success gives [reward]"),
            (Section::BUDGET, token && guards.real(Field::BudgetRefill) > 0.0, ", a second [refill]"),
            (Section::BUDGET, budget("throttle"), "[capacity] tokens, a failure takes 1, a success gives [reward]"),
            (Section::BUDGET, budget("throttle"), ", retries above half of them"),
            (Section::BUDGET, budget("ratio"), "[ratio] retries a call of the last [window]"),
            (Section::BUDGET, budget("ratio"), ", and [min_per_second] a second"),
            (Section::BUDGET, budget("share"), "[ratio] retries at once an active call, at least [min_concurrency]"),
            (Section::BUDGET, budget("requests"), "[k] requests for each that was accepted in the last [window]"),
            (Section::BUDGET, budget("window"), "[limit] retries in each [window]"),
            (Section::BREAKER, !rates, "opens after [failures] failures in a row"),
            (Section::BREAKER, is(Field::BreakerKind, "count"), "opens when of the latest [size] calls "),
            (Section::BREAKER, is(Field::BreakerKind, "time"), "opens when of the calls of [window] "),
            (Section::BREAKER, rates, "[failure_rate] failed"),
            (Section::BREAKER, has(Field::BreakerSlowRate), " or [slow_rate] took [slow_after]"),
            (Section::BREAKER, rates, ", from [min_calls] calls on"),
            (Section::BREAKER, true, "; for [open_for]"),
            (Section::BREAKER, guards.real(Field::BreakerJitter) > 0.0, ", up to [jitter] of it more"),
            (Section::BREAKER, true, "; [probes] at once try, [successes] in a row close it"),
            (Section::BREAKER, is(Field::BreakerReopen, "streak"), ", a streak opens it again"),
            (Section::BREAKER, is(Field::BreakerHint, "open"), "; hints open it"),
            (Section::BREAKER, is(Field::BreakerMode, "observe"), "; it only observes"),
            (Section::BREAKER, is(Field::BreakerRefusal, "wait"), "; calls wait for it"),
            (Section::LIMITER, is(Field::LimiterKind, "gcra"), "[limit] evenly in [per], [burst] at once"),
            (Section::LIMITER, is(Field::LimiterKind, "bucket"), "a bucket of [burst], [limit] more in [per]"),
            (Section::LIMITER, is(Field::LimiterKind, "window"), "about [limit] in any [per]"),
            (Section::LIMITER, is(Field::LimiterKind, "log"), "[limit] in any [per]"),
            (Section::LIMITER, is(Field::LimiterRefusal, "wait"), "; calls wait for it"),
            (Section::BULKHEAD, true, "[limit] at once"),
            (Section::BULKHEAD, queue, ", [queue] wait"),
            (Section::BULKHEAD, queue && guards.span(Field::BulkheadMaxWait) != Span::MAX, " at most [max_wait]"),
            (Section::ADAPTIVE, cubic, "a cubic rate after throttling, times [beta], growing by [scale]"),
            (Section::ADAPTIVE, cubic, ", from [min_rate] a second on"),
            (Section::ADAPTIVE, aimd, "from [initial_rate] a second, [increase] more a success, times [beta]"),
            (Section::ADAPTIVE, aimd, " at throttling, [min_rate] to [max_rate]"),
            (Section::ADAPTIVE, is(Field::AdaptiveRefusal, "wait"), "; calls wait for it"),
            (Section::STRETCH, true, "delays up to [factor] times as long, by the failures of [window]"),
            (Section::STRETCH, true, ", from [min_calls] attempts on"),
            (Section::HEDGE, true, "[attempts] attempts, each [delay] after the one before"),
            (Section::HEDGE, has(Field::HedgePercentile), ", then after what [percentile] of attempts take"),
            (Section::NESTED, is(Field::NestedMode, "allow"), "attempts multiply"),
            (Section::NESTED, is(Field::NestedMode, "innermost"), "the innermost retries"),
            (Section::NESTED, is(Field::NestedMode, "outermost"), "the outermost retries"),
            (Section::NESTED, is(Field::NestedMode, "cap"), "[cap] attempts in all"),
        ];
        for section in Section::GUARDS.into_iter().filter(|section| guards.describes(*section) == Ok(true)) {
            write!(f, "{}: ", section.name)?;
            for (.., words) in words.iter().filter(|(of, holds, _)| *of == section && *holds) {
                self.write(f, section, words)?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

impl GuardWords<'_> {
    /// Writes words, with the numbers of the section's fields that are named in brackets.
    fn write(&self, f: &mut fmt::Formatter<'_>, section: Section, words: &str) -> fmt::Result {
        for (index, part) in words.split(['[', ']']).enumerate() {
            let named = |field: &Field| field.path().split_once('.').is_some_and(|path| path.1 == part);
            match section.fields().find(|field| index % 2 == 1 && named(field)) {
                None => f.write_str(part)?,
                Some(Field::BreakerOpenFor) => {
                    self.0.open_times().map_or(Ok(()), |times| write_growth(f, times.part(0).backoff))?;
                }
                Some(field) => write!(f, "{}", field.takes().shown(self.0.or_default(field)))?,
            }
        }
        Ok(())
    }
}
