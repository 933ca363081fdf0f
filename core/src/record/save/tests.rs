use super::model::{NOTHING, Phase, needed};
use super::*;
use crate::decide::backoff::Backoff;
use crate::decide::call::{Outcome, Step, Ticket};
use crate::decide::failure::Failure;
use crate::decide::failure::FailureKind;
use crate::decide::hint::Hint;
use crate::decide::jitter::Jitter;
use crate::decide::retry::Decision;
use crate::decide::retry::{Cause, Used};
use crate::describe::options::Options;
use crate::error::{ErrorCode, StopReason};
use crate::saved_bytes::LAYOUT;
use crate::time::Span;
use crate::value::Value;
use core::time::Duration;
use proptest::prelude::*;
use std::format;
use std::string::ToString;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO.after(Span::from_secs(seconds))
}

fn policy() -> Policy {
    Policy::options().attempts(5).deadline(SECOND * 60).build().unwrap()
}

/// A second between attempts, without jitter.
fn steady() -> Options {
    *Policy::options().backoff(Backoff::constant(SECOND)).jitter(Jitter::None).attempts(5)
}

/// A call that is asleep after its first attempt.
fn asleep(policy: &Policy) -> Call {
    let (mut call, _) = Call::begin(policy, 42, at(100));
    call.fail(policy, Ticket::FIRST, at(101), Failure::TRANSIENT);
    call
}

#[test]
fn the_flat_form_has_no_padding() {
    assert_eq!((size_of::<Saved>(), Retry::SAVED, Call::SAVED), (88, 80, 96));
}

#[test]
fn a_sleep_goes_on_where_it_was_on_a_clock_that_began_anew() {
    let policy = steady().build().unwrap();
    let call = asleep(&policy);
    let bytes = call.save(&policy, at(101).after(Span::from_millis(300)));
    let mut resumed = Call::resume(&bytes, &policy, at(7)).unwrap();
    let until = at(7).after(Span::from_millis(700));
    assert_eq!(resumed.tick(&policy, at(7)), Step::Sleep { until, cause: Cause::Backoff });
    assert!(matches!(resumed.tick(&policy, until), Step::Attempt { ticket, .. } if ticket.attempt() == 2));
}

#[test]
fn the_deadline_counts_what_was_before_even_on_a_clock_younger_than_the_operation() {
    let policy = steady().deadline(SECOND * 60).forever().build().unwrap();
    let mut retry = Retry::new(0, at(1_000));
    retry.on_failure(&policy, at(1_050), Failure::TRANSIENT);
    let bytes = retry.save(&policy, at(1_050));
    let resumed = Retry::resume(&bytes, &policy, at(2)).unwrap();
    assert_eq!(resumed.elapsed(at(2)), Span::from_secs(50));
    assert_eq!(resumed.deadline(&policy), at(12));
    assert_eq!(resumed.started(), Timestamp::ZERO);
    let decide = |seconds| {
        let mut retry = resumed;
        retry.on_failure(&policy, at(seconds), Failure::TRANSIENT)
    };
    assert_eq!(decide(10), Decision::Sleep { until: at(11), cause: Cause::Backoff });
    assert_eq!(decide(11), Decision::GiveUp { reason: StopReason::Deadline, retry_at: at(12) });
    let older = Retry::resume(&retry.save(&policy, at(1_100)), &policy, at(2)).unwrap();
    assert_eq!(older.deadline(&policy), Timestamp::ZERO);
}

#[test]
fn an_operation_older_than_its_clock_stays_past_its_deadline_to_the_end_of_time() {
    let policy = steady().deadline(SECOND * 60).forever().build().unwrap();
    for elapsed in [12 * 1_000_000_000, 1 << 62, u64::MAX - 1, u64::MAX] {
        let now = at(2);
        let saved =
            Saved { elapsed, used: Used { failures: 1, ..Used::NONE }, ..Retry::new(0, now).saved(&policy, now) };
        for late in [Timestamp::LAST, Timestamp::NEVER] {
            let mut retry = saved.retry(&policy, now).unwrap();
            assert!(retry.saved(&policy, late).elapsed >= Span::MAX.as_nanos());
            assert_eq!(retry.elapsed(late), Span::MAX);
            let decision = retry.on_failure(&policy, late, Failure::TRANSIENT);
            assert!(
                matches!(decision, Decision::GiveUp { reason: StopReason::Deadline, .. }),
                "{elapsed}: {decision:?}"
            );
            assert!(retry.saved(&policy, late).elapsed >= Span::MAX.as_nanos());
        }
    }
}

