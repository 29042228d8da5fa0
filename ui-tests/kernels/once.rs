//! Tokens are sent once to each rank, copied to the rows of their experts, and come back. What was sent can be kept, and copied
//! again by a taskflow of its own.

use hpmoe_runtime::prelude::*;

#[megakernel]
pub mod once {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 40;
    /// Columns of another tensor that is sent along with the tokens.
    pub const OTHER: usize = 16;
    pub const EXPERTS: usize = 24;
    pub const TOP_K: usize = 4;
    pub const TOKENS: usize = 24;
    /// Rows per put and per copy: neither divides the other.
    pub const PUT: usize = 3;
    pub const COPY: usize = 5;
    /// The same for the other tensor: a copy has the rows of two puts.
    pub const PUT_OTHER: usize = 2;
    pub const COPY_OTHER: usize = 4;
    pub const BLOCK: usize = 4;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[comm_put]
    pub fn put<const R: usize, const C: usize>(from: &Tile<bf16, R, C>, to: &mut Tile<bf16, R, C>) {
        to.put(from);
    }

    #[aiv_task]
    pub fn sum<const C: usize>(
        slots: &Tile<bf16, SLOTS, C>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<f32, BLOCK, C>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<bf16, OTHER>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        kept: &mut PerRank<Once<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<f32, HIDDEN>>,
        v: &mut PerRank<Tensor<f32, OTHER>>,
    ) {
        let other = PerRank::once::<bf16, OTHER>(ep, route);
        let rows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let other_rows = PerRank::ragged::<bf16, OTHER>(ep, route);
        let slots = PerRank::slots::<bf16, HIDDEN>(ep, route);
        let other_slots = PerRank::slots::<bf16, OTHER>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends_once::<PUT>(src, e) {
                    put(&x[src].gather(&s), &mut kept[e.owner()].rows_of(&s));
                }
                for s in route.sends_once::<PUT_OTHER>(src, e) {
                    put(&z[src].gather(&s), &mut other[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<COPY>(e) {
                    put(&kept[r].gather(e, m), &mut rows[r].group(e, m));
                }
                for m in route.row_tiles::<COPY_OTHER>(e) {
                    put(&other[r].gather(e, m), &mut other_rows[r].group(e, m));
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&rows[e.owner()].rows_of(&s), &mut slots[src].scatter(&s));
                    put(&other_rows[e.owner()].rows_of(&s), &mut other_slots[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                sum(&slots[r].slots(t), &weights[r].rows(t), &mut y[r].rows(t));
                sum(&other_slots[r].slots(t), &weights[r].rows(t), &mut v[r].rows(t));
            }
        }
    }

    #[taskflow]
    pub fn again(
        ep: Ranks,
        route: &Route,
        kept: &PerRank<Once<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        y: &mut PerRank<Tensor<f32, HIDDEN>>,
    ) {
        let rows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let slots = PerRank::slots::<bf16, HIDDEN>(ep, route);
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<COPY>(e) {
                    put(&kept[r].gather(e, m), &mut rows[r].group(e, m));
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&rows[e.owner()].rows_of(&s), &mut slots[src].scatter(&s));
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
