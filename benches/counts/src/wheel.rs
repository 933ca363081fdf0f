//! A timer that starts and is due while a thousand others are pending.

use crate::Path;
use holdoff_core::{Timestamp, Wheel};
use std::hint::black_box;

pub(crate) const EXPIRE: Path = Path { work: "wheel, insert and expire", who: "wheel", run: expire };

const PENDING: u32 = 1000;

/// Delays of 1 to 60,000 ms, the same ones in each run.
struct Delays(u64);

impl Delays {
    fn after(&mut self, now: Timestamp) -> Timestamp {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let millis = 1 + ((u128::from(self.0) * 60_000) >> 64) as u64;
        Timestamp::from_nanos(now.as_nanos() + millis * 1_000_000)
    }
}

fn filled(delays: &mut Delays) -> Wheel {
    let mut wheel = Wheel::new();
    for _ in 0..PENDING {
        let _ = black_box(wheel.insert(delays.after(Timestamp::ZERO)));
    }
    wheel
}

/// Goes from timer to timer, and starts another for each that is due.
#[inline(never)]
fn expire(times: u32) {
    let mut delays = Delays(0x9e37_79b9_7f4a_7c15);
    let mut wheel = filled(&mut delays);
    let mut now = Timestamp::ZERO;
    let mut due = 0;
    while due < times {
        match wheel.pop(now) {
            Some(timer) => {
                black_box(timer);
                due += 1;
                let _ = black_box(wheel.insert(delays.after(now)));
            }
            None => now = wheel.next_wake().unwrap_or(now),
        }
    }
}
