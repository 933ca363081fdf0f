//! `cargo bench -p benches`: what a decision and a loop cost, beside the floor and backon.
//!
//! The ids are `group/who`. Ratios of the fastest samples are what counts; `cargo xtask bench` prints them.

use benches::floor::Floor;
use benches::{delays, loops};
use criterion::{Criterion, criterion_group, criterion_main};
use holdoff_core::{Call, Policy, Retry, Step, Timestamp};
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

fn sizes(_: &mut Criterion) {
    println!(
        "bytes: Policy {}, Retry {}, Call {}, Step {}",
        size_of::<Policy>(),
        size_of::<Retry>(),
        size_of::<Call>(),
        size_of::<Step>()
    );
}

criterion_group!(decisions, sizes, next_delay, whole_loop);
criterion_main!(decisions);
