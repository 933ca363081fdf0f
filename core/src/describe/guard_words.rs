//! Guards in words, a line each, for an explanation.

use crate::decide::guards::GuardConfig;
use crate::decide::guards::budget::config::retry_costs;
use crate::decide::guards::guard::GuardFields as _;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::policy_words::write_growth;
use crate::each_guard;
use crate::fields::{Field, Section};
use crate::time::Span;
use core::fmt;

impl Options {
    /// The guards in words: a line for each, in the order of the sections; nothing for a guard that breaks a rule. The budget that
    /// acts on calls of `policy` in a loop always has a line (spec 13.4).
    pub(crate) const fn guard_words<'g>(&'g self, policy: &'g Policy) -> GuardWords<'g> {
        GuardWords(self, policy)
    }
}

/// Guards in words, by `Display`. Each line ends with a line feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardWords<'g>(&'g Options, &'g Policy);

impl fmt::Display for GuardWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guards = self.0;
        let is = |field, word| guards.is(field, word);
        let has = |field| guards.number(field).is_some();
        let [cost, timeout_cost, throttled_cost] = retry_costs(guards);
        let budget = |kind| guards.names_budget() && is(Field::BudgetKind, kind);
        let token = budget("token");
        let unnamed = !guards.names_budget();
        let brought = unnamed && guards.budget_of_loops(self.1).is_some();
        let default = brought || budget("default");
        let all = is(Field::BudgetReturns, "all");
        let grace = guards.span(Field::BudgetGrace) > Span::ZERO;
        let waits = is(Field::BreakerRefusal, "wait");
        let rates = !is(Field::BreakerKind, "consecutive");
        let queue = guards.count(Field::BulkheadQueue) > 0;
        let (cubic, aimd) = (is(Field::AdaptiveKind, "cubic"), is(Field::AdaptiveKind, "aimd"));
        // A name in brackets stands for the number of that field of the section.
        let words = [
            ("budget", token, "[capacity] tokens, a retry costs [cost]"),
            ("budget", token && timeout_cost != cost, ", after a timeout [timeout_cost]"),
            ("budget", token && throttled_cost != cost, ", after throttling [throttled_cost]"),
            ("budget", token && has(Field::BudgetHintedCost), ", for a hint [hinted_cost]"),
            ("budget", token && !all, ", a success gives [reward]"),
            ("budget", token && all, ", a success returns what its call took and gives [reward]"),
            ("budget", token && guards.real(Field::BudgetRefill) > 0.0, ", a second [refill]"),
            ("budget", token && grace, ", none is refused for [grace] after it was full"),
            ("budget", brought, "20 tokens"),
            ("budget", budget("default"), "[capacity] tokens"),
            ("budget", default, OF_LOOPS),
            ("budget", brought, ", of the loop"),
            ("budget", budget("throttle"), "[capacity] tokens, a failure takes 1, a success gives [reward]"),
            ("budget", budget("throttle"), ", retries above half of them"),
            ("budget", budget("ratio"), "[ratio] retries a call of the last [window]"),
            ("budget", budget("ratio"), ", and [min_per_second] a second"),
            ("budget", budget("share"), "[ratio] retries at once an active call, at least [min_concurrency]"),
            ("budget", budget("requests"), "[k] requests for each that was accepted in the last [window]"),
            ("budget", budget("window"), "[limit] retries in each [window]"),
            ("breaker", !rates, "opens after [failures] failures in a row"),
            ("breaker", is(Field::BreakerKind, "count"), "opens when of the latest [size] calls "),
            ("breaker", is(Field::BreakerKind, "time"), "opens when of the calls of [window] "),
            ("breaker", rates, "[failure_rate] failed"),
            ("breaker", has(Field::BreakerSlowRate), " or [slow_rate] took [slow_after]"),
            ("breaker", rates, ", from [min_calls] calls on"),
            ("breaker", true, "; for [open_for]"),
            ("breaker", guards.real(Field::BreakerJitter) > 0.0, ", up to [jitter] of it more"),
            ("breaker", true, "; [probes] at once try, [successes] in a row close it"),
            ("breaker", guards.count(Field::BreakerProbeFailures) > 0, ", [probe_failures] may fail"),
            ("breaker", is(Field::BreakerReopen, "streak"), ", a streak opens it again"),
            ("breaker", is(Field::BreakerHint, "open"), "; hints open it"),
            ("breaker", is(Field::BreakerMode, "observe"), "; it only observes"),
            ("breaker", waits, "; calls wait for it"),
            ("breaker", waits && is(Field::BreakerRamp, "double"), ", and begin in growing numbers"),
            ("breaker", waits && is(Field::BreakerRamp, "none"), ", and begin all at once"),
            ("limiter", is(Field::LimiterKind, "gcra"), "[limit] evenly in [per], [burst] at once"),
            ("limiter", is(Field::LimiterKind, "bucket"), "a bucket of [burst], [limit] more in [per]"),
            ("limiter", is(Field::LimiterKind, "window"), "about [limit] in any [per]"),
            ("limiter", is(Field::LimiterKind, "log"), "[limit] in any [per]"),
            ("limiter", is(Field::LimiterRefusal, "wait"), "; calls wait for it"),
            ("bulkhead", true, "[limit] at once"),
            ("bulkhead", queue, ", [queue] wait"),
            ("bulkhead", queue && guards.span(Field::BulkheadMaxWait) != Span::MAX, " at most [max_wait]"),
            ("adaptive", cubic, "a cubic rate after throttling, times [beta], growing by [scale]"),
            ("adaptive", cubic, ", from [min_rate] a second on"),
            ("adaptive", aimd, "from [initial_rate] a second, [increase] more a success, times [beta]"),
            ("adaptive", aimd, " at throttling, [min_rate] to [max_rate]"),
            ("adaptive", is(Field::AdaptiveRefusal, "wait"), "; calls wait for it"),
            ("stretch", true, "delays up to [factor] times as long, by the failures of [window]"),
            ("stretch", true, ", from [min_calls] attempts on"),
            ("hedge", true, "[attempts] attempts, each [delay] after the one before"),
            ("hedge", has(Field::HedgePercentile), ", then after what [percentile] of attempts take"),
            ("nested", is(Field::NestedMode, "allow"), "attempts multiply"),
            ("nested", is(Field::NestedMode, "innermost"), "the innermost retries"),
            ("nested", is(Field::NestedMode, "outermost"), "the outermost retries"),
            ("nested", is(Field::NestedMode, "cap"), "[cap] attempts in all"),
        ];
        macro_rules! words_of {
            ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
                |section| match section {
                    $(<$config as GuardConfig>::SECTION => <$config>::words_of(guards),)*
                    _ => [(false, ""); 4],
                }
            };
        }
        let words_of = each_guard!(words_of);
        if !brought && guards.describes(Section::BUDGET) == Ok(false) {
            f.write_str("budget: none\n")?;
        }
        let is_told = |section: Section| brought && section == Section::BUDGET || guards.describes(section) == Ok(true);
        for section in Section::GUARDS.iter().copied().filter(|section| is_told(*section)) {
            write!(f, "{}: ", section.name)?;
            for (.., words) in words.iter().filter(|(of, holds, _)| *of == section.name && *holds) {
                self.write(f, section, words)?;
            }
            for (_, words) in words_of(section).into_iter().filter(|(holds, _)| *holds) {
                self.write(f, section, words)?;
            }
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// The words about the budget of loops, whatever its capacity.
const OF_LOOPS: &str = ", a retry costs 1, after a timeout or throttling 10, for a hint 0, a success returns what its call took and \
    gives 1, a second 0.03, none is refused for 1s after it was full";

impl GuardWords<'_> {
    /// Writes words, with the numbers of the section's fields that are named in brackets.
    fn write(&self, f: &mut fmt::Formatter<'_>, section: Section, words: &str) -> fmt::Result {
        for (index, part) in words.split(['[', ']']).enumerate() {
            let named = |field: &Field| field.path().split_once('.').is_some_and(|path| path.1 == part);
            match section.fields().find(|field| index % 2 == 1 && named(field)) {
                None => f.write_str(part)?,
                Some(Field::BreakerOpenFor) if self.0.listed_open_times().next().is_some() => {
                    for (index, time) in self.0.listed_open_times().enumerate() {
                        write!(f, "{}{time}", if index == 0 { "" } else { ", then " })?;
                    }
                }
                Some(Field::BreakerOpenFor) => {
                    self.0.open_times(&mut []).map_or(Ok(()), |times| write_growth(f, times.backoff()))?;
                }
                Some(field) => write!(f, "{}", field.shown(self.0.or_default(field)))?,
            }
        }
        Ok(())
    }
}
