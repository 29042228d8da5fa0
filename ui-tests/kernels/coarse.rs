//! Tiles whose heights don't divide one another: counters stand for whole experts instead.

use hpmoe_runtime::prelude::*;

#[megakernel]
pub mod coarse {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 80;
    pub const INTER: usize = 40;
    pub const EXPERTS: usize = 6;
    pub const TOP_K: usize = 3;
    pub const TOKENS: usize = 50;
    pub const PUT: usize = 12;
    pub const TILE_M: usize = 32;
    pub const TILE_N: usize = 16;
    pub const ROWS: usize = 10;
    pub const BLOCK: usize = 7;
    pub const COLUMNS: usize = 16;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[aic_task]
    pub fn project(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, TILE_N, HIDDEN>, y: &mut Tile<f32, TILE_M, TILE_N>) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn square(a: &Tile<f32, ROWS, INTER>, b: &mut Tile<bf16, ROWS, INTER>) {
        let rounded = a.load().cast::<bf16>();
        b.store(rounded * a.load());
    }

    #[comm_put]
    pub fn give_back(rows: &Tile<bf16, ROWS, INTER>, slots: &mut Tile<bf16, ROWS, INTER>) {
        slots.put(rows);
    }

    #[aiv_task]
    pub fn sum(
        slots: &Tile<bf16, SLOTS, COLUMNS>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<bf16, BLOCK, COLUMNS>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<bf16, INTER>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let a = PerRank::ragged::<f32, INTER>(ep, route);
        let b = PerRank::ragged::<bf16, INTER>(ep, route);
        let back = PerRank::slots::<bf16, INTER>(ep, route);
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
                        project(&recv[r].group(e, m), &w[r].expert(e).tile(n), &mut a[r].group(e, m).cols(n));
                    }
                }
                for m in route.row_tiles::<ROWS>(e) {
                    square(&a[r].group(e, m), &mut b[r].group(e, m));
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<ROWS>(src, e) {
                    give_back(&b[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..INTER.div_ceil(COLUMNS) {
                    sum(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}
