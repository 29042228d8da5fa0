//! A hand-written gated activation that replaces a task's body.

use hpmoe_runtime::prelude::*;
use numbers::{ids, numbers};
use ported::{BOTH, EXPERTS, INTER, TOP_K};
use std::error::Error;

#[megakernel]
pub mod ported {
    use hpmoe_runtime::prelude::*;

    /// Columns of the gate, and of the part of the row that it multiplies.
    pub const INTER: usize = 64;
    pub const BOTH: usize = 2 * INTER;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    /// Tokens per tile.
    pub const BLOCK: usize = _;

    /// `silu(gate) · up`. Each row has its gate columns first, then its up columns.
    #[aiv_task(external = "ops/silu_and_mul.h", function = "ops::silu_and_mul", ub = 16 * BLOCK * INTER)]
    pub fn silu_and_mul(x: &Tile<bf16, BLOCK, BOTH>, y: &mut Tile<bf16, BLOCK, INTER>) {
        let both = x.load();
        y.store(both.columns::<INTER>(0).silu() * both.columns::<INTER>(INTER));
    }

    #[taskflow]
    pub fn forward(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, BOTH>>, y: &mut PerRank<Tensor<bf16, INTER>>) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                silu_and_mul(&x[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Numbers of tokens around the height of a tile, so that the last tile has one row, all but one, or all.
    for tokens in [1, 7, 8, 9, 64] {
        let group = Group::new(1);
        let ep = group.ranks();
        let x = PerRank::from_fn(ep, |_| Tensor::from_f32(&numbers(tokens, tokens * BOTH)));
        let route = Route::new(ep, EXPERTS, &PerRank::from_fn(ep, |_| ids::<TOP_K>(EXPERTS, tokens)))?;
        let mut expected = PerRank::from_fn(ep, |_| Tensor::<bf16, INTER>::zeros(tokens));
        ported::forward(ep, &route, &x, &mut expected);
        let mut y = PerRank::from_fn(ep, |_| Tensor::zeros(tokens));
        let report = ported::forward::launch(&group, &route, &x, &mut y)?;
        assert!(y == expected, "the operator gives different bits than the body for {tokens} tokens");
        if tokens == 64 {
            println!("{report}");
        }
    }
    println!("the operator has the bits of the body");
    Ok(())
}
