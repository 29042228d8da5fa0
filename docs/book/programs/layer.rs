//! A small layer: tokens go to their experts, two products with a `relu` between them, and back to a sum over k.

use hpmoe_runtime::prelude::*;
use layer::{EXPERTS, HIDDEN, INTER, TOP_K};
use numbers::{ids, numbers, rounded};
use std::error::Error;
use std::time::Duration;

#[megakernel]
pub mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    /// Columns between the two products.
    pub const INTER: usize = 48;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;

    /// Rows and columns of a tile of a product.
    pub const TILE_M: usize = _;
    pub const TILE_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the sum over k, and their slots.
    pub const BLOCK: usize = _;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Sends tokens to the rank of their expert.
    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn project<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn activate(u: &Tile<bf16, TILE_M, TILE_N>, h: &mut Tile<bf16, TILE_M, TILE_N>) {
        h.store(u.load().relu());
    }

    /// Puts results back to the slot of their (token, k).
    #[comm_put]
    pub fn give_back(results: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
        slots.put(results);
    }

    /// Sums the results of each token over k, weighted by its top-k weights.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        activate(&u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut out[r].group(e, m).cols(n));
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                combine(&back[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let group = match std::env::args().nth(1).as_deref() {
        // Rank 1 starts later than any core waits.
        Some("late") => Group::new(2).time_limit(Duration::from_millis(200)).delay(1, Duration::from_millis(900)),
        _ => Group::new(2),
    };
    let ep = group.ranks();
    let tokens = [50, 14];
    let x = PerRank::from_fn(ep, |r| Tensor::from_f32(&numbers(1 + r.id(), tokens[r.id()] * HIDDEN)));
    let weights = PerRank::from_fn(ep, |r| Tensor::from_f32(&numbers(3 + r.id(), tokens[r.id()] * TOP_K)));
    let own = EXPERTS / ep.count();
    let up = PerRank::from_fn(ep, |r| Experts::from_vec(rounded(5 + r.id(), own * INTER * HIDDEN)));
    let down = PerRank::from_fn(ep, |r| Experts::from_vec(rounded(7 + r.id(), own * HIDDEN * INTER)));
    let route = Route::new(ep, EXPERTS, &PerRank::from_fn(ep, |r| ids::<TOP_K>(EXPERTS, tokens[r.id()])))?;

    let zeros = || PerRank::from_fn(ep, |r| Tensor::zeros(tokens[r.id()]));
    let mut expected = zeros();
    layer::forward(ep, &route, &x, &weights, &up, &down, &mut expected);
    let mut y = zeros();
    match layer::forward::launch(&group, &route, &x, &weights, &up, &down, &mut y) {
        Ok(report) => println!("{report}"),
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    }
    assert!(y == expected, "the kernel gives different bits than the reference");
    // A seed stands for an order of everything that a kernel leaves open.
    for seed in 1..3 {
        let mut y = zeros();
        layer::forward::launch(&Group::new(2).seed(seed), &route, &x, &weights, &up, &down, &mut y)?;
        assert!(y == expected, "seed {seed} gives different bits than the reference");
    }
    println!("with three seeds, the results are bit-identical to the reference");
    Ok(())
}
