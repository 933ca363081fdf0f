//! The model: it keeps every answer there ever was and counts them anew each time.

use super::*;
use crate::decide::backoff::Backoff;
use std::vec::Vec;

/// How many sequences of events are tried.
const SEQUENCES: u64 = 100_000;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Now {
    Closed,
    Open { until: u64 },
    HalfOpen { since: u64 },
    Isolated,
}

struct Model {
    config: BreakerConfig,
    rng: Rng,
    latest: u64,
    /// When it was made or last closed.
    began: u64,
    /// Every answer since then: when, whether it failed, whether it was slow, and whether it came while closed.
    answers: Vec<(u64, bool, bool, bool)>,
    now: Now,
    /// The transitions so far: a permit is of one of them.
    era: u64,
    /// The permits that are out while half-open.
    out: Vec<u64>,
    permits: u64,
    /// The successes since it turned half-open, back to the last failure.
    successes: u32,
    /// The failures since it turned half-open, if some of them may be.
    tried: Option<u32>,
    row: u32,
    lasting: u64,
    openings: u32,
}

/// A permit of the model: its number, and of which era; of none when the call is only observed.
type Leave = (u64, Option<u64>);

impl Model {
    fn new(config: BreakerConfig, seed: u64, now: u64) -> Self {
        Self {
            config,
            rng: Rng::new(seed),
            latest: now,
            began: now,
            answers: Vec::new(),
            now: Now::Closed,
            era: 0,
            out: Vec::new(),
            permits: 0,
            successes: 0,
            tried: None,
            row: 0,
            lasting: 0,
            openings: 0,
        }
    }

    fn turn(&mut self, now: Now) {
        (self.now, self.successes) = (now, 0);
        self.era += 1;
        self.out.clear();
    }

    fn base(&self) -> u64 {
        let BreakerConfig { open, more_open, .. } = self.config;
        if open.times > 0 {
            let listed: Vec<u64> = [open.initial].into_iter().chain(more_open).take(open.times as usize).collect();
            return *listed.get(self.row as usize).or(listed.last()).unwrap();
        }
        match self.config.open.backoff() {
            Backoff::Exponential { initial, factor, max } => {
                let grown = |delay: u64| ((delay as f64 * factor) as u64).min(max.as_nanos());
                (0..self.row).fold(initial.as_nanos(), |delay, _| grown(delay))
            }
            Backoff::Constant { delay } => delay.as_nanos(),
            other => panic!("{other:?}"),
        }
    }

    fn open(&mut self) {
        self.lasting = self.base();
        if self.config.jitter > 0.0 {
            self.lasting += ((self.rng.uniform() * self.config.jitter) * self.lasting as f64) as u64;
        }
        self.row += 1;
        self.openings += 1;
        self.turn(Now::Open { until: self.latest + self.lasting });
    }

    fn close(&mut self) {
        self.turn(Now::Closed);
        (self.began, self.row, self.answers, self.tried) = (self.latest, 0, Vec::new(), None);
    }

    fn see(&mut self, now: u64) {
        self.latest = self.latest.max(now);
    }

    fn acquire(&mut self, now: u64) -> Result<Leave, u64> {
        self.permits += 1;
        if self.now == Now::Closed {
            return Ok((self.permits, Some(self.era)));
        }
        self.see(now);
        if let Now::Open { until } = self.now
            && self.latest >= until
        {
            self.turn(Now::HalfOpen { since: self.latest });
            self.tried = (self.config.probe_failures > 0).then_some(0);
        }
        let full = self.out.len() >= self.config.probes as usize;
        if let Now::HalfOpen { since } = self.now
            && full
            && self.latest >= since + self.lasting
        {
            self.era += 1;
            self.out.clear();
        }
        if let Now::HalfOpen { since } = &mut self.now
            && self.out.len() < self.config.probes as usize
        {
            *since = self.latest;
            self.out.push(self.permits);
            return Ok((self.permits, Some(self.era)));
        }
        if self.config.mode == 1 { Ok((self.permits, None)) } else { Err(self.retry_at()) }
    }

    fn retry_at(&self) -> u64 {
        match self.now {
            Now::Closed => 0,
            Now::Open { until } => until,
            Now::HalfOpen { since } => since + self.lasting,
            Now::Isolated => u64::MAX,
        }
    }

    fn streak(&self) -> u32 {
        self.tried.unwrap_or_else(|| self.answers.iter().rev().take_while(|answer| answer.1).count() as u32)
    }

