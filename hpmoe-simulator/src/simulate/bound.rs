//! A latency that no order of the tasks can beat.

mod ends;
mod links;

use super::{CoreKind, Cursor, QueuedTask, Time, Workload};
use super::{Cost, CostModel};
use ends::Ends;
use hpmoe_codegen::target::Target;
use links::LinkBytes;

/// Lower bounds of a workload's latency, each for one resource or one path alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// The time of the launch, before everything else.
    pub launch: Time,
    /// The work of the rank with the most work on matrix cores, shared evenly, at full speed and without costs per task.
    pub cube: Time,
    /// The least time before the first task of a matrix core, in which the rows arrive that it waits for.
    pub head: Time,
    /// The least time after the last task of a matrix core, in which its results go on.
    pub tail: Time,
    /// The work of the rank with the most elementwise work and copies within the rank, shared evenly by its vector cores.
    pub vector: Time,
    /// The time of the rank that moves the most bytes to and from HBM, without puts to other ranks.
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
    let mut ends = Ends::new(target, workload);
    let mut task = QueuedTask::default();
    for rank in 0..workload.ranks() {
        let mut hbm = 0.0;
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            let mut work = Time::ZERO;
            for core in 0..workload.cores(kind) {
                let mut cursor = Cursor::default();
                ends.next_core();
                while workload.next(rank, kind, core, &mut cursor, &mut task) {
                    match costs.cost(rank, &task.work) {
                        Cost::Shared(shared) => {
                            work += shared.time;
                            hbm += shared.hbm;
                        }
                        Cost::Link { to, bytes } => links.add((rank, to), bytes),
                        Cost::Alone(time) => work += time,
                        Cost::Nothing => {}
                    }
                    ends.add_task(rank, kind, &task, costs.alone(rank, &task.work));
                }
            }
            let share = Time(work.0 / u64::from(workload.cores(kind).max(1)));
            let most = if kind == CoreKind::Aic { &mut bound.cube } else { &mut bound.vector };
            *most = share.max(*most);
        }
        bound.hbm = bound.hbm.max(Time((hbm / target.memory.hbm_gb_per_s * 1e3) as u64));
    }
    bound.link = links.time();
    (bound.head, bound.tail) = ends.head_and_tail();
    bound.path = ends.path();
    bound
}
