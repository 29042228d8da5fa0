//! Time to schedule and validate layers with ten thousand, a hundred thousand and a million tiles per rank, on one core.
//!
//! In `experts`, more tiles come from more experts, so queues have more entries. In `tokens`, they come from more tokens for the same 64
//! experts, so each entry stands for more tiles.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::front::{front, modules};
use hpmoe_core::report::totals;
use hpmoe_core::schedule::{Cores, schedule};
use hpmoe_core::validate::validate;

const LAYER: &str = include_str!("../../examples/moe_ffn.rs");
/// Approximate number of tiles per rank for every 64 tokens of a rank, on 8 ranks.
const TILES: usize = 300;

fn layer(experts: usize, tokens: usize) -> CheckedGraph {
    let sizes = [("HIDDEN", 1792), ("INTER", 512), ("TOP_K", 8), ("EXPERTS", experts), ("TOKENS", tokens)];
    let tiles = [("TILE_M", 128), ("TILE_N", 64), ("PUT", 16), ("BLOCK", 16), ("COLUMNS", 256)];
    let constants = sizes.into_iter().chain(tiles).map(|(name, value)| (name.to_owned(), value.into())).collect();
    let module = &modules(LAYER).expect("Rust")[0];
    let mut front = front(module, &constants).expect("the layer has no fault");
    front.flows.remove(0)
}

fn benchmark(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("schedule and validate");
    for wanted in [10_000, 100_000, 1_000_000] {
        let tokens = 64 * wanted / TILES;
        let experts = (wanted / TILES).next_power_of_two();
        for (name, experts) in [("experts", experts), ("tokens", 64)] {
            let checked = layer(experts, tokens);
            let run = || validate(&checked, schedule(&checked, Cores::ASCEND_A3)).expect("a right schedule");
            group.throughput(Throughput::Elements(totals(&checked, run().schedule(), 8).tiles));
            group.bench_function(BenchmarkId::new(name, wanted), |bencher| bencher.iter(run));
        }
    }
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