    fn rates(&self, now: u64) -> (u32, u32, u32) {
        let sum = |answers: &mut dyn Iterator<Item = &(u64, bool, bool, bool)>| {
            answers
                .filter(|answer| answer.3)
                .fold((0, 0, 0), |(a, b, c), &(_, failed, slow, _)| (a + 1, b + u32::from(failed), c + u32::from(slow)))
        };
        let BreakerConfig { kind, size, window, .. } = self.config;
        match kind {
            CONSECUTIVE => (self.streak(), self.streak(), 0),
            COUNT => {
                let closed = self.answers.iter().rev().filter(|answer| answer.3);
                sum(&mut closed.take(size as usize))
            }
            _ => {
                let length = window.div_ceil(size.into());
                let slot = |at: u64| (at - self.began) / length;
                let newest = slot(now.max(self.latest));
                sum(&mut self.answers.iter().filter(|answer| slot(answer.0) + u64::from(size) > newest))
            }
        }
    }

    fn trips(&self) -> bool {
        let (total, failed, slow) = self.rates(self.latest);
        let BreakerConfig { kind, failures, min_calls, failure_rate, slow_rate, .. } = self.config;
        if kind == CONSECUTIVE {
            return failed >= failures;
        }
        let share = |part: u32| f64::from(part) / f64::from(total);
        total >= min_calls && (share(failed) >= failure_rate || share(slow) >= slow_rate)
    }

    fn minds_slow(&self) -> bool {
        self.config.slow_rate <= 1.0
    }

    fn record(&mut self, (permit, era): Leave, now: u64, failed: bool, took: u64) {
        if era != Some(self.era) {
            return;
        }
        self.see(now);
        let slow = took >= self.config.slow_after;
        if self.now == Now::Closed {
            self.answers.push((self.latest, failed, slow, true));
            if self.trips() {
                self.open();
            }
            return;
        }
        let failed = failed || slow && self.minds_slow();
        self.out.retain(|&other| other != permit);
        self.now = Now::HalfOpen { since: self.latest };
        self.answers.push((self.latest, failed, slow, false));
        if failed {
            if let Some(tried) = &mut self.tried {
                *tried += 1;
                if *tried <= self.config.probe_failures {
                    return;
                }
            }
            self.successes = 0;
            if self.config.reopen == 0 || self.trips() {
                self.open();
            }
            return;
        }
        self.successes += 1;
        if self.successes >= self.config.successes {
            self.close();
        }
    }

    fn abandon(&mut self, (permit, era): Leave, now: u64) {
        if era == Some(self.era) && matches!(self.now, Now::HalfOpen { .. }) {
            self.see(now);
            self.out.retain(|&other| other != permit);
            self.now = Now::HalfOpen { since: self.latest };
        }
    }

    fn hint(&mut self, now: u64, span: u64) {
        if self.config.hint == 0 || span == 0 || self.now == Now::Isolated {
            return;
        }
        self.see(now);
        let asked = self.latest + span;
        match &mut self.now {
            Now::Open { until } if *until > self.latest => *until = asked.max(*until),
            _ => {
                self.turn(Now::Open { until: asked });
                self.openings += 1;
                self.lasting = self.base();
            }
        }
    }

    fn state(&self, now: u64) -> BreakerState {
        match self.now {
            Now::Closed => BreakerState::Closed,
            Now::Open { until } if now.max(self.latest) < until => BreakerState::Open,
            Now::Open { .. } | Now::HalfOpen { .. } => BreakerState::HalfOpen,
            Now::Isolated => BreakerState::Isolated,
        }
    }
}

