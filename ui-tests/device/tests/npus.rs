//! Launches on NPUs, with the stand-in for CANN: from `Group::on_npus` to the bits of the reference.
//!
//! The environment decides which runtime library is loaded, so each case runs in its own process, which is this program
//! again.

#![deny(unsafe_code)]

#[path = "npus/choosing.rs"]
mod choosing;
#[path = "../../kernels/echo.rs"]
mod echo_file;
#[path = "npus/ends.rs"]
mod ends;
#[path = "../kernels/evolving.rs"]
mod evolving_file;
#[path = "../../kernels/ffn.rs"]
mod ffn_file;
#[path = "npus/kept.rs"]
mod kept;
#[path = "npus/kept_chunks.rs"]
mod kept_chunks;
#[path = "npus/killed.rs"]
mod killed;
#[path = "npus/processes.rs"]
mod processes;
#[path = "npus/shmem.rs"]
mod shmem;
#[path = "npus/shmem_of_program.rs"]
mod shmem_of_program;
#[path = "npus/stamped.rs"]
mod stamped;
#[path = "../kernels/stamped.rs"]
mod stamped_file;

use echo_file::echo;
use evolving_file::evolving;
use ffn_file::ffn;
use hpmoe_runtime::npus::{self, DeviceMemory, Npu};
use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::RowKind;
use hpmoe_runtime::{Argument, FixedLaunch, LaunchError, Pending, RawPart, RawTensor, Report, Streams};
use processes::run_processes;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The case that a process runs.
const CASE: &str = "HPMOE_TEST_CASE";

/// The log of the library's calls.
struct Run {
    log: String,
}

/// Runs a case in its own process, with the stand-in.
fn run(case: &str, variables: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "one_case", "--nocapture"]).env(CASE, case).env("HPMOE_STANDIN_LOG", &log);
    command.env("ASCEND_HOME_PATH", env!("STANDIN")).env_remove("ASCEND_RT_VISIBLE_DEVICES");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{case}: {}\n{said}", output.status);
    let log = std::fs::read_to_string(log).unwrap_or_default();
    // A copy from memory that is not pinned would block the host until the stream has reached it.
    assert!(!log.contains("not pinned"), "{log}");
    Run { log }
}

/// The process's part of [`run`].
#[test]
fn one_case() {
    let Ok(case) = std::env::var(CASE) else { return };
    match case.as_str() {
        "bits" => bits(),
        "stuck" => stuck(),
        "not built" => not_built(),
        "failed" => failed(),
        "refused kernel" => refused_kernel(),
        "together" => together(),
        "pending" => pending(),
        "forgotten" => forgotten(),
        "many pending" => many_pending(),
        "tensors of others" => tensors_of_others(),
        "pending failed" => pending_failed(),
        "kept" => kept::kept(),
        "launching process" => killed::launching_process(),
        "stamped on the host" => stamped::on_the_host(),
        "stamped" => stamped::on_npus(),
        "stamped process" => stamped::process(),
        "kept process" => kept::kept_process(),
        "fixed" => fixed(),
        "fixed process" => fixed_process(),
        "kept chunks" => kept_chunks::kept_chunks(),
        "choosing" => choosing::choosing(),
        "fixed placed" => fixed_placed(),
        "fixed placed process" => fixed_placed_process(),
        "fixed unrouted" => fixed_unrouted(),
        "fixed given up" => fixed_given_up(),
        "pending process" => pending_process(),
        "process" => process(),
        "late process" => late_process(),
        "gone before a launch" => ends::before_a_launch(),
        "gone while it leaves" => ends::while_it_leaves(),
        "stopped process" => ends::stopped(),
        "pending gone process" => pending_gone_process(),
        "failed process" => failed_process(Duration::ZERO),
        "failed and gone process" => failed_process(Duration::from_secs(3)),
        "write to a gone process" => write_to_a_gone_process(),
        "refused process" => refused_process(),
        "refused group process" => shmem::refused_group_process(),
        "room process" => shmem::room_process(),
        "shmem of the program" => shmem_of_program::process(),
        "refused shmem of the program" => shmem_of_program::refused_process(),
        "no room" => refused_launch(
            "aclrtMalloc failed with error 207018 (no room in the memory of the NPU: lower Group::capacity_rows",
        ),
        "cores" => refused_launch(
            "ffn::forward was scheduled for 2 matrix and 4 vector cores, but NPU 0 has 1 and 2: build it with .matrix_cores(1)",
        ),
        refused => {
            let error = Group::new(4).on_npus().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(refused), "{error}");
        }
    }
}

/// A layer with tensors for some ranks.
struct Layer {
    ep: Ranks,
    route: Route,
    x: PerRank<Tensor<bf16, { ffn::HIDDEN }>>,
    weights: PerRank<Tensor<f32, { ffn::TOP_K }>>,
    gate: PerRank<Experts<bf16, { ffn::INTER }, { ffn::HIDDEN }>>,
    up: PerRank<Experts<bf16, { ffn::INTER }, { ffn::HIDDEN }>>,
    down: PerRank<Experts<bf16, { ffn::HIDDEN }, { ffn::INTER }>>,
    y: PerRank<Tensor<bf16, { ffn::HIDDEN }>>,
}

/// Numbers between -1 and 1.
fn number(seed: usize) -> f32 {
    let mixed = (seed as u32).wrapping_mul(2_654_435_761) >> 8;
    mixed as f32 / (1 << 23) as f32 - 1.0
}

fn numbers<T: Element>(count: usize, seed: usize, element: impl Fn(f32) -> T) -> Vec<T> {
    (0..count).map(|at| element(number(at + 7919 * seed))).collect()
}

impl Layer {
    /// With all ranks in this process.
    fn new(ranks: usize) -> Self {
        Self::of(&Group::new(ranks))
    }

    /// With the parts of local ranks.
    fn of(group: &Group) -> Self {
        let (ep, ranks) = (group.ranks(), group.ranks().count());
        // Rank 1 has a single token; no token goes to the last expert.
        let tokens = |rank: Rank| if rank.id() == 1 { 1 } else { 40 + rank.id() };
        let ids = PerRank::from_fn(ep, |rank| {
            let pair = |token: usize| [token % 3, (token + 1 + token % 2) % 3].map(|expert| expert as i32);
            Tensor::<i32, { ffn::TOP_K }>::from_slice(&(0..tokens(rank)).flat_map(pair).collect::<Vec<_>>())
        });
        let experts = ffn::EXPERTS / ranks;
        let to_bf16 = |number: f32| bf16::from_f32(number);
        let matrix = ffn::INTER * ffn::HIDDEN;
        Self {
            ep,
            route: Route::gather(group, ffn::EXPERTS, &ids).unwrap(),
            x: PerRank::from_fn(ep, |r| Tensor::from_slice(&numbers(tokens(r) * ffn::HIDDEN, r.id(), to_bf16))),
            weights: PerRank::from_fn(ep, |r| Tensor::from_slice(&numbers(tokens(r) * ffn::TOP_K, 10 + r.id(), |n| n))),
            gate: PerRank::from_fn(ep, |r| Experts::from_slice(&numbers(experts * matrix, 20 + r.id(), to_bf16))),
            up: PerRank::from_fn(ep, |r| Experts::from_slice(&numbers(experts * matrix, 30 + r.id(), to_bf16))),
            down: PerRank::from_fn(ep, |r| Experts::from_slice(&numbers(experts * matrix, 40 + r.id(), to_bf16))),
            y: PerRank::from_fn(ep, |r| Tensor::zeros(tokens(r))),
        }
    }

