//! Tests with small workloads whose times are worked out by hand, and properties of any workload.

use super::{
    Ahead, CoreCosts, CoreKind, CounterSignal, CounterWait, Cursor, EVENTS_BETWEEN, Halted, Op, Policy, PolicyCosts,
    QueuedTask, Simulated, Time, Work, Workload, Written, bound, simulate, simulate_while,
};
use hpmoe_core::target::Target;
use hpmoe_kernels::op::ElementType;
use proptest::prelude::*;

/// A workload whose queues are lists of tasks: by rank, matrix cores first.
#[derive(Clone, Debug)]
struct Listed {
    aic: u32,
    aiv: u32,
    costs: PolicyCosts,
    ops: Vec<Op>,
    queues: Vec<Vec<Vec<QueuedTask>>>,
}

impl Listed {
    fn new(ranks: usize, aic: u32, aiv: u32) -> Self {
        let free = CoreCosts { task: Time::ZERO, empty: Time::ZERO, poll: None, entries_ahead: 0 };
        Self {
            aic,
            aiv,
            costs: PolicyCosts {
                policy: Policy::Ours,
                launch: Time::ZERO,
                aic: free,
                aiv: free,
                entry: Time::ZERO,
                wait: Time::ZERO,
                signal: Time::ZERO,
                put_start: Time::ZERO,
            },
            ops: vec![Op { name: "op".to_owned(), line: 0, tiles: true }],
            queues: vec![vec![Vec::new(); (aic + aiv) as usize]; ranks],
        }
    }

    fn push(&mut self, (rank, kind, core): (usize, CoreKind, u32), task: QueuedTask) {
        let first = if kind == CoreKind::Aic { 0 } else { self.aic };
        self.queues[rank][(first + core) as usize].push(task);
    }

    fn run(&self, target: &Target) -> Simulated {
        simulate(target, self, true).unwrap()
    }
}

impl Workload for Listed {
    fn costs(&self) -> &PolicyCosts {
        &self.costs
    }
    fn ranks(&self) -> u32 {
        self.queues.len() as u32
    }
    fn cores(&self, kind: CoreKind) -> u32 {
        if kind == CoreKind::Aic { self.aic } else { self.aiv }
    }
    fn counters(&self, _: u32) -> u32 {
        8
    }
    fn ops(&self) -> &[Op] {
        &self.ops
    }
    fn next(&self, rank: u32, kind: CoreKind, core: u32, cursor: &mut Cursor, task: &mut QueuedTask) -> bool {
        let first = if kind == CoreKind::Aic { 0 } else { self.aic };
        let queue = &self.queues[rank as usize][(first + core) as usize];
        let Some(next) = queue.get(cursor.tile as usize) else {
            task.entries = 0;
            return false;
        };
        task.clone_from(next);
        cursor.tile += 1;
        true
    }
}

fn task(work: Work) -> QueuedTask {
    QueuedTask { work, ..QueuedTask::default() }
}

fn put(to: u32, bytes: u64) -> QueuedTask {
    task(Work::Put { to, bytes })
}

fn fixed(us: f64) -> QueuedTask {
    task(Work::Fixed { time: Time::from_us(us) })
}

fn waiting(mut task: QueuedTask, counter: u32, need: u32) -> QueuedTask {
    task.waits.push(CounterWait { counter, need });
    task
}

fn signalling(mut task: QueuedTask, rank: u32, counter: u32) -> QueuedTask {
    task.signals.push(CounterSignal { rank, counter, amount: 1 });
    task
}

const AIC: CoreKind = CoreKind::Aic;
const AIV: CoreKind = CoreKind::Aiv;

