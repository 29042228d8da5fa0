//! Validates reads that happen before a tile's waits.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::graph::{RowKind, Rows, Storage};
use crate::plan::Plan;
use crate::schedule::Schedule;

/// Checks weights that a phase reads before its waits: they are the caller's, no phase writes them, and a tile can
/// compute their position.
pub(super) fn read_ahead(checked: &CheckedGraph, schedule: &Schedule, violations: &mut Vec<Violation>) {
    let graph = checked.graph();
    for (id, phase) in graph.phases.iter().filter(|(id, _)| schedule.phases[*id].reads_ahead) {
        let Plan::Cube(plan) = &checked.plans()[phase.task] else {
            violations.push(Violation::NothingAhead { phase: id });
            continue;
        };
        let read = &phase.accesses[plan.products[0].terms[0].w.0];
        let tensor = &graph.tensors[read.tensor];
        let given = tensor.storage == Storage::Argument && !read.remote;
        let matrix = matches!(tensor.rows, RowKind::Expert(_) | RowKind::Matrix(_))
            && matches!(read.region.rows, Rows::Expert { .. });
        let writer = graph.phases.iter().find(|(_, other)| {
            let origins = other.origins.is_some_and(|origins| origins.write && origins.tensor == read.tensor);
            origins || other.accesses.iter().any(|access| access.write && access.tensor == read.tensor)
        });
        if !given || !matrix || writer.is_some() {
            violations.push(Violation::ReadEarly { phase: id, tensor: read.tensor });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn, widened};
    use crate::graph::{Access, Origins, Region, TaskGraph};
    use crate::ids::PhaseId;
    use crate::schedule::{Cores, schedule};
    use crate::validate::broken::{broken, broken_of};

    #[test]
    fn only_products_read_ahead() {
        let found = broken(read_ahead, |schedule| schedule.phases[PhaseId(0)].reads_ahead = true);
        assert_eq!(found, [Violation::NothingAhead { phase: PhaseId(0) }]);
    }

    #[test]
    fn weights_of_the_caller_that_a_task_writes_are_read_early() {
        let checked = moe_ffn(&Layer::SMALL);
        let [gate, down] = [1, 4].map(PhaseId);
        let made = schedule(&checked, Cores::ASCEND_A3);
        assert!(made.phases[gate].reads_ahead);
        let graph = checked.graph();
        let Plan::Cube(plan) = &checked.plans()[graph.phases[gate].task] else { panic!("a product") };
        let read = graph.phases[gate].accesses[plan.products[0].terms[0].w.0];
        let found = |checked: &CheckedGraph| {
            let mut found = Vec::new();
            super::read_ahead(checked, &made, &mut found);
            found
        };
        assert_eq!(found(&checked), []);
        let written = checked.changed(|graph| graph.phases[down].accesses.push(Access { write: true, ..read }));
        assert_eq!(found(&written), [Violation::ReadEarly { phase: gate, tensor: read.tensor }]);
        // The rows that it writes don't matter here.
        let elsewhere = Region { rows: Rows::Tile, ..read.region };
        let written = Access { write: true, region: elsewhere, ..read };
        let written = checked.changed(|graph| graph.phases[down].accesses.push(written));
        assert_eq!(found(&written), [Violation::ReadEarly { phase: gate, tensor: read.tensor }]);
    }

    #[test]
    fn what_is_not_a_matrix_of_the_caller_is_read_early() {
        let checked = moe_ffn(&Layer::SMALL);
        let [dispatch, gate] = [0, 1].map(PhaseId);
        let made = schedule(&checked, Cores::ASCEND_A3);
        let Plan::Cube(plan) = &checked.plans()[checked.graph().phases[gate].task] else { panic!("a product") };
        let place = plan.products[0].terms[0].w.0;
        let tensor = checked.graph().phases[gate].accesses[place].tensor;
        let found = |change: &dyn Fn(&mut TaskGraph)| {
            let mut found = Vec::new();
            super::read_ahead(&checked.changed(|graph| change(graph)), &made, &mut found);
            found
        };
        assert_eq!(found(&|_| ()), []);
        let changes: [&dyn Fn(&mut TaskGraph); 5] = [
            &|graph| graph.tensors[tensor].storage = Storage::Workspace,
            &|graph| graph.phases[gate].accesses[place].remote = true,
            &|graph| graph.tensors[tensor].rows = RowKind::Received,
            &|graph| graph.phases[gate].accesses[place].region.rows = Rows::Tile,
            &|graph| graph.phases[dispatch].origins = Some(Origins { tensor, write: true }),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            assert_eq!(found(change), [Violation::ReadEarly { phase: gate, tensor }], "change {number}");
        }
        assert_eq!(found(&|graph| graph.phases[dispatch].origins = Some(Origins { tensor, write: false })), []);
    }

    #[test]
    fn weights_that_the_kernel_makes_are_read_early() {
        let checked = widened(&Layer::SMALL);
        let products = |checked: &CheckedGraph| -> Vec<PhaseId> {
            let cube = |id: &PhaseId| matches!(checked.plans()[checked.graph().phases[*id].task], Plan::Cube(_));
            checked.graph().phases.ids().filter(cube).collect()
        };
        let found = broken_of(&checked, read_ahead, |schedule| {
            products(&checked).into_iter().for_each(|phase| schedule.phases[phase].reads_ahead = true);
        });
        assert_eq!(found.len(), products(&checked).len());
        assert!(found.iter().all(|violation| matches!(violation, Violation::ReadEarly { .. })), "{found:?}");
    }
}
