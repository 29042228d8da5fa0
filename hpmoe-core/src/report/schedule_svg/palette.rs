//! One colour for each phase; phases of one kind of core share a hue.

use crate::graph::TaskGraph;
use crate::ids::{Arena, PhaseId};
use crate::report::drawing::Shades;

pub(super) struct Palette {
    colours: Arena<PhaseId, String>,
}

impl Palette {
    pub(super) fn new(graph: &TaskGraph) -> Self {
        let mut shades = Shades::default();
        let colours = graph.phases.iter().map(|(_, phase)| shades.next(graph.tasks[phase.task].kind));
        Self { colours: colours.collect() }
    }

    pub(super) fn colour(&self, phase: PhaseId) -> &str {
        &self.colours[phase]
    }
}
