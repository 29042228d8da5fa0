//! The making of a route, where the kernel makes it.

use super::counters::CounterValues;
use super::{Failure, PhaseTile, RoutedSlots};
use crate::analyze::CheckedGraph;
use crate::graph::MadeRoute;
use crate::ids::{PartId, PhaseId};
use crate::schedule::{CoreKind, Entry, Order, Schedule};

/// How far the tables of all ranks are.
pub(super) struct RouteProgress<'a> {
    made: Option<&'a MadeRoute>,
    /// Phases that write ids.
    writers: Vec<PhaseId>,
    /// By rank: tiles that are still to write ids.
    unwritten: Vec<usize>,
    /// Vector cores that have not come to make the tables.
    missing: usize,
}

/// A core's part in it.
#[derive(Clone, Copy)]
pub(super) struct RouteTurn {
    pub(super) rank: usize,
    kind: CoreKind,
    /// How many tiles come before it; `None` if the core never comes to it.
    at: Option<usize>,
    /// Whether it has told the others what it has counted, and whether it knows the tables.
    told: bool,
    done: bool,
}

impl RouteTurn {
    /// For a core of a part, with the number of tiles of each walk of its queue.
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

    /// Whether the core has nothing to do with the route any more.
    pub(super) fn is_over(&self) -> bool {
        self.at.is_none() || self.done
    }

    /// Whether the route is what the core comes to next.
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

    /// Counts a tile that is to run.
    pub(super) fn plan(&mut self, tile: &PhaseTile) {
        self.unwritten[tile.item.rank] += usize::from(self.writers.contains(&tile.phase));
    }

    /// Counts a tile that has run.
    pub(super) fn end(&mut self, tile: &PhaseTile) {
        self.unwritten[tile.item.rank] -= usize::from(self.writers.contains(&tile.phase));
    }

    /// Whether a core gets any further with the route.
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

    /// Whether a tile of a core has the tables that it needs.
    pub(super) fn has_tables(&self, turn: &RouteTurn, phase: PhaseId) -> bool {
        turn.done || self.made.is_none_or(|made| made.follows(phase))
    }
}