    fn launch(&mut self, group: &Group) -> Result<Report, LaunchError> {
        let Self { route, x, weights, gate, up, down, y, .. } = self;
        ffn::forward::launch(group, route, x, weights, gate, up, down, y)
    }

    /// Puts a launch that writes to `y` on the streams.
    fn enqueue<'a>(
        &'a self,
        group: &'a Group,
        streams: Option<&Streams>,
        y: &'a mut PerRank<Tensor<bf16, { ffn::HIDDEN }>>,
    ) -> Result<Pending<'a>, LaunchError> {
        let Self { route, x, weights, gate, up, down, .. } = self;
        ffn::forward::enqueue(group, streams, route, x, weights, gate, up, down, y)
    }

    /// A result that nothing has written.
    fn result(&self) -> PerRank<Tensor<bf16, { ffn::HIDDEN }>> {
        PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.y[rank].row_count()))
    }

    fn reference(&self) -> PerRank<Tensor<bf16, { ffn::HIDDEN }>> {
        let mut y = PerRank::from_fn(self.ep, |rank| Tensor::zeros(self.y[rank].row_count()));
        ffn::forward(self.ep, &self.route, &self.x, &self.weights, &self.gate, &self.up, &self.down, &mut y);
        y
    }
}

/// Several launches in a row on 1, 2 and 4 NPUs, with a late rank.
fn bits() {
    for ranks in [1, 2, 4] {
        let mut layer = Layer::new(ranks);
        let expected = layer.reference();
        let group = Group::new(ranks).repeat(3).delay(ranks - 1, Duration::from_millis(2)).on_npus().unwrap();
        for _ in 0..2 {
            layer.y = PerRank::from_fn(layer.ep, |rank| Tensor::zeros(layer.y[rank].row_count()));
            let report = layer.launch(&group).unwrap();
            assert!(report.on_npus && report.ranks == ranks && report.launches == 3 && report.tasks > 0, "{report}");
            assert!(report.to_string().ends_with("run on NPUs"), "{report}");
            assert!(layer.y.iter().eq(expected.iter()), "{ranks} ranks");
        }
    }
}

/// The group of the test that started this process.
fn joined() -> Group {
    Group::from_launcher().unwrap().expect("a rank of several").time_limit(Duration::from_secs(20)).on_npus().unwrap()
}

/// One rank of several: launches in a row, with the last rank late, give the bits of the reference.
fn process() {
    let group = joined().repeat(2);
    let ranks = group.ranks().count();
    let expected = Layer::new(ranks).reference();
    let rank = group.ranks().only().unwrap();
    let group = group.delay(ranks - 1, Duration::from_millis(2));
    let mut layer = Layer::of(&group);
    for _ in 0..2 {
        layer.y = PerRank::from_fn(layer.ep, |rank| Tensor::zeros(layer.y[rank].row_count()));
        let report = layer.launch(&group).unwrap();
        assert!(report.on_npus && report.ranks == ranks, "{report}");
        assert!(layer.y[rank] == expected[rank], "rank {rank} of {ranks}");
    }
}

/// Several launches are pending, and are waited for in any order, some by being dropped.
#[expect(unsafe_code, reason = "streams of others")]
fn pending() {
    let layer = Layer::new(2);
    let expected = layer.reference();
    let group = Group::new(2).delay(1, Duration::from_millis(2)).on_npus().unwrap();
    let mut results = [layer.result(), layer.result(), layer.result()];
    let [first, second, third] = results.each_mut().map(|y| layer.enqueue(&group, None, y).unwrap());
    let report = second.wait().unwrap();
    assert!(report.on_npus && report.launches == 1 && report.tasks > 0, "{report}");
    drop(first);
    third.wait().unwrap();
    assert!(results.iter().all(|y| y.iter().eq(expected.iter())));
    // A launch between two pending ones.
    let (mut before, mut after) = (layer.result(), layer.result());
    let pending = layer.enqueue(&group, None, &mut before).unwrap();
    layer.enqueue(&group, None, &mut after).unwrap().wait().unwrap();
    assert!(after.iter().eq(expected.iter()));
    pending.wait().unwrap();
    assert!(before.iter().eq(expected.iter()));
    // A launch needs memory of a different size than the pending one uses. Only a launch that can no longer be waited for
    // is still pending here.
    std::mem::forget(layer.enqueue(&group, None, &mut before).unwrap());
    let group = group.capacity_rows(400);
    let mut result = layer.result();
    let error = layer.enqueue(&group, None, &mut result).unwrap_err().to_string();
    assert!(error.starts_with("ffn::forward has a launch that is pending and uses the memory"), "{error}");
    // On the host, the launch ends at once.
    let (host, mut result) = (Group::new(2), layer.result());
    let report = layer.enqueue(&host, None, &mut result).unwrap().wait().unwrap();
    assert!(!report.on_npus && result.iter().eq(expected.iter()));
    // SAFETY: the group has no NPUs, and ignores handles.
    let streams = unsafe { Streams::from_raw(&PerRank::from_fn(layer.ep, |_| std::ptr::null_mut())) };
    let error = layer.enqueue(&host, Some(&streams), &mut result).unwrap_err().to_string();
    assert_eq!(error, "streams of NPUs were passed, but the group runs on the host: pass none, or use Group::on_npus");
    // SAFETY: streams of other ranks are refused.
    let streams = unsafe { Streams::from_raw(&PerRank::from_fn(Ranks::new(1), |_| std::ptr::null_mut())) };
    let group = Group::new(2).on_npus().unwrap();
    let error = layer.enqueue(&group, Some(&streams), &mut result).unwrap_err().to_string();
    assert!(error.starts_with("`streams` holds the parts of "), "{error}");
}

/// Number of launches that are pending together.
const MANY: usize = 7;

