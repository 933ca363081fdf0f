//! Many keys with a little state each: what it costs to use one for the first time, and again.
//!
//! Keys are used in no order, so that the processor's caches help nobody. Ours forgets keys: it is bounded, and gives up the
//! key that was used longest ago. So does `lru`; the plain map and governor's grow for ever.

use crate::guards::{self, Even};
use crate::peers::governor::quota;
use crate::runs::{Measured, Size, timed};
use crate::timers::Delays;
use governor::RateLimiter;
use governor::clock::{Clock, FakeRelativeClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use hashbrown::HashMap;
use holdoff_core::{Gate, GateConfig, GateOptions, Keyed, Limiter, LimiterConfig, Span, Timestamp};
use lru::LruCache;
use std::hint::black_box;
use std::num::NonZeroUsize;

/// Many keys.
pub trait Keys {
    /// Room for so many.
    fn new(most: usize) -> Self;
    /// Uses a key at a time, and says whether it may be used.
    fn use_at(&mut self, key: u64, now: Timestamp) -> bool;
}

/// The floor: a map of 8 bytes a key that forgets nothing.
#[derive(Debug)]
pub struct Map {
    map: HashMap<u64, u64>,
    even: Even,
}

impl Keys for Map {
    fn new(_: usize) -> Self {
        Self { map: HashMap::new(), even: black_box(Even::new()) }
    }

    #[inline(always)]
    fn use_at(&mut self, key: u64, now: Timestamp) -> bool {
        self.even.take_of(self.map.entry(key).or_insert(0), now.as_nanos())
    }
}

/// The same in a bounded map, by `lru`.
#[derive(Debug)]
pub struct Bounded {
    map: LruCache<u64, u64>,
    even: Even,
}

impl Keys for Bounded {
    fn new(most: usize) -> Self {
        Self { map: LruCache::new(NonZeroUsize::new(most).expect("some")), even: black_box(Even::new()) }
    }

    #[inline(always)]
    fn use_at(&mut self, key: u64, now: Timestamp) -> bool {
        self.even.take_of(self.map.get_or_insert_mut(key, || 0), now.as_nanos())
    }
}

/// Ours, with a limiter.
#[derive(Debug)]
pub struct Limiters {
    map: Keyed<u64, Limiter>,
    config: LimiterConfig,
}

impl Keys for Limiters {
    fn new(most: usize) -> Self {
        Self { map: Keyed::new(most, Span::from_secs(3600)), config: black_box(guards::gcra()) }
    }

    #[inline(always)]
    fn use_at(&mut self, key: u64, now: Timestamp) -> bool {
        self.map.entry(key, now, || Limiter::new(&self.config, now)).take(&self.config, &mut [], 1, now).is_ok()
    }
}

/// Ours, with a gate that is asked, and told of a success.
#[derive(Debug)]
pub struct Gates {
    map: Keyed<u64, Gate>,
    config: GateConfig,
}

impl Keys for Gates {
    fn new(most: usize) -> Self {
        let config = GateOptions::default().build().expect("checked numbers");
        Self { map: Keyed::new(most, Span::from_secs(3600)), config: black_box(config) }
    }

    #[inline(always)]
    fn use_at(&mut self, key: u64, now: Timestamp) -> bool {
        let gate = self.map.entry(key, now, Gate::new);
        let open = gate.is_open(now);
        gate.success(&self.config, now);
        open
    }
}

/// governor's, on some clock.
#[derive(Debug)]
pub struct Governed<C: Clock>(RateLimiter<u64, DashMapStateStore<u64>, C, NoOpMiddleware<C::Instant>>);

/// On the clock that it takes by default.
pub type ByQuanta = Governed<QuantaClock>;
/// On a clock that stands still.
pub type ByNoClock = Governed<FakeRelativeClock>;

impl<C: Clock + Default> Keys for Governed<C> {
    fn new(_: usize) -> Self {
        Self(RateLimiter::dashmap_with_clock(quota(), C::default()))
    }

    #[inline(always)]
    fn use_at(&mut self, key: u64, _: Timestamp) -> bool {
        self.0.check_key(&key).is_ok()
    }
}

/// A number of its own for each key, in no order.
#[inline(always)]
const fn spread(key: u64) -> u64 {
    (key ^ key >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Uses every key for the first time, and then some of them again.
///
/// # Panics
/// When a key may not be used.
pub fn measure<K: Keys>(size: Size, measured: &mut Measured) {
    let Size { count, replaced, .. } = size;
    let mut now = Timestamp::from_nanos(1_000_000_000);
    let mut order = Delays::default();
    measured.begin();

    let (mut keys, fill) = timed(|| {
        let mut keys = K::new(count);
        for key in 0..count as u64 {
            now = Timestamp::from_nanos(now.as_nanos() + 1000);
            assert!(keys.use_at(spread(key), now), "it is new");
        }
        keys
    });
    measured.add("fill", fill, count);
    measured.weigh("fill", count);

    let ((), again) = timed(|| {
        for _ in 0..replaced {
            now = Timestamp::from_nanos(now.as_nanos() + 1000);
            let key = ((u128::from(order.bits()) * count as u128) >> 64) as u64;
            assert!(keys.use_at(spread(key), now), "it is used seldom");
        }
    });
    measured.add("again", again, replaced);
    measured.weigh("again", count);
}
