//! One run of all cores of all ranks.

use super::counters::CounterValues;
use super::groups::{Items, TurnTile};
use super::memory::{Met, Versions};
use super::route::{RouteProgress, RouteTurn};
use super::{PhaseTile, Random, RoutedSlots, groups};
use crate::analyze::{CheckedGraph, Whose};
use crate::graph::CHUNK_BUFFERS;
use crate::ids::{Id as _, PhaseId};
use crate::schedule::{Entry, Schedule};
use hpmoe_kernels::op::TaskKind;
use std::collections::{BTreeSet, HashMap};

/// How a run failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::validate) enum Failure {
    /// A tile of this phase started before the tiles that it depends on had ended.
    TooEarly(PhaseId),
    /// No core could continue.
    Deadlock,
    /// Not every tile ran exactly once.
    Tiles,
    /// A counter did not end at the threshold that tiles waited for.
    Inexact,
    /// A tile of this phase signals or awaits the counter of a row tile, but its rows are in no row tile or in several.
    NoCounter(PhaseId),
}

/// A core's tiles in order, and its progress.
struct CoreProgress<'a> {
    /// Each tile with the versions that it must meet; `None` if no phase has the tile.
    tiles: Vec<(PhaseTile, Option<&'a Met>)>,
    next: usize,
    running: bool,
    /// Number of the last tiles that have ended, but have not signalled.
    owed: usize,
    route: RouteTurn,
    /// The speed of the core: if speed decides, the fastest core that can continue runs next.
    speed: usize,
}

impl CoreProgress<'_> {
    fn is_over(&self) -> bool {
        self.next == self.tiles.len() && self.route.is_over()
    }
}

/// The versions that tiles meet on one routing if phases run one after another.
pub(in crate::validate) struct Reference {
    versions: Versions,
    met: HashMap<PhaseTile, Met>,
    items: Items,
}

impl Reference {
    pub(in crate::validate) fn new(checked: &CheckedGraph, routing: &RoutedSlots) -> Self {
        let (versions, met) = Versions::reference(checked.graph(), routing);
        Self { versions, met: met.into_iter().collect(), items: Items::new(checked.graph(), routing) }
    }
}

/// Runs a schedule with one interleaving, chosen by `random`.
pub(super) fn run(
    checked: &CheckedGraph,
    schedule: &Schedule,
    routing: &RoutedSlots,
    random: &mut Random,
) -> Result<(), Failure> {
    run_against(&Reference::new(checked, routing), checked, schedule, routing, random)
}

/// Runs a schedule with one interleaving, given the versions that tiles must meet.
pub(in crate::validate) fn run_against(
    reference: &Reference,
    checked: &CheckedGraph,
    schedule: &Schedule,
    routing: &RoutedSlots,
    random: &mut Random,
) -> Result<(), Failure> {
    let Reference { versions, met, .. } = reference;
    let mut versions = versions.clone();
    let mut cores = cores(checked, schedule, (routing, reference), random);
    let planned: usize = cores.iter().map(|core| core.tiles.len()).sum();
    if planned != met.len() {
        return Err(Failure::Tiles);
    }
    let turns: Vec<RouteTurn> = cores.iter().map(|core| core.route).collect();
    let mut tables = RouteProgress::new(checked, routing, &turns);
    cores.iter().flat_map(|core| &core.tiles).for_each(|(tile, _)| tables.plan(tile));
    let mut counters = CounterValues::new(checked, routing);
    let mut freed = BTreeSet::new();
    let mut open: Vec<usize> = (0..cores.len()).filter(|&core| !cores[core].is_over()).collect();
    let mut blocked: Vec<usize> = Vec::new();
    while !open.is_empty() || !blocked.is_empty() {
        if open.is_empty() {
            return Err(Failure::Deadlock);
        }
        // Either a random core, or the fastest one that can run.
        let at = match random.index(2) {
            0 => random.index(open.len()),
            _ => (0..open.len()).max_by_key(|&at| cores[open[at]].speed).unwrap_or(0),
        };
        let core = &mut cores[open[at]];
        if core.route.is_next(core.next) {
            if tables.step(schedule, &mut counters, &mut core.route)? {
                if core.is_over() {
                    open.swap_remove(at);
                }
                open.append(&mut blocked);
            } else {
                blocked.push(open.swap_remove(at));
            }
            continue;
        }
        let (tile, met) = &core.tiles[core.next];
        let met = met.ok_or(Failure::Tiles)?;
        if core.running {
            versions.end(met);
            tables.end(tile);
            if checked.reuse().is_some_and(|reuse| reuse.frees == tile.phase) {
                freed.insert((tile.item.rank, tile.item.chunk));
            }
            core.owed += 1;
            if !is_put_before_another(checked, schedule, tile.phase) {
                for (tile, _) in &core.tiles[core.next + 1 - core.owed..=core.next] {
                    for signal in &schedule.phases[tile.phase].signals {
                        counters.signal(tile, signal)?;
                    }
                }
                core.owed = 0;
            }
            core.running = false;
            core.next += 1;
            if core.is_over() {
                open.swap_remove(at);
            }
            open.append(&mut blocked);
        } else if counters.hold(tile, &schedule.phases[tile.phase].waits)? && is_free(checked, &freed, tile) {
            versions.begin(met).map_err(|()| Failure::TooEarly(tile.phase))?;
            if !tables.has_tables(&core.route, tile.phase) {
                return Err(Failure::TooEarly(tile.phase));
            }
            core.running = true;
        } else {
            blocked.push(open.swap_remove(at));
        }
    }
    if counters.exact() { Ok(()) } else { Err(Failure::Inexact) }
}

