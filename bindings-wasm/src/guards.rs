//! The fourth module: what many calls share, and the calls that share it.
//!
//! As in the other modules the states are JavaScript's. The ones of the guards that were used last stay on the desk until
//! others are laid there, so that a program with one set of guards copies nothing: `src-ts/guards/desk.ts` keeps account.
#![allow(unsafe_code)]

mod alone;
mod calls;
mod kept;
#[cfg(feature = "log")]
mod log;
#[cfg(feature = "log")]
mod log_state;

use crate::shared::{Name, Problem, Shared, Value};
use core::mem::offset_of;
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, ConfigError,
    FailureKind, FlatStep, Guarded, Guards, GuardsBuilder, HedgeConfig, Latency, Limiter, LimiterConfig, Policy,
    SaveError, Span, Step, Stretch, StretchConfig, Timestamp, Token,
};

/// One of everything. JavaScript asks where each thing lies.
#[repr(C)]
struct Desk {
    args: [u64; 16],
    problem: Problem,
    step: FlatStep,
    policy: Policy,
    call: Guarded,
    builder: GuardsBuilder,
    token: [u32; 4],
    budget_config: BudgetConfig,
    budget: Budget,
    breaker_config: BreakerConfig,
    breaker: Breaker,
    limiter_config: LimiterConfig,
    limiter: Limiter,
    adaptive_config: AdaptiveConfig,
    adaptive: Adaptive,
    bulkhead_config: BulkheadConfig,
    bulkhead: Bulkhead,
    stretch_config: StretchConfig,
    stretch: Stretch,
    hedge_config: HedgeConfig,
    hedge: Latency,
    name: Name,
    text: Value,
    /// Where the room of a limiter is that keeps a log, and how many times it holds.
    room: [u32; 2],
    #[cfg(feature = "log")]
    log: log_state::Logs,
}

// SAFETY: the desk is made of integers, doubles and arrays of them, of which every bit pattern is a value, and no export calls
// out of the module.
static DESK: Shared<Desk> = unsafe { Shared::zeroed() };

