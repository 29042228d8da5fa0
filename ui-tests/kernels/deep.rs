//! Sizes that reach every loop of the device library: a contraction of several blocks and steps, tiles of several panels
//! and column tiles enough for several per core, puts of more rows than half of UB holds, vector tasks of several pieces.

use hpmoe_runtime::prelude::*;

#[megakernel]
pub mod deep {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 304;
    /// With a contraction of this length, `widen` can read two blocks of weights ahead, and there is a third one.
    pub const INTER: usize = 272;
    /// Half of UB has room for eleven rows of the result.
    pub const OUT: usize = 2048;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 40;

    /// Rows and columns of tiles whose products are so small that the next one needs a barrier to see their sums.
    pub const TILE_M: usize = 16;
    pub const TILE_N: usize = 16;
    /// Rows and columns of tiles that need several panels.
    pub const TALL: usize = 48;
    pub const WIDE: usize = 1024;
    pub const PUT: usize = 16;
    pub const BLOCK: usize = 14;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[comm_put]
    pub fn carry(tokens: &Tile<f32, TALL, OUT>, rows: &mut Tile<f32, TALL, OUT>) {
        rows.put(tokens);
    }

    #[aic_task]
    pub fn project(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, TILE_N, HIDDEN>, y: &mut Tile<bf16, TILE_M, TILE_N>) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn swiglu(
        gate: &Tile<bf16, TILE_M, TILE_N>,
        up: &Tile<bf16, TILE_M, TILE_N>,
        h: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        let gate = gate.load();
        h.store(gate.silu() * up.load());
    }

    #[aic_task]
    pub fn widen(x: &Tile<bf16, TALL, INTER>, w: &Tile<bf16, WIDE, INTER>, y: &mut Tile<f32, TALL, WIDE>) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn scale(wide: &Tile<f32, TALL, WIDE>, carried: &Tile<f32, TALL, WIDE>, scaled: &mut Tile<f32, TALL, WIDE>) {
        scaled.store(wide.load() * carried.load());
    }

    #[comm_put]
    pub fn give_back(results: &Tile<f32, TALL, OUT>, slots: &mut Tile<f32, TALL, OUT>) {
        slots.put(results);
    }

    #[aiv_task]
    pub fn combine(slots: &Tile<f32, SLOTS, WIDE>, weights: &Tile<f32, BLOCK, TOP_K>, y: &mut Tile<f32, BLOCK, WIDE>) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, OUT>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, OUT, INTER>>,
        y: &mut PerRank<Tensor<f32, OUT>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let held = PerRank::symmetric::<f32, OUT>(ep, route);
        let g = PerRank::ragged::<bf16, INTER>(ep, route);
        let u = PerRank::ragged::<bf16, INTER>(ep, route);
        let h = PerRank::ragged::<bf16, INTER>(ep, route);
        let wide = PerRank::ragged::<f32, OUT>(ep, route);
        let out = PerRank::ragged::<f32, OUT>(ep, route);
        let back = PerRank::slots::<f32, OUT>(ep, route);

        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<TALL>(src, e) {
                    carry(&z[src].gather(&s), &mut held[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..INTER.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &gate[r].expert(e).tile(n), &mut g[r].group(e, m).cols(n));
                        project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                        swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
                    }
                }
                for m in route.row_tiles::<TALL>(e) {
                    for n in 0..OUT.div_ceil(WIDE) {
                        widen(&h[r].group(e, m), &down[r].expert(e).tile(n), &mut wide[r].group(e, m).cols(n));
                        scale(
                            &wide[r].group(e, m).cols(n),
                            &held[r].group(e, m).cols(n),
                            &mut out[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<TALL>(src, e) {
                    give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..OUT.div_ceil(WIDE) {
                    combine(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}
