//! The time of a product's tiles for each height of a band.

use crate::cost::{Cost, CostModel, EntryTile, Joined, Works};
use crate::graph::{SpaceKind, TaskGraph};
use crate::ids::{Arena, PhaseId};
use crate::schedule::typical::{OWN, typical};
use crate::target::Target;

/// The tallest band that is considered, in rows of tiles.
const TALLEST: u32 = 8;
/// Maximum number of items of an expert to examine. Further items repeat the pattern.
const ITEMS: u32 = 64;
/// The share of HBM bandwidth that products may use before they slow down other work.
const SHARE: f64 = 0.85;
/// A band counts as fast as another if it takes less than this many times as long. A shorter band finishes rows earlier.
const WORTH: f64 = 1.01;

/// The inputs of the choice of a band.
pub(super) struct Reach<'a> {
    target: &'a Target,
    costs: CostModel,
    works: Arena<PhaseId, Works>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(graph: &TaskGraph, target: &'a Target) -> Self {
        Self { target, costs: CostModel::new(target), works: Works::of_phases(graph) }
    }

    /// The band of a phase that is walked with these phases: the shortest one that is about as fast as the fastest, but at least `short`.
    pub(super) fn band(&self, graph: &TaskGraph, (phase, joined): (PhaseId, &[PhaseId]), short: u32) -> u32 {
        if graph.spaces[graph.phases[phase].space].kind != SpaceKind::RowTiles {
            return short;
        }
        let joined = Works::joined(&self.works, joined, phase);
        let times: Vec<f64> = (1..=TALLEST).map(|band| self.time(graph, phase, joined, band)).collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let near = times.iter().position(|time| *time <= least * WORTH);
        near.map_or(short, |at| (at as u32 + 1).max(short))
    }

    /// Picoseconds that an item's tiles take: the time of the cores or of HBM, whichever is longer.
    fn time(&self, graph: &TaskGraph, phase: PhaseId, joined: Joined, band: u32) -> f64 {
        let works = &self.works[phase];
        let items = typical(graph).rows.div_ceil(works.full_rows()).min(ITEMS);
        let (mut time, mut hbm) = (0.0, 0.0);
        for column in 0..graph.phases[phase].columns() {
            let tile = EntryTile { peer: OWN, rows: works.full_rows(), column, items, band, joined };
            let work = works.work(self.target, tile);
            if let Cost::Shared(shared) = self.costs.cost(OWN, &work) {
                time += shared.time.0 as f64;
                hbm += shared.hbm + work.flops() * works.bytes_per_flop();
            }
        }
        let gb_per_s = self.target.memory.hbm_gb_per_s * SHARE;
        (time / f64::from(self.target.cores.aic)).max(hbm / gb_per_s * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_backward, moe_ffn};

    #[test]
    fn the_band_is_the_shortest_that_is_about_as_fast_as_any() {
        let target = Target::ascend_a3();
        let mut slow = target.clone();
        slow.memory.hbm_gb_per_s /= 8.0;
        let mixtral = Layer { hidden: 4096, inter: 14_336, experts: 8, top_k: 2, ..Layer::DEEPSEEK };
        let mut found = Vec::new();
        for layer in [Layer::DEEPSEEK, mixtral, Layer { tokens: 512, ..mixtral }, Layer { tile_m: 64, ..mixtral }] {
            let checked = moe_ffn(&layer);
            for target in [&target, &slow] {
                let reach = Reach::new(checked.graph(), target);
                for (phase, joined, short) in [(1, &[1, 2][..], 2), (1, &[1], 2), (4, &[4], 1), (4, &[4], 4)] {
                    let phase = PhaseId(phase);
                    let joined: Vec<PhaseId> = joined.iter().copied().map(PhaseId).collect();
                    let band = reach.band(checked.graph(), (phase, &joined), short);
                    let joined = Works::joined(&reach.works, &joined, phase);
                    let time = |band| reach.time(checked.graph(), phase, joined, band);
                    let least = (1..=8).map(time).fold(f64::INFINITY, f64::min);
                    assert!((short..=8).contains(&band) && (band == short || time(band) <= least * 1.01));
                    assert!((short..band).all(|shorter| time(shorter) > least * 1.01), "{band} for {short}");
                    found.push(band - short);
                }
            }
        }
        assert!(found.contains(&0) && found.iter().any(|&more| more > 1), "{found:?}");
    }

    #[test]
    fn tiles_take_the_time_of_the_cores_or_of_the_memory_that_others_leave() {
        let checked = moe_ffn(&Layer { hidden: 4096, inter: 14_336, experts: 8, top_k: 2, ..Layer::DEEPSEEK });
        let gate = PhaseId(1);
        let joined = Works::joined(&Works::of_phases(checked.graph()), &[gate, PhaseId(2)], gate);
        let time = |change: &dyn Fn(&mut Target), band: u32| {
            let mut target = Target::ascend_a3();
            change(&mut target);
            Reach::new(checked.graph(), &target).time(checked.graph(), gate, joined, band)
        };
        let costs = CostModel::new(&Target::ascend_a3());
        let works = &Works::of_phases(checked.graph())[gate];
        let columns = checked.graph().phases[gate].columns();
        let items = typical(checked.graph()).rows.div_ceil(works.full_rows());
        let (mut cores, mut bytes) = (0.0, 0.0);
        for column in 0..columns {
            let tile = EntryTile { peer: 3, rows: works.full_rows(), column, items, band: 4, joined };
            let work = works.work(&Target::ascend_a3(), tile);
            let Cost::Shared(shared) = costs.cost(5, &work) else { panic!("a product") };
            cores += shared.time.0 as f64 / 24.0;
            bytes += shared.hbm + work.flops() * works.bytes_per_flop();
        }
        let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-3, "{found} of {wanted} ps");
        let memory = |gb_per_s: f64| time(&|target| target.memory.hbm_gb_per_s = gb_per_s, 4);
        near(memory(100.0), bytes / 85.0 * 1e3);
        near(memory(1e6), cores);
        // With a taller band, weights are read less often.
        let slow = |target: &mut Target| target.memory.hbm_gb_per_s = 100.0;
        assert!(time(&slow, 1) > time(&slow, 2) && time(&slow, 2) > time(&slow, 4));
    }

    #[test]
    fn no_more_than_sixty_four_row_tiles_are_looked_at() {
        let time = |items: usize| {
            let checked = moe_ffn(&Layer { tokens: items * 16, experts: 8, top_k: 8, ..Layer::DEEPSEEK });
            assert_eq!(typical(checked.graph()).rows, items as u32 * 128);
            let mut slow = Target::ascend_a3();
            slow.memory.hbm_gb_per_s /= 64.0;
            Reach::new(checked.graph(), &slow).time(checked.graph(), PhaseId(1), Joined::ALONE, 1)
        };
        let times = [1, 8, 64, 65, 1000].map(time);
        assert!(times.is_sorted_by(|a, b| a >= b) && times[0] > times[1], "{times:?}");
        assert!(
            times[1] > times[2] && times[2..].iter().all(|&time| time.to_bits() == times[2].to_bits()),
            "{times:?}"
        );
    }

    #[test]
    fn what_has_all_rows_of_an_expert_keeps_its_band() {
        let checked = moe_backward(&Layer::DEEPSEEK);
        let graph = checked.graph();
        let mut slow = Target::ascend_a3();
        slow.memory.hbm_gb_per_s /= 64.0;
        let reach = Reach::new(graph, &slow);
        let whole = graph.phases.iter().filter(|(_, phase)| graph.spaces[phase.space].kind == SpaceKind::Experts);
        let whole: Vec<PhaseId> = whole.map(|(id, _)| id).collect();
        assert!(!whole.is_empty() && whole.iter().all(|&phase| reach.band(graph, (phase, &[phase]), 2) == 2));
    }
}
