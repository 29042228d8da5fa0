//! Statements before a route, and routes that are made from ids too late.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod early {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const PUT: usize = 16;
    pub const BLOCK: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[aiv_task]
    pub fn choose(z: &Tile<f32, BLOCK, EXPERTS>, ids: &mut Tile<i32, BLOCK, TOP_K>) {
        ids.store(z.load().top_k::<TOP_K>());
    }

    /// The route is used before it is made, in a loop and by a tensor; a tensor has rows of something else.
    #[taskflow]
    pub fn early(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let ids = PerRank::tokens::<i32, TOP_K>(ep, &route);
        let slots = PerRank::slots::<bf16, HIDDEN>(ep, x);
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, &ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }
}

#[megakernel]
mod late {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const PUT: usize = 16;
    pub const BLOCK: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[aiv_task]
    pub fn choose(z: &Tile<f32, BLOCK, EXPERTS>, ids: &mut Tile<i32, BLOCK, TOP_K>) {
        ids.store(z.load().top_k::<TOP_K>());
    }

    #[aiv_task]
    pub fn best(z: &Tile<f32, BLOCK, EXPERTS>, id: &mut Tile<i32, BLOCK, 1>) {
        id.store(z.load().arg_max());
    }

    // Ids that nothing writes, that are written later, and that are only partly written.
    #[taskflow]
    pub fn nobody(ep: Ranks, x: &PerRank<Tensor<bf16, HIDDEN>>, y: &mut PerRank<Received<bf16, HIDDEN>>) {
        let ids = PerRank::tokens::<i32, TOP_K>(ep, x);
        let route = Route::of::<EXPERTS>(ep, &ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn later(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        ids: &mut PerRank<Tensor<i32, TOP_K>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t));
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn in_part(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        ids: &mut PerRank<Tensor<i32, TOP_K>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in x.token_blocks::<BLOCK>(r) {
                best(&z[r].rows(t), &mut ids[r].rows(t).cols(0));
            }
        }
        let route = Route::of::<EXPERTS>(ep, ids);
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                best(&z[r].rows(t), &mut ids[r].rows(t).cols(1));
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }
}

/// Tasks before a route whose tokens are cut into chunks, and tokens of rows.
#[megakernel]
mod chunks {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const PUT: usize = 16;
    pub const BLOCK: usize = 16;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[aiv_task]
    pub fn choose(z: &Tile<f32, BLOCK, EXPERTS>, ids: &mut Tile<i32, BLOCK, TOP_K>) {
        ids.store(z.load().top_k::<TOP_K>());
    }

    // Tokens of a tensor that has none.
    #[taskflow]
    pub fn tokens_of_rows(
        ep: Ranks,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let ids = PerRank::tokens::<i32, TOP_K>(ep, y);
        for r in ep {
            for t in z.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, &ids);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                }
            }
        }
    }

    #[taskflow]
    pub fn cut(ep: Ranks, x: &PerRank<Tensor<bf16, HIDDEN>>, z: &PerRank<Tensor<f32, EXPERTS>>) {
        let ids = PerRank::tokens::<i32, TOP_K>(ep, x);
        for r in ep {
            for t in x.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut ids[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, &ids);
        for c in route.chunks::<3>() {
            let y = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                    }
                }
            }
        }
    }

    #[taskflow]
    pub fn cut_after_other_tasks(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<f32, EXPERTS>>,
        best: &mut PerRank<Tensor<i32, TOP_K>>,
    ) {
        for r in ep {
            for t in x.token_blocks::<BLOCK>(r) {
                choose(&z[r].rows(t), &mut best[r].rows(t));
            }
        }
        let route = Route::of::<EXPERTS>(ep, ids);
        for c in route.chunks::<3>() {
            let y = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut y[e.owner()].rows_of(&s));
                    }
                }
            }
        }
    }
}

fn main() {}
