//! How long a tile takes.

use super::{Run, Time};
use crate::cost::{Ahead, Cost, EntryTile, Work};
use crate::schedule::{CoreKind, ahead_of};
use hpmoe_kernels::op::TaskKind;
use hpmoe_language::ids::{PartId, PhaseId};

impl Run<'_> {
    /// The end of a tile that begins at a time, on a core that was free earlier.
    pub(super) fn tile(&mut self, (part, phase): (PartId, PhaseId), tile: EntryTile, free: Time, begun: Time) -> Time {
        if self.graph.tasks[self.graph.phases[phase].task].kind == TaskKind::Put {
            return self.put((part, phase), tile, begun);
        }
        let (work, ahead) = self.work(phase, tile);
        // The core reads weights from the pickup on: into one stage of L1, and into both where the tile waits for its rows.
        let between = begun.since(free + Time::from_ns(self.target.sync.task_pickup_ns));
        let room = if begun.since(free) > self.fixed[phase] { 1.0 } else { ahead.first };
        let read = room.min(between.0 as f64 / self.costs.ahead(ahead, 1.0).time.0.max(1) as f64);
        let left = work.after(ahead, read);
        let Cost::Shared(shared) = self.costs.cost(0, &left) else { return begun + self.costs.alone(0, &left) };
        self.hbm += shared.hbm + read * ahead.hbm;
        // Matrix cores have equal shares of HBM.
        let share = match self.order.parts[part].kind {
            CoreKind::Aic => shared.hbm * f64::from(self.target.cores.aic) / self.target.memory.hbm_gb_per_s * 1e3,
            CoreKind::Aiv => 0.0,
        };
        begun + shared.time.max(Time(share as u64))
    }

    fn put(&mut self, (part, phase): (PartId, PhaseId), tile: EntryTile, begun: Time) -> Time {
        let sync = &self.target.sync;
        let begun = begun + Time::from_ns(sync.put_start_ns);
        let work = self.works[phase].work(self.target, tile);
        let alone = begun + self.costs.alone(0, &work);
        match work {
            Work::Put { to, bytes } if to != 0 => {
                alone.max(self.links.put((part, phase), bytes, begun)) + Time::from_ns(sync.fence_remote_ns)
            }
            _ => alone,
        }
    }

    /// A tile's work, and what can be read ahead of it.
    fn work(&mut self, phase: PhaseId, tile: EntryTile) -> (Work, Ahead) {
        *self.tiles.entry((phase, [tile.items, tile.rows, tile.column])).or_insert_with(|| {
            let work = self.works[phase].work(self.target, tile);
            (work, ahead_of(self.checked, self.schedule, phase, &work))
        })
    }
}
