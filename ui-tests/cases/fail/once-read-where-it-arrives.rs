//! Once-sent tokens are read piece by piece, as they arrive.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const INTER: usize = 32;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const TILE_M: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, TILE_M, INTER>, rows: &mut Tile<bf16, TILE_M, INTER>) {
        rows.put(tokens);
    }

    #[aiv_task]
    pub fn activate(a: &Tile<bf16, TILE_M, INTER>, b: &mut Tile<bf16, TILE_M, INTER>) {
        b.store(a.load().silu());
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, INTER>>,
    ) {
        let recv = PerRank::once::<bf16, INTER>(ep, route);
        let b = PerRank::once::<bf16, INTER>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends_once::<TILE_M>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends_once::<TILE_M>(src, e) {
                    activate(&recv[e.owner()].rows_of(&s), &mut b[e.owner()].rows_of(&s));
                }
            }
        }
    }
}

fn main() {}