#[test]
fn an_attempt_in_flight_is_abandoned_and_counts() {
    let policy = steady().attempts(2).build().unwrap();
    let (mut call, _) = Call::begin(&policy, 0, at(5));
    let mut resumed = Call::resume(&call.save(&policy, at(6)), &policy, at(50)).unwrap();
    assert_eq!(resumed.tick(&policy, at(50)), Step::Sleep { until: at(51), cause: Cause::Backoff });
    assert_eq!(resumed.succeed(Ticket::FIRST, at(50)), Step::Sleep { until: at(51), cause: Cause::Backoff });
    call.fail(&policy, Ticket::FIRST, at(6), Failure::TRANSIENT);
    call.tick(&policy, at(7));
    let mut last = Call::resume(&call.save(&policy, at(7)), &policy, at(50)).unwrap();
    let gave_up = Outcome::GaveUp { reason: StopReason::Attempts, retry_at: Timestamp::NEVER };
    assert_eq!(last.tick(&policy, at(50)), Step::Stop(gave_up));
}

#[test]
fn an_end_stays_an_end() {
    let policy = steady().hint_max(SECOND).build().unwrap();
    let mut succeeded = Call::underway(0, at(5));
    succeeded.succeed(Ticket::FIRST, at(6));
    let mut cancelled = Call::underway(0, at(5));
    cancelled.cancel(at(6));
    let mut refused = Call::underway(0, at(5));
    refused.fail(&policy, Ticket::FIRST, at(6), Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(9))));
    for (call, outcome) in [
        (succeeded, Outcome::Succeeded),
        (cancelled, Outcome::Cancelled),
        (refused, Outcome::GaveUp { reason: StopReason::Hint, retry_at: at(109) }),
    ] {
        let mut resumed = Call::resume(&call.save(&policy, at(6)), &policy, at(100)).unwrap();
        assert_eq!(resumed.tick(&policy, at(100)), Step::Stop(outcome));
    }
}

#[test]
fn time_away_counts_when_it_is_said_to() {
    let policy = policy();
    let saved = asleep(&policy).saved(&policy, at(101));
    let mut resumed = saved.aged(Span::from_secs(58)).call(&policy, at(0)).unwrap();
    assert!(matches!(resumed.tick(&policy, at(0)), Step::Attempt { .. }));
    let mut late = saved.aged(Span::from_secs(59)).call(&policy, at(0)).unwrap();
    let gave_up = Outcome::GaveUp { reason: StopReason::Deadline, retry_at: at(0) };
    assert_eq!(late.tick(&policy, at(0)), Step::Stop(gave_up));
}

#[test]
fn another_policy_is_refused_unless_forced() {
    let (policy, other) = (policy(), Policy::default());
    let bytes = asleep(&policy).save(&policy, at(102));
    assert_eq!(Call::resume(&bytes, &other, at(0)).unwrap_err().code, ErrorCode::StatePolicy);
    assert!(Saved::from_bytes(&bytes).unwrap().forced(&other).call(&other, at(0)).is_ok());
}

#[test]
fn each_wrong_state_has_its_number() {
    let policy = policy();
    let call = asleep(&policy).save(&policy, at(102));
    let retry = Retry::new(1, at(1)).save(&policy, at(2));
    let changed = |at: usize, to: u8| {
        let mut bytes = call;
        bytes[at] = to;
        bytes
    };
    for (bytes, code, text) in [
        (&[][..], 130, "saved state: was not written by holdoff"),
        (b"retry!", 130, "saved state: was not written by holdoff"),
        (b"hold", 131, "saved state, length = 4: must be 80 bytes for a retry, 96 for a call"),
        (&call[..95], 131, "saved state, length = 95: must be 80 bytes for a retry, 96 for a call"),
        (&changed(5, 2), 132, "saved state, layout = 2: must be 1, the layout that this version reads"),
        (&changed(4, 3), 133, "saved state, kind = 3: must be the kind of machine that is resumed: a retry or a call"),
        (&retry, 133, "saved state, kind: must be the kind of machine that is resumed: a retry or a call"),
        (&changed(40, 9), 134, "saved state: is damaged, or its fields contradict each other"),
    ] {
        let error = Call::resume(bytes, &policy, at(0)).unwrap_err();
        assert_eq!((error.code.code(), format!("{error}").as_str()), (code, text));
    }
}

