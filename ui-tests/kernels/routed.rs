//! Layers whose kernel makes its route, each with the same layer for a route of the host.

use hpmoe_runtime::prelude::*;

/// Dispatch, gate projection, down projection, return and top-k sum; whole and in chunks.
#[megakernel]
pub mod routed {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, project};

    pub const HIDDEN: usize = 48;
    pub const INTER: usize = 32;
    pub const EXPERTS: usize = 8;
    pub const TOP_K: usize = 3;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 40;
    pub const CHUNKS: usize = 3;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// The sum over k with the router's weights, in the order of k.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    /// Received rows are kept for the caller.
    #[taskflow]
    fn layer(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
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
                combine(&back[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
            }
        }
    }

    /// The kernel makes the route.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        layer(ep, &route, x, weights, gate, down, g, y);
    }

    /// The host makes the route.
    #[taskflow]
    pub fn hosted(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        layer(ep, route, x, weights, gate, down, g, y);
    }

    /// The kernel makes the route of tokens that are cut into chunks.
    #[taskflow]
    pub fn chunked(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for c in route.chunks::<CHUNKS>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let g = PerRank::ragged::<bf16, INTER>(ep, &c);
            let out = PerRank::ragged::<bf16, HIDDEN>(ep, &c);
            let back = PerRank::slots::<bf16, HIDDEN>(ep, &c);

            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    for m in c.row_tiles::<TILE_M>(e) {
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
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    combine(&back[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
                }
            }
        }
    }
}
