//! Parts: divides the cores of a role among queues.

use super::turns::in_turn;
use super::{ByArrival, Choices, CoreKind, Entry, PeerCores, Role, Sends};
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Arena, PartId, PhaseId, RoleId};
use hpmoe_kernels::op::TaskKind;

/// Minimum number of sending cores per rank before they are dedicated to peers: fewer are too slow at the start.
const CORES_PER_RANK: u32 = 3;

/// Minimum number of pieces that a rank sends per vector core before sending cores are dedicated to peers. With fewer pieces, the cores of
/// a peer that gets few rows would be idle.
const PIECES_PER_CORE: usize = 16;

/// The constant part of each peer's share, in percent, if sending cores should be dedicated to peers (given enough cores). `None` if the
/// cores should be shared: by choice, if nothing is sent, or if so little is sent that some cores would be idle.
pub(super) fn dedicated(graph: &TaskGraph, aiv: u32, choices: &Choices) -> Option<u32> {
    let PeerCores::Dedicated { percent } = choices.peer_cores else { return None };
    let tile = graph.heights(SpaceKind::RowTiles).max().unwrap_or(0);
    let piece = graph.heights(SpaceKind::Sends).chain(graph.heights(SpaceKind::SendsOnce)).min()?;
    let sent = graph.sizes.chunk_tokens() * graph.sizes.top_k;
    let rows_per_pair = sent / graph.sizes.experts;
    let enough =
        rows_per_pair * 100 >= tile * choices.dedicate_from as usize && sent >= PIECES_PER_CORE * aiv as usize * piece;
    let whole_rows_by_arrival = choices.by_arrival != ByArrival::Never || !graph.needs_whole_experts();
    (enough && whole_rows_by_arrival).then_some(percent)
}

/// Whether the kernel walks row tiles in the order in which their rows arrive if its sending cores are dedicated to peers.
fn walks_by_arrival(graph: &TaskGraph, choices: &Choices) -> bool {
    match choices.by_arrival {
        ByArrival::Never => false,
        ByArrival::WholeExperts => graph.needs_whole_experts(),
        ByArrival::Always => true,
    }
}

/// The parts of all roles for one number of ranks.
pub(super) struct Parts {
    pub(super) parts: Arena<PartId, Role>,
    /// The division of a rank's sends among its peers, if sending cores are dedicated to peers.
    pub(super) dedicated: Option<Sends>,
    /// For each phase, the part that runs its entries, by distance of the peer.
    parts_of_phase: Arena<PhaseId, Vec<PartId>>,
}

impl Parts {
    /// Makes a part of each role. A role that only sends is split into several parts if its cores are dedicated to peers: with uneven
    /// routing, a core that waits for the link to a peer with many rows then delays no puts to other peers.
    pub(super) fn new(
        graph: &TaskGraph,
        roles: &Arena<RoleId, Role>,
        role_of: &Arena<PhaseId, RoleId>,
        ranks: u32,
        choices: &Choices,
    ) -> Self {
        let sends = |phase: PhaseId| {
            let phase = &graph.phases[phase];
            graph.tasks[phase.task].kind == TaskKind::Put && graph.spaces[phase.space].kind.sends()
        };
        let aiv = roles.iter().filter(|(_, role)| role.kind == CoreKind::Aiv).map(|(_, role)| role.count).sum();
        let dedicated = dedicated(graph, aiv, choices).filter(|_| ranks > 1);
        // A phase that needs all rows of an expert waits for the last of them, so no peer's rows should arrive later than another's.
        let evenly = walks_by_arrival(graph, choices);
        let mut parts = Arena::new();
        let mut divided = None;
        let mut by_role: Arena<RoleId, Vec<PartId>> = Arena::new();
        for (id, role) in roles.iter() {
            let phases: Vec<PhaseId> =
                role_of.iter().filter(|(_, role)| **role == id).map(|(phase, _)| phase).collect();
            let enough = role.count >= CORES_PER_RANK * ranks;
            let split = enough && !phases.is_empty() && phases.iter().copied().all(sends);
            by_role.push(match dedicated.filter(|_| split) {
                Some(percent) => {
                    divided = Some(if evenly { in_turn(graph, choices) } else { Sends::PeerAfterPeer });
                    let shares = if evenly { Shares::Even } else { Shares::Near(percent) };
                    by_distance(ranks, shares, role, &mut parts)
                }
                None => vec![parts.push(role.clone()); ranks as usize],
            });
        }
        Self {
            parts_of_phase: role_of.iter().map(|(_, &role)| by_role[role].clone()).collect(),
            parts,
            dedicated: divided,
        }
    }