#[test]
fn every_changed_byte_is_noticed() {
    let policy = policy();
    let bytes = asleep(&policy).save(&policy, at(102));
    for index in 0..bytes.len() {
        for by in 1..=255 {
            let mut changed = bytes;
            changed[index] ^= by;
            assert!(Saved::from_bytes(&changed).is_err(), "byte {index}");
        }
    }
}

#[test]
fn a_state_is_readable_json() {
    let policy = steady().build().unwrap();
    let saved = asleep(&policy).saved(&policy, at(101)).forced(&policy);
    let fingerprint = policy.fingerprint();
    let text = format!(
        "{{\"kind\":\"call\",\"layout\":1,\"policy\":\"{fingerprint}\",\"seed\":\"42\",\"elapsed\":\"1000000000\",\
         \"base\":\"1000000000\",\"failures\":1,\"place\":{},\"began\":\"0\",\"rule1\":0,\"rule2\":0,\"rule3\":0,\
         \"rule4\":0,\"rule5\":0,\"rule6\":0,\"rule7\":0,\"rule8\":0,\"attempt\":1,\"phase\":\"sleeping\",\
         \"remaining\":\"1000000000\",\"cause\":\"backoff\",\"reason\":\"none\"}}",
        saved.used.count
    );
    assert_eq!(saved.to_string(), text);
}

/// Feeds the fields of a flat JSON object as a host does.
fn read(text: &str) -> Result<Saved, Error> {
    let mut saved = Saved::EMPTY;
    for field in text.trim_matches(['{', '}']).split(',') {
        let (name, value) = field.split_once(':').unwrap();
        let value = match (value.strip_prefix('"'), value.parse()) {
            (Some(text), _) => Value::Text(text.trim_end_matches('"')),
            (None, Ok(value)) => Value::Number { value, unit: 1.0 },
            (None, Err(_)) if value == "null" => Value::Nothing,
            (None, Err(_)) => Value::Other,
        };
        saved.set(name.trim_matches('"'), value)?;
    }
    Ok(saved)
}

#[test]
fn what_a_guard_made_of_a_call_is_read_back_from_its_json() {
    let policy = steady().build().unwrap();
    let call =
        |phase: Phase, cause, reason| Call { at: at(110), phase: phase.code(), cause, reason, ..asleep(&policy) };
    let sleeping = Cause::ALL.map(|cause| call(Phase::Sleeping, cause.code(), 0));
    let over = StopReason::ALL.map(|reason| call(Phase::GaveUp, 0, reason.code()));
    for call in sleeping.iter().chain(&over) {
        let text = call.saved(&policy, at(102)).forced(&policy).to_string();
        let resumed = read(&text).unwrap().call(&policy, at(102)).unwrap();
        assert_eq!(resumed.save(&policy, at(102)), call.save(&policy, at(102)), "{text}");
    }
}

