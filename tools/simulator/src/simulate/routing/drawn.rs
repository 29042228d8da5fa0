//! Routings made for given sizes: balanced, or drawn from a Zipf distribution, whose order of experts may drift.

use super::{Routing, RoutingSizes};
use hpmoe_core::random::Random;

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
        Self { experts, top_k, rows, tokens: Vec::new(), logical: None }
    }

    /// A routing in which each token draws `top_k` different experts. The seed orders the experts; the one in place p has the
    /// weight p^-exponent, so that the exponent 0 makes all alike.
    #[must_use]
    pub fn zipf(sizes: RoutingSizes, exponent: f64, seed: u64) -> Self {
        let mut rows = vec![0; (sizes.ranks * sizes.experts) as usize];
        draw(sizes, (exponent, seed), |_| 0, |source, _, expert| rows[(source * sizes.experts + expert) as usize] += 1);
        Self { experts: sizes.experts, top_k: sizes.top_k.min(sizes.experts), rows, tokens: Vec::new(), logical: None }
    }

    /// A routing whose favourite experts change along the tokens: from the first token of the first rank to the last token of the last
    /// one, each expert takes each place of a Zipf distribution for equally long. All experts together get about as many rows, but
    /// neighbouring tokens go to the same experts, and each rank sends most of its rows to few of them.
    #[must_use]
    pub fn drifting(sizes: RoutingSizes, exponent: f64, seed: u64) -> Self {
        let RoutingSizes { ranks, experts, tokens, .. } = sizes;
        let mut rows = vec![0; (ranks * experts) as usize];
        let mut of_experts = vec![vec![Vec::new(); experts as usize]; ranks as usize];
        let all = u64::from(ranks) * u64::from(tokens);
        let moved = |stamp: u32| (u64::from(stamp) * u64::from(experts) / all.max(1)) as u32;
        draw(sizes, (exponent, seed), moved, |source, token, expert| {
            rows[(source * experts + expert) as usize] += 1;
            of_experts[source as usize][expert as usize].push(token);
        });
        Self { experts, top_k: sizes.top_k.min(experts), rows, tokens: of_experts, logical: None }
    }
}

/// Draws different experts for each token of each rank, and passes source, token and expert to `take`. The seed orders the experts;
/// the one in place p has the weight p^-exponent. For token n of the group, the order has moved on by `moved(n)` places.
fn draw(
    sizes: RoutingSizes,
    (exponent, seed): (f64, u64),
    moved: impl Fn(u32) -> u32,
    mut take: impl FnMut(u32, u32, u32),
) {
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
    let mut drawn = vec![u32::MAX; experts as usize];
    for source in 0..ranks {
        for token in 0..tokens {
            let stamp = source * tokens + token;
            let moved = moved(stamp) as usize;
            let mut left = top_k;
            while left > 0 {
                let at = random.below(sum);
                let place = ends.partition_point(|&end| end <= at) + moved;
                let expert = order[place % order.len()];
                if std::mem::replace(&mut drawn[expert as usize], stamp) != stamp {
                    take(source, token, expert);
                    left -= 1;
                }
            }
        }
    }
}
