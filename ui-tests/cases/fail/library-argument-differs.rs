//! A task of the library, by another name, with a tile of another type.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::project as product;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const TILE_M: usize = 16;
    pub const TILE_N: usize = 16;

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Matrix<f32, HIDDEN, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<TILE_M>(r) {
                for n in 0..HIDDEN.div_ceil(TILE_N) {
                    product::<TILE_N, _, _>(&x[r].rows(t), &w[r].tile(n), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}

fn main() {}