#[test]
fn a_put_takes_its_bytes_a_fence_and_the_way_of_its_signal() {
    let target = Target::ascend_a3();
    let mut workload = Listed::new(4, 1, 1);
    workload.push((0, AIV, 0), signalling(put(2, 100_000), 2, 0));
    workload.push((2, AIC, 0), waiting(fixed(1.0), 0, 1));
    // 10 µs at 10 GB/s, 1.9 for the fence, 0.929 to another package, 1 until the counter is seen, 1 of work.
    let run = workload.run(&target);
    assert_eq!(run.time, Time::from_us(14.829));
    assert_eq!(run.traffic[0], [0, 0, 100_000, 0]);
    assert_eq!(run.aic.communication, Time::from_us(13.829));
}

#[test]
fn a_simulation_goes_on_for_as_long_as_it_is_wanted() {
    let target = Target::ascend_a3();
    let mut workload = Listed::new(1, 1, 1);
    let events = 3 * EVENTS_BETWEEN as usize;
    (0..events).for_each(|_| workload.push((0, AIC, 0), fixed(1.0)));
    let whole = workload.run(&target);
    let mut reached = Vec::new();
    let run = simulate_while(&target, &workload, &mut |time| {
        reached.push(time);
        true
    });
    assert_eq!(run.unwrap().time, whole.time);
    assert!(reached.len() >= 3 && reached.is_sorted() && reached.iter().all(|&time| time <= whole.time));
    assert!(reached[2] > reached[1]);
    let mut asked = 0;
    let given_up = simulate_while(&target, &workload, &mut |_| {
        asked += 1;
        asked < 2
    });
    assert_eq!((given_up, asked), (Err(Halted::GivenUp), 2));
    workload.push((0, AIC, 0), waiting(fixed(1.0), 0, 1));
    assert!(matches!(simulate_while(&target, &workload, &mut |_| true), Err(Halted::Stuck(_))));
}

#[test]
fn puts_share_the_end_of_a_link() {
    let target = Target::ascend_a3();
    let mut workload = Listed::new(4, 1, 40);
    for core in 0..40 {
        workload.push((0, AIV, core), put(2, 490_000));
    }
    // 40 puts get 196 / 40 = 4.9 GB/s each.
    assert_eq!(workload.run(&target).time, Time::from_us(101.9));
    // Within the package 270 / 40.
    let mut near = Listed::new(4, 1, 40);
    for core in 0..40 {
        near.push((0, AIV, core), put(1, 675_000));
    }
    assert_eq!(near.run(&target).time, Time::from_us(101.9));
}

/// A product of few rows that takes 16 µs, the time to read its weights. A core can read 59.2 kB of them ahead, which takes 1 µs.
fn reading_ahead() -> QueuedTask {
    let operands = ElementType::bf16;
    let (left_reuse, right_reuse, out) = (1e6, 1.0, Written::BF16);
    let work = Work::Gemm { m: 16, n: 256, k: 1850, operands, products: 1, left_reuse, right_reuse, out };
    QueuedTask { ahead: Ahead { l2: 59_200.0, hbm: 59_200.0, first: 0.5 }, ..task(work) }
}

/// Latency in µs of `product`, which alone takes 16 µs, if it waits for a task of `us` µs.
fn after(target: &Target, us: f64, product: &QueuedTask) -> f64 {
    let mut workload = Listed::new(1, 1, 1);
    workload.push((0, AIV, 0), signalling(fixed(us), 0, 0));
    workload.push((0, AIC, 0), waiting(product.clone(), 0, 1));
    (workload.run(target).time.us() * 1e3).round() / 1e3
}

#[test]
fn weights_are_read_while_a_core_waits() {
    let target = Target::ascend_a3();
    let (ahead, product) = (reading_ahead(), QueuedTask { ahead: Ahead::default(), ..reading_ahead() });
    // A signal is seen after 1 µs.
    assert_eq!(after(&target, 4.0, &product), 21.0);
    assert_eq!(after(&target, 4.0, &ahead), 20.0);
    // The wait is shorter than the time to read ahead.
    let mut workload = Listed::new(1, 1, 1);
    workload.push((0, AIV, 0), signalling(fixed(0.0), 0, 0));
    workload.push((0, AIC, 0), fixed(0.5));
    workload.push((0, AIC, 0), waiting(ahead.clone(), 0, 1));
    assert_eq!((workload.run(&target).time.us() * 10.0).round() / 10.0, 16.5);
    // Without a wait, and without time between tasks, nothing is read before the task begins.
    let mut workload = Listed::new(1, 1, 1);
    workload.push((0, AIC, 0), ahead);
    assert_eq!(workload.run(&target).time.us().round(), 16.0);
}

