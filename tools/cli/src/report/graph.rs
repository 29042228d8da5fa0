//! A picture of the task graph: phases from left to right, each to the right of its dependencies.

use super::drawing::{picture, rectangle};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::ids::{Id as _, PhaseId};
use hpmoe_core::report::drawing::{number, text};
use hpmoe_core::schedule::Schedule;
use hpmoe_kernels::op::TaskKind;
use svg::node::element::{Group, Path, Title};

const NODE: (f64, f64) = (168.0, 42.0);
const GAP: (f64, f64) = (64.0, 16.0);
const MARGIN: f64 = 12.0;

/// A phase, or a place at which the line of a dependency passes through a layer of phases.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Phase(PhaseId),
    Passing { dependency: usize },
}

/// The graph (SVG). A dashed line is a dependency without its own counter.
pub(super) fn graph(checked: &CheckedGraph, schedule: &Schedule) -> String {
    let layers = layers(checked);
    let rows = layers.iter().map(Vec::len).max().unwrap_or(0) as f64;
    let width = 2.0 * MARGIN + layers.len() as f64 * (NODE.0 + GAP.0) - GAP.0;
    let height = 2.0 * MARGIN + rows * (NODE.1 + GAP.1) - GAP.1;
    // From left to right, with the corner of each stop.
    let places: Vec<(Stop, (f64, f64))> = (0..)
        .zip(&layers)
        .flat_map(|(layer, stops)| (0..).zip(stops).map(move |(row, &stop)| (stop, corner(layer, row))))
        .collect();
    let corners_of = |wanted: Stop| places.iter().filter(move |&&(stop, _)| stop == wanted).map(|&(_, corner)| corner);
    let mut document = picture(width.max(1.0), height.max(1.0), "task graph");
    for (number, dependency) in checked.dependencies().iter().enumerate() {
        let passing = corners_of(Stop::Passing { dependency: number });
        let stops =
            corners_of(Stop::Phase(dependency.before)).chain(passing).chain(corners_of(Stop::Phase(dependency.after)));
        document = document.add(line(checked, schedule, number, &stops.collect::<Vec<_>>()));
    }
    for id in checked.graph().phases.ids() {
        document = corners_of(Stop::Phase(id)).fold(document, |document, at| document.add(node(checked, id, at)));
    }
    document.to_string()
}

fn corner(layer: u32, row: u32) -> (f64, f64) {
    (MARGIN + f64::from(layer) * (NODE.0 + GAP.0), MARGIN + f64::from(row) * (NODE.1 + GAP.1))
}

/// The stops of each layer, from top to bottom. A phase is in the layer after the last one that it depends on.
fn layers(checked: &CheckedGraph) -> Vec<Vec<Stop>> {
    let dependencies = checked.dependencies();
    let mut layer: Vec<usize> = Vec::new();
    for id in checked.graph().phases.ids() {
        // Dependencies lead forward in the order of the calls, except for those of waits of a later chunk.
        let before = dependencies.iter().filter(|one| one.after == id).filter_map(|one| layer.get(one.before.index()));
        layer.push(before.max().map_or(0, |last| last + 1));
    }
    let mut layers = vec![Vec::new(); layer.iter().max().map_or(0, |last| last + 1)];
    for (id, &layer) in checked.graph().phases.ids().zip(&layer) {
        layers[layer].push(Stop::Phase(id));
    }
    for (dependency, ends) in dependencies.iter().enumerate() {
        let (from, to) = (layer[ends.before.index()], layer[ends.after.index()]);
        for stops in layers.iter_mut().take(to).skip(from + 1) {
            stops.push(Stop::Passing { dependency });
        }
    }
    layers
}

/// The line of a dependency, which passes through the middle of its stops.
fn line(checked: &CheckedGraph, schedule: &Schedule, dependency: usize, stops: &[(f64, f64)]) -> Path {
    let middle = |y: f64| number(y + NODE.1 / 2.0);
    let mut path = String::new();
    for (at, &(x, y)) in stops.iter().enumerate() {
        if let Some(&(before, height)) = at.checked_sub(1).and_then(|before| stops.get(before)) {
            let bend = number((before + NODE.0 + x) / 2.0);
            path.push_str(&format!("C{bend} {} {bend} {} {} {}", middle(height), middle(y), number(x), middle(y)));
        }
        // The path leaves its first stop on the right, passes through the others, and ends at the last one.
        if at == 0 {
            path.push_str(&format!("M{} {}", number(x + NODE.0), middle(y)));
        } else if at + 1 < stops.len() {
            path.push_str(&format!("H{}", number(x + NODE.0)));
        }
    }
    let graph = checked.graph();
    let ends = &checked.dependencies()[dependency];
    let implied = schedule.elided.iter().any(|elision| elision.dependency == dependency);
    let hint = format!(
        "{} → {}: {}{}",
        graph.phase_name(ends.before),
        graph.phase_name(ends.after),
        graph.tensors[ends.tensor].name,
        if implied { " (no counter: other waits imply it)" } else { "" }
    );
    Path::new().set("d", path).set("class", if implied { "edge implied" } else { "edge" }).add(Title::new(hint))
}

fn node(checked: &CheckedGraph, id: PhaseId, (x, y): (f64, f64)) -> Group {
    let graph = checked.graph();
    let phase = &graph.phases[id];
    let (colour, cores) = match graph.tasks[phase.task].kind {
        TaskKind::Matrix => ("#cfe2f3", "matrix"),
        TaskKind::Vector => ("#d9ead3", "vector"),
        TaskKind::Put => ("#fce5cd", "put"),
    };
    let line = if phase.line > 0 { format!(", line {}", phase.line) } else { String::new() };
    Group::new()
        .set("class", "node")
        .add(rectangle((x, y), NODE, colour, phase.source.clone()).set("rx", 5).set("stroke", "#8d96a0"))
        .add(text(graph.phase_name(id), x + 10.0, y + 17.0, "name"))
        .add(text(format!("{cores}{line}"), x + 10.0, y + 33.0, "small"))
}
