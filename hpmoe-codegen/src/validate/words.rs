//! Violations in words.

use super::Violation;
use crate::schedule::{CoreKind, Entry};
use hpmoe_language::analyze::{CheckedGraph, Need};
use hpmoe_language::graph::{Height, SpaceKind};
use hpmoe_language::ids::{CounterId, PhaseId, TensorId};
use std::fmt::Write as _;

impl Violation {
    /// One line, with the names of the graph.
    #[must_use]
    pub fn text(&self, checked: &CheckedGraph) -> String {
        let phase = |id: &PhaseId| phase(checked, *id);
        let counter = |id: &CounterId| counter(checked, *id);
        let entry = |of: &Entry| entry(checked, *of);
        let name = |id: &TensorId| format!("`{}`", checked.graph().tensors[*id].name);
        match self {
            Self::Roles { unit, cores } => {
                let unit = match unit {
                    CoreKind::Aic => "matrix",
                    CoreKind::Aiv => "vector",
                };
                format!("the roles do not have each of the {cores} {unit} cores once")
            }
            Self::Table { what } => format!("`{what}` has not one row for each phase"),
            Self::Joins { phase: id } => {
                format!("{} can't be walked together with the phase before it", phase(id))
            }
            Self::WrongUnit { phase: id, role } => format!("role {} can't run {}", role.0, phase(id)),
            Self::Band { phase: id } => format!("{} has a band without rows", phase(id)),
            Self::Preceding { phase: id } => {
                format!("the tiles counted before those of {} are in a space that no phase runs over", phase(id))
            }
            Self::OnceByLoad => {
                "experts run in the order of their rows, but tokens that are sent once are stored under their \
                 lowest-numbered expert, so experts must run in the order of their numbers"
                    .to_owned()
            }
            Self::Orders { found } => {
                format!("there are orders for {found:?} ranks: wanted are all numbers that divide the experts")
            }
            Self::Missing { ranks, entry: of } => format!("{ranks} ranks: {} is in no queue", entry(of)),
            Self::Twice { ranks, entry: of } => format!("{ranks} ranks: {} is in the queues twice", entry(of)),
            Self::Misplaced { ranks, part, entry: of } => {
                format!("{ranks} ranks: {} does not belong in queue {}", entry(of), part.0)
            }
            Self::Form { phase: id, counter: of } => {
                format!("a tile of {} can't address {} in this way", phase(id), counter(of))
            }
            Self::Uncovered { dependency } => {
                let dependency = &checked.dependencies()[*dependency];
                let tensor = &checked.graph().tensors[dependency.tensor].name;
                let (before, after) = (phase(&dependency.before), phase(&dependency.after));
                format!("nothing makes {after} come after {before}, which share `{tensor}`")
            }
            Self::Cycle { ranks, entries } => {
                let mut text = format!("{ranks} ranks: these wait for one another:");
                for (rank, of) in entries {
                    let _ = write!(text, " rank {rank} {},", entry(of));
                }
                text.pop();
                text
            }
            Self::Threshold { phase: id, counter: of, need, added } => {
                format!("{} waits for {} of {}, which gets {}", phase(id), words(need), counter(of), words(added))
            }
            Self::Inexact { phase: id, counter: of } => {
                format!("what {} adds to {} does not follow from its rows", phase(id), counter(of))
            }
            Self::Unawaited { phase: id, counter: of } => {
                format!("{} signals {}, and nobody waits for it", phase(id), counter(of))
            }
            Self::NoWord => "chunks take memory in turn, and no phase tells when it is free".to_owned(),
            Self::WordsOutOfOrder { ranks } => {
                format!("{ranks} ranks: that memory is free is not told chunk after chunk, in one queue")
            }
            Self::FreedEarly { phase: id, tensor } => {
                format!("{} may still use a chunk's rows of {} when they are said to be free", phase(id), name(tensor))
            }
            Self::WrittenEarly { phase: id, tensor } => {
                format!("{} may write rows of {} before those of another chunk are free", phase(id), name(tensor))
            }
            Self::SumsOutOfOrder { ranks, phase: id } => {
                format!("{ranks} ranks: {} does not add chunk after chunk, in one queue", phase(id))
            }
            Self::TooLarge { ranks, what, value, limit } => {
                format!("{ranks} ranks: {what} would be {value}, at most {limit} fit")
            }
        }
    }
}

fn phase(checked: &CheckedGraph, id: PhaseId) -> String {
    let graph = checked.graph();
    format!("phase {} (`{}`)", id.0, graph.phases[id].source)
}

fn counter(checked: &CheckedGraph, id: CounterId) -> String {
    let tensor = checked.counters()[id].tensor;
    format!("counter {} of `{}`", id.0, checked.graph().tensors[tensor].name)
}

fn entry(checked: &CheckedGraph, entry: Entry) -> String {
    let graph = checked.graph();
    let phase = &graph.phases[entry.phase];
    let name = format!("{} (phase {})", graph.tasks[phase.task].name, entry.phase.0);
    match graph.spaces[phase.space].kind {
        SpaceKind::Blocks | SpaceKind::Chunks if graph.sizes.chunks > 1 => format!("{name} of chunk {}", entry.expert),
        SpaceKind::Blocks | SpaceKind::Chunks => name,
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => format!("{name} of expert {}", entry.expert),
        SpaceKind::Sends | SpaceKind::SendsOnce => {
            format!("{name} to expert {} of peer +{}", entry.expert, entry.peer_offset)
        }
        SpaceKind::Arrivals => format!("{name} of expert {} from peer +{}", entry.expert, entry.peer_offset),
    }
}

/// As in `2 a row + 4 per 128 rows`.
fn words(need: &Need) -> String {
    let fixed = (need.fixed > 0).then(|| need.fixed.to_string());
    let rows = (need.per_row > 0).then(|| format!("{} a row", need.per_row));
    let pieces = need.pieces.iter().map(|(height, count)| match height {
        Height::Rows(rows) => format!("{count} per {rows} rows"),
        Height::WholeExpert => format!("{count} per expert with rows"),
    });
    let parts: Vec<String> = fixed.into_iter().chain(rows).chain(pieces).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(" + ") }
}
