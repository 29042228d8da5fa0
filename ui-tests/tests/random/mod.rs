//! Random groups, tokens and routings.

use hpmoe_runtime::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::ops::Range;
use std::time::Duration;

/// The number of cases of each property, unless `PROPTEST_CASES` sets another.
///
/// The seeds of failed cases are kept in a file next to this one, and run first.
pub fn config(cases: u32) -> ProptestConfig {
    let seeds = Box::new(FileFailurePersistence::Direct("tests/random/seeds.txt"));
    let default = ProptestConfig { failure_persistence: Some(seeds), ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases, ..default },
    }
}

/// The seeds of a test: `count` of them, or as many as `PROPTEST_CASES` sets, if that is fewer.
pub fn seeds(count: u64) -> Range<u64> {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    0..given.map_or(count, |cases: u64| cases.min(count))
}

/// One run of a kernel.
#[derive(Clone, Debug)]
pub struct Case {
    /// Number of tokens of each rank, possibly zero.
    pub tokens: Vec<usize>,
    /// How the router chooses experts.
    pub routing: Routing,
    /// Seed of the numbers and of the host's pipes.
    pub seed: u64,
    /// The rank that starts late, if any.
    pub late: Option<usize>,
}

/// How the router chooses experts.
#[derive(Clone, Copy, Debug)]
pub enum Routing {
    /// Chooses all experts with equal probability.
    Uniform,
    /// The first choice of every token is this expert; the others are random.
    Favourite(usize),
    /// Chooses only the first few experts.
    Few,
}

/// Runs the case on a number of ranks that divides the experts.
pub fn cases(experts: usize, most_tokens: usize) -> impl Strategy<Value = Case> {
    let divisors: Vec<usize> = (1..=8).filter(|ranks| experts.is_multiple_of(*ranks)).collect();
    cases_on(divisors, experts, most_tokens)
}

/// Runs the case on one of these numbers of ranks.
pub fn cases_on(ranks: Vec<usize>, experts: usize, most_tokens: usize) -> impl Strategy<Value = Case> {
    let routing = prop_oneof![
        3 => Just(Routing::Uniform),
        1 => (0..experts).prop_map(Routing::Favourite),
        1 => Just(Routing::Few),
    ];
    let tokens = prop_oneof![1 => Just(0), 1 => Just(1), 4 => 0..=most_tokens];
    let ranks = prop::sample::select(ranks);
    (ranks, routing, any::<u64>(), prop::option::of(0..8usize)).prop_flat_map(move |(ranks, routing, seed, late)| {
        prop::collection::vec(tokens.clone(), ranks).prop_map(move |tokens| Case {
            late: late.filter(|late| *late < tokens.len()),
            tokens,
            routing,
            seed,
        })
    })
}

impl Case {
    pub fn ep(&self) -> Ranks {
        Ranks::new(self.tokens.len())
    }

    /// Two launches in a row, with one rank late.
    pub fn group(&self) -> Group {
        let group = Group::new(self.tokens.len())
            .seed(self.seed)
            .time_limit(Duration::from_secs(20))
            .repeat(2)
            .find_races(true);
        match self.late {
            Some(rank) => group.delay(rank, Duration::from_millis(3)),
            None => group,
        }
    }

    pub fn zeros<T: Element, const C: usize>(&self) -> PerRank<Tensor<T, C>> {
        PerRank::from_fn(self.ep(), |rank| Tensor::zeros(self.tokens[rank.id()]))
    }
}

/// A small random number generator (SplitMix64), so that a seed identifies a case.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
    /// A number in [-1, 1).
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }
}

/// A placement of experts on the ranks of a case, each of which has `spare` places beyond its even share: experts
/// anywhere, copies of some, and in most cases shares of all sizes.
pub fn placement(case: &Case, experts: usize, spare: usize) -> Placement {
    let mut numbers = Numbers(case.seed ^ 6);
    let (ep, ranks) = (case.ep(), case.tokens.len());
    let local = experts.div_ceil(ranks) + spare;
    let mut order: Vec<usize> = (0..experts).collect();
    (1..experts).rev().for_each(|last| order.swap(last, numbers.below(last + 1)));
    let mut places = vec![vec![None; local]; ranks];
    for (n, expert) in order.into_iter().enumerate() {
        places[n % ranks][n / ranks] = Some(expert);
    }
    for of_rank in &mut places {
        for place in 0..local {
            let copy = Some(numbers.below(experts));
            if of_rank[place].is_none() && !of_rank.contains(&copy) && numbers.below(4) > 0 {
                of_rank[place] = copy;
            }
        }
        let (a, b) = (numbers.below(local), numbers.below(local));
        of_rank.swap(a, b);
    }
    let placement = Placement::new(ep, experts, &places.concat()).unwrap();
    let shares: Vec<u32> = (0..ranks * local).map(|_| numbers.below(7) as u32).collect();
    match numbers.below(3) {
        0 => placement,
        // All shares of an expert may be 0.
        _ => placement.with_shares(&shares).unwrap_or(placement),
    }
}

