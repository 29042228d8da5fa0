//! The only function that makes a [`ValidSchedule`].

use super::budgets::budgets;
use super::coverage::coverage;
use super::derive::derive;
use super::forms::forms;
use super::joins::joins;
use super::read_ahead::read_ahead;
use super::reuse::reuse;
use super::route::route;
use super::structure::structure;
use super::sums::sums;
use super::thresholds::thresholds;
use super::total_order::total_order;
use super::{Footprint, Violation, footprint};
use crate::analyze::CheckedGraph;
use crate::schedule::Schedule;

/// A schedule that keeps every promise of its graph. Only [`validate`] makes one, and code is generated only from one.
#[derive(Clone, Debug)]
pub struct ValidSchedule {
    schedule: Schedule,
}

impl ValidSchedule {
    /// The schedule, unchanged since it was checked.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The memory of a rank that may receive `rows` rows of each chunk.
    #[must_use]
    pub fn footprint(&self, checked: &CheckedGraph, ranks: u32, rows: u64) -> Footprint {
        footprint(checked, &self.schedule, ranks, rows)
    }
}

/// Checks a schedule against its graph: every entry is there once, dependencies order every shared element, every
/// dependency is kept, a total order of all entries of all ranks exists, thresholds are reached exactly, and numbers
/// fit.
///
/// # Errors
///
/// All violations. If the schedule does not have the structure of one for this graph, only the violations of structure. If launches choose
/// the number of chunks, the check stops at the first number of chunks that has violations.
pub fn validate(checked: &CheckedGraph, schedule: Schedule) -> Result<ValidSchedule, Vec<Violation>> {
    let mut violations = Vec::new();
    check(checked, &schedule, &mut violations);
    let chosen = schedule.chosen.iter().map(|orders| orders.chunks);
    let counts = checked.graph().sizes.chunk_counts();
    if !counts.skip(1).eq(chosen) {
        violations.push(Violation::Chunks);
    }
    for (chunks, schedule) in schedule.in_chunks() {
        check(&checked.in_chunks(chunks), &schedule, &mut violations);
    }
    if violations.is_empty() { Ok(ValidSchedule { schedule }) } else { Err(violations) }
}

/// Checks the schedule for one number of chunks.
fn check(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    if violations.is_empty() && has_structure(checked, schedule, violations) {
        derive(checked, violations);
        keeps_promises(checked, schedule, violations);
    }
}

/// Whether a schedule has the structure of one for this graph. All other checks rely on it.
pub(super) fn has_structure(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) -> bool {
    structure(checked, schedule, violations);
    if violations.is_empty() {
        forms(checked, schedule, violations);
    }
    violations.is_empty()
}

