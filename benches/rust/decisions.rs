//! `cargo bench -p benches`: what a decision, a loop and a guard cost, beside the floors and the peers, by criterion.
//!
//! The ids are `work/who`. Criterion measures one after the other; ratios to rely on are those of `--bench rows`, where all
//! take turns.

use criterion::{Criterion, criterion_group, criterion_main};

fn works(criterion: &mut Criterion) {
    for mut work in benches::works::all() {
        let mut group = criterion.benchmark_group(&work.name);
        for who in &mut work.who {
            let name = who.name;
            group.bench_function(name, |bencher| bencher.iter_custom(|times| who.run(times)));
        }
        group.finish();
    }
}

criterion_group!(decisions, works);
criterion_main!(decisions);
