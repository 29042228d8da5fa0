//! A first kernel, RMSNorm: divides each token by its root mean square, and multiplies its columns by a gain.

use hpmoe_runtime::prelude::*;
use std::error::Error;

use rms::{EXPERTS, HIDDEN, TOP_K};

#[megakernel]
pub mod rms {
    use hpmoe_runtime::prelude::*;

    /// Columns per token.
    pub const HIDDEN: usize = 64;
    /// Experts of the whole group.
    pub const EXPERTS: usize = 4;
    /// Experts per token.
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 32;
    /// Tokens per tile.
    pub const BLOCK: usize = _;

    /// Divides each token by its root mean square, and multiplies its columns by the gain.
    #[aiv_task]
    pub fn norm(x: &Tile<bf16, BLOCK, HIDDEN>, gain: &Tile<bf16, 1, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load().rms_norm(1e-6) * gain.load());
    }

    /// Normalizes all tokens of all ranks.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        gain: &PerRank<Matrix<bf16, 1, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                norm(&x[r].rows(t), &gain[r].tile(0), &mut y[r].rows(t));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // Two ranks, as threads of this process. The first rank has 11 tokens, the second one 3.
    let group = Group::new(2);
    let ep = group.ranks();
    let tokens = [11, 3];
    let x = PerRank::from_fn(ep, |r| Tensor::from_f32(&numbers(tokens[r.id()] * HIDDEN)));
    let gain = PerRank::from_fn(ep, |_| Matrix::from_slice(&[bf16::from_f32(0.5); HIDDEN]));

    // The route: expert 0 and expert 1 for every token. This kernel uses only its token counts.
    let ids = PerRank::from_fn(ep, |r| Tensor::<i32, TOP_K>::from_vec([0, 1].repeat(tokens[r.id()])));
    let route = Route::new(ep, EXPERTS, &ids)?;

    // The megakernel.
    let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(tokens[r.id()]));
    let report = rms::forward::launch(&group, &route, &x, &gain, &mut y)?;
    println!("{report}");

    // The same function, called directly: the reference.
    let mut expected = PerRank::from_fn(ep, |r| Tensor::zeros(tokens[r.id()]));
    rms::forward(ep, &route, &x, &gain, &mut expected);
    assert!(y == expected, "the kernel's bits differ from the reference's");
    println!("the kernel is bit-identical to its reference");
    Ok(())
}

/// Numbers between -1 and 1 that differ from place to place.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

#[cfg(test)]
mod tests {
    use super::rms::norm;
    use hpmoe_runtime::prelude::*;

    #[test]
    fn a_token_gets_a_root_mean_square_of_one() {
        // One token of eight columns: tiles may be smaller than their types say.
        let x = TileBuf::<bf16>::from_f32(1, 8, &[3.0, -3.0, 3.0, -3.0, 3.0, -3.0, 3.0, -3.0]);
        let gain = TileBuf::<bf16>::from_f32(1, 8, &[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
        let y = TileBuf::<bf16>::like(&x);
        norm(&x.tile(), &gain.tile(), &mut y.tile());
        assert_eq!(y.to_f32(), [1.0, -1.0, 1.0, -1.0, 2.0, -2.0, 2.0, -2.0]);
    }
}
