//! Routes that can't be kept, taken or cut into groups as it is said.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 8;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const GROUPS: usize = 3;
    pub const BLOCK: usize = 16;

    #[aiv_task]
    pub fn copy(x: &Tile<bf16, BLOCK, HIDDEN>, z: &mut Tile<bf16, BLOCK, HIDDEN>) {
        z.store(x.load());
    }

    #[taskflow]
    fn all(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>, z: &mut PerRank<Tensor<bf16, HIDDEN>>) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                copy(&x[r].rows(t), &mut z[r].rows(t));
            }
        }
    }

    #[taskflow]
    pub fn read_only(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        routed: &PerRank<Routed>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        route.keep(routed);
        all(ep, &route, x, z);
    }

    #[taskflow]
    pub fn written(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        routed: &mut PerRank<Routed>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed);
        all(ep, &route, x, z);
    }

    #[taskflow]
    pub fn again(
        ep: Ranks,
        kept: &PerRank<Routed>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        routed: &mut PerRank<Routed>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, kept);
        route.keep(routed);
        all(ep, &route, x, z);
    }

    #[taskflow]
    pub fn groups(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids).in_groups::<GROUPS>();
        all(ep, &route, x, z);
    }

    #[aiv_task]
    pub fn turn(u: &Tile<bf16, BLOCK, HIDDEN>, h: &mut Tile<bf16, BLOCK, HIDDEN>) {
        h.store(u.load().relu());
    }

    #[taskflow]
    pub fn without_tokens(
        ep: Ranks,
        routed: &PerRank<Routed>,
        u: &PerRank<Received<bf16, HIDDEN>>,
        h: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<BLOCK>(e) {
                    turn(&u[r].group(e, m), &mut h[r].group(e, m));
                }
            }
        }
    }
}

fn main() {}
