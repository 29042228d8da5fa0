//! Memory that chunks reuse: the last phases that touch a chunk's rows, and the first phases that write a later chunk's
//! rows.

use super::Cover;
use super::dependencies::through;
use super::readiness::{Counter, Dependency, Grid, Hazard, Index, Signal, Wait};
use crate::finding::{ChunkFault, Errors, Finding};
use crate::graph::{Phase, SpaceKind, TaskGraph};
use crate::ids::{Arena, CounterId, PhaseId, TensorId};

/// Reuse of one chunk's memory by the chunk after the next.
///
/// The phase `frees` waits until no phase of its rank touches rows of the chunk any longer, and then writes the freed word at all ranks. A
/// phase that writes rows of a chunk waits for the freed word of the rank that it writes to, unless an earlier phase that it waits for has
/// already waited for this word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reuse {
    /// The phase that the compiler adds at the end of the chunk.
    pub frees: PhaseId,
    /// For each phase, the rank whose freed word its tiles wait for; `None` if its tiles wait for no freed word.
    pub waits: Arena<PhaseId, Option<Whose>>,
}

/// The rank whose freed word a tile waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Whose {
    /// The rank that runs the tile.
    Own,
    /// The item's peer.
    Peer,
}

/// Finds how chunks of a graph reuse memory, and adds the dependencies of the phase that frees it; `None` if they don't.
pub(super) fn reuse(
    graph: &TaskGraph,
    counters: &mut Arena<CounterId, Counter>,
    dependencies: &mut Vec<Dependency>,
) -> Option<Reuse> {
    let frees = graph.phases.ids().find(|&phase| graph.spaces[graph.phases[phase].space].kind == SpaceKind::Chunks)?;
    let waits = waits(graph, dependencies);
    let last = graph.phases.ids().filter(|&phase| is_last(graph, dependencies, phase));
    for before in last.collect::<Vec<_>>() {
        let Some(tensor) = touched(graph, before) else { continue };
        let counter = counters.push(Counter { tensor, grid: Grid::Rank, through: true });
        let (amount, need) = through(graph, before, tensor);
        dependencies.push(Dependency {
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

/// Checks that every tensor of a chunk is read, so that each phase that writes one has a reader after it.
pub(super) fn check_read(graph: &TaskGraph, errors: &mut Errors) {
    if !graph.sizes.may_reuse() {
        return;
    }
    let is_origins = |phase: &Phase, id: TensorId| phase.origins.is_some_and(|origins| origins.tensor == id);
    for (id, tensor) in graph.tensors.iter().filter(|(_, tensor)| !tensor.storage.is_argument()) {
        if !graph.phases.iter().any(|(_, phase)| is_origins(phase, id) || phase.accesses_of(id, false).next().is_some())
        {
            errors.push(tensor.span, Finding::Chunk(ChunkFault::Unread { tensor: tensor.name.clone() }));
        }
    }
}

/// Whether no other phase of the same rank waits for this one. The search includes waits through other ranks that this phase sent rows to.
/// It relies on two facts: the phases that work on a row follow one another, and rows that come back were sent.
fn is_last(graph: &TaskGraph, dependencies: &[Dependency], phase: PhaseId) -> bool {
    // A phase, and whether it runs on another rank.
    let mut open = vec![(phase, false)];
    let mut seen = Vec::new();
    while let Some((phase, away)) = open.pop() {
        for step in dependencies.iter().filter(|d| d.before == phase && !may_be_missing(graph, d)) {
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

/// Whether a tile of the first phase can exist without one of the second: a token whose slots are all empty is sent to no rank.
fn may_be_missing(graph: &TaskGraph, dependency: &Dependency) -> bool {
    let kind = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind;
    kind(dependency.before) == SpaceKind::Blocks && kind(dependency.after) == SpaceKind::Sends
}

/// A tensor of the chunk that a phase touches on its own rank. A phase that reads origins gives rows of such a tensor back.
fn touched(graph: &TaskGraph, phase: PhaseId) -> Option<TensorId> {
    let mut here = graph.phases[phase].accesses.iter().filter(|access| !access.remote).map(|access| access.tensor);
    here.find(|&tensor| !graph.tensors[tensor].storage.is_argument())
}

/// The ranks that have freed the memory of a chunk by the time a tile of a phase starts.
#[derive(Clone, Copy, Default)]
struct Freed {
    /// The rank that runs the tile.
    own: bool,
    /// The ranks whose tokens are in its rows, if these rows were sent.
    sources: bool,
}

/// The rank whose freed word each phase waits for. A tile that waits for an earlier phase waits for at least one row, and the phases that
/// work on a row follow one another, so the freed words that the earlier phase waited for are known. A wait for slots tells nothing,
/// because all slots of a block of tokens may be empty.
fn waits(graph: &TaskGraph, dependencies: &[Dependency]) -> Arena<PhaseId, Option<Whose>> {
    let mut freed: Arena<PhaseId, Freed> = Arena::new();
    let mut waits: Arena<PhaseId, Option<Whose>> = Arena::new();
    for (id, phase) in graph.phases.iter() {
        let mut known = Freed::default();
        let by_block = graph.spaces[phase.space].kind == SpaceKind::Blocks;
        let of_slots = |dependency: &Dependency| by_block && dependency.wait.need.per_slot > 0;
        for before in dependencies.iter().filter(|d| d.after == id && !of_slots(d)) {
            let Freed { own, sources } = freed[before.before];
            let sends = graph.spaces[graph.phases[before.before].space].kind == SpaceKind::Sends;
            known.own |= if before.signal.remote { waits[before.before] == Some(Whose::Peer) } else { own };
            known.sources |= if before.signal.remote { sends && own } else { sources };
        }
        let writes = |remote: bool| {
            let mut written = phase.accesses.iter().filter(|access| access.write && access.remote == remote);
            written.any(|access| !graph.tensors[access.tensor].storage.is_argument())
        };
        // Empty slots are loaded, too, whatever lies there.
        let reads_slots = dependencies.iter().any(|d| d.after == id && of_slots(d));
        let wait = match (writes(true), writes(false) || reads_slots) {
            (true, _) if !known.sources => Some(Whose::Peer),
            (_, true) if !known.own => Some(Whose::Own),
            _ => None,
        };
        known.own |= wait == Some(Whose::Own);
        freed.push(known);
        waits.push(wait);
    }
    waits
}
