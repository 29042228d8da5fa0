//! A latency that no order of tasks can beat.

mod ends;
mod links;

use super::{CoreKind, Cursor, Program, QueuedTask, Time};
use super::{Cost, Costs};
use ends::Ends;
use hpmoe_codegen::target::Target;
use links::Links;

/// What keeps a program from being faster, each by itself: the same work takes no less than the largest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// The launch, before everything else.
    pub launch: Time,
    /// The rank with most work on its matrix cores, shared evenly, at full speed and without what tasks cost beside it.
    pub cube: Time,
    /// Before the first task of a matrix core: what the rows that it waits for take at least.
    pub head: Time,
    /// After the last task of a matrix core: what becomes of its results, at least.
    pub tail: Time,
    /// The rank with most elementwise work, and copies on the own die, on its vector cores.
    pub vector: Time,
    /// The rank whose cores move most bytes to and from HBM; puts to other ranks apart.
    pub hbm: Time,
    /// The end of a link with most bytes to let through.
    pub link: Time,
    /// The longest task with what it waits for and what waits for it: the longest path of three.
    pub path: Time,
}

impl Bound {
    /// The bound.
    #[must_use]
    pub fn time(&self) -> Time {
        let cube = self.head + self.cube + self.tail;
        self.launch + [self.vector, self.hbm, self.link, self.path].into_iter().fold(cube, Time::max)
    }
}

/// The lower bound of a program's latency: every resource by itself, as if all else were free.
#[must_use]
pub fn bound(target: &Target, program: &dyn Program) -> Bound {
    let costs = Costs::new(target);
    let mut bound = Bound { launch: program.costs().launch, ..Bound::default() };
    let mut links = Links::new(target, program.ranks());
    let mut ends = Ends::new(target, program);
    let mut task = QueuedTask::default();
    for rank in 0..program.ranks() {
        let mut hbm = 0.0;
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            let mut work = Time::ZERO;
            for core in 0..program.cores(kind) {
                let mut cursor = Cursor::default();
                ends.core();
                while program.next(rank, kind, core, &mut cursor, &mut task) {
                    match costs.of(rank, &task.work) {
                        Cost::Shared(shared) => {
                            work += shared.time;
                            hbm += shared.hbm;
                        }
                        Cost::Link { to, bytes } => links.add((rank, to), bytes),
                        Cost::Alone(time) => work += time,
                        Cost::Nothing => {}
                    }
                    ends.task(rank, kind, &task, costs.alone(rank, &task.work));
                }
            }
            let share = Time(work.0 / u64::from(program.cores(kind).max(1)));
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
