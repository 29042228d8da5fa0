//! Memory that chunks take in turn: who is through with the rows of a chunk last, and who writes those of another one first.

use super::readiness::{Counter, Dependency, Grid, Hazard, Index, Signal, Wait};
use super::{Cover, dependencies};
use crate::finding::{ChunkFault, Errors, Finding};
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Arena, CounterId, PhaseId, TensorId};

/// How the memory of one chunk becomes that of the chunk after the next.
///
/// The phase `frees` waits until no phase of its rank touches rows of the chunk, and tells all ranks. Phases that write such rows wait
/// for the word of the rank where they write, unless what they wait for comes from one that did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reuse {
    /// The phase that tells.
    pub frees: PhaseId,
    /// By phase: whose word it waits for.
    pub waits: Arena<PhaseId, Option<Whose>>,
}

/// A rank, seen from a tile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Whose {
    /// The rank that runs it.
    Own,
    /// The item's peer.
    Peer,
}

/// Finds it for a graph whose chunks take memory in turn, and adds what its phase depends on.
pub(super) fn reuse(
    graph: &TaskGraph,
    counters: &mut Arena<CounterId, Counter>,
    found: &mut Vec<Dependency>,
) -> Option<Reuse> {
    let frees = graph.phases.ids().find(|&phase| graph.spaces[graph.phases[phase].space].kind == SpaceKind::Chunks)?;
    let waits = waits(graph, found);
    let last = graph.phases.ids().filter(|&phase| phase != frees).filter(|&phase| is_last(found, phase));
    for before in last.collect::<Vec<_>>() {
        let Some(tensor) = touched(graph, before) else { continue };
        let counter = counters.push(Counter { tensor, grid: Grid::Rank, through: true });
        let (amount, need) = dependencies::through(graph, before, tensor);
        found.push(Dependency {
            before,
            after: frees,
            tensor,
            hazard: Hazard::WriteAfterRead,
            cover: Cover::Counter,
            signal: Signal { counter, index: Index::Rank, amount, remote: false },
            wait: Wait { counter, index: Index::Rank, need },
        });
    }
    Some(Reuse { frees, waits })
}

/// Every tensor of a chunk is read, so that each phase that writes one has a reader that comes after it.
pub(super) fn read(graph: &TaskGraph, errors: &mut Errors) {
    if !graph.sizes.reuses() {
        return;
    }
    let read = |id: TensorId| graph.phases.iter().any(|(_, p)| p.accesses.iter().any(|a| a.tensor == id && !a.write));
    for (id, tensor) in graph.tensors.iter().filter(|(_, tensor)| !tensor.storage.is_argument()) {
        let origins = graph.phases.iter().any(|(_, p)| p.origins.is_some_and(|origins| origins.tensor == id));
        if !origins && !read(id) {
            errors.push(tensor.span, Finding::Chunk(ChunkFault::Unread { tensor: tensor.name.clone() }));
        }
    }
}

/// Whether no phase of the same rank waits for what this one does, be it by way of the ranks that its rows went to: all that work on
/// a row follow one another, and rows that come back were sent.
fn is_last(dependencies: &[Dependency], phase: PhaseId) -> bool {
    // A phase, and whether its rank is the other one.
    let mut open = vec![(phase, false)];
    let mut seen = Vec::new();
    while let Some((phase, away)) = open.pop() {
        for step in dependencies.iter().filter(|d| d.before == phase) {
            let away = away != step.signal.remote;
            if !away {
                return false;
            }
            if !seen.contains(&(step.after, away)) {
                seen.push((step.after, away));
                open.push((step.after, away));
            }
        }
    }
    true
}

/// A tensor of the chunk that a phase touches on its own rank.
fn touched(graph: &TaskGraph, phase: PhaseId) -> Option<TensorId> {
    let phase = &graph.phases[phase];
    let here = phase.accesses.iter().filter(|access| !access.remote).map(|access| access.tensor);
    let origins = phase.origins.filter(|origins| !origins.write).map(|origins| origins.tensor);
    here.chain(origins).find(|&tensor| !graph.tensors[tensor].storage.is_argument())
}

/// Which ranks have told, when a tile of a phase begins, that they read no more what lay in the memory of its chunk.
#[derive(Clone, Copy, Default)]
struct Told {
    /// The rank that runs it.
    own: bool,
    /// The ranks whose tokens its rows are.
    sources: bool,
}

/// Whose word each phase waits for. Tiles that wait for others have at least one row of theirs to wait for, and all that work on a row
/// follow one another.
fn waits(graph: &TaskGraph, dependencies: &[Dependency]) -> Arena<PhaseId, Option<Whose>> {
    let mut told: Arena<PhaseId, Told> = Arena::new();
    let mut waits: Arena<PhaseId, Option<Whose>> = Arena::new();
    for (id, phase) in graph.phases.iter() {
        let mut known = Told::default();
        for before in dependencies.iter().filter(|d| d.after == id && d.before < id) {
            let Told { own, sources } = told[before.before];
            let sends = graph.spaces[graph.phases[before.before].space].kind == SpaceKind::Sends;
            known.own |= if before.signal.remote { waits[before.before] == Some(Whose::Peer) } else { own };
            known.sources |= if before.signal.remote { sends && own } else { sources };
        }
        let writes = |remote: bool| {
            let mut written = phase.accesses.iter().filter(|access| access.write && access.remote == remote);
            written.any(|access| !graph.tensors[access.tensor].storage.is_argument())
        };
        let arrivals = graph.spaces[phase.space].kind == SpaceKind::Arrivals;
        let wait = match (writes(true), writes(false)) {
            (true, _) if !(arrivals && known.sources) => Some(Whose::Peer),
            (_, true) if !known.own => Some(Whose::Own),
            _ => None,
        };
        known.own |= wait == Some(Whose::Own);
        told.push(known);
        waits.push(wait);
    }
    waits
}
