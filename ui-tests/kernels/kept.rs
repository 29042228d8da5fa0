//! Layers whose backward pass takes the route that the forward pass has made.

use hpmoe_runtime::prelude::*;

/// Dispatch, two projections, return and top-k sum, and their gradients; and the same passes with a route of the host.
#[megakernel]
pub mod kept {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, project, project_back, sum_over_k, weight_grad};

    // Fewer column tiles than matrix cores: with more, a core that computes weight gradients has already waited for every row tile.
    pub const HIDDEN: usize = 32;
    pub const INTER: usize = 48;
    pub const EXPERTS: usize = 8;
    pub const TOP_K: usize = 4;
    /// Groups of experts, for a router that chooses the same number from each.
    pub const GROUPS: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 40;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[taskflow]
    fn layer(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
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
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &gate[r].expert(e).tile(n),
                            &mut g[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &g[r].group(e, m),
                            &down[r].expert(e).tile(n),
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
                sum_over_k::<SLOTS, HIDDEN, _>(&back[r].slots(t), &mut y[r].rows(t));
            }
        }
    }

    #[taskflow]
    fn gradients(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let dout = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let dg = PerRank::ragged::<bf16, INTER>(ep, route);
        let drows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&dy[src].gather(&s), &mut dout[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project_back::<TILE_N, _, _>(
                            &dout[r].group(e, m),
                            &down[r].expert(e).cols(n),
                            &mut dg[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project_back::<TILE_N, _, _>(
                            &dg[r].group(e, m),
                            &gate[r].expert(e).cols(n),
                            &mut drows[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in 0..HIDDEN.div_ceil(TILE_N) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        weight_grad::<TILE_N, TILE_N>(
                            &dout[r].expert(e).cols(m),
                            &g[r].expert(e).cols(n),
                            &mut ddown[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
                for m in 0..INTER.div_ceil(TILE_N) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        weight_grad::<TILE_N, TILE_N>(
                            &dg[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut dgate[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&drows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                sum_over_k::<SLOTS, HIDDEN, _>(&back[r].slots(t), &mut dx[r].rows(t));
            }
        }
    }

    /// The kernel makes the route from ids, and keeps it.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        routed: &mut PerRank<Routed>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        route.keep(routed);
        layer(ep, &route, x, gate, down, recv, g, y);
    }

    /// Takes the route that the forward pass has kept.
    #[taskflow]
    pub fn backward(
        ep: Ranks,
        routed: &PerRank<Routed>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed);
        gradients(ep, &route, dy, gate, down, recv, g, dx, dgate, ddown);
    }

    /// The host makes the route.
    #[taskflow]
    pub fn hosted(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        layer(ep, route, x, gate, down, recv, g, y);
    }

    /// The gradients with a route of the host.
    #[taskflow]
    pub fn hosted_backward(
        ep: Ranks,
        route: &Route,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        gradients(ep, route, dy, gate, down, recv, g, dx, dgate, ddown);
    }

    /// The router chooses two experts of each group, so the number of tokens determines the number of rows of a rank.
    #[taskflow]
    pub fn grouped(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        routed: &mut PerRank<Routed>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids).in_groups::<GROUPS>();
        route.keep(routed);
        layer(ep, &route, x, gate, down, recv, g, y);
    }

    /// Takes the route that the grouped forward pass has kept.
    #[taskflow]
    pub fn grouped_backward(
        ep: Ranks,
        routed: &PerRank<Routed>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        recv: &PerRank<Received<bf16, HIDDEN>>,
        g: &PerRank<Received<bf16, INTER>>,
        dx: &mut PerRank<Tensor<bf16, HIDDEN>>,
        dgate: &mut PerRank<Experts<f32, INTER, HIDDEN>>,
        ddown: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed).in_groups::<GROUPS>();
        gradients(ep, &route, dy, gate, down, recv, g, dx, dgate, ddown);
    }
}
