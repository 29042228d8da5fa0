//! Queues as short texts: entries that follow one another over experts and peers become one run.

use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::PhaseId;
use crate::schedule::Entry;

/// Phases that run one after another for each group in a rectangle of groups: a range of experts and a range of peers.
#[derive(Clone, PartialEq, Eq, Debug)]
struct EntryRun {
    phases: Vec<PhaseId>,
    experts: (u32, u32),
    peers: (u32, u32),
}

/// The runs of a queue. `project→g, project→u e0..e7` is, for each of these experts, an entry of the first phase and then of the
/// second. In `dispatch e0..e7 +0..+3` each expert has an entry for each peer, counted from the rank itself.
pub(super) fn runs(graph: &TaskGraph, queue: &[Entry]) -> Vec<String> {
    let mut runs: Vec<EntryRun> = Vec::new();
    for run in over_peers(bundles(graph, queue)) {
        match runs.last_mut() {
            Some(last) if follows(last, &run) => last.experts.1 = run.experts.1,
            _ => runs.push(run),
        }
    }
    runs.iter().map(|run| text(graph, run)).collect()
}

/// Entries of the same group that follow one another in the queue, joined.
fn bundles(graph: &TaskGraph, queue: &[Entry]) -> Vec<EntryRun> {
    let kind = |phase: PhaseId| graph.spaces[graph.phases[phase].space].kind;
    let mut bundles: Vec<EntryRun> = Vec::new();
    for entry in queue {
        let (expert, peer) = (entry.expert, entry.peer_offset);
        let joins = |last: &&mut EntryRun| {
            last.experts.0 == expert
                && last.peers.0 == peer
                && kind(last.phases[0]) == kind(entry.phase)
                && !last.phases.contains(&entry.phase)
        };
        match bundles.last_mut().filter(joins) {
            Some(last) => last.phases.push(entry.phase),
            None => {
                bundles.push(EntryRun { phases: vec![entry.phase], experts: (expert, expert), peers: (peer, peer) })
            }
        }
    }
    bundles
}

fn over_peers(bundles: Vec<EntryRun>) -> Vec<EntryRun> {
    let mut runs: Vec<EntryRun> = Vec::new();
    for bundle in bundles {
        let joins = |last: &&mut EntryRun| {
            last.phases == bundle.phases && last.experts == bundle.experts && last.peers.1 + 1 == bundle.peers.0
        };
        match runs.last_mut().filter(joins) {
            Some(last) => last.peers.1 = bundle.peers.1,
            None => runs.push(bundle),
        }
    }
    runs
}

fn follows(last: &EntryRun, run: &EntryRun) -> bool {
    last.phases == run.phases && last.peers == run.peers && last.experts.1 + 1 == run.experts.0
}

fn text(graph: &TaskGraph, run: &EntryRun) -> String {
    let phases: Vec<String> = run.phases.iter().map(|&phase| graph.phase_name(phase)).collect();
    let range = |sign: &str, (first, last): (u32, u32)| {
        if first == last { format!(" {sign}{first}") } else { format!(" {sign}{first}..{sign}{last}") }
    };
    let place = match graph.spaces[graph.phases[run.phases[0]].space].kind {
        SpaceKind::Blocks | SpaceKind::Chunks if graph.sizes.cuts() => range("c", run.experts),
        SpaceKind::Blocks | SpaceKind::Chunks => String::new(),
        SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => range("e", run.experts),
        SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => {
            range("e", run.experts) + &range("+", run.peers)
        }
    };
    phases.join(", ") + &place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn groups_become_rectangles() {
        let checked = moe_ffn(&Layer::SMALL);
        let entry = |phase, expert, peer_offset| Entry { phase: PhaseId(phase), expert, peer_offset };
        let queue = [
            entry(1, 0, 0),
            entry(2, 0, 0),
            entry(1, 1, 0),
            entry(2, 1, 0),
            entry(4, 0, 0),
            entry(0, 0, 0),
            entry(0, 0, 1),
            entry(0, 1, 0),
            entry(0, 1, 1),
            entry(0, 3, 1),
            entry(6, 0, 0),
        ];
        assert_eq!(
            runs(checked.graph(), &queue),
            ["project→g, project→u e0..e1", "project→out e0", "dispatch e0..e1 +0..+1", "dispatch e3 +1", "combine"]
        );
    }
}
