//! Launches of the forward layer on the host, one rank with all threads of the machine, on a group that has run before.
//!
//! Prints the shortest and the median time of a launch. `HPMOE_SET` sets the constants of the layer and of its tiles.

#[path = "../../../moe_ffn.rs"]
#[expect(dead_code, reason = "what checks and prints the example is not measured")]
mod example;

use example::moe_ffn::{self, EXPERTS, HIDDEN, INTER, TILE_M, TILE_N, TOKENS, TOP_K};
use hpmoe_runtime::prelude::*;
use std::time::{Duration, Instant};
use support::example::sizes;
use support::layer::Layer;
use support::synthetic::numbers;
use support::tensors::{self, Tensors};

/// A layer of the kernel's sizes: random numbers, experts drawn at random.
fn layer() -> Layer {
    let random = |seed, count, scale| numbers(seed, count, scale).into_iter().map(bf16::from_f32).collect();
    Layer {
        tokens: TOKENS,
        hidden: HIDDEN,
        inter: INTER,
        experts: EXPERTS,
        top_k: TOP_K,
        hidden_states: random(1, TOKENS * HIDDEN, 1.0),
        topk_ids: numbers(2, TOKENS * EXPERTS, 1.0).chunks(EXPERTS).flat_map(best).collect(),
        topk_weights: vec![1.0 / TOP_K as f32; TOKENS * TOP_K],
        gate_up_proj: random(3, EXPERTS * 2 * INTER * HIDDEN, 0.05),
        down_proj: random(4, EXPERTS * HIDDEN * INTER, 0.05),
        shared: None,
        output: Vec::new(),
    }
}

/// The experts with the largest scores.
fn best(scores: &[f32]) -> Vec<i32> {
    let mut experts: Vec<usize> = (0..scores.len()).collect();
    experts.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    experts.iter().take(TOP_K).map(|&expert| i32::try_from(expert).expect("few experts")).collect()
}

/// Number of launches that are measured.
const LAUNCHES: usize = 50;

fn main() {
    let Tensors { ep, route, x, weights, gate, up, down } =
        &Tensors::<HIDDEN, INTER, TOP_K>::of(&layer(), &Group::new(1), &sizes!(moe_ffn))
            .expect("a layer of these sizes");
    let output = || PerRank::from_fn(*ep, |rank| Tensor::zeros(x[rank].row_count()));
    let group = Group::new(1);
    let launch = |y: &mut _| {
        let start = Instant::now();
        moe_ffn::forward::launch(&group, route, x, weights, gate, up, down, y).expect("the layer runs");
        start.elapsed()
    };
    let (mut expected, mut y) = (output(), output());
    moe_ffn::forward(*ep, route, x, weights, gate, up, down, &mut expected);
    launch(&mut y);
    assert!(
        tensors::numbers(&y) == tensors::numbers(&expected),
        "the megakernel has different bits than the reference"
    );

    let mut times: Vec<Duration> = (0..LAUNCHES).map(|_| launch(&mut y)).collect();
    times.sort_unstable();
    println!("{TOKENS} tokens, H {HIDDEN}, I {INTER}, {EXPERTS} experts, top {TOP_K}, tiles of {TILE_M} x {TILE_N}");
    println!("ms per launch: shortest {:.1}, median {:.1}", ms(times[0]), ms(times[LAUNCHES / 2]));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