/// More launches are pending than there are slots of pinned memory.
fn many_pending() {
    let mut layers: Vec<Layer> = (0..MANY).map(|_| Layer::new(2)).collect();
    for (seed, layer) in layers.iter_mut().enumerate() {
        // The route changes each time, so tables differ from those of the launch that used the slot before.
        let ids = PerRank::from_fn(layer.ep, |rank| {
            let pair = |token: usize| [(token + seed) % 3, 3].map(|expert| expert as i32);
            let tokens = layer.x[rank].row_count();
            Tensor::<i32, { ffn::TOP_K }>::from_slice(&(0..tokens).flat_map(pair).collect::<Vec<_>>())
        });
        layer.route = Route::new(layer.ep, ffn::EXPERTS, &ids).unwrap();
    }
    let group = Group::new(2).on_npus().unwrap();
    let mut results: Vec<_> = layers.iter().map(Layer::result).collect();
    let pending: Vec<_> =
        layers.iter().zip(&mut results).map(|(layer, y)| layer.enqueue(&group, None, y).unwrap()).collect();
    pending.into_iter().for_each(|pending| _ = pending.wait().unwrap());
    for (number, (layer, y)) in layers.iter().zip(&results).enumerate() {
        assert!(y.iter().eq(layer.reference().iter()), "launch {number}");
    }
}

/// If a launch is not waited for, it writes to none of the caller's memory, and its own memory stays until the group is
/// dropped.
fn forgotten() {
    let layer = Layer::new(2);
    let group = Group::new(2).delay(1, Duration::from_millis(20)).on_npus().unwrap();
    let (mut y, mut other) = (layer.result(), layer.result());
    std::mem::forget(layer.enqueue(&group, None, &mut y).unwrap());
    assert!(y.iter().eq(layer.result().iter()));
    layer.enqueue(&group, None, &mut other).unwrap().wait().unwrap();
    assert!(other.iter().eq(layer.reference().iter()) && y.iter().eq(layer.result().iter()));
    std::mem::forget(layer.enqueue(&group, None, &mut other).unwrap());
    drop(group);
}

/// Tensors of a framework are in the memory of its NPUs, and are written by work on its streams.
#[expect(unsafe_code, reason = "memory and streams of others")]
fn tensors_of_others() {
    let layer = Layer::new(2);
    let npus = npus::open(0, 2).unwrap();
    let bytes = |rank: Rank| layer.y[rank].row_count() * ffn::HIDDEN * 2;
    let tensor = |rank: Rank| DeviceMemory::poisoned(&npus[rank.id()], bytes(rank), 0).unwrap();
    let (x, y) = (PerRank::from_fn(layer.ep, tensor), PerRank::from_fn(layer.ep, tensor));
    for rank in layer.ep {
        let bits: Vec<u8> = layer.x[rank].to_vec().iter().flat_map(|x| x.to_bits().to_le_bytes()).collect();
        x[rank].write(0, &bits).unwrap();
    }
    let raw = |memory: &PerRank<DeviceMemory>| {
        let address = |rank: Rank| std::ptr::with_exposed_provenance_mut(memory[rank].address() as usize);
        PerRank::from_fn(layer.ep, |rank| RawPart { address: address(rank), count: layer.y[rank].row_count() })
    };
    let kind =
        |writable| RawTensor { element: ElementType::bf16, columns: ffn::HIDDEN, kind: RowKind::Token, writable };
    let arguments = || {
        // SAFETY: memory of these NPUs, which nothing else uses, and which lives until all launches have ended.
        let (x, y) =
            unsafe { (Argument::on_npus("x", kind(false), &raw(&x)), Argument::on_npus("y", kind(true), &raw(&y))) };
        let Layer { weights, gate, up, down, .. } = &layer;
        let [gate, up, down] = [Argument::read("gate", gate), Argument::read("up", up), Argument::read("down", down)];
        vec![x, Argument::read("weights", weights), gate, up, down, y]
    };
    let kernel = &ffn::forward::KERNEL;
    let host = Group::new(2);
    let error = host.enqueue(kernel, None, &layer.route, arguments()).unwrap_err().to_string();
    assert!(error.starts_with("`x` lies in the memory of NPUs, but the group runs on the host: use Group::on_npus"));
    let group = Group::new(2).on_npus().unwrap();
    // SAFETY: streams of these NPUs, which live longer than the group.
    let streams = unsafe { Streams::from_raw(&PerRank::from_fn(layer.ep, |rank| npus[rank.id()].stream())) };
    let pending = group.enqueue(kernel, Some(&streams), &layer.route, arguments()).unwrap();
    // Work that is now on the streams runs after the launch.
    npus.iter().for_each(|npu| npu.wait(Duration::from_secs(20)).unwrap());
    let expected = layer.reference();
    for rank in layer.ep {
        let mut bits = vec![0; bytes(rank)];
        y[rank].read(0, &mut bits).unwrap();
        assert!(bits.iter().copied().eq(expected[rank].to_vec().iter().flat_map(|y| y.to_bits().to_le_bytes())));
    }
    pending.wait().unwrap();
}

/// Tensors of a group's ranks in the memory of their NPUs.
struct Evolving {
    ep: Ranks,
    npus: PerRank<Npu>,
    /// Two tensors; each is the next input after the other.
    x: [PerRank<DeviceMemory>; 2],
    weights: PerRank<DeviceMemory>,
    w: PerRank<DeviceMemory>,
}

impl Evolving {
    const TOKENS: [usize; 4] = [20, 7, 0, 1];

    /// With all ranks in this process.
    fn new(ranks: usize) -> Self {
        let mut npus = npus::open(0, ranks).unwrap().into_iter();
        let ep = Ranks::new(ranks);
        Self::on(ep, PerRank::from_fn(ep, |_| npus.next().unwrap()))
    }

    /// With the only rank of this process.
    fn of(group: &Group) -> Self {
        let number = |rank: Rank| npus::local_rank(rank.id()).unwrap();
        Self::on(group.ranks(), PerRank::from_fn(group.ranks(), |rank| npus::open_one(number(rank)).unwrap()))
    }

    fn on(ep: Ranks, npus: PerRank<Npu>) -> Self {
        let ranks = ep.count();
        let memory = |bytes: &dyn Fn(Rank) -> Vec<u8>| {
            PerRank::from_fn(ep, |rank| {
                let bytes = bytes(rank);
                let memory = DeviceMemory::poisoned(&npus[rank], bytes.len().max(1), 0).unwrap();
                memory.write(0, &bytes).unwrap();
                memory
            })
        };
        let x = [memory(&|r| Self::bits(&Self::x(r))), memory(&|r| Self::bits(&Self::x(r)))];
        let weights = memory(&|r| Self::weights(r).iter().flat_map(|w| w.to_le_bytes()).collect());
        let w = memory(&|r| Self::bits(&Self::w(r, ranks)));
        Self { ep, x, weights, w, npus }
    }

