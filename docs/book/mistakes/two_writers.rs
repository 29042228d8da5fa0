//! Two calls write the same rows.

#[megakernel]
pub mod mistake {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 32;
    pub const BLOCK: usize = 8;

    #[aiv_task]
    pub fn double(x: &Tile<bf16, BLOCK, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load() * 2.0);
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        z: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                double(&x[r].rows(t), &mut y[r].rows(t));
                double(&z[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}