/// Latency in µs of a single product of 16 µs, if a core needs `task_us` µs between tasks.
fn between(task_us: f64, ahead: Ahead) -> f64 {
    let mut workload = Listed::new(1, 1, 1);
    workload.costs.aic.task = Time::from_us(task_us);
    workload.push((0, AIC, 0), QueuedTask { ahead, ..reading_ahead() });
    (workload.run(&Target::ascend_a3()).time.us() * 1e3).round() / 1e3
}

#[test]
fn weights_are_read_between_tiles_as_far_as_one_stage_holds_them() {
    let ahead = reading_ahead().ahead;
    assert_eq!(between(0.4, Ahead::default()), 16.4);
    // Reading starts at 0.1 µs, when the core has left the task before.
    assert_eq!(between(0.4, ahead), 16.1);
    // For a task that does not wait, only the first half is read ahead, which takes 0.5 µs.
    assert_eq!(between(2.0, ahead), 17.5);
    assert_eq!(between(2.0, Ahead { first: 1.0, ..ahead }), 17.0);
}

#[test]
fn entries_that_lead_to_a_task_are_read_before_the_one_that_it_follows() {
    let run = |entries_ahead: u32, entries: u32| {
        let mut workload = Listed::new(1, 1, 1);
        (workload.costs.aic.entries_ahead, workload.costs.entry) = (entries_ahead, Time::from_us(1.0));
        workload.costs.aic.task = Time::from_us(0.5);
        workload.push((0, AIC, 0), QueuedTask { entries: 1, ..fixed(5.0) });
        workload.push((0, AIC, 0), QueuedTask { entries, ..reading_ahead() });
        workload.push((0, AIC, 0), QueuedTask { entries: 3, ..fixed(5.0) });
        let run = workload.run(&Target::ascend_a3());
        let begun = run.slices.iter().map(|slice| (slice.begun.us() * 10.0).round() / 10.0);
        begun.chain([(run.time.us() * 10.0).round() / 10.0]).collect::<Vec<f64>>()
    };
    // From 0.1 µs after the task before, weights can be read: 0.5 µs of them while the core reads three entries, which takes 3 µs.
    assert_eq!(run(8, 3), [4.5, 13.0, 29.0, 34.0]);
    // If the core reads the entries when it arrives at the task, 0.4 µs are left to read weights.
    assert_eq!(run(0, 3), [1.5, 10.0, 29.1, 34.1]);
    // Eight of ten entries are read early.
    assert_eq!(run(8, 10), [9.5, 20.0, 36.0, 41.0]);
}

#[test]
fn what_is_read_ahead_takes_bandwidth_from_others() {
    let mut target = Target::ascend_a3();
    target.set("memory.hbm_gb_per_s=59.2").unwrap();
    let mut workload = Listed::new(1, 2, 1);
    workload.push((0, AIV, 0), signalling(fixed(9.0), 0, 0));
    workload.push((0, AIC, 0), waiting(reading_ahead(), 0, 1));
    let other = QueuedTask { ahead: Ahead::default(), ..reading_ahead() };
    workload.push((0, AIC, 1), other);
    // HBM is only as fast as one core can read, so the products' bytes take 16 µs each.
    assert_eq!(workload.run(&target).time.us().round(), 32.0);
    let alone = workload.run(&Target::ascend_a3());
    let other = alone.slices.iter().find(|slice| slice.kind == AIC && slice.core == 1).unwrap();
    assert_eq!(other.end.us().round(), 16.0);
    let shared = workload.run(&target);
    let other = shared.slices.iter().find(|slice| slice.kind == AIC && slice.core == 1).unwrap();
    assert!(other.end.us() > 16.9, "{}", other.end);
}

