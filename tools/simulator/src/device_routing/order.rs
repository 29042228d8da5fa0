//! The cost of the order of experts.

use super::steps::BLOCK_WORDS;
use super::{QUOTIENTS, REMAINDERS, RoutingShape, RoutingSteps};
use hpmoe_kernels::route::ExpertOrder;

/// Number of vector calls of `MixedPlaces`, including those of a quotient.
const MIXED: u64 = QUOTIENTS + 15;

impl RoutingShape {
    /// Steps of `OrderExperts`, which makes the order of experts by load.
    pub(super) fn order(&self, steps: &mut RoutingSteps) {
        let pairs = self.experts();
        if self.expert_order == ExpertOrder::Number {
            steps.vector(REMAINDERS + 1, pairs);
            return;
        }
        steps.vector(REMAINDERS + 3, pairs);
        steps.gather(pairs);
        if self.expert_order == ExpertOrder::LightestFirst {
            // `KeysFromLightest`.
            steps.vector(7, pairs);
        } else {
            // `KeysByLoad`: `RowsToMost` and the least one.
            steps.vector(3, pairs);
            self.turns(1, steps);
            steps.vector(1 + 1 + 2 + 5, pairs);
            self.turns(1, steps);
            steps.vector(1 + 7, pairs);
        }
        // `PlacesOf`, `ExpertsOf`.
        self.turns(4, steps);
        steps.vector(1, pairs);
        if self.expert_order == ExpertOrder::Mixed {
            // `MixedPlaces`.
            steps.vector(MIXED, pairs);
        }
        self.turns(5, steps);
        steps.vector(1 + 5, pairs);
        steps.vector(REMAINDERS + 3, pairs);
        steps.gather(pairs);
        steps.gather(pairs);
        steps.vector(2, pairs);
    }

    /// Adds `calls` calls for each expert of a rank except the first, on a list of the rank's experts that is rotated
    /// each time.
    fn turns(&self, calls: u64, steps: &mut RoutingSteps) {
        let (pairs, further) = (self.experts(), self.local_experts - 1);
        steps.vector(2 + calls * further, pairs);
        if self.ranks % BLOCK_WORDS != 0 {
            (0..further).for_each(|_| steps.gather(pairs));
        }
    }
}