/// Whether a tile of a phase puts, and the same tile of the next phase, which puts as well, comes next. The signals of both then follow the
/// second tile.
fn is_put_before_another(checked: &CheckedGraph, schedule: &Schedule, phase: PhaseId) -> bool {
    let kind = |phase: PhaseId| checked.graph().tasks[checked.graph().phases[phase].task].kind;
    let next = schedule.phases.iter().find(|(next, _)| next.index() == phase.index() + 1);
    next.is_some_and(|(next, of)| of.joins_previous && [phase, next].map(kind) == [TaskKind::Put; 2])
}

/// Whether the earlier chunk that used the memory of a tile's chunk is in `freed`, which contains the (rank, chunk)
/// pairs whose rows are no longer read. True if no earlier chunk used the memory, or the phase need not wait.
fn is_free(checked: &CheckedGraph, freed: &BTreeSet<(usize, usize)>, tile: &PhaseTile) -> bool {
    let whose = checked.reuse().and_then(|reuse| reuse.waits[tile.phase]);
    let (Some(whose), Some(before)) = (whose, tile.item.chunk.checked_sub(CHUNK_BUFFERS)) else { return true };
    freed.contains(&(if whose == Whose::Peer { tile.item.peer } else { tile.item.rank }, before))
}

/// All tiles of the first turn of each list, then those of the second, and so on.
fn in_turns(lists: Vec<Vec<TurnTile>>) -> Vec<PhaseTile> {
    let mut tiles: Vec<TurnTile> = lists.into_iter().flatten().collect();
    tiles.sort_by_key(|&(turn, _)| turn);
    tiles.into_iter().map(|(_, tile)| tile).collect()
}

/// The first tile of each list, then the second of each, and so on.
fn one_by_one(lists: Vec<Vec<TurnTile>>) -> Vec<TurnTile> {
    let most = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..most).flat_map(|place| lists.iter().filter_map(move |list| list.get(place).cloned())).collect()
}

/// All cores of all ranks.
fn cores<'a>(
    checked: &CheckedGraph,
    schedule: &Schedule,
    (routing, reference): (&RoutedSlots, &'a Reference),
    random: &mut Random,
) -> Vec<CoreProgress<'a>> {
    let order = schedule.orders.iter().find(|order| order.ranks as usize == routing.ranks);
    let order = order.expect("the ranks divide the experts");
    let orders = groups::orders(schedule, routing);
    let places = (routing, &reference.items, &orders[..]);
    let mut cores = Vec::new();
    for rank in 0..routing.ranks {
        for (part, queue) in order.queues.iter() {
            let count = order.parts[part].count as usize;
            for core in 0..count {
                let walk = |&joined: &&[Entry]| {
                    let tiles_of_entry =
                        |&entry: &Entry| groups::tiles_of_core(checked, schedule, places, rank, entry, (core, count));
                    one_by_one(joined.iter().map(tiles_of_entry).collect())
                };
                let runs = schedule.runs(checked.graph(), order, queue);
                let runs: Vec<Vec<Vec<TurnTile>>> = runs.iter().map(|run| run.iter().map(walk).collect()).collect();
                let counts: Vec<usize> = runs.iter().flatten().map(Vec::len).collect();
                let route = RouteTurn::new(schedule, order, part, rank, &counts);
                let tiles = runs.into_iter().flat_map(in_turns).map(|tile| {
                    let met = reference.met.get(&tile);
                    (tile, met)
                });
                cores.push(CoreProgress { tiles: tiles.collect(), next: 0, running: false, owed: 0, route, speed: 0 });
            }
        }
    }
    let mut speeds: Vec<usize> = (0..cores.len()).collect();
    random.shuffle(&mut speeds);
    for (core, speed) in cores.iter_mut().zip(speeds) {
        core.speed = speed;
    }
    cores
}