#[test]
fn a_product_takes_what_the_cube_allows_and_weights_what_hbm_allows() {
    let target = Target::ascend_a3();
    let gemm = |reuse: f32| {
        let (left_reuse, right_reuse, out) = (reuse, reuse, Written::BF16);
        task(Work::Gemm {
            m: 128,
            n: 256,
            k: 4096,
            operands: ElementType::bf16,
            products: 1,
            left_reuse,
            right_reuse,
            out,
        })
    };
    let run = |cores: u32, reuse: f32| {
        let mut workload = Listed::new(1, cores, 1);
        (0..cores).for_each(|core| workload.push((0, AIC, core), gemm(reuse)));
        workload.run(&target)
    };
    let cube = 2.0 * 128.0 * 256.0 * 4096.0 / (8192.0 * 1.85e9 * 0.8601) * 1e6;
    assert!((run(1, 32.0).time.us() - cube).abs() < 1e-3);
    assert_eq!(run(24, 32.0).aic.contention, Time::ZERO);
    // 24 times 1 + 2 MiB without reuse, each at 59.2 GB/s: 24 cores read 1,421 GB/s, and write 64 KiB meanwhile.
    let bytes = 3.0 * 1_048_576.0;
    assert!((run(1, 1.0).time.us() - bytes / 59.2e3).abs() < 0.01);
    assert!((run(24, 1.0).time.us() - 24.0 * (bytes + 65_536.0) / 1450e3).abs() < 0.1);
}

#[test]
fn polling_sees_a_counter_at_its_next_look() {
    let target = Target::ascend_a3();
    let mut workload = Listed::new(1, 1, 1);
    workload.costs.aic.poll = Some(Time::from_us(50.0));
    workload.costs.aic.task = Time::from_us(2.0);
    workload.push((0, AIV, 0), signalling(fixed(60.0), 0, 3));
    workload.push((0, AIC, 0), waiting(fixed(1.0), 3, 1));
    // The core reads the counter at 2, 52 and 102 µs.
    assert_eq!(workload.run(&target).time, Time::from_us(103.0));
}

#[test]
fn an_empty_task_waits_signals_and_costs_its_own() {
    let target = Target::ascend_a3();
    let mut workload = Listed::new(1, 1, 1);
    workload.costs.aiv.empty = Time::from_us(1.5);
    workload.costs.launch = Time::from_us(5.0);
    workload.push((0, AIV, 0), signalling(task(Work::Empty), 0, 0));
    workload.push((0, AIC, 0), waiting(fixed(1.0), 0, 1));
    let run = workload.run(&target);
    assert_eq!(run.time, Time::from_us(8.5));
    assert_eq!((run.tasks, run.empty_tasks), (2, 1));
}

#[test]
fn who_waits_for_ever_is_told() {
    let mut workload = Listed::new(2, 1, 1);
    workload.push((1, AIC, 0), waiting(fixed(1.0), 5, 2));
    let stuck = simulate(&Target::ascend_a3(), &workload, false).unwrap_err();
    assert_eq!(
        stuck.to_string(),
        "1 cores wait for ever, among them matrix core 0 of rank 1 in op: counter 5 never reaches 2"
    );
}

#[derive(Clone, Debug)]
struct Draw {
    rank: usize,
    core: u32,
    what: usize,
    size: u32,
    to: u32,
}

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let draw = (0usize..4, 0u32..6, 0usize..4, 1u32..2_000, 0u32..4);
    let draw = draw.prop_map(|(rank, core, what, size, to)| Draw { rank, core, what, size, to });
    prop::collection::vec(draw, 1..60)
}

