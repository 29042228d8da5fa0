//! The layer with SwiGLU experts whose gate and up matrices are separate tensors, in a number of chunks that launches
//! choose.

use hpmoe_runtime::prelude::*;

/// Both passes. The forward pass keeps nothing: the backward pass dispatches tokens and computes the projections again,
/// so that the sizes of tensors that a framework saves don't depend on the routing. Gradients of experts are added to
/// the given tensors, which contain zeros.
#[megakernel]
pub mod swiglu {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::taskflows::{
        combine_slots, dispatch_tokens, give_back_rows, input_gradients, project_rows, project_rows_back,
        router_gradients, send_slot_weights, sum_slots, swiglu_gradients, swiglu_rows, weight_gradients_onto,
    };

    /// Columns per token.
    pub const HIDDEN: usize = 64;
    /// Columns between the projections.
    pub const INTER: usize = 32;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 8;
    /// Experts per token.
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 64;

    /// Chunks in which the reference adds up gradients of experts: the largest number that launches choose.
    pub const CHUNKS: usize = 8;
    /// Largest number of chunks that a launch chooses.
    pub const CHUNKS_AT_MOST: usize = CHUNKS;

    /// Rows per tile of a projection.
    pub const TILE_M: usize = _;
    /// Columns per tile of a projection.
    pub const TILE_N: usize = _;
    /// Rows per tile of a weight gradient.
    pub const GRAD_M: usize = _;
    /// Columns per tile of a weight gradient.
    pub const GRAD_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Maximum number of rows per put of single numbers.
    pub const PUT_NUMBERS: usize = TILE_M;
    /// Tokens per tile of a sum over k.
    pub const BLOCK: usize = _;
    /// Columns per tile of a sum over k.
    pub const COLUMNS: usize = _;
    /// (token, k) slots per tile of a sum over k.
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Column tiles of the activation; each has a part of the gradient of the router's weights.
    pub const PARTS: usize = INTER.div_ceil(TILE_N);

    /// Sends tokens to their experts, and multiplies them by the gate and up matrices.
    #[taskflow]
    fn projections(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        u: &mut PerRank<Received<bf16, INTER>>,
    ) {
        dispatch_tokens::<PUT, _>(ep, route, x, recv);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, gate, g);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, up, u);
    }

    /// The layer: `y = Σ_k weights[k] · down(silu(gate x) · up x)`.
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
        for route in route.chunks::<CHUNKS>() {
            let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
            let mut g = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut u = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut h = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
            let mut back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
            projections(ep, &route, x, gate, up, &mut recv, &mut g, &mut u);
            swiglu_rows::<TILE_M, TILE_N, _>(ep, &route, &g, &u, &mut h);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &h, down, &mut out);
            give_back_rows::<PUT, _>(ep, &route, &out, &mut back);
            combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, &route, &back, weights, y);
        }
    }

    /// The gradients of all inputs of `forward`, from the gradient of `y`.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        for route in route.chunks::<CHUNKS>() {
            let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
            let mut dout = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
            let mut weight = PerRank::symmetric::<f32, 1>(ep, &route);
            let mut g = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut u = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut dh = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut dg = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut du = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut weighted = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut parts = PerRank::ragged::<f32, PARTS>(ep, &route);
            let mut drows = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
            let mut back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
            projections(ep, &route, x, gate, up, &mut recv, &mut g, &mut u);
            dispatch_tokens::<PUT, _>(ep, &route, dy, &mut dout);
            send_slot_weights::<PUT_NUMBERS>(ep, &route, weights, &mut weight);
            project_rows_back::<TILE_M, TILE_N, _, _>(ep, &route, &dout, down, &mut dh);
            swiglu_gradients::<TILE_M, TILE_N, _, _>(
                ep,
                &route,
                &dh,
                &g,
                &u,
                &weight,
                &mut dg,
                &mut du,
                &mut weighted,
                &mut parts,
            );
            input_gradients::<TILE_M, TILE_N, _, _>(ep, &route, &dg, gate, &du, up, &mut drows);
            weight_gradients_onto::<GRAD_M, GRAD_N, _, _>(ep, &route, &dout, &weighted, ddown);
            weight_gradients_onto::<GRAD_M, GRAD_N, _, _>(ep, &route, &dg, &recv, dgate);
            weight_gradients_onto::<GRAD_M, GRAD_N, _, _>(ep, &route, &du, &recv, dup);
            give_back_rows::<PUT, _>(ep, &route, &drows, &mut back);
            router_gradients::<PUT_NUMBERS, BLOCK, SLOTS, _>(ep, &route, &parts, dweights);
            sum_slots::<BLOCK, SLOTS, COLUMNS, _>(ep, &route, &back, dx);
        }
    }
}