    fn bits(values: &[bf16]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn x(rank: Rank) -> Vec<bf16> {
        numbers(Self::TOKENS[rank.id()] * evolving::HIDDEN, rank.id(), bf16::from_f32)
    }

    fn weights(rank: Rank) -> Vec<f32> {
        numbers(Self::TOKENS[rank.id()] * evolving::TOP_K, 10 + rank.id(), |number| number)
    }

    fn w(rank: Rank, ranks: usize) -> Vec<bf16> {
        let count = evolving::EXPERTS / ranks * evolving::HIDDEN * evolving::HIDDEN;
        numbers(count, 20 + rank.id(), bf16::from_f32)
    }

    /// The tensors of a launch that reads one tensor of `x` and writes the other.
    #[expect(unsafe_code, reason = "memory of others")]
    fn arguments(&self, read: usize) -> Vec<Argument<'_>> {
        let part = |memory: &PerRank<DeviceMemory>, count: &dyn Fn(Rank) -> usize| {
            let address = |rank: Rank| std::ptr::with_exposed_provenance_mut(memory[rank].address() as usize);
            PerRank::from_fn(self.ep, |rank| RawPart { address: address(rank), count: count(rank) })
        };
        let (tokens, experts) = (|r: Rank| Self::TOKENS[r.id()], |_: Rank| evolving::EXPERTS / self.ep.count());
        let element = ElementType::bf16;
        let x = RawTensor { element, columns: evolving::HIDDEN, kind: RowKind::Token, writable: false };
        let y = RawTensor { writable: true, ..x };
        let weights = RawTensor { element: ElementType::f32, columns: evolving::TOP_K, ..x };
        let w = RawTensor { kind: RowKind::Expert(evolving::HIDDEN as u32), ..x };
        // SAFETY: memory of these NPUs, which nothing else uses while launches run, and which lives until all of them have ended.
        unsafe {
            vec![
                Argument::on_npus("x", x, &part(&self.x[read], &tokens)),
                Argument::on_npus("weights", weights, &part(&self.weights, &tokens)),
                Argument::on_npus("w", w, &part(&self.w, &experts)),
                Argument::on_npus("y", y, &part(&self.x[1 - read], &tokens)),
            ]
        }
    }

    /// The tokens of local ranks.
    fn found(&self, which: usize) -> Vec<Vec<u8>> {
        let bytes = |rank: Rank| {
            let mut bytes = vec![0; Self::TOKENS[rank.id()] * evolving::HIDDEN * 2];
            self.x[which][rank].read(0, &mut bytes).unwrap();
            bytes
        };
        PerRank::from_fn(self.ep, bytes).iter().cloned().collect()
    }

    /// The tokens after this many launches of the reference, and the number of different routes.
    fn reference(&self, launches: usize) -> (Vec<Vec<u8>>, usize) {
        let ranks = self.ep.count();
        let ep = Ranks::new(ranks);
        let weights = PerRank::from_fn(ep, |r| Tensor::from_vec(Self::weights(r)));
        let w = PerRank::from_fn(ep, |r| Experts::from_vec(Self::w(r, ranks)));
        let mut x = PerRank::from_fn(ep, |r| Tensor::from_vec(Self::x(r)));
        let mut routes = std::collections::BTreeSet::new();
        for _ in 0..launches {
            let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(x[r].row_count()));
            evolving::forward(ep, &x, &weights, &w, &mut y);
            let high = |x: bf16| x.to_f32() > evolving::LEAST;
            let token = |x: &[bf16]| x[..evolving::EXPERTS].iter().map(|x| high(*x)).collect::<Vec<_>>();
            routes.insert(
                x.iter().map(|x| x.to_vec().chunks(evolving::HIDDEN).map(token).collect()).collect::<Vec<Vec<_>>>(),
            );
            x = y;
        }
        (PerRank::from_fn(self.ep, |rank| Self::bits(&x[rank].to_vec())).iter().cloned().collect(), routes.len())
    }
}

/// Numbers of ranks, and the number of launches of each of two argument blocks.
const FIXED: [(usize, usize); 3] = [(1, 30), (2, 50), (4, 100)];

/// Two argument blocks are launched alternately on 1, 2 and 4 NPUs, with the last NPU late. Each launch reads the
/// tokens that the previous one wrote, and makes its own route.
fn fixed() {
    for (ranks, launches) in FIXED {
        let evolving = Evolving::new(ranks);
        let group = Group::new(ranks).delay(ranks - 1, Duration::from_micros(500)).on_npus().unwrap();
        let kernel = &evolving::forward::KERNEL;
        let mut blocks = [0, 1].map(|read| group.fix(kernel, None, &evolving.arguments(read)).unwrap());
        for _ in 0..launches {
            for (read, block) in blocks.iter_mut().enumerate() {
                block.enqueue(None, &evolving.arguments(read)).unwrap();
            }
        }
        let report = blocks[1].wait().unwrap().unwrap();
        assert!(report.on_npus && report.ranks == ranks && report.launches == 1 && report.tasks > 0, "{report}");
        let (expected, routes) = evolving.reference(2 * launches);
        assert!(evolving.found(0) == expected, "{ranks} ranks");
        assert!(routes > launches, "{routes} routes");
        blocks[0].wait().unwrap().unwrap();
        assert!(blocks[0].wait().unwrap().is_none());
        // Another launch of the kernel, with its own memory for tables, between two launches of a block.
        let before = evolving.found(0);
        let other = Evolving::new(ranks);
        group.enqueue_routed(kernel, None, other.arguments(0)).unwrap().wait().unwrap();
        assert!(other.found(1) == other.reference(1).0 && evolving.found(0) == before);
        blocks[0].launch(&evolving.arguments(0)).unwrap();
        assert!(evolving.found(1) == evolving.reference(2 * launches + 1).0, "{ranks} ranks");
        // The block was made for other tensors.
        let error = blocks[0].launch(&evolving.arguments(1)).unwrap_err().to_string();
        assert!(
            error.starts_with("`x` has a different address or number of rows than when the launch was fixed: "),
            "{error}"
        );
        let x = PerRank::from_fn(evolving.ep, |_| Tensor::<bf16, { evolving::HIDDEN }>::zeros(1));
        let error = group.fix(kernel, None, &[Argument::read("x", &x)]).unwrap_err().to_string();
        assert!(
            error.starts_with("`x` lies in this machine's memory, but a fixed launch on NPUs copies nothing"),
            "{error}"
        );
        drop(blocks);
        assert!(!group.is_broken() && evolving.npus.iter().count() == ranks);
    }
}

/// Groups whose blocks get another placement before each launch, and the number of launches of each.
const PLACED: [(usize, usize); 2] = [(2, 50), (4, 20)];

fn fixed_placed() {
    for (ranks, launches) in PLACED {
        let group = Group::new(ranks).on_npus().unwrap();
        let evolving = Evolving::of(&group);
        drop(placed_launches(&group.placed(&rotated(ranks, 0)).unwrap(), &evolving, launches));
        // A block that was made without a placement has no room for one.
        let mut plain = group.fix(&evolving::forward::KERNEL, None, &evolving.arguments(0)).unwrap();
        assert!(matches!(plain.place(&rotated(ranks, 1)), Err(LaunchError::Unplaced { .. })));
    }
}

