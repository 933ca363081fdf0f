//! Gates, and buckets of tokens, which outlive operations.
#![allow(unsafe_code)]

use super::{Memory, with};
use holdoff_core::{Bucket, BucketConfig, Direction, Gate, GateConfig, GateOptions, Growth};

const FEEDBACK: u32 = 1;
const DOWNWARD: u32 = 2;
const AHEAD: u32 = 4;

/// `gate_config` := slots 0 to 11: initial, factor, max, jitter, grace, its delay, forgives, rest, quiet, keep, keep after
/// failures, quantum; 2^64-1 for none of the three before the last. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn gate(flags: u32) -> u32 {
    with(|memory| {
        let is = |flag: u32| flags & flag != 0;
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let options = GateOptions {
            initial: memory.span(0),
            factor: memory.real(1),
            max: memory.span(2),
            jitter: memory.real(3),
            direction: if is(DOWNWARD) { Direction::Down } else { Direction::Up },
            growth: if is(FEEDBACK) { Growth::Feedback } else { Growth::Power },
            grace: count(memory.arg(4)),
            grace_delay: memory.span(5),
            ahead: is(AHEAD),
            forgives: count(memory.arg(6)),
            rest: memory.span(7),
            quiet: memory.limit(8),
            keep: memory.limit(9),
            keep_failed: memory.limit(10),
            quantum: memory.span(11),
        };
        configured(memory, options.build())
    })
}

/// `gate_config` := a preset: 0 flowcontrol of initial, max and jitter, and of a quiet time unless that is 2^64-1; 1 an item
/// of base and max; 2 an item of fast, slow and a signed number of fast attempts; 3 Chromium's, whose times are milliseconds
/// and whose flag is slot 6. 0, or the length of what is wrong.
#[unsafe(no_mangle)]
extern "C" fn gate_preset(preset: u32) -> u32 {
    with(|memory| {
        let some = |number: u64| (number != u64::MAX).then_some(number);
        let made = match preset {
            0 => GateConfig::flowcontrol(memory.span(0), memory.span(1), memory.real(2)).map(|config| {
                let quiet = memory.limit(3);
                quiet.map_or(config, |quiet| config.with_quiet(quiet))
            }),
            1 => Ok(GateConfig::item_exponential(memory.span(0), memory.span(1))),
            2 => Ok(GateConfig::fast_slow(memory.span(0), memory.span(1), memory.arg(2).cast_signed())),
            _ => GateConfig::chromium(
                memory.arg(0),
                memory.real(1),
                memory.real(2),
                some(memory.arg(3)),
                some(memory.arg(4)),
                u32::try_from(memory.arg(5)).unwrap_or(u32::MAX),
                memory.arg(6) != 0,
            ),
        };
        configured(memory, made)
    })
}

fn configured(memory: &mut Memory, made: Result<GateConfig, holdoff_core::Error>) -> u32 {
    memory.made(made, |memory, config| memory.gate_config = config)
}

/// `gate` failed at the time in slot 1 over something of the time in slot 0, the draw being slot 2; its delay into slot 0.
#[unsafe(no_mangle)]
extern "C" fn gate_failure() {
    with(|memory| {
        let (event, now, u) = (memory.time(0), memory.time(1), memory.real(2));
        let delay = memory.gate.failure_of(&memory.gate_config, event, now, u);
        memory.leave([delay.as_nanos()]);
    });
}

/// `gate` succeeded at the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn gate_success() {
    with(|memory| {
        let now = memory.time(0);
        memory.gate.success(&memory.gate_config, now);
    });
}

/// `gate` opens at the time in slot 0.
#[unsafe(no_mangle)]
extern "C" fn gate_release_at() {
    with(|memory| {
        let release = memory.time(0);
        memory.gate.release_at(release);
    });
}

/// `gate` starts anew.
#[unsafe(no_mangle)]
extern "C" fn gate_forget() {
    with(|memory| memory.gate = Gate::new());
}

const OPEN: u32 = 1;
const DISCARDABLE: u32 = 2;
const COVERS: u32 = 4;
const COVERS_SINCE: u32 = 8;
const DRAWS: u32 = 16;

/// How `gate` stands at the time in slot 1 with regard to something of the time in slot 0: failures, delay and release into
/// slots 0 to 2, the rest as flags.
#[unsafe(no_mangle)]
extern "C" fn gate_look() -> u32 {
    with(|memory| {
        let (gate, config) = (memory.gate, memory.gate_config);
        let (event, now) = (memory.time(0), memory.time(1));
        memory.leave([gate.failures(), gate.delay().as_nanos(), gate.release().as_nanos()]);
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

/// `bucket_config` := slots 0 to 2: rate, per, burst; `bucket` := a full one at the time in slot 3. 0, or the length of what
/// is wrong.
#[unsafe(no_mangle)]
extern "C" fn bucket() -> u32 {
    with(|memory| {
        let made = BucketConfig::new(memory.real(0), memory.span(1), memory.arg(2));
        let now = memory.time(3);
        memory.made(made, |memory, config| {
            memory.bucket_config = config;
            memory.bucket = Bucket::full(&config, now);
        })
    })
}

/// Takes as many tokens as place 0 says at the time in slot 1 unless that takes longer than slot 2; how long, into slot 0.
/// Says whether they were taken.
#[unsafe(no_mangle)]
extern "C" fn bucket_reserve() -> u32 {
    with(|memory| {
        let (count, now, longest) = (memory.arg(0), memory.time(1), memory.span(2));
        match memory.bucket.reserve_within(&memory.bucket_config, count, now, longest) {
            Some(wait) => {
                memory.leave([wait.as_nanos()]);
                1
            }
            None => 0,
        }
    })
}

/// The tokens of `bucket` at the time in slot 0, into slot 0.
#[unsafe(no_mangle)]
extern "C" fn bucket_tokens() {
    with(|memory| {
        let tokens = memory.bucket.tokens_at(&memory.bucket_config, memory.time(0));
        memory.leave([tokens.to_bits()]);
    });
}
