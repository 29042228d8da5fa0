//! Matrices of experts to which each chunk adds.

use hpmoe_runtime::prelude::*;

/// Two gradients of weights, summed up over all tokens, chunk by chunk.
#[megakernel]
pub mod sums {
    use hpmoe_runtime::prelude::*;

    /// Two tiles and a half.
    pub const HIDDEN: usize = 40;
    /// One and a half.
    pub const INTER: usize = 24;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 29;
    pub const CHUNKS: usize = 4;
    pub const TILE: usize = 16;
    pub const PUT: usize = 8;

    #[comm_put]
    pub fn put<const C: usize>(from: &Tile<bf16, PUT, C>, to: &mut Tile<bf16, PUT, C>) {
        to.put(from);
    }

    #[aic_task]
    pub fn contract_onto(x: &Tile<bf16, RAGGED, TILE>, y: &Tile<bf16, RAGGED, TILE>, w: &mut Tile<f32, TILE, TILE>) {
        w.accumulate(x.t_matmul(y));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Slots<bf16, INTER>>,
        narrow: &mut PerRank<Experts<f32, INTER, INTER>>,
        wide: &mut PerRank<Experts<f32, HIDDEN, INTER>>,
    ) {
        for c in route.chunks::<CHUNKS>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let rows = PerRank::symmetric::<bf16, INTER>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        put(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                        put(&z[src].gather(&s), &mut rows[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    for m in 0..INTER.div_ceil(TILE) {
                        for n in 0..INTER.div_ceil(TILE) {
                            contract_onto(
                                &rows[r].expert(e).cols(m),
                                &rows[r].expert(e).cols(n),
                                &mut narrow[r].expert(e).tile(m).cols(n),
                            );
                        }
                    }
                    for m in 0..HIDDEN.div_ceil(TILE) {
                        for n in 0..INTER.div_ceil(TILE) {
                            contract_onto(
                                &recv[r].expert(e).cols(m),
                                &rows[r].expert(e).cols(n),
                                &mut wide[r].expert(e).tile(m).cols(n),
                            );
                        }
                    }
                }
            }
        }
    }
}