#[test]
fn a_wrong_field_is_explained() {
    let policy = policy();
    let good = asleep(&policy).saved(&policy, at(102)).to_string();
    for (from, to, code, text) in [
        (
            "\"seed\":",
            "\"sead\":",
            136,
            "saved state, this name: is not a field of a saved state; did you mean \"seed\"?",
        ),
        (
            "\"seed\":\"",
            "\"seed\":\"-",
            101,
            "saved state, seed: must be a number from 0 to 18446744073709551615 as decimal text",
        ),
        (
            "\"attempt\":1",
            "\"attempt\":-1",
            101,
            "saved state, attempt = -1: must be a whole number from 0 to 4294967295",
        ),
        (
            "\"attempt\":1",
            "\"attempt\":1.5",
            101,
            "saved state, attempt = 1.5: must be a whole number from 0 to 4294967295",
        ),
        ("\"attempt\":1", "\"attempt\":null", 137, "saved state, attempt: is missing"),
        (
            "\"attempt\":1",
            "\"attempt\":4294967296",
            101,
            "saved state, attempt = 4294967296: must be a whole number from 0 to 4294967295",
        ),
        (
            "\"sleeping\"",
            "\"sleepin\"",
            102,
            "saved state, phase: must be one of cancelled, running, sleeping, succeeded, gave_up; did you mean \"sleeping\"?",
        ),
        ("\"sleeping\"", "\"running\"", 134, "saved state: is damaged, or its fields contradict each other"),
        (
            "\"sleeping\"",
            "[]",
            101,
            "saved state, phase: must be one of cancelled, running, sleeping, succeeded, gave_up",
        ),
        ("\"call\"", "\"retry\"", 111, "saved state, attempt: has no meaning for the chosen kind"),
        ("\"layout\":1", "\"layout\":2", 132, "saved state, layout = 2: must be 1, the layout that this version reads"),
    ] {
        assert!(good.contains(from), "{good}");
        let wrong = good.replacen(from, to, 1);
        let error = read(&wrong).and_then(|saved| saved.call(&policy, at(0))).unwrap_err();
        assert_eq!((error.code.code(), error.to_string().as_str()), (code, text));
    }
    assert_eq!(Saved::EMPTY.call(&policy, at(0)).unwrap_err().name, "kind");
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let backoff = prop_oneof![
        (0..3_000_000_000u64).prop_map(|initial| Backoff::exponential(Duration::from_nanos(initial), 1.7)),
        (0..3_000_000_000u64).prop_map(|initial| Backoff::linear(Duration::from_nanos(initial), SECOND)),
        (0..3_000_000_000u64).prop_map(|initial| Backoff::fibonacci(Duration::from_nanos(initial)).max(SECOND * 9)),
        Just(Backoff::exponential(Duration::from_millis(100), 2.0).max(SECOND * 5)),
    ];
    let jitter = prop_oneof![Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Proportional { factor: 0.3 })];
    let deadline = prop::option::of(1..90_000_000_000u64);
    let random = (0..3_000_000_000u64, any::<bool>()).prop_map(|(initial, v2)| {
        let initial = Duration::from_nanos(initial);
        if v2 { Backoff::decorrelated_v2(initial) } else { Backoff::decorrelated(initial) }.max(SECOND * 9)
    });
    let delays = prop_oneof![
        4 => (backoff, jitter).prop_map(|(backoff, jitter)| *Policy::options().backoff(backoff).jitter(jitter)),
        1 => random.prop_map(|backoff| *Policy::options().backoff(backoff)),
        1 => Just(*steady().then(2, Backoff::linear(SECOND, SECOND)).backoff_after(FailureKind::Throttled, Backoff::constant(SECOND))),
    ];
    (delays, prop::option::of(1..9u32), deadline, any::<bool>()).prop_map(|(mut policy, attempts, deadline, clip)| {
        match attempts {
            Some(attempts) => policy.attempts(attempts),
            None => policy.forever(),
        };
        if let Some(deadline) = deadline {
            policy.deadline(Duration::from_nanos(deadline + 1)).min_attempt(Duration::from_nanos(1));
            if clip {
                policy.on_deadline(crate::decide::policy::OnDeadline::Clip);
            }
        }
        policy.build().unwrap()
    })
}

fn any_failure() -> impl Strategy<Value = Failure> {
    let hint = prop_oneof![4 => Just(u64::MAX), 2 => 0..80_000_000_000u64, 1 => Just(u64::MAX - 1)];
    let kind = prop_oneof![9 => 1..4u32, 1 => Just(4u32)];
    (kind, hint)
        .prop_map(|(kind, hint)| Failure::new(FailureKind::from_code(kind).unwrap()).with_hint(Hint::from_raw(hint)))
}

/// What is left of a decision when the clock is another: how long, from the time of the failure.
fn apart(decision: Decision, from: Timestamp) -> (u64, u8) {
    let left = |at: Timestamp| if at.is_never() { u64::MAX } else { at.as_nanos() - from.as_nanos() };
    match decision {
        Decision::Sleep { until, cause } => (left(until), cause.code()),
        Decision::GiveUp { reason, retry_at } => (left(retry_at), 100 + reason.code()),
    }
}

fn apart_step(step: Step, from: Timestamp) -> (u64, u64, u8) {
    let left = |at: Timestamp| if at.is_never() { u64::MAX } else { at.as_nanos().saturating_sub(from.as_nanos()) };
    match step {
        Step::Attempt { ticket, abort_at, .. } => (left(abort_at), ticket.as_raw(), 1),
        Step::Sleep { until, cause } => (left(until), cause.code().into(), 2),
        Step::Wait { until } => (left(until), 0, 3),
        Step::Stop(Outcome::Succeeded) => (0, 0, 4),
        Step::Stop(Outcome::Cancelled) => (0, 0, 5),
        Step::Stop(Outcome::GaveUp { reason, retry_at }) => (left(retry_at), reason.code().into(), 6),
    }
}

/// Where a new clock may stand, in the years before the sums of any clock saturate.
fn any_clock() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..100_000_000_000u64, 0..1u64 << 62]
}

