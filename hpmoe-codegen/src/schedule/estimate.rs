//! The latency of a schedule, roughly: what open tile sizes are chosen by.

mod extents;
mod links;
mod ready;
mod tile;

use super::groups::Groups;
use super::precedence::Precedence;
use super::schedule::schedule_on;
use super::timeline::{QueueReplay, Released};
use super::{Comes, Deal, Entry, Order, Schedule, Swizzle};
use crate::cost::{CostModel, EntryTile, Time, Works};
use crate::target::Target;
use extents::{Extents, Spread};
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::graph::TaskGraph;
use hpmoe_language::ids::{Arena, PartId, PhaseId};
use links::Links;
use ready::{Ready, Share};
use tile::Tiles;

/// The estimated latency of a taskflow with its default schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// With evenly spread tokens, on a rank that stands for all.
    pub even: Time,
    /// With few experts that most tokens go to, on the rank with the one that is chosen most; `None` where the other one was not worth it.
    pub uneven: Option<Time>,
}

/// Estimates the latency of a taskflow's default schedule on a number of ranks: its queues are replayed on one rank, tile by tile and
/// core by core. `None` if that number does not share the experts. Uneven tokens are replayed only where `worth` says so of the latency
/// with even ones.
///
/// It takes milliseconds where a simulation takes seconds. Tiles wait for sixteenths of an expert's rows here, and memories and links are
/// shared less exactly, so that it tells tile sizes apart and says little about the latency itself.
#[must_use]
pub fn estimate(
    checked: &CheckedGraph,
    target: &Target,
    ranks: u32,
    worth: impl FnOnce(Time) -> bool,
) -> Option<Estimate> {
    if ranks == 0 || checked.graph().sizes.experts % ranks as usize != 0 {
        return None;
    }
    let schedule = schedule_on(checked, target, ranks);
    let order = schedule.order(ranks)?;
    let groups = Groups::new(checked.graph(), ranks);
    let precedence = Precedence::new(checked, &groups, ranks, None);
    let latency = |tokens: Spread| {
        let run = Run::new(checked, &schedule, order, target, tokens);
        Time::from_us(target.launch.kernel_us) + run.replayed(&groups, &precedence)
    };
    let even = latency(Spread::Even);
    Some(Estimate { even, uneven: worth(even).then(|| latency(Spread::Uneven)) })
}

/// The clocks of one rank.
struct Run<'a> {
    checked: &'a CheckedGraph,
    graph: &'a TaskGraph,
    schedule: &'a Schedule,
    order: &'a Order,
    target: &'a Target,
    costs: CostModel,
    works: Arena<PhaseId, Works>,
    extents: Extents,
    /// Tiles that count before each phase's own, when cores are assigned.
    starts: Arena<PhaseId, u64>,
    tiles: Tiles,
    /// What a tile of each phase costs in addition to its work.
    fixed: Arena<PhaseId, Time>,
    clocks: Arena<PartId, Vec<Time>>,
    links: Links,
    hbm: f64,
    visible: Time,
}

