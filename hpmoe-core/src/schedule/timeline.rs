//! The modelled timeline of entries: replays the queues with the cost model that ordered them.

use super::cost::EntryCosts;
use super::groups::Groups;
use super::precedence::Precedence;
use super::{Entry, Schedule};
use crate::analyze::CheckedGraph;
use crate::ids::{Arena, PartId};
use crate::target::Target;
use crate::units::Nanos;

/// The run of one entry, modelled or simulated, on all cores that share its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// The entry that runs.
    pub entry: Entry,
    /// Time at which the entry's first tile starts.
    pub start: Nanos,
    /// Time at which the entry's last tile ends.
    pub end: Nanos,
}

/// A step that the cores of a part run outside the entries of their queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepBar {
    /// The kind of step.
    pub kind: StepKind,
    /// Time at which the first core starts the step.
    pub start: Nanos,
    /// Time at which the last core ends the step.
    pub end: Nanos,
}

/// The kind of a step outside the entries of a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StepKind {
    /// The launch, until cores begin with their first entry or with the route's tables.
    Launch,
    /// The time in which the route's tables are made.
    Tables,
    /// The time for which matrix cores wait for the route's tables.
    AwaitsTables,
}

/// The timeline of one rank: either modelled with evenly distributed tokens, or simulated. It is never a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// The runs of each part's entries, in the order of its queue. A simulated run leaves out entries without tiles.
    pub lanes: Arena<PartId, Vec<Bar>>,
    /// The steps of each part outside its queue; empty for a modelled run.
    pub steps: Arena<PartId, Vec<StepBar>>,
    /// Time at which the last entry of the rank ends or, in a simulated run, at which the launch ends on all ranks.
    pub end: Nanos,
}

/// Replays the queues for a number of ranks on a target; `None` if there is no schedule for that number. In this replay,
/// entries wait for whole entries; on the device they wait for tiles, and overlap more.
#[must_use]
pub fn timeline(checked: &CheckedGraph, schedule: &Schedule, target: &Target, ranks: u32) -> Option<Timeline> {
    let order = schedule.order(ranks)?;
    let graph = checked.graph();
    let groups = Groups::new(graph, ranks);
    let precedence = Precedence::new(checked, &groups, ranks, None);
    let costs = EntryCosts::new(graph, target);

    let mut lanes: Arena<PartId, Vec<Bar>> = order.queues.iter().map(|_| Vec::new()).collect();
    QueueReplay::new(&precedence).run(&groups, &order.queues, |part, entry, ready| {
        let free = lanes[part].last().map_or(Nanos(0), |bar| bar.end);
        let start = free.max(ready);
        let end = start + costs.entry_time(graph, &order.parts[part], ranks, entry.phase);
        lanes[part].push(Bar { entry, start, end });
        end + costs.visible
    });
    let ends = lanes.iter().filter_map(|(_, lane)| lane.last().map(|bar| bar.end));
    let end = ends.max().unwrap_or_default();
    Some(Timeline { steps: order.queues.iter().map(|_| Vec::new()).collect(), lanes, end })
}

/// A time at which a node is released, or several of them.
pub(super) trait Released: Copy + Default {
    /// The later of two times, part by part if there are parts.
    fn latest(self, other: Self) -> Self;
}

impl Released for Nanos {
    fn latest(self, other: Self) -> Self {
        self.max(other)
    }
}

/// The state of a replay of queues: the predecessors that each entry still waits for.
pub(super) struct QueueReplay<'a, T> {
    /// Number of nodes that each node still waits for.
    pub(super) incoming: Vec<u32>,
    /// For each node, the latest time at which a predecessor has released it so far.
    pub(super) ready: Vec<T>,
    precedence: &'a Precedence,
}

impl<'a, T: Released> QueueReplay<'a, T> {
    pub(super) fn new(precedence: &'a Precedence) -> Self {
        let incoming = precedence.incoming();
        let free: Vec<usize> = (precedence.entries..precedence.len()).filter(|&node| incoming[node] == 0).collect();
        let mut replay = Self { incoming, ready: vec![T::default(); precedence.len()], precedence };
        free.into_iter().for_each(|node| replay.release(node, T::default()));
        replay
    }

