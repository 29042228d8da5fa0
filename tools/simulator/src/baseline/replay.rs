//! The original's program as the simulator runs it.

use super::operator::bytes_per_flop;
use super::product::{Products, Tiles, product};
use super::task::TaskBuilder;
use super::{Listed, Operator, OperatorKind, Original, OriginalTask, OriginalWork, ProductExtent, Queues, rows_of};
use crate::simulate::{
    self, CoreCosts, CoreKind, CounterSignal, CounterWait, Cursor, Efficiency, Op, Policy, PolicyCosts, Routing, Time,
    Workload, Written,
};
use hpmoe_core::target::Target;
use hpmoe_kernels::op::ElementType;

/// The original's tasks, run with the rows of a routing. Tasks beyond these rows are empty, but still signal.
#[derive(Clone, Debug)]
pub struct Replay {
    original: Original,
    routing: Routing,
    listed: Vec<Listed>,
    queues: Vec<Queues>,
    ops: Vec<Op>,
    costs: PolicyCosts,
    /// Bytes that vector cores and puts move per FLOP of a product.
    bytes_per_flop: f64,
    /// How weight gradients are written to memory.
    gradients: Written,
    target: Target,
}

impl Replay {
    /// The original's program with the rows of a routing and the costs of its runtime on a target.
    #[must_use]
    pub fn new(original: Original, routing: Routing, target: &Target) -> Self {
        let mut listed = original.operators();
        let last = Listed { operator: Operator::Terminate, first: original.tasks_per_rank() - 1, tasks: 1 };
        listed.push(last);
        let op = |l: &Listed| Op { name: l.operator.name().to_owned(), line: 0, tiles: true };
        Self {
            original,
            routing,
            queues: (0..original.shape().ranks).map(|rank| original.queues(rank)).collect(),
            ops: listed.iter().map(op).collect(),
            listed,
            costs: costs(target),
            bytes_per_flop: bytes_per_flop(original.shape(), original.direction()),
            gradients: Written::BF16,
            target: target.clone(),
        }
    }

    /// Changes the element type of weight gradients. The default is bf16, as published.
    #[must_use]
    pub const fn with_gradients(mut self, gradients: Written) -> Self {
        self.gradients = gradients;
        self
    }

    /// The operation of task `number`, and the task itself.
    fn task(&self, rank: u32, number: u32) -> (u32, OriginalTask) {
        let op = self.listed.partition_point(|listed| listed.first <= number) - 1;
        let Listed { operator, first, .. } = self.listed[op];
        let (shape, direction) = (*self.original.shape(), self.original.direction());
        let builder = TaskBuilder { shape, direction, counters: self.original.counters(), rank };
        let op = u32::try_from(op).expect("at most 8 operators");
        (op, builder.task(operator, number - first))
    }

    fn work(&self, rank: u32, task: &OriginalTask) -> simulate::Work {
        let shape = self.original.shape();
        let bytes_of = |rows: u32, row: u32| u64::from(rows) * u64::from(row);
        match task.work {
            OriginalWork::Terminate => simulate::Work::Empty,
            OriginalWork::Put { peer, global, tile, .. } => {
                let source = if task.operator == Operator::Dispatch { rank } else { peer };
                match rows_of(tile, self.routing.rows(source, global)) {
                    0 => simulate::Work::Empty,
                    rows => simulate::Work::Put { to: peer, bytes: bytes_of(rows, task.operator.row_bytes(shape)) },
                }
            }
            OriginalWork::Vector { expert, tile } => {
                let received = self.routing.expert_rows(rank * shape.experts_per_rank() + expert);
                match rows_of(tile, received) {
                    0 => simulate::Work::Empty,
                    rows => {
                        let [read, written] = task.operator.read_and_written(shape).map(|row| bytes_of(rows, row));
                        simulate::Work::Vector { read, written }
                    }
                }
            }
            OriginalWork::Product { expert, core } => {
                let OperatorKind::Product(extents) = task.operator.kind(shape) else {
                    unreachable!("the operator is a product")
                };
                let received = self.routing.expert_rows(rank * shape.experts_per_rank() + expert);
                let tiles = Tiles { before: 0, cores: self.original.workers(CoreKind::Aic), core };
                let products = Products {
                    operands: ElementType::bf16,
                    terms: 1,
                    out: if extents.k == ProductExtent::Rows { self.gradients } else { Written::BF16 },
                    efficiency: Efficiency::Fused,
                    bytes_per_flop: self.bytes_per_flop,
                };
                product(&extents, received, tiles, &self.target, products)
            }
        }
    }
}

