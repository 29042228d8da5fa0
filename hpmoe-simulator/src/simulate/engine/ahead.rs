//! Weights that cores read while they wait. What reads for a core is a member of the memories' lanes, numbered after all cores.

use super::{Engine, Event};
use std::cmp::Reverse;

impl Engine<'_> {
    /// Has a core that has just looked at its counters read ahead from then on, if its task is not ready.
    pub(super) fn wait_reading(&mut self, number: u32) {
        let core = &mut self.cores[number as usize];
        core.read = 0.0;
        let waits = core.held < core.task.waits.len() || core.looks > core.looked;
        if waits && core.task.ahead.l2 > 0.0 {
            self.events.push(Reverse((core.looked, Event::Ahead { core: number })));
        }
    }

    pub(super) fn read_ahead(&mut self, number: u32) {
        let reader = self.reader(number);
        let core = &mut self.cores[number as usize];
        core.reading = true;
        self.memories.join(self.now, core.rank, &self.costs.ahead(core.task.ahead), reader);
    }

    /// Ends what a member of the memories' lanes does: a task, or the reading of all that a core can read ahead.
    pub(super) fn ended(&mut self, member: u32) {
        let Some(number) = member.checked_sub(self.cores.len() as u32) else { return self.done(member) };
        let core = &mut self.cores[number as usize];
        (core.reading, core.read) = (false, 1.0);
    }

    /// Takes what a core has read off its task's work. The rest is read with the task.
    pub(super) fn take_off_read(&mut self, number: u32) {
        let reader = self.reader(number);
        let core = &mut self.cores[number as usize];
        if std::mem::take(&mut core.reading) {
            let reading = self.costs.ahead(core.task.ahead);
            core.read = 1.0 - self.memories.leave(self.now, core.rank, &reading, reader);
        }
        core.task.work = core.task.work.after(core.task.ahead, core.read);
    }

    fn reader(&self, number: u32) -> u32 {
        self.cores.len() as u32 + number
    }
}
