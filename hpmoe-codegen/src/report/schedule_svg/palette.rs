//! One colour for each phase; phases of one kind of core share a hue.

use hpmoe_kernels::op::TaskKind;
use hpmoe_language::graph::TaskGraph;
use hpmoe_language::ids::{Arena, PhaseId};

const MATRIX: [&str; 4] = ["#2f6db3", "#5c9bd6", "#1b4a82", "#8a7fd0"];
const VECTOR: [&str; 4] = ["#3f8f5f", "#2b6b6f", "#86a83c", "#1f5a3a"];
const PUT: [&str; 4] = ["#d9822b", "#b04a3a", "#c9a227", "#8c4a12"];

pub(super) struct Palette {
    colours: Arena<PhaseId, &'static str>,
}

impl Palette {
    pub(super) fn new(graph: &TaskGraph) -> Self {
        let mut used = [0; 3];
        let colours = graph.phases.iter().map(|(_, phase)| {
            let (kind, shades) = match graph.tasks[phase.task].kind {
                TaskKind::Matrix => (0, MATRIX),
                TaskKind::Vector => (1, VECTOR),
                TaskKind::Put => (2, PUT),
            };
            used[kind] += 1;
            shades[(used[kind] - 1) % shades.len()]
        });
        Self { colours: colours.collect() }
    }

    pub(super) fn of(&self, phase: PhaseId) -> &'static str {
        self.colours[phase]
    }
}
