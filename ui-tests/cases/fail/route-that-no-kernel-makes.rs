//! Features for which a kernel that makes its route has no tables.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 64;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 256;
    pub const PUT: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[aiv_task]
    pub fn copy(x: &Tile<bf16, PUT, HIDDEN>, z: &mut Tile<bf16, PUT, HIDDEN>) {
        z.store(x.load());
    }

    #[taskflow]
    pub fn once(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Once<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends_once::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn unsent(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        rows: &PerRank<Received<bf16, HIDDEN>>,
        slots: &mut PerRank<Slots<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&rows[e.owner()].rows_of(&s), &mut slots[src].scatter(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn counts(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for c in route.chunks::<33>() {
            for r in ep {
                for t in c.token_blocks::<PUT>(r) {
                    copy(&x[r].rows(t), &mut z[r].rows(t));
                }
            }
        }
    }

    #[taskflow]
    pub fn chunks(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for c in route.chunks::<65>() {
            for r in ep {
                for t in c.token_blocks::<PUT>(r) {
                    copy(&x[r].rows(t), &mut z[r].rows(t));
                }
            }
        }
    }

    #[aiv_task]
    pub fn sum(slots: &Tile<bf16, { PUT * TOP_K }, HIDDEN>, y: &mut Tile<bf16, PUT, HIDDEN>) {
        y.store(slots.load().fold_rows::<PUT>());
    }

    #[taskflow]
    pub fn early(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        slots: &PerRank<Slots<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
        z: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in x.token_blocks::<PUT>(r) {
                sum(&slots[r].slots(t), &mut y[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, ids);
        for r in ep {
            for t in route.token_blocks::<PUT>(r) {
                copy(&x[r].rows(t), &mut z[r].rows(t));
            }
        }
    }
}

fn main() {}