/// Like the test above, with ranks that are processes. At the end, their placements differ, and all ranks report it.
fn fixed_placed_process() {
    let group = joined();
    let evolving = Evolving::of(&group);
    let ranks = group.ranks().count();
    let placed = group.placed(&rotated(ranks, 0)).unwrap();
    let mut blocks = placed_launches(&placed, &evolving, 21);
    let Some(me) = group.ranks().only() else { panic!("one rank of several") };
    let before = evolving.found(0);
    blocks[1].place(&rotated(ranks, me.id())).unwrap();
    let error = blocks[1].launch(&evolving.arguments(1)).unwrap_err();
    assert!(matches!(error, LaunchError::Route(RouteError::PlacedApart { .. })), "{error}");
    assert!(evolving.found(0) == before && !group.is_broken());
    let error = group
        .placed(&rotated(ranks, me.id()))
        .and_then(|placed| placed.enqueue_routed(&evolving::forward::KERNEL, None, evolving.arguments(1))?.wait());
    let error = error.unwrap_err();
    assert!(matches!(error, LaunchError::Route(RouteError::PlacedApart { .. })), "{error}");
}

/// A different order of experts for each number.
fn rotated(ranks: usize, number: usize) -> Placement {
    let place = |place: usize| Some((place * [1, 3, 5, 7][number % 4] + number) % evolving::EXPERTS);
    let places: Vec<_> = (0..evolving::EXPERTS).map(place).collect();
    Placement::new(Ranks::new(ranks), evolving::EXPERTS, &places).unwrap()
}

/// Numbers of an expert's matrix.
const MATRIX: usize = evolving::HIDDEN * evolving::HIDDEN;

/// Experts move before each launch: the caller moves their matrices, and sets the placement in both argument blocks.
fn placed_launches<'a>(placed: &'a Group, evolving: &'a Evolving, launches: usize) -> [FixedLaunch<'a>; 2] {
    let (kernel, ranks) = (&evolving::forward::KERNEL, placed.ranks().count());
    let matrices: Vec<Vec<bf16>> = (0..ranks)
        .flat_map(|rank| Evolving::w(Rank::new(rank), ranks).chunks(MATRIX).map(<[bf16]>::to_vec).collect::<Vec<_>>())
        .collect();
    let mut blocks = [0, 1].map(|read| placed.fix(kernel, None, &evolving.arguments(read)).unwrap());
    for launch in 0..launches {
        let placement = rotated(ranks, launch);
        for rank in placed.ranks().here() {
            let local = evolving::EXPERTS / ranks;
            let held = (0..local).map(|place| placement.expert(rank.id() * local + place).unwrap().id());
            let of_rank: Vec<bf16> = held.flat_map(|expert| matrices[expert].clone()).collect();
            evolving.w[rank].write(0, &Evolving::bits(&of_rank)).unwrap();
        }
        let block = &mut blocks[launch % 2];
        block.place(&placement).unwrap();
        block.enqueue(None, &evolving.arguments(launch % 2)).unwrap();
        assert!(matches!(block.place(&placement), Err(LaunchError::Pending { .. })));
        block.wait().unwrap().unwrap();
    }
    assert!(evolving.found(launches % 2) == evolving.reference(launches).0, "{ranks} ranks");
    let more = Placement::even(evolving.ep, evolving::EXPERTS, 1).unwrap();
    let error = blocks[0].place(&more).unwrap_err();
    assert!(matches!(error, LaunchError::Places { placed, built, .. } if placed == built + 1), "{error}");
    blocks
}

/// Ranks that are processes replay their blocks, each by itself.
fn fixed_process() {
    let group = joined();
    let ranks = group.ranks().count();
    let group = group.delay(ranks - 1, Duration::from_micros(500));
    let evolving = Evolving::of(&group);
    let mut blocks = [0, 1].map(|read| group.fix(&evolving::forward::KERNEL, None, &evolving.arguments(read)).unwrap());
    for _ in 0..2 {
        for _ in 0..10 {
            for (read, block) in blocks.iter_mut().enumerate() {
                block.enqueue(None, &evolving.arguments(read)).unwrap();
            }
        }
        blocks.iter_mut().for_each(|block| _ = block.wait().unwrap().unwrap());
    }
    assert!(evolving.found(0) == evolving.reference(40).0);
}

/// A launch without room for its rows writes nothing, and later ones run. Waiting for the last one reports how many
/// failed.
#[expect(unsafe_code, reason = "streams of others")]
fn fixed_unrouted() {
    let evolving = Evolving::new(2);
    let group = Group::new(2).capacity_rows(3).on_npus().unwrap();
    // SAFETY: streams of these NPUs, which live longer than the group.
    let streams = unsafe { Streams::from_raw(&PerRank::from_fn(evolving.ep, |rank| evolving.npus[rank].stream())) };
    let mut block = group.fix(&evolving::forward::KERNEL, None, &evolving.arguments(0)).unwrap();
    let before = evolving.found(1);
    let no_room = |error: LaunchError| matches!(error, LaunchError::Capacity { capacity: 3, .. });
    assert!(no_room(block.launch(&evolving.arguments(0)).unwrap_err()));
    for _ in 0..2 {
        block.enqueue(Some(&streams), &evolving.arguments(0)).unwrap();
    }
    evolving.npus.iter().for_each(|npu| npu.wait(Duration::from_secs(20)).unwrap());
    assert!(evolving.found(1) == before);
    // Tokens that go to no expert.
    for rank in evolving.ep {
        evolving.x[0][rank].write(0, &vec![0; evolving.found(0)[rank.id()].len()]).unwrap();
    }
    block.enqueue(None, &evolving.arguments(0)).unwrap();
    let error = block.wait().unwrap_err();
    assert!(matches!(error, LaunchError::Unrouted { launches: 2, .. }), "{error}");
    assert!(evolving.found(1).iter().flatten().all(|byte| byte & 0x7f == 0));
    block.launch(&evolving.arguments(0)).unwrap();
    assert!(!group.is_broken());
}

/// After a launch was given up, later launches of its block touch nothing, and the report is that of the launch that
/// was given up. The group stays broken.
fn fixed_given_up() {
    let evolving = Evolving::new(2);
    let group = Group::new(2).time_limit(Duration::from_nanos(40)).on_npus().unwrap();
    let mut block = group.fix(&evolving::forward::KERNEL, None, &evolving.arguments(0)).unwrap();
    for _ in 0..5 {
        block.enqueue(None, &evolving.arguments(0)).unwrap();
    }
    let error = block.wait().unwrap_err();
    assert!(
        matches!(&error, LaunchError::Stuck(report) if report.to_string().contains("gave up waiting for ")),
        "{error}"
    );
    assert!(evolving.found(1) == Evolving::new(2).found(1));
    assert!(matches!(block.enqueue(None, &evolving.arguments(0)), Err(LaunchError::Broken)) && group.is_broken());
    // A block that was launched only after that one has nothing to report.
    let group = Group::new(2).time_limit(Duration::from_nanos(40)).on_npus().unwrap();
    let mut blocks = [0, 1].map(|read| group.fix(&evolving::forward::KERNEL, None, &evolving.arguments(read)).unwrap());
    for read in [0, 1, 1] {
        blocks[read].enqueue(None, &evolving.arguments(read)).unwrap();
    }
    let error = blocks[1].wait().unwrap_err();
    assert!(
        matches!(&error, LaunchError::Stuck(report) if !report.to_string().contains("gave up waiting for ")),
        "{error}"
    );
}

