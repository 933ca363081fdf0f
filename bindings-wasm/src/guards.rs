//! The fourth module: guards, and the calls that share them.
//!
//! As in the other modules JavaScript owns the states. The states of the guards used last stay in wasm memory until others are
//! copied there, so that a program with one set of guards copies nothing: `src-ts/guards/memory.ts` keeps account.
#![allow(unsafe_code)]

mod calls;
mod single;

use crate::memory::{Shared, exports};
use core::mem::offset_of;
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, FailureKind,
    GuardedCall, Guards, HedgeConfig, Latency, Limiter, LimiterConfig, Policy, RawStep, Span, Step, Stretch,
    StretchConfig, Timestamp, Token,
};

/// How many breakers stay in memory: a program that has one for each host takes them by turns. New ones are made in the first
/// slot.
const SLOTS: usize = 16;

#[repr(C)]
struct BreakerSlot {
    config: BreakerConfig,
    breaker: Breaker,
}

/// How many words the longest queue of a bulkhead takes.
const LONGEST_QUEUE: usize = 65_536 / 64;

/// One state of each machine, and the values that go in and out. JavaScript reads the offsets from [`PLACES`].
#[repr(C)]
struct Memory {
    args: [u64; 16],
    step: RawStep,
    policy: Policy,
    call: GuardedCall,
    token: [u32; 4],
    budget_config: BudgetConfig,
    budget: Budget,
    breakers: [BreakerSlot; SLOTS],
    limiter_config: LimiterConfig,
    limiter: Limiter,
    adaptive_config: AdaptiveConfig,
    adaptive: Adaptive,
    bulkhead_config: BulkheadConfig,
    bulkhead: Bulkhead,
    /// The places of the longest queue.
    queue: [u64; LONGEST_QUEUE],
    stretch_config: StretchConfig,
    stretch: Stretch,
    hedge_config: HedgeConfig,
    hedge: Latency,
    /// The value of a header.
    text: [u8; 256],
    /// The slot of the breaker that functions work on.
    breaker_slot: u64,
    /// The buffer for the times of a limiter's log: its address, and how many times fit.
    log_buffer: [u32; 2],
}

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The index of the first breaker in [`PLACES`], behind that of its configuration.
const BREAKER_PLACE: usize = 8;

/// The offset and the length of each field, in bytes.
#[unsafe(no_mangle)]
static PLACES: [[u32; 2]; 22] = {
    macro_rules! places {
        ($($field:ident: $type:ty),*) => { [$([offset_of!(Memory, $field) as u32, size_of::<$type>() as u32]),*] };
    }
    let mut places: [[u32; 2]; 22] = places!(
        args: [u64; 16], step: RawStep, policy: Policy, call: GuardedCall,
        token: [u32; 4], budget_config: BudgetConfig, budget: Budget, breakers: BreakerConfig, breakers: Breaker,
        limiter_config: LimiterConfig, limiter: Limiter, adaptive_config: AdaptiveConfig, adaptive: Adaptive,
        bulkhead_config: BulkheadConfig, bulkhead: Bulkhead, queue: [u64; LONGEST_QUEUE], stretch_config: StretchConfig, stretch: Stretch,
        hedge_config: HedgeConfig, hedge: Latency, text: [u8; 256], breaker_slot: u64
    );
    places[BREAKER_PLACE][0] += offset_of!(BreakerSlot, breaker) as u32;
    places
};

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

/// Works on the memory. Not to be nested.
fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
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

exports! {
    /// Reserves a buffer for so many times behind all other memory, which grows to the longest log and not further. The buffer's
    /// address, 0 when there is no memory.
    fn reserve(times: u32) -> u32 = |memory| {
        let [at, holds] = memory.log_buffer;
        if times <= holds {
            return at;
        }
        let pages = (times as usize).saturating_mul(8).div_ceil(PAGE);
        // The old buffer is the beginning of the new one, because only this function makes memory grow.
        let more = pages - holds as usize * 8 / PAGE;
        let before = core::arch::wasm32::memory_grow(0, more);
        if before == usize::MAX {
            return 0;
        }
        let at = if holds == 0 { (before * PAGE) as u32 } else { at };
        memory.log_buffer = [at, (pages * PAGE / 8) as u32];
        at
    };
}

impl Memory {
    fn arg(&self, at: usize) -> u64 {
        self.args.get(at).copied().unwrap_or_default()
    }

    fn span(&self, at: usize) -> Span {
        Span::from_nanos(self.arg(at))
    }

    fn time(&self, at: usize) -> Timestamp {
        Timestamp::from_nanos(self.arg(at))
    }

    fn now(&self) -> Timestamp {
        self.time(0)
    }

    fn real(&self, at: usize) -> f64 {
        f64::from_bits(self.arg(at))
    }

    fn leave(&mut self, at: usize, number: u64) {
        if let Some(place) = self.args.get_mut(at) {
            *place = number;
        }
    }

    /// The configuration and the state of the breaker that functions work on.
    fn breaker(&mut self) -> (&BreakerConfig, &mut Breaker) {
        let BreakerSlot { config, breaker } = &mut self.breakers[self.breaker_slot as usize % SLOTS];
        (config, breaker)
    }

    /// The times of the limiter's log.
    fn log(&self) -> &'static mut [u64] {
        let ([at, holds], wanted) = (self.log_buffer, self.limiter_config.words());
        if wanted == 0 || wanted > holds as usize {
            return &mut [];
        }
        // SAFETY: `reserve` has made so much memory there, which belongs to nothing else, and each export asks for it once.
        unsafe { core::slice::from_raw_parts_mut(at as *mut u64, wanted) }
    }

    /// The call, its policy, and the guards of a set.
    fn call_under(&mut self, guards: u32) -> (&mut GuardedCall, &Policy, Guards<'_>) {
        let is = |guard: u32| guards & guard != 0;
        let log = if is(LIMITER) { self.log() } else { &mut [] };
        let slot = &mut self.breakers[self.breaker_slot as usize % SLOTS];
        let guards = Guards {
            budget: is(BUDGET).then_some((&self.budget_config, &mut self.budget)),
            breaker: is(BREAKER).then_some((&slot.config, &mut slot.breaker)),
            limiter: is(LIMITER).then_some((&self.limiter_config, &mut self.limiter, log)),
            adaptive: is(ADAPTIVE).then_some((&self.adaptive_config, &mut self.adaptive)),
            bulkhead: is(BULKHEAD).then_some((&self.bulkhead_config, &mut self.bulkhead, &mut self.queue[..])),
            stretch: is(STRETCH).then_some((&self.stretch_config, &mut self.stretch)),
            hedge: is(HEDGE).then_some((&self.hedge_config, &mut self.hedge)),
        };
        (&mut self.call, &self.policy, guards)
    }

    /// Writes a step, and the length of its sleep into slot 4.
    fn show(&mut self, step: Step) {
        self.step = step.into();
        self.leave(4, self.call.remaining(self.time(0)).as_nanos());
    }

    /// The token of the retries around a call, unless its depth is 0.
    fn around(&self) -> Option<Token> {
        let [attempt, allowed, depth, _] = self.token;
        (depth != 0).then(|| {
            // SAFETY: a token is three numbers of 32 bits in this order, and every bit pattern is a value.
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
