//! A layer that chooses the experts of its tokens by their first columns. Its result can be its next input, so that
//! launches have another route each time without the host's help.

use hpmoe_runtime::prelude::*;

#[megakernel]
pub mod evolving {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, project};

    pub const HIDDEN: usize = 32;
    pub const EXPERTS: usize = 8;
    pub const TOP_K: usize = 3;
    pub const TOKENS: usize = 20;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// A token goes to no expert whose column is below this.
    pub const LEAST: f32 = 0.2;

    #[aiv_task]
    pub fn choose(x: &Tile<bf16, BLOCK, HIDDEN>, ids: &mut Tile<i32, BLOCK, TOP_K>) {
        let z = x.load().columns::<EXPERTS>(0);
        let chosen = z.top_k::<TOP_K>();
        let best = z.pick(&chosen);
        ids.store(best.greater(LEAST).select(chosen, -1.0));
    }

    /// The weighted sum less the token, through tanh, so that numbers neither grow nor vanish.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        x: &Tile<bf16, BLOCK, HIDDEN>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        let sum = slots.load().weighted_sum(&weights.load());
        y.store((sum - x.load()).tanh());
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        w: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let ids = PerRank::tokens::<i32, TOP_K>(ep, x);
        for r in ep {
            for t in x.token_blocks::<BLOCK>(r) {
                choose(&x[r].rows(t), &mut ids[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, &ids);
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
        let out = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
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
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project::<TILE_N, _, _>(
                            &recv[r].group(e, m),
                            &w[r].expert(e).tile(n),
                            &mut out[r].group(e, m).cols(n),
                        );
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                combine(&back[r].slots(t), &weights[r].rows(t), &x[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}
