//! Roles: sets of cores with one kind of work. Every core is in exactly one.

use super::cost::{EntryCosts, MANY_ROWS};
use super::pace::pace;
use super::parts::dedicated;
use super::typical::typical;
use super::{Choices, CoreKind, Cores, ReturnCores, Role};
use crate::graph::{Phase, SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId, RoleId};
use hpmoe_kernels::op::TaskKind;
use std::cmp::Reverse;

/// The roles of cores, and the role of each phase.
///
/// All matrix cores are in one role. Unless chosen otherwise, vector cores are divided into sending and computing ones by the cost of
/// the two kinds of work. But no more cores send than saturate the link, and enough compute to keep pace with the matrix cores. Replays may
/// have chosen another number (`put_cores.rs`).
pub(super) fn roles(
    graph: &TaskGraph,
    costs: &EntryCosts,
    cores: Cores,
    choices: &Choices,
) -> (Arena<RoleId, Role>, Arena<PhaseId, RoleId>) {
    let mut roles = Arena::new();
    let matrix = roles.push(Role { name: "matrix", kind: CoreKind::Aic, first: 0, count: cores.aic });
    let puts = put_cores_by_rule(graph, costs, cores, choices);
    let mut vector = |name, first, count| roles.push(Role { name, kind: CoreKind::Aiv, first, count });
    let (communication, vector) = match puts {
        0 => {
            let all = vector("vector", 0, cores.aiv);
            (all, all)
        }
        all if all == cores.aiv => {
            let all = vector("communication", 0, cores.aiv);
            (all, all)
        }
        some => (vector("communication", 0, some), vector("vector", some, cores.aiv - some)),
    };
    let role_of = graph.phases.iter().map(|(_, phase)| match work(graph, phase, cores.aiv, choices) {
        TaskKind::Matrix => matrix,
        TaskKind::Put => communication,
        TaskKind::Vector => vector,
    });
    let role_of = role_of.collect();
    (roles, role_of)
}

/// The kind of work of a phase. A put that copies on its own rank counts as vector work. So does a put of results, if computing cores put
/// results back.
fn work(graph: &TaskGraph, phase: &Phase, aiv: u32, choices: &Choices) -> TaskKind {
    let task = graph.tasks[phase.task].kind;
    let space = graph.spaces[phase.space].kind;
    let copies = space == SpaceKind::RowTiles;
    let returns = !space.sends() && computing_cores_return(graph, aiv, choices);
    if task == TaskKind::Put && (copies || returns) { TaskKind::Vector } else { task }
}

/// Whether the vector cores that compute also put results back.
fn computing_cores_return(graph: &TaskGraph, aiv: u32, choices: &Choices) -> bool {
    choices.return_cores == ReturnCores::Computing && dedicated(graph, aiv, choices).is_some()
}

/// The number of vector cores that put. It is 0 if nothing is put, or if there is only one vector core, which must put and compute. It is
/// all vector cores if vector cores compute nothing.
pub(super) fn put_cores_by_rule(graph: &TaskGraph, costs: &EntryCosts, cores: Cores, choices: &Choices) -> u32 {
    let aiv = cores.aiv;
    let phases = |kind| graph.phases.iter().filter(move |(_, phase)| work(graph, phase, aiv, choices) == kind);
    let ranks = typical(graph).ranks;
    let time = |kind| phases(kind).map(|(id, _)| costs.put_time(graph, ranks, id).0).reduce(|sum, time| sum + time);
    // The number of cores that saturate the link in the phase that puts most bytes. A phase that puts one number per row would not saturate
    // it with any number of cores.
    let filling = phases(TaskKind::Put).map(|(id, _)| (costs.link_time(id, MANY_ROWS), costs.put_cores(graph, id)));
    let filling = filling.max().map_or(0, |(_, cores)| cores);
    match (time(TaskKind::Put), time(TaskKind::Vector), choices.put_cores) {
        (None, ..) => 0,
        (Some(_), None, _) => aiv,
        (Some(_), Some(_), _) if aiv < 2 => 0,
        (Some(_), Some(_), Some(put_cores)) => put_cores.min(aiv - 1),
        (Some(puts), Some(computes), None) => {
            let share = share(aiv, puts, computes);
            // Results go back after rows are sent, so giving half of the cores to each of the two loses nothing.
            let share = if computing_cores_return(graph, aiv, choices) { share.max(aiv / 2) } else { share };
            // At most half of the cores are kept for computing, for an expert with many rows.
            let computing = pace(graph, costs, cores.aic, |phase| work(graph, phase, aiv, choices)).min(aiv / 2);
            let cores = share.min(filling);
            // With many puts per peer, a core count that does not divide the number of peers costs less than fewer computing cores would.
            let few = phases(TaskKind::Put).all(|(id, _)| costs.has_few_pieces(graph, id));
            let further = if few { cores / 3 } else { cores / 5 };
            let most = (aiv - computing).clamp(1, aiv - 1);
            let cores = divisible(cores, further, most);
            // With many puts per peer and an even number of cores, the same cores would put to one peer at the same time, and wait for their
            // fences together while the link is free. Dedicated cores serve few peers anyway.
            let in_step = !few && cores % 2 == 0 && dedicated(graph, aiv, choices).is_none();
            if in_step && cores < most { cores + 1 } else { cores }
        }
    }
}

