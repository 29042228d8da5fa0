//! Tensors of f16, products of f16 and of f32, and sums of products of several types.

use hpmoe_runtime::prelude::*;

/// Sends tokens of f16 to their experts' ranks, multiplies and gives them back; also weight gradients and casts.
#[megakernel]
pub mod floats {
    use hpmoe_runtime::prelude::*;

    /// Two and a half tiles.
    pub const HIDDEN: usize = 40;
    /// One and a half tiles.
    pub const INTER: usize = 24;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;
    pub const TILE: usize = 16;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 5;
    pub const SLOTS: usize = BLOCK * TOP_K;

    /// Converts to f16, in a tile and inside a computation.
    #[aiv_task]
    pub fn narrow(v: &Tile<f32, BLOCK, HIDDEN>, h: &mut Tile<f16, BLOCK, HIDDEN>, same: &mut Tile<f32, BLOCK, HIDDEN>) {
        let v = v.load();
        same.store(v.cast::<f16>() * 0.5);
        h.store(v);
    }

    #[comm_put]
    pub fn put(from: &Tile<f16, PUT, HIDDEN>, to: &mut Tile<f16, PUT, HIDDEN>) {
        to.put(from);
    }

    #[aic_task]
    pub fn project(x: &Tile<f16, TILE, HIDDEN>, w: &Tile<f16, TILE, HIDDEN>, y: &mut Tile<f16, TILE, TILE>) {
        y.store(x.matmul_t(w));
    }

    /// One row of f16 combined with all rows.
    #[aiv_task]
    pub fn shift(y: &Tile<f16, TILE, INTER>, bias: &Tile<f16, 1, INTER>, g: &mut Tile<bf16, TILE, INTER>) {
        g.store(y.load() + bias.load());
    }

    /// Products of both types in one sum.
    #[aic_task]
    pub fn both(
        x: &Tile<f16, TILE, HIDDEN>,
        v: &Tile<f16, HIDDEN, TILE>,
        g: &Tile<bf16, TILE, INTER>,
        u: &Tile<bf16, TILE, INTER>,
        out: &mut Tile<f16, TILE, TILE>,
        wide: &mut Tile<f32, TILE, TILE>,
    ) {
        let product = x.matmul(v);
        out.store(product);
        wide.store(g.matmul_t(u).add_matmul(x, v));
    }

    /// Products of f32, with one of f16 in the same sum and alone.
    #[aic_task]
    pub fn exact(
        wide: &Tile<f32, TILE, HIDDEN>,
        p: &Tile<f32, TILE, HIDDEN>,
        x: &Tile<f16, TILE, HIDDEN>,
        w: &Tile<f16, TILE, HIDDEN>,
        alone: &mut Tile<f32, TILE, TILE>,
        mixed: &mut Tile<f16, TILE, TILE>,
    ) {
        alone.store(wide.matmul_t(p));
        mixed.store(x.matmul_t(w).add_matmul_t(wide, p));
    }

    #[aic_task]
    pub fn contract(
        x: &Tile<f16, RAGGED, TILE>,
        y: &Tile<f16, RAGGED, TILE>,
        dw: &mut Tile<f16, TILE, TILE>,
        onto: &mut Tile<f32, TILE, TILE>,
    ) {
        dw.store(x.t_matmul(y));
        onto.accumulate(x.t_matmul(y));
    }

    #[aiv_task]
    pub fn combine(
        slots: &Tile<f16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<f16, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<f16, HIDDEN>>,
        numbers: &PerRank<Tensor<f32, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        w: &PerRank<Experts<f16, INTER, HIDDEN>>,
        bias: &PerRank<Experts<f16, 1, INTER>>,
        v: &PerRank<Experts<f16, HIDDEN, HIDDEN>>,
        u: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        p: &PerRank<Experts<f32, INTER, HIDDEN>>,
        halves: &mut PerRank<Tensor<f16, HIDDEN>>,
        same: &mut PerRank<Tensor<f32, HIDDEN>>,
        wide: &mut PerRank<Received<f32, HIDDEN>>,
        alone: &mut PerRank<Received<f32, INTER>>,
        mixed: &mut PerRank<Received<f16, INTER>>,
        dw: &mut PerRank<Experts<f16, HIDDEN, INTER>>,
        onto: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<f16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<f16, HIDDEN>(ep, route);
        let h = PerRank::ragged::<f16, INTER>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<f16, HIDDEN>(ep, route);
        let back = PerRank::slots::<f16, HIDDEN>(ep, route);
        for src in ep {
            for t in route.token_blocks::<BLOCK>(src) {
                narrow(&numbers[src].rows(t), &mut halves[src].rows(t), &mut same[src].rows(t));
            }
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE>(e) {
                    for n in 0..INTER.div_ceil(TILE) {
                        project(&recv[r].group(e, m), &w[r].expert(e).tile(n), &mut h[r].group(e, m).cols(n));
                    }
                    shift(&h[r].group(e, m), &bias[r].expert(e), &mut g[r].group(e, m));
                    for n in 0..HIDDEN.div_ceil(TILE) {
                        both(
                            &recv[r].group(e, m),
                            &v[r].expert(e).cols(n),
                            &g[r].group(e, m),
                            &u[r].expert(e).tile(n),
                            &mut out[r].group(e, m).cols(n),
                            &mut wide[r].group(e, m).cols(n),
                        );
                    }
                    for n in 0..INTER.div_ceil(TILE) {
                        exact(
                            &wide[r].group(e, m),
                            &p[r].expert(e).tile(n),
                            &recv[r].group(e, m),
                            &w[r].expert(e).tile(n),
                            &mut alone[r].group(e, m).cols(n),
                            &mut mixed[r].group(e, m).cols(n),
                        );
                    }
                }
                for m in 0..HIDDEN.div_ceil(TILE) {
                    for n in 0..INTER.div_ceil(TILE) {
                        contract(
                            &recv[r].expert(e).cols(m),
                            &h[r].expert(e).cols(n),
                            &mut dw[r].expert(e).tile(m).cols(n),
                            &mut onto[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
            for t in route.token_blocks::<BLOCK>(src) {
                combine(&back[src].slots(t), &weights[src].rows(t), &mut y[src].rows(t));
            }
        }
    }
}
