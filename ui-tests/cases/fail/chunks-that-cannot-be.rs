//! Invalid loops over chunks.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const PUT: usize = 8;

    #[comm_put]
    pub fn dispatch(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[aiv_task]
    pub fn activate(a: &Tile<bf16, PUT, HIDDEN>, b: &mut Tile<bf16, PUT, HIDDEN>) {
        b.store(a.load().silu());
    }

    #[aic_task]
    pub fn gradient(a: &Tile<bf16, RAGGED, HIDDEN>, w: &mut Tile<f32, HIDDEN, HIDDEN>) {
        w.store(a.t_matmul(a));
    }

    #[taskflow]
    pub fn tensor_outside(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        for c in route.chunks::<4>() {
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
        }
    }

    #[taskflow]
    pub fn inside_of_another_loop(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>) {
        for r in ep {
            for c in route.chunks::<4>() {
                let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            }
        }
    }

    #[taskflow]
    pub fn rows_of_all_chunks(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>, recv: &mut PerRank<Received<bf16, HIDDEN>>) {
        for c in route.chunks::<4>() {
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
        }
    }

    #[taskflow]
    pub fn two_loops(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>) {
        for c in route.chunks::<4>() {}
        for d in route.chunks::<2>() {}
    }

    #[taskflow]
    pub fn none_and_too_many(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>) {
        for c in route.chunks::<0>() {}
    }

    #[aic_task]
    pub fn gradient_onto(a: &Tile<bf16, RAGGED, HIDDEN>, w: &mut Tile<f32, HIDDEN, HIDDEN>) {
        w.accumulate(a.t_matmul(a));
    }

    #[aiv_task]
    pub fn scale(a: &Tile<bf16, PUT, HIDDEN>, w: &Tile<f32, 1, HIDDEN>, b: &mut Tile<bf16, PUT, HIDDEN>) {
        let w = w.load();
        b.store(a.load() * &w);
    }

    #[taskflow]
    pub fn sums_read(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>, w: &mut PerRank<Experts<f32, HIDDEN, HIDDEN>>) {
        for c in route.chunks::<4>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            let z = PerRank::ragged::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    gradient_onto(&recv[r].expert(e), &mut w[r].expert(e));
                    for m in c.row_tiles::<PUT>(e) {
                        scale(&recv[r].group(e, m), &w[r].expert(e).tile(0), &mut z[r].group(e, m));
                    }
                }
            }
        }
    }

    #[taskflow]
    pub fn gradients(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>, w: &mut PerRank<Experts<f32, HIDDEN, HIDDEN>>) {
        for c in route.chunks::<4>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
            for r in ep {
                for e in c.experts_of(r) {
                    gradient(&recv[r].expert(e), &mut w[r].expert(e));
                }
            }
        }
    }
}

fn main() {}
