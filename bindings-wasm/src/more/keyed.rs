//! What outlives an operation: gates, and buckets of tokens.
#![allow(unsafe_code)]

use super::{Desk, with};
use holdoff_core::{Bucket, BucketConfig, Direction, Gate, GateConfig, GateOptions, Growth};

const FEEDBACK: u32 = 1;
const DOWNWARD: u32 = 2;
const AHEAD: u32 = 4;

/// `gate_config` := places 0 to 11: initial, factor, max, jitter, grace, its delay, forgives, rest, quiet, keep, keep after
/// failures, quantum; 2^64-1 for none of the three before the last. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn gate(flags: u32) -> u32 {
    with(|desk| {
        let is = |flag: u32| flags & flag != 0;
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let options = GateOptions {
            initial: desk.span(0),
            factor: desk.real(1),
            max: desk.span(2),
            jitter: desk.real(3),
            direction: if is(DOWNWARD) { Direction::Down } else { Direction::Up },
            growth: if is(FEEDBACK) { Growth::Feedback } else { Growth::Power },
            grace: count(desk.arg(4)),
            grace_delay: desk.span(5),
            ahead: is(AHEAD),
            forgives: count(desk.arg(6)),
            rest: desk.span(7),
            quiet: desk.limit(8),
            keep: desk.limit(9),
            keep_failed: desk.limit(10),
            quantum: desk.span(11),
        };
        configured(desk, options.build())
    })
}

/// `gate_config` := a preset: 0 flowcontrol of initial, max and jitter, and of a quiet time unless that is 2^64-1; 1 an item
/// of base and max; 2 an item of fast, slow and a signed number of fast attempts; 3 Chromium's, whose times are milliseconds
/// and whose flag is place 6. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn gate_preset(preset: u32) -> u32 {
    with(|desk| {
        let some = |number: u64| (number != u64::MAX).then_some(number);
        let made = match preset {
            0 => GateConfig::flowcontrol(desk.span(0), desk.span(1), desk.real(2)).map(|config| {
                let quiet = desk.limit(3);
                quiet.map_or(config, |quiet| config.with_quiet(quiet))
            }),
            1 => Ok(GateConfig::item_exponential(desk.span(0), desk.span(1))),
            2 => Ok(GateConfig::fast_slow(desk.span(0), desk.span(1), desk.arg(2).cast_signed())),
            _ => GateConfig::chromium(
                desk.arg(0),
                desk.real(1),
                desk.real(2),
                some(desk.arg(3)),
                some(desk.arg(4)),
                u32::try_from(desk.arg(5)).unwrap_or(u32::MAX),
                desk.arg(6) != 0,
            ),
        };
        configured(desk, made)
    })
}

fn configured(desk: &mut Desk, made: Result<GateConfig, holdoff_core::ConfigError>) -> u32 {
    desk.made(made, |desk, config| desk.gate_config = config)
}

/// `gate` failed at the time in place 1 over something of the time in place 0, the draw being place 2; its delay into place 0.
#[unsafe(no_mangle)]
extern "C" fn gate_failure() {
    with(|desk| {
        let (event, now, u) = (desk.time(0), desk.time(1), desk.real(2));
        let delay = desk.gate.failure_of(&desk.gate_config, event, now, u);
        desk.leave([delay.as_nanos()]);
    });
}

/// `gate` succeeded at the time in place 0.
#[unsafe(no_mangle)]
extern "C" fn gate_success() {
    with(|desk| {
        let now = desk.time(0);
        desk.gate.success(&desk.gate_config, now);
    });
}

/// `gate` opens at the time in place 0.
#[unsafe(no_mangle)]
extern "C" fn gate_release_at() {
    with(|desk| {
        let release = desk.time(0);
        desk.gate.release_at(release);
    });
}

/// `gate` starts anew.
#[unsafe(no_mangle)]
extern "C" fn gate_forget() {
    with(|desk| desk.gate = Gate::new());
}

const OPEN: u32 = 1;
const DISCARDABLE: u32 = 2;
const COVERS: u32 = 4;
const COVERS_SINCE: u32 = 8;
const DRAWS: u32 = 16;

/// How `gate` stands at the time in place 1 with regard to something of the time in place 0: failures, delay and release into
/// places 0 to 2, the rest as flags.
#[unsafe(no_mangle)]
extern "C" fn gate_look() -> u32 {
    with(|desk| {
        let (gate, config) = (desk.gate, desk.gate_config);
        let (event, now) = (desk.time(0), desk.time(1));
        desk.leave([gate.failures(), gate.delay().as_nanos(), gate.release().as_nanos()]);
        [
            (gate.is_open(now), OPEN),
            (gate.is_discardable(&config, now), DISCARDABLE),
            (gate.covers(&config, event), COVERS),
            (gate.covers_since(&config, event, now), COVERS_SINCE),
            (gate.draws(&config, event), DRAWS),
        ]
        .into_iter()
        .fold(0, |flags, (is, flag)| if is { flags | flag } else { flags })
    })
}

/// `bucket_config` := places 0 to 2: rate, per, burst; `bucket` := a full one at the time in place 3. 0, or the length of what
/// is wrong.
#[unsafe(no_mangle)]
extern "C" fn bucket() -> u32 {
    with(|desk| {
        let made = BucketConfig::new(desk.real(0), desk.span(1), desk.arg(2));
        let now = desk.time(3);
        desk.made(made, |desk, config| {
            desk.bucket_config = config;
            desk.bucket = Bucket::full(&config, now);
        })
    })
}

/// Takes as many tokens as place 0 says at the time in place 1 unless that takes longer than place 2; how long, into place 0.
/// Whether they were taken.
#[unsafe(no_mangle)]
extern "C" fn bucket_reserve() -> u32 {
    with(|desk| {
        let (count, now, longest) = (desk.arg(0), desk.time(1), desk.span(2));
        match desk.bucket.reserve_within(&desk.bucket_config, count, now, longest) {
            Some(wait) => {
                desk.leave([wait.as_nanos()]);
                1
            }
            None => 0,
        }
    })
}

/// The tokens of `bucket` at the time in place 0, into place 0.
#[unsafe(no_mangle)]
extern "C" fn bucket_tokens() {
    with(|desk| {
        let tokens = desk.bucket.tokens_at(&desk.bucket_config, desk.time(0));
        desk.leave([tokens.to_bits()]);
    });
}
