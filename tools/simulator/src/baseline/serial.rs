//! One operator after another, each over the whole device.

use super::collective::collective;
use super::product::{Tiles, product};
use super::{Direction, LayerShape, Operator, OperatorKind};
use crate::simulate::{
    CoreCosts, CoreKind, CounterSignal, CounterWait, Cursor, Efficiency, Op, Policy, PolicyCosts, QueuedTask, Routing,
    Time, Work, Workload, Written,
};
use hpmoe_core::target::Target;

/// The plain execution: a kernel for each operator, and a collective all-to-all for dispatch and combine.
///
/// A kernel begins when the one before it has ended on all cores of the rank, a collective when it has ended on all ranks.
/// Products run at the efficiency of grouped products in kernels of their own, which includes the overhead of their tiles.
#[derive(Clone, Debug)]
pub struct Serial {
    shape: LayerShape,
    routing: Routing,
    steps: Vec<Operator>,
    ops: Vec<Op>,
    costs: PolicyCosts,
    /// How weight gradients are written.
    gradients: Written,
    target: Target,
}

impl Serial {
    /// The operators of a direction on a routing.
    #[must_use]
    pub fn new(shape: LayerShape, direction: Direction, routing: Routing, target: &Target) -> Self {
        let mut steps = Operator::all(direction).to_vec();
        steps.sort_by_key(|&operator| operator == Operator::Combine);
        let name = |operator: &Operator| operator.name().to_owned();
        let none = CoreCosts { task: Time::ZERO, empty: Time::ZERO, poll: None, entries_ahead: 0 };
        Self {
            shape,
            routing,
            ops: steps.iter().map(|step| Op { name: name(step), line: 0, extra: false }).collect(),
            steps,
            costs: PolicyCosts {
                policy: Policy::Serial,
                launch: Time::ZERO,
                aic: none,
                aiv: none,
                entry: Time::ZERO,
                wait: Time::ZERO,
                signal: Time::ZERO,
                put_start: Time::ZERO,
            },
            gradients: Written::BF16,
            target: target.clone(),
        }
    }

    /// The same with weight gradients of another type: as published they are bf16.
    #[must_use]
    pub const fn with_gradients(mut self, gradients: Written) -> Self {
        self.gradients = gradients;
        self
    }

    /// The counter that lets a step begin.
    const fn begins(step: u32) -> u32 {
        2 * step
    }
    /// The counter that is full when a step has ended.
    const fn ended(step: u32) -> u32 {
        2 * step + 1
    }

    /// The signals that a step ends with.
    fn parts(&self, step: u32) -> u32 {
        match self.steps[step as usize].kind(&self.shape) {
            OperatorKind::Product(_) => self.shape.experts_per_rank() * self.target.cores.aic,
            OperatorKind::Vector => self.target.cores.aiv,
            OperatorKind::Put | OperatorKind::Terminate => self.shape.ranks,
        }
    }

    /// A measured time less the latency of the `seen` counters that a program needs for it.
    fn less_counters(&self, us: f64, seen: f64) -> Time {
        Time::from_us(us).since(Time::from_ns(self.target.sync.counter_visible_ns * seen))
    }

    /// Makes `task` the launch of a step, which begins when the step before it has ended.
    fn launch(&self, step: u32, seen: f64, task: &mut QueuedTask) {
        task.work = Work::Fixed { time: self.less_counters(self.target.launch.kernel_us, seen) };
        if let Some(before) = step.checked_sub(1) {
            task.waits.push(CounterWait { counter: Self::ended(before), need: self.parts(before) });
        }
    }

    /// Makes `task` part `part` of a collective, which runs on the first vector core; false after the last part.
    fn exchange(&self, step: u32, rank: u32, part: u64, task: &mut QueuedTask) -> bool {
        let all = |counter| (0..self.shape.ranks).map(move |rank| CounterSignal { rank, counter, amount: 1 });
        match part {
            0 => {
                self.launch(step, 1.0, task);
                task.signals.extend(all(Self::begins(step)));
            }
            1 => {
                let sync = self.less_counters(self.target.launch.rank_sync_us, 2.0);
                let operator = self.steps[step as usize];
                let time = sync + collective(operator, rank, &self.shape, &self.routing, &self.target);
                task.work = Work::Fixed { time };
                task.waits.push(CounterWait { counter: Self::begins(step), need: self.shape.ranks });
                task.signals.extend(all(Self::ended(step)));
            }
            _ => return false,
        }
        true
    }

    /// Makes `task` part `part` of a core in a kernel, which begins with the launch on the first core; false after the last part.
    fn kernel(&self, step: u32, rank: u32, core: u32, part: u64, task: &mut QueuedTask) -> bool {
        let Some(part) = part.checked_sub(u64::from(core == 0)) else {
            self.launch(step, 2.0, task);
            task.signals.push(CounterSignal { rank, counter: Self::begins(step), amount: 1 });
            return true;
        };
        let Some(work) = self.work(step, rank, core, part) else { return false };
        task.work = work;
        task.group = u32::try_from(part).expect("one part an expert");
        task.waits.push(CounterWait { counter: Self::begins(step), need: 1 });
        task.signals.push(CounterSignal { rank, counter: Self::ended(step), amount: 1 });
        true
    }

    /// The share of a core in a step: products expert by expert, vector operators at once.
    fn work(&self, step: u32, rank: u32, core: u32, part: u64) -> Option<Work> {
        let operator = self.steps[step as usize];
        let own = self.shape.experts_per_rank();
        let received = |expert: u32| self.routing.expert_rows(rank * own + expert);
        if let OperatorKind::Product(extents) = operator.kind(&self.shape) {
            let expert = u32::try_from(part).ok().filter(|&expert| expert < own)?;
            let before = (0..expert).map(|expert| extents.base_tiles(received(expert))).sum();
            let tiles = Tiles { before, cores: self.target.cores.aic, core };
            return Some(product(
                &extents,
                received(expert),
                tiles,
                &self.target,
                (Efficiency::Operator, 0.0),
                self.gradients,
            ));
        }
        (part == 0).then(|| {
            let (rows, cores) = ((0..own).map(received).sum::<u32>(), self.target.cores.aiv);
            let share = u64::from((rows + cores - 1 - core) / cores);
            let [read, written] = operator.read_and_written(&self.shape).map(|row| u64::from(row) * share);
            Work::Vector { read, written }
        })
    }
}

impl Workload for Serial {
    fn costs(&self) -> &PolicyCosts {
        &self.costs
    }
    fn ranks(&self) -> u32 {
        self.shape.ranks
    }
    fn cores(&self, kind: CoreKind) -> u32 {
        match kind {
            CoreKind::Aic => self.target.cores.aic,
            CoreKind::Aiv => self.target.cores.aiv,
        }
    }
    fn counters(&self, _rank: u32) -> u32 {
        2 * u32::try_from(self.steps.len()).expect("at most 7 operators")
    }
    fn ops(&self) -> &[Op] {
        &self.ops
    }
    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut QueuedTask) -> bool {
        while let Some(operator) = self.steps.get(cursor.entry as usize) {
            let step = cursor.entry;
            let on = operator.core(&self.shape);
            *task = QueuedTask { op: step, ..QueuedTask::default() };
            let has_part = match operator.kind(&self.shape) {
                _ if kind != on => false,
                OperatorKind::Put => core == 0 && self.exchange(step, rank, cursor.tile, task),
                _ => self.kernel(step, rank, core, cursor.tile, task),
            };
            if has_part {
                cursor.tile += 1;
                return true;
            }
            *cursor = Cursor { entry: step + 1, ..Cursor::default() };
        }
        false
    }
}
