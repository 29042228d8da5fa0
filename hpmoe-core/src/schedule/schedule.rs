//! From a checked graph to a schedule.

use super::orders::with_orders;
use super::put_cores::with_put_cores;
use super::ranks::rank_counts;
use super::{Choices, Cores, Schedule};
use crate::analyze::CheckedGraph;
use crate::target::Target;

/// Makes the schedule of a graph, with the default choices, for dies like those of an Ascend A3 with the given cores.
///
/// For every number of ranks in [`rank_counts`], the schedule divides the work among cores and orders it. The heuristics always give the
/// same schedule for the same graph and cores. [`validate`](crate::validate::validate) decides whether a schedule is right.
#[must_use]
pub fn schedule(checked: &CheckedGraph, cores: Cores) -> Schedule {
    schedule_for(checked, &cores.on(&Target::ascend_a3()))
}

/// Makes the schedule of a graph, with the default choices, for the dies of a target.
#[must_use]
pub fn schedule_for(checked: &CheckedGraph, target: &Target) -> Schedule {
    schedule_with(checked, target, &Choices::default())
}

/// Makes the schedule of a graph for the dies of a target, with these choices.
#[must_use]
pub fn schedule_with(checked: &CheckedGraph, target: &Target, choices: &Choices) -> Schedule {
    let choices = with_put_cores(checked, target, choices);
    with_orders(checked, target, &choices, rank_counts(checked.graph()).into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn the_same_graph_has_the_same_schedule() {
        let checked = moe_ffn(&Layer::SMALL);
        assert_eq!(schedule(&checked, Cores::ASCEND_A3), schedule(&checked, Cores::ASCEND_A3));
    }
}
