//! Ranges of entries: one descriptor stands for the entries of consecutive peers, or of consecutive experts.

use super::groups::chunk;
use super::{Entry, Order, Schedule};
use crate::graph::{Height, SpaceKind, TaskGraph};
use crate::ids::{PartId, PhaseId};
use hpmoe_kernels::op::TaskKind;

/// The difference between the peers of two consecutive entries, modulo the number of ranks, if one descriptor can stand for both. This
/// needs the same phase and the same position in the order of experts, and peers that are neighbours on the ring of ranks.
pub(crate) fn peer_step(ranks: u32, entry: Entry, next: Entry) -> Option<u32> {
    let alike = (entry.phase, entry.expert) == (next.phase, next.expert);
    let on_ring = alike && entry.peer_offset < ranks && next.peer_offset < ranks;
    let step = if on_ring { (next.peer_offset + ranks - entry.peer_offset) % ranks } else { 0 };
    (step > 0 && (step == 1 || step == ranks - 1)).then_some(step)
}

/// Whether the second entry is that of the expert after the first one's: of the same phase, chunk and peer, and with tiles that follow the
/// first one's in the numbering that deals tiles to cores.
pub(crate) fn is_next_expert(graph: &TaskGraph, ranks: u32, entry: Entry, next: Entry) -> bool {
    let alike = (entry.phase, entry.peer_offset) == (next.phase, next.peer_offset);
    alike
        && one_group_per_expert(graph, ranks, entry.phase)
        && next.expert == entry.expert + 1
        && chunk(graph, ranks, entry) == chunk(graph, ranks, next)
}

/// Whether a phase has one group for each expert, and the numbers that deal its tiles ascend in the rank's order of experts. They don't for
/// tasks that add to an expert's matrices: if there are several chunks, an expert's tiles have the same numbers in each of them, so that the
/// same core adds each time.
pub(super) fn one_group_per_expert(graph: &TaskGraph, ranks: u32, phase: PhaseId) -> bool {
    let space = graph.spaces[graph.phases[phase].space];
    let adds = space.kind == SpaceKind::RowTiles && space.height == Height::WholeExpert;
    !space.by_chunk() && !adds && (ranks == 1 || !space.kind.by_peer())
}

/// The difference between consecutive entries of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The distance of peers, modulo the number of ranks.
    Peers(u32),
    /// One expert.
    Expert,
}

/// The reason why a core visits an entry of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comes {
    /// The core reads the entry, whether or not it has a tile in the entry.
    Always,
    /// The core reads the range that starts with the entry, and then looks for its tiles in the range.
    First,
    /// The entry is a later one of a range. The core visits it only if it has a tile in the entry.
    ToTiles,
}

impl Comes {
    /// Number of entries that the core reads for this visit. `has_tile` says whether the core has a tile in the entry.
    #[must_use]
    pub const fn read(self, has_tile: bool) -> u32 {
        match self {
            Self::Always => 1,
            Self::First => 1 + has_tile as u32,
            Self::ToTiles => has_tile as u32,
        }
    }
}

/// Entries that differ only in the peer, or only in the expert. Each entry is listed together with the entries that join it.
pub type Range<'a> = Vec<&'a [Entry]>;

