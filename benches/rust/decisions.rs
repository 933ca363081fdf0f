//! `cargo bench -p benches`: what a decision, a loop and a guard cost, beside the floors and the peers.
//!
//! The ids are `group/who`. Ratios of the fastest samples are what counts; `cargo xtask bench` prints them.

use benches::floor::Floor;
use benches::guards::{self, Bits, Even, EvenShared, Run};
use benches::{delays, loops};
use criterion::{Criterion, criterion_group, criterion_main};
use holdoff_core::{Breaker, Call, Gcra, Limiter, Policy, Retry, SharedGcra, Step, Timestamp};
use std::hint::black_box;

fn next_delay(criterion: &mut Criterion) {
    let (policy, numbers) = (black_box(delays::policy()), black_box(delays::numbers()));
    let seed = || black_box(7);

    let mut group = criterion.benchmark_group("8 delays");
    group.bench_function("floor", |bencher| bencher.iter(|| delays::eight_by_floor(&numbers, seed())));
    group.bench_function("retry", |bencher| bencher.iter(|| delays::eight_by_retry(&policy, seed())));
    group.bench_function("schedule", |bencher| bencher.iter(|| delays::eight_by_schedule(&policy, seed())));
    group.bench_function("backon", |bencher| bencher.iter(|| delays::eight_by_backon(seed())));
    group.finish();

    let mut group = criterion.benchmark_group("1 delay, capped");
    let mut floor = Floor::new(&numbers, seed());
    group.bench_function("floor", |bencher| bencher.iter(|| floor.delay()));
    let (mut retry, mut now) = (Retry::new(seed(), Timestamp::ZERO), Timestamp::ZERO);
    group.bench_function("retry", |bencher| bencher.iter(|| delays::decide(&mut retry, &policy, &mut now)));
    let mut backon = delays::backon(seed());
    group.bench_function("backon", |bencher| bencher.iter(|| backon.next()));
    group.finish();
}

fn whole_loop(criterion: &mut Criterion) {
    let (policy, numbers) = (black_box(loops::policy()), black_box(loops::numbers()));
    for failures in [0, 1, 3] {
        let seed = || black_box(7);
        let failures = || black_box(failures);
        let mut group = criterion.benchmark_group(format!("loop, {} failures", failures()));
        group.bench_function("bare", |bencher| bencher.iter(|| loops::bare(failures())));
        group.bench_function("floor", |bencher| bencher.iter(|| loops::floor(&numbers, failures(), seed())));
        group.bench_function("retry", |bencher| bencher.iter(|| loops::by_retry(&policy, failures(), seed())));
        group.bench_function("call", |bencher| bencher.iter(|| loops::by_call(&policy, failures(), seed())));
        group.bench_function("holdoff", |bencher| bencher.iter(|| loops::by_holdoff(&policy, failures(), seed())));
        group.bench_function("holdoff, clock", |bencher| {
            bencher.iter(|| loops::by_holdoff_and_clock(&policy, failures(), seed()));
        });
        group.bench_function("backon", |bencher| bencher.iter(|| loops::by_backon(failures(), seed())));
        group.finish();
    }
}

fn breakers(criterion: &mut Criterion) {
    let now = || black_box(Timestamp::from_nanos(1_000_000_000));
    let mut group = criterion.benchmark_group("breaker, a run");
    group.bench_function("bare", |bencher| bencher.iter(guards::bare));
    let mut floor = black_box(Run::new(5));
    group.bench_function("floor", |bencher| bencher.iter(|| guards::by_run(&mut floor, now())));
    let config = black_box(guards::consecutive());
    let mut breaker = Breaker::new(&config, 7, now());
    group.bench_function("breaker", |bencher| bencher.iter(|| guards::by_breaker(&mut breaker, &config, now())));
    let failsafe = guards::failsafe_consecutive();
    group.bench_function("failsafe", |bencher| bencher.iter(|| guards::by_failsafe(&failsafe)));
    group.finish();

    let mut group = criterion.benchmark_group("breaker, 128 outcomes");
    let mut floor = black_box(Bits::new());
    group.bench_function("floor", |bencher| bencher.iter(|| guards::by_bits(&mut floor, now())));
    let config = black_box(guards::of_128());
    let mut breaker = Breaker::new(&config, 7, now());
    group.bench_function("breaker", |bencher| bencher.iter(|| guards::by_breaker(&mut breaker, &config, now())));
    let failsafe = guards::failsafe_rate();
    group.bench_function("failsafe", |bencher| bencher.iter(|| guards::by_failsafe(&failsafe)));
    group.finish();
}

fn limiters(criterion: &mut Criterion) {
    let now = || black_box(Timestamp::from_nanos(1_000_000_000));
    let small = black_box(guards::gcra());
    let mut group = criterion.benchmark_group("limiter");
    let mut floor = black_box(Even::new());
    group.bench_function("floor", |bencher| bencher.iter(|| floor.take(now().as_nanos())));
    let mut gcra = Gcra::new();
    group.bench_function("gcra", |bencher| bencher.iter(|| gcra.take(&small, 1, now())));
    for (name, kind) in guards::kinds() {
        let config = black_box(guards::limiter(kind));
        let mut limiter = Limiter::new(&config, now());
        group.bench_function(name, |bencher| bencher.iter(|| limiter.take(&config, &mut [], 1, now())));
    }
    group.finish();

    let mut group = criterion.benchmark_group("limiter, atomic");
    let floor = black_box(EvenShared::new());
    group.bench_function("floor", |bencher| bencher.iter(|| floor.take(now().as_nanos())));
    let shared = SharedGcra::default();
    group.bench_function("shared gcra", |bencher| bencher.iter(|| shared.take(&small, 1, now())));
    let governor = guards::governor(governor::clock::FakeRelativeClock::default());
    group.bench_function("governor, no clock", |bencher| bencher.iter(|| governor.check().is_ok()));
    let governor = guards::governor(governor::clock::QuantaClock::default());
    group.bench_function("governor", |bencher| bencher.iter(|| governor.check().is_ok()));
    group.finish();
}

fn sizes(_: &mut Criterion) {
    println!(
        "bytes: Policy {}, Retry {}, Call {}, Step {}",
        size_of::<Policy>(),
        size_of::<Retry>(),
        size_of::<Call>(),
        size_of::<Step>()
    );
    println!("{}", guards::sizes());
}

criterion_group!(decisions, sizes, next_delay, whole_loop, breakers, limiters);
criterion_main!(decisions);