/// Where each field of the desk begins and how long it is, in bytes.
#[unsafe(no_mangle)]
static PLACES: [[u32; 2]; 23 + MORE.len()] = {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([offset_of!(Desk, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    let places: [[u32; 2]; 23] = places!(
        args: [u64; 16], problem: Problem, step: FlatStep, policy: Policy, call: Guarded, builder: GuardsBuilder,
        token: [u32; 4], budget_config: BudgetConfig, budget: Budget, breaker_config: BreakerConfig, breaker: Breaker,
        limiter_config: LimiterConfig, limiter: Limiter, adaptive_config: AdaptiveConfig, adaptive: Adaptive,
        bulkhead_config: BulkheadConfig, bulkhead: Bulkhead, stretch_config: StretchConfig, stretch: Stretch,
        hedge_config: HedgeConfig, hedge: Latency, name: Name, text: Value
    );
    let (mut all, mut at) = ([[0; 2]; 23 + MORE.len()], 0);
    while at < all.len() {
        all[at] = if at < places.len() { places[at] } else { MORE[at - places.len()] };
        at += 1;
    }
    all
};

/// Those that only the module with logs has.
#[cfg(feature = "log")]
const MORE: [[u32; 2]; 5] = log_state::places(offset_of!(Desk, log) as u32);
#[cfg(not(feature = "log"))]
const MORE: [[u32; 2]; 0] = [];

/// Where the desk is in memory. It never moves.
#[unsafe(no_mangle)]
extern "C" fn desk() -> usize {
    DESK.address()
}

/// Works on the desk. Not to be nested.
fn with<T>(work: impl FnOnce(&mut Desk) -> T) -> T {
    DESK.with(work)
}

/// The bit of each guard, in the order in which errors are looked for.
const BUDGET: u32 = 1;
const BREAKER: u32 = 2;
const LIMITER: u32 = 4;
const BULKHEAD: u32 = 8;
const ADAPTIVE: u32 = 16;
const STRETCH: u32 = 32;
const HEDGE: u32 = 64;

const PAGE: usize = 1 << 16;

/// Makes room for so many times behind all other memory, which grows to the longest log and not further. Where it is, 0 when
/// there is none to be had.
#[unsafe(no_mangle)]
extern "C" fn room(times: u32) -> u32 {
    with(|desk| {
        let [at, holds] = desk.room;
        if times <= holds {
            return at;
        }
        let pages = (times as usize).saturating_mul(8).div_ceil(PAGE);
        // What there was is the beginning of what there will be: nobody else makes memory grow.
        let more = pages - holds as usize * 8 / PAGE;
        let before = core::arch::wasm32::memory_grow(0, more);
        if before == usize::MAX {
            return 0;
        }
        let at = if holds == 0 { (before * PAGE) as u32 } else { at };
        desk.room = [at, (pages * PAGE / 8) as u32];
        at
    })
}

/// The first so many times of the room.
fn times([at, holds]: [u32; 2], wanted: usize) -> &'static mut [u64] {
    if wanted == 0 || wanted > holds as usize {
        return &mut [];
    }
    // SAFETY: `room` has made so much memory for it there, which belongs to nothing else, and each export asks for it once.
    unsafe { core::slice::from_raw_parts_mut(at as *mut u64, wanted) }
}

impl Desk {
    fn arg(&self, at: usize) -> u64 {
        self.args.get(at).copied().unwrap_or_default()
    }

    fn span(&self, at: usize) -> Span {
        Span::from_nanos(self.arg(at))
    }

    fn time(&self, at: usize) -> Timestamp {
        Timestamp::from_nanos(self.arg(at))
    }

    fn real(&self, at: usize) -> f64 {
        f64::from_bits(self.arg(at))
    }

    fn leave(&mut self, at: usize, number: u64) {
        if let Some(place) = self.args.get_mut(at) {
            *place = number;
        }
    }

    fn explain(&mut self, error: &ConfigError) -> u32 {
        self.problem.explain(&mut self.text, error)
    }

    fn explain_saved(&mut self, error: &SaveError) -> u32 {
        let words = [error.field.unwrap_or_default(), error.rule(), error.nearest.unwrap_or_default()];
        self.problem.explain_other(&mut self.text, (error.code, error.given), words)
    }

    /// The guards of a set as they lie there, for the call that lies there and its policy.
    fn lent(&mut self, guards: u32) -> (&mut Guarded, &Policy, Guards<'_>) {
        let is = |guard: u32| guards & guard != 0;
        let room = if is(LIMITER) { times(self.room, self.limiter_config.log_capacity()) } else { &mut [] };
        let lent = Guards {
            budget: is(BUDGET).then_some((&self.budget_config, &mut self.budget)),
            breaker: is(BREAKER).then_some((&self.breaker_config, &mut self.breaker)),
            limiter: is(LIMITER).then_some((&self.limiter_config, &mut self.limiter, room)),
            adaptive: is(ADAPTIVE).then_some((&self.adaptive_config, &mut self.adaptive)),
            bulkhead: is(BULKHEAD).then_some((&self.bulkhead_config, &mut self.bulkhead)),
            stretch: is(STRETCH).then_some((&self.stretch_config, &mut self.stretch)),
            hedge: is(HEDGE).then_some((&self.hedge_config, &mut self.hedge)),
        };
        (&mut self.call, &self.policy, lent)
    }

    /// Lays a step down, and how long its sleep lasts into place 4.
    fn show(&mut self, step: Step) {
        self.step = step.into();
        let left = match step {
            Step::Sleep { until, .. } => until.since(self.time(0)),
            _ => Span::ZERO,
        };
        self.leave(4, left.as_nanos());
    }

    /// What a call inside others knows of them: the token that lies there, unless its depth is 0.
    fn around(&self) -> Option<Token> {
        let [attempt, allowed, depth, _] = self.token;
        (depth != 0).then(|| {
            // SAFETY: a token is three numbers of 32 bits in this order, of which every bit pattern is a value.
            unsafe { core::mem::transmute::<[u32; 3], Token>([attempt, allowed, depth]) }
        })
    }

    fn hand_down(&mut self, token: Option<Token>) {
        self.token = token.map_or([0; 4], |token| [token.attempt(), token.allowed(), token.depth(), 0]);
    }
}

fn kind_of(code: u32) -> FailureKind {
    FailureKind::from_code(code).unwrap_or(FailureKind::Permanent)
}
