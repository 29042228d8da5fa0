//! Tests with loads that drift, and with the placements that follow them.

use super::*;
use crate::Rank;

/// A generator of random floats, which only makes loads.
struct Draws(u64);

impl Draws {
    /// A random number between 0 and 1, both excluded.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Number of experts per token. [`TOKENS`] is the number of tokens of all ranks in a step.
const TOP_K: f64 = 8.0;
const TOKENS: f64 = 8.0 * 4096.0;
/// Factor by which a step reduces the distance between the logarithm of a weight and its start.
const RETURN: f64 = 0.999;

/// A layer whose experts' weights follow Zipf's law with exponent 1.2, in random order. In each step, the logarithm of a weight first moves
/// a thousandth of the way back to its start, and then changes by a normally distributed number with the standard deviation `drift`.
struct Layer {
    start: Vec<f64>,
    logs: Vec<f64>,
    drift: f64,
    scale: f64,
    draws: Draws,
}

impl Layer {
    fn new(experts: usize, drift: f64, seed: u64) -> Self {
        let mut draws = Draws(seed);
        (0..8).for_each(|_| _ = draws.uniform());
        let mut start: Vec<f64> = (1..=experts).map(|place| -1.2 * (place as f64).ln()).collect();
        for n in (1..experts).rev() {
            start.swap(n, (draws.uniform() * (n + 1) as f64) as usize);
        }
        Self { logs: start.clone(), start, drift, scale: 1.0, draws }
    }

    /// The rows of each expert in the next step. Each token goes to 8 different experts, so no expert has more rows than there are tokens.
    fn next(&mut self) -> Vec<u64> {
        for (log, start) in self.logs.iter_mut().zip(&self.start) {
            *log = start + RETURN * (*log - start) + self.drift * self.draws.normal();
        }
        // An expert with the weight w is among a token's with the chance 1 - exp(-scale * w); the chances add up to 8.
        let weights: Vec<f64> = self.logs.iter().map(|log| log.exp()).collect();
        for _ in 0..50 {
            let kept = weights.iter().map(|weight| (-self.scale * weight).exp());
            let (mut sum, mut slope) = (0.0, 0.0);
            for (kept, weight) in kept.zip(&weights) {
                (sum, slope) = (sum + 1.0 - kept, slope + weight * kept);
            }
            let step = (TOP_K - sum) / slope;
            self.scale = (self.scale + step).max(self.scale / 2.0);
            if (TOP_K - sum).abs() < 1e-9 {
                break;
            }
        }
        let mut rows = |weight: &f64| {
            let chance = 1.0 - (-self.scale * weight).exp();
            let noise = (TOKENS * chance * (1.0 - chance)).sqrt() * self.draws.normal();
            (TOKENS * chance + noise).round().clamp(0.0, TOKENS) as u64
        };
        weights.iter().map(&mut rows).collect()
    }
}

/// The parameters of a replay. There are 8 ranks with one spare place each, and a new placement every 50 steps.
struct Rule {
    layers: usize,
    steps: usize,
    experts: usize,
    drift: f64,
    most_moves: usize,
}

struct Replayed {
    /// The fullest rank's load divided by the mean load, averaged over layers and steps.
    over: f64,
    /// The same average for the even placement.
    without: f64,
    /// Average number of places that a new placement writes, per layer.
    writes: f64,
    digests: Vec<u64>,
}

impl Rule {
    /// Replays the loads on a group of 8 ranks, some of which may be in other processes.
    fn replay(&self, ep: Ranks) -> Replayed {
        let mut replayed = Replayed { over: 0.0, without: 0.0, writes: 0.0, digests: Vec::new() };
        let (mut steps, mut placements) = (0.0, 0.0);
        for layer in 0..self.layers {
            let mut loads = Layer::new(self.experts, self.drift, 1 + layer as u64);
            let even = Placement::even(ep, self.experts, 1).unwrap();
            let mut average = LoadAverage::new(self.experts);
            let first = loads.next();
            average.add(&first).unwrap();
            let mut placement = Placement::balanced(ep, &average.loads(50), 1).unwrap();
            for step in 1..=self.steps {
                let rows = loads.next();
                let over = |placement: &Placement| {
                    let of_rank = placement.loads(&rows).unwrap();
                    *of_rank.iter().max().unwrap() as f64 * 8.0 / rows.iter().sum::<u64>() as f64
                };
                replayed.over += over(&placement);
                replayed.without += over(&even);
                steps += 1.0;
                average.add(&rows).unwrap();
                if step % 50 == 0 {
                    let next = placement.rebalanced(&average.loads(50), self.most_moves).unwrap();
                    let writes = next.moves(&placement).unwrap().len();
                    assert!(writes <= self.most_moves);
                    replayed.writes += writes as f64;
                    placements += 1.0;
                    replayed.digests.push(next.digest());
                    placement = next;
                }
            }
        }
        replayed.over /= steps;
        replayed.without /= steps;
        replayed.writes /= placements;
        replayed
    }
}

#[test]
fn four_moves_every_fifty_steps_follow_the_loads() {
    let rule = Rule { layers: 4, steps: 150, experts: 64, drift: 0.02, most_moves: 4 };
    let replayed = rule.replay(Ranks::new(8));
    assert!(replayed.over <= 1.08, "{}", replayed.over);
    assert!(replayed.without >= 1.4, "{}", replayed.without);
    for rank in [0, 5] {
        let of_rank = rule.replay(Ranks::joined(Rank::new(rank), 8));
        assert_eq!(replayed.digests, of_rank.digests, "rank {rank} finds other placements");
    }
}

/// Prints the figures that `docs/placement.md` states.
#[test]
#[ignore = "takes seconds in a release build: .ci/sweep placements"]
fn replay_of_48_layers() {
    println!("experts  drift  consecutive  placed  places written");
    for experts in [64, 128] {
        for (drift, most) in [(0.0, 1.01), (0.02, 1.08), (0.05, 1.16)] {
            let Replayed { over, without, writes, .. } =
                Rule { layers: 48, steps: 300, experts, drift, most_moves: 4 }.replay(Ranks::new(8));
            println!("{experts:>7}  {drift:>5}  {without:>11.3}  {over:>6.3}  {writes:>14.2}");
            assert!(over <= most, "{experts} experts, drift {drift}: {over}");
        }
    }
}

/// Prints the time to place 48 layers of 128 experts on 8 ranks with one thread.
#[test]
#[ignore = "prints times"]
fn time_of_48_layers_of_128_experts() {
    let ep = Ranks::new(8);
    let mut layers: Vec<Layer> = (1..=48).map(|seed| Layer::new(128, 0.02, seed)).collect();
    let before: Vec<Vec<u64>> = layers.iter_mut().map(Layer::next).collect();
    let after: Vec<Vec<u64>> = layers.iter_mut().map(|layer| (0..50).map(|_| layer.next()).last().unwrap()).collect();
    for _ in 0..3 {
        let began = std::time::Instant::now();
        let first: Vec<Placement> = before.iter().map(|loads| Placement::balanced(ep, loads, 1).unwrap()).collect();
        let placed = began.elapsed();
        let next = first.iter().zip(&after).map(|(old, loads)| old.rebalanced(loads, 4).unwrap());
        assert_eq!(next.count(), 48);
        println!("first placements {placed:?}, at most 4 moves each {:?}", began.elapsed() - placed);
    }
}
