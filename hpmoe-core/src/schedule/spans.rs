//! Spans: entries of consecutive experts that one descriptor stands for, because most cores have no tile of most of them.

use super::cost::EntryCosts;
use super::groups::Groups;
use super::precedence::Precedence;
use super::queue::walks;
use super::ranges::{is_next_expert, one_group_per_expert};
use super::timeline::QueueReplay;
use super::typical::typical;
use super::{Entry, Order, PhaseSchedule, Role};
use crate::analyze::CheckedGraph;
use crate::graph::TaskGraph;
use crate::ids::{Arena, PartId, PhaseId, RoleId};
use crate::units::Nanos;

/// Marks the phases in which an expert has tiles for at most half of the cores, if a rank has at least twice [`TIMES`] experts.
pub(super) fn spanning(
    graph: &TaskGraph,
    costs: &EntryCosts,
    roles: &Arena<RoleId, Role>,
    phases: &mut Arena<PhaseId, PhaseSchedule>,
) {
    let ranks = typical(graph).ranks;
    for id in graph.phases.ids() {
        phases[id].spans_experts = experts_together(graph, costs, (ranks, roles[phases[id].role].count), id) > 1;
    }
}

/// The minimum number of groups into which a rank's experts are divided. With fewer groups, the work of one role would not overlap with that
/// of other roles.
const TIMES: u64 = 8;

/// The number of consecutive experts with which each core has about one tile of a phase.
pub(super) fn experts_together(
    graph: &TaskGraph,
    costs: &EntryCosts,
    (ranks, cores): (u32, u32),
    phase: PhaseId,
) -> u64 {
    let most = graph.sizes.local_experts(ranks as usize) as u64 / TIMES;
    match one_group_per_expert(graph, ranks, phase) {
        true => (u64::from(cores) / costs.entry_tiles(graph, ranks, phase).max(1)).min(most).max(1),
        false => 1,
    }
}

/// Puts entries of consecutive experts next to each other, as many as give each core about one tile. The order stays as it is if its queues
/// would then wait for each other.
pub(super) fn gather(
    checked: &CheckedGraph,
    costs: &EntryCosts,
    phases: &Arena<PhaseId, PhaseSchedule>,
    order: &mut Order,
) {
    let graph = checked.graph();
    let gathered = |(part, queue): (PartId, &Vec<Entry>)| gathered(graph, costs, phases, order, (part, queue));
    let queues: Arena<PartId, Vec<Entry>> = order.queues.iter().map(gathered).collect();
    if queues != order.queues && all_run(checked, order.ranks, &queues) {
        order.queues = queues;
    }
}

fn gathered(
    graph: &TaskGraph,
    costs: &EntryCosts,
    phases: &Arena<PhaseId, PhaseSchedule>,
    order: &Order,
    (part, queue): (PartId, &[Entry]),
) -> Vec<Entry> {
    let walks: Vec<&[Entry]> = walks(phases, queue).collect();
    let mut heads: Vec<PhaseId> = walks.iter().map(|walk| walk[0].phase).collect();
    heads.sort_unstable();
    heads.dedup();
    let mut taken = vec![false; walks.len()];
    let mut all = Vec::new();
    for at in 0..walks.len() {
        if std::mem::replace(&mut taken[at], true) {
            continue;
        }
        all.extend(walks[at]);
        let mut last = walks[at][0];
        if !phases[last.phase].spans_experts {
            continue;
        }
        let size = experts_together(graph, costs, (order.ranks, order.parts[part].count), last.phase) as usize;
        let (mut count, end) = (1, walks.len().min(at + size * heads.len()));
        for next in at + 1..end {
            if count < size && !taken[next] && is_next_expert(graph, order.ranks, last, walks[next][0]) {
                taken[next] = true;
                all.extend(walks[next]);
                last = walks[next][0];
                count += 1;
            }
        }
    }
    all
}

