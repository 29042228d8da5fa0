//! Experts that return the token: their share of the sum is computed on the token's rank, and nothing is sent for them.

use hpmoe_runtime::prelude::*;

/// Router, layer, sum and the gradient of the router's weights in one kernel, and a task that reads slots as a matrix.
#[megakernel]
pub mod home {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{dispatch, give_back, project};

    pub const HIDDEN: usize = 32;
    pub const EXPERTS: usize = 4;
    /// Scores per token: experts, and two that return the token.
    pub const SCORES: usize = 6;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 24;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// Columns of a token's slots next to each other.
    pub const WIDE: usize = HIDDEN * TOP_K;

    /// The best scores are the weights. A choice that returns the token is not an expert: its slot is empty, and its weight is for the token.
    #[aiv_task]
    pub fn choose(
        z: &Tile<f32, BLOCK, SCORES>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
        own: &mut Tile<f32, BLOCK, 1>,
    ) {
        let scores = z.load().sigmoid();
        let chosen = scores.top_k::<TOP_K>();
        let w = scores.pick(&chosen);
        let real = chosen.less(EXPERTS as f32);
        own.store(real.select(0.0, &w).row_sum());
        ids.store(real.select(chosen, -1.0));
        weights.store(w);
    }

    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        own: &Tile<f32, BLOCK, 1>,
        x: &Tile<bf16, BLOCK, HIDDEN>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        let sum = slots.load().weighted_sum(&weights.load());
        y.store(sum + x.load() * own.load());
    }

    /// The factor of each weight (a row of an expert, or the token), multiplied by the gradient of the sum.
    #[aiv_task]
    pub fn weigh_grad(
        ids: &Tile<i32, BLOCK, TOP_K>,
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        x: &Tile<bf16, BLOCK, HIDDEN>,
        dy: &Tile<bf16, BLOCK, HIDDEN>,
        dweights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let dy = dy.load();
        let slots = slots.load().reshape::<BLOCK, WIDE>();
        let first = (slots.columns::<HIDDEN>(0) * &dy).row_sum();
        let second = (slots.columns::<HIDDEN>(HIDDEN) * &dy).row_sum();
        let own = (x.load() * &dy).row_sum();
        dweights.store(first.concat(&second) + ids.load().less(0.0) * own);
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        z: &PerRank<Tensor<f32, SCORES>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        dy: &PerRank<Tensor<bf16, HIDDEN>>,
        dweights: &mut PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let ids = PerRank::tokens::<i32, TOP_K>(ep, x);
        let weights = PerRank::tokens::<f32, TOP_K>(ep, x);
        let own = PerRank::tokens::<f32, 1>(ep, x);
        for r in ep {
            for t in x.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t), &mut weights[r].rows(t), &mut own[r].rows(t));
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
                combine(&back[r].slots(t), &weights[r].rows(t), &own[r].rows(t), &x[r].rows(t), &mut y[r].rows(t));
                weigh_grad(&ids[r].rows(t), &back[r].slots(t), &x[r].rows(t), &dy[r].rows(t), &mut dweights[r].rows(t));
            }
        }
    }

    /// Reads all rows of slots, including those of empty slots.
    #[aic_task]
    pub fn multiply(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        w: &Tile<bf16, HIDDEN, HIDDEN>,
        z: &mut Tile<f32, SLOTS, HIDDEN>,
    ) {
        z.store(slots.matmul_t(w));
    }

    /// The kernel makes the route, which may have no empty slots.
    #[taskflow]
    pub fn whole(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Matrix<bf16, HIDDEN, HIDDEN>>,
        z: &mut PerRank<Slots<f32, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
        let back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    give_back(&recv[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                multiply(&back[r].slots(t), &w[r].tile(0), &mut z[r].slots(t));
            }
        }
    }
}
