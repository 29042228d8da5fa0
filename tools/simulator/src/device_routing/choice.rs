//! The cost of choosing the number of chunks: the steps of `routing/choice.h`, and the steps that the choice adds elsewhere.

use super::steps::BLOCK_WORDS;
use super::{QUOTIENTS, RoutingShape, RoutingSteps};

/// Number of 64-bit words of a launch structure.
const LAUNCH_WORDS: u64 = 40;

impl RoutingShape {
    /// This launch with a constant number of chunks.
    fn in_chunks(&self, chunks: u64) -> Self {
        Self {
            local_experts: self.local_experts / self.chunks * chunks,
            placed: self.placed.map(|experts| experts / self.chunks * chunks),
            chunks,
            choice: None,
            ..*self
        }
    }

    /// This launch with the number of chunks in which ranks count rows.
    pub(super) fn as_counted(&self) -> Self {
        self.choice.map_or(*self, |most| self.in_chunks(most))
    }

    /// One of the chunks in which ranks count rows, if the launch chooses the number of chunks; otherwise the whole launch.
    pub(super) fn one_counted(&self) -> Self {
        self.choice.map_or(*self, |_| self.in_chunks(1))
    }

    /// Number of counted chunks that make up one chunk of the launch.
    pub(super) fn merged(&self) -> u64 {
        self.choice.map_or(1, |most| most / self.chunks)
    }

    /// Steps of `ChooseChunks`.
    pub(super) fn choose(&self) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let Some(most) = self.choice else { return steps };
        let (pairs, pitch) = (self.as_counted().experts(), self.ranks.next_multiple_of(BLOCK_WORDS));
        steps.vector(1, pairs + 1);
        match self.placed {
            Some(_) => {
                steps.load(pairs);
                steps.gather(pairs);
            }
            None => steps.vector(1, pairs),
        }
        steps.sums(pairs + 1);
        steps.ramp(pitch);
        steps.vector(3, pitch);
        (0..2 * most).for_each(|_| steps.gather(pitch));
        steps.vector(1, most * pitch);
        // The first number that does not fit is looked at, too.
        let mut fewer = most / 2;
        while fewer > 0 && 2 * fewer >= self.chunks {
            steps.vector(2, fewer * pitch);
            steps.least(1, fewer * pitch);
            fewer /= 2;
        }
        if self.chunks < most {
            steps.vector(QUOTIENTS + 2, pairs / 2);
            let mut count = most / 2;
            while count >= self.chunks {
                let columns = pairs / most * count;
                (0..6).for_each(|_| steps.gather(columns));
                steps.vector(3, columns);
                count /= 2;
            }
        }
        steps.scalars += LAUNCH_WORDS;
        steps
    }

    /// Steps of `CutCounts` for all counted chunks.
    pub(super) fn cut_chunks(&self, core: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        let (one, most) = (self.one_counted(), self.choice.unwrap_or(1));
        let own = one.own(core);
        if self.placed.is_none() || own == 0 {
            return steps;
        }
        let columns = (one.experts() * own).div_ceil(one.counted_experts());
        steps.scalars += 2 + 12 * (1 + most);
        steps.load(3 * columns);
        steps.vector(1, columns);
        steps.vector(2 + 2 + 1, most * columns.next_multiple_of(BLOCK_WORDS));
        for _ in 0..most {
            steps.gather(columns);
            steps.vector(2 + 2, columns);
        }
        steps
    }

    /// Steps that renumber the slots of later chunks from the chunk's first slot, before the slots are placed.
    pub(super) fn shift_kept(&self, fragments: u64) -> RoutingSteps {
        let mut steps = RoutingSteps::default();
        if self.choice.is_some() {
            let later = fragments * (self.chunks - 1) / self.chunks;
            steps.vector(later, 1);
            steps.waits += later;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use crate::device_routing::tests::shape;
    use crate::device_routing::{RoutingPrices, RoutingShape};
    use hpmoe_core::target::Target;

    /// Layers: ranks, experts, tokens, simulated time of the forward layer in µs under an even load, and the maximum that the choice may
    /// add to that time, in percent.
    const LAYERS: [(u64, u64, u64, f64, f64); 3] =
        [(8, 64, 4096, 9467.0, 0.3), (8, 64, 512, 1367.0, 1.2), (64, 256, 1024, 2424.0, 2.0)];

    #[test]
    fn a_choice_takes_little_of_a_layer() {
        let target = Target::ascend_a3();
        let prices = RoutingPrices::new(&target);
        for (ranks, experts, tokens, layer, most) in LAYERS {
            let plain = shape(ranks, experts, tokens);
            let at_most = (2048 / experts).min(8);
            for chunks in [1, 2, at_most] {
                let local_experts = plain.local_experts * chunks;
                let code = plain.code + 1_300 + 1_600;
                let choosing = RoutingShape { chunks, local_experts, choice: Some(at_most), code, ..plain };
                let us = |shape: &RoutingShape| shape.time(&target, &prices).us();
                let more = us(&choosing) - us(&RoutingShape { choice: None, code: plain.code, ..choosing });
                let share = 100.0 * more / layer;
                println!(
                    "EP{ranks}, {experts} experts, {tokens} tokens, {chunks} chunks: {more:.1} µs more, {share:.2} %"
                );
                assert!(more > 0.0 && share <= most, "{share:.2} % of EP{ranks} with {tokens} tokens");
            }
        }
        // One chunk has room for any routing of few tokens: nothing is left but the code.
        let plain = shape(8, 64, 64);
        let code = RoutingShape { code: plain.code + 1_300 + 1_600, ..plain };
        let more = code.time(&target, &prices).us() - plain.time(&target, &prices).us();
        println!("EP8, 64 experts, 64 tokens, no choice: {more:.1} µs more, {:.2} %", 100.0 * more / 601.0);
        assert!(more < 2.0, "{more} µs");
    }
}
