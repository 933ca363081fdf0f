//! The cost of periodic loops: how long until the next time, and the run itself.

use crate::sample::Work;
use holdoff_core::{Answer, LoopBackoff, Periodic, PeriodicOptions, PeriodicStep, Rng, Span, Timestamp, WaitBackoff};
use rand_pcg::Lcg64Xsh32;
use rand_pcg::rand_core::Rng as _;
use std::hint::black_box;

/// A tenth of a second.
const PERIOD: u64 = 100_000_000;
/// A tenth of 2^32: up to a tenth of it more.
const TENTH: u64 = 429_496_729;

pub(super) fn works() -> Vec<Work> {
    vec![loop_backoff(), run()]
}

fn jittered() -> LoopBackoff {
    let backoff = WaitBackoff::constant(Span::from_nanos(PERIOD), 0.1).expect("checked numbers");
    black_box(LoopBackoff::with_reset(backoff, Span::from_secs(60), Timestamp::ZERO))
}

/// A period and up to a tenth of it more, by one draw.
struct Floor {
    rng: Lcg64Xsh32,
    period: u64,
    most: u64,
}

impl Floor {
    fn new() -> Self {
        let (period, tenth) = (black_box(PERIOD), black_box(TENTH));
        let most = ((u128::from(period) * u128::from(tenth)) >> 32) as u64;
        Self { rng: Lcg64Xsh32::new(black_box(7), 0x0a02_bdbf_7bb3_c0a7), period, most }
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.period + ((u128::from(self.rng.next_u32()) * u128::from(self.most)) >> 32) as u64
    }
}

/// The next interval.
fn loop_backoff() -> Work {
    let (mut floor, mut loop_backoff, mut rng) = (Floor::new(), jittered(), Rng::new(black_box(7)));
    let mut now = Timestamp::ZERO;
    Work::new("loop backoff").by("floor", move || black_box(&mut floor).next()).by("loop backoff", move || {
        let loop_backoff = black_box(&mut loop_backoff);
        let u = if loop_backoff.draws() { rng.uniform() } else { 0.0 };
        now = now.after(loop_backoff.next(now, u));
        now
    })
}

/// A run that is due, until it sleeps again.
fn run() -> Work {
    let (mut floor, mut due) = (Floor::new(), 0_u64);
    let mut periodic = Periodic::new(jittered(), PeriodicOptions::default(), black_box(7), Timestamp::ZERO);
    let mut now = Timestamp::ZERO;
    Work::new("periodic run")
        .by("floor", move || {
            due += black_box(&mut floor).next();
            due
        })
        .by("periodic", move || {
            let periodic = black_box(&mut periodic);
            let PeriodicStep::Run { run } = periodic.tick(now) else { panic!("it is due") };
            let PeriodicStep::Sleep { until } = periodic.finish(black_box(run), now, Answer::Again) else {
                panic!("it goes on for ever")
            };
            now = until;
            now
        })
}
