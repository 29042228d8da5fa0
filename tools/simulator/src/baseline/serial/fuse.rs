//! Groups the phases of a task graph into operators, as a framework would run them: in program order, but some phases join as one operator.
//!
//! A phase joins an earlier operator if everything that the phase depends on ends before that operator. Many small phases then don't count
//! as many launches:
//! - Products that share an input become one product, and puts in the same direction become one collective.
//! - Elementwise phases over the same rows become one kernel, which keeps on chip what one phase makes for another, row by row.

use super::moved::{columns, moved};
use super::operator::{MovedBytes, RowClass, SerialOperator, SerialWork, Way};
use super::products::PhaseProduct;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::cost::Works;
use hpmoe_core::graph::{Access, Phase, Rows, SpaceKind, TaskGraph};
use hpmoe_core::ids::{Arena, Id as _, PhaseId, TensorId};
use hpmoe_kernels::op::TaskKind;

/// An operator that is being built.
struct Draft {
    kind: DraftKind,
    phases: Vec<PhaseId>,
}

#[derive(Clone, PartialEq, Debug)]
enum DraftKind {
    Put(Way),
    Product(PhaseProduct),
    Vector(RowClass),
    /// Makes the tables of the route.
    Tables,
    /// A phase that becomes no operator: it runs once per chunk, or its matrix task multiplies nothing.
    Nothing,
}

/// The operators of a graph, in program order.
pub(in crate::baseline) fn operators(checked: &CheckedGraph) -> Vec<SerialOperator> {
    let graph = checked.graph();
    let works = Works::of_phases(graph);
    let drafts = drafts(checked, &works);
    let mut operators = Vec::new();
    for draft in &drafts {
        let phases: Vec<&Phase> = draft.phases.iter().map(|&phase| &graph.phases[phase]).collect();
        let name = name(graph, &draft.phases);
        let line = phases.first().map_or(0, |phase| phase.line);
        let work = match &draft.kind {
            DraftKind::Nothing => continue,
            DraftKind::Tables => {
                let line = graph.route.as_ref().map_or(0, |route| route.line);
                operators.push(SerialOperator::new("tables of the route", line, SerialWork::Tables));
                continue;
            }
            DraftKind::Put(way) => {
                let row: u64 = phases.iter().map(|phase| put_bytes(graph, phase)).sum();
                operators.extend(permutation(&name, line, *way, row));
                SerialWork::Collective { way: *way, row }
            }
            DraftKind::Product(product) => SerialWork::Product(product.product),
            DraftKind::Vector(rows) => {
                let stays = |tensor| stays(graph, &draft.phases, tensor);
                let [read, written] = moved(graph, &phases, stays);
                SerialWork::Vector { rows: *rows, read, written }
            }
        };
        let declared = draft.phases.iter().filter_map(|&phase| {
            let full = works[phase].declared()?;
            Some(full.0 as f64 * f64::from(graph.phases[phase].columns()) / f64::from(works[phase].full_rows()))
        });
        let declared = declared.reduce(|one, two| one + two);
        operators.push(SerialOperator { declared, ..SerialOperator::new(name, line, work) });
    }
    operators
}

/// The names of an operator's phases, at most three.
fn name(graph: &TaskGraph, phases: &[PhaseId]) -> String {
    let shown = if phases.len() > 3 { 2 } else { phases.len() };
    let names: Vec<String> = phases[..shown].iter().map(|&phase| graph.phase_name(phase)).collect();
    let more = phases.len() - shown;
    if more > 0 { format!("{} + {more} more", names.join(" + ")) } else { names.join(" + ") }
}

