//! A router like DeepSeek-V3's: sigmoid scores, a bias that affects only the choice of experts, and weights with a given sum.

use hpmoe_runtime::prelude::*;
use numbers::numbers;
use router::{EXPERTS, HIDDEN, TOP_K};
use std::error::Error;

#[megakernel]
pub mod router {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 16;
    pub const TOP_K: usize = 4;
    pub const TOKENS: usize = 64;
    /// Tokens per tile.
    pub const BLOCK: usize = _;
    /// The sum of each token's weights.
    pub const SCALE: f32 = 2.5;

    /// The logits: one number for each expert.
    #[aic_task]
    pub fn gate(
        x: &Tile<bf16, BLOCK, HIDDEN>,
        w: &Tile<bf16, EXPERTS, HIDDEN>,
        logits: &mut Tile<f32, BLOCK, EXPERTS>,
    ) {
        logits.store(x.matmul_t(w));
    }

    /// The experts of each token, and their weights.
    #[aiv_task]
    pub fn choose(
        logits: &Tile<f32, BLOCK, EXPERTS>,
        bias: &Tile<f32, 1, EXPERTS>,
        ids: &mut Tile<i32, BLOCK, TOP_K>,
        weights: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let scores = logits.load().sigmoid();
        let chosen = (&scores + bias.load()).top_k::<TOP_K>();
        let w = scores.pick(&chosen);
        weights.store(&w / (w.row_sum() + 1e-20) * SCALE);
        ids.store(chosen);
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Matrix<bf16, EXPERTS, HIDDEN>>,
        bias: &PerRank<Matrix<f32, 1, EXPERTS>>,
        ids: &mut PerRank<Tensor<i32, TOP_K>>,
        weights: &mut PerRank<Tensor<f32, TOP_K>>,
    ) {
        let logits = PerRank::tokens::<f32, EXPERTS>(ep, route);
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                gate(&x[r].rows(t), &w[r].tile(0), &mut logits[r].rows(t));
                choose(&logits[r].rows(t), &bias[r].tile(0), &mut ids[r].rows(t), &mut weights[r].rows(t));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let group = Group::new(2);
    let ep = group.ranks();
    let tokens = [50, 14];
    let x = PerRank::from_fn(ep, |r| Tensor::from_f32(&numbers(1 + r.id(), tokens[r.id()] * HIDDEN)));
    let w: Vec<bf16> = numbers(3, EXPERTS * HIDDEN).iter().map(|w| bf16::from_f32(w / 16.0)).collect();
    let w = PerRank::from_fn(ep, |_| Matrix::from_slice(&w));
    let bias = PerRank::from_fn(ep, |_| Matrix::from_slice(&numbers(4, EXPERTS)));

    // Any route with these numbers of tokens will do, because the router has not chosen experts yet.
    let any = PerRank::from_fn(ep, |r| Tensor::<i32, TOP_K>::from_vec([0, 1, 2, 3].repeat(tokens[r.id()])));
    let any = Route::new(ep, EXPERTS, &any)?;
    let zeros = || PerRank::from_fn(ep, |r| Tensor::<f32, TOP_K>::zeros(tokens[r.id()]));
    let none = || PerRank::from_fn(ep, |r| Tensor::<i32, TOP_K>::zeros(tokens[r.id()]));

    let (mut ids, mut weights) = (none(), zeros());
    router::forward::launch(&group, &any, &x, &w, &bias, &mut ids, &mut weights)?;
    let (mut expected_ids, mut expected_weights) = (none(), zeros());
    router::forward(ep, &any, &x, &w, &bias, &mut expected_ids, &mut expected_weights);
    assert!(ids == expected_ids && weights == expected_weights, "the kernel gives different bits than the reference");

    // The route is made from the ids that the router has chosen.
    let route = Route::new(ep, EXPERTS, &ids)?;
    let rows: Vec<usize> = route.experts().map(|e| route.expert_rows(e)).collect();
    let first = Rank::new(0);
    println!("the first token goes to experts {:?}, with weights {:?}", ids[first].row(0), weights[first].row(0));
    println!("rows of each expert: {rows:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::router::{EXPERTS, SCALE, TOP_K, choose};
    use hpmoe_runtime::prelude::*;

    /// A model of the task in f64, written as in a textbook.
    fn model(logits: &[f32], bias: &[f32]) -> (Vec<i32>, Vec<f64>) {
        let scores: Vec<f64> = logits.iter().map(|z| 1.0 / (1.0 + (-f64::from(*z)).exp())).collect();
        let mut order: Vec<usize> = (0..EXPERTS).collect();
        let with_bias = |e: usize| scores[e] + f64::from(bias[e]);
        order.sort_by(|&a, &b| with_bias(b).total_cmp(&with_bias(a)));
        order.truncate(TOP_K);
        let sum: f64 = order.iter().map(|&e| scores[e]).sum();
        (order.iter().map(|&e| e as i32).collect(), order.iter().map(|&e| scores[e] / sum * f64::from(SCALE)).collect())
    }

    #[test]
    fn the_best_experts_are_chosen_and_weighed() {
        let logits: Vec<f32> = (0..2 * EXPERTS).map(|i| (i * 29 % 37) as f32 / 6.0 - 3.0).collect();
        let bias: Vec<f32> = (0..EXPERTS).map(|e| (e * 7 % 5) as f32 / 10.0).collect();
        let z = TileBuf::<f32>::from_f32(2, EXPERTS, &logits);
        let ids = TileBuf::<i32>::from_slice(2, TOP_K, &[0; 2 * TOP_K]);
        let weights = TileBuf::<f32>::from_f32(2, TOP_K, &[0.0; 2 * TOP_K]);
        let row = TileBuf::<f32>::from_f32(1, EXPERTS, &bias);
        choose(&z.tile(), &row.tile(), &mut ids.tile(), &mut weights.tile());
        for (token, logits) in logits.chunks(EXPERTS).enumerate() {
            let (expected, shares) = model(logits, &bias);
            let slots = token * TOP_K..(token + 1) * TOP_K;
            assert_eq!(ids.to_vec()[slots.clone()], expected);
            for (found, expected) in weights.to_f32()[slots].iter().zip(shares) {
                assert!((f64::from(*found) - expected).abs() < 1e-5, "{found} and {expected}");
            }
        }
    }
}