/// A random workload: each task waits, with some probability, for the previous task in the list. Each counter is used once.
fn random(draws: &[Draw]) -> Listed {
    let mut workload = Listed::new(4, 2, 4);
    let mut used = [0; 4];
    let mut last: Option<(usize, u32)> = None;
    for draw in draws {
        let (kind, core) = if draw.core < 2 { (AIC, draw.core) } else { (AIV, draw.core - 2) };
        let mut next = match (kind, draw.what) {
            (_, 0) => fixed(f64::from(draw.size) / 10.0),
            (AIC, _) => task(Work::Gemm {
                m: 16 + draw.size % 128,
                n: 256,
                k: draw.size,
                operands: ElementType::bf16,
                products: 1,
                left_reuse: 1.0,
                right_reuse: 4.0,
                out: Written::BF16,
            }),
            (AIV, 1) => task(Work::Vector { read: u64::from(draw.size) * 300, written: u64::from(draw.size) * 100 }),
            (AIV, _) => put(draw.to, u64::from(draw.size) * 1_000),
        };
        if let Some((rank, counter)) = last.take_if(|(rank, _)| *rank == draw.rank) {
            let _ = rank;
            next = waiting(next, counter, 1);
        }
        if last.is_none() && used[draw.to as usize] < 8 {
            next = signalling(next, draw.to, used[draw.to as usize]);
            last = Some((draw.to as usize, used[draw.to as usize]));
            used[draw.to as usize] += 1;
        }
        workload.push((draw.rank, kind, core), next);
    }
    workload
}

/// Number of cases of each property: `usual`, unless `PROPTEST_CASES` sets another number.
fn cases(usual: u32) -> ProptestConfig {
    let given = std::env::var_os("PROPTEST_CASES");
    given.map_or_else(|| ProptestConfig::with_cases(usual), |_| ProptestConfig::default())
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn a_run_is_the_same_again_keeps_all_and_is_no_faster_than_its_bound(draws in draws()) {
        let target = Target::ascend_a3();
        let workload = random(&draws);
        let run = workload.run(&target);
        prop_assert_eq!(&run, &workload.run(&target));
        let bound = bound(&target, &workload);
        prop_assert!(bound.time() <= run.time + Time(10), "{:?} of {:?}", bound, run.time);
        // Every task once, with its bytes and operations.
        let all = || workload.queues.iter().enumerate().flat_map(|(rank, cores)| cores.iter().flatten().map(move |t| (rank, t)));
        prop_assert_eq!(run.tasks, all().count() as u64);
        let flops: f64 = all().map(|(_, task)| task.work.flops()).sum();
        prop_assert!((run.flops - flops).abs() <= flops * 1e-9);
        for from in 0..4 {
            for to in 0..4u32 {
                let bytes = all().filter(|(rank, _)| *rank == from).map(|(_, task)| match task.work {
                    Work::Put { to: at, bytes } if at == to => bytes,
                    _ => 0,
                });
                prop_assert_eq!(run.traffic[from][to as usize], bytes.sum::<u64>());
            }
        }
        // The parts add up to the whole of the cores' time.
        prop_assert_eq!(run.aic.total(), run.time * 8);
        let off = run.aiv.total().0.abs_diff((run.time * 16).0);
        prop_assert!(off <= 1_000 * run.tasks, "{off} ps");
    }

    /// Checks that, with one queue on one rank, nothing that gets faster makes anything else later.
    #[test]
    fn a_faster_link_makes_one_queue_no_slower(draws in draws(), faster in 1f64..4.0) {
        let mut target = Target::ascend_a3();
        let mut workload = Listed::new(4, 1, 1);
        for draw in &draws {
            workload.push((0, AIV, 0), put(draw.to, u64::from(draw.size) * 1_000));
        }
        let slow = workload.run(&target).time;
        target.link.other_package_gb_per_s *= faster;
        target.link.put_gb_per_s_per_aiv *= faster;
        prop_assert!(workload.run(&target).time <= slow);
    }
}
