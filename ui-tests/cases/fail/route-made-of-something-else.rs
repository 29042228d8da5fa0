//! Routes that are made from something other than ids of this kernel's experts.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const PUT: usize = 16;
    pub const TILE_M: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[taskflow]
    pub fn a(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, 3>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn b(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<8>(ep, ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn c(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, idx);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }
}

fn main() {}
