//! A loop that exceeds the rows of a matrix.

use hpmoe_runtime::prelude::*;

#[megakernel]
mod layer {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    pub const TILE_M: usize = 16;
    pub const TILE_N: usize = 16;

    #[aic_task]
    pub fn project(
        x: &Tile<bf16, TILE_M, HIDDEN>,
        w: &Tile<bf16, TILE_N, HIDDEN>,
        y: &mut Tile<bf16, TILE_M, TILE_N>,
    ) {
        y.store(x.matmul_t(w));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Matrix<bf16, HIDDEN, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<TILE_M>(r) {
                for n in 0..5 {
                    project(&x[r].rows(t), &w[r].tile(n), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}

fn main() {}
