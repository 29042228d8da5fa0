//! The cost of a placement: the steps of `routing/placement.h`, and the steps that a placement adds elsewhere.

use super::steps::BLOCK_WORDS;
use super::{RoutingShape, RoutingSteps};

impl RoutingShape {
    /// Steps by which one core sends this rank's placement digest to all ranks.
    pub(super) fn put_digest(&self, core: u64) -> RoutingSteps {
        if self.placed.is_none() || core > 0 {
            return RoutingSteps::default();
        }
        RoutingSteps {
            scalars: 2 + self.ranks,
            waits: 2,
            copies: self.ranks,
            bytes: self.ranks * 4,
            ..RoutingSteps::default()
        }
    }

    /// Steps of `ComparePlacements` after a word of each rank has arrived.
    pub(super) fn compare_placements(&self) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        if self.placed.is_some() && !self.is_kept {
            steps.load(self.ranks);
            steps.least(self.ranks, BLOCK_WORDS);
            steps.waits += 2;
            steps.scalars += self.ranks;
        }
        steps
    }

    /// Steps of `CutCounts`, which turns the counts of a core's experts into counts of their places.
    pub(super) fn cut(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        if self.choice.is_some() {
            return self.cut_chunks(core);
        }
        let own = self.own(core);
        if self.placed.is_none() || own == 0 {
            return steps;
        }
        // Two words of the placement, the lists of the core's columns, and the turn of the rank.
        let columns = (self.experts() * own).div_ceil(self.counted_experts());
        steps.scalars += 2 + 12;
        steps.load(3 * columns);
        steps.vector(1 + 2 + 2 + 4 + 1, columns);
        steps.gather(columns);
        steps
    }

    /// Steps of `OrderByPlace`, which makes four lists.
    pub(super) fn order_by_place(&self) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        if self.placed.is_some() {
            let pairs = self.experts();
            steps.load(pairs);
            steps.vector(1 + 4, pairs);
            (0..4).for_each(|_| steps.gather(pairs));
        }
        steps
    }

    /// Steps of `PickSources`, which picks the numbers of rows that all sources send to the rank's places.
    pub(super) fn pick_arrivals(&self, steps: &mut RoutingSteps) {
        let pitch = self.local_experts.next_multiple_of(BLOCK_WORDS);
        let columns = self.experts() * self.merged();
        steps.load(pitch);
        steps.load(self.ranks * columns);
        steps.vector(1, self.ranks * columns.next_multiple_of(BLOCK_WORDS));
        (0..self.ranks).for_each(|_| steps.gather(pitch));
        (1..self.merged()).for_each(|_| (0..self.ranks).for_each(|_| steps.gather(pitch)));
        steps.vector((self.merged() - 1) * self.ranks, pitch);
        steps.vector(1, self.ranks * pitch);
    }

    /// Steps of `SumColumns`, which restores the counts of experts of a kept route.
    pub(super) fn sum_columns(&self, steps: &mut RoutingSteps) {
        if self.placed.is_some() {
            let (pairs, experts) = (self.experts(), self.counted_experts());
            steps.vector(2, pairs);
            steps.sums(pairs);
            (0..2).for_each(|_| steps.load(experts));
            steps.vector(5, experts);
            (0..2).for_each(|_| steps.gather(experts));
        }
    }

    /// Steps of `StoreSent`.
    pub(super) fn store_sent(&self, steps: &mut RoutingSteps) {
        steps.vector(1, self.experts());
        steps.sum(self.experts());
        steps.scalars += 1;
        steps.waits += 1;
        steps.store(1);
    }
}

#[cfg(test)]
mod tests {
    use crate::device_routing::tests::shape;
    use crate::device_routing::{RoutingPrices, RoutingShape};
    use hpmoe_core::target::Target;

    /// Layers: ranks, experts, spare places per rank, tokens, simulated time of the forward layer in µs under an even load, and the maximum
    /// that a placement may add to that time, in percent.
    const LAYERS: [(u64, u64, u64, u64, f64, f64); 4] = [
        (8, 64, 1, 4096, 9467.0, 0.1),
        (8, 64, 1, 64, 601.0, 1.0),
        (64, 256, 1, 1024, 2424.0, 0.6),
        (64, 256, 1, 128, 583.0, 2.4),
    ];

    #[test]
    fn a_placement_takes_little_of_a_layer() {
        let target = Target::ascend_a3();
        for (ranks, experts, spare, tokens, layer, most) in LAYERS {
            for times in [1.0, 2.0] {
                let prices = RoutingPrices::new(&target);
                let prices = RoutingPrices { scalar: times * prices.scalar, ..prices };
                let plain = shape(ranks, experts, tokens);
                let placed =
                    RoutingShape { local_experts: plain.local_experts + spare, placed: Some(experts), ..plain };
                let us = |shape: &RoutingShape| shape.time(&target, &prices).us();
                let more = us(&placed) - us(&plain);
                let share = 100.0 * more / layer;
                println!("EP{ranks}, {experts} experts, {tokens} tokens, x{times}: {more:.1} µs more, {share:.2} %");
                assert!(more > 0.0 && share <= most, "{share:.2} % of EP{ranks} with {tokens} tokens");
            }
        }
    }
}
