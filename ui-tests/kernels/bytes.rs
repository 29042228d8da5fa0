//! Tokens of i8, widened for computation and multiplied without widening.

use hpmoe_runtime::prelude::*;

/// Bytes are sent to their experts' ranks, scaled there, summed, and multiplied.
#[megakernel]
pub mod bytes {
    use hpmoe_runtime::prelude::*;

    /// A row of bytes and a row of f32 have the same pitch in UB; rows of tiles, and of the narrower last tile, don't.
    pub const HIDDEN: usize = 90;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;
    pub const TALL: usize = 24;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 5;
    pub const SLOTS: usize = BLOCK * TOP_K;
    pub const WIDE: usize = 40;
    /// Columns of a product: a tile and a half.
    pub const OUT: usize = 24;
    pub const TILE: usize = 16;
    /// The inverse of the largest magnitude of an i8.
    pub const UNIT: f32 = 1.0 / 128.0;

    #[comm_put]
    pub fn there(from: &Tile<i8, PUT, HIDDEN>, to: &mut Tile<i8, PUT, HIDDEN>) {
        to.put(from);
    }

    #[comm_put]
    pub fn back(from: &Tile<bf16, PUT, HIDDEN>, to: &mut Tile<bf16, PUT, HIDDEN>) {
        to.put(from);
    }

    /// Converts bytes to bf16: exact, because bf16 has eight significant bits.
    #[aiv_task]
    pub fn widen(x: &Tile<i8, TALL, WIDE>, y: &mut Tile<bf16, TALL, WIDE>) {
        y.store(x.load());
    }

    /// One row of bytes combined with all rows.
    #[aiv_task]
    pub fn shift(
        x: &Tile<i8, TALL, HIDDEN>,
        offset: &Tile<i8, 1, HIDDEN>,
        y: &Tile<bf16, TALL, HIDDEN>,
        z: &mut Tile<bf16, TALL, HIDDEN>,
    ) {
        let x = x.load();
        z.store(&x * 0.25 + offset.load() - y.load() * x);
    }

    /// A contraction that ends inside a fractal.
    #[aic_task]
    pub fn multiply(x: &Tile<i8, TALL, HIDDEN>, w: &Tile<i8, TILE, HIDDEN>, y: &mut Tile<i32, TALL, TILE>) {
        y.store(x.matmul_t(w));
    }

    /// Converts to bytes again; sums that are too large become the largest byte.
    #[aiv_task]
    pub fn narrow(sums: &Tile<i32, TALL, OUT>, y: &mut Tile<i8, TALL, OUT>) {
        y.store(sums.load() * 0.0015);
    }

    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        x: &Tile<i8, BLOCK, HIDDEN>,
        scale: &Tile<f32, BLOCK, 1>,
        y: &mut Tile<f32, BLOCK, HIDDEN>,
        same: &mut Tile<f32, BLOCK, HIDDEN>,
    ) {
        let x = x.load();
        same.store(&x);
        y.store(x * (scale.load() * UNIT) + slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<i8, HIDDEN>>,
        scale: &PerRank<Tensor<f32, 1>>,
        offset: &PerRank<Experts<i8, 1, HIDDEN>>,
        w: &PerRank<Experts<i8, OUT, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<f32, HIDDEN>>,
        same: &mut PerRank<Tensor<f32, HIDDEN>>,
        sums: &mut PerRank<Received<i32, OUT>>,
        rounded: &mut PerRank<Received<i8, OUT>>,
    ) {
        let recv = PerRank::symmetric::<i8, HIDDEN>(ep, route);
        let wide = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let z = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let slots = PerRank::slots::<bf16, HIDDEN>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    there(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TALL>(e) {
                    for n in 0..HIDDEN.div_ceil(WIDE) {
                        widen(&recv[r].group(e, m).cols(n), &mut wide[r].group(e, m).cols(n));
                    }
                    shift(
                        &recv[r].group(e, m),
                        &offset[r].expert(e).tile(0),
                        &wide[r].group(e, m),
                        &mut z[r].group(e, m),
                    );
                    for n in 0..OUT.div_ceil(TILE) {
                        multiply(&recv[r].group(e, m), &w[r].expert(e).tile(n), &mut sums[r].group(e, m).cols(n));
                    }
                    narrow(&sums[r].group(e, m), &mut rounded[r].group(e, m));
                }
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        back(&z[r].rows_of(&s), &mut slots[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                combine(
                    &slots[r].slots(t),
                    &weights[r].rows(t),
                    &x[r].rows(t),
                    &scale[r].rows(t),
                    &mut y[r].rows(t),
                    &mut same[r].rows(t),
                );
            }
        }
    }
}
