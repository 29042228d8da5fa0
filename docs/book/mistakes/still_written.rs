//! A call reads columns that later iterations write.

#[megakernel]
pub mod mistake {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 32;
    pub const BLOCK: usize = 8;
    pub const COLUMNS: usize = 16;

    #[aiv_task]
    pub fn double(x: &Tile<bf16, BLOCK, COLUMNS>, y: &mut Tile<bf16, BLOCK, COLUMNS>) {
        y.store(x.load() * 2.0);
    }

    #[aiv_task]
    pub fn norm(x: &Tile<bf16, BLOCK, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load().rms_norm(1e-6));
    }

    #[taskflow]
    pub fn forward(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>, y: &mut PerRank<Tensor<bf16, HIDDEN>>) {
        let h = PerRank::tokens::<bf16, HIDDEN>(ep, route);
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..HIDDEN.div_ceil(COLUMNS) {
                    double(&x[r].rows(t).cols(n), &mut h[r].rows(t).cols(n));
                    norm(&h[r].rows(t), &mut y[r].rows(t));
                }
            }
        }
    }
}