/// Checks the promises of a schedule that has the right structure. [`derive`] checks only the graph.
pub(super) fn keeps_promises(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    joins(checked, schedule, violations);
    route(checked, schedule, violations);
    coverage(checked, schedule, violations);
    reuse(checked, schedule, violations);
    read_ahead(checked, schedule, violations);
    sums(checked, schedule, violations);
    total_order(checked, schedule, violations);
    thresholds(checked, schedule, violations);
    budgets(checked, schedule, violations);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Index;
    use crate::fixture::{Layer, chunked, gated, moe_ffn, router, sums};
    use crate::ids::{PartId, PhaseId};
    use crate::schedule::{Cores, schedule};
    use crate::validate::kernels::{kernels, kernels_with};

    #[test]
    fn schedules_of_the_example_are_right() {
        for layer in [Layer::TINY, Layer::SMALL, Layer::DEEPSEEK] {
            for checked in [moe_ffn(&layer), gated(&layer)] {
                for cores in [Cores::ASCEND_A3, Cores { aic: 20, aiv: 40 }, Cores { aic: 1, aiv: 1 }] {
                    let made = schedule(&checked, cores);
                    let valid = validate(&checked, made.clone());
                    assert_eq!(valid.map(|valid| valid.schedule().clone()), Ok(made));
                }
            }
        }
    }

    #[test]
    fn schedules_of_all_kernels_are_right() {
        for (name, checked) in kernels() {
            for cores in [Cores::ASCEND_A3, Cores { aic: 3, aiv: 5 }] {
                let found = validate(&checked, schedule(&checked, cores)).err().unwrap_or_default();
                let found: Vec<String> = found.iter().map(|violation| violation.text(&checked)).collect();
                assert!(found.is_empty(), "{name}: {found:#?}");
            }
        }
    }

    #[test]
    fn launches_of_each_number_of_chunks_have_a_schedule() {
        let chosen = |(_, checked): &(String, CheckedGraph)| checked.graph().sizes.chunks_at_most.is_some();
        let kernels: Vec<_> = kernels_with(&[("CHUNKS_AT_MOST", 8)]).into_iter().filter(chosen).collect();
        assert!(kernels.len() > 2, "{}", kernels.len());
        for (name, checked) in kernels {
            let made = schedule(&checked, Cores::ASCEND_A3);
            let chunks: Vec<usize> = made.chosen.iter().map(|orders| orders.chunks).collect();
            // One kernel adds to matrices of experts in four chunks, and so can't have eight.
            let sizes = checked.graph().sizes;
            let all = [2, 4, 8].into_iter().filter(|&chunks| Some(chunks) <= sizes.chunks_at_most).collect();
            assert_eq!((sizes.chunks, chunks), (1, all), "{name}");
            let (mut without, mut short) = (made.clone(), made.clone());
            let found = validate(&checked, made).err().unwrap_or_default();
            let found: Vec<String> = found.iter().map(|violation| violation.text(&checked)).collect();
            assert!(found.is_empty(), "{name}: {found:#?}");
            without.chosen.pop();
            assert_eq!(validate(&checked, without).unwrap_err(), [Violation::Chunks]);
            short.chosen[1].orders.pop();
            assert!(matches!(validate(&checked, short).unwrap_err()[..], [Violation::Orders { .. }]));
        }
    }

    #[test]
    fn every_part_of_the_validation_is_asked() {
        let checked = moe_ffn(&Layer::SMALL);
        let whole = schedule(&checked, Cores::ASCEND_A3);
        let finds = |break_it: &dyn Fn(&mut Schedule), wanted: fn(&Violation) -> bool| {
            let mut broken = whole.clone();
            break_it(&mut broken);
            let violations = validate(&checked, broken).expect_err("it is broken");
            assert!(violations.iter().any(wanted), "{violations:?}");
        };
        let [gate, up, down, combine] = [1, 2, 4, 6].map(PhaseId);
        finds(&|schedule| drop(schedule.orders.pop()), |v| matches!(v, Violation::Orders { .. }));
        finds(&|schedule| schedule.phases[gate].waits[0].index = Index::Rank, |v| matches!(v, Violation::Form { .. }));
        finds(&|schedule| schedule.phases[up].band += 1, |v| matches!(v, Violation::Joins { .. }));
        finds(&|schedule| schedule.phases[combine].waits.clear(), |v| matches!(v, Violation::Uncovered { .. }));
        finds(&|schedule| schedule.phases[down].waits[0].need.per_row += 1, |v| {
            matches!(v, Violation::Threshold { .. })
        });
        finds(&|schedule| schedule.phases[down].band = 70_000, |v| matches!(v, Violation::TooLarge { .. }));
        finds(&|schedule| schedule.phases[PhaseId(0)].reads_ahead = true, |v| {
            matches!(v, Violation::NothingAhead { .. })
        });
        let turned_round = |schedule: &mut Schedule| {
            let queue = &mut schedule.orders[0].queues[PartId(0)];
            *queue = queue.iter().rev().copied().collect();
        };
        finds(&turned_round, |v| matches!(v, Violation::Cycle { .. }));
    }

    #[test]
    fn a_phase_left_out_is_refused() {
        let checked = moe_ffn(&Layer::SMALL);
        let mut schedule = schedule(&checked, Cores::ASCEND_A3);
        schedule.phases = schedule.phases.iter().skip(1).map(|(_, phase)| phase.clone()).collect();
        let violations = validate(&checked, schedule).expect_err("a phase has no row");
        assert_eq!(violations, [Violation::Table { what: "phases" }]);
    }

    #[test]
    fn what_chunks_and_graphs_need_is_asked() {
        let turned_round = |checked: &CheckedGraph| {
            let mut schedule = schedule(checked, Cores::ASCEND_A3);
            let parts: Vec<PartId> = schedule.orders[0].queues.ids().collect();
            parts.into_iter().for_each(|part| schedule.orders[0].queues[part].reverse());
            validate(checked, schedule).expect_err("it is broken")
        };
        let routed = router(&Layer::TINY);
        let mut without = schedule(&routed, Cores::ASCEND_A3);
        without.orders[0].routed_at = None;
        let unrouted = validate(&routed, without).expect_err("no core makes the route");
        assert!(unrouted.iter().any(|v| matches!(v, Violation::Unrouted { ranks: 1, .. })), "{unrouted:?}");
        let words = turned_round(&chunked(&Layer::TINY, 4));
        assert!(words.contains(&Violation::WordsOutOfOrder { ranks: 1 }), "{words:?}");
        let added = turned_round(&sums(&Layer::TINY, 3));
        assert!(added.iter().any(|v| matches!(v, Violation::SumsOutOfOrder { ranks: 1, .. })), "{added:?}");
        let mut checked = moe_ffn(&Layer::SMALL);
        checked.dependencies_mut().remove(0);
        let missing = validate(&checked, schedule(&checked, Cores::ASCEND_A3)).expect_err("a dependency is missing");
        assert!(missing.iter().any(|v| matches!(v, Violation::Unordered { .. })), "{missing:?}");
    }
}
