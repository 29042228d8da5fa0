//! The execution of one operator after another, each on the whole device.

mod fuse;
mod moved;
mod operator;
mod products;
mod published;
#[cfg(test)]
mod tests;

pub(super) use fuse::operators;
pub use operator::{MovedBytes, RowClass, SerialOperator, SerialProduct, SerialWork, Way};

use super::collective::{Exchanged, collective};
use super::extra::tables_after_launch;
use super::product::{Products, Tiles, product};
use super::{Direction, LayerShape};
use crate::simulate::{
    CoreCosts, CoreKind, CounterSignal, CounterWait, Cursor, Efficiency, Op, Policy, PolicyCosts, QueuedTask, Routing,
    Time, Work, Workload, Written,
};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::target::Target;

/// A plain execution: one kernel per operator, and one collective all-to-all per exchange of rows.
///
/// A kernel starts when the previous one has ended on all cores of the rank. A collective starts when the previous kernel has ended on all
/// ranks. Products run at the efficiency of grouped products in separate kernels, which includes the overhead of their tiles.
#[derive(Clone, Debug)]
pub struct Serial {
    operators: Vec<SerialOperator>,
    routing: Routing,
    exchanged: Exchanged,
    ops: Vec<Op>,
    costs: PolicyCosts,
    target: Target,
}

impl Serial {
    /// Makes the serial execution of everything that a kernel's task graph computes, on a routing.
    #[must_use]
    pub fn of_graph(checked: &CheckedGraph, routing: Routing, target: &Target) -> Self {
        Self::new(operators(checked), routing, target)
    }

    /// Makes the serial execution of the layer whose latencies are published, without the kernels before and after the layer, which these
    /// latencies exclude.
    #[must_use]
    pub fn published(shape: LayerShape, direction: Direction, routing: Routing, target: &Target) -> Self {
        Self::new(published::published(&shape, direction), routing, target)
    }

    fn new(operators: Vec<SerialOperator>, routing: Routing, target: &Target) -> Self {
        let none = CoreCosts { task: Time::ZERO, empty: Time::ZERO, poll: None, entries_ahead: 0 };
        let once = |operator: &SerialOperator| {
            use SerialWork::{Collective, Product, Vector};
            let (Product(SerialProduct { rows, .. }) | Vector { rows, .. }) = operator.work else {
                return matches!(operator.work, Collective { way: Way::OutOnce, .. });
            };
            rows == RowClass::SentOnce
        };
        Self {
            exchanged: Exchanged::new(&routing, operators.iter().any(once)),
            routing,
            ops: operators
                .iter()
                .map(|operator| Op { name: operator.name.clone(), line: operator.line, tiles: true })
                .collect(),
            operators,
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
            target: target.clone(),
        }
    }

    /// Changes the element type of weight gradients, which [`published`](Self::published) sets to bf16.
    #[must_use]
    pub fn with_gradients(mut self, gradients: Written) -> Self {
        for operator in &mut self.operators {
            if let SerialWork::Product(product) = &mut operator.work {
                if product.is_gradient() {
                    product.out = gradients;
                }
            }
        }
        self
    }

    /// The operators, in the order in which they run.
    #[must_use]
    pub fn operators(&self) -> &[SerialOperator] {
        &self.operators
    }

    fn operator(&self, step: u32) -> &SerialOperator {
        &self.operators[step as usize]
    }

    /// Number of the counter that a step waits for to begin.
    const fn begins(step: u32) -> u32 {
        2 * step
    }
    /// Number of the counter that is complete when a step has ended.
    const fn ended(step: u32) -> u32 {
        2 * step + 1
    }

    /// Number of signals at the end of a step.
    fn parts(&self, step: u32) -> u32 {
        match &self.operator(step).work {
            SerialWork::Product(product) => self.groups(product) * self.target.cores.aic,
            SerialWork::Vector { .. } => self.target.cores.aiv,
            SerialWork::Collective { .. } | SerialWork::Tables => self.routing.ranks(),
        }
    }

    /// Number of a rank's rows that belong to a class.
    fn rows(&self, class: RowClass, rank: u32) -> u32 {
        let routing = &self.routing;
        match class {
            RowClass::Received => routing.received_rows(rank),
            RowClass::Tokens => routing.tokens(rank),
            RowClass::Sent => (0..routing.experts()).map(|expert| routing.rows(rank, expert)).sum(),
            RowClass::SentOnce => self.exchanged.sent_once(rank),
            RowClass::Matrices => 0,
        }
    }

    /// Number of products of an operator on a rank.
    fn groups(&self, product: &SerialProduct) -> u32 {
        if product.by_expert { self.routing.local_experts() } else { 1 }
    }

    /// A measured time minus the latency of the `seen` counters by which the simulated program adds to it.
    fn less_counters(&self, us: f64, seen: f64) -> Time {
        Time::from_us(us).since(Time::from_ns(self.target.sync.counter_visible_ns * seen))
    }

    /// Makes `task` the launch of step `step`, which waits for the end of the previous step.
    fn launch(&self, step: u32, seen: f64, task: &mut QueuedTask) {
        task.work = Work::Fixed { time: self.less_counters(self.target.launch.kernel_us, seen) };
        if let Some(before) = step.checked_sub(1) {
            task.waits.push(CounterWait { counter: Self::ended(before), need: self.parts(before) });
        }
    }

