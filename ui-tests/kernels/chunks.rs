//! Tokens cut into chunks: all kinds of tensors of a chunk, and the caller's tensors of all tokens.

use hpmoe_runtime::prelude::*;

/// A layer that writes squared tokens to a tensor of the chunk, and sends them with their weights.
#[megakernel]
pub mod chunks {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, project, send_weights, sum_over_k};

    pub const HIDDEN: usize = 64;
    pub const INTER: usize = 32;
    pub const EXPERTS: usize = 6;
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank: the last chunk has one token, or none.
    pub const TOKENS: usize = 41;
    pub const CHUNKS: usize = 5;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 3;
    pub const COLUMNS: usize = 32;
    pub const SLOTS: usize = BLOCK * TOP_K;
    pub const TWO_BLOCKS: usize = 2 * BLOCK;

    /// Each number times itself.
    #[aiv_task]
    pub fn square(x: &Tile<bf16, BLOCK, HIDDEN>, z: &mut Tile<bf16, BLOCK, HIDDEN>) {
        let x = x.load();
        z.store(&x * &x);
    }

    /// Each number twice.
    #[aiv_task]
    pub fn double(z: &Tile<bf16, TWO_BLOCKS, HIDDEN>, y: &mut Tile<bf16, TWO_BLOCKS, HIDDEN>) {
        let z = z.load();
        y.store(&z + &z);
    }

    /// `silu(gate)` multiplied by the weight of each row.
    #[aiv_task]
    pub fn activate(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        weights: &Tile<f32, TILE_M, 1>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let weights = weights.load();
        h.store(gate.load().silu() * &weights);
    }

    /// Puts, products and sums of one layer, chunk by chunk.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Slots<f32, 1>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for c in route.chunks::<CHUNKS>() {
            let z = PerRank::tokens::<bf16, HIDDEN>(ep, &c);
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let weight = PerRank::symmetric::<f32, 1>(ep, &c);
            let g = PerRank::ragged::<bf16, INTER>(ep, &c);
            let h = PerRank::ragged::<bf16, INTER>(ep, &c);
            let out = PerRank::ragged::<bf16, HIDDEN>(ep, &c);
            let back = PerRank::slots::<bf16, HIDDEN>(ep, &c);

            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    square(&x[r].rows(t), &mut z[r].rows(t));
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&z[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                        send_weights(&weights[src].gather(&s), &mut weight[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    for m in c.row_tiles::<TILE_M>(e) {
                        for n in 0..INTER.div_ceil(TILE_N) {
                            project::<TILE_N, _, _>(
                                &recv[r].group(e, m),
                                &gate[r].expert(e).tile(n),
                                &mut g[r].group(e, m).cols(n),
                            );
                            activate(&g[r].group(e, m).cols(n), &weight[r].group(e, m), &mut h[r].group(e, m).cols(n));
                        }
                        for n in 0..HIDDEN.div_ceil(TILE_N) {
                            project::<TILE_N, _, _>(
                                &h[r].group(e, m),
                                &down[r].expert(e).tile(n),
                                &mut out[r].group(e, m).cols(n),
                            );
                        }
                    }
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    for n in 0..HIDDEN.div_ceil(COLUMNS) {
                        sum_over_k::<SLOTS, COLUMNS, _>(&back[r].slots(t).cols(n), &mut y[r].rows(t).cols(n));
                    }
                }
            }
        }
    }

    /// Blocks of two heights, and the second of two consecutive matrices.
    #[taskflow]
    pub fn apart(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        stacked: &PerRank<Experts<bf16, { 2 * INTER }, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        v: &mut PerRank<Tensor<bf16, INTER>>,
    ) {
        for c in route.chunks::<CHUNKS>() {
            let z = PerRank::tokens::<bf16, HIDDEN>(ep, &c);
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let h = PerRank::ragged::<bf16, INTER>(ep, &c);
            let back = PerRank::slots::<bf16, INTER>(ep, &c);

            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    square(&x[r].rows(t), &mut z[r].rows(t));
                }
                for t in c.token_blocks::<TWO_BLOCKS>(r) {
                    double(&z[r].rows(t), &mut y[r].rows(t));
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&z[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    for m in c.row_tiles::<TILE_M>(e) {
                        for n in 0..INTER.div_ceil(TILE_N) {
                            project::<TILE_N, _, _>(
                                &recv[r].group(e, m),
                                &stacked[r].expert(e).tile::<INTER>(1).tile(n),
                                &mut h[r].group(e, m).cols(n),
                            );
                        }
                    }
                }
            }
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        give_back(&h[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
            for r in ep {
                for t in c.token_blocks::<BLOCK>(r) {
                    sum_over_k::<SLOTS, INTER, _>(&back[r].slots(t), &mut v[r].rows(t));
                }
            }
        }
    }
}
