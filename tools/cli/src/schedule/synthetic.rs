//! The forward layer that `hpmoe schedule --tile-tasks` schedules: it sets sizes and uses the library's tasks. Like users'
//! kernels, it is read as text.

#[megakernel]
pub mod synthetic {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{combine, dispatch, give_back, project, swiglu};

    /// Columns per token.
    pub const HIDDEN: usize = 128;
    /// Columns between the projections.
    pub const INTER: usize = 64;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 16;
    /// Experts per token.
    pub const TOP_K: usize = 4;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 384;

    /// Rows per tile of a projection. Tiles are small, because the layer is; a real layer has tiles of 128 by 256.
    pub const TILE_M: usize = 16;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = 16;
    /// Maximum number of rows per put.
    pub const PUT: usize = 8;
    /// Tokens per tile of the top-k sum.
    pub const BLOCK: usize = 4;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = 64;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Dispatch, gate and up projections, SwiGLU, down projection, return, top-k sum.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
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
                        project::<TILE_N, _, _>(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project::<TILE_N, _, _>(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu::<TILE_N, _>(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut out[r].group(e, m).cols(n));
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
                    combine::<SLOTS, COLUMNS, _, _>(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}
