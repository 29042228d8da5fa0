//! Two tiles have the same type, but the end of its tensor cuts one of them short.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const INTER: usize = 24;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const TILE_M: usize = 16;
    pub const TILE_N: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, TILE_M, HIDDEN>, rows: &mut Tile<bf16, TILE_M, HIDDEN>) {
        rows.put(tokens);
    }

    #[aic_task]
    pub fn project(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, TILE_N, HIDDEN>, y: &mut Tile<bf16, TILE_M, TILE_N>) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn activate(a: &Tile<bf16, TILE_M, INTER>, b: &mut Tile<bf16, TILE_M, INTER>) {
        b.store(a.load().silu());
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Experts<bf16, INTER, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let a = PerRank::ragged::<bf16, INTER>(ep, route);
        let b = PerRank::ragged::<bf16, INTER>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<TILE_M>(src, e) {
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
                    project(&recv[r].group(e, m), &w[r].expert(e).tile(0), &mut b[r].group(e, m).cols(1));
                }
            }
        }
    }
}

fn main() {}
