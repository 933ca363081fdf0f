//! Exponential backoff up to a limit, as most systems have it.

use super::values::{EXPONENTIAL, FIXED, Item, LINEAR, Values};
use crate::decide::backoff::{self, Backoff, real, truncated};
use crate::decide::jitter::Jitter;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use core::time::Duration;

/// The options of a policy without jitter. The limit bounds the delays after the first one: a first delay above it comes
/// once. If `ends`, a product above the limit is the last there is, and the delay then stays.
pub(super) fn import(values: &Values, ends: bool) -> Options {
    let (initial, max, factor) = (values.at(Item::Initial), values.at(Item::Max), values.real(Item::Factor));
    let constant = |nanos| Backoff::constant(Duration::from_nanos(nanos));
    let growing = |nanos| Backoff::exponential(Duration::from_nanos(nanos), factor).max(Duration::from_nanos(max));
    let mut options = *Policy::options().jitter(Jitter::None).attempts(values.attempts(Item::Attempts));
    if initial <= max {
        // Multiplying by 1 leaves the delay as it is, in doubles too.
        let stays = !ends && factor == 1.0 && initial <= 1 << 53;
        return *options.backoff(if stays { constant(initial) } else { growing(initial) });
    }
    let product = truncated(real(initial) * factor);
    let stays = if ends { product > max } else { product >= max && factor >= 1.0 };
    *options.backoff(constant(initial)).then(1, if stays { constant(max) } else { growing(product.min(max)) })
}

/// Options with so many retries; `None` for no limit.
pub(super) fn with_retries(mut options: Options, retries: Option<u64>) -> Options {
    /// The most attempts that a policy counts.
    const MOST: u32 = u32::MAX.wrapping_sub(1);
    *match retries {
        Some(retries) if retries < MOST as u64 => options.attempts((retries as u32).wrapping_add(1)),
        Some(_) => options.attempts(MOST),
        None => options.forever(),
    }
}

/// The values of an exponential policy; of a chain whose first delay comes once, of that delay and what follows. A constant
/// delay is an exponential one with factor 1, and no limit on attempts is 0.
pub(super) fn export(policy: &Policy) -> Values {
    let first = policy.first().stage;
    let stage = match policy.own_stages() {
        [_, second, ..] if first.kind == backoff::CONSTANT => second.stage,
        _ => first,
    };
    let (factor, max) = match stage.kind {
        backoff::CONSTANT => (1.0, stage.initial),
        backoff::EXPONENTIAL => (stage.factor(), stage.max),
        _ => (0.0, 0),
    };
    let strategy = match first.kind {
        backoff::EXPONENTIAL => EXPONENTIAL,
        backoff::LINEAR => LINEAR,
        _ => FIXED,
    };
    let mut values = Values::EMPTY;
    for (item, number) in [
        (Item::Attempts, policy.attempts().map_or(0, u64::from)),
        (Item::Initial, first.initial),
        (Item::Max, max),
        (Item::Factor, factor.to_bits()),
        (Item::Strategy, strategy),
    ] {
        values.put(item, number);
    }
    values
}
