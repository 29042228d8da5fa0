//! The layer with weights of i8 and a scale for each column of a product: vector cores widen weights to bf16 while tokens are in
//! transit, and scale the products.
//!
//! A vector core widens whole rows of weights, which must fit into UB: `INTER` and `HIDDEN` are at most 15,664.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example;
use support::int8::Int8;
use support::quantised::quantised;

/// The layer: dispatch, widening of weights, gate and up projections, SwiGLU of scaled columns, down projection, scaling of columns,
/// return, top-k sum.
#[megakernel]
pub mod moe_int8 {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{combine, dispatch, give_back, scale_by_column, widen};

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

    /// Rows per tile of a projection. The build chooses tile sizes that a kernel leaves open.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the top-k sum.
    pub const BLOCK: usize = _;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn project<const K: usize>(
        x: &Tile<bf16, TILE_M, K>,
        w: &Tile<bf16, TILE_N, K>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// The gated activation of scaled columns: `silu(gate) · up`.
    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        gate_scale: &Tile<f32, 1, TILE_N>,
        up_scale: &Tile<f32, 1, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load() * gate_scale.load();
        h.store(gate.silu() * (up.load() * up_scale.load()));
    }

    /// The layer for the whole group. This function defines what the kernel computes, and its calls are the dependency graph.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<i8, INTER, HIDDEN>>,
        up: &PerRank<Experts<i8, INTER, HIDDEN>>,
        down: &PerRank<Experts<i8, HIDDEN, INTER>>,
        gate_scale: &PerRank<Experts<f32, 1, INTER>>,
        up_scale: &PerRank<Experts<f32, 1, INTER>>,
        down_scale: &PerRank<Experts<f32, 1, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let wide_gate = PerRank::experts::<bf16, INTER, HIDDEN>(ep, route);
        let wide_up = PerRank::experts::<bf16, INTER, HIDDEN>(ep, route);
        let wide_down = PerRank::experts::<bf16, HIDDEN, INTER>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let scaled = PerRank::ragged::<bf16, HIDDEN>(ep, route);
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
                for n in 0..INTER.div_ceil(TILE_N) {
                    widen::<TILE_N, _>(&gate[r].expert(e).tile(n), &mut wide_gate[r].expert(e).tile(n));
                    widen::<TILE_N, _>(&up[r].expert(e).tile(n), &mut wide_up[r].expert(e).tile(n));
                }
                for n in 0..HIDDEN.div_ceil(TILE_N) {
                    widen::<TILE_N, _>(&down[r].expert(e).tile(n), &mut wide_down[r].expert(e).tile(n));
                }
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &wide_gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &wide_up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu(
                            &g[r].group(e, m).cols(n),
                            &u[r].group(e, m).cols(n),
                            &gate_scale[r].expert(e).cols(n),
                            &up_scale[r].expert(e).cols(n),
                            &mut h[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&h[r].group(e, m), &wide_down[r].expert(e).tile(n), &mut out[r].group(e, m).cols(n));
                    }
                    for n in 0..HIDDEN.div_ceil(COLUMNS) {
                        scale_by_column::<COLUMNS, _>(
                            &out[r].group(e, m).cols(n),
                            &down_scale[r].expert(e).cols(n),
                            &mut scaled[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&scaled[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
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

/// The type of gate and up matrices.
type Wide = Int8<{ moe_int8::INTER }, { moe_int8::HIDDEN }>;
type Down = Int8<{ moe_int8::HIDDEN }, { moe_int8::INTER }>;

quantised!(
    moe_int8,
    "int8",
    {
        gate: Wide = |layer| Wide::of(&layer.gate),
        up: Wide = |layer| Wide::of(&layer.up),
        down: Down = |layer| Down::of(&layer.down),
    },
    [gate.weights, up.weights, down.weights, gate.scales, up.scales, down.scales]
);

fn main() -> ExitCode {
    example::main::<Quantised>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn is_right_for_every_number_of_ranks() {
        support::check::check::<super::Quantised>();
    }
}
