//! Sums over the tasks of a run.

use super::result::{OpTotal, Simulated, TaskTimes};
use super::{CoreKind, Cursor, Efficiency, QueuedTask, Spent, Time, Work, Workload};

/// Number of tasks of a workload on all ranks, as a simulation counts them ([`Simulated::tasks`]).
#[must_use]
pub fn tile_tasks(workload: &dyn Workload) -> u64 {
    let mut tasks = 0;
    for rank in 0..workload.ranks() {
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            for core in 0..workload.cores(kind) {
                let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
                while workload.next(rank, kind, core, &mut cursor, &mut task) {
                    tasks += u64::from(workload.ops()[task.op as usize].tiles);
                }
            }
        }
    }
    tasks
}

pub(super) struct Tally {
    aic: Spent,
    aiv: Spent,
    /// For each core, the end of its last task.
    left: Vec<Time>,
    ranks: Vec<Time>,
    tasks: u64,
    empty_tasks: u64,
    flops: f64,
    int8_flops: f64,
    traffic: Vec<Vec<u64>>,
    ops: Vec<OpTotal>,
    /// For each operation, whether its tasks are tiles.
    tiles: Vec<bool>,
}

impl Tally {
    pub(super) fn new(workload: &dyn Workload) -> Self {
        let ranks = workload.ranks() as usize;
        let cores = workload.cores(CoreKind::Aic) + workload.cores(CoreKind::Aiv);
        Self {
            aic: Spent::default(),
            aiv: Spent::default(),
            left: vec![Time::ZERO; ranks * cores as usize],
            ranks: vec![Time::ZERO; ranks],
            tasks: 0,
            empty_tasks: 0,
            flops: 0.0,
            int8_flops: 0.0,
            traffic: vec![vec![0; ranks]; ranks],
            ops: vec![OpTotal::default(); workload.ops().len()],
            tiles: workload.ops().iter().map(|op| op.tiles).collect(),
        }
    }

    pub(super) fn spent(&mut self, kind: CoreKind) -> &mut Spent {
        match kind {
            CoreKind::Aic => &mut self.aic,
            CoreKind::Aiv => &mut self.aiv,
        }
    }

    /// Adds a task that ran.
    pub(super) fn add_task(&mut self, rank: u32, task: &QueuedTask, (begun, end): (Time, Time)) {
        let is_tile = self.tiles[task.op as usize];
        self.tasks += u64::from(is_tile);
        self.empty_tasks += u64::from(is_tile && task.work == Work::Empty);
        self.flops += task.work.flops();
        if task.work.products().is_some_and(|products| products.efficiency == Efficiency::Int8) {
            self.int8_flops += task.work.flops();
        }
        if let Work::Put { to, bytes } = task.work {
            self.traffic[rank as usize][to as usize] += bytes;
        }
        let op = &mut self.ops[task.op as usize];
        op.tasks += 1;
        op.time += end - begun;
        op.span = Some(op.span.map_or((begun, end), |(first, last)| (first.min(begun), last.max(end))));
    }

    /// Records that a core has no more tasks.
    pub(super) fn core_done(&mut self, core: u32, rank: u32, now: Time) {
        self.left[core as usize] = now;
        let rank = &mut self.ranks[rank as usize];
        *rank = now.max(*rank);
    }

    pub(super) fn finish(
        mut self,
        time: Time,
        kinds: impl Iterator<Item = CoreKind>,
        slices: Vec<TaskTimes>,
    ) -> Simulated {
        for (core, kind) in kinds.enumerate() {
            let tail = time.since(self.left[core]);
            self.spent(kind).tail += tail;
        }
        Simulated {
            time,
            ranks: self.ranks,
            aic: self.aic,
            aiv: self.aiv,
            tasks: self.tasks,
            empty_tasks: self.empty_tasks,
            flops: self.flops,
            int8_flops: self.int8_flops,
            traffic: self.traffic,
            ops: self.ops,
            slices,
        }
    }
}