/// Whether all entries run with these queues.
fn all_run(checked: &CheckedGraph, ranks: u32, queues: &Arena<PartId, Vec<Entry>>) -> bool {
    let groups = Groups::new(checked.graph(), ranks);
    let precedence = Precedence::new(checked, &groups, ranks, None);
    QueueReplay::new(&precedence).run(&groups, queues, |_, _, ready: Nanos| ready)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked, moe_backward, moe_ffn, once, router};
    use crate::schedule::{Choices, Schedule, schedule_with};
    use crate::target::Target;
    use crate::validate::validate;

    fn made(checked: &CheckedGraph, choices: &str) -> Schedule {
        schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap())
    }

    /// A layer with many experts, each with few tiles.
    const MANY: Layer = Layer { experts: 256, tokens: 16, ..Layer::SMALL };

    #[test]
    fn phases_span_experts_if_cores_have_tiles_of_few_of_them() {
        let spans = |layer: &Layer| {
            let checked = moe_ffn(layer);
            let made = made(&checked, "");
            made.phases.iter().map(|(_, phase)| phase.spans_experts).collect::<Vec<_>>()
        };
        // On eight ranks, sends and returns have a group for each peer. Blocks of tokens have no expert.
        assert_eq!(spans(&MANY), [false, true, true, true, true, false, false]);
        assert_eq!(spans(&Layer { tokens: 8192, ..Layer::DEEPSEEK }), [false; 7]);
    }

    #[test]
    fn entries_of_as_many_experts_follow_one_another_as_give_each_core_a_tile() {
        let checked = moe_ffn(&MANY);
        let made = made(&checked, "experts_ahead=1");
        let order = made.order(1).unwrap();
        let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
        let down = PhaseId(4);
        let size = experts_together(checked.graph(), &costs, (1, 24), down);
        assert!((2..=32).contains(&size), "{size}");
        let (_, queue) = order.queues.iter().next().unwrap();
        let runs: Vec<usize> =
            queue.chunk_by(|a, b| a.phase == b.phase).filter(|run| run[0].phase == down).map(<[_]>::len).collect();
        assert_eq!(runs.iter().sum::<usize>(), 256);
        assert!(runs[..runs.len() - 1].iter().all(|&run| run as u64 >= size), "{runs:?} of {size}");
        for run in queue.chunk_by(|a, b| a.phase == b.phase) {
            assert!(run.is_sorted_by_key(|entry| entry.expert));
        }
    }

    #[test]
    fn schedules_of_many_small_experts_are_right() {
        for checked in [moe_ffn(&MANY), moe_backward(&MANY), once(&MANY), router(&MANY), chunked(&MANY, 2)] {
            for choices in ["", "turn_rows=0", "join=false", "experts_ahead=0", "experts_ahead=16"] {
                let made = made(&checked, choices);
                assert!(made.phases.iter().any(|(_, phase)| phase.spans_experts));
                assert_eq!(validate(&checked, made).err(), None, "{choices}");
            }
        }
    }

    #[test]
    fn queues_that_would_wait_for_each_other_stay_as_they_are() {
        let checked = moe_ffn(&MANY);
        let made = made(&checked, "");
        let order = made.order(8).unwrap();
        assert!(all_run(&checked, 8, &order.queues));
        let costs = EntryCosts::new(checked.graph(), &Target::ascend_a3());
        let mut others = made.phases.clone();
        checked.graph().phases.ids().for_each(|id| others[id].spans_experts = id == PhaseId(4));
        let mut alone = made.order(1).unwrap().clone();
        // Each expert's products together: the down projection of the next expert would come before its gate projection.
        let (matrix, _) = alone.queues.iter().next().unwrap();
        alone.queues[matrix].sort_by_key(|entry| entry.expert);
        let before = alone.clone();
        assert!(all_run(&checked, 1, &before.queues));
        gather(&checked, &costs, &others, &mut alone);
        assert_eq!(alone, before);
        let backwards = order.queues.iter().map(|(_, queue)| queue.iter().rev().copied().collect()).collect();
        assert!(!all_run(&checked, 8, &backwards));
    }
}
