//! A rough estimate of a schedule's latency, by which open tile sizes and the number of putting cores are chosen.

mod bandwidth;
mod busy;
mod extents;
mod links;
mod ready;
mod tile;
mod tiles;
mod walk;

use super::groups::Groups;
use super::orders::with_orders;
use super::precedence::Precedence;
use super::ranks::MAX_RANKS;
use super::timeline::{QueueReplay, Released};
use super::{Choices, Comes, Deal, Entry, Order, Schedule, Swizzle};
use crate::analyze::{CheckedGraph, Index, Wait};
use crate::cost::{CostModel, Joined, Works};
use crate::graph::TaskGraph;
use crate::ids::{Arena, PartId, PhaseId};
use crate::target::Target;
use crate::time::Time;
use bandwidth::Bandwidth;
use extents::{Extents, Spread};
use links::Links;
use ready::{Ready, Share};
use tiles::Tiles;

pub use busy::busy;

/// The estimated latency of a taskflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Latency with evenly distributed tokens, on one rank that stands for all ranks.
    pub even: Time,
    /// Latency of the rank with the most chosen expert, if most tokens go to few experts; `None` if it was not needed.
    pub uneven: Option<Time>,
}

/// Estimates the latency of a taskflow on a number of ranks with the default choices, by replaying the queues of one rank, tile by tile
/// and core by core. `None` if the number of ranks is 0 or more than [`MAX_RANKS`]. Uneven tokens are replayed only if `needs_uneven`
/// returns true for the latency with even tokens. The number of putting cores follows from the times of tiles; a schedule may have another
/// one, which saves time.
///
/// An estimate takes milliseconds, a simulation seconds. An estimate divides the rows of an expert into sixteen arrivals, and shares
/// memories and links less exactly. So it is good for comparing tile sizes, but says little about the latency itself.
#[must_use]
pub fn estimate(
    checked: &CheckedGraph,
    target: &Target,
    ranks: u32,
    needs_uneven: impl FnOnce(Time) -> bool,
) -> Option<Estimate> {
    estimate_with(checked, target, &Choices::default(), ranks, needs_uneven)
}

/// Like [`estimate`], with these choices.
pub(super) fn estimate_with(
    checked: &CheckedGraph,
    target: &Target,
    choices: &Choices,
    ranks: u32,
    needs_uneven: impl FnOnce(Time) -> bool,
) -> Option<Estimate> {
    if ranks == 0 || ranks > MAX_RANKS {
        return None;
    }
    let schedule = with_orders(checked, target, choices, std::iter::once(ranks));
    let order = schedule.order(ranks)?;
    let groups = Groups::new(checked.graph(), ranks);
    let precedence = Precedence::new(checked, &groups, ranks, None);
    let works = Works::of_phases(checked.graph());
    let latency = |tokens: Spread| {
        let run = Run::new(checked, &works, (&schedule, order), target, tokens);
        Time::from_us(target.launch.kernel_us) + run.replayed(&groups, &precedence)
    };
    let even = latency(Spread::Even);
    Some(Estimate { even, uneven: needs_uneven(even).then(|| latency(Spread::Uneven)) })
}

/// Picoseconds in which the bytes through HBM are counted together: as long as a tile of a product takes. Estimates with slots of 2 µs take longer
/// and are no better.
const HBM_SLOT: u64 = 8_000_000;

/// Entries that the cores of a part walk together, and how they come to them.
type Walk<'a> = (&'a [Entry], Comes);

/// The clocks of one rank's cores during a replay, and everything that they depend on.
struct Run<'a> {
    checked: &'a CheckedGraph,
    graph: &'a TaskGraph,
    schedule: &'a Schedule,
    order: &'a Order,
    target: &'a Target,
    costs: CostModel,
    works: &'a Arena<PhaseId, Works>,
    /// For each phase, the numbers of phases that are walked together with it.
    joined: Arena<PhaseId, Joined>,
    extents: Extents,
    /// For each phase, the number of tiles that precede its own when tiles are dealt to cores.
    starts: Arena<PhaseId, u64>,
    tiles: Tiles,
    /// The cost of a tile of each phase in addition to its work.
    fixed: Arena<PhaseId, Time>,
    clocks: Arena<PartId, Vec<Time>>,
    links: Links,
    hbm: Bandwidth,
    visible: Time,
}

/// The expected number of counters that a whole tile of a phase reads for a wait. A tile that waits for the once-sent rows of its tokens reads
/// one counter for each row, except after a row whose token was sent in the same row tile. These are mostly rows of tokens that were sent for
/// the tile's own expert.
fn counters(graph: &TaskGraph, ranks: u32, phase: PhaseId, wait: &Wait) -> f64 {
    let Index::OnceTiles = wait.index else { return 1.0 };
    let (sizes, ranks) = (&graph.sizes, ranks as usize);
    let of_expert = sizes.chunk_tokens() * sizes.top_k * ranks / sizes.used_experts(ranks);
    let rows = of_expert.min(graph.spaces[graph.phases[phase].space].height.number() as usize);
    let own = sizes.rows_once(ranks) as f64 / (sizes.tokens * sizes.top_k) as f64;
    1.0 + rows.saturating_sub(1) as f64 * (1.0 - own * own)
}

