//! A simulated run of a schedule, entry by entry.

use super::Ours;
use crate::simulate::{Cursor, QueuedTask, Simulated, TaskTimes, Workload as _};
use hpmoe_core::ids::{Id as _, PartId};
use hpmoe_core::schedule::{Bar, Timeline};
use hpmoe_core::units::Nanos;
use std::collections::BTreeMap;

impl Ours<'_> {
    /// The entries of a rank along a run that has a timeline: each from the first begin of its tiles to their last end, or to the
    /// first begin of the next entry of its queue.
    #[must_use]
    pub fn timeline(&self, run: &Simulated, rank: u32) -> Timeline {
        let mut cores: BTreeMap<_, Vec<&TaskTimes>> = BTreeMap::new();
        for slice in run.slices.iter().filter(|slice| slice.rank == rank) {
            cores.entry((slice.kind, slice.core)).or_default().push(slice);
        }
        // By part and place in its queue.
        let mut spans: BTreeMap<(PartId, usize), (Nanos, Nanos)> = BTreeMap::new();
        for ((kind, core), mut slices) in cores {
            slices.sort_by_key(|slice| slice.end);
            let (part, _) = self.part(kind, core).expect("a core with tasks has a queue");
            let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
            for slice in slices {
                if !self.next(rank, kind, core, &mut cursor, &mut task) {
                    break;
                }
                // The route is no entry of a queue.
                if task.op as usize == self.phases() {
                    continue;
                }
                let queue = &self.order.queues[part][cursor.entry as usize..];
                let joined = queue.iter().position(|entry| entry.phase.index() == task.op as usize);
                let place = cursor.entry as usize + joined.expect("the task's entry is one of those that are joined");
                let [begun, end] = [slice.begun, slice.end].map(|time| Nanos(time.0 / 1_000));
                let span = spans.entry((part, place)).or_insert((begun, end));
                *span = (span.0.min(begun), span.1.max(end));
            }
        }
        let bars = |part: PartId| {
            let own = spans.range((part, 0)..=(part, usize::MAX));
            let mut bars: Vec<Bar> = own
                .map(|(&(_, place), &(start, end))| Bar { entry: self.order.queues[part][place], start, end })
                .collect();
            for at in 1..bars.len() {
                bars[at - 1].end = bars[at - 1].end.min(bars[at].start.max(bars[at - 1].start));
            }
            bars
        };
        Timeline { lanes: self.order.parts.ids().map(bars).collect(), end: Nanos(run.time.0 / 1_000) }
    }
}
