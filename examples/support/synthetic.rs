//! A task to learn: tokens that a seed determines, and a fixed function of the tokens.

use hpmoe_runtime::prelude::*;

/// Uniform numbers in `-scale..scale`, the same on every machine (SplitMix64).
pub fn numbers(seed: u64, count: usize, scale: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..count).map(|_| ((next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * scale).collect()
}

/// The function to learn. Tokens form clusters, and each cluster has a separate linear map, so that experts can specialise.
pub struct Teacher {
    seed: u64,
    hidden: usize,
    centres: Vec<Vec<f32>>,
    maps: Vec<Vec<f32>>,
}

/// Number of clusters of tokens.
const CLUSTERS: usize = 8;

impl Teacher {
    pub fn new<const H: usize>(seed: u64) -> Self {
        let each = |from: u64, count: usize, scale: f32| -> Vec<Vec<f32>> {
            (0..CLUSTERS as u64).map(|cluster| numbers(seed + from + cluster, count, scale)).collect()
        };
        Self { seed, hidden: H, centres: each(100, H, 1.0), maps: each(200, H * H, (3.0 / H as f32).sqrt()) }
    }

    /// The tokens of a step, divided among the ranks. All ranks together have the same tokens for any number of ranks.
    pub fn tokens<const H: usize>(&self, ep: Ranks, tokens: usize, step: usize) -> PerRank<Tensor<bf16, H>> {
        let noise = numbers(self.seed + 1000 + step as u64, tokens * H, 0.3);
        let row = |token: usize| {
            let centre = &self.centres[self.cluster(token)];
            noise[token * H..(token + 1) * H].iter().zip(centre).map(|(noise, centre)| noise + centre)
        };
        let at = |rank: usize| rank * tokens / ep.count();
        PerRank::from_fn(ep, |rank| {
            let rows = at(rank.id())..at(rank.id() + 1);
            Tensor::from_f32(&rows.flat_map(row).collect::<Vec<f32>>())
        })
    }

    /// The cluster of a token. Consecutive tokens are in different clusters, so that each rank has tokens of all clusters.
    fn cluster(&self, token: usize) -> usize {
        token % self.maps.len()
    }

    /// The loss of an output, and its gradient. The loss is half of the squared distance to the wanted output, averaged over tokens.
    pub fn loss<const H: usize>(
        &self,
        x: &PerRank<Tensor<bf16, H>>,
        y: &PerRank<Tensor<bf16, H>>,
    ) -> (f32, PerRank<Tensor<bf16, H>>) {
        let (mut loss, mut token) = (0.0, 0);
        let tokens = y.iter().map(Tensor::row_count).sum::<usize>() as f32;
        let mut gradients = Vec::new();
        for (x, y) in x.iter().zip(y.iter()) {
            let (x, y) = (x.to_f32(), y.to_f32());
            let mut gradient = Vec::with_capacity(y.len());
            for (x, y) in x.chunks(self.hidden).zip(y.chunks(self.hidden)) {
                let map = &self.maps[self.cluster(token)];
                for (row, y) in map.chunks(self.hidden).zip(y) {
                    let wanted: f32 = row.iter().zip(x).map(|(a, b)| a * b).sum();
                    let off = y - wanted;
                    loss += off * off / 2.0;
                    gradient.push(off / tokens);
                }
                token += 1;
            }
            gradients.push(Tensor::from_f32(&gradient));
        }
        (loss / tokens, gradients.into_iter().collect())
    }
}
