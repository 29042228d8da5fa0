//! The text of each violation.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::graph::SpaceKind;
use crate::ids::{CounterId, PhaseId, TensorId};
use crate::schedule::{CoreKind, Entry};
use std::fmt::Write as _;

impl Violation {
    /// The violation in one line, with the names of the graph.
    #[must_use]
    pub fn text(&self, checked: &CheckedGraph) -> String {
        let phase_name = |id: &PhaseId| phase_name(checked, *id);
        let counter_name = |id: &CounterId| counter_name(checked, *id);
        let entry_name = |entry: &Entry| entry_name(checked, *entry);
        let tensor_name = |id: &TensorId| format!("`{}`", checked.graph().tensors[*id].name);
        match self {
            Self::Roles { kind, cores } => {
                let kind = match kind {
                    CoreKind::Aic => "matrix",
                    CoreKind::Aiv => "vector",
                };
                format!("each of the {cores} {kind} cores must be in exactly one role")
            }
            Self::Table { what } => format!("`{what}` does not have one row for each phase"),
            Self::Joins { phase } => {
                format!("{} can't be joined with the phase before it", phase_name(phase))
            }
            Self::WrongCores { phase, role } => format!("role {} can't run {}", role.0, phase_name(phase)),
            Self::Band { phase } => format!("{} has a band without rows", phase_name(phase)),
            Self::Rotation { phase } => {
                format!("the rotation of {} is not less than the number of cores that share a queue", phase_name(phase))
            }
            Self::NothingAhead { phase } => {
                format!("{} is not a product, so it has no weights to read ahead", phase_name(phase))
            }
            Self::ReadEarly { phase, tensor } => {
                format!(
                    "{} reads {} before its waits, but only weights of the caller that no phase writes can be read so early",
                    phase_name(phase),
                    tensor_name(tensor)
                )
            }
            Self::Preceding { phase } => {
                format!(
                    "the tiles counted before those of {} belong to a space that no phase runs over",
                    phase_name(phase)
                )
            }
            Self::OnceByLoad => {
                "experts run in the order of their rows, but tokens that are sent once are stored under their \
                 lowest-numbered expert, so experts must run in the order of their numbers"
                    .to_owned()
            }
            Self::Orders { listed } => {
                format!(
                    "there are orders for {listed:?} ranks, but there must be one for each number that divides the experts"
                )
            }
            Self::Missing { ranks, entry } => format!("{ranks} ranks: {} is in no queue", entry_name(entry)),
            Self::Twice { ranks, entry } => format!("{ranks} ranks: {} is in the queues twice", entry_name(entry)),
            Self::Misplaced { ranks, part, entry } => {
                format!("{ranks} ranks: {} does not belong in queue {}", entry_name(entry), part.0)
            }
            Self::Form { phase, counter } => {
                format!("a tile of {} can't address {} in this way", phase_name(phase), counter_name(counter))
            }
            Self::Unordered { before, after, tensor } if before == after => {
                format!(
                    "tiles of {} share elements of {}, but nothing orders them",
                    phase_name(before),
                    tensor_name(tensor)
                )
            }
            Self::Unordered { before, after, tensor } => {
                format!(
                    "{} and {} share elements of {}, but no dependency orders them",
                    phase_name(before),
                    phase_name(after),
                    tensor_name(tensor)
                )
            }
            Self::Uncovered { dependency } => {
                let dependency = &checked.dependencies()[*dependency];
                let tensor = &checked.graph().tensors[dependency.tensor].name;
                let (before, after) = (phase_name(&dependency.before), phase_name(&dependency.after));
                format!("{before} and {after} share `{tensor}`, but nothing makes the second wait for the first")
            }
            Self::Cycle { ranks, entries } => {
                let mut text = format!("{ranks} ranks: these entries wait for one another in a cycle:");
                for entry in entries {
                    let _ = write!(text, " {},", entry_name(entry));
                }
                text.pop();
                text
            }
            Self::Threshold { phase, counter, need, added } => {
                format!(
                    "{} waits until {} reaches {}, but the signals add up to {}",
                    phase_name(phase),
                    counter_name(counter),
                    need,
                    added
                )
            }
            Self::Inexact { phase, counter } => {
                format!(
                    "the amount that {} adds to {} depends on more than the counter's rows",
                    phase_name(phase),
                    counter_name(counter)
                )
            }
            Self::Unawaited { phase, counter } => {
                format!("{} signals {}, but no phase waits for it", phase_name(phase), counter_name(counter))
            }
            Self::Chunks => {
                "launches choose the number of chunks, but the orders are not for exactly the numbers that \
                 launches can choose"
                    .to_owned()
            }
            Self::NoWord => "chunks reuse memory, but no phase signals when it is free".to_owned(),
            Self::WordsOutOfOrder { ranks } => {
                format!(
                    "{ranks} ranks: the words that free the memory of chunks are not in one queue in the order of chunks"
                )
            }
            Self::FreedEarly { phase, tensor } => {
                format!(
                    "{} may still use a chunk's rows of {} after they are freed",
                    phase_name(phase),
                    tensor_name(tensor)
                )
            }
            Self::WrittenEarly { phase, tensor } => {
                format!(
                    "{} may touch rows of {} before those of an earlier chunk are freed",
                    phase_name(phase),
                    tensor_name(tensor)
                )
            }
            Self::SumsOutOfOrder { ranks, phase } => {
                format!(
                    "{ranks} ranks: the entries of {} are not in one queue in the order of chunks",
                    phase_name(phase)
                )
            }
            Self::Unrouted { ranks, part } => {
                format!("{ranks} ranks: queue {} reads tables of the route before they are made", part.0)
            }
            Self::NeedsRoute { phase } => {
                format!("{} comes before the route, but needs its tables", phase_name(phase))
            }
            Self::RouteForm => "the route must wait for all of its ids, and for nothing else".to_owned(),
            Self::RoutedEarly { phase } => {
                format!("the route does not wait for the ids that {} writes", phase_name(phase))
            }
            Self::RouteThreshold { need, added } => {
                format!(
                    "the route waits until the counter of its ids reaches {need}, but the signals add up to {added}"
                )
            }
            Self::SecondRoute { ranks } => {
                format!("{ranks} ranks: the kernel makes tables of a route that the host has made")
            }
            Self::TooLarge { ranks, what, value, limit } => {
                let plural = if *ranks == 1 { "" } else { "s" };
                format!("{ranks} rank{plural}: {what}: {value}, but at most {limit} fit")
            }
        }
    }
}

fn phase_name(checked: &CheckedGraph, id: PhaseId) -> String {
    let graph = checked.graph();
    format!("phase {} (`{}`)", id.0, graph.phases[id].source)
}

fn counter_name(checked: &CheckedGraph, id: CounterId) -> String {
    let tensor = checked.counters()[id].tensor;
    format!("counter {} of `{}`", id.0, checked.graph().tensors[tensor].name)
}

fn entry_name(checked: &CheckedGraph, entry: Entry) -> String {
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
