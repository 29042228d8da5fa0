//! The layer with SwiGLU experts whose gate and up matrices lie one after the other in one tensor, as Hugging Face has them.

use hpmoe_runtime::prelude::*;

/// Both passes. Nothing is kept between them: the backward pass dispatches tokens and computes the projections again, so that
/// what a framework saves has sizes that don't depend on the routing.
#[megakernel]
pub mod swiglu_joined {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{
        combine, dispatch, give_back, give_back_parts, input_grad, project, project_back, router_grad, send_weights,
        sum_over_k, swiglu, swiglu_grad, weight_grad,
    };

    /// Columns of a token.
    pub const HIDDEN: usize = 64;
    /// Columns between the projections.
    pub const INTER: usize = 32;
    /// Rows of the gate and up matrices of an expert: gate first.
    pub const GATE_UP: usize = 2 * INTER;
    /// Rows of a tile of these matrices. It divides `INTER`, so that no tile has rows of both; the build sets it.
    pub const PART: usize = INTER;
    /// Tiles of one of the two matrices.
    pub const OF_EACH: usize = INTER / PART;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 8;
    /// Experts of a token.
    pub const TOP_K: usize = 2;
    /// Most tokens that one rank may bring.
    pub const TOKENS: usize = 64;

    /// Rows of a tile of a projection.
    pub const TILE_M: usize = 16;
    /// Columns of a tile of a projection.
    pub const TILE_N: usize = 16;
    /// Rows of a tile of a weight gradient.
    pub const GRAD_M: usize = 32;
    /// Columns of a tile of a weight gradient.
    pub const GRAD_N: usize = 32;
    /// Most rows of one put.
    pub const PUT: usize = 8;
    /// Most rows of one put of single numbers.
    pub const PUT_NUMBERS: usize = TILE_M;
    /// Tokens of a tile of a sum over k.
    pub const BLOCK: usize = 4;
    /// Columns of a tile of a sum over k.
    pub const COLUMNS: usize = 64;
    /// (token, k) slots of a tile of a sum over k.
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Column tiles of the activation, each with a part of the gradient of the router's weights.
    pub const PARTS: usize = INTER.div_ceil(TILE_N);

    /// Sends tokens to their experts, and multiplies them by the gate and up matrices.
    #[taskflow]
    fn projections(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate_up: &PerRank<Experts<bf16, GATE_UP, HIDDEN>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        u: &mut PerRank<Received<bf16, INTER>>,
    ) {
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
                    for n in 0..OF_EACH {
                        project::<PART, _, _>(
                            &recv[r].group(e, m),
                            &gate_up[r].expert(e).tile(n),
                            &mut g[r].group(e, m).cols(n),
                        );
                        project::<PART, _, _>(
                            &recv[r].group(e, m),
                            &gate_up[r].expert(e).tile(n + OF_EACH),
                            &mut u[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
    }

    /// The layer: `y = Σ_k weights[k] · down(silu(gate x) · up x)`.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate_up: &PerRank<Experts<bf16, GATE_UP, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut g = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        projections(ep, route, x, gate_up, &mut recv, &mut g, &mut u);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        swiglu::<TILE_N, _>(
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &h[r].group(e, m),
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
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    combine::<SLOTS, COLUMNS, _, _>(
                        &back[r].slots(t).cols(n),
                        &weights[r].rows(t),
                        &mut y[r].rows(t).cols(n),
                    );
                }
            }
        }
    }

    /// The gradients of all that `forward` reads, from that of `y`. Those of the gate and the up matrix are apart, because each
    /// tensor has one writer.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate_up: &PerRank<Experts<bf16, GATE_UP, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate_up_0: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dgate_up_1: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let weight = PerRank::symmetric::<f32, 1>(ep, route);
        let mut g = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut u = PerRank::ragged::<bf16, INTER>(ep, route);
        let dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let du = PerRank::ragged::<bf16, INTER>(ep, route);
        let weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let parts_back = PerRank::slots::<f32, PARTS>(ep, route);
        projections(ep, route, x, gate_up, &mut recv, &mut g, &mut u);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    send_weights(&weights[src].gather(&s), &mut weight[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project_back::<TILE_N, _, _>(
                            &dout[r].group(e, m),
                            &down[r].expert(e).cols(n),
                            &mut dh[r].group(e, m).cols(n),
                        );
                        swiglu_grad::<TILE_N, _>(
                            &dh[r].group(e, m).cols(n),
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &weight[r].group(e, m),
                            &mut dg[r].group(e, m).cols(n),
                            &mut du[r].group(e, m).cols(n),
                            &mut weighted[r].group(e, m).cols(n),
                            &mut parts[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        input_grad::<TILE_N, _, _>(
                            &dg[r].group(e, m),
                            &gate_up[r].expert(e).tile(0).cols(n),
                            &du[r].group(e, m),
                            &gate_up[r].expert(e).tile(1).cols(n),
                            &mut drows[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in 0..HIDDEN.div_ceil(GRAD_M) {
                    for n in 0..INTER.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dout[r].expert(e).cols(m),
                            &weighted[r].expert(e).cols(n),
                            &mut ddown[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
                for m in 0..INTER.div_ceil(GRAD_M) {
                    for n in 0..HIDDEN.div_ceil(GRAD_N) {
                        weight_grad::<GRAD_M, GRAD_N>(
                            &dg[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dgate_up_0[r].expert(e).tile(m).cols(n),
                        );
                        weight_grad::<GRAD_M, GRAD_N>(
                            &du[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dgate_up_1[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
                for s in route.sends::<PUT_NUMBERS>(src, e) {
                    give_back_parts(&parts[e.owner()].rows_of(&s), &mut parts_back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                router_grad::<SLOTS, _>(&parts_back[r].slots(t), &mut dweights[r].slots(t));
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    sum_over_k::<SLOTS, COLUMNS, _>(&back[r].slots(t).cols(n), &mut dx[r].rows(t).cols(n));
                }
            }
        }
    }
}