    /// Makes `task` part `part` of an exchange between ranks, which runs on the first vector core. Returns false if there is no such part.
    fn exchange(&self, step: u32, rank: u32, part: u64, task: &mut QueuedTask) -> bool {
        let ranks = self.routing.ranks();
        let all = |counter| (0..ranks).map(move |rank| CounterSignal { rank, counter, amount: 1 });
        match part {
            0 => {
                self.launch(step, 1.0, task);
                task.signals.extend(all(Self::begins(step)));
            }
            1 => {
                let sync = self.less_counters(self.target.launch.rank_sync_us, 2.0);
                let time = match self.operator(step).work {
                    SerialWork::Collective { way, row } => collective(way, row, rank, &self.exchanged, &self.target),
                    _ => {
                        let rows = self.rows(RowClass::Sent, rank);
                        tables_after_launch(u64::from(rows), &self.target)
                    }
                };
                task.work = Work::Fixed { time: sync + time };
                task.waits.push(CounterWait { counter: Self::begins(step), need: ranks });
                task.signals.extend(all(Self::ended(step)));
            }
            _ => return false,
        }
        true
    }

    /// Makes `task` part `part` of a core's work in a kernel. On the first core, part 0 is the launch. Returns false if there is no such
    /// part.
    fn kernel(&self, step: u32, rank: u32, core: u32, part: u64, task: &mut QueuedTask) -> bool {
        let Some(part) = part.checked_sub(u64::from(core == 0)) else {
            self.launch(step, 2.0, task);
            task.signals.push(CounterSignal { rank, counter: Self::begins(step), amount: 1 });
            return true;
        };
        let Some(work) = self.work(step, rank, core, part) else { return false };
        task.work = work;
        task.group = u32::try_from(part).expect("an expert has one part, and experts are numbered by 32 bits");
        task.waits.push(CounterWait { counter: Self::begins(step), need: 1 });
        task.signals.push(CounterSignal { rank, counter: Self::ended(step), amount: 1 });
        true
    }

    /// A core's share in step `step`: part `part` is one group of a product, or all of a vector operator. `None` if there is no such part.
    fn work(&self, step: u32, rank: u32, core: u32, part: u64) -> Option<Work> {
        let operator = self.operator(step);
        let own = self.routing.local_experts();
        let (work, rows) = match &operator.work {
            SerialWork::Product(one) => {
                let group = u32::try_from(part).ok().filter(|&group| group < self.groups(one))?;
                let rows_of = |group: u32| {
                    if one.by_expert { self.routing.expert_rows(rank * own + group) } else { self.rows(one.rows, rank) }
                };
                let before = (0..group).map(|group| one.extents.base_tiles(rows_of(group))).sum();
                let tiles = Tiles { before, cores: self.target.cores.aic, core };
                let products = Products {
                    operands: one.operands,
                    terms: one.terms,
                    out: one.out,
                    efficiency: Efficiency::Operator,
                    bytes_per_flop: 0.0,
                };
                let total = one.extents.base_tiles(rows_of(group)).max(1);
                let share = f64::from(rows_of(group)) * f64::from(tiles.among(total)) / f64::from(total);
                (product(&one.extents, rows_of(group), tiles, &self.target, products), share)
            }
            SerialWork::Vector { rows, read, written } => {
                if part > 0 {
                    return None;
                }
                let (count, cores) = (self.rows(*rows, rank), self.target.cores.aiv);
                let share = u64::from((count + cores - 1 - core) / cores);
                let [read, written] = [read, written].map(|moved| moved.share(share, own.into(), cores.into()));
                (Work::Vector { read, written }, share as f64)
            }
            SerialWork::Collective { .. } | SerialWork::Tables => return None,
        };
        Some(match operator.declared_for(rows).filter(|_| work != Work::Empty) {
            Some(time) => work.taking(time, &self.target),
            None => work,
        })
    }
}

impl SerialWork {
    /// The kind of core that runs the operator.
    pub(super) const fn core(&self) -> CoreKind {
        match self {
            Self::Product(_) => CoreKind::Aic,
            Self::Vector { .. } | Self::Collective { .. } | Self::Tables => CoreKind::Aiv,
        }
    }
}

impl Workload for Serial {
    fn costs(&self) -> &PolicyCosts {
        &self.costs
    }
    fn ranks(&self) -> u32 {
        self.routing.ranks()
    }
    fn cores(&self, kind: CoreKind) -> u32 {
        match kind {
            CoreKind::Aic => self.target.cores.aic,
            CoreKind::Aiv => self.target.cores.aiv,
        }
    }
    fn counters(&self, _rank: u32) -> u32 {
        2 * u32::try_from(self.operators.len()).expect("a kernel has fewer than 2^32 phases")
    }
    fn ops(&self) -> &[Op] {
        &self.ops
    }
    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut QueuedTask) -> bool {
        while let Some(operator) = self.operators.get(cursor.entry as usize) {
            let step = cursor.entry;
            *task = QueuedTask { op: step, ..QueuedTask::default() };
            let has_part = match operator.work {
                _ if kind != operator.work.core() => false,
                SerialWork::Collective { .. } | SerialWork::Tables => {
                    core == 0 && self.exchange(step, rank, cursor.tile, task)
                }
                SerialWork::Product(_) | SerialWork::Vector { .. } => self.kernel(step, rank, core, cursor.tile, task),
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
