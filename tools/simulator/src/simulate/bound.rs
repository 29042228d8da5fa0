//! A latency that no order of the tasks can beat.

mod ends;
mod links;
mod memory;
#[cfg(test)]
mod tests;
mod whole;

use super::{CoreKind, CostModel, Cursor, QueuedTask, Time, Work, Workload};
use ends::Ends;
use hpmoe_core::target::Target;
use links::LinkBytes;
use memory::HbmBytes;
use whole::WholeTasks;

/// Lower bounds of a workload's latency, each for a single resource or path. All fields except `launch` are times after the launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// The time of the launch, before everything else.
    pub launch: Time,
    /// The bound by matrix cores, for the rank whose matrix cores need the most time.
    pub matrix: MatrixBound,
    /// Time of the vector cores on the rank where it is longest: work, overhead of each task and fences of puts, divided among the cores
    /// either evenly or by whole tasks, whichever takes longer.
    pub vector: Time,
    /// Time of HBM on the rank that must move the most bytes to and from its HBM.
    pub hbm: Time,
    /// Time of the most loaded end of a link: the bytes that one rank sends or receives, either within its package or across packages.
    pub link: Time,
    /// Time of the longest path of three tasks: a long task, a task before it that it waits for, and a task after it that waits for it.
    pub path: Time,
}

/// A lower bound on the time of one rank's matrix cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MatrixBound {
    /// Minimum time that a core waits for rows before its first task, minus the time of the work that it can do meanwhile.
    pub head: Time,
    /// Time of the work and the overhead of all tasks, divided among the cores either evenly or by whole tasks, whichever takes longer.
    /// Each panel is read from HBM once.
    pub work: Time,
    /// Time that HBM needs for the matrix cores' work, minus the time for bytes that can be read during `head`. It counts only if it is
    /// longer than `work`.
    pub hbm: Time,
    /// Minimum time after the last task of a core, in which other cores process the results of that task.
    pub tail: Time,
}

impl MatrixBound {
    /// Time from the end of the launch to the end of the run.
    #[must_use]
    pub fn time(&self) -> Time {
        self.head + self.work.max(self.hbm) + self.tail
    }
}

impl Bound {
    /// The lower bound on the latency: the launch, plus the largest of all other parts.
    #[must_use]
    pub fn time(&self) -> Time {
        let parts = [self.vector, self.hbm, self.link, self.path];
        self.launch + parts.into_iter().fold(self.matrix.time(), Time::max)
    }
}

/// Computes lower bounds of a workload's latency, each as if all other resources had no limit.
#[must_use]
pub fn bound(target: &Target, workload: &dyn Workload) -> Bound {
    let costs = CostModel::new(target);
    let visible = Time::from_ns(target.sync.counter_visible_ns);
    let mut bound = Bound { launch: workload.costs().launch, ..Bound::default() };
    let mut links = LinkBytes::new(target, workload.ranks());
    let mut hbm = HbmBytes::new(target, workload.ranks());
    let mut ends = Ends::new(workload);
    let mut task = QueuedTask::default();
    let mut matrix = Vec::new();
    for rank in 0..workload.ranks() {
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            let mut all = WholeTasks::default();
            // The most that a core can do of a task before its waits are over: overhead, and reading ahead.
            let mut before = Time::ZERO;
            for core in 0..workload.cores(kind) {
                let mut cursor = Cursor::default();
                ends.next_core();
                while workload.next(rank, kind, core, &mut cursor, &mut task) {
                    // Weights may be read ahead of the task, but the core reads all of them.
                    let (work, ahead) = workload.least(rank, &task);
                    let begun = work.after(ahead, 1.0);
                    let fixed = fixed(target, workload, rank, &task);
                    let [takes, whole] = [begun, work].map(|work| costs.alone(rank, &work) + fixed);
                    let spent = whole.max(takes + workload.costs().of_core(kind).least(&task));
                    all.add(spent);
                    before = before.max(spent.since(takes));
                    hbm.add((rank, kind), costs.cost(rank, &work), ahead);
                    match task.work {
                        Work::Put { to, bytes } if to != rank => links.add((rank, to), bytes),
                        _ => {}
                    }
                    ends.add_task((rank, kind), &task, takes);
                }
            }
            let work = all.time(workload.cores(kind).max(1));
            match kind {
                CoreKind::Aic => matrix.push((work, before)),
                CoreKind::Aiv => bound.vector = bound.vector.max(work),
            }
        }
    }
    bound.link = links.time();
    bound.path = ends.path(visible);
    for (rank, (work, before)) in (0..).zip(matrix) {
        let (head, tail) = ends.head_and_tail(rank, visible);
        let of_rank = MatrixBound {
            head: head.since(before),
            work,
            hbm: hbm.of_matrix(rank, workload.cores(CoreKind::Aic)),
            tail,
        };
        if of_rank.time() > bound.matrix.time() {
            bound.matrix = of_rank;
        }
        bound.hbm = bound.hbm.max(hbm.of_all(rank));
    }
    bound
}

/// Time from a task's last wait to its signals in addition to its work: the start of a put, and its fence if it has one.
fn fixed(target: &Target, workload: &dyn Workload, rank: u32, task: &QueuedTask) -> Time {
    let start = if let Work::Put { .. } = task.work { workload.costs().put_start } else { Time::ZERO };
    start + task.fence(target, rank)
}
