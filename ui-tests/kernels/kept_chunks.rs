//! A layer in chunks whose backward passes take the route that the forward pass has made, or make their own.

use hpmoe_runtime::prelude::*;

/// Dispatch, two projections, return and top-k sum; the gradients of its tokens, and those of its weights.
#[megakernel]
pub mod kept_chunks {
    use hpmoe_runtime::{
        prelude::*,
        tasks::{dispatch, give_back, project, project_back, sum_over_k, weight_grad_onto},
    };

    pub const HIDDEN: usize = 32;
    pub const INTER: usize = 48;
    pub const EXPERTS: usize = 6;
    pub const TOP_K: usize = 3;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 41;
    pub const CHUNKS: usize = 8;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// The kernel makes the route from ids, and keeps it.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        routed: &mut PerRank<Routed>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        route.keep(routed);
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
                    sum_over_k::<SLOTS, HIDDEN, _>(&back[r].slots(t), &mut y[r].rows(t));
                }
            }
        }
    }

    /// Takes the route that the forward pass has kept.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        routed: &PerRank<Routed>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed);
        for c in route.chunks::<CHUNKS>() {
            let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let dg = PerRank::ragged::<bf16, INTER>(ep, &c);
            let drows = PerRank::ragged::<bf16, HIDDEN>(ep, &c);
            let back = PerRank::slots::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    for m in c.row_tiles::<TILE_M>(e) {
                        for n in 0..INTER.div_ceil(TILE_N) {
                            project_back::<TILE_N, _, _>(
                                &dout[r].group(e, m),
                                &down[r].expert(e).cols(n),
                                &mut dg[r].group(e, m).cols(n),
                            );
                        }
                        for n in 0..HIDDEN.div_ceil(TILE_N) {
                            project_back::<TILE_N, _, _>(
                                &dg[r].group(e, m),
                                &gate[r].expert(e).cols(n),
                                &mut drows[r].group(e, m).cols(n),
                            );
                        }
                    }
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    sum_over_k::<SLOTS, HIDDEN, _>(&back[r].slots(t), &mut dx[r].rows(t));
                }
            }
        }
    }

    /// Gradients of the gate's weights, and of tokens.
    #[taskflow]
    fn gradients(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
    ) {
        for c in route.chunks::<CHUNKS>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let dg = PerRank::ragged::<bf16, INTER>(ep, &c);
            let drows = PerRank::ragged::<bf16, HIDDEN>(ep, &c);
            let back = PerRank::slots::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                        dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    for m in c.row_tiles::<TILE_M>(e) {
                        for n in 0..INTER.div_ceil(TILE_N) {
                            project_back::<TILE_N, _, _>(
                                &dout[r].group(e, m),
                                &down[r].expert(e).cols(n),
                                &mut dg[r].group(e, m).cols(n),
                            );
                        }
                        for n in 0..HIDDEN.div_ceil(TILE_N) {
                            project_back::<TILE_N, _, _>(
                                &dg[r].group(e, m),
                                &gate[r].expert(e).cols(n),
                                &mut drows[r].group(e, m).cols(n),
                            );
                        }
                    }
                    for m in 0..INTER.div_ceil(TILE_N) {
                        for n in 0..HIDDEN.div_ceil(TILE_N) {
                            weight_grad_onto::<TILE_N, TILE_N>(
                                &dg[r].expert(e).cols(m),
                                &recv[r].expert(e).cols(n),
                                &mut dgate[r].expert(e).tile(m).cols(n),
                            );
                        }
                    }
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    sum_over_k::<SLOTS, HIDDEN, _>(&back[r].slots(t), &mut dx[r].rows(t));
                }
            }
        }
    }

    /// The gradients with the route that the forward pass has kept.
    #[taskflow]
    pub fn backward_of_weights(
        ep: Ranks,
        routed: &PerRank<Routed>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed);
        gradients(ep, &route, x, dy, down, gate, dx, dgate);
    }

    /// The gradients with a route that the kernel makes from ids.
    #[taskflow]
    pub fn backward_of_ids(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        gradients(ep, &route, x, dy, down, gate, dx, dgate);
    }
}
