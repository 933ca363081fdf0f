//! A guard's state as bytes, to restore it after a restart or on another machine (spec 31).
//!
//! As in a saved call, times are saved as distances from now, because a clock is local to a machine; attempts in flight are
//! not saved, because their results will never arrive. Unlike the policy of a call, the configuration of a guard may change
//! in between, as long as its kind stays: raising a limit should not lose what the guard has learned.

use crate::error::{Error, ErrorCode};
use crate::saved_bytes::{self, Reader, Writer};
use crate::time::{Span, Timestamp};

/// The distance of [`Timestamp::NEVER`], and the furthest of any other time.
const NEVER: u64 = i64::MAX as u64;
const FURTHEST: u64 = NEVER - 1;
const DAY: u64 = 86_400_000_000_000;

/// Goes over the numbers of a state in their order, to write or to read them.
pub struct Pass<'a> {
    bytes: Bytes<'a>,
    now: u64,
    /// The first number that no guard has, and its name.
    wrong: Option<(&'static str, f64)>,
}

enum Bytes<'a> {
    Out(Writer<'a>),
    In(Reader<'a>),
}

impl Pass<'_> {
    /// A number.
    pub(crate) fn word(&mut self, word: &mut u64) {
        match &mut self.bytes {
            Bytes::Out(writer) => writer.put(&word.to_le_bytes()),
            Bytes::In(reader) => *word = reader.number(8),
        }
    }

    /// A smaller number.
    pub(crate) fn half(&mut self, half: &mut u32) {
        match &mut self.bytes {
            Bytes::Out(writer) => writer.put(&half.to_le_bytes()),
            Bytes::In(reader) => *half = reader.number(4) as u32,
        }
    }

    /// A real number, finite and from 0 on.
    pub(crate) fn real(&mut self, name: &'static str, real: &mut f64) {
        let mut bits = real.to_bits();
        self.word(&mut bits);
        *real = f64::from_bits(bits);
        if !(0.0..=f64::MAX).contains(real) {
            self.wrong = self.wrong.or(Some((name, *real)));
        }
    }

    /// A time that was seen. A clock that ran backwards may have seen one after now, at most a day after it (spec 31.7).
    pub(crate) fn seen(&mut self, nanos: &mut u64) {
        self.time(nanos);
        *nanos = Timestamp::from_nanos(self.now).after(Span::from_nanos(DAY)).as_nanos().min(*nanos);
    }

    /// A time, as its distance from now; never stays never, and a time before the epoch of the new clock is the epoch.
    pub(crate) fn time(&mut self, nanos: &mut u64) {
        let mut distance = match *nanos {
            u64::MAX => NEVER,
            at if at >= self.now => at.wrapping_sub(self.now).min(FURTHEST),
            at => self.now.wrapping_sub(at).min(FURTHEST).wrapping_neg(),
        };
        self.word(&mut distance);
        *nanos = match distance as i64 {
            _ if distance == NEVER => u64::MAX,
            ahead @ 0.. => self.now.saturating_add(ahead.unsigned_abs()).min(Timestamp::LAST.as_nanos()),
            ago => self.now.saturating_sub(ago.unsigned_abs()),
        };
    }
}

/// The bytes around a state: 8 before it, the kind of its configuration, and the checksum.
pub(crate) const AROUND: usize = 8 + 4 + 8;

