//! A layer with gate and up in one tensor, as in checkpoints, where no tile ends between the two; products are written in the same way.

use hpmoe_runtime::prelude::*;

/// The layer. Each half of a tensor is an outer tile, which other tiles are cut from.
#[megakernel]
pub mod stacked {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 96;
    /// Not a multiple of a tile's columns.
    pub const INTER: usize = 80;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 64;

    /// Rows and columns of a GEMM tile.
    pub const TILE_M: usize = 32;
    pub const TILE_N: usize = 32;
    /// Maximum number of rows per put.
    pub const PUT: usize = 16;
    /// Tokens and columns of one piece of the top-k sum.
    pub const BLOCK: usize = 16;
    pub const COLUMNS: usize = 1024;
    pub const SLOTS: usize = BLOCK * TOP_K;

    use hpmoe_runtime::tasks::{combine, dispatch, give_back, project, swiglu, weight_grad};

    /// One tile of the product of two tensors over all rows of an expert, rounded.
    #[aic_task]
    pub fn contract(
        x: &Tile<bf16, RAGGED, TILE_N>,
        y: &Tile<bf16, RAGGED, TILE_N>,
        product: &mut Tile<bf16, TILE_N, TILE_N>,
    ) {
        product.store(x.t_matmul(y));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate_up: &PerRank<Experts<bf16, { 2 * INTER }, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        z: &mut PerRank<Received<bf16, { 2 * INTER }>>,
        gradient: &mut PerRank<Experts<f32, { 2 * INTER }, HIDDEN>>,
        shared: &PerRank<Matrix<bf16, { 2 * INTER }, HIDDEN>>,
        v: &mut PerRank<Received<bf16, INTER>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let products = PerRank::experts::<bf16, { 2 * INTER }, HIDDEN>(ep, route);

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
                            &gate_up[r].expert(e).tile::<INTER>(0).tile(n),
                            &mut g[r].group(e, m).cols(n),
                        );
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &gate_up[r].expert(e).tile::<INTER>(1).tile(n),
                            &mut u[r].group(e, m).cols(n),
                        );
                        swiglu::<TILE_N, _>(
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(
                            &h[r].group(e, m),
                            &down[r].expert(e).tile::<TILE_N>(n),
                            &mut out[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &shared[r].tile::<INTER>(1).tile(n),
                            &mut v[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in 0..INTER.div_ceil(TILE_N) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        contract(
                            &g[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut products[r].expert(e).tile::<INTER>(0).tile(m).cols(n),
                        );
                        contract(
                            &u[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut products[r].expert(e).tile::<INTER>(1).tile(m).cols(n),
                        );
                        weight_grad::<TILE_N, TILE_N>(
                            &g[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut gradient[r].expert(e).tile::<INTER>(1).tile(m).cols(n),
                        );
                        weight_grad::<TILE_N, TILE_N>(
                            &u[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut gradient[r].expert(e).tile::<INTER>(0).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..(2 * INTER).div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &products[r].expert(e).tile(n),
                            &mut z[r].group(e, m).cols(n),
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
}
