//! What happens to a caller or a server, for each warning.

use holdoff_core::{Lint, LintKind, Quantity, Span};

/// The sentence about a lint.
pub(crate) fn effect(lint: &Lint) -> String {
    let (found, limit) = (shown(lint.found), shown(lint.limit));
    match lint.kind {
        LintKind::Forever => {
            "If the server stays down, the call never ends, and whatever waits for it waits for ever.".to_owned()
        }
        LintKind::Shrinking => "The longer a server is down, the more often it is asked.".to_owned(),
        LintKind::NoJitter => {
            "Clients that failed at the same moment retry at the same moment, and hit the server in waves.".to_owned()
        }
        LintKind::ManyAttempts => {
            format!("A call that fails sends {found} requests to a server that is in trouble already.")
        }
        LintKind::WaitAboveDeadline => {
            format!("The sleeps add up to {found}, but the call ends after {limit}: the last retries never happen.")
        }
        LintKind::UnreachableAttempts => {
            format!("The deadline leaves time for {found} of the {limit} attempts.")
        }
        LintKind::AttemptTimeoutAboveDeadline => {
            "One slow attempt uses up the time of the whole call, so that no retry follows a timeout.".to_owned()
        }
        LintKind::HintAboveDeadline => {
            "A long Retry-After ends the call at once, however short it could have waited.".to_owned()
        }
        LintKind::LongWait => format!("A caller sleeps up to {found} before it learns that the call has failed."),
        LintKind::HedgeWithoutBudget => {
            "When the server is slow for everybody, each call sends it more requests.".to_owned()
        }
        LintKind::HedgeAboveAttempts => "The hedge never starts all of its attempts.".to_owned(),
        LintKind::LateHedge => "The second attempt never starts: the first has timed out before.".to_owned(),
        LintKind::AttemptsAboveNested => format!("The limit of nested retries ends the call after {limit} attempts."),
        LintKind::OpenAboveDeadline => "A call that meets an open breaker waits in vain until its deadline.".to_owned(),
        LintKind::EmptyBudget => "No call is ever retried.".to_owned(),
        LintKind::WaitAboveTimeout => format!("The caller gives up after {limit}, while the call still sleeps."),
        LintKind::NestedRetries if lint.found == Quantity::None => {
            "One call sends requests to the server without an end.".to_owned()
        }
        LintKind::NestedRetries => format!("One call sends up to {found} requests to the server."),
        LintKind::AttemptsBeforeDeadline => format!("The call fails after {found}, although it may take {limit}."),
        LintKind::ResetNever => "The setting has no effect.".to_owned(),
        LintKind::HiddenRule => "The rule never applies.".to_owned(),
        LintKind::LongHint => {
            "A server, or a proxy before it, can keep a call asleep for hours by one header.".to_owned()
        }
        LintKind::HintWithoutFloor => {
            "A server that sends Retry-After: 0 is asked again at once, many times in a row.".to_owned()
        }
        LintKind::NoCap if lint.found == Quantity::None => {
            "A server that has recovered is asked again only after hours.".to_owned()
        }
        LintKind::NoCap => format!("A server that has recovered may be asked again only after {found}."),
        LintKind::RetriesEverything => {
            "A mistake in the request or the program is tried again and again before anybody sees it.".to_owned()
        }
        LintKind::RetriesClientErrors => {
            "The same request gets the same answer: each retry is wasted time and load.".to_owned()
        }
        LintKind::NoEffect => "The policy does not do what the file seems to say.".to_owned(),
        LintKind::UnsafeMethod => "A payment, an order or a message may be sent twice.".to_owned(),
        LintKind::MeshWithoutBudget => {
            "When the service fails, each request to it becomes several, and it stays down for longer.".to_owned()
        }
        _ => String::new(),
    }
}

/// A number or a time for people.
fn shown(value: Quantity) -> String {
    match value {
        Quantity::None => "no end".to_owned(),
        Quantity::Number(number) => number.to_string(),
        Quantity::Span(span) => time(span),
    }
}

/// A time with one decimal at most: `61.7 h`.
fn time(span: Span) -> String {
    let seconds = span.as_nanos() as f64 / 1e9;
    let (value, unit) = match seconds {
        360_000.0.. => (seconds / 86_400.0, "days"),
        3_600.0.. => (seconds / 3_600.0, "h"),
        120.0.. => (seconds / 60.0, "min"),
        1.0.. => (seconds, "s"),
        _ => (seconds * 1e3, "ms"),
    };
    format!("{} {unit}", (value * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_says_what_happens() {
        for kind in LintKind::ALL {
            let lint = Lint { kind, found: Quantity::Number(3.0), limit: Quantity::Number(2.0) };
            assert!(effect(&lint).ends_with('.'), "{}", kind.name());
        }
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        let said = [222_220_u64, 432_000, 3_600, 90, 362].map(|seconds| time(Span::from_secs(seconds)));
        assert_eq!(said, ["61.7 h", "5 days", "1 h", "90 s", "6 min"]);
        assert_eq!(time(Span::from_millis(250)), "250 ms");
    }
}