/// The numbers of a state, which a guard goes over.
type Numbers<'s> = &'s mut dyn FnMut(&mut Pass<'_>);

/// Writes the state at `now` as bytes, made under a configuration of that kind. `out` is filled to its end.
pub(crate) fn write(number: u8, state: Numbers<'_>, variant: u32, now: Timestamp, times: &[u64], out: &mut [u8]) {
    saved_bytes::seal(number, out, |mut writer| {
        writer.put(&variant.to_le_bytes());
        let mut pass = Pass { bytes: Bytes::Out(writer), now: now.as_now().as_nanos(), wrong: None };
        state(&mut pass);
        for at in times {
            pass.time(&mut { *at });
        }
    });
}

/// Reads the state that [`write()`] made `bytes` of, on a clock that reads `now`.
pub(crate) fn read(
    (number, length, variant): (u8, usize, u32),
    state: Numbers<'_>,
    now: Timestamp,
    times: &mut [u64],
    bytes: &[u8],
) -> Result<(), Error> {
    let wrong = [ErrorCode::NotAGuard, ErrorCode::GuardLength];
    let (_, mut reader) = saved_bytes::open(bytes, wrong, |found| (found == number).then_some(length))?;
    if reader.number(4) != u64::from(variant) {
        return Err(Error::of_state(ErrorCode::GuardConfig, "kind"));
    }
    let mut pass = Pass { bytes: Bytes::In(reader), now: now.as_now().as_nanos(), wrong: None };
    state(&mut pass);
    for at in times {
        pass.seen(at);
    }
    match pass.wrong {
        Some((name, value)) => Err(Error::of_state(ErrorCode::StateDamaged, name).found(value)),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::Options;
    use crate::decide::failure::FailureKind;
    use crate::decide::guards::adaptive::{Adaptive, AdaptiveConfig};
    use crate::decide::guards::breaker::config::BreakerConfig;
    use crate::decide::guards::breaker::{Breaker, Verdict};
    use crate::decide::guards::budget::{Budget, BudgetConfig};
    use crate::decide::guards::guard::GuardConfig;
    use crate::decide::guards::latency::{HedgeConfig, Latency};
    use crate::decide::guards::limiter::{Limiter, LimiterConfig};
    use crate::error::{Error, ErrorCode};
    use crate::fields::Field;
    use crate::time::{Span, Timestamp};
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    const MS: u64 = 1_000_000;

    /// The state at `now` as bytes.
    fn saved<C: GuardConfig>(config: &C, state: &C::State, words: &[u64], now: Timestamp) -> Vec<u8> {
        let mut bytes = vec![0; config.saved()];
        config.save(state, words, now, &mut bytes);
        bytes
    }

    /// The state of `then` through bytes to another clock, which reads `now`.
    pub(crate) fn moved<C: GuardConfig>(
        config: &C,
        state: &C::State,
        then: Timestamp,
        now: Timestamp,
    ) -> Result<C::State, Error> {
        config.restore(&saved(config, state, &[], then), &mut [], now)
    }

    /// The answers of a guard, in times that count from the moment of saving.
    type Answers = Vec<(u64, i64)>;

    fn ahead(at: Timestamp, from: u64) -> i64 {
        if at.is_never() { i64::MAX } else { at.as_nanos() as i64 - from as i64 }
    }

    fn budgets() -> Vec<BudgetConfig> {
        let second = Span::from_secs(1);
        [
            BudgetConfig::token(40, [5, 7, 3], 0.7, 2.5),
            BudgetConfig::throttle(6, 0.6),
            BudgetConfig::ratio(0.3, second, 2.0),
            BudgetConfig::requests(1.5, second),
            BudgetConfig::window(3, second),
        ]
        .map(Result::unwrap)
        .to_vec()
    }

    fn spend(budget: &mut Budget, config: &BudgetConfig, moves: &[(u8, u16)], from: u64) -> Answers {
        let (mut now, mut answers) = (from, vec![]);
        for &(what, gap) in moves {
            now += u64::from(gap) * MS / 8;
            let at = Timestamp::from_nanos(now);
            let answer = match what % 5 {
                0 => u64::from(budget.admit(config, at)),
                1 => budget.withdraw(config, at, FailureKind::Transient, budget.refusals()).is_some().into(),
                2 => {
                    budget.succeed(config, at, None);
                    2
                }
                3 => {
                    budget.fail(config, at, FailureKind::Timeout);
                    3
                }
                _ => {
                    budget.begin(config, at);
                    budget.end(config, None);
                    4
                }
            };
            answers.push((answer, budget.balance(config, at).to_bits() as i64));
        }
        answers
    }

    fn breakers() -> Vec<BreakerConfig> {
        let all = [
            (Field::BreakerOpenKind, "exponential".into()),
            (Field::BreakerOpenFor, "200ms".into()),
            (Field::BreakerJitter, 0.5.into()),
        ];
        let slow = [(Field::BreakerSlowAfter, "40ms".into()), (Field::BreakerSlowRate, 0.6.into())];
        let count =
            [(Field::BreakerKind, "count".into()), (Field::BreakerSize, 9.into()), (Field::BreakerMinCalls, 4.into())];
        let time = [
            (Field::BreakerKind, "time".into()),
            (Field::BreakerWindow, "900ms".into()),
            (Field::BreakerSlots, 4.into()),
            (Field::BreakerMinCalls, 3.into()),
            (Field::BreakerFailureRate, 0.4.into()),
        ];
        let probes = [(Field::BreakerSuccesses, 3.into()), (Field::BreakerProbeFailures, 2.into())];
        [all.to_vec(), [&all[..], &slow, &count].concat(), [&all[..], &slow, &time, &probes].concat()]
            .map(|fields| Options::NEW.with_fields(&fields).unwrap().breaker().unwrap().unwrap())
            .to_vec()
    }

    /// Each call ends at once, so that none is in flight between two moves.
    fn call(breaker: &mut Breaker, config: &BreakerConfig, moves: &[(u8, u16)], from: u64) -> Answers {
        let (mut now, mut answers) = (from, vec![]);
        for &(what, gap) in moves {
            now += u64::from(gap) * MS / 8;
            let at = Timestamp::from_nanos(now);
            answers.push(match breaker.acquire(config, at) {
                Err(retry_at) => (0, ahead(retry_at, from)),
                Ok(permit) => {
                    let verdict = if what % 3 == 0 { Verdict::Success } else { Verdict::Failure };
                    breaker.record(config, permit, at, verdict, Span::from_millis(u64::from(what)));
                    let (calls, failed, slow) = breaker.rates(config, at);
                    (1, i64::from(calls << 16 | failed << 8 | slow))
                }
            });
        }
        answers
    }

    proptest! {
        #[test]
        fn a_restored_guard_goes_on_as_if_nothing_had_been(
            before in prop::collection::vec(any::<(u8, u16)>(), 0..40),
            after in prop::collection::vec(any::<(u8, u16)>(), 1..40),
            started in 0..10_000_000_000_u64, later in 0..1_000_000_000_000_u64
        ) {
            let lasted: u64 = before.iter().map(|(_, gap)| u64::from(*gap) * MS / 8).sum();
            let (from, to) = (started + lasted, started + lasted + later);
            let [then, now, begin] = [from, to, started].map(Timestamp::from_nanos);
            for config in budgets() {
                let mut live = Budget::new(&config, 7, begin);
                spend(&mut live, &config, &before, started);
                let mut restored = moved(&config, &live, then, now).unwrap();
                prop_assert_eq!(spend(&mut live, &config, &after, from), spend(&mut restored, &config, &after, to));
            }
            for config in breakers() {
                let mut live = Breaker::new(&config, 7, begin);
                call(&mut live, &config, &before, started);
                let mut restored = moved(&config, &live, then, now).unwrap();
                prop_assert_eq!(call(&mut live, &config, &after, from), call(&mut restored, &config, &after, to));
            }
            let per = Span::from_millis(500);
            for config in [
                LimiterConfig::gcra(7, per, 3),
                LimiterConfig::bucket(3.0, per, 4),
                LimiterConfig::window(4, per),
                LimiterConfig::log(5, per),
            ] {
                let config = config.unwrap();
                let take = |limiter: &mut Limiter, times: &mut [u64], moves: &[(u8, u16)], from| {
                    let (mut now, mut answers) = (from, vec![]);
                    for &(_, gap) in moves {
                        now += u64::from(gap) * MS / 32;
                        let answer = limiter.take(&config, times, 1, Timestamp::from_nanos(now));
                        answers.push(answer.map_err(|retry_at| ahead(retry_at, from)));
                    }
                    answers
                };
                let (mut times, mut other) = (vec![0; config.words()], vec![0; config.words()]);
                let mut live = Limiter::new(&config, begin);
                take(&mut live, &mut times, &before, started);
                let bytes = saved(&config, &live, &times, then);
                let mut restored = config.restore(&bytes, &mut other, now).unwrap();
                let expected = take(&mut live, &mut times, &after, from);
                let found = take(&mut restored, &mut other, &after, to);
                prop_assert_eq!(expected, found, "{:?}", config);
            }
        }

        #[test]
        fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..260), now: u64, mend: bool) {
            let now = Timestamp::from_nanos(now);
            let config = breakers()[2];
            if mend && bytes.len() == config.saved() {
                bytes[..6].copy_from_slice(b"hold\x11\x01");
            }
            let _ = config.restore(&bytes, &mut [], now);
            let _ = budgets()[0].restore(&bytes, &mut [], now);
            let _ = HedgeConfig::new(Span::ZERO, None, 2).unwrap().restore(&bytes, &mut [], now);
        }
    }

    #[test]
    fn retries_under_way_are_not_in_a_restored_budget() {
        let (config, now) = (BudgetConfig::share(0.5, 2).unwrap(), Timestamp::from_nanos(5));
        let mut budget = Budget::new(&config, 0, now);
        budget.begin(&config, now);
        assert!(budget.withdraw(&config, now, FailureKind::Transient, budget.refusals()).is_some());
        assert_eq!(budget.balance(&config, now), 1.0);
        let restored = moved(&config, &budget, now, now).unwrap();
        assert_eq!(restored.balance(&config, now), 2.0);
        assert_eq!(restored, Budget::new(&config, 0, now));
    }

    #[test]
    fn a_log_that_is_longer_than_its_length_field_is_restored() {
        let config = LimiterConfig::log(10_000, Span::from_secs(1)).unwrap();
        let (now, mut times, mut other) = (Timestamp::from_nanos(5), vec![0; config.words()], vec![0; config.words()]);
        let mut live = Limiter::new(&config, now);
        assert_eq!(live.take(&config, &mut times, 9_999, now), Ok(()));
        let bytes = saved(&config, &live, &times, now);
        let mut restored = config.restore(&bytes, &mut other, now).unwrap();
        assert_eq!(restored.take(&config, &mut other, 1, now), Ok(()));
        assert!(restored.take(&config, &mut other, 1, now).is_err());
    }

    #[test]
    fn a_limiter_at_the_end_of_time_can_be_used_on_another_clock() {
        let config = LimiterConfig::gcra(1, Span::from_secs(1), 1).unwrap();
        let [last, now] = [Timestamp::LAST.as_nanos(), 5].map(Timestamp::from_nanos);
        let mut limiter = Limiter::new(&config, last);
        assert_eq!(limiter.take(&config, &mut [], 1, last), Ok(()));
        let mut restored = moved(&config, &limiter, last, now).unwrap();
        assert_eq!(restored.take(&config, &mut [], 1, Timestamp::from_nanos(1_000_000_005)), Ok(()));
    }

    #[test]
    fn an_adaptive_rate_and_an_estimate_come_back_as_they_were() {
        let config = AdaptiveConfig::default();
        let at = |millis: u64| Timestamp::from_nanos(millis * MS);
        let mut adaptive = Adaptive::new(&config, at(1000));
        for millis in [1200, 1700, 2300, 2900] {
            adaptive.update(&config, at(millis), millis == 2300);
        }
        assert_eq!(moved(&config, &adaptive, at(3000), at(3000)), Ok(adaptive));
        let mut latency = Latency::new();
        latency.record(Span::from_millis(30), 0.9);
        let hedge = HedgeConfig::new(Span::ZERO, None, 2).unwrap();
        assert_eq!(moved(&hedge, &latency, at(3000), at(3000)), Ok(latency));
    }

    #[test]
    fn what_is_no_saved_guard_says_so() {
        let (config, now) = (budgets()[0], Timestamp::from_nanos(5));
        let bytes = saved(&config, &Budget::new(&config, 0, now), &[], now);
        let code = |bytes: &[u8]| config.restore(bytes, &mut [], now).unwrap_err().code;
        assert_eq!(code(b""), ErrorCode::NotAState);
        assert_eq!(code(&bytes[..20]), ErrorCode::GuardLength);
        for (at, expected) in [
            (0, ErrorCode::NotAState),
            (4, ErrorCode::NotAGuard),
            (5, ErrorCode::StateVersion),
            (6, ErrorCode::StateDamaged),
            (40, ErrorCode::StateDamaged),
        ] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 64;
            assert_eq!(code(&damaged), expected, "{at}");
        }
        let other = budgets()[1].restore(&bytes, &mut [], now).unwrap_err();
        assert_eq!(other.code, ErrorCode::GuardConfig);
    }

    #[test]
    fn what_was_before_the_new_clock_began_is_as_old_as_the_clock() {
        let config = budgets()[2];
        let mut budget = Budget::new(&config, 0, Timestamp::ZERO);
        let now = Timestamp::from_nanos(3_600_000 * MS);
        (0..50).for_each(|_| budget.begin(&config, now));
        let restored = moved(&config, &budget, now, Timestamp::from_nanos(1)).unwrap();
        assert_eq!(restored.balance(&config, Timestamp::from_nanos(1)), budget.balance(&config, now));
    }

    /// Random bytes as the content of a saved guard of that kind, whose checksum is right.
    fn sealed(number: u8, variant: u32, content: &[u8], length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        crate::saved_bytes::seal(number, &mut bytes, |mut writer| {
            writer.put(&variant.to_le_bytes());
            writer.put(content);
        });
        bytes
    }

    proptest! {
        #[test]
        fn any_content_that_is_restored_keeps_to_its_configuration(
            mut content in prop::collection::vec(any::<u8>(), 400), zeroed in 0..400_usize
        ) {
            // Random bits are mostly far off: some of the content is zeroes instead.
            content[..zeroed].fill(0);
            let now = Timestamp::from_nanos(1_000_000 * MS);
            let later = |days: u64| now.after(Span::from_secs(days * 86_400));
            let hour = Span::from_secs(3600);
            for (variant, config) in [
                LimiterConfig::gcra(5, hour, 5), LimiterConfig::bucket(5.0, hour, 5),
                LimiterConfig::window(5, hour), LimiterConfig::log(5, hour),
            ].into_iter().enumerate() {
                let config = config.unwrap();
                let mut times = vec![0; config.words()];
                let bytes = sealed(18, variant as u32, &content, config.saved());
                let Ok(mut limiter) = config.restore(&bytes, &mut times, now) else { continue };
                let passed = (0..2000).filter(|_| limiter.take(&config, &mut times, 1, now).is_ok()).count();
                prop_assert!(passed <= 5, "{passed} {config:?}");
                prop_assert!(limiter.take(&config, &mut times, 1, later(2)).is_ok(), "{config:?}");
            }
            for config in [AdaptiveConfig::default(), AdaptiveConfig::aimd(0.5, 1.0, 0.5, 5.0, 5.0).unwrap()] {
                let bytes = sealed(19, config.kind.into(), &content, config.saved());
                let Ok(mut adaptive) = config.restore(&bytes, &mut [], now) else { continue };
                let limits = adaptive.limits() && config.kind == 1;
                let passed = (0..2000).filter(|_| adaptive.take(&config, 1.0, now).is_ok()).count();
                prop_assert!(!limits || passed <= 5, "{passed} {config:?}");
                prop_assert!(adaptive.take(&config, 1.0, later(2)).is_ok(), "{config:?}");
            }
            for config in breakers() {
                let bytes = sealed(17, config.kind.into(), &content, config.saved());
                let Ok(mut breaker) = config.restore(&bytes, &mut [], now) else { continue };
                let isolated = breaker.state(&config, now) == crate::BreakerState::Isolated;
                prop_assert!(isolated || breaker.acquire(&config, later(2)).is_ok());
                let (calls, failed, slow) = breaker.rates(&config, now);
                prop_assert!(config.kind != 1 || calls <= 9 && failed <= calls && slow <= calls);
            }
            let config = BudgetConfig::token(40, [5, 7, 3], 0.7, 2.5).unwrap();
            if let Ok(mut budget) = config.restore(&sealed(16, 1, &content, config.saved()), &mut [], now) {
                prop_assert!(budget.balance(&config, now) <= 40.0);
                prop_assert!(budget.withdraw(&config, later(2), FailureKind::Transient, budget.refusals()).is_some());
            }
        }
    }

    #[test]
    fn a_number_that_no_guard_has_is_named() {
        let (config, now) = (AdaptiveConfig::default(), Timestamp::from_nanos(5));
        let mut content = [0; 64];
        content[24..32].copy_from_slice(&f64::NAN.to_le_bytes());
        let error = config.restore(&sealed(19, 0, &content, config.saved()), &mut [], now).unwrap_err();
        assert_eq!((error.code, error.name), (ErrorCode::StateDamaged, "rate"));
        assert!(matches!(error.value, crate::Quantity::Number(rate) if rate.is_nan()));
    }

    #[test]
    fn a_smaller_window_keeps_the_latest_calls() {
        let count = |size| BreakerConfig::count(size, size, 0.9, Span::from_secs(1)).unwrap();
        let now = Timestamp::from_nanos(5);
        let mut breaker = Breaker::new(&count(8), 0, now);
        for failed in [true, true, true, false, false, true] {
            let permit = breaker.acquire(&count(8), now).unwrap();
            let verdict = if failed { Verdict::Failure } else { Verdict::Success };
            breaker.record(&count(8), permit, now, verdict, Span::ZERO);
        }
        let smaller = count(3).restore(&saved(&count(8), &breaker, &[], now), &mut [], now).unwrap();
        assert_eq!(smaller.rates(&count(3), now), (3, 1, 0));
    }
}
