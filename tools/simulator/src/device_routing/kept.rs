//! The cost of routes that one launch keeps for later ones: the steps of `routing/kept.h`.

use super::steps::BLOCK_WORDS;
use super::{RoutingShape, RoutingSteps};

/// Number of words in the head of a kept route.
const HEAD_WORDS: u64 = 16;
/// Number of words of ids that a core copies at a time.
const COPIED_WORDS: u64 = 4096;

impl RoutingShape {
    /// Steps of `PutKept`: one core compares the head, and sends all ranks the number of the launch that has kept the
    /// route.
    pub(super) fn put_kept(&self, core: u64) -> RoutingSteps {
        if core > 0 {
            return RoutingSteps::default();
        }
        // Each word of the head is read, and made from what the launch knows.
        let scalars = 2 * HEAD_WORDS + 2 + self.ranks;
        RoutingSteps { scalars, waits: 1, copies: self.ranks, bytes: self.ranks * 4, ..RoutingSteps::default() }
    }

    /// Steps of `TakeKept` after a word of each rank has arrived: the comparison of these words.
    pub(super) fn agree(&self) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        if self.is_kept {
            steps.load(1);
            steps.least(1, BLOCK_WORDS);
            steps.load(self.ranks);
            steps.least(self.ranks, BLOCK_WORDS);
            steps.vector(1, self.ranks * BLOCK_WORDS);
            steps.waits += 2;
            steps.scalars += 1 + self.ranks;
        }
        steps
    }

    /// Steps of `KeepRoute`: a core stores the counts of some ranks and a share of the ids; one core also writes the
    /// head.
    pub(super) fn keep(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        if !self.keeps {
            return steps;
        }
        let turns = |all: u64| all.saturating_sub(core).div_ceil(self.cores);
        for _ in 0..turns(self.ranks) {
            steps.load(self.experts());
            steps.vector(1, self.experts());
            self.sum_columns(&mut steps);
            steps.store(self.counted_experts());
        }
        for turn in 0..turns(self.slots().div_ceil(COPIED_WORDS)) {
            let begin = (core + turn * self.cores) * COPIED_WORDS;
            let words = COPIED_WORDS.min(self.slots() - begin);
            steps.load(words);
            steps.store(words);
        }
        if core == 0 {
            steps.waits += 2;
            steps.scalars += 2 * HEAD_WORDS;
            steps.store(HEAD_WORDS);
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use crate::device_routing::tests::shape;
    use crate::device_routing::{RoutingPrices, RoutingShape};
    use hpmoe_core::target::Target;

    /// Checks that a launch with a kept route takes less time, and that keeping a route takes little.
    #[test]
    fn a_kept_route_takes_less_than_one_that_is_made() {
        let target = Target::ascend_a3();
        for (ranks, tokens) in [(8, 64), (8, 4096), (64, 64), (64, 4096)] {
            let made = shape(ranks, 8 * ranks, tokens);
            let (keeps, kept) = (RoutingShape { keeps: true, ..made }, RoutingShape { is_kept: true, ..made });
            let us = |shape: &RoutingShape| shape.time(&target, &RoutingPrices::new(&target)).us();
            let [made_us, keeps_us, kept_us] = [&made, &keeps, &kept].map(us);
            println!("EP{ranks}, {tokens} tokens: {made_us:.1} µs, keeping it {keeps_us:.1}, kept {kept_us:.1}");
            assert!(made_us <= keeps_us && keeps_us < 1.1 * made_us, "{made_us} µs, keeping it {keeps_us}");
            assert!(keeps.steps(0).copies > made.steps(0).copies);
            assert!(kept_us < made_us, "{made_us} µs, kept {kept_us}");
            // No core counts or places slots: the time is the same for any tokens.
            let fewer = RoutingShape { tokens: 1, ..kept };
            assert_eq!(us(&fewer), kept_us);
            assert_eq!(
                kept.stages(&target, &RoutingPrices::new(&target)),
                fewer.stages(&target, &RoutingPrices::new(&target))
            );
        }
    }
}
