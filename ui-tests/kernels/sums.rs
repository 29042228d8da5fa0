//! Matrices of experts to which each chunk adds, and rows that come back immediately.

use hpmoe_runtime::prelude::*;

/// Two weight gradients, summed over all tokens, chunk by chunk; and the sum over k of sent rows.
#[megakernel]
pub mod sums {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch as put, sum_over_k, weight_grad_onto};

    /// One tile and a half, like the other size: fewer tiles of a matrix than cores, so no core makes tiles of all matrices.
    pub const HIDDEN: usize = 24;
    pub const INTER: usize = 24;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 29;
    pub const CHUNKS: usize = 4;
    pub const TILE: usize = 16;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 2;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Slots<bf16, INTER>>,
        first: &mut PerRank<Experts<f32, INTER, TILE>>,
        second: &mut PerRank<Experts<f32, HIDDEN, TILE>>,
        y: &mut PerRank<Tensor<bf16, INTER>>,
    ) {
        for c in route.chunks::<CHUNKS>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let rows = PerRank::symmetric::<bf16, INTER>(ep, &c);
            let back = PerRank::slots::<bf16, INTER>(ep, &c);
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
                        weight_grad_onto::<TILE, TILE>(
                            &rows[r].expert(e).cols(m),
                            &rows[r].expert(e).cols(0),
                            &mut first[r].expert(e).tile(m),
                        );
                    }
                    for m in 0..HIDDEN.div_ceil(TILE) {
                        weight_grad_onto::<TILE, TILE>(
                            &recv[r].expert(e).cols(m),
                            &rows[r].expert(e).cols(0),
                            &mut second[r].expert(e).tile(m),
                        );
                    }
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        put(&rows[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    sum_over_k::<SLOTS, INTER, _>(&back[r].slots(t), &mut y[r].rows(t));
                }
            }
        }
    }
}
