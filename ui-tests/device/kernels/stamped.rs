//! A layer that records time stamps and makes its route.

use hpmoe_runtime::prelude::*;

#[megakernel]
pub mod stamped {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::taskflows::{combine_slots, dispatch_tokens, give_back_rows, project_rows};

    pub const HIDDEN: usize = 32;
    pub const EXPERTS: usize = 8;
    pub const TOP_K: usize = 3;
    pub const TOKENS: usize = 20;

    pub const TILE_M: usize = 8;
    pub const TILE_N: usize = 16;
    pub const PUT: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        w: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
        let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, &route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, &route);
        dispatch_tokens::<PUT, _>(ep, &route, x, &mut recv);
        project_rows::<TILE_M, TILE_N, _, _>(ep, &route, &recv, w, &mut out);
        give_back_rows::<PUT, _>(ep, &route, &out, &mut back);
        combine_slots::<BLOCK, SLOTS, HIDDEN, _, _>(ep, &route, &back, weights, y);
    }
}
