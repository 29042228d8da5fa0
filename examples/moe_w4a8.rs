//! The layer with 4-bit weights and everything else in int8 (W4A8). While tokens are in transit, vector cores unpack an expert's weights
//! once for all of its rows: each byte becomes two i8 numbers, multiplied by an integer per group of columns. Gate and up are one matrix, so
//! that one unpacking and one product serve both. Tokens are rounded to i8 before they are sent, with a scale for each token, and the
//! activation is rounded to i8 as well. Matrix cores multiply i8 by i8, exactly.
//!
//! A vector core rounds and unpacks whole rows, which must fit into UB: `INTER` is at most 4,048, and `HIDDEN` at most 9,792.

use hpmoe_runtime::prelude::*;
use std::process::ExitCode;
use support::example;
use support::int4::Int4;
use support::quantised::quantised;
use support::tensors::gate_and_up;

/// The layer: unpacking of weights, rounding of tokens to i8, dispatch of tokens and scales, gate and up projection to i32, SwiGLU of the
/// scaled products, rounded to i8 again, down projection to i32, scaling, return, top-k sum.
#[megakernel]
pub mod moe_w4a8 {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{combine, give_back, unpack_to_i8};

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

    /// Columns per group, whose weights in a row share an integer factor. Small, like the bundled layers; real layers have 128.
    pub const GROUP: usize = 16;
    /// Bytes and groups per row of the gate and up matrices.
    pub const HIDDEN_PAIRS: usize = HIDDEN / 2;
    pub const HIDDEN_GROUPS: usize = HIDDEN / GROUP;
    /// Bytes and groups per row of the down matrix.
    pub const INTER_PAIRS: usize = INTER / 2;
    pub const INTER_GROUPS: usize = INTER / GROUP;

    /// Rows per tile of a projection. The build chooses tile sizes that a kernel leaves open.
    pub const TILE_M: usize = _;
    /// Rows per tile of the activation.
    pub const TILE_ROWS: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Rows per tile of weights to unpack.
    pub const TILE_UNPACK: usize = _;
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
        gate_up: &PerRank<Experts<i4x2, { 2 * INTER }, HIDDEN_PAIRS>>,
        down: &PerRank<Experts<i4x2, HIDDEN, INTER_PAIRS>>,
        gate_up_times: &PerRank<Experts<i8, { 2 * INTER }, HIDDEN_GROUPS>>,
        down_times: &PerRank<Experts<i8, HIDDEN, INTER_GROUPS>>,
        gate_up_scale: &PerRank<Experts<f32, 1, { 2 * INTER }>>,
        down_scale: &PerRank<Experts<f32, 1, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let tokens = PerRank::tokens::<i8, HIDDEN>(ep, route);
        let token_scale = PerRank::tokens::<f32, 1>(ep, route);
        let recv = PerRank::symmetric::<i8, HIDDEN>(ep, route);
        let recv_scale = PerRank::symmetric::<f32, 1>(ep, route);
        let wide_gate_up = PerRank::experts::<i8, { 2 * INTER }, HIDDEN>(ep, route);
        let wide_down = PerRank::experts::<i8, HIDDEN, INTER>(ep, route);
        let gu = PerRank::ragged::<i32, { 2 * INTER }>(ep, route);
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
                for n in 0..(2 * INTER).div_ceil(TILE_UNPACK) {
                    unpack_to_i8::<TILE_UNPACK, _, _, _>(
                        &gate_up[r].expert(e).tile(n),
                        &gate_up_times[r].expert(e).tile(n),
                        &mut wide_gate_up[r].expert(e).tile(n),
                    );
                }
                for n in 0..HIDDEN.div_ceil(TILE_UNPACK) {
                    unpack_to_i8::<TILE_UNPACK, _, _, _>(
                        &down[r].expert(e).tile(n),
                        &down_times[r].expert(e).tile(n),
                        &mut wide_down[r].expert(e).tile(n),
                    );
                }
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..(2 * INTER).div_ceil(TILE_N) {
                        project(
                            &recv[r].group(e, m),
                            &wide_gate_up[r].expert(e).tile(n),
                            &mut gu[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in route.row_tiles::<TILE_ROWS>(e) {
                    swiglu(
                        &gu[r].group(e, m).cols(0),
                        &gu[r].group(e, m).cols(1),
                        &recv_scale[r].group(e, m),
                        &gate_up_scale[r].expert(e).cols(0),
                        &gate_up_scale[r].expert(e).cols(1),
                        &mut h[r].group(e, m),
                        &mut h_scale[r].group(e, m),
                    );
                }
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&h[r].group(e, m), &wide_down[r].expert(e).tile(n), &mut sums[r].group(e, m).cols(n));
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

/// The type of the matrices that join gate and up.
type Wide = Int4<{ 2 * moe_w4a8::INTER }, { moe_w4a8::HIDDEN_PAIRS }, { moe_w4a8::HIDDEN_GROUPS }>;
type Down = Int4<{ moe_w4a8::HIDDEN }, { moe_w4a8::INTER_PAIRS }, { moe_w4a8::INTER_GROUPS }>;

quantised!(
    moe_w4a8,
    "w4a8",
    {
        gate_up: Wide = |layer| Wide::of(&gate_and_up(layer.ep, &layer.gate, &layer.up)),
        down: Down = |layer| Down::of(&layer.down),
    },
    [gate_up.weights, down.weights, gate_up.times, down.times, gate_up.scales, down.scales]
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