/// Ids of experts. In half of the cases, some slots are empty: one in six, every second one, whole tokens, or all of a
/// rank and more.
pub fn ids<const K: usize>(case: &Case, experts: usize) -> PerRank<Tensor<i32, K>> {
    let mut numbers = Numbers(case.seed ^ 5);
    let full = full_ids::<K>(case, experts);
    let kind = case.seed >> 5 & 7;
    PerRank::from_fn(case.ep(), |rank| {
        let whole_rank = numbers.below(3) > 0;
        let mut ids = full[rank].to_vec();
        for token in ids.chunks_mut(K) {
            let whole = kind == 6 && numbers.below(3) == 0 || kind == 7 && whole_rank;
            for id in token {
                let one_in = [6, 2].get((kind as usize).wrapping_sub(4));
                if whole || one_in.is_some_and(|&one_in| numbers.below(one_in) == 0) {
                    *id = -1;
                }
            }
        }
        Tensor::from_vec(ids)
    })
}

/// Ids of experts, without empty slots.
pub fn full_ids<const K: usize>(case: &Case, experts: usize) -> PerRank<Tensor<i32, K>> {
    let mut numbers = Numbers(case.seed ^ 1);
    PerRank::from_fn(case.ep(), |rank| {
        let mut all = Vec::new();
        for _ in 0..case.tokens[rank.id()] {
            let mut chosen: Vec<usize> = match case.routing {
                Routing::Favourite(expert) => vec![expert],
                Routing::Uniform | Routing::Few => Vec::new(),
            };
            let among = if matches!(case.routing, Routing::Few) { K } else { experts };
            while chosen.len() < K {
                let expert = numbers.below(among);
                if !chosen.contains(&expert) {
                    chosen.push(expert);
                }
            }
            all.extend(chosen.into_iter().map(|expert| expert as i32));
        }
        Tensor::from_vec(all)
    })
}

pub fn numbers<const C: usize>(case: &Case) -> PerRank<Tensor<bf16, C>> {
    let mut numbers = Numbers(case.seed ^ 2);
    PerRank::from_fn(case.ep(), |rank| {
        Tensor::from_vec((0..case.tokens[rank.id()] * C).map(|_| bf16::from_f32(numbers.unit())).collect())
    })
}

pub fn bytes<const C: usize>(case: &Case) -> PerRank<Tensor<i8, C>> {
    let mut numbers = Numbers(case.seed ^ 4);
    PerRank::from_fn(case.ep(), |rank| {
        Tensor::from_vec((0..case.tokens[rank.id()] * C).map(|_| numbers.next() as i8).collect())
    })
}

pub fn weights<const K: usize>(case: &Case) -> PerRank<Tensor<f32, K>> {
    let mut numbers = Numbers(case.seed ^ 3);
    PerRank::from_fn(case.ep(), |rank| {
        Tensor::from_vec((0..case.tokens[rank.id()] * K).map(|_| numbers.unit()).collect())
    })
}

/// Numbers for the tokens of each rank.
pub fn tokens<T: Float, const C: usize>(case: &Case, which: u64) -> PerRank<Tensor<T, C>> {
    let mut numbers = Numbers(case.seed ^ (which << 16) ^ 5);
    PerRank::from_fn(case.ep(), |rank| {
        Tensor::from_vec((0..case.tokens[rank.id()] * C).map(|_| T::from_f32(numbers.unit())).collect())
    })
}

/// Numbers for the slots of each rank.
pub fn slots<T: Float, const C: usize>(case: &Case, route: &Route) -> PerRank<Slots<T, C>> {
    let mut slots = PerRank::slots(case.ep(), route);
    for rank in case.ep() {
        let count = slots[rank].row_count() * C;
        slots[rank].copy_from(&(0..count).map(|i| T::from_f32((i % 61) as f32 / 16.0 - 1.5)).collect::<Vec<_>>());
    }
    slots
}

pub fn experts<T: Float, const N: usize, const K: usize>(
    case: &Case,
    experts: usize,
    which: u64,
) -> PerRank<Experts<T, N, K>> {
    let own = experts / case.ep().count();
    PerRank::from_fn(case.ep(), |rank| {
        let mut numbers = Numbers(case.seed ^ (which << 32) ^ (rank.id() as u64) << 40);
        Experts::from_vec((0..own * N * K).map(|_| T::from_f32(numbers.unit() / 8.0)).collect())
    })
}
