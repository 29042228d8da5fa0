//! A product whose tile sizes are left to the build.

use hpmoe_runtime::prelude::*;
use numbers::rounded;
use open::{BLOCK, EXPERTS, HIDDEN, INTER, TILE_N, TOKENS, TOP_K};
use std::error::Error;

#[megakernel]
pub mod open {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 256;
    pub const INTER: usize = 384;
    pub const EXPERTS: usize = 32;
    pub const TOP_K: usize = 1;
    pub const TOKENS: usize = 128;

    /// Rows per tile of the product.
    pub const BLOCK: usize = _;
    /// Columns per tile of the product.
    pub const TILE_N: usize = _;

    #[aic_task]
    pub fn project(x: &Tile<bf16, BLOCK, HIDDEN>, w: &Tile<bf16, TILE_N, HIDDEN>, y: &mut Tile<f32, BLOCK, TILE_N>) {
        y.store(x.matmul_t(w));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Matrix<bf16, INTER, HIDDEN>>,
        y: &mut PerRank<Tensor<f32, INTER>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                for n in 0..INTER.div_ceil(TILE_N) {
                    project(&x[r].rows(t), &w[r].tile(n), &mut y[r].rows(t).cols(n));
                }
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let group = Group::new(2);
    let ep = group.ranks();
    let tokens = [TOKENS, 77];
    let x = PerRank::from_fn(ep, |rank| Tensor::from_slice(&rounded(rank.id(), tokens[rank.id()] * HIDDEN)));
    let w = PerRank::from_fn(ep, |rank| Matrix::from_slice(&rounded(2 + rank.id(), INTER * HIDDEN)));
    let ids = PerRank::from_fn(ep, |rank| Tensor::<i32, TOP_K>::from_vec(vec![0; tokens[rank.id()] * TOP_K]));
    let route = Route::new(ep, EXPERTS, &ids)?;
    let room = || PerRank::from_fn(ep, |rank| Tensor::zeros(tokens[rank.id()]));
    let (mut found, mut expected): (PerRank<Tensor<f32, INTER>>, _) = (room(), room());
    open::forward::launch(&group, &route, &x, &w, &mut found)?;
    open::forward(ep, &route, &x, &w, &mut expected);
    assert!(found == expected, "the kernel gives different bits than the reference");
    println!("tiles of {BLOCK} by {TILE_N}, and the bits of the reference");
    Ok(())
}
