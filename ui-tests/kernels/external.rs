//! The forward layer with hand-written operators: products and activation on every machine, the top-k sum on devices only.

use hpmoe_runtime::prelude::*;

/// The layer, and one whose results an operator promises to approximate.
#[megakernel]
pub mod external {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 128;
    pub const INTER: usize = 64;
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
    /// The factor by which `soften` scales its tiles.
    pub const SHARE: f32 = 0.3;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Sends routed tokens to the rank that owns their expert.
    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    /// One tile of `x · wᵀ`.
    #[aic_task(external = "kernels/ops/gemm.h", function = "ops::project", l1 = (TILE_M + TILE_N) * K * 2, l0c = TILE_M * TILE_N * 4)]
    pub fn project<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// The same product as a generated task. A core alternates between its tiles and those of the operator.
    #[aic_task]
    pub fn project_up(
        x: &Tile<bf16, TILE_M, HIDDEN>,
        w: &Tile<bf16, TILE_N, HIDDEN>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task(external = "kernels/ops/swiglu.h", ub = 5 * 4 * TILE_M * TILE_N, microseconds = 2.5)]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load();
        h.store(gate.silu() * up.load());
    }

    #[aiv_task(external = "kernels/ops/soften.h", tolerance = 1e-2)]
    pub fn soften(x: &Tile<bf16, TILE_M, TILE_N>, y: &mut Tile<bf16, TILE_M, TILE_N>) {
        y.store(x.load() * SHARE);
    }

    /// The same, but it declares less memory than it uses.
    #[aiv_task(external = "kernels/ops/soften.h", function = "soften", ub = 4 * TILE_M * TILE_N, tolerance = 1e-2)]
    pub fn cramped(x: &Tile<bf16, TILE_M, TILE_N>, y: &mut Tile<bf16, TILE_M, TILE_N>) {
        y.store(x.load() * SHARE);
    }

    /// Puts results back to the slot of their (token, k).
    #[comm_put]
    pub fn give_back(results: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
        slots.put(results);
    }

    /// The sum over k with the router's weights, in the order of k.
    #[aiv_task(external = "kernels/ops/combine.h", device_only)]
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
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project_up(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
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

    /// A part of the tokens, and the rows that experts received.
    #[taskflow]
    pub fn softened(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        received: &mut PerRank<Received<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let soft = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut received[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        soften(&received[r].group(e, m).cols(n), &mut soft[r].group(e, m).cols(n));
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&soft[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
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

    /// One operator, which exceeds its declared memory.
    #[taskflow]
    pub fn overflowing(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<TILE_M>(r) {
                for n in 0..HIDDEN.div_ceil(TILE_N) {
                    cramped(&x[r].rows(t).cols(n), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}
