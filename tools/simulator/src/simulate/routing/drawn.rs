//! Routings that are made for given sizes: balanced, or drawn from a Zipf distribution, with experts in a fixed or a drifting order.

use super::weights::Weights;
use super::{Routing, RoutingSizes};
use hpmoe_core::random::Random;

/// Number of draws for a token, including those of experts that it already has, after which the token draws only from its remaining experts.
/// With exponents up to 1.2, tokens with 8 of 64 experts need at most 60.
const DRAWS: u32 = 256;

impl Routing {
    /// The most even routing: the numbers of rows from one source to any two experts differ by at most one, and neighbouring tokens go to
    /// different experts.
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

    /// A routing in which each token draws `top_k` different experts. The seed determines a random order of experts. The expert at position
    /// p, counted from 1, has the weight p^-exponent, so with exponent 0 all experts are equally likely.
    #[must_use]
    pub fn zipf(sizes: RoutingSizes, exponent: f64, seed: u64) -> Self {
        let mut rows = vec![0; (sizes.ranks * sizes.experts) as usize];
        draw(sizes, (exponent, seed), |_| 0, |source, _, expert| rows[(source * sizes.experts + expert) as usize] += 1);
        Self { experts: sizes.experts, top_k: sizes.top_k.min(sizes.experts), rows, tokens: Vec::new(), logical: None }
    }

    /// A routing whose favourite experts change from token to token. Between the first token of the first rank and the last token of the
    /// last rank, each expert has each position of a Zipf distribution for the same number of tokens. Experts therefore get about the same
    /// number of rows, but neighbouring tokens go to the same experts, and each rank sends most of its rows to few experts.
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

/// Draws different experts for each token of each rank, and calls `take` with source, token and expert. The seed determines the order of
/// experts; position p has the weight p^-exponent, but at least 2^-30. For token n of the group, the order is shifted by `moved(n)` positions.
///
/// A draw of an expert that the token already has is repeated. If the token's remaining experts are unlikely, this takes too long, so the
/// remaining experts are then drawn by their weights alone, which has the same distribution.
fn draw(
    sizes: RoutingSizes,
    (exponent, seed): (f64, u64),
    moved: impl Fn(u32) -> u32,
    mut take: impl FnMut(u32, u32, u32),
) {
    let RoutingSizes { ranks, experts, top_k, tokens } = sizes;
    let top_k = top_k.min(experts) as usize;
    let mut random = Random(seed);
    let mut order: Vec<u32> = (0..experts).collect();
    random.shuffle(&mut order);
    // Whole numbers, so that the last bit of a power decides nothing.
    let weight = |place: u32| (f64::from(place).powf(-exponent) * f64::from(1u32 << 30)).round().max(1.0) as u64;
    let weights: Vec<u64> = (1..=experts).map(weight).collect();
    let mut remaining = Weights::new(&weights);
    let mut drawn = vec![u32::MAX; order.len()];
    let mut places = Vec::with_capacity(top_k);
    for source in 0..ranks {
        for token in 0..tokens {
            let stamp = source * tokens + token;
            places.clear();
            for _ in 0..DRAWS {
                if places.len() == top_k {
                    break;
                }
                let place = remaining.place_of(random.below(remaining.sum()));
                if std::mem::replace(&mut drawn[place], stamp) != stamp {
                    places.push(place);
                }
            }
            if places.len() < top_k {
                places.iter().for_each(|&place| remaining.set(place, 0));
                while places.len() < top_k {
                    let place = remaining.place_of(random.below(remaining.sum()));
                    remaining.set(place, 0);
                    places.push(place);
                }
                places.iter().for_each(|&place| remaining.set(place, weights[place]));
            }
            let moved = moved(stamp) as usize;
            places.iter().for_each(|place| take(source, token, order[(place + moved) % order.len()]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_kernels::memory::{KernelSizes, balanced_rows, default_capacity};
    use hpmoe_kernels::route::{choose_chunks, chunk_counts, chunk_tokens};
    use hpmoe_kernels::{Placement, Ranks};

    /// The number of chunks that a launch with the default capacity chooses; and the rows of the fullest rank relative to an even load,
    /// without copies of experts and with one spare place per rank that holds a copy.
    fn chosen(sizes: RoutingSizes, exponent: f64, seed: u64) -> (Option<usize>, [f64; 2]) {
        const PARTS: usize = 8;
        let RoutingSizes { ranks, experts, top_k, tokens } = sizes;
        let [all, tokens_of_all, experts_of_all] = [ranks, tokens, experts].map(|number| number as usize);
        let kernel = KernelSizes {
            experts: experts_of_all,
            spare: 0,
            top_k: top_k as usize,
            tokens: tokens_of_all,
            chunks: 1,
            chunks_at_most: Some(PARTS),
            groups: 1,
            counts_parts: false,
        };
        let part = chunk_tokens(tokens_of_all, PARTS, Some(PARTS)) as u32;
        let mut rows = vec![[0_usize; PARTS]; all];
        let mut loads = vec![0_u64; experts_of_all];
        draw(
            sizes,
            (exponent, seed),
            |_| 0,
            |_, token, expert| {
                rows[(expert / (experts / ranks)) as usize][(token / part) as usize] += 1;
                loads[expert as usize] += 1;
            },
        );
        let fullest = |chunks: usize| {
            let of_rank = |parts: &[usize; PARTS]| parts.chunks(PARTS / chunks).map(|chunk| chunk.iter().sum()).max();
            rows.iter().filter_map(of_rank).max().unwrap_or(0)
        };
        let chosen = choose_chunks(chunk_counts(1, Some(PARTS)), default_capacity(&kernel, all), fullest);
        let placement = Placement::balanced(Ranks::new(all), &loads, 1).unwrap();
        let placed = placement.loads(&loads).unwrap().into_iter().max().unwrap();
        (chosen, [fullest(1) as f64, placed as f64].map(|rows| rows / balanced_rows(&kernel) as f64))
    }

    /// Checks random seeds, as many as `PROPTEST_CASES` says.
    #[test]
    fn uneven_loads_fit_in_few_chunks() {
        let seeds = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2);
        for (ranks, experts, most) in [(8, 64, 2), (64, 256, 8)] {
            let sizes = RoutingSizes { ranks, experts, top_k: 8, tokens: 4096 };
            for exponent in [0.6, 1.2] {
                let all: Vec<_> = (1..=seeds).map(|seed| chosen(sizes, exponent, seed)).collect();
                println!("{ranks} ranks, exponent {exponent}: {all:.2?}");
                assert!(all.iter().all(|(chunks, _)| chunks.is_some_and(|chunks| chunks <= most)), "{all:?}");
                // With the placement, one chunk is enough.
                assert!(all.iter().all(|(_, [_, placed])| *placed <= 1.5), "{all:?}");
            }
        }
    }
}