impl<'a> Run<'a> {
    fn new(
        checked: &'a CheckedGraph,
        schedule: &'a Schedule,
        order: &'a Order,
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
            let further = |count: usize| count.saturating_sub(1) as f64;
            let (waits, signals) = (schedule.phases[phase].waits.len(), schedule.phases[phase].signals.len());
            let of_task = sync.task_pickup_ns + sync.tile_overhead_ns;
            Time::from_ns(of_task + further(waits) * sync.wait_ns + further(signals) * sync.signal_ns)
        };
        Self {
            starts: graph.phases.ids().map(start).collect(),
            tiles: Tiles::default(),
            fixed: graph.phases.ids().map(fixed).collect(),
            clocks: order.parts.iter().map(|(_, part)| vec![Time::ZERO; part.count as usize]).collect(),
            costs: CostModel::new(target),
            works: Works::of_phases(graph),
            links: Links::new(graph, order, target),
            hbm: 0.0,
            visible: Time::from_ns(sync.counter_visible_ns),
            checked,
            graph,
            schedule,
            order,
            target,
            extents,
        }
    }

    /// Runs all entries, and returns the end of the last one.
    fn replayed(mut self, groups: &Groups, precedence: &Precedence) -> Time {
        let mut replay = QueueReplay::new(precedence);
        let walks = |part| self.schedule.walks_of_ranges(self.graph, self.order, part).collect();
        let walks: Arena<PartId, Vec<(&[Entry], Comes)>> = self.order.queues.ids().map(walks).collect();
        let mut places: Arena<PartId, usize> = self.order.queues.iter().map(|_| 0).collect();
        loop {
            let mut moved = false;
            for (part, walks) in walks.iter() {
                while let Some(&(walk, comes)) = walks.get(places[part]) {
                    let numbers = || walk.iter().map(|&entry| groups.number(entry));
                    if numbers().any(|number| replay.incoming[number] > 0) {
                        break;
                    }
                    let ready = numbers().map(|number| replay.ready[number]).fold(Ready::default(), Ready::latest);
                    let ends = self.walk(part, (walk, comes), &ready);
                    for (number, end) in numbers().zip(ends) {
                        replay.release(number, end);
                    }
                    places[part] += 1;
                    moved = true;
                }
            }
            if !moved {
                return self.end();
            }
        }
    }

    /// Runs entries that are walked together, when their rows are ready, and returns when what they make is.
    fn walk(&mut self, part: PartId, (walk, comes): (&[Entry], Comes), ready: &Ready) -> Vec<Ready> {
        let head = walk[0];
        let phase = &self.graph.phases[head.phase];
        let (items, columns) = (self.extents.items(head, phase.space), u64::from(phase.columns()));
        let outer = u64::from(self.graph.column_rows(head.phase));
        let (wide, band) = (columns / outer, self.schedule.phases[head.phase].band);
        let swizzle = Swizzle { items: u64::from(items) * outer, columns: wide, band: band.into() };
        let cores = u64::from(self.order.parts[part].count);
        let deal = Deal { cores, rotation: self.schedule.phases[head.phase].rotation.into() };
        let base = self.starts[head.phase] + self.extents.before(head, phase.space) * columns;
        let entry = Time::from_ns(self.target.sync.entry_ns);
        let [passed, stayed] = [false, true].map(|has_tile| entry * u64::from(comes.read(has_tile)));
        self.clocks[part].iter_mut().for_each(|clock| *clock += passed);
        // Ranges have no rotation: the first tiles are those of one core each.
        let first_tiles = swizzle.tiles().min(cores) as usize;
        let come = deal.cores_from(base).take(if stayed > passed { first_tiles } else { 0 });
        come.for_each(|core| self.clocks[part][core as usize] += stayed - passed);
        let mut ends = vec![Ready::default(); walk.len()];
        if swizzle.tiles() == 0 {
            // Such an entry is over when it could have begun.
            ends.fill(Ready::of(Share::ALL, ready.at(Share::ALL)));
        }
        let of_items: Vec<Share> =
            (0..items).map(|item| Share::of(self.graph, self.order.ranks, head, (item, items))).collect();
        let begins: Vec<Time> = of_items.iter().map(|&share| ready.at(share)).collect();
        // By item and then by entry: when its last tile is done.
        let mut done = vec![Time::ZERO; of_items.len() * walk.len()];
        let works: Vec<_> = walk.iter().map(|&entry| self.works_of(entry, phase.space, band, walk.len())).collect();
        for ((place, column), core) in swizzle.places().zip(deal.cores_from(base)) {
            let (item, column) = ((place / outer) as u32, (place % outer * wide + column) as u32);
            for (at, (&entry, works)) in walk.iter().zip(&works).enumerate() {
                let free = self.clocks[part][core as usize];
                let begun = free.max(begins[item as usize]) + self.fixed[entry.phase];
                let ended = match works {
                    Some(works) => self.tile((part, entry.phase), works.place(item, column), free, begun),
                    None => {
                        let rows = self.extents.rows(entry, phase.space, item);
                        let (peer, joined) = (entry.peer_offset, walk.len() as u32);
                        self.put((part, entry.phase), EntryTile { peer, rows, column, items, band, joined }, begun)
                    }
                };
                self.clocks[part][core as usize] = ended;
                let done = &mut done[item as usize * walk.len() + at];
                *done = ended.max(*done);
            }
        }
        for (&share, done) in of_items.iter().zip(done.chunks(walk.len())) {
            ends.iter_mut().zip(done).for_each(|(end, &done)| end.delay(share, done + self.visible));
        }
        ends
    }

    /// When the last core is done; not before all bytes have passed through HBM and through the links.
    fn end(&self) -> Time {
        let clocks = self.clocks.iter().flat_map(|(_, clocks)| clocks);
        let hbm = Time((self.hbm / self.target.memory.hbm_gb_per_s * 1e3) as u64);
        clocks.copied().max().unwrap_or_default().max(hbm).max(self.links.least())
    }
}

#[cfg(test)]
mod tests;
