//! Products of every orientation, sums of products, all rows of an expert, and caller's tensors that peers write.

use hpmoe_runtime::prelude::*;

/// Tokens are dispatched to the caller's rows, followed by the products of a backward pass.
#[megakernel]
pub mod products {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::weight_grad_onto;

    /// Two and a half tiles.
    pub const HIDDEN: usize = 40;
    /// One and a half tiles.
    pub const INTER: usize = 24;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;
    pub const TILE: usize = 16;
    pub const PUT: usize = 8;

    #[comm_put]
    pub fn put<const C: usize>(from: &Tile<bf16, PUT, C>, to: &mut Tile<bf16, PUT, C>) {
        to.put(from);
    }

    #[aic_task]
    pub fn project(x: &Tile<bf16, TILE, HIDDEN>, w: &Tile<bf16, HIDDEN, TILE>, y: &mut Tile<bf16, TILE, TILE>) {
        y.store(x.matmul(w));
    }

    /// Three products in one sum; negative sums are stored as 0.
    #[aic_task]
    pub fn both(
        x: &Tile<bf16, TILE, HIDDEN>,
        v: &Tile<bf16, TILE, HIDDEN>,
        g: &Tile<bf16, TILE, INTER>,
        w: &Tile<bf16, INTER, TILE>,
        y: &mut Tile<bf16, TILE, TILE>,
    ) {
        let first = x.matmul_t(v);
        y.store(first.add_matmul(g, w).add_matmul_t(x, v).relu());
    }

    #[aic_task]
    pub fn contract(
        x: &Tile<bf16, RAGGED, TILE>,
        y: &Tile<bf16, RAGGED, TILE>,
        w: &mut Tile<f32, TILE, TILE>,
        narrow: &mut Tile<bf16, TILE, TILE>,
        onto: &mut Tile<f32, TILE, TILE>,
    ) {
        w.store(x.t_matmul(y));
        narrow.store(y.t_matmul(x));
        onto.accumulate(x.t_matmul(y));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Slots<bf16, INTER>>,
        w: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        v: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        u: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        recv: &mut PerRank<Received<bf16, HIDDEN>>,
        g: &mut PerRank<Received<bf16, INTER>>,
        back: &mut PerRank<Slots<bf16, HIDDEN>>,
        dw: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
        narrow: &mut PerRank<Experts<bf16, INTER, HIDDEN>>,
        sum: &mut PerRank<Experts<f32, HIDDEN, HIDDEN>>,
        onto: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        let rows = PerRank::symmetric::<bf16, INTER>(ep, route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    put(&z[src].gather(&s), &mut rows[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in 0..HIDDEN.div_ceil(TILE) {
                    for n in 0..HIDDEN.div_ceil(TILE) {
                        weight_grad_onto::<TILE, TILE>(
                            &recv[r].expert(e).cols(m),
                            &recv[r].expert(e).cols(n),
                            &mut sum[r].expert(e).tile(m).cols(n),
                        );
                    }
                    for n in 0..INTER.div_ceil(TILE) {
                        contract(
                            &recv[r].expert(e).cols(m),
                            &rows[r].expert(e).cols(n),
                            &mut dw[r].expert(e).tile(m).cols(n),
                            &mut narrow[r].expert(e).tile(n).cols(m),
                            &mut onto[r].expert(e).tile(m).cols(n),
                        );
                    }
                }
                for m in route.row_tiles::<TILE>(e) {
                    for n in 0..INTER.div_ceil(TILE) {
                        project(&recv[r].group(e, m), &w[r].expert(e).cols(n), &mut g[r].group(e, m).cols(n));
                    }
                    for n in 0..HIDDEN.div_ceil(TILE) {
                        both(
                            &recv[r].group(e, m),
                            &v[r].expert(e).tile(n),
                            &rows[r].group(e, m),
                            &u[r].expert(e).cols(n),
                            &mut out[r].group(e, m).cols(n),
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
        }
    }
}
