//! A tensor whose memory other chunks reuse, and that nothing reads.

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

    #[taskflow]
    pub fn never_read(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>) {
        for c in route.chunks::<4>() {
            let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);
            for src in ep {
                for e in c.experts() {
                    for s in c.sends::<PUT>(src, e) {
                        dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }
                }
            }
        }
    }
}

fn main() {}