/// The multiple of eight with the most factors of two, from a twentieth below `cores` to `further` above, but at most `most`; `cores` if
/// there is no such multiple. Most groups have a power of two of ranks. If all cores then serve the same number of peers, no core has more
/// to do than another.
fn divisible(cores: u32, further: u32, most: u32) -> u32 {
    let cores = cores.clamp(1, most);
    let near = cores - cores / 20..=(cores + further).min(most);
    let eights = near.filter(|count| count % 8 == 0);
    eights.max_by_key(|&count| (count.trailing_zeros(), Reverse(count.abs_diff(cores)))).unwrap_or(cores)
}

/// The number of cores for puts. `puts` and `computes` are the times that one core would take for all puts and for all computing.
///
/// If most of the work is puts, cores are divided by time, so that both kinds of work end together. If puts are less, they get more than
/// that share: products wait for rows, and sums wait for results, so the two kinds of work partly follow each other. Shares by the square
/// roots of the times minimize the sum of the two resulting times.
fn share(cores: u32, puts: u64, computes: u64) -> u32 {
    let cores_for_puts = |puts: f64, computes: f64| (f64::from(cores) * puts / (puts + computes).max(1.0)) as u32;
    let (puts, computes) = (puts as f64, computes as f64);
    cores_for_puts(puts, computes).max(cores_for_puts(puts.sqrt(), computes.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward, moe_ffn, once, only};

    fn split(checked: &crate::analyze::CheckedGraph, aiv: u32) -> Vec<(&'static str, u32, u32)> {
        let graph = checked.graph();
        let (roles, _) = roles(
            graph,
            &EntryCosts::new(graph, &crate::target::Target::ascend_a3()),
            Cores { aic: 24, aiv },
            &Choices::read("return_cores=sending").unwrap(),
        );
        roles.iter().map(|(_, role)| (role.name, role.first, role.count)).collect()
    }

    #[test]
    fn as_many_cores_put_as_serve_equally_many_peers_each() {
        let near = |cores| divisible(cores, cores / 3, 43);
        assert_eq!([1, 3, 8, 20, 22, 24, 27, 33].map(near), [1, 3, 8, 24, 24, 32, 32, 32]);
        assert_eq!([36, 41, 44].map(near), [40, 40, 43], "no more than are left of the others");
        assert_eq!([divisible(24, 8, 24), divisible(0, 0, 1)], [24, 1]);
        assert_eq!(divisible(101, 20, 120), 96, "a twentieth less");
        assert_eq!(divisible(76, 0, 80), 76, "and no more than that");
        assert_eq!(divisible(44, 14, 47), 44, "48 are too many");
        let nearer = |cores| divisible(cores, cores / 5, 43);
        assert_eq!([18, 22, 24, 25, 27, 36].map(nearer), [18, 24, 24, 24, 32, 40]);
    }

    #[test]
    fn where_few_puts_go_to_each_peer_more_cores_put_than_fill_the_link() {
        let putting = |tokens| split(&moe_ffn(&Layer { tokens, put: 8, experts: 256, ..Layer::DEEPSEEK }), 48)[1].2;
        assert_eq!([256, 4096].map(putting), [32, 25]);
    }

    #[test]
    fn puts_of_a_number_for_each_row_ask_for_no_cores() {
        let layer = Layer { tokens: 1024, ..Layer::DEEPSEEK };
        let (forward, backward) = (moe_ffn(&layer), moe_backward(&layer));
        let (graph, costs) = (backward.graph(), EntryCosts::new(backward.graph(), &crate::target::Target::ascend_a3()));
        let puts = graph.phases.ids().filter(|&id| graph.tasks[graph.phases[id].task].kind == TaskKind::Put);
        assert!(puts.map(|id| costs.put_cores(graph, id)).max().unwrap() > 48);
        // Both kernels put rows of the hidden size.
        assert_eq!(split(&forward, 48)[1], split(&backward, 48)[1]);
    }

    #[test]
    fn little_to_put_takes_more_cores_than_its_share_of_the_time() {
        assert_eq!([share(48, 1, 1), share(48, 3, 1), share(48, 1, 3), share(48, 1, 15)], [24, 36, 17, 9]);
        assert_eq!(share(48, 0, 0), 0);
    }

    #[test]
    fn puts_take_no_more_cores_than_fill_the_link() {
        assert_eq!(
            split(&moe_ffn(&Layer::DEEPSEEK), 48),
            [("matrix", 0, 24), ("communication", 0, 25), ("vector", 25, 23)]
        );
    }

    #[test]
    fn half_of_the_cores_send_where_the_others_put_back() {
        let sending = |layer: &Layer, choices: &str| {
            let checked = moe_ffn(layer);
            let (graph, target) = (checked.graph(), crate::target::Target::ascend_a3());
            let choices = Choices::read(choices).unwrap();
            let (roles, role_of) = roles(graph, &EntryCosts::new(graph, &target), Cores::ASCEND_A3, &choices);
            let back_computes = role_of[PhaseId(5)] == role_of[PhaseId(6)];
            assert_ne!(role_of[PhaseId(0)], role_of[PhaseId(6)]);
            (roles[role_of[PhaseId(0)]].count, back_computes)
        };
        let dedicated = |choices: &str| format!("peer_cores=20 {choices}");
        assert_eq!(sending(&Layer::DEEPSEEK, &dedicated("")), (24, true), "as many as fill the link, in eights");
        assert_eq!(sending(&Layer::DEEPSEEK, &dedicated("put_cores=30")), (30, true));
        assert_eq!(sending(&Layer::DEEPSEEK, &dedicated("put_cores=1000")), (47, true), "one is left for other work");
        // Short rows take longer to arrive than to put: more than half of the cores would fill the link.
        let narrow = Layer { hidden: 1024, ..Layer::DEEPSEEK };
        assert_eq!(sending(&narrow, &dedicated("")).0, 24);
        assert!(!sending(&Layer::DEEPSEEK, &dedicated("return_cores=sending")).1);
        assert!(!sending(&Layer::DEEPSEEK, "").1, "sending cores are shared by all peers");
        assert!(!sending(&Layer::SMALL, &dedicated("")).1, "too little is sent");
    }

    #[test]
    fn few_tokens_leave_cores_that_keep_pace_with_an_expert_that_most_tokens_name() {
        let computing = |tokens: usize| {
            let checked = moe_backward(&Layer { tokens, hidden: 3072, inter: 1536, experts: 256, ..Layer::DEEPSEEK });
            let costs = EntryCosts::new(checked.graph(), &crate::target::Target::ascend_a3());
            let (roles, _) = roles(checked.graph(), &costs, Cores::ASCEND_A3, &Choices::default());
            roles.iter().find(|(_, role)| role.name == "vector").unwrap().1.count
        };
        assert_eq!([computing(16), computing(64)], [5, 5]);
    }

    #[test]
    fn as_many_cores_put_as_their_share_of_the_work_and_no_more_than_the_link_or_the_others_need() {
        let mut reasons = std::collections::BTreeSet::new();
        let base = Layer::DEEPSEEK;
        // With few tokens, most of the work is the overhead of each put.
        let few = Layer { tokens: 16, hidden: 3072, inter: 1536, experts: 256, ..base };
        let narrow = Layer { hidden: 1024, ..base };
        // Experts with few pieces for each peer, and with more.
        let sizes = [64, 256, 512, 1024].map(|tokens| Layer { tokens, hidden: 2048, put: 8, ..base });
        for layer in [base, few, narrow, Layer { inter: 14_336, ..base }].into_iter().chain(sizes) {
            for checked in [moe_ffn(&layer), moe_backward(&layer), once(&layer)] {
                let costs = EntryCosts::new(checked.graph(), &crate::target::Target::ascend_a3());
                for (aic, choices) in [
                    (24, ""),
                    (20, ""),
                    (17, ""),
                    (3, ""),
                    (24, "peer_cores=20"),
                    (24, "peer_cores=20 return_cores=sending"),
                ] {
                    let (graph, choices) = (checked.graph(), Choices::read(choices).unwrap());
                    let cores = Cores { aic, aiv: 2 * aic };
                    let (roles, role_of) = roles(graph, &costs, cores, &choices);
                    let putting = RoleId(1);
                    let ranks = typical(graph).ranks;
                    let role_of = &role_of;
                    let of = |role: RoleId| graph.phases.ids().filter(move |&id| role_of[id] == role);
                    let time = |role: RoleId| of(role).map(|id| costs.put_time(graph, ranks, id).0).sum::<u64>();
                    let most_bytes = of(putting).max_by_key(|&id| costs.link_time(id, MANY_ROWS)).unwrap();
                    let fills = costs.put_cores(graph, most_bytes);
                    let rows = |role: RoleId| {
                        let over = |id: &PhaseId| graph.spaces[graph.phases[*id].space].kind == SpaceKind::RowTiles;
                        of(role).filter(over).map(|id| costs.core_time(id, MANY_ROWS, 1).0).sum::<u64>()
                    };
                    let pace = (u64::from(aic) * rows(RoleId(2))).div_ceil(rows(RoleId(0))) as u32;
                    let mut by_time = share(cores.aiv, time(putting), time(RoleId(2)));
                    let all_put = of(putting).all(|id| graph.spaces[graph.phases[id].space].kind.sends());
                    if all_put && choices.return_cores == ReturnCores::Computing {
                        by_time = by_time.max(cores.aiv / 2);
                    }
                    let bounds = [by_time, fills, cores.aiv - pace.min(cores.aiv / 2)];
                    let least = bounds.into_iter().min().unwrap();
                    let wanted = by_time.min(fills);
                    let few = of(putting).all(|id| costs.has_few_pieces(graph, id));
                    let further = if few { 3 } else { 5 };
                    let puts = divisible(wanted, wanted / further, bounds[2]);
                    let shared = dedicated(graph, cores.aiv, &choices).is_none();
                    let odd = !few && shared && puts % 2 == 0 && puts < bounds[2].clamp(1, cores.aiv - 1);
                    let puts = puts + u32::from(odd);
                    assert_eq!(roles[putting].count, puts, "{bounds:?}");
                    reasons.extend(bounds.iter().position(|&bound| bound == least));
                    assert_eq!((roles[RoleId(2)].first, roles[RoleId(2)].count), (puts, cores.aiv - puts));
                }
            }
        }
        assert_eq!(reasons.len(), 3, "each bound is the least once: {reasons:?}");
    }

    #[test]
    fn copies_are_made_by_cores_that_compute() {
        let checked = once(&Layer::DEEPSEEK);
        let graph = checked.graph();
        let costs = EntryCosts::new(graph, &crate::target::Target::ascend_a3());
        let (_, role_of) = roles(graph, &costs, Cores::ASCEND_A3, &Choices::default());
        let [send, copy, combine] = [0, 1, 7].map(PhaseId);
        assert!(role_of[copy] == role_of[combine] && role_of[copy] != role_of[send]);
    }

    #[test]
    fn each_kind_of_work_has_a_core() {
        assert_eq!(
            split(&moe_ffn(&Layer::DEEPSEEK), 2),
            [("matrix", 0, 24), ("communication", 0, 1), ("vector", 1, 1)]
        );
        // Even if there is very little to put.
        let wide = Layer { hidden: 512, inter: 16_384, ..Layer::DEEPSEEK };
        assert_eq!(split(&moe_ffn(&wide), 2)[1..], [("communication", 0, 1), ("vector", 1, 1)]);
        assert_eq!(split(&moe_ffn(&Layer::DEEPSEEK), 1), [("matrix", 0, 24), ("vector", 0, 1)]);
    }

    #[test]
    fn one_kind_of_work_takes_all() {
        let layer = Layer::SMALL;
        assert_eq!(split(&only(&layer, TaskKind::Put), 48)[1], ("communication", 0, 48));
        assert_eq!(split(&only(&layer, TaskKind::Vector), 48)[1], ("vector", 0, 48));
        assert_eq!(split(&only(&layer, TaskKind::Matrix), 48)[1], ("vector", 0, 48));
    }
}