proptest! {
    #[test]
    fn a_resumed_retry_decides_as_if_nothing_had_happened(
        policy in any_policy(),
        seed: u64,
        start in any_clock(),
        before in prop::collection::vec((any_failure(), 0..9_000_000_000u64), 0..7),
        after in prop::collection::vec((any_failure(), 0..9_000_000_000u64), 1..7),
        wait in 0..9_000_000_000u64,
        backwards: bool,
        resumed_at in any_clock(),
    ) {
        let mut now = start;
        let mut retry = Retry::new(seed, Timestamp::from_nanos(now));
        for (failure, later) in before {
            now += later;
            retry.on_failure(&policy, Timestamp::from_nanos(now), failure);
        }
        let saved_at = if backwards { start } else { now + wait };
        let mut there = resumed_at;
        let mut here = saved_at.max(now);
        let bytes = retry.save(&policy, Timestamp::from_nanos(saved_at));
        let mut resumed = Retry::resume(&bytes, &policy, Timestamp::from_nanos(there)).unwrap();
        let json = read(&retry.saved(&policy, Timestamp::from_nanos(saved_at)).to_string()).unwrap();
        prop_assert_eq!(json.retry(&policy, Timestamp::from_nanos(there)).unwrap(), resumed);
        prop_assert_eq!(resumed.save(&policy, Timestamp::from_nanos(there)), bytes);
        for (failure, later) in after {
            (here, there) = (here + later, there + later);
            let (now, then) = (Timestamp::from_nanos(here), Timestamp::from_nanos(there));
            let expected = apart(retry.on_failure(&policy, now, failure), now);
            prop_assert_eq!(apart(resumed.on_failure(&policy, then, failure), then), expected);
        }
    }

    #[test]
    fn a_resumed_call_steps_as_if_nothing_had_happened(
        policy in any_policy(),
        seed: u64,
        start in any_clock(),
        before in prop::collection::vec((0..9u8, any_failure(), 0..4_000_000_000u64), 0..9),
        after in prop::collection::vec((0..9u8, any_failure(), 0..4_000_000_000u64), 1..9),
        wait in 0..9_000_000_000u64,
        backwards: bool,
        resumed_at in any_clock(),
    ) {
        fn play(call: &mut Call, policy: &Policy, now: u64, (act, failure): (u8, Failure)) -> Step {
            let (now, ticket) = (Timestamp::from_nanos(now), Ticket::from_raw(call.attempt().into()));
            match act {
                0 => call.succeed(ticket, now),
                1 => call.cancel(now),
                2..5 => call.fail(policy, ticket, now, failure),
                _ => {
                    let step = call.tick(policy, now);
                    if let Step::Sleep { until, .. } = step { call.tick(policy, until) } else { step }
                }
            }
        }
        let mut call = Call::underway(seed, Timestamp::from_nanos(start));
        let mut now = start;
        for (act, failure, later) in before {
            now += later;
            play(&mut call, &policy, now, (act, failure));
        }
        let saved_at = Timestamp::from_nanos(if backwards { start } else { now + wait });
        let bytes = call.save(&policy, saved_at);
        let mut there = resumed_at;
        let mut here = call.retry.clock(saved_at).as_nanos();
        prop_assume!(here < 1 << 63);
        let mut resumed = Call::resume(&bytes, &policy, Timestamp::from_nanos(there)).unwrap();
        let json = read(&call.saved(&policy, saved_at).to_string()).unwrap();
        prop_assert_eq!(json.call(&policy, Timestamp::from_nanos(there)).unwrap(), resumed);
        // What resuming does to an attempt in flight, and nothing but looking otherwise.
        if matches!(call.current_step(), Step::Wait { .. }) {
            let ticket = Ticket::from_raw(call.attempt().into());
            call.fail(&policy, ticket, Timestamp::from_nanos(here), Failure::TIMEOUT);
        } else {
            prop_assert_eq!(resumed.save(&policy, Timestamp::from_nanos(there)), bytes);
        }
        let (now, then) = (Timestamp::from_nanos(here), Timestamp::from_nanos(there));
        prop_assert_eq!(apart_step(resumed.current_step(), then), apart_step(call.current_step(), now));
        for (act, failure, later) in after {
            (here, there) = (here + later, there + later);
            let (now, then) = (Timestamp::from_nanos(here), Timestamp::from_nanos(there));
            let expected = apart_step(play(&mut call, &policy, here, (act, failure)), now);
            prop_assert_eq!(apart_step(play(&mut resumed, &policy, there, (act, failure)), then), expected);
            // Both may have gone on to the end of a sleep.
            here = here.max(call.retry.clock(now).as_nanos());
            there = there.max(resumed.retry.clock(then).as_nanos());
        }
    }

    #[test]
    fn no_state_no_bytes_and_no_times_panic(
        words: [u64; 7],
        small: [u32; 3],
        phase: u8,
        code: u8,
        times: [u64; 3],
        mut bytes in prop::collection::vec(any::<u8>(), 0..104),
        kind in 0..4u8,
    ) {
        let policy = policy();
        let [now, then, later] = times.map(Timestamp::from_nanos);
        let mut saved = Saved {
            policy: policy.fingerprint(),
            seed: words[0],
            elapsed: words[1],
            used: Used {
                began: words[5],
                base: words[2],
                failures: small[0],
                count: small[1],
                counts: words[6].to_le_bytes().map(u16::from),
            },
            remaining: words[3],
            attempt: small[2],
            layout: LAYOUT,
            present: needed(kind),
            kind,
            phase,
            cause: code,
            reason: code,
        };
        let [running, sleeping, gave_up] = [Phase::Running, Phase::Sleeping, Phase::GaveUp].map(Phase::code);
        for phase in [phase, running, sleeping, gave_up] {
            saved.phase = phase;
            (saved.cause, saved.reason) = (u8::from(phase == sleeping), if phase == gave_up { 3 } else { 0 });
            if phase != sleeping && phase != gave_up {
                saved.remaining = NOTHING;
            }
            saved.aged(Span::from_nanos(words[4])).to_string();
            if let Ok(retry) = saved.retry(&policy, now) {
                let mut again = Retry::resume(&retry.save(&policy, then), &policy, later).unwrap();
                again.on_failure(&policy, later, Failure::TRANSIENT);
            }
            if let Ok(call) = saved.call(&policy, now) {
                let mut again = Call::resume(&call.save(&policy, then), &policy, later).unwrap();
                again.tick(&policy, Timestamp::LAST);
            }
        }
        for (at, byte) in b"hold".iter().chain(&[kind, 1]).enumerate() {
            if let Some(to) = bytes.get_mut(at) {
                *to = *byte;
            }
        }
        prop_assert!(Saved::from_bytes(&bytes).is_err());
    }
}

