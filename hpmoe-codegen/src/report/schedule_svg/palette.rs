//! One colour for each phase; phases of one kind of core share a hue.

use crate::report::drawing::shade;
use hpmoe_language::graph::TaskGraph;
use hpmoe_language::ids::{Arena, PhaseId};

pub(super) struct Palette {
    colours: Arena<PhaseId, String>,
}

impl Palette {
    pub(super) fn new(graph: &TaskGraph) -> Self {
        let mut used = [0; 3];
        let colours = graph.phases.iter().map(|(_, phase)| {
            let kind = graph.tasks[phase.task].kind;
            let used = &mut used[kind as usize];
            *used += 1;
            shade(kind, *used - 1)
        });
        Self { colours: colours.collect() }
    }

    pub(super) fn of(&self, phase: PhaseId) -> &str {
        &self.colours[phase]
    }
}
