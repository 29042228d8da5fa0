//! Reading of weights before tasks begin. Each core has a reader, which joins the lanes of memories as a member with a number above those
//! of cores.

use super::{Engine, Event, Time};
use std::cmp::Reverse;

impl Engine<'_> {
    /// Schedules the times at which a core reads ahead for its next task. It reads the first stage when it knows the task and has left the
    /// previous one. If the task's waits have not ended at the first look, it also fills the rest of the room.
    pub(super) fn reads_from(&mut self, number: u32, known: Time) {
        let core = &mut self.cores[number as usize];
        core.read = 0.0;
        if core.task.ahead.l2 > 0.0 {
            let leaves = Time::from_ns(self.target.sync.task_pickup_ns);
            self.events.push(Reverse(((known + leaves).min(core.looked), Event::Ahead { core: number })));
            if core.held < core.task.waits.len() || core.looks > core.looked {
                self.events.push(Reverse((core.looked, Event::Ahead { core: number })));
            }
        }
    }

    /// Starts reading ahead, if the core is not reading and has room for more.
    pub(super) fn read_ahead(&mut self, number: u32) {
        let reader = self.reader(number);
        let core = &mut self.cores[number as usize];
        let room = if self.now < core.looked { core.task.ahead.first } else { 1.0 };
        if core.reading.is_none() && core.read < room {
            let share = room - core.read;
            core.reading = Some(share);
            self.memories.join(self.now, core.rank, &self.costs.ahead(core.task.ahead, share), reader);
        }
    }

    /// Ends a member's work in a lane of memories: a core's task, or a share that a reader reads.
    pub(super) fn ended(&mut self, member: u32) {
        let Some(number) = member.checked_sub(self.cores.len() as u32) else { return self.done(member) };
        let core = &mut self.cores[number as usize];
        core.read += core.reading.take().unwrap_or_default();
        if self.now >= core.looked {
            self.read_ahead(number);
        }
    }

    /// Subtracts the weights that a core has read ahead from the work of its task.
    pub(super) fn take_off_read(&mut self, number: u32) {
        let reader = self.reader(number);
        let core = &mut self.cores[number as usize];
        if let Some(share) = core.reading.take() {
            let reading = self.costs.ahead(core.task.ahead, share);
            core.read += share * (1.0 - self.memories.leave(self.now, core.rank, &reading, reader));
        }
        core.task.work = core.task.work.after(core.task.ahead, core.read);
    }

    fn reader(&self, number: u32) -> u32 {
        self.cores.len() as u32 + number
    }
}
