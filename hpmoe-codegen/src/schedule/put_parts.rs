//! Cores that put, divided into parts for some of the peers each.

use super::cost::{EntryCosts, PutCosts};
use super::{Choices, Role};
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::graph::{SpaceKind, TaskGraph};
use hpmoe_language::ids::{Arena, PartId, PhaseId};

/// By how much of the work of puts any parts make the longest one longer, since routings are not even. Where few experts have most rows,
/// simulated layers take 6 % longer with two parts that save a third of this, and balanced ones 2 % less.
const DIVIDED: f64 = 0.25;

/// By how much of the work of puts each further part makes it longer still. Simulated routings whose experts change along the tokens
/// have 0.1 to 0.2, balanced ones nothing.
const UNEVEN: f64 = 0.15;

/// The number of parts of a role with these phases: one unless all of them put to peers; otherwise as chosen, or as many as take the
/// least time.
///
/// A core pays for each entry of its queue, of which there is one for each peer and expert, and with few tokens most of them have no
/// tile for it. A part of some of the peers has as many entries less. Its cores can't help those of another part, whose peers get
/// more.
pub(super) fn put_parts(
    graph: &TaskGraph,
    costs: &EntryCosts,
    choices: &Choices,
    (ranks, role): (u32, &Role),
    phases: &[PhaseId],
) -> u32 {
    let to_peers = |&phase: &PhaseId| {
        let (task, space) = (graph.phases[phase].task, graph.phases[phase].space);
        graph.tasks[task].kind == TaskKind::Put
            && matches!(graph.spaces[space].kind, SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals)
    };
    if phases.is_empty() || !phases.iter().all(to_peers) {
        return 1;
    }
    let most = role.count.min(ranks);
    if let Some(chosen) = choices.put_parts {
        return chosen.clamp(1, most);
    }
    let all: Vec<PutCosts> = phases.iter().map(|&phase| costs.puts(graph, ranks, phase)).collect();
    let times = (1..=most).map(|parts| (time(&all, (ranks, role.count), parts), parts));
    times.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(most, |(_, parts)| parts)
}

/// Nanoseconds that the core with the most to do takes for its entries and their tiles.
fn time(phases: &[PutCosts], (ranks, cores): (u32, u32), parts: u32) -> f64 {
    let [peers, fewest] = [ranks.div_ceil(parts), cores / parts].map(f64::from);
    let entries: f64 = phases.iter().map(|costs| costs.entries.0 as f64).sum();
    let work: f64 = phases.iter().map(|costs| costs.work.0 as f64).sum();
    let longer = if parts == 1 { 0.0 } else { DIVIDED + UNEVEN * f64::from(parts - 1) };
    peers / f64::from(ranks) * (entries + work / fewest * (1.0 + longer))
}

