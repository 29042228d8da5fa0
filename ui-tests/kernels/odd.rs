//! The forward layer with sizes that no tile divides, names that C++ or the compiler reserves, and an order of its own:
//! rank by rank.

use hpmoe_runtime::prelude::*;

/// The layer: dispatch, gate and up projections, SwiGLU, down projection, return, top-k sum.
#[megakernel]
pub mod odd {
    use hpmoe_runtime::prelude::*;

    /// Columns per token.
    pub const KERNEL: usize = 7;
    pub const INTER: usize = 3;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 6;
    pub const TOP_K: usize = 3;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 40;

    /// Rows and columns of a GEMM tile.
    pub const TILE_M: usize = 3;
    pub const TILE_N: usize = 5;
    /// Maximum number of rows per put.
    pub const PUT: usize = 2;
    /// Tokens and columns of one piece of the top-k sum.
    pub const BLOCK: usize = 3;
    pub const COLUMNS: usize = 2;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Sends routed tokens to the rank that owns their expert.
    #[comm_put]
    pub fn float(group: &Tile<bf16, PUT, KERNEL>, int: &mut Tile<bf16, PUT, KERNEL>) {
        int.put(group);
    }

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn template<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn union(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let auto = gate.load();
        h.store(auto.silu() * up.load());
    }

    /// Puts results back to the slot of their (token, k).
    #[comm_put]
    pub fn main(r#type: &Tile<bf16, PUT, KERNEL>, slots: &mut Tile<bf16, PUT, KERNEL>) {
        slots.put(r#type);
    }

    /// The sum over k with the router's weights, in the order of k.
    #[aiv_task]
    pub fn core(
        slots: &Tile<bf16, SLOTS, COLUMNS>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, COLUMNS>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn r#try(
        ep: Ranks,
        route: &Route,
        group: &PerRank<Tensor<bf16, KERNEL>>,
        größe: &PerRank<Tensor<f32, TOP_K>>,
        double: &PerRank<Experts<bf16, INTER, KERNEL>>,
        up: &PerRank<Experts<bf16, INTER, KERNEL>>,
        down: &PerRank<Experts<bf16, KERNEL, INTER>>,
        y: &mut PerRank<Tensor<bf16, KERNEL>>,
    ) {
        let task = PerRank::symmetric::<bf16, KERNEL>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let launch = PerRank::ragged::<bf16, KERNEL>(ep, route);
        let tensor = PerRank::slots::<bf16, KERNEL>(ep, route);

        for r in ep {
            for e in route.experts_of(r) {
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        float(&group[src].gather(&s), &mut task[r].rows_of(&s));
                    }
                }
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        template(&task[r].group(e, m), &double[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        template(&task[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        union(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
                    }
                    for n in 0..KERNEL.div_ceil(TILE_N) {
                        template(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut launch[r].group(e, m).cols(n));
                    }
                }
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        main(&launch[r].rows_of(&s), &mut tensor[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..KERNEL.div_ceil(COLUMNS) {
                    core(&tensor[r].slots(t).cols(n), &größe[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}
