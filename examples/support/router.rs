//! A router, which chooses the experts of each token and their weights, and which can be trained.

use super::compare::same_bits;
use super::synthetic::numbers;
use hpmoe_runtime::prelude::*;

/// One linear map from tokens to experts.
#[derive(Clone, Debug)]
pub struct Router {
    experts: usize,
    /// One row for each expert, `[experts, hidden]`.
    weights: Vec<f32>,
}

/// The router's output for the tokens of all ranks.
pub struct Routed<const K: usize> {
    /// The `K` experts of each token with the largest scores.
    pub ids: PerRank<Tensor<i32, K>>,
    /// The softmax of their scores.
    pub weights: PerRank<Tensor<f32, K>>,
}

impl Router {
    pub fn new<const H: usize>(experts: usize, seed: u64) -> Self {
        Self { experts, weights: numbers(seed, experts * H, (H as f32).sqrt().recip()) }
    }

    /// Whether all weights have the same bits.
    pub fn has_bits_of(&self, other: &Self) -> bool {
        same_bits(&self.weights, &other.weights)
    }

    /// Scores all experts for every token, takes the `K` best ones and normalises their weights.
    pub fn route<const H: usize, const K: usize>(&self, ep: Ranks, x: &PerRank<Tensor<bf16, H>>) -> Routed<K> {
        let (mut ids, mut weights) = (Vec::new(), Vec::new());
        for rank in ep {
            let (mut rank_ids, mut rank_weights) = (Vec::new(), Vec::new());
            for token in x[rank].to_f32().chunks(H) {
                let scores: Vec<f32> = self.weights.chunks(H).map(|w| dot(w, token)).collect();
                let mut best: Vec<usize> = (0..self.experts).collect();
                best.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
                best.truncate(K);
                let powers: Vec<f32> = best.iter().map(|&e| (scores[e] - scores[best[0]]).exp()).collect();
                let sum: f32 = powers.iter().sum();
                rank_ids.extend(best.iter().map(|&e| e as i32));
                rank_weights.extend(powers.iter().map(|power| power / sum));
            }
            ids.push(Tensor::from_vec(rank_ids));
            weights.push(Tensor::from_vec(rank_weights));
        }
        Routed { ids: ids.into_iter().collect(), weights: weights.into_iter().collect() }
    }

    /// Does a step of gradient descent, given the gradient of the router's weights of a rank's tokens.
    pub fn descend<const H: usize, const K: usize>(
        &mut self,
        x: &Tensor<bf16, H>,
        routed: &Routed<K>,
        rank: Rank,
        dweights: &[f32],
        rate: f32,
    ) {
        let (ids, weights) = (routed.ids[rank].to_vec(), routed.weights[rank].to_vec());
        for (token, x) in x.to_f32().chunks(H).enumerate() {
            let of_token = token * K..(token + 1) * K;
            let (ids, w, dw) = (&ids[of_token.clone()], &weights[of_token.clone()], &dweights[of_token]);
            let mean = dot(w, dw);
            for ((&expert, w), dw) in ids.iter().zip(w).zip(dw) {
                let slope = w * (dw - mean);
                let row = expert as usize * H;
                for (weight, x) in self.weights[row..row + H].iter_mut().zip(x) {
                    *weight -= rate * slope * x;
                }
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
