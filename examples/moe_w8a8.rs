//! The layer in int8 throughout (W8A8). Tokens are rounded to i8 before they are sent, with a scale for each token, and the activation
//! is rounded to i8 as well, with a scale for each received row. Matrix cores multiply i8 by i8, exactly.
//!
//! A vector core rounds whole rows, which must fit into UB: `INTER` is at most 4,048, and `HIDDEN` at most 11,664.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example;
use support::int8::Int8;
use support::quantised::quantised;

/// The layer: rounding of tokens to i8, dispatch of tokens and scales, gate and up projections to i32, SwiGLU of the scaled products,
/// rounded to i8 again, down projection to i32, scaling, return, top-k sum.
#[megakernel]
pub mod moe_w8a8 {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{combine, give_back};

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
    /// Rows per tile of the activation.
    pub const TILE_ROWS: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the top-k sum and of the quantization.
    pub const BLOCK: usize = _;
    /// Columns per tile of the top-k sum.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of the top-k sum.
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// The scale of each row, with which the row's largest number becomes 127. A row of zeros has the scale 1.
    fn scale<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, 1> {
        let most = x.abs().row_max();
        most.equal(0.0).select(1.0, &most / 127.0)
    }

    /// Rounds tokens to i8.
    #[aiv_task]
    pub fn quantise(
        x: &Tile<bf16, BLOCK, HIDDEN>,
        rounded: &mut Tile<i8, BLOCK, HIDDEN>,
        scales: &mut Tile<f32, BLOCK, 1>,
    ) {
        let x = x.load();
        let scale = scale(&x);
        rounded.store((&x / &scale).clamp(-127.0, 127.0));
        scales.store(scale);
    }

    /// Sends tokens to the rank that owns their expert.
    #[comm_put]
    pub fn dispatch(tokens: &Tile<i8, PUT, HIDDEN>, rows: &mut Tile<i8, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    /// Sends the scales of tokens.
    #[comm_put]
    pub fn dispatch_scales(tokens: &Tile<f32, PUT, 1>, rows: &mut Tile<f32, PUT, 1>) {
        rows.put(tokens);
    }

    /// One tile of `x · wᵀ` in exact integers.
    #[aic_task]
    pub fn project<const K: usize>(
        x: &Tile<i8, TILE_M, K>,
        w: &Tile<i8, TILE_N, K>,
        y: &mut Tile<i32, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    /// The gated activation `silu(gate) · up` of whole rows, rounded to i8 with a scale for each row.
    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<i32, TILE_ROWS, INTER>,
        up: &Tile<i32, TILE_ROWS, INTER>,
        row_scale: &Tile<f32, TILE_ROWS, 1>,
        gate_scale: &Tile<f32, 1, INTER>,
        up_scale: &Tile<f32, 1, INTER>,
        rounded: &mut Tile<i8, TILE_ROWS, INTER>,
        scales: &mut Tile<f32, TILE_ROWS, 1>,
    ) {
        let row_scale = row_scale.load();
        let gate = gate.load() * gate_scale.load() * &row_scale;
        let h = gate.silu() * (up.load() * up_scale.load() * row_scale);
        let scale = scale(&h);
        rounded.store((h / &scale).clamp(-127.0, 127.0));
        scales.store(scale);
    }

    /// Converts the integers of the down projection to bf16, by the scales of rows and columns.
    #[aiv_task]
    pub fn dequantise(
        y: &Tile<i32, TILE_M, COLUMNS>,
        row_scale: &Tile<f32, TILE_M, 1>,
        column_scale: &Tile<f32, 1, COLUMNS>,
        out: &mut Tile<bf16, TILE_M, COLUMNS>,
    ) {
        out.store(y.load() * column_scale.load() * row_scale.load());
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
        let tokens = PerRank::tokens::<i8, HIDDEN>(ep, route);
        let token_scale = PerRank::tokens::<f32, 1>(ep, route);
        let recv = PerRank::symmetric::<i8, HIDDEN>(ep, route);
        let recv_scale = PerRank::symmetric::<f32, 1>(ep, route);
        let g = PerRank::ragged::<i32, INTER>(ep, route);
        let u = PerRank::ragged::<i32, INTER>(ep, route);
        let h = PerRank::ragged::<i8, INTER>(ep, route);
        let h_scale = PerRank::ragged::<f32, 1>(ep, route);
        let sums = PerRank::ragged::<i32, HIDDEN>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);

        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                quantise(&x[r].rows(t), &mut tokens[r].rows(t), &mut token_scale[r].rows(t));
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&tokens[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    dispatch_scales(&token_scale[src].gather(&s), &mut recv_scale[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                    }
                }
                for m in route.row_tiles::<TILE_ROWS>(e) {
                    swiglu(
                        &g[r].group(e, m),
                        &u[r].group(e, m),
                        &recv_scale[r].group(e, m),
                        &gate_scale[r].expert(e),
                        &up_scale[r].expert(e),
                        &mut h[r].group(e, m),
                        &mut h_scale[r].group(e, m),
                    );
                }
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut sums[r].group(e, m).cols(n));
                    }
                    for n in 0..HIDDEN.div_ceil(COLUMNS) {
                        dequantise(
                            &sums[r].group(e, m).cols(n),
                            &h_scale[r].group(e, m),
                            &down_scale[r].expert(e).cols(n),
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
}

/// The type of gate and up matrices.
type Wide = Int8<{ moe_w8a8::INTER }, { moe_w8a8::HIDDEN }>;
type Down = Int8<{ moe_w8a8::HIDDEN }, { moe_w8a8::INTER }>;

quantised!(
    moe_w8a8,
    "w8a8",
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