/// The kernel of rank 1 fails with an exception while two launches are pending: the first wait returns the error, and
/// the second one says that the group is broken.
fn pending_failed() {
    let layer = Layer::new(2);
    let group = Group::new(2).time_limit(Duration::from_millis(300)).on_npus().unwrap();
    let (mut y, mut other) = (layer.result(), layer.result());
    let first = layer.enqueue(&group, None, &mut y).unwrap();
    let second = layer.enqueue(&group, None, &mut other).unwrap();
    let error = first.wait().unwrap_err();
    assert!(matches!(error, LaunchError::NpuLaunch { rank: 1, .. }), "{error}");
    assert!(matches!(second.wait(), Err(LaunchError::Broken)) && group.is_broken());
    assert!(y.iter().chain(other.iter()).eq(layer.result().iter().chain(layer.result().iter())));
}

/// Ranks that are processes have pending launches, too.
fn pending_process() {
    let group = joined();
    let layer = Layer::of(&group);
    let expected = Layer::new(group.ranks().count()).reference();
    let rank = group.ranks().only().unwrap();
    let (mut y, mut other) = (layer.result(), layer.result());
    let first = layer.enqueue(&group, None, &mut y).unwrap();
    let second = layer.enqueue(&group, None, &mut other).unwrap();
    first.wait().unwrap();
    second.wait().unwrap();
    assert!(y[rank] == expected[rank] && other[rank] == expected[rank]);
    // Waits in another order on another rank are detected.
    let first = layer.enqueue(&group, None, &mut y).unwrap();
    let second = layer.enqueue(&group, None, &mut other).unwrap();
    let waited = if rank.id() == 0 { first } else { second };
    let error = waited.wait().unwrap_err();
    assert!(matches!(error, LaunchError::Disagreement { subject: "the launch that they wait for", .. }), "{error}");
}

/// A layer that was launched once, half a second before the process of rank 1 ends.
fn without_rank_1_soon(group: &Group) -> Layer {
    let mut layer = Layer::of(group);
    layer.launch(group).unwrap();
    if group.ranks().only().unwrap().id() == 1 {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            std::process::exit(0);
        });
    }
    layer
}

/// Rank 1 ends while the kernels of the others wait for it. Long before the time limit, they report the rank that is
/// gone, and the state of their cores.
fn late_process() {
    // Rank 1 never puts its kernel on the stream.
    let group = joined().delay(1, Duration::from_secs(1));
    let mut layer = without_rank_1_soon(&group);
    let started = Instant::now();
    let error = layer.launch(&group).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LaunchError::Lost { .. }) && text.contains("rank 1"), "{text}");
    assert!(text.contains("waited for"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

/// Rank 1 ends while launches of the others are pending and nobody waits for them. A later wait reports the missing
/// rank at once, and a second pending launch ends, too.
fn pending_gone_process() {
    let group = joined().delay(1, Duration::from_secs(1));
    let mut layer = without_rank_1_soon(&group);
    let mut y = layer.result();
    let pending = layer.enqueue(&group, None, &mut y).unwrap();
    // Its NPU waits for the missing rank, longer than the others need to notice.
    std::thread::sleep(Duration::from_secs(2));
    let started = Instant::now();
    let error = pending.wait().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LaunchError::Lost { .. }) && text.contains("rank 1"), "{text}");
    assert!(text.contains("waited for"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(matches!(layer.launch(&group), Err(LaunchError::Broken)));
}

/// Rank 1 ends before the kernel of rank 0 has started, and nobody waits. The kernel's writes to the memory of rank 1
/// stop the NPU, and the error names the rank that is gone.
fn write_to_a_gone_process() {
    let group = joined();
    let layer = without_rank_1_soon(&group);
    let mut y = layer.result();
    let pending = layer.enqueue(&group, None, &mut y).unwrap();
    // Its kernel starts so late that rank 1 is gone by then, even on a busy machine.
    std::thread::sleep(Duration::from_millis(3500));
    let error = pending.wait().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, LaunchError::Lost { npu: Some(_), .. }) && text.starts_with("rank 1 is gone: "), "{text}");
    assert!(text.contains("aclrtSynchronizeStreamWithTimeout failed with error 507057 (a link between NPUs"), "{text}");
    assert!(text.contains("it wrote to the memory of a process that has ended"), "{text}");
}

/// The NPU of rank 1 fails: all ranks report the error, even if that process has ended before the late kernel of rank 0
/// writes to its memory.
fn failed_process(late: Duration) {
    let group = joined().time_limit(Duration::from_millis(500)).delay(0, late);
    let rank = group.ranks().only().unwrap().id();
    let error = Layer::of(&group).launch(&group).unwrap_err();
    assert_eq!(matches!(error, LaunchError::NpuLaunch { rank: 1, .. }), rank == 1, "{error}");
    assert!(
        error.to_string().contains("rank 1: aclrtSynchronizeStreamWithTimeout failed with error 507015"),
        "{error}"
    );
}

/// With a time limit of zero, the kernel gives up, each core's state is reported, and the group can't be used again.
fn stuck() {
    let mut layer = Layer::new(2);
    let group = Group::new(2).time_limit(Duration::from_nanos(40)).on_npus().unwrap();
    let error = layer.launch(&group).unwrap_err();
    assert!(
        matches!(&error, LaunchError::Stuck(report) if report.to_string().contains("gave up waiting for ")),
        "{error}"
    );
    assert!(matches!(layer.launch(&group), Err(LaunchError::Broken)));
}

/// Two groups on the same two NPUs, whose cores suffice for one kernel: both NPUs run the launches in the same order.
fn together() {
    let launches = || {
        let group = Group::new(2).repeat(3).time_limit(Duration::from_secs(10)).on_npus().unwrap();
        let mut layer = Layer::of(&group);
        let expected = layer.reference();
        for _ in 0..4 {
            layer.launch(&group).unwrap();
            assert!(layer.y.iter().eq(expected.iter()));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(launches);
        scope.spawn(launches);
    });
}

