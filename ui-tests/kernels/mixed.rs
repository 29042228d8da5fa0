//! Puts of f32, tasks over arrivals and with two results, columns written one by one, and tiles with a fixed index.

use hpmoe_runtime::prelude::*;

/// Tokens are scaled, projected piece by piece, and summed.
#[megakernel]
pub mod mixed {
    use hpmoe_runtime::prelude::*;

    /// Two and a half tiles.
    pub const HIDDEN: usize = 40;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;
    pub const TILE: usize = 16;
    /// Rows of the vector tasks' tiles.
    pub const TALL: usize = 2 * TILE;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 8;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[aiv_task]
    pub fn widen(x: &Tile<bf16, BLOCK, HIDDEN>, z: &mut Tile<f32, BLOCK, HIDDEN>) {
        z.store(x.load().silu());
    }

    #[comm_put]
    pub fn put<const C: usize>(from: &Tile<f32, PUT, C>, to: &mut Tile<f32, PUT, C>) {
        to.put(from);
    }

    /// Runs over pieces as they arrive: their numbers rounded, and their squares.
    #[aiv_task]
    pub fn split(
        a: &Tile<f32, PUT, HIDDEN>,
        rounded: &mut Tile<bf16, PUT, HIDDEN>,
        squared: &mut Tile<f32, PUT, HIDDEN>,
    ) {
        let b = a.load();
        let b = &b * &b;
        for _i in 0..1 {
            rounded.store(a.load().cast::<bf16>());
        }
        squared.store(b);
    }

    /// Two products with the same left operand.
    #[aic_task]
    pub fn project(
        x: &Tile<bf16, TILE, HIDDEN>,
        v: &Tile<bf16, { TILE }, HIDDEN>,
        w: &Tile<bf16, TILE, HIDDEN>,
        a: &mut Tile<bf16, TILE, TILE>,
        b: &mut Tile<f32, TILE, TILE>,
    ) {
        a.store(x.matmul_t(v));
        b.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn mix<const N: usize>(
        a: &Tile<bf16, TALL, N>,
        b: &Tile<f32, TALL, N>,
        squared: &Tile<f32, TALL, N>,
        c: &mut Tile<f32, TALL, N>,
    ) {
        c.store(a.load() * b.load() * squared.load());
    }

    #[aiv_task]
    pub fn combine(
        slots: &Tile<f32, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        w: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        z: &mut PerRank<Tensor<f32, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<f32, HIDDEN>(ep, route);
        let rounded = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let squared = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let a = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let b = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let c = PerRank::ragged::<f32, HIDDEN>(ep, route);
        let back = PerRank::slots::<f32, HIDDEN>(ep, route);

        for src in ep {
            for t in route.token_blocks::<BLOCK>(src) {
                widen(&x[src].rows(t), &mut z[src].rows(t));
            }
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&z[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    split(
                        &recv[e.owner()].rows_of(&s),
                        &mut rounded[e.owner()].rows_of(&s),
                        &mut squared[e.owner()].rows_of(&s),
                    );
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE>(e) {
                    for n in 0..2 {
                        project(
                            &rounded[r].group(e, m),
                            &w[r].expert(e).tile(n),
                            &w[r].expert(e).tile(1),
                            &mut a[r].group(e, m).cols(n),
                            &mut b[r].group(e, m).cols(n),
                        );
                    }
                    project(
                        &rounded[r].group(e, m),
                        &w[r].expert(e).tile(2),
                        &w[r].expert(e).tile(2),
                        &mut a[r].group(e, m).cols(2),
                        &mut b[r].group(e, m).cols(2),
                    );
                }
                for n in 0..5 {
                    for m in route.row_tiles::<TALL>(e) {
                        mix::<8>(
                            &a[r].group(e, m).cols(n),
                            &b[r].group(e, m).cols(n),
                            &squared[r].group(e, m).cols(n),
                            &mut c[r].group(e, m).cols(n),
                        );
                    }
                }
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        put(&c[r].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                combine(&back[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}