    /// The part that runs an entry.
    pub(super) fn part_of(&self, entry: Entry) -> PartId {
        self.parts_of_phase[entry.phase][entry.peer_offset as usize]
    }
}

/// The division of sending cores among peers.
#[derive(Clone, Copy)]
enum Shares {
    /// Equal shares for all peers.
    Even,
    /// Larger shares for nearer peers: in proportion to 1/distance plus this percentage.
    Near(u32),
}

/// The part that serves each peer, by distance of the peer.
///
/// If shares aren't even, a matrix core walks the rows of an expert rank by rank, starting with its own rank. It needs the rows of the i-th
/// next rank when it has finished those of i ranks. If that rank is served at 1/i of the speed of the first one, all rows arrive just in
/// time. Rows for the rank itself are copied about three times as fast as others are put.
fn by_distance(ranks: u32, shares: Shares, role: &Role, parts: &mut Arena<PartId, Role>) -> Vec<PartId> {
    let weight = |i: u32| match shares {
        Shares::Even => 1.0,
        Shares::Near(evenly) => 1.0 / if i == 0 { 3.0 } else { f64::from(i) } + f64::from(evenly) / 100.0,
    };
    let all: f64 = (0..ranks).map(weight).sum();
    let mut part_of = vec![PartId(0); ranks as usize];
    let (mut used, mut share, mut from) = (0, 0.0, 0);
    for i in 0..ranks {
        share += weight(i);
        let end = (f64::from(role.count) * share / all).round() as u32;
        // The last core is left for the farthest peers.
        if end == used || (end == role.count && i < ranks - 1) {
            continue;
        }
        let part = parts.push(Role { first: role.first + used, count: end - used, ..role.clone() });
        for after in from..=i {
            part_of[((ranks - after) % ranks) as usize] = part;
        }
        (used, from) = (end, i + 1);
    }
    part_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::CheckedGraph;
    use crate::fixture::{Layer, moe_backward, moe_ffn, once, only};
    use crate::schedule::schedule_with;
    use crate::target::Target;

    fn split(ranks: u32, count: u32, shares: Shares) -> (Vec<(u32, u32)>, Vec<u32>) {
        let role = Role { name: "communication", kind: CoreKind::Aiv, first: 0, count };
        let mut parts = Arena::new();
        let part_of = by_distance(ranks, shares, &role, &mut parts);
        (parts.iter().map(|(_, part)| (part.first, part.count)).collect(), part_of.iter().map(|part| part.0).collect())
    }

    #[test]
    fn few_pieces_are_sent_by_all_cores_to_every_peer() {
        let chosen = Choices::read("peer_cores=20").unwrap();
        // A piece has 16 rows, and a token goes to 8 experts. Token blocks may be smaller or larger than a piece.
        let enough = 16 * 48 * 16 / 8;
        for block in [4, 16, 1024] {
            let layer = |tokens| moe_ffn(&Layer { tokens, block, ..Layer::DEEPSEEK });
            let percent = |tokens| dedicated(layer(tokens).graph(), 48, &chosen);
            assert_eq!((percent(enough), percent(enough - 1)), (Some(20), None), "blocks of {block}");
        }
        // All vector cores count, including those that don't send.
        let parts = |tokens| {
            let layer = moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
            schedule_with(&layer, &Target::ascend_a3(), &chosen).order(4).unwrap().parts.len()
        };
        assert!(parts(enough) > parts(enough - 1));
    }

    #[test]
    fn cores_are_dedicated_where_a_row_tile_is_of_one_rank() {
        let percent =
            |checked: &CheckedGraph, choices: &str| dedicated(checked.graph(), 48, &Choices::read(choices).unwrap());
        // 4096 tokens of top 8 make 512 rows for each of 64 experts: 4 tiles of 128 rows.
        for checked in [moe_ffn(&Layer::DEEPSEEK), once(&Layer::DEEPSEEK)] {
            assert_eq!(percent(&checked, "dedicate_from=400 peer_cores=30"), Some(30));
            assert_eq!(percent(&checked, "dedicate_from=401 peer_cores=30"), None);
            assert_eq!(percent(&checked, ""), None);
        }
        // Without row tiles, no minimum number of rows per pair applies.
        let few = moe_ffn(&Layer { tokens: 4, ..Layer::DEEPSEEK });
        let chosen = Choices::read("peer_cores=20").unwrap();
        let untiled = few.changed(|graph| {
            let tiles: Vec<_> = graph.spaces.ids().filter(|&id| graph.spaces[id].kind == SpaceKind::RowTiles).collect();
            tiles.into_iter().for_each(|id| graph.spaces[id].kind = SpaceKind::Experts);
        });
        assert_eq!([&few, &untiled].map(|checked| dedicated(checked.graph(), 0, &chosen)), [None, Some(20)]);
        // In kernels that need all rows of an expert at once, cores are dedicated only if row tiles are walked as their rows arrive.
        let backward = moe_backward(&Layer { put: 8, ..Layer::DEEPSEEK });
        let by_arrival = |value| percent(&backward, &format!("peer_cores=20 by_arrival={value}"));
        assert_eq!(
            [by_arrival("never"), by_arrival("whole_experts"), by_arrival("always")],
            [None, Some(20), Some(20)]
        );
        assert_eq!(percent(&backward, ""), None);
    }

    #[test]
    fn sending_cores_are_split_where_each_rank_gets_three() {
        let layer = moe_ffn(&Layer { put: 8, ..Layer::DEEPSEEK });
        let chosen = Choices::read("peer_cores=20").unwrap();
        let schedule = schedule_with(&layer, &Target::ascend_a3(), &chosen);
        // 24 cores send; the role of matrix cores and that of computing cores are not split.
        let parts: Vec<(u32, usize)> = schedule.orders.iter().map(|order| (order.ranks, order.parts.len())).collect();
        assert_eq!(parts, [(1, 3), (2, 4), (4, 6), (8, 10), (16, 3), (32, 3), (64, 3)]);
    }

    #[test]
    fn cores_that_send_are_split_only_where_they_do_nothing_else_and_enough_is_sent() {
        let target = Target::ascend_a3();
        let parts = |checked: &CheckedGraph, choices: &str| {
            let choices = Choices::read(&format!("peer_cores=20 {choices}")).unwrap();
            schedule_with(checked, &target, &choices).order(4).unwrap().parts.len()
        };
        // If no tile needs all rows of an expert, the order in which rows arrive doesn't matter.
        let layer = |tokens| moe_ffn(&Layer { tokens, ..Layer::DEEPSEEK });
        let enough = 16 * 48 * 16 / 8;
        assert_eq!(parts(&layer(enough), "by_arrival=never"), 6);
        assert_eq!((parts(&layer(enough), ""), parts(&layer(enough), "return_cores=sending")), (6, 3));
        // Matrix cores without work are not split.
        let puts = only(&Layer { tokens: enough, ..Layer::DEEPSEEK }, TaskKind::Put);
        let made = schedule_with(&puts, &target, &Choices::read("peer_cores=20").unwrap());
        let order = made.order(4).unwrap();
        assert_eq!(order.parts.iter().filter(|(_, part)| part.kind == CoreKind::Aic).count(), 1);
        // If nothing is put back, the cores that put only send, so even few of them are split.
        let sends_only = |tokens| {
            layer(tokens).changed(|graph| {
                let back = graph.phases[PhaseId(5)].space;
                graph.spaces[back].kind = SpaceKind::RowTiles;
            })
        };
        assert_eq!((parts(&sends_only(enough), ""), parts(&sends_only(enough - 1), "")), (6, 3));
    }

    #[test]
    fn one_rank_has_nobody_to_dedicate_cores_to() {
        let layer = moe_ffn(&Layer { put: 8, ..Layer::DEEPSEEK });
        let schedule =
            schedule_with(&layer, &Target::ascend_a3(), &Choices::read("peer_cores=20 by_arrival=always").unwrap());
        let in_turn = schedule.orders.iter().filter(|order| order.sends.turn().is_some());
        assert_eq!(in_turn.map(|order| order.ranks).min(), Some(2));
    }

    #[test]
    fn the_next_rank_gets_most_cores() {
        // Shares are even if row tiles are walked as their rows arrive.
        let layer = moe_ffn(&Layer { put: 8, ..Layer::DEEPSEEK });
        let counts = |by_arrival: &str| -> Vec<u32> {
            let choices = Choices::read(&format!("peer_cores=20 by_arrival={by_arrival}")).unwrap();
            let schedule = schedule_with(&layer, &Target::ascend_a3(), &choices);
            let parts = &schedule.order(8).unwrap().parts;
            parts.iter().filter(|(_, part)| part.name == "communication").map(|(_, part)| part.count).collect()
        };
        assert_eq!([counts("never"), counts("always")], [vec![3, 6, 4, 3, 2, 2, 2, 2], vec![3; 8]]);
        let (parts, part_of) = split(8, 24, Shares::Near(20));
        assert_eq!(parts, [(0, 3), (3, 6), (9, 4), (13, 3), (16, 2), (18, 2), (20, 2), (22, 2)]);
        assert_eq!(part_of, [0, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn where_all_rows_are_needed_at_once_all_ranks_get_as_many_cores() {
        let (parts, part_of) = split(8, 24, Shares::Even);
        assert!(parts.iter().all(|&(_, count)| count == 3));
        assert_eq!(part_of, [0, 7, 6, 5, 4, 3, 2, 1]);
        let evenly = |checked: &CheckedGraph, choices: &str| {
            let schedule = schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
            schedule
                .orders
                .iter()
                .filter(|order| order.sends.turn().is_some() && order.parts.len() > 3)
                .map(|order| order.ranks)
                .collect::<Vec<_>>()
        };
        let layer = Layer { put: 8, ..Layer::DEEPSEEK };
        let (forward, backward) = (moe_ffn(&layer), moe_backward(&layer));
        assert_eq!(evenly(&backward, "peer_cores=20"), [2, 4, 8], "with more ranks each has less than three cores");
        assert_eq!(evenly(&backward, "peer_cores=20 by_arrival=never"), [0; 0]);
        assert_eq!(evenly(&backward, ""), [0; 0]);
        assert_eq!(evenly(&forward, "peer_cores=20"), [0; 0]);
        assert_eq!(evenly(&forward, "by_arrival=always peer_cores=20"), [2, 4, 8]);
    }

    #[test]
    fn all_cores_serve_and_all_peers_are_served() {
        for ranks in 2..=64 {
            for count in 1..=48 {
                let (parts, part_of) = split(ranks, count, Shares::Near(20));
                assert_eq!(
                    parts.iter().fold(0, |end, &(first, count)| if first == end { end + count } else { 99 }),
                    count
                );
                assert!(parts.iter().all(|&(_, count)| count > 0));
                assert!((0..parts.len() as u32).all(|part| part_of.contains(&part)), "{ranks} {count}");
                assert!(part_of.iter().all(|&part| (part as usize) < parts.len()));
                // Cores with higher numbers serve farther peers.
                let from_own_on: Vec<u32> =
                    (0..ranks).map(|after| part_of[((ranks - after) % ranks) as usize]).collect();
                assert!(from_own_on.is_sorted(), "{from_own_on:?}");
            }
        }
    }
}
