//! The forward layer with gate and up in one tensor, as in checkpoints, and their products in one tensor, too.

use hpmoe_runtime::prelude::*;

/// The layer. Tiles of the upper half have the index of the lower half's tiles plus a constant.
#[megakernel]
pub mod fused {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 128;
    pub const INTER: usize = 192;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 64;

    /// Rows and columns of a GEMM tile.
    pub const TILE_M: usize = 32;
    pub const TILE_N: usize = 32;
    /// Number of tiles of the gate; those of up follow.
    pub const TILES: usize = INTER / TILE_N;
    /// Maximum number of rows per put.
    pub const PUT: usize = 16;
    /// Tokens and columns of one piece of the top-k sum.
    pub const BLOCK: usize = 16;
    pub const COLUMNS: usize = 1024;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Sends routed tokens to the rank that owns their expert.
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
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load();
        h.store(gate.silu() * up.load());
    }

    /// Puts results back to the slot of their (token, k).
    #[comm_put]
    pub fn give_back(results: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
        slots.put(results);
    }

    /// The sum over k with the router's weights, in the order of k.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, COLUMNS>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, COLUMNS>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
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
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let both = PerRank::ragged::<bf16, { 2 * INTER }>(ep, route);
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
                    for n in 0..TILES {
                        project(&recv[r].group(e, m), &gate_up[r].expert(e).tile(n), &mut both[r].group(e, m).cols(n));
                        project(
                            &recv[r].group(e, m),
                            &gate_up[r].expert(e).tile(n + TILES),
                            &mut both[r].group(e, m).cols(n + TILES),
                        );
                        swiglu(
                            &both[r].group(e, m).cols(n),
                            &both[r].group(e, m).cols(TILES + n),
                            &mut h[r].group(e, m).cols(n),
                        );
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
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    combine(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}
