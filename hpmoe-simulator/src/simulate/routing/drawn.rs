//! Routings made for given sizes: balanced, or drawn from a Zipf distribution.

use super::{Routing, RoutingSizes};
use hpmoe_codegen::random::Random;

impl Routing {
    /// The most even routing: experts differ by at most one row from each source, and neighbouring tokens go to different
    /// experts.
    #[must_use]
    pub fn balanced(sizes: RoutingSizes) -> Self {
        let RoutingSizes { ranks, experts, top_k, tokens } = sizes;
        let top_k = top_k.min(experts);
        let mut rows = vec![0; (ranks * experts) as usize];
        for source in 0..ranks {
            let all = u64::from(tokens) * u64::from(top_k);
            let each = (all / u64::from(experts)) as u32;
            let remainder = (all % u64::from(experts)) as u32;
            for expert in 0..experts {
                // Each source gives its remainder to other experts.
                let place = (expert + experts - source * experts / ranks) % experts;
                rows[(source * experts + expert) as usize] = each + u32::from(place < remainder);
            }
        }
        Self { experts, top_k, rows, tokens: Vec::new() }
    }

    /// A routing in which each token draws `top_k` different experts. The seed orders the experts; the one in place p has the
    /// weight p^-exponent, so that the exponent 0 makes all alike.
    #[must_use]
    pub fn zipf(sizes: RoutingSizes, exponent: f64, seed: u64) -> Self {
        let RoutingSizes { ranks, experts, top_k, tokens } = sizes;
        let top_k = top_k.min(experts);
        let mut random = Random(seed);
        let mut order: Vec<u32> = (0..experts).collect();
        random.shuffle(&mut order);
        // Whole numbers, so that the last bit of a power decides nothing.
        let mut ends = Vec::with_capacity(order.len());
        let mut sum = 0u64;
        for place in 1..=experts {
            sum += (f64::from(place).powf(-exponent) * f64::from(1u32 << 30)).round().max(1.0) as u64;
            ends.push(sum);
        }
        let mut rows = vec![0; (ranks * experts) as usize];
        let mut drawn = vec![u32::MAX; experts as usize];
        for source in 0..ranks {
            for token in 0..tokens {
                let stamp = source * tokens + token;
                let mut left = top_k;
                while left > 0 {
                    let at = random.below(sum);
                    let expert = order[ends.partition_point(|&end| end <= at)];
                    if std::mem::replace(&mut drawn[expert as usize], stamp) != stamp {
                        rows[(source * experts + expert) as usize] += 1;
                        left -= 1;
                    }
                }
            }
        }
        Self { experts, top_k, rows, tokens: Vec::new() }
    }
}
