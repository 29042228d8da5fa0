//! A latency that no order of the tasks can beat.

mod ends;
mod links;
#[cfg(test)]
mod tests;

use super::{CoreKind, CostModel, Cursor, LeastHbm, QueuedTask, Time, Work, Workload};
use ends::Ends;
use hpmoe_codegen::target::Target;
use links::LinkBytes;

/// Lower bounds of a workload's latency, each for one resource or one path alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// The time of the launch, before everything else.
    pub launch: Time,
    /// The work of the rank with the most work on matrix cores, with the overhead of each task, shared evenly. Operands are in L2.
    pub cube: Time,
    /// The least time before the first task of a matrix core, in which the rows arrive that it waits for.
    pub head: Time,
    /// The least time after the last task of a matrix core, in which its results go on.
    pub tail: Time,
    /// The work of the rank with the most work on vector cores, with the overhead of each task and the fences of puts, shared
    /// evenly.
    pub vector: Time,
    /// The time of the rank that must move the most bytes to and from HBM.
    pub hbm: Time,
    /// The time of the end of a link that carries the most bytes.
    pub link: Time,
    /// The longest path of three tasks: the longest task, one that it waits for and one that waits for it.
    pub path: Time,
}

impl Bound {
    /// The bound of the latency: the largest of its parts after the launch.
    #[must_use]
    pub fn time(&self) -> Time {
        let cube = self.head + self.cube + self.tail;
        self.launch + [self.vector, self.hbm, self.link, self.path].into_iter().fold(cube, Time::max)
    }
}

/// The lower bounds of a workload's latency: those of every resource, as if all others were free.
#[must_use]
pub fn bound(target: &Target, workload: &dyn Workload) -> Bound {
    let costs = CostModel::new(target);
    let mut bound = Bound { launch: workload.costs().launch, ..Bound::default() };
    let mut links = LinkBytes::new(target, workload.ranks());
    let mut ends = Ends::new(workload);
    let mut task = QueuedTask::default();
    for rank in 0..workload.ranks() {
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            let mut work = Time::ZERO;
            for core in 0..workload.cores(kind) {
                let mut cursor = Cursor::default();
                ends.next_core();
                while workload.next(rank, kind, core, &mut cursor, &mut task) {
                    // Weights may be on their way before the task begins, but the core reads them all.
                    let begun = task.work.after(task.ahead, 1.0);
                    let [takes, whole] = [begun, task.work].map(|work| least(target, workload, &costs, rank, &work));
                    work += whole.max(takes + workload.costs().of_core(kind).least(&task));
                    if let Work::Put { to, bytes } = task.work
                        && to != rank
                    {
                        links.add((rank, to), bytes);
                    }
                    ends.add_task((rank, kind), &task, takes);
                }
            }
            let share = Time(work.0 / u64::from(workload.cores(kind).max(1)));
            let most = if kind == CoreKind::Aic { &mut bound.cube } else { &mut bound.vector };
            *most = share.max(*most);
        }
        bound.hbm = bound.hbm.max(hbm(target, workload.least_hbm(rank)));
    }
    bound.link = links.time();
    (bound.head, bound.tail) = ends.head_and_tail(Time::from_ns(target.sync.counter_visible_ns));
    bound.path = ends.path(Time::from_ns(target.sync.counter_visible_ns));
    bound
}

/// The least time of work between waits and signals.
fn least(target: &Target, workload: &dyn Workload, costs: &CostModel, rank: u32, work: &Work) -> Time {
    let fixed = match *work {
        Work::Put { to, .. } if to == rank => workload.costs().put_start,
        Work::Put { .. } => workload.costs().put_start + Time::from_ns(target.sync.fence_remote_ns),
        _ => Time::ZERO,
    };
    costs.least(rank, work) + fixed
}

/// The time of bytes that no order saves: results may stay in L2 until after the end.
fn hbm(target: &Target, LeastHbm { read, written }: LeastHbm) -> Time {
    let bytes = read + written.saturating_sub(u64::from(target.memory.l2_mib) << 20);
    Time((bytes as f64 / target.memory.hbm_gb_per_s * 1e3) as u64)
}
