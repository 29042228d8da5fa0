//! The progress of a route that the kernel makes, during a run.

use super::counters::CounterValues;
use super::{Failure, PhaseTile, RoutedSlots};
use crate::analyze::CheckedGraph;
use crate::graph::MadeRoute;
use crate::ids::{PartId, PhaseId};
use crate::schedule::{CoreKind, Entry, Order, Schedule};

/// The progress of making the tables of the route on all ranks.
pub(super) struct RouteProgress<'a> {
    made: Option<&'a MadeRoute>,
    /// Phases that write ids.
    writers: Vec<PhaseId>,
    /// For each rank, the number of tiles that have yet to write ids.
    unwritten: Vec<usize>,
    /// Number of vector cores that have not yet reached the route.
    missing: usize,
}

/// The progress of one core with the route.
#[derive(Clone, Copy)]
pub(super) struct RouteTurn {
    pub(super) rank: usize,
    kind: CoreKind,
    /// Number of tiles before the route in the core's queue; `None` if the core never reaches the route.
    at: Option<usize>,
    /// Whether the core has sent its counts. `done` says whether it has seen the tables.
    told: bool,
    done: bool,
}

impl RouteTurn {
    /// A core of a part. `tiles` has the number of tiles of each walk of its queue.
    pub(super) fn new(schedule: &Schedule, order: &Order, part: PartId, rank: usize, tiles: &[usize]) -> Self {
        let at = order.routed_at.as_ref().filter(|at| at.len() == order.queues.len()).map(|at| at[part] as usize);
        let queue: &[Entry] = &order.queues[part];
        let mut starts = vec![0];
        starts.extend(schedule.walks(queue).scan(0, |entries, walk| {
            *entries += walk.len();
            Some(*entries)
        }));
        let walk = at.and_then(|at| starts.iter().position(|&start| start == at));
        let at = walk.map(|walk| tiles[..walk].iter().sum());
        Self { rank, kind: order.parts[part].kind, at, told: false, done: false }
    }

    /// Whether the core has passed the route.
    pub(super) fn is_over(&self) -> bool {
        self.at.is_none() || self.done
    }

    /// Whether the route comes next for the core.
    pub(super) fn is_next(&self, next: usize) -> bool {
        !self.done && self.at == Some(next)
    }
}

impl<'a> RouteProgress<'a> {
    pub(super) fn new(checked: &'a CheckedGraph, routing: &RoutedSlots, turns: &[RouteTurn]) -> Self {
        let graph = checked.graph();
        let made = graph.route.as_ref();
        let writes = |phase: &PhaseId| {
            let ids = made.map(|made| made.ids);
            graph.phases[*phase].accesses.iter().any(|access| access.write && Some(access.tensor) == ids)
        };
        let missing = turns.iter().filter(|turn| turn.kind == CoreKind::Aiv).count();
        Self { made, writers: graph.phases.ids().filter(writes).collect(), unwritten: vec![0; routing.ranks], missing }
    }

    /// Counts a tile that will run.
    pub(super) fn plan(&mut self, tile: &PhaseTile) {
        self.unwritten[tile.item.rank] += usize::from(self.writers.contains(&tile.phase));
    }

    /// Counts a tile that has run.
    pub(super) fn end(&mut self, tile: &PhaseTile) {
        self.unwritten[tile.item.rank] -= usize::from(self.writers.contains(&tile.phase));
    }

    /// Whether a core can make progress with the route.
    pub(super) fn step(
        &mut self,
        schedule: &Schedule,
        counters: &mut CounterValues<'_>,
        turn: &mut RouteTurn,
    ) -> Result<bool, Failure> {
        if turn.kind == CoreKind::Aiv && !turn.told {
            if schedule.routed_after.as_ref().is_some_and(|wait| !counters.holds_ids(turn.rank, wait)) {
                return Ok(false);
            }
            if let (1.., Some(&writer)) = (self.unwritten[turn.rank], self.writers.first()) {
                return Err(Failure::TooEarly(writer));
            }
            turn.told = true;
            self.missing -= 1;
            return Ok(true);
        }
        turn.done = self.missing == 0;
        Ok(turn.done)
    }

    /// Whether a core has the tables that its tile needs.
    pub(super) fn has_tables(&self, turn: &RouteTurn, phase: PhaseId) -> bool {
        turn.done || self.made.is_none_or(|made| made.follows(phase))
    }
}
