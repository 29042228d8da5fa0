//! A layer whose experts may lie anywhere: its ranks have places for two more experts than their share, and the number of experts need not
//! be a multiple of the number of ranks.

use hpmoe_runtime::prelude::*;

/// The layer, forward, forward in chunks, and backward.
#[megakernel]
pub mod placed {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::taskflows::{
        combine_slots, dispatch_tokens, give_back_rows, input_gradients, project_rows, project_rows_back,
        router_gradients, send_slot_weights, sum_slots, swiglu_gradients, swiglu_rows, weight_gradients,
    };

    pub const HIDDEN: usize = 32;
    pub const INTER: usize = 16;
    pub const EXPERTS: usize = 10;
    pub const TOP_K: usize = 3;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 40;
    pub const CHUNKS: usize = 3;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const GRAD_M: usize = 16;
    pub const GRAD_N: usize = 16;
    pub const PUT: usize = 4;
    pub const PUT_NUMBERS: usize = TILE_M;
    pub const BLOCK: usize = 4;
    pub const COLUMNS: usize = 32;
    pub const SLOTS: usize = BLOCK * TOP_K;
    pub const PARTS: usize = INTER.div_ceil(TILE_N);

    /// The layer.
    #[taskflow]
    fn layer(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        u: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let mut h = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        dispatch_tokens::<PUT, _>(ep, route, x, recv);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, gate, g);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, up, u);
        swiglu_rows::<TILE_M, TILE_N, _>(ep, route, g, u, &mut h);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, &h, down, &mut out);
        give_back_rows::<PUT, _>(ep, route, &out, &mut back);
        combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, route, &back, weights, y);
    }

    /// The gradients of the layer.
    #[taskflow]
    fn gradients(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let mut dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut weight = PerRank::symmetric::<f32, 1>(ep, route);
        let mut dh = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut du = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut weighted = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut parts = PerRank::ragged::<f32, PARTS>(ep, route);
        let mut drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        dispatch_tokens::<PUT, _>(ep, route, dy, &mut dout);
        send_slot_weights::<PUT_NUMBERS>(ep, route, weights, &mut weight);
        project_rows_back::<TILE_M, TILE_N, _, _>(ep, route, &dout, down, &mut dh);
        swiglu_gradients::<TILE_M, TILE_N, _, _>(
            ep,
            route,
            &dh,
            g,
            u,
            &weight,
            &mut dg,
            &mut du,
            &mut weighted,
            &mut parts,
        );
        input_gradients::<TILE_M, TILE_N, _, _>(ep, route, &dg, gate, &du, up, &mut drows);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &dout, &weighted, ddown);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &dg, recv, dgate);
        weight_gradients::<GRAD_M, GRAD_N, _, _>(ep, route, &du, recv, dup);
        give_back_rows::<PUT, _>(ep, route, &drows, &mut back);
        router_gradients::<PUT_NUMBERS, BLOCK, SLOTS, _>(ep, route, &parts, dweights);
        sum_slots::<BLOCK, SLOTS, COLUMNS, _>(ep, route, &back, dx);
    }

    /// The forward pass; keeps the rows received and both projections.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        u: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        layer(ep, route, x, weights, gate, up, down, recv, g, u, y);
    }

    /// The backward pass with the rows received and the projections saved.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        gradients(ep, route, dy, weights, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown);
    }

    /// The forward pass, whose kernel makes the route from ids and keeps it.
    #[taskflow]
    pub fn routed(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        u: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        kept: &mut PerRank<Routed>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        route.keep(kept);
        layer(ep, &route, x, weights, gate, up, down, recv, g, u, y);
    }

    /// The backward pass with the route that the forward pass has kept.
    #[taskflow]
    pub fn routed_backward(
        ep: Ranks,
        kept: &PerRank<Routed>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        u: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Slots<f32, 1>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        dup: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, kept);
        gradients(ep, &route, dy, weights, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown);
    }

    /// The forward pass, chunk by chunk.
    #[taskflow]
    pub fn in_chunks(
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
            dispatch_tokens::<PUT, _>(ep, &route, x, &mut recv);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &recv, gate, &mut g);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &recv, up, &mut u);
            swiglu_rows::<TILE_M, TILE_N, _>(ep, &route, &g, &u, &mut h);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &h, down, &mut out);
            give_back_rows::<PUT, _>(ep, &route, &out, &mut back);
            combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, &route, &back, weights, y);
        }
    }

    /// The forward pass, chunk by chunk, whose kernel makes the route from ids.
    #[taskflow]
    pub fn routed_in_chunks(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for route in route.chunks::<CHUNKS>() {
            let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
            let mut g = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut u = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut h = PerRank::ragged::<bf16, INTER>(ep, &route);
            let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
            let mut back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
            dispatch_tokens::<PUT, _>(ep, &route, x, &mut recv);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &recv, gate, &mut g);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &recv, up, &mut u);
            swiglu_rows::<TILE_M, TILE_N, _>(ep, &route, &g, &u, &mut h);
            project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &h, down, &mut out);
            give_back_rows::<PUT, _>(ep, &route, &out, &mut back);
            combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, &route, &back, weights, y);
        }
    }
}