/// Divides a role into that many parts, and returns the part for each distance of a peer. Each part serves peers that follow one
/// another: tiles are counted from peer to peer, so that those of a part are dealt to its cores in turn.
pub(super) fn by_peers((ranks, count): (u32, u32), role: &Role, parts: &mut Arena<PartId, Role>) -> Vec<PartId> {
    let from = |part: u32| role.first + role.count * part / count;
    let made: Vec<PartId> = (0..count)
        .map(|part| parts.push(Role { first: from(part), count: from(part + 1) - from(part), ..role.clone() }))
        .collect();
    (0..ranks).map(|distance| made[(distance * count / ranks) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{CoreKind, Order, schedule_with};
    use crate::target::Target;
    use hpmoe_language::analyze::CheckedGraph;
    use hpmoe_language::fixture::{Layer, moe_ffn, once};
    use hpmoe_language::ids::Id as _;
    use hpmoe_language::units::Nanos;

    fn order(checked: &CheckedGraph, ranks: u32, choices: &str) -> Order {
        let schedule = schedule_with(checked, &Target::ascend_a3(), &Choices::read(choices).unwrap());
        schedule.order(ranks).unwrap().clone()
    }

    /// The most entries that a core that puts walks.
    fn walked(order: &Order) -> usize {
        let puts = order.parts.iter().filter(|(_, part)| part.name == "communication");
        puts.map(|(part, _)| order.queues[part].len()).max().unwrap()
    }

    const FEW: Layer = Layer { tokens: 16, experts: 256, ..Layer::DEEPSEEK };

    #[test]
    fn with_few_tokens_a_core_walks_the_entries_of_some_peers_only() {
        for checked in [moe_ffn(&FEW), once(&FEW)] {
            let [shared, divided] = ["put_parts=1", ""].map(|choices| order(&checked, 64, choices));
            assert!(walked(&divided) * 4 <= walked(&shared), "{} of {}", walked(&divided), walked(&shared));
            let entries = |order: &Order| order.queues.iter().map(|(_, queue)| queue.len()).sum::<usize>();
            assert_eq!(entries(&shared), entries(&divided));
        }
        let many = moe_ffn(&Layer { tokens: 8192, ..FEW });
        assert_eq!(order(&many, 64, "").parts, order(&many, 64, "put_parts=1").parts);
    }

    #[test]
    fn a_part_walks_fewer_entries_and_its_cores_alone_share_its_work() {
        let costs = |entries: u64, work: u64| PutCosts { entries: Nanos(entries), work: Nanos(work) };
        let both = [costs(300, 400), costs(500, 2000)];
        let time = |parts| time(&both, (8, 24), parts);
        // All entries, and the work of all peers by all cores.
        assert!((time(1) - (800.0 + 2400.0 / 24.0)).abs() < 1e-6);
        // Those of half of the peers by half of the cores, which take 40 % longer for the work since some have more; of two peers by a
        // quarter, for 70 % longer; of three, by eight.
        assert!((time(2) - (400.0 + 1200.0 / 12.0 * 1.4)).abs() < 1e-6);
        assert!((time(4) - (200.0 + 600.0 / 6.0 * 1.7)).abs() < 1e-6);
        assert!((time(3) - (300.0 + 900.0 / 8.0 * 1.55)).abs() < 1e-6);
    }

    #[test]
    fn only_cores_that_put_to_peers_alone_are_divided_as_chosen_and_not_beyond_ranks_or_cores() {
        let checked = moe_ffn(&FEW);
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &Target::ascend_a3());
        let [dispatch, gate, back, combine] = [0, 1, 5, 6].map(PhaseId);
        let parts = |choices: &str, ranks: u32, count: u32, phases: &[PhaseId]| {
            let role = Role { name: "some", kind: CoreKind::Aiv, first: 0, count };
            put_parts(graph, &costs, &Choices::read(choices).unwrap(), (ranks, &role), phases)
        };
        assert_eq!(parts("put_parts=4", 8, 24, &[dispatch, back]), 4);
        assert_eq!(parts("put_parts=4", 2, 24, &[dispatch]), 2);
        assert_eq!(parts("put_parts=4", 8, 3, &[back]), 3);
        assert_eq!(parts("put_parts=4", 1, 24, &[dispatch]), 1);
        for phases in [&[][..], &[gate], &[combine], &[dispatch, combine], &[combine, back]] {
            assert_eq!(parts("put_parts=4", 8, 24, phases), 1, "{phases:?}");
            assert_eq!(parts("", 64, 24, phases), 1, "{phases:?}");
        }
        // Where nothing is chosen, as many as take the least time.
        for (ranks, count) in [(64, 22), (8, 24), (2, 24), (1, 24), (64, 1)] {
            let all = [costs.puts(graph, ranks, dispatch), costs.puts(graph, ranks, back)];
            let found = parts("", ranks, count, &[dispatch, back]);
            let least = time(&all, (ranks, count), found);
            assert!((1..=ranks.min(count)).all(|parts| time(&all, (ranks, count), parts) >= least));
            assert!((1..=ranks.min(count)).contains(&found), "{found} parts");
        }
    }

    #[test]
    fn every_core_has_a_part_and_every_peer_too() {
        let role = |first, count| Role { name: "some", kind: CoreKind::Aiv, first, count };
        for (ranks, cores, count) in [(64, 22, 22), (64, 22, 5), (8, 24, 8), (2, 3, 2), (1, 4, 1)] {
            let mut parts = Arena::new();
            let part_of = by_peers((ranks, count), &role(7, cores), &mut parts);
            let ends: Vec<(u32, u32)> = parts.iter().map(|(_, part)| (part.first, part.first + part.count)).collect();
            assert_eq!((ends[0].0, ends[ends.len() - 1].1), (7, 7 + cores));
            assert!(ends.windows(2).all(|pair| pair[0].1 == pair[1].0) && ends.iter().all(|(first, end)| first < end));
            for part in parts.ids() {
                let peers = part_of.iter().filter(|&&other| other == part).count() as u32;
                assert!(
                    (ranks / count..=ranks.div_ceil(count)).contains(&peers),
                    "{peers} of {ranks} in {count} parts"
                );
            }
            assert_eq!(part_of[0].index(), 0);
        }
    }
}
