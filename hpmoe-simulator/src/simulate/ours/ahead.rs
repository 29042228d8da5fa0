//! What a tile reads ahead while it waits.

use crate::simulate::{Ahead, Work};
use hpmoe_codegen::schedule::Schedule;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::ids::PhaseId;
use hpmoe_language::plan::Plan;

/// Bytes of a tile's work that a schedule has it read while it waits: none where its phase doesn't read ahead.
pub(super) fn ahead(checked: &CheckedGraph, schedule: &Schedule, phase: PhaseId, work: &Work) -> Ahead {
    match &checked.plans()[checked.graph().phases[phase].task] {
        Plan::Cube(plan) if schedule.phases[phase].reads_ahead => Ahead::of(work, &plan.products[0]),
        _ => Ahead::default(),
    }
}