impl<'a> Run<'a> {
    fn new(
        checked: &'a CheckedGraph,
        works: &'a Arena<PhaseId, Works>,
        (schedule, order): (&'a Schedule, &'a Order),
        target: &'a Target,
        tokens: Spread,
    ) -> Self {
        let graph = checked.graph();
        let extents = Extents::new(graph, order.ranks, tokens);
        let sync = &target.sync;
        let start = |phase: PhaseId| {
            let before = schedule.phases[phase].preceding.iter();
            before.map(|&(space, columns)| extents.all_items(space) * u64::from(columns)).sum()
        };
        let fixed = |phase: PhaseId| {
            let further = |count: f64| (count - 1.0).max(0.0);
            let waits = schedule.phases[phase].waits.iter();
            let waits = waits.map(|wait| counters(graph, order.ranks, phase, wait)).sum();
            let signals = schedule.signals_after(graph, phase).count() as f64;
            let of_task = sync.task_pickup_ns + sync.tile_overhead_ns;
            Time::from_ns(of_task + further(waits) * sync.wait_ns + further(signals) * sync.signal_ns)
        };
        Self {
            starts: graph.phases.ids().map(start).collect(),
            tiles: Tiles::default(),
            fixed: graph.phases.ids().map(fixed).collect(),
            clocks: order.parts.iter().map(|(_, part)| vec![Time::ZERO; part.count as usize]).collect(),
            costs: CostModel::new(target),
            joined: schedule.joined(works),
            works,
            links: Links::new(graph, order, target),
            hbm: Bandwidth::new(target.memory.hbm_gb_per_s, HBM_SLOT),
            visible: Time::from_ns(sync.counter_visible_ns),
            checked,
            graph,
            schedule,
            order,
            target,
            extents,
        }
    }

    /// Replays all entries, and returns the end of the launch. Of the walks whose inputs are known, the one that can begin first is replayed
    /// next, because earlier replayed ones take bandwidth first.
    fn replayed(mut self, groups: &Groups, precedence: &Precedence) -> Time {
        let mut replay: QueueReplay<Ready> = QueueReplay::new(precedence);
        let walks = |part| self.schedule.walks_of_ranges(self.graph, self.order, part).collect();
        let walks: Arena<PartId, Vec<Walk>> = self.order.queues.ids().map(walks).collect();
        let mut left: Arena<PartId, &[Walk]> = walks.iter().map(|(_, walks)| &walks[..]).collect();
        // For each part, the time at which its next walk can begin, and those at which the walk's rows arrive; `None` if they are not known yet.
        let mut next: Arena<PartId, Option<(Time, Ready)>> = left.iter().map(|_| None).collect();
        loop {
            for (part, walks) in left.iter().filter(|(_, walks)| !walks.is_empty()) {
                if next[part].is_none() {
                    next[part] = self.begins(part, walks[0].0, groups, &replay);
                }
            }
            let known = next.iter().filter_map(|(part, next)| next.map(|(begins, ready)| (begins, part, ready)));
            let Some((_, part, ready)) = known.min_by_key(|&(begins, part, _)| (begins, part)) else {
                return self.end();
            };
            next[part] = None;
            let (walk, comes) = left[part][0];
            left[part] = &left[part][1..];
            let ends = self.walk(part, (walk, comes), &ready);
            for (&entry, end) in walk.iter().zip(ends) {
                replay.release(groups.number(entry), end);
            }
        }
    }

    /// The time at which the next walk of a part can begin, and those at which its rows arrive; `None` if it waits for an entry that has not
    /// been replayed.
    fn begins(
        &self,
        part: PartId,
        walk: &[Entry],
        groups: &Groups,
        replay: &QueueReplay<Ready>,
    ) -> Option<(Time, Ready)> {
        let numbers = || walk.iter().map(|&entry| groups.number(entry));
        if numbers().any(|number| replay.incoming[number] > 0) {
            return None;
        }
        let ready = numbers().map(|number| replay.ready[number]).fold(Ready::default(), Ready::latest);
        let head = walk[0];
        let items = self.extents.items(head, self.graph.phases[head.phase].space);
        let of_item = |item| ready.at(Share::of(self.graph, self.order.ranks, head, (item, items)));
        let arrived = (0..items).map(of_item).min().unwrap_or_else(|| ready.at(Share::ALL));
        let free = self.clocks[part].iter().copied().min()?;
        Some((free.max(arrived), ready))
    }

    /// The time at which the last core is done, and all bytes have passed through HBM and the links.
    fn end(&self) -> Time {
        let clocks = self.clocks.iter().flat_map(|(_, clocks)| clocks);
        clocks.copied().max().unwrap_or_default().max(self.hbm.least()).max(self.links.least())
    }
}

#[cfg(test)]
mod tests;