    /// Runs the entries of all queues, each when all nodes that it waits for have ended. `run` gets an entry with its part and the time at which
    /// it is released, and returns the time at which it releases others. Returns whether all entries have run.
    pub(super) fn run(
        &mut self,
        groups: &Groups,
        queues: &Arena<PartId, Vec<Entry>>,
        mut run: impl FnMut(PartId, Entry, T) -> T,
    ) -> bool {
        let mut left: Arena<PartId, &[Entry]> = queues.iter().map(|(_, queue)| &queue[..]).collect();
        loop {
            let mut moved = false;
            for part in queues.ids() {
                while let [entry, rest @ ..] = left[part] {
                    let number = groups.number(*entry);
                    if self.incoming[number] > 0 {
                        break;
                    }
                    self.release(number, run(part, *entry, self.ready[number]));
                    left[part] = rest;
                    moved = true;
                }
            }
            if !moved {
                return left.iter().all(|(_, queue)| queue.is_empty());
            }
        }
    }

    /// Tells all successors of a node that it ends at `time`.
    pub(super) fn release(&mut self, node: usize, time: T) {
        let precedence = self.precedence;
        for next in precedence.successors(node) {
            self.ready[next] = self.ready[next].latest(time);
            self.incoming[next] -= 1;
            if next >= precedence.entries && self.incoming[next] == 0 {
                self.release(next, self.ready[next]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};
    use crate::schedule::{Cores, schedule};

    #[test]
    fn all_entries_run_in_the_order_of_their_queue() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        for order in &schedule.orders {
            let timeline = timeline(&checked, &schedule, &Target::ascend_a3(), order.ranks).unwrap();
            for (part, queue) in order.queues.iter() {
                let lane = &timeline.lanes[part];
                assert!(lane.iter().map(|bar| bar.entry).eq(queue.iter().copied()));
                assert!(lane.windows(2).all(|pair| pair[0].end <= pair[1].start));
            }
        }
        assert!(timeline(&checked, &schedule, &Target::ascend_a3(), 3).is_none());
    }

    #[test]
    fn an_entry_starts_as_soon_as_its_cores_and_its_data_are_there() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let target = Target::ascend_a3();
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let visible = EntryCosts::new(checked.graph(), &target).visible;
        let timeline = timeline(&checked, &schedule, &target, 8).unwrap();
        let bars: Vec<Bar> = timeline.lanes.iter().flat_map(|(_, lane)| lane.iter().copied()).collect();
        assert_eq!(bars.iter().map(|bar| bar.end).max(), Some(timeline.end));
        let needs = |bar: &Bar| {
            let of_bar = checked.dependencies().iter().filter(|d| d.after == bar.entry.phase);
            let makers: Vec<_> = of_bar.map(|d| d.before).collect();
            let by_expert = |other: &Bar| other.entry.expert == bar.entry.expert || bar.entry.phase.0 == 6;
            let made = bars.iter().filter(|other| makers.contains(&other.entry.phase) && by_expert(other));
            made.map(|other| other.end + visible).max().unwrap_or_default()
        };
        for (_, lane) in timeline.lanes.iter() {
            let mut free = Nanos(0);
            for bar in lane {
                assert_eq!(bar.start, needs(bar).max(free), "{bar:?}");
                assert!(bar.end > bar.start);
                free = bar.end;
            }
        }
    }

    #[test]
    fn matrix_cores_rarely_wait() {
        let checked = moe_ffn(&Layer::DEEPSEEK);
        let schedule = schedule(&checked, Cores::ASCEND_A3);
        let timeline = timeline(&checked, &schedule, &Target::ascend_a3(), 8).unwrap();
        let (_, matrix) = timeline.lanes.iter().next().unwrap();
        let busy: u64 = matrix.iter().map(|bar| (bar.end - bar.start).0).sum();
        assert!(busy * 100 > timeline.end.0 * 80, "{busy} of {} ns", timeline.end.0);
    }
}
