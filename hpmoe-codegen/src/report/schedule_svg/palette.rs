//! One colour for each phase; phases of one kind of core share a hue.

use crate::report::drawing::Shades;
use hpmoe_language::graph::TaskGraph;
use hpmoe_language::ids::{Arena, PhaseId};

pub(super) struct Palette {
    colours: Arena<PhaseId, String>,
}

impl Palette {
    pub(super) fn new(graph: &TaskGraph) -> Self {
        let mut shades = Shades::default();
        let colours = graph.phases.iter().map(|(_, phase)| shades.next(graph.tasks[phase.task].kind));
        Self { colours: colours.collect() }
    }

    pub(super) fn of(&self, phase: PhaseId) -> &str {
        &self.colours[phase]
    }
}
