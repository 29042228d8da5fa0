//! The time of a product's tiles for each height of a band.

use crate::cost::{Cost, CostModel, EntryTile, Works};
use crate::schedule::Swizzle;
use crate::schedule::typical::typical;
use crate::target::Target;
use hpmoe_language::graph::{SpaceKind, TaskGraph};
use hpmoe_language::ids::{Arena, PhaseId};

/// The tallest band that is considered.
const TALLEST: u32 = 8;
/// The most items of an expert that are looked at; more repeat what these show.
const ITEMS: u32 = 64;
/// The share of HBM that products may use before they slow down what else runs.
const SHARE: f64 = 0.85;
/// The gain from which on a taller band is worth that rows are finished later.
const WORTH: f64 = 1.01;

/// What the choice of a band depends on.
pub(super) struct Reach<'a> {
    target: &'a Target,
    costs: CostModel,
    works: Arena<PhaseId, Works>,
}

impl<'a> Reach<'a> {
    pub(super) fn new(graph: &TaskGraph, target: &'a Target) -> Self {
        Self { target, costs: CostModel::new(target), works: Works::of_phases(graph) }
    }

    /// The band of a phase: `short`, or the shortest one that is about as fast as any if that is faster.
    pub(super) fn band(&self, graph: &TaskGraph, phase: PhaseId, joined: u32, short: u32) -> u32 {
        if graph.spaces[graph.phases[phase].space].kind != SpaceKind::RowTiles {
            return short;
        }
        let times: Vec<f64> = (1..=TALLEST).map(|band| self.time(graph, phase, joined, band)).collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        if times[short as usize - 1] <= least * WORTH {
            return short;
        }
        let near = times.iter().position(|time| *time <= least * WORTH);
        near.map_or(short, |at| (at as u32 + 1).max(short))
    }

    /// Picoseconds of all tiles of an expert: those that the cores need, or HBM.
    fn time(&self, graph: &TaskGraph, phase: PhaseId, joined: u32, band: u32) -> f64 {
        let works = &self.works[phase];
        let items = typical(graph).rows.div_ceil(works.full_rows()).clamp(1, ITEMS);
        let columns = graph.phases[phase].columns();
        let outer = graph.column_rows(phase);
        let wide = u64::from(columns / outer);
        let swizzle = Swizzle { items: u64::from(items * outer), columns: wide, band: band.into() };
        let (mut time, mut hbm) = (0.0, 0.0);
        for tile in 0..swizzle.tiles() {
            let (place, column) = swizzle.place(tile);
            let column = (place % u64::from(outer) * wide + column) as u32;
            let tile = EntryTile { peer: 0, rows: works.full_rows(), column, items, band, joined };
            let work = works.work(self.target, tile);
            if let Cost::Shared(shared) = self.costs.cost(0, &work) {
                time += shared.time.0 as f64;
                hbm += shared.hbm + work.flops() * works.bytes_per_flop();
            }
        }
        let gb_per_s = self.target.memory.hbm_gb_per_s * SHARE;
        (time / f64::from(self.target.cores.aic)).max(hbm / gb_per_s * 1e3)
    }
}
