//! Layers whose kernel chooses the experts of its tokens and makes the route from its choice.

use hpmoe_runtime::prelude::*;

/// Router, a part that needs no route, dispatch, projections, return and top-k sum.
#[megakernel]
pub mod chosen {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, project};

    pub const HIDDEN: usize = 48;
    pub const INTER: usize = 32;
    pub const EXPERTS: usize = 8;
    pub const TOP_K: usize = 3;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 40;

    pub const TILE_M: usize = 6;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    /// Tokens per tile of the choice and of the sum over k. Some of these tiles take scores of two tiles of the product. A tile's values in
    /// UB are one whole repeat, so comparisons have no rest: they read their operands before they write scratch, and write their result last.
    pub const BLOCK: usize = 4;
    /// Tokens per tile of the part that needs no route.
    pub const WIDE: usize = 6;
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// The lowest score with which a token goes to an expert.
    pub const LEAST: f32 = 0.25;

    /// A score of each expert for each token.
    #[aic_task]
    pub fn score(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, EXPERTS, HIDDEN>, z: &mut Tile<f32, TILE_M, EXPERTS>) {
        z.store(x.matmul_t(w));
    }

    /// The experts with the best scores, and the softmax of these scores. A token goes to no expert with a lower score than the minimum.
    #[aiv_task]
    pub fn choose(
        z: &Tile<f32, BLOCK, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let z = z.load();
        let chosen = z.top_k::<TOP_K>();
        let best = z.pick(&chosen);
        ids.store(best.greater(LEAST).select(chosen, -1.0));
        weights.store(best.softmax());
    }

    #[aiv_task]
    pub fn square(x: &Tile<bf16, WIDE, HIDDEN>, own: &mut Tile<bf16, WIDE, HIDDEN>) {
        let x = x.load();
        own.store(&x * &x);
    }

    /// The sum over k with the router's weights, in the order of k, and the part that needs no route.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        own: &Tile<bf16, BLOCK, HIDDEN>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()) + own.load());
    }

    #[taskflow]
    fn layer(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        own: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
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
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &gate[r].expert(e).tile(n),
                            &mut g[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &g[r].group(e, m),
                            &down[r].expert(e).tile(n),
                            &mut out[r].group(e, m).cols(n),
                        );
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
                combine(&back[r].slots(t), &weights[r].rows(t), &own[r].rows(t), &mut y[r].rows(t));
            }
        }
    }

    /// Ids and weights stay in the kernel.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        router: &PerRank<Matrix<bf16, EXPERTS, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let z = PerRank::tokens::<f32, EXPERTS>(ep, x);
        let ids = PerRank::tokens::<i32, TOP_K>(ep, x);
        let weights = PerRank::tokens::<f32, TOP_K>(ep, &z);
        let own = PerRank::tokens::<bf16, HIDDEN>(ep, x);
        for r in ep {
            for t in x.token_blocks::<TILE_M>(r) {
                score(&x[r].rows(t), &router[r].tile(0), &mut z[r].rows(t));
            }
            for t in z.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t), &mut weights[r].rows(t));
            }
            for t in x.token_blocks::<WIDE>(r) {
                square(&x[r].rows(t), &mut own[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, &ids);
        layer(ep, &route, x, &weights, &own, gate, down, y);
    }

    /// Logits come from the caller. Ids and weights are results, too, and the part that needs no route is written first.
    #[taskflow]
    pub fn told(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        ids: &mut PerRank<Tensor<i32, TOP_K>>,
        weights: &mut PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let own = PerRank::tokens::<bf16, HIDDEN>(ep, x);
        for r in ep {
            for t in x.token_blocks::<WIDE>(r) {
                square(&x[r].rows(t), &mut own[r].rows(t));
            }
        }
        for r in ep {
            for t in x.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t), &mut weights[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, ids);
        layer(ep, &route, x, weights, &own, gate, down, y);
    }

    /// The ids are the caller's, and the part that needs no route is computed before the route.
    #[taskflow]
    pub fn given(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let own = PerRank::tokens::<bf16, HIDDEN>(ep, x);
        for r in ep {
            for t in x.token_blocks::<WIDE>(r) {
                square(&x[r].rows(t), &mut own[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, ids);
        layer(ep, &route, x, weights, &own, gate, down, y);
    }
}