/// Any configuration with small numbers, so that everything happens often.
fn config(below: &mut impl FnMut(u32) -> u32) -> BreakerConfig {
    let rate = |n: u32| Value::from(f64::from(n + 1) / 10.0);
    let min_calls = 1 + below(4);
    let slow_rate = (below(2) == 0).then(|| rate(below(10)));
    let kind = below(3);
    let mut fields = match kind {
        0 => std::vec![(Field::BreakerFailures, (1 + below(4)).into())],
        1 => std::vec![(Field::BreakerKind, "count".into()), (Field::BreakerSize, (min_calls + below(8)).into())],
        _ => std::vec![
            (Field::BreakerKind, "time".into()),
            (Field::BreakerWindow, Value::Nanos(u64::from(1 + below(60)))),
            (Field::BreakerSlots, (1 + below(10)).into()),
        ],
    };
    if kind > 0 {
        fields.push((Field::BreakerMinCalls, min_calls.into()));
        fields.push((Field::BreakerFailureRate, rate(below(10))));
        fields.push((Field::BreakerSlowAfter, Value::Nanos(5)));
        fields.extend(slow_rate.map(|rate| (Field::BreakerSlowRate, rate)));
    }
    fields.push((Field::BreakerOpenFor, Value::Nanos(below(12).into())));
    if below(2) > 0 {
        fields.push((Field::BreakerOpenKind, "exponential".into()));
        fields.push((Field::BreakerOpenFactor, 1.5.into()));
        fields.push((Field::BreakerOpenMax, Value::Nanos(40)));
    }
    fields.push((Field::BreakerJitter, (f64::from(below(2)) / 2.0).into()));
    fields.push((Field::BreakerProbes, (1 + below(3)).into()));
    fields.push((Field::BreakerSuccesses, (1 + below(3)).into()));
    if kind == 0 && below(2) == 0 {
        fields.push((Field::BreakerReopen, "streak".into()));
    } else {
        fields.push((Field::BreakerProbeFailures, below(3).into()));
    }
    fields.push((Field::BreakerMode, if below(6) == 0 { "observe" } else { "enforce" }.into()));
    fields.push((Field::BreakerHint, if below(2) == 0 { "open" } else { "ignore" }.into()));
    let config = with(&fields);
    let times: Vec<Span> = (0..below(6)).map(|_| Span::from_nanos(below(20).into())).collect();
    if times.is_empty() { config } else { config.with_open_times(&times).unwrap() }
}

#[test]
fn it_does_what_the_model_does() {
    let mut met = [0_u32; 4];
    for seed in 0..SEQUENCES {
        let mut rng = Rng::new(seed);
        let mut below = |n: u32| rng.next_u32() % n;
        let config = config(&mut below);
        let mut now = u64::from(below(50));
        let mut breaker = Breaker::new(&config, seed, Timestamp::from_nanos(now));
        let mut model = Model::new(config, seed, now);
        let mut leaves: Vec<(Permit, Leave)> = Vec::new();
        let failing = below(10);
        for step in 0..below(50) {
            let gap = if below(8) == 0 { 40 } else { 3 };
            now += u64::from(below(gap));
            // A clock may run backwards.
            let told = now.saturating_sub(if below(16) == 0 { below(10).into() } else { 0 });
            let time = Timestamp::from_nanos(told);
            let which = (!leaves.is_empty()).then(|| below(leaves.len() as u32) as usize);
            match (below(64), which) {
                (0..26, _) | (26..58, None) => {
                    let (got, expected) = (breaker.acquire(&config, time), model.acquire(told));
                    assert_eq!(got.map(|_| ()).map_err(|at| at.as_nanos()), expected.map(|_| ()), "{seed} at {step}");
                    if let (Ok(got), Ok(expected)) = (got, expected) {
                        leaves.push((got, expected));
                    }
                }
                (26..54, Some(which)) => {
                    let (permit, leave) = leaves.swap_remove(which);
                    let (failed, took) = (below(10) < failing, u64::from(below(8)));
                    let verdict = if failed { Verdict::Failure } else { Verdict::Success };
                    breaker.record(&config, permit, time, verdict, Span::from_nanos(took));
                    model.record(leave, told, failed, took);
                }
                (54..58, Some(which)) => {
                    let (permit, leave) = leaves.swap_remove(which);
                    breaker.abandon(&config, permit, time);
                    model.abandon(leave, told);
                }
                (58..61, _) => {
                    let span = u64::from(below(30));
                    breaker.hint(&config, time, Span::from_nanos(span));
                    model.hint(told, span);
                }
                (61, _) => {
                    breaker.isolate(time);
                    model.see(told);
                    model.turn(Now::Isolated);
                }
                (62, _) => {
                    breaker.force_close(time);
                    model.see(told);
                    model.close();
                }
                _ => {
                    breaker.reset(time);
                    model.see(told);
                    model.close();
                    model.openings = 0;
                }
            }
            let later = now + u64::from(below(20));
            let look = Timestamp::from_nanos(later);
            let state = model.state(later);
            met[state as usize] += 1;
            let refuses = (matches!(state, BreakerState::Open | BreakerState::Isolated) && config.mode == 0)
                .then(|| model.retry_at());
            assert_eq!(
                (
                    breaker.state(&config, look),
                    breaker.rates(&config, look),
                    breaker.retry_at().as_nanos(),
                    breaker.openings(),
                    breaker.refuses(&config, look).map(Timestamp::as_nanos),
                ),
                (state, model.rates(later), model.retry_at(), model.openings, refuses),
                "{seed} at {step}: {config:?}"
            );
        }
    }
    assert!(met.iter().all(|&times| times > 10_000), "{met:?}");
}
