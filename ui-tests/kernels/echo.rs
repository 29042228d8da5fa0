//! Tokens go to their experts' ranks and come back: communication only.

use hpmoe_runtime::prelude::*;

#[megakernel]
pub mod echo {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 48;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const PUT: usize = 8;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[comm_put]
    pub fn there(tokens: &Tile<bf16, PUT, HIDDEN>, rows: &mut Tile<bf16, PUT, HIDDEN>) {
        rows.put(tokens);
    }

    #[comm_put]
    pub fn back(rows: &Tile<bf16, PUT, HIDDEN>, slots: &mut Tile<bf16, PUT, HIDDEN>) {
        slots.put(rows);
    }

    #[aiv_task]
    pub fn sum(slots: &Tile<bf16, SLOTS, HIDDEN>, weights: &Tile<f32, BLOCK, TOP_K>, y: &mut Tile<f32, BLOCK, HIDDEN>) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<f32, HIDDEN>>,
    ) {
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let slots = PerRank::slots::<bf16, HIDDEN>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    there(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        back(&recv[r].rows_of(&s), &mut slots[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                sum(&slots[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}