fn drafts(checked: &CheckedGraph, works: &Arena<PhaseId, Works>) -> Vec<Draft> {
    let graph = checked.graph();
    let mut drafts: Vec<Draft> = Vec::new();
    let mut place: Arena<PhaseId, usize> = Arena::new();
    let mut tables = None;
    for (id, phase) in graph.phases.iter() {
        if graph.route.as_ref().is_some_and(|route| route.before == id.index()) {
            tables = Some(drafts.len());
            drafts.push(Draft { kind: DraftKind::Tables, phases: Vec::new() });
        }
        let kind = kind(graph, phase, &works[id]);
        let alone = works[id].declared().is_some() || kind == DraftKind::Nothing;
        // The first operator that the phase can be a part of.
        let mut first = 0;
        if let Some(tables) = tables.filter(|_| graph.spaces[phase.space].kind != SpaceKind::Blocks) {
            first = tables + 1;
        }
        for dependency in checked.dependencies().iter().filter(|dependency| dependency.after == id) {
            let before = place[dependency.before];
            let row_by_row = matches!(kind, DraftKind::Vector(_))
                && drafts[before].kind == kind
                && by_rows(&graph.phases[dependency.before], phase, dependency.tensor);
            first = first.max(before + usize::from(!row_by_row));
        }
        let joins = |draft: &Draft| match (&draft.kind, &kind) {
            _ if alone || draft.phases.iter().any(|&phase| works[phase].declared().is_some()) => None,
            (DraftKind::Product(one), DraftKind::Product(two)) => one.joined(two).map(DraftKind::Product),
            (one, two) => (one == two).then(|| kind.clone()),
        };
        let found = drafts.iter().enumerate().skip(first).find_map(|(at, draft)| Some((at, joins(draft)?)));
        let at = match found {
            Some((at, joined)) => {
                drafts[at].kind = joined;
                drafts[at].phases.push(id);
                at
            }
            None => {
                drafts.push(Draft { kind, phases: vec![id] });
                drafts.len() - 1
            }
        };
        place.push(at);
    }
    drafts
}

fn kind(graph: &TaskGraph, phase: &Phase, works: &Works) -> DraftKind {
    let space = graph.spaces[phase.space].kind;
    let rows = match space {
        SpaceKind::RowTiles | SpaceKind::Experts | SpaceKind::Arrivals | SpaceKind::OnceTiles => RowClass::Received,
        SpaceKind::Blocks => RowClass::Tokens,
        SpaceKind::Sends => RowClass::Sent,
        SpaceKind::SendsOnce => RowClass::SentOnce,
        SpaceKind::Chunks => return DraftKind::Nothing,
    };
    match graph.tasks[phase.task].kind {
        TaskKind::Matrix => PhaseProduct::new(graph, phase, works, rows).map_or(DraftKind::Nothing, DraftKind::Product),
        TaskKind::Put if phase.accesses.iter().any(|access| access.remote) => DraftKind::Put(match space {
            SpaceKind::Sends => Way::Out,
            SpaceKind::SendsOnce => Way::OutOnce,
            _ => Way::Back,
        }),
        // A put on its own rank is a copy.
        TaskKind::Put | TaskKind::Vector => {
            let of_matrix = |access: &Access| matches!(access.region.rows, Rows::Expert { .. });
            DraftKind::Vector(if phase.accesses.iter().all(of_matrix) { RowClass::Matrices } else { rows })
        }
    }
}

/// Whether one phase reads a tensor row by row and the other writes it row by row.
fn by_rows(before: &Phase, after: &Phase, tensor: TensorId) -> bool {
    let rows = |phase: &Phase| {
        let mut own = phase.accesses.iter().filter(|access| access.tensor == tensor);
        own.all(|access| {
            matches!(access.region.rows, Rows::Tile | Rows::Piece | Rows::Block | Rows::BlockSlots) && !access.remote
        })
    };
    rows(before) && rows(after)
}

/// Whether only `phases` read a tensor. One kernel for all of them then need not write it to memory.
fn stays(graph: &TaskGraph, phases: &[PhaseId], tensor: TensorId) -> bool {
    let is_own = !graph.tensors[tensor].storage.is_argument();
    let is_ids = graph.route.as_ref().is_some_and(|route| route.ids == tensor);
    let others = graph.phases.iter().filter(|(id, _)| !phases.contains(id));
    let reads = |phase: &Phase| phase.accesses.iter().any(|access| access.tensor == tensor && !access.write);
    is_own && !is_ids && !others.into_iter().any(|(_, phase)| reads(phase))
}

/// Bytes per row of a put.
fn put_bytes(graph: &TaskGraph, phase: &Phase) -> u64 {
    let written = phase.accesses.iter().filter(|access| access.write);
    let bytes = |access: &Access| {
        let columns = columns(graph, phase, access);
        u64::from(columns.end - columns.start) * graph.tensors[access.tensor].element.bytes() as u64
    };
    written.map(bytes).sum()
}

/// The kernel that gathers rows before a collective, which sends contiguous rows. `None` for rows that come back, because the kernel that
/// reads them gathers them.
fn permutation(name: &str, line: usize, way: Way, row: u64) -> Option<SerialOperator> {
    let rows = match way {
        Way::Out => RowClass::Sent,
        Way::OutOnce => RowClass::SentOnce,
        Way::Back => return None,
    };
    let moved = MovedBytes::of_row(row);
    let work = SerialWork::Vector { rows, read: moved, written: moved };
    Some(SerialOperator::new(format!("permutation for {name}"), line, work))
}
