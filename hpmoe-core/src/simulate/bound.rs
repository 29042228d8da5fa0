//! A latency that no order of tasks can beat.

use super::cost::{Cost, Costs};
use super::{CoreKind, Cursor, Program, Task, Time, Work};
use crate::target::Target;

/// What keeps a program from being faster, each by itself. The largest is the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bound {
    /// The launch, which everything comes after.
    pub launch: Time,
    /// The rank with most work on its matrix cores, shared evenly.
    pub cube: Time,
    /// The same for elementwise work on vector cores.
    pub vector: Time,
    /// The rank whose HBM moves most bytes.
    pub hbm: Time,
    /// The end of a link that most bytes go through.
    pub link: Time,
}

impl Bound {
    /// The bound.
    #[must_use]
    pub fn time(&self) -> Time {
        self.launch + self.cube.max(self.vector).max(self.hbm).max(self.link)
    }
}

/// The lower bound of a program's latency.
#[must_use]
pub fn bound(target: &Target, program: &dyn Program) -> Bound {
    let costs = Costs::new(target);
    let mut bound = Bound { launch: program.policy().launch, ..Bound::default() };
    let mut task = Task::default();
    for rank in 0..program.ranks() {
        let (mut cube, mut vector) = (Time::ZERO, Time::ZERO);
        for kind in [CoreKind::Aic, CoreKind::Aiv] {
            for core in 0..program.cores(kind) {
                let mut cursor = Cursor::default();
                while program.next(rank, kind, core, &mut cursor, &mut task) {
                    let sum = if kind == CoreKind::Aic { &mut cube } else { &mut vector };
                    if let Cost::Shared(shared) = costs.of(rank, &task.work) {
                        *sum += shared.time;
                    }
                }
            }
        }
        bound.cube = bound.cube.max(Time(cube.0 / u64::from(program.cores(CoreKind::Aic).max(1))));
        bound.vector = bound.vector.max(Time(vector.0 / u64::from(program.cores(CoreKind::Aiv).max(1))));
    }
    let _ = Work::Empty;
    bound
}