impl Schedule {
    /// The queue of a part as descriptors represent it: the ranges before the route that the kernel makes, and those after it.
    pub(crate) fn ranges_of<'a>(&'a self, graph: &TaskGraph, order: &'a Order, part: PartId) -> [Vec<Range<'a>>; 2] {
        let queue = &order.queues[part][..];
        let routed_at = order.routed_at.as_ref().filter(|at| at.len() == order.queues.len());
        let routed_at = routed_at.map_or(0, |at| queue.len().min(at[part] as usize));
        let (unrouted, routed) = queue.split_at(routed_at);
        [unrouted, routed].map(|entries| self.ranges(graph, order, entries))
    }

    /// A part's queue in the order in which cores walk it. Each item is an entry with the entries that join it, and the reason why a core
    /// visits them.
    pub fn walks_of_ranges<'a>(
        &'a self,
        graph: &TaskGraph,
        order: &'a Order,
        part: PartId,
    ) -> impl Iterator<Item = (&'a [Entry], Comes)> {
        let ranges = self.ranges_of(graph, order, part).into_iter().flatten();
        ranges.flat_map(|range| {
            let alone = range.len() == 1;
            let comes = move |place| match place {
                _ if alone => Comes::Always,
                0 => Comes::First,
                _ => Comes::ToTiles,
            };
            range.into_iter().enumerate().map(move |(place, walk)| (walk, comes(place)))
        })
    }

    /// A queue as descriptors represent it: entries that are walked together, combined into ranges of consecutive peers for vector cores, and
    /// of consecutive experts for phases that [span experts](super::PhaseSchedule::spans_experts).
    pub(super) fn ranges<'a>(&'a self, graph: &TaskGraph, order: &Order, queue: &'a [Entry]) -> Vec<Range<'a>> {
        let mut ranges: Vec<Range<'_>> = Vec::new();
        for walk in self.walks(queue) {
            let goes_on = |range: &&mut Range<'_>| {
                let (last, next) = (range[range.len() - 1], walk[0]);
                let along = |range: &Range<'_>| {
                    self.along(graph, order, range[0][0], range.get(1).map_or(next, |walk| walk[0]))
                };
                let step = self.along(graph, order, last[0], next);
                step.is_some() && step == along(range) && last.len() == walk.len()
            };
            match ranges.last_mut().filter(goes_on) {
                Some(range) => range.push(walk),
                None => ranges.push(vec![walk]),
            }
        }
        ranges
    }

    /// The difference between two entries if one descriptor can stand for both.
    fn along(&self, graph: &TaskGraph, order: &Order, entry: Entry, next: Entry) -> Option<Step> {
        let phase = &self.phases[entry.phase];
        let vector = graph.tasks[graph.phases[entry.phase].task].kind != TaskKind::Matrix;
        let peers = peer_step(order.ranks, entry, next).filter(|_| vector && phase.rotation == 0);
        let experts = phase.spans_experts
            && order.turn(graph, entry.phase).is_none()
            && is_next_expert(graph, order.ranks, entry, next);
        peers.map(Step::Peers).or_else(|| experts.then_some(Step::Expert))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, chunked, moe_ffn, sums};
    use crate::ids::{Arena, PhaseId};
    use crate::schedule::{Choices, schedule_with};
    use crate::target::Target;

    fn entry(expert: u32, peer_offset: u32) -> Entry {
        Entry { phase: PhaseId(0), expert, peer_offset }
    }

    #[test]
    fn neighbours_on_the_ring_of_ranks_share_a_descriptor() {
        let step = |ranks, from, to| peer_step(ranks, entry(1, from), entry(1, to));
        assert_eq!([(1, 2), (2, 1), (0, 7), (7, 0)].map(|(from, to)| step(8, from, to)), [1, 7, 7, 1].map(Some));
        assert_eq!([(0, 2), (3, 3), (6, 0), (8, 7), (7, 8)].map(|(from, to)| step(8, from, to)), [None; 5]);
        assert_eq!([step(1, 0, 0), step(2, 0, 1), step(2, 1, 0)], [None, Some(1), Some(1)]);
        assert_eq!(peer_step(8, entry(1, 2), entry(2, 3)), None);
        assert_eq!(peer_step(8, entry(1, 2), Entry { phase: PhaseId(1), ..entry(1, 3) }), None);
    }

    #[test]
    fn a_range_has_peers_of_one_direction_and_its_first_entry_is_read_by_all() {
        let checked = moe_ffn(&Layer { experts: 64, ..Layer::SMALL });
        let graph = checked.graph();
        let mut made = schedule_with(&checked, &Target::ascend_a3(), &Choices::default());
        let walks = |made: &crate::schedule::Schedule, offsets: &[u32]| {
            let mut order = made.order(8).unwrap().clone();
            let queue = offsets.iter().map(|&peer_offset| entry(1, peer_offset)).collect();
            (order.queues, order.routed_at) = (Arena::from_iter([queue]), None);
            made.walks_of_ranges(graph, &order, PartId(0)).map(|(walk, comes)| (walk.len(), comes)).collect::<Vec<_>>()
        };
        assert_eq!(graph.spaces[graph.phases[PhaseId(0)].space].kind, SpaceKind::Sends);
        let all = |comes: &[Comes]| comes.iter().map(|&comes| (1, comes)).collect::<Vec<_>>();
        use Comes::{Always, First, ToTiles};
        assert_eq!(walks(&made, &[1, 0, 7, 6]), all(&[First, ToTiles, ToTiles, ToTiles]));
        assert_eq!(walks(&made, &[6, 7, 0, 7, 6, 3]), all(&[First, ToTiles, ToTiles, First, ToTiles, Always]));
        made.phases[PhaseId(0)].rotation = 1;
        assert_eq!(walks(&made, &[1, 0]), all(&[Always; 2]));
        assert_eq!(
            [Always, First, ToTiles].map(|comes| [false, true].map(|tile| comes.read(tile))),
            [[1, 1], [1, 2], [0, 1]]
        );
    }

    #[test]
    fn a_range_has_consecutive_experts_of_a_phase_that_spans_them() {
        use Comes::{Always, First, ToTiles};
        let checked = moe_ffn(&Layer { experts: 64, ..Layer::SMALL });
        let mut made = schedule_with(&checked, &Target::ascend_a3(), &Choices::read("turn_rows=0").unwrap());
        let comes = |made: &Schedule, (ranks, phase): (u32, u32), experts: &[u32]| {
            let mut order = made.order(ranks).unwrap().clone();
            let queue = experts.iter().map(|&expert| Entry { phase: PhaseId(phase), expert, peer_offset: 0 });
            (order.queues, order.routed_at) = (Arena::from_iter([queue.collect()]), None);
            let walks = made.walks_of_ranges(checked.graph(), &order, PartId(0));
            walks.map(|(_, comes)| comes).collect::<Vec<_>>()
        };
        // The down projection, whose rows are few, with the deal shifted and not.
        for rotation in [0, 5] {
            made.phases[PhaseId(4)].rotation = rotation;
            made.phases[PhaseId(4)].spans_experts = true;
            assert_eq!(comes(&made, (8, 4), &[1, 2, 3, 5, 6, 4]), [First, ToTiles, ToTiles, First, ToTiles, Always]);
            made.phases[PhaseId(4)].spans_experts = false;
            assert_eq!(comes(&made, (8, 4), &[1, 2, 3]), [Always; 3]);
        }
        // A send has a group for each peer, so experts follow one another only on one rank.
        made.phases[PhaseId(0)].spans_experts = true;
        assert_eq!(comes(&made, (8, 0), &[1, 2]), [Always; 2]);
        assert_eq!(comes(&made, (1, 0), &[1, 2]), [First, ToTiles]);
        let chunked = chunked(&Layer { experts: 64, ..Layer::SMALL }, 2);
        let product =
            chunked.graph().phases.iter().find(|(_, phase)| chunked.graph().tasks[phase.task].kind == TaskKind::Matrix);
        let phase = product.unwrap().0;
        let tile = |expert: u32| Entry { phase, expert, peer_offset: 0 };
        let next = |from: u32| is_next_expert(chunked.graph(), 8, tile(from), tile(from + 1));
        assert_eq!([6, 7, 8].map(next), [true, false, true], "a descriptor has one chunk");
        // Tasks that add to an expert's matrices have the same numbers in each chunk.
        let sums = sums(&Layer { experts: 64, ..Layer::SMALL }, 2);
        let adds = sums.graph().phases.ids().filter(|&phase| sums.graph().adds_up(phase));
        let adds: Vec<PhaseId> = adds.collect();
        assert!(!adds.is_empty());
        for phase in adds {
            let tile = |expert: u32| Entry { phase, expert, peer_offset: 0 };
            assert!(!is_next_expert(sums.graph(), 1, tile(0), tile(1)));
        }
    }

    #[test]
    fn entries_with_which_others_are_walked_have_ranges_of_their_own() {
        let checked = moe_ffn(&Layer { experts: 64, ..Layer::SMALL });
        let mut made = schedule_with(&checked, &Target::ascend_a3(), &Choices::default());
        made.phases[PhaseId(1)].joins_previous = true;
        let mut order = made.order(8).unwrap().clone();
        let joining = Entry { phase: PhaseId(1), ..entry(1, 2) };
        (order.queues, order.routed_at) = (Arena::from_iter([vec![entry(1, 1), entry(1, 2), joining]]), None);
        let walks = made.walks_of_ranges(checked.graph(), &order, PartId(0));
        assert_eq!(
            walks.map(|(walk, comes)| (walk.len(), comes)).collect::<Vec<_>>(),
            [(1, Comes::Always), (2, Comes::Always)]
        );
    }

    #[test]
    fn a_route_without_a_place_in_each_queue_has_none() {
        let checked = moe_ffn(&Layer { experts: 64, ..Layer::SMALL });
        let made = schedule_with(&checked, &Target::ascend_a3(), &Choices::default());
        let mut order = made.order(8).unwrap().clone();
        order.routed_at = Some(Arena::from_iter([1]));
        for part in order.queues.ids() {
            let [unrouted, routed] = made.ranges_of(checked.graph(), &order, part);
            assert_eq!((unrouted.len(), routed.is_empty()), (0, order.queues[part].is_empty()));
        }
    }

    #[test]
    fn peers_that_take_turns_are_read_by_cores_with_tiles() {
        let checked = moe_ffn(&Layer { experts: 64, ..Layer::SMALL });
        let made = schedule_with(&checked, &Target::ascend_a3(), &Choices::read("turn_rows=40").unwrap());
        let order = made.order(8).unwrap();
        let ranges = |part| made.ranges_of(checked.graph(), order, part).into_iter().flatten();
        assert!(order.queues.ids().flat_map(ranges).any(|range| range.len() == 8));
        for (part, queue) in order.queues.iter() {
            let walks: Vec<_> = made.walks_of_ranges(checked.graph(), order, part).collect();
            let in_turn = |walk: &[Entry]| order.turn(checked.graph(), walk[0].phase).is_some();
            let comes = walks.iter().filter(|(walk, _)| in_turn(walk)).map(|(_, comes)| *comes);
            let first = comes.clone().filter(|&comes| comes == Comes::First).count();
            assert!(comes.clone().all(|comes| comes != Comes::Always) && comes.count() == 8 * first);
            assert!(walks.iter().flat_map(|(walk, _)| walk.iter()).eq(queue));
        }
    }
}