/// A launch that fails before anything starts.
fn refused_launch(said: &str) {
    let group = Group::new(2).on_npus().unwrap();
    for _ in 0..2 {
        let error = Layer::new(2).launch(&group).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

/// The library reports a different kernel than the one that it was given.
fn refused_kernel() {
    let error = Layer::new(2).launch(&Group::new(2).on_npus().unwrap()).unwrap_err().to_string();
    assert!(error.starts_with(&std::env::var(SAID).unwrap()), "{error}");
}

/// The error of a refused launch on each rank that has one.
const SAID: &str = "HPMOE_TEST_SAID";

/// The memory of these NPUs can't be shared: all ranks report it before anything starts.
fn refused_process() {
    let group = joined();
    let error = Layer::of(&group).launch(&group).unwrap_err().to_string();
    let said = std::env::var(SAID).unwrap();
    assert!(error.contains(&said), "{error}");
}

/// The kernel of rank 1 fails: its peer gives up, and the error contains both reasons.
fn failed() {
    let group = Group::new(2).time_limit(Duration::from_millis(300)).on_npus().unwrap();
    let error = Layer::new(2).launch(&group).unwrap_err();
    assert!(matches!(error, LaunchError::NpuLaunch { rank: 1, .. }), "{error}");
    let text = error.to_string();
    let start = format!("rank 1: aclrtSynchronizeStreamWithTimeout failed with error {}", std::env::var(SAID).unwrap());
    assert!(text.starts_with(&start) && text.contains("; CANN says: "), "{text}");
    assert!(text.contains("rank 0 A") && text.contains("gave up waiting for "), "{text}");
    assert!(matches!(Layer::new(2).launch(&group), Err(LaunchError::Broken)));
}

/// A kernel without a device object is refused, and the group stays usable.
fn not_built() {
    let mut layer = Layer::new(2);
    let group = Group::new(2).on_npus().unwrap();
    let ids = PerRank::from_fn(layer.ep, |_| Tensor::<i32, 2>::from_slice(&[0, 1]));
    let route = Route::new(layer.ep, echo::EXPERTS, &ids).unwrap();
    let x = PerRank::from_fn(layer.ep, |_| Tensor::zeros(1));
    let weights = PerRank::from_fn(layer.ep, |_| Tensor::zeros(1));
    let mut y = PerRank::from_fn(layer.ep, |_| Tensor::zeros(1));
    let error = echo::forward::launch(&group, &route, &x, &weights, &mut y).unwrap_err().to_string();
    assert_eq!(error, "echo::forward was compiled for this machine's CPU only: build with HPMOE_DEVICE=cann");
    layer.launch(&group).unwrap();
}

#[test]
fn launches_on_npus_give_the_bits_of_the_reference() {
    let Run { log } = run("bits", &[]);
    let calls = |call: &str| log.lines().filter(|line| line.starts_with(call)).count();
    // Two rows of three launches on each of 1, 2 and 4 NPUs.
    assert_eq!(calls("aclrtLaunchKernelWithHostArgs "), 6 * 7);
    assert_eq!(calls("kernel "), 6 * 7);
    // Each launch on an NPU, except the first, waits for the previous one.
    // Two events follow each launch: one for the next launch, and one for the slot of its argument block.
    assert_eq!((calls("aclrtRecordEvent "), calls("aclrtStreamWaitEvent ")), (2 * 6 * 7, 6 * 7 - 4));
    // A group loads a kernel once per NPU. Its second row of launches reuses the memory of the first: heap and
    // workspace, tables of three launches, and tensors.
    assert_eq!((calls("aclrtBinaryLoadFromData "), calls("aclrtMalloc ")), (7, 7 * 6));
    // All memory was freed, and nothing failed.
    for (taken, given) in [
        ("aclrtMalloc ", "aclrtFree "),
        ("aclrtMallocHost ", "aclrtFreeHost "),
        ("aclrtCreateStream ", "aclrtDestroyStream "),
        ("aclrtBinaryLoadFromData ", "aclrtBinaryUnLoad "),
    ] {
        assert!(calls(taken) > 0 && calls(taken) == calls(given), "{taken}: {} and {}", calls(taken), calls(given));
    }
    // All cores run at the same time, for at most twice the time limit of a wait plus a minute.
    assert_eq!(log.lines().filter(|line| line.contains(": 0 2 blocks at once, 180 s, ")).count(), 6 * 7);
    let failed: Vec<&str> =
        log.lines().filter(|line| !line.contains(": 0") && !line.starts_with("aclrtGetDevice ")).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn processes_with_an_npu_each_give_the_bits_of_the_reference() {
    run_processes("process", 2, &[]);
    run_processes("process", 4, &[]);
}

#[test]
fn a_process_that_ends_or_whose_npu_fails_is_told_on_all_ranks() {
    run_processes("late process", 4, &[]);
    run_processes("pending gone process", 4, &[]);
    run_processes("failed process", 2, &[("HPMOE_STANDIN_FAULT", "1:507015")]);
    run_processes("failed and gone process", 2, &[("HPMOE_STANDIN_FAULT", "1:507015")]);
    run_processes("write to a gone process", 2, &[("HPMOE_STANDIN_DELAY", "2500")]);
}

#[test]
fn processes_whose_npus_cannot_share_memory_are_told_what_to_do() {
    let refused = |variables: &[(&str, &str)], said: &str| {
        run_processes("refused process", 2, &[variables, &[(SAID, said)]].concat());
    };
    let a2 = "the NPU is `Ascend910B2`, whose memory processes can't share: fabric handles exist only on Ascend910_93 (A3), so run all ranks in one process";
    refused(&[("HPMOE_STANDIN_SOC", "Ascend910B2")], a2);
    let part = "NPU 0 is part of a physical NPU (a virtual instance), whose memory processes can't share: give each rank a whole NPU, or run all";
    refused(&[("HPMOE_STANDIN_VIRTUAL", "1"), ("ASCEND_RT_VISIBLE_DEVICES", "4")], part);
    let pods = "kernels can't write to other superpods, so start all ranks in one superpod";
    refused(&[("HPMOE_STANDIN_PODS", "1,2")], pods);
    let export = "the memory of NPU 0 got no fabric handle (aclrtMemExportToShareableHandleV2 failed with error 507899; CANN says: ";
    refused(&[("HPMOE_STANDIN_REFUSE", "export"), ("ASCEND_RT_VISIBLE_DEVICES", "4")], export);
    let import = "can't map the memory of rank ";
    refused(&[("HPMOE_STANDIN_REFUSE", "import")], import);
}

#[test]
fn a_kernel_that_gives_up_is_told_core_by_core() {
    run("stuck", &[]);
}

#[test]
fn two_groups_share_npus() {
    run("together", &[("HPMOE_STANDIN_CORES", "2")]);
}

#[test]
fn launches_can_be_pending() {
    run("pending", &[]);
    run("tensors of others", &[]);
    // Each NPU has four slots for argument blocks, so the fifth launch waits for the first, whose kernel takes longer
    // than the host.
    let Run { log } = run("many pending", &[("HPMOE_STANDIN_DELAY", "50")]);
    let calls = |call: &str| log.lines().filter(|line| line.starts_with(call)).count();
    assert_eq!((calls("aclrtMallocHost "), calls("aclrtFreeHost "), calls("aclrtMemcpyAsync ")), (8, 8, 2 * MANY));
    assert_eq!(calls("aclrtQueryEventStatus "), 2 * (MANY - 4));
    assert!(calls("aclrtSynchronizeEventWithTimeout ") > 0, "{log}");
    run_processes("pending process", 2, &[]);
}

/// Launches of a fixed block have other tokens and another route each time, without help from the host.
#[test]
fn a_fixed_launch_can_be_replayed() {
    let Run { log } = run("fixed", &[]);
    // For each group: from the first to the last launch of the two blocks.
    let launches: Vec<usize> = log
        .lines()
        .enumerate()
        .filter_map(|(at, line)| line.starts_with("aclrtLaunchKernelWithHostArgs ").then_some(at))
        .collect();
    let (lines, mut first) = (log.lines().collect::<Vec<_>>(), 0);
    for (ranks, times) in FIXED {
        let row = launches[first]..launches[first + 2 * times * ranks - 1];
        let calls = |call: &str| lines[row.clone()].iter().filter(|line| line.starts_with(call)).count();
        assert_eq!(calls("aclrtLaunchKernelWithHostArgs "), 2 * times * ranks - 1);
        let names: std::collections::BTreeSet<&str> =
            lines[row.clone()].iter().filter_map(|line| line.split(' ').next()).collect();
        let allowed = [
            "aclrtGetDevice",
            "aclrtLaunchKernelWithHostArgs",
            "aclrtRecordEvent",
            "aclrtSetDevice",
            "aclrtStreamWaitEvent",
            "kernel",
        ];
        assert!(names.iter().all(|name| allowed.contains(name)), "{names:?}");
        // The launch of the other block, and one more of the first.
        first += (2 * times + 2) * ranks;
    }
    assert_eq!(first, launches.len());
    run("fixed unrouted", &[]);
    run_processes("fixed process", 2, &[]);
    let Run { log } = run("fixed placed", &[]);
    // For each launch and rank: the caller's copies, the placement, and the records that show how the launch ended.
    let (lines, mut first) = (log.lines().collect::<Vec<_>>(), 0);
    let kernels: Vec<usize> =
        (0..lines.len()).filter(|at| lines[*at].starts_with("aclrtLaunchKernelWithHostArgs ")).collect();
    for (ranks, launches) in PLACED {
        let row = &lines[kernels[first]..kernels[first + launches * ranks - 1]];
        let copies = row.iter().filter(|line| line.starts_with("aclrtMemcpy")).count();
        assert_eq!(copies, 3 * ranks * (launches - 1), "{ranks} ranks");
        first += launches * ranks;
    }
    run_processes("fixed placed process", 2, &[]);
    run_processes("fixed placed process", 4, &[]);
    run("fixed given up", &[]);
}

#[test]
fn a_pending_launch_that_is_forgotten_or_fails_does_no_harm() {
    let Run { log } = run("forgotten", &[]);
    assert!(log.lines().filter(|line| line.starts_with("kernel ")).count() == 6, "{log}");
    run("pending failed", &[("HPMOE_STANDIN_FAULT", "1:507015")]);
}

#[test]
fn an_npu_that_fails_is_told_with_what_all_cores_did() {
    let refuses = "a parameter that the library refuses: please report it with the version of CANN";
    let handle = "a handle that the library doesn't know: please report it with the version of CANN";
    let room = "no room in the memory of the NPU: lower Group::capacity_rows";
    let late = "the kernel took longer than its limit, or its cores did not start together: raise Group::time_limit";
    let exception = "a core of the NPU ended with an exception: look at the plog files of CANN";
    let stream = "the NPU's work did not end within the limit: raise Group::time_limit";
    let link = "a link between NPUs failed, or the memory of another one is gone: look at `npu-smi info -t health`";
    let errors = [
        (107_000, refuses),
        (107_017, handle),
        (207_018, room),
        (507_014, late),
        (507_034, late),
        (507_015, exception),
        (507_035, exception),
        (507_046, stream),
        (507_047, stream),
        (507_056, link),
        (507_057, link),
    ];
    for (code, words) in errors {
        run("failed", &[("HPMOE_STANDIN_FAULT", &format!("1:{code}")), (SAID, &format!("{code} ({words}"))]);
    }
    // Other errors have only their number.
    run("failed", &[("HPMOE_STANDIN_FAULT", "1:507899"), (SAID, "507899; CANN says: ")]);
}

#[test]
fn a_kernel_that_cann_takes_for_another_one_is_refused() {
    let refused = |told: &str, said: &str| run("refused kernel", &[("HPMOE_STANDIN_KERNEL", told), (SAID, said)]);
    let vector = "CANN loads ffn::forward as a kernel of type 2 instead of 3 (both kinds of core): build it with another version of CANN";
    refused("2", vector);
    let even = "CANN starts ffn::forward with 1 matrix to 1 vector cores instead of 1 to 2: build it with another version of CANN";
    refused("3,1:1", even);
    // Before 9.1, the library does not report this.
    run("bits", &[("HPMOE_STANDIN_KERNEL", "3,0:0")]);
}

#[test]
fn an_npu_that_does_not_fit_the_kernel_is_told() {
    run("cores", &[("HPMOE_STANDIN_CORES", "1")]);
    run("no room", &[("HPMOE_STANDIN_MEMORY", "100000")]);
}

#[test]
fn a_kernel_without_a_device_object_is_refused() {
    run("not built", &[]);
}

#[test]
fn what_a_machine_lacks_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    run(
        "there is no runtime library of CANN (tried `libacl_rt.so`, `libascendcl.so`, `",
        &[("ASCEND_HOME_PATH", folder.path().to_str().unwrap())],
    );
    run(
        "the group has 4 ranks, each of which needs an NPU, but this process sees 2: use fewer ranks, or let it see more by \
         ASCEND_RT_VISIBLE_DEVICES",
        &[("ASCEND_RT_VISIBLE_DEVICES", "4,5")],
    );
    run(
        "the NPU is `Ascend310P3`, but kernels are generated for Ascend910B and Ascend910_93",
        &[("HPMOE_STANDIN_SOC", "Ascend310P3")],
    );
    // An older library lacks calls; any missing call may be named.
    let library = folder.path().join("lib64/libacl_rt.so");
    std::fs::create_dir(library.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(Path::new("libc.so.6"), &library).unwrap();
    let c = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];
    if let Some(c) = c.iter().find(|path| Path::new(path).exists()) {
        std::fs::remove_file(&library).unwrap();
        std::os::unix::fs::symlink(c, &library).unwrap();
        run(
            "undefined symbol: aclInit): it is older than CANN 8.5",
            &[("ASCEND_HOME_PATH", folder.path().to_str().unwrap())],
        );
    }
}

#[test]
fn launches_of_kernels_with_time_stamps_have_traces() {
    run("stamped on the host", &[]);
    run("stamped", &[]);
    run_processes("stamped process", 2, &[]);
}