/// The costs of the original's runtime: every task, even an empty one, reads its descriptor word by word, and waiting cores poll counters.
fn costs(target: &Target) -> PolicyCosts {
    let original = &target.original;
    let every_task = Time::from_ns(target.sync.task_pickup_ns) + Time::from_ns(target.sync.tile_overhead_ns);
    let core_costs = |descriptor_us: f64, poll_us: f64| CoreCosts {
        task: every_task + Time::from_us(descriptor_us),
        empty: every_task + Time::from_us(descriptor_us) + Time::from_us(original.empty_task_us),
        poll: (poll_us > 0.0).then(|| Time::from_us(poll_us)),
        entries_ahead: 0,
    };
    // The vector cores meet, then the ranks: a counter each.
    let handshake = Time::from_ns(2.0 * target.sync.counter_visible_ns + target.link.other_package_ns);
    PolicyCosts {
        policy: Policy::Hyperparallel,
        launch: Time::from_us(target.launch.kernel_us) + handshake,
        aic: core_costs(original.descriptor_aic_us, original.poll_aic_us),
        aiv: core_costs(original.descriptor_aiv_us, original.poll_aiv_us),
        entry: Time::ZERO,
        wait: Time::ZERO,
        signal: Time::ZERO,
        put_start: Time::ZERO,
    }
}

impl Workload for Replay {
    fn costs(&self) -> &PolicyCosts {
        &self.costs
    }
    fn ranks(&self) -> u32 {
        self.original.shape().ranks
    }
    fn cores(&self, kind: CoreKind) -> u32 {
        self.original.workers(kind)
    }
    fn counters(&self, _rank: u32) -> u32 {
        self.original.counters().met().0 + 1
    }
    fn ops(&self) -> &[Op] {
        &self.ops
    }
    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut simulate::QueuedTask) -> bool {
        let queues = &self.queues[rank as usize];
        let queue = match kind {
            CoreKind::Aic => &queues.aic,
            CoreKind::Aiv => &queues.aiv,
        };
        let place = core + cursor.entry * self.cores(kind);
        let Some(&number) = queue.get(place as usize) else { return false };
        cursor.entry += 1;
        let (op, original) = self.task(rank, number);
        let (group, item, column) = match original.work {
            OriginalWork::Put { expert, tile, peer, .. } => (expert, tile, peer),
            OriginalWork::Vector { expert, tile } => (expert, tile, 0),
            OriginalWork::Product { expert, core } => (expert, core, 0),
            OriginalWork::Terminate => (0, 0, 0),
        };
        (task.op, task.group, task.item, task.column) = (op, group, item, column);
        (task.entries, task.awaits_ready, task.shares_next_fence) = (0, None, false);
        task.work = self.work(rank, &original);
        task.waits.clear();
        if original.threshold > 0 {
            task.waits.push(CounterWait { counter: original.waits.0, need: original.threshold });
        }
        task.signals.clear();
        task.signals.push(CounterSignal { rank: original.signals_at, counter: original.signals.0, amount: 1 });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Replay;
    use crate::baseline::{Direction, LayerShape, Original};
    use crate::simulate::{CoreKind, Cursor, QueuedTask, Time, Work, Workload};
    use hpmoe_core::target::Target;

    fn replay(ranks: u32) -> Replay {
        let shape = LayerShape::deepseek_v3(ranks);
        Replay::new(Original::new(shape, Direction::Forward), shape.balanced(), &Target::ascend_a3())
    }

    fn tasks(replay: &Replay, rank: u32, kind: CoreKind) -> Vec<QueuedTask> {
        let mut all = Vec::new();
        for core in 0..replay.cores(kind) {
            let (mut cursor, mut task) = (Cursor::default(), QueuedTask::default());
            while replay.next(rank, kind, core, &mut cursor, &mut task) {
                all.push(task.clone());
            }
        }
        all
    }

    #[test]
    fn most_vector_tasks_are_empty_when_routing_is_balanced() {
        for (ranks, share) in [(4, 0.75), (8, 0.875), (16, 0.9375)] {
            let all = tasks(&replay(ranks), 1, CoreKind::Aiv);
            let empty = all.iter().filter(|task| task.work == Work::Empty).count() - 1;
            assert_eq!(empty as f64 / (all.len() - 1) as f64, share, "of {} besides the last", all.len());
            assert!(tasks(&replay(ranks), 1, CoreKind::Aic).iter().all(|task| task.work != Work::Empty));
        }
    }

    #[test]
    fn a_worker_takes_every_24th_task_and_begins_with_its_own_rank() {
        let replay = replay(8);
        let mut task = QueuedTask::default();
        assert!(replay.next(5, CoreKind::Aiv, 0, &mut Cursor::default(), &mut task));
        assert_eq!(task.work, Work::Put { to: 5, bytes: 128 * 14_336 });
        assert!(replay.next(5, CoreKind::Aiv, 23, &mut Cursor::default(), &mut task));
        assert_eq!((task.work, task.item), (Work::Put { to: 4, bytes: 128 * 14_336 }, 2));
        assert_eq!((task.signals[0].rank, task.signals[0].counter), (4, 1 + 4 * 8));
        assert!(task.waits.is_empty());
    }

    #[test]
    fn polling_can_be_off() {
        let mut target = Target::ascend_a3();
        assert_eq!(super::costs(&target).aiv.poll, Some(Time::from_us(150.0)));
        (target.original.poll_aic_us, target.original.poll_aiv_us) = (0.0, 0.0);
        assert_eq!((super::costs(&target).aic.poll, super::costs(&target).aiv.poll), (None, None));
    }
}
