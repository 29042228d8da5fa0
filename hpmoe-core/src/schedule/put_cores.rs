//! The number of vector cores that put, where replays of the queues show that another number than the rule's saves time.

use super::cost::EntryCosts;
use super::estimate::{Estimate, estimate_with};
use super::roles::put_cores_by_rule;
use super::typical::typical;
use super::{Choices, Cores, PeerCores};
use crate::analyze::CheckedGraph;
use crate::target::Target;
use crate::time::Time;

/// The numbers to try. In most groups, the number of ranks is a power of two, so these numbers of cores serve all ranks equally.
const TRIED: [u32; 3] = [8, 16, 32];

/// The part of the estimated latency that another number must save: about the error of the estimate.
const GAIN: f64 = 0.03;

/// The maximum number of tiles per rank of a launch that is replayed, up to eight times. With more, unoptimised build scripts would take
/// seconds.
const MOST_TILES: u64 = 100_000;

/// The choices, with a number of putting cores if none is chosen, peers share the cores, and another number than the rule's saves time.
///
/// The rule divides cores by the sums of the times of all tiles. It can't see that the puts of one entry wait for those of another, or that
/// vector cores have work before the first rows arrive. A typical launch is replayed, with even and with uneven tokens. The number applies to
/// launches on any number of ranks.
pub(super) fn with_put_cores(checked: &CheckedGraph, target: &Target, choices: &Choices) -> Choices {
    if choices.put_cores.is_some() || choices.peer_cores != PeerCores::Shared {
        return choices.clone();
    }
    let graph = checked.graph();
    let costs = EntryCosts::new(graph, target);
    let cores = Cores { aic: target.cores.aic, aiv: target.cores.aiv };
    let by_rule = put_cores_by_rule(graph, &costs, cores, choices);
    let tried: Vec<u32> = TRIED.into_iter().filter(|&number| number < cores.aiv && number != by_rule).collect();
    let open = (1..cores.aiv).contains(&by_rule) && !tried.is_empty();
    let tiles = || graph.phases.ids().map(|phase| costs.phase_tiles(graph, phase)).sum::<u64>();
    if !open || tiles() > MOST_TILES {
        return choices.clone();
    }
    let ranks = typical(graph).ranks;
    let with = |number: u32| Choices { put_cores: Some(number), ..choices.clone() };
    // The latencies with even and with uneven tokens, unless even tokens take `below` or longer.
    let latency = |choices: &Choices, below: Option<Time>| {
        let needs_uneven = |even: Time| below.is_none_or(|below| even < below);
        let Estimate { even, uneven } = estimate_with(checked, target, choices, ranks, needs_uneven)?;
        Some((even, (even.us() * uneven?.us()).sqrt()))
    };
    let Some((even, mean)) = latency(choices, None) else { return choices.clone() };
    let timed = tried.into_iter().map(with).filter_map(|with| latency(&with, Some(even)).map(|(_, mean)| (mean, with)));
    let best = timed.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|&(least, _)| least < mean * (1.0 - GAIN));
    best.map_or_else(|| choices.clone(), |(_, choices)| choices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn, only, widened};
    use hpmoe_kernels::op::TaskKind;

    fn chosen(checked: &CheckedGraph, choices: &str) -> Option<u32> {
        let choices = Choices::read(choices).unwrap();
        with_put_cores(checked, &Target::ascend_a3(), &choices).put_cores
    }

    #[test]
    fn another_number_than_the_rules_saves_time() {
        let target = Target::ascend_a3();
        let few = Layer { hidden: 2048, inter: 512, put: 8, ..Layer::DEEPSEEK };
        let mut found = Vec::new();
        for layer in [
            Layer { tokens: 64, ..few },
            Layer { tokens: 256, ..few },
            Layer { tokens: 64, inter: 128, experts: 128, ..few },
        ] {
            for checked in [moe_ffn(&layer), widened(&layer)] {
                let time = |cores: Option<u32>| {
                    let choices = Choices { put_cores: cores, ..Choices::default() };
                    let all = estimate_with(&checked, &target, &choices, 8, |_| true).unwrap();
                    (all.even, (all.even.us() * all.uneven.unwrap().us()).sqrt())
                };
                let rule = time(None);
                let mut best = (rule.1 * 0.97, None);
                for cores in [8, 16, 32] {
                    let (even, mean) = time(Some(cores));
                    if even < rule.0 && mean < best.0 {
                        best = (mean, Some(cores));
                    }
                }
                assert_eq!(chosen(&checked, ""), best.1);
                found.push(best.1);
            }
        }
        assert!(found.contains(&None) && found.iter().any(Option::is_some), "{found:?}");
    }

    #[test]
    fn a_number_that_is_chosen_stays() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        assert_eq!(chosen(&checked, "put_cores=5"), Some(5));
    }

    #[test]
    fn cores_of_peers_keep_the_rule() {
        let layer = Layer { hidden: 2048, inter: 128, experts: 128, put: 8, tokens: 64, ..Layer::DEEPSEEK };
        assert!(chosen(&moe_ffn(&layer), "").is_some());
        // Fewer cores would serve all peers together, although each should have its own.
        assert_eq!(chosen(&moe_ffn(&layer), "peer_cores=20"), None);
    }

    #[test]
    fn cores_with_one_kind_of_work_are_not_divided() {
        assert_eq!(chosen(&only(&Layer::SMALL, TaskKind::Put), ""), None);
        assert_eq!(chosen(&only(&Layer::SMALL, TaskKind::Vector), ""), None);
    }

    #[test]
    fn launches_that_take_long_to_replay_keep_the_rule() {
        // Their replay would take minutes.
        assert_eq!(chosen(&moe_ffn(&Layer { tokens: 1 << 23, ..Layer::DEEPSEEK }), ""), None);
    }
}
