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
    Bulkhead, BulkheadConfig, FailureKind, GuardConfig, GuardedCall, Guards, Limiter, LimiterConfig, Policy, RawStep,
    Span, Step, Timestamp, Token, each_guard,
};

/// A guard in memory.
#[repr(C)]
struct Slot<C: GuardConfig> {
    config: C,
    state: C::State,
}

impl<C: GuardConfig> Slot<C> {
    fn parts(&mut self) -> (&C, &mut C::State) {
        (&self.config, &mut self.state)
    }
}

/// How many words the longest queue of a bulkhead takes.
const LONGEST_QUEUE: usize = 65_536 / 64;

/// Declares the memory, in which each guard has a slot, and what is done with all guards.
macro_rules! memory {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// One state of each machine, and the values that go in and out. JavaScript reads the offsets from [`PLACES`].
        #[repr(C)]
        struct Memory {
            args: [u64; 16],
            step: RawStep,
            policy: Policy,
            call: GuardedCall,
            token: [u32; 4],
            $($name: Slot<$config>,)*
            /// The places of the longest queue.
            queue: [u64; LONGEST_QUEUE],
            /// The value of a header.
            text: [u8; 256],
            /// The buffer for the times of a limiter's log: its address, and how many times fit.
            log_buffer: [u32; 2],
        }

        /// The number of each guard, in the order in which errors are looked for.
        #[allow(non_camel_case_types)]
        enum Index {
            $($name,)*
            All,
        }

        /// The offset and the length of each field, in bytes: those of JavaScript's own, then a configuration and a state for each guard.
        #[unsafe(no_mangle)]
        static PLACES: [[u32; 2]; 7 + 2 * Index::All as usize] = {
            const fn place(at: usize, size: usize) -> [u32; 2] {
                [at as u32, size as u32]
            }
            [
                place(offset_of!(Memory, args), size_of::<[u64; 16]>()),
                place(offset_of!(Memory, step), size_of::<RawStep>()),
                place(offset_of!(Memory, policy), size_of::<Policy>()),
                place(offset_of!(Memory, call), size_of::<GuardedCall>()),
                place(offset_of!(Memory, token), size_of::<[u32; 4]>()),
                place(offset_of!(Memory, queue), size_of::<[u64; LONGEST_QUEUE]>()),
                place(offset_of!(Memory, text), size_of::<[u8; 256]>()),
                $(
                    place(offset_of!(Memory, $name) + offset_of!(Slot<$config>, config), size_of::<$config>()),
                    place(offset_of!(Memory, $name) + offset_of!(Slot<$config>, state), size_of::<<$config as GuardConfig>::State>()),
                )*
            ]
        };

        impl Memory {
            /// The call, its policy, and the guards of a set.
            fn call_under(&mut self, guards: u32) -> (&mut GuardedCall, &Policy, Guards<'_>) {
                let is = |guard: Index| guards & (1 << guard as u32) != 0;
                let log = if is(Index::limiter) { self.log() } else { &mut [] };
                let (mut log, mut queue) = (Some(log), Some(&mut self.queue[..]));
                let lent = Guards { $(
                    $name: is(Index::$name).then(|| {
                        let words = match Index::$name {
                            Index::limiter => log.take(),
                            Index::bulkhead => queue.take(),
                            _ => None,
                        };
                        self.$name.config.lend(&mut self.$name.state, words.unwrap_or_default())
                    }),
                )* };
                (&mut self.call, &self.policy, lent)
            }

            fn hint(&mut self, index: u32, now: Timestamp, span: Span) {
                $(if index == Index::$name as u32 {
                    self.$name.config.hint(&mut self.$name.state, now, span);
                })*
            }

            fn refuses(&self, index: u32, at: Timestamp) -> Option<Timestamp> {
                $(if index == Index::$name as u32 {
                    return self.$name.config.refuses(&self.$name.state, at);
                })*
                None
            }

            /// New states of those guards.
            fn make(&mut self, guards: u32, seed: u64, now: Timestamp) {
                $(if guards & (1 << Index::$name as u32) != 0 {
                    self.$name.state = self.$name.config.state(seed, now);
                })*
            }
        }
    };
}
each_guard!(memory);

// SAFETY: the memory is made of integers, doubles and arrays of them: every bit pattern is a value. No export calls out of
// the module.
static MEMORY: Shared<Memory> = unsafe { Shared::zeroed() };

/// The address of the memory, which never changes.
#[unsafe(no_mangle)]
extern "C" fn address() -> usize {
    MEMORY.address()
}

/// Works on the memory. Not to be nested.
fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    MEMORY.with(work)
}

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

    fn limiter(&mut self) -> (&LimiterConfig, &mut Limiter, &mut [u64]) {
        let log = self.log();
        self.limiter.config.lend(&mut self.limiter.state, log)
    }

    fn bulkhead(&mut self) -> (&BulkheadConfig, &mut Bulkhead, &mut [u64]) {
        self.bulkhead.config.lend(&mut self.bulkhead.state, &mut self.queue)
    }

    /// The times of the limiter's log.
    fn log(&self) -> &'static mut [u64] {
        let ([at, holds], wanted) = (self.log_buffer, self.limiter.config.words());
        if wanted == 0 || wanted > holds as usize {
            return &mut [];
        }
        // SAFETY: `reserve` has made so much memory there, which belongs to nothing else, and each export asks for it once.
        unsafe { core::slice::from_raw_parts_mut(at as *mut u64, wanted) }
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