#[cfg(feature = "serde")]
#[test]
fn serde_reads_and_writes_the_same_json() {
    let policy = policy();
    for saved in [asleep(&policy).saved(&policy, at(102)), Retry::new(9, at(3)).saved(&policy, at(4))] {
        let text = serde_json::to_string(&saved).unwrap();
        assert_eq!(text, saved.to_string());
        assert_eq!(serde_json::from_str::<Saved>(&text).unwrap(), saved);
        let unquoted = text.replace("\"seed\":\"42\"", "\"seed\":42");
        assert_eq!(serde_json::from_str::<Saved>(&unquoted).unwrap(), saved);
        for (from, to, why) in [
            ("\"seed\"", "\"sed\"", "not a field of a saved state; did you mean \"seed\"?"),
            ("\"layout\":1", "\"layout\":[1]", "layout: must be a whole number"),
            ("\"layout\":1,", "", "layout: is missing"),
        ] {
            let error = serde_json::from_str::<Saved>(&text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}

#[test]
fn a_sleep_does_not_go_on_beyond_the_deadline() {
    let options = *Policy::options().deadline(core::time::Duration::from_secs(30)).jitter(crate::Jitter::None);
    let policy = options.build().unwrap();
    let mut call = Call::begin(&policy, 7, at(5)).0;
    call.fail(&policy, Ticket::FIRST, at(5), Failure::TRANSIENT);
    let mut saved = call.saved(&policy, at(5));
    saved.set("remaining", Value::Text("9223372036854775807")).unwrap();
    let (bytes, _) = saved.to_bytes().unwrap();
    for saved in [saved, Saved::from_bytes(&bytes).unwrap()] {
        let mut call = saved.call(&policy, at(100)).unwrap();
        let until = match call.tick(&policy, at(100)) {
            Step::Sleep { until, .. } => until,
            other => panic!("{other:?}"),
        };
        assert_eq!(until, at(100).after(Span::from_secs(30)));
        assert!(matches!(
            call.tick(&policy, until),
            Step::Stop(Outcome::GaveUp { reason: crate::StopReason::Deadline, .. })
        ));
    }
}
