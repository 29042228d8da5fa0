//! The C interface on NPUs, with the stand-in for CANN: tensors in the memory of NPUs, and streams of the caller.
//!
//! The environment decides which runtime library is loaded, so each case runs in its own process, which is this program
//! again.

#[path = "../kernels/evolving.rs"]
mod evolving_file;
#[path = "../../kernels/ffn.rs"]
mod ffn_file;

hpmoe_c::export!();

use evolving_file::evolving;
use ffn_file::ffn;
use hpmoe_c::header::{
    HPMOE_BF16, HPMOE_CPU, HPMOE_F32, HPMOE_I32, HPMOE_INVALID, HPMOE_NPU, HPMOE_OK, HpmoeElement, HpmoeFixed,
    HpmoeGroup, HpmoeOptions, HpmoePending, HpmoeStatus, HpmoeTensor,
};
use hpmoe_library::{
    hpmoe_capture, hpmoe_describe, hpmoe_enqueue, hpmoe_fix, hpmoe_fixed_free, hpmoe_group_free, hpmoe_group_new,
    hpmoe_last_error, hpmoe_last_report, hpmoe_launch, hpmoe_replay, hpmoe_replayed, hpmoe_wait,
};
use hpmoe_runtime::npus::{DeviceMemory, Npu};
use hpmoe_runtime::prelude::*;
use std::ffi::{CStr, c_void};
use std::fs::read_to_string;
use std::process::Command;
use std::ptr::{null, with_exposed_provenance_mut};
use std::time::Duration;

/// The case that a process runs.
const CASE: &str = "HPMOE_TEST_CASE";
/// The file in which the stand-in logs its calls.
const LOG: &str = "HPMOE_STANDIN_LOG";

/// Runs a case in its own process, with the stand-in.
fn run(case: &str, variables: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "one_case", "--nocapture"]).env(CASE, case).env(LOG, folder.path().join("log"));
    command.env("ASCEND_HOME_PATH", env!("STANDIN")).env_remove("ASCEND_RT_VISIBLE_DEVICES");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{case}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// The process's part of [`run`].
#[test]
fn one_case() {
    match std::env::var(CASE).as_deref() {
        Ok("on streams") => on_streams(),
        Ok("refused") => refused(),
        Ok("from a number on") => from_a_number_on(),
        Ok("left") => left(),
        Ok("fixed") => fixed(),
        Ok("fixed unrouted") => fixed_unrouted(),
        Ok("fixed refused") => fixed_refused(),
        _ => {}
    }
}

#[test]
fn a_launch_uses_tensors_where_they_lie_and_follows_the_callers_streams() {
    run("on streams", &[("HPMOE_STANDIN_DELAY", "1500")]);
}

#[test]
fn what_does_not_lie_where_it_is_said_to_lie_is_named() {
    run("refused", &[]);
}

#[test]
fn a_group_runs_on_the_npus_that_it_is_told() {
    run("from a number on", &[]);
}

#[test]
fn a_launch_that_nobody_waits_for_ends_with_its_group() {
    run("left", &[("HPMOE_STANDIN_DELAY", "200")]);
}

#[test]
fn a_fixed_launch_is_replayed_with_other_ids_and_makes_no_other_call() {
    run("fixed", &[("HPMOE_STANDIN_DELAY", "2")]);
}

#[test]
fn replays_that_make_no_route_are_counted() {
    run("fixed unrouted", &[]);
}

#[test]
fn a_tensor_that_a_fixed_launch_was_not_made_for_is_named() {
    run("fixed refused", &[]);
}

/// A layer whose tensors lie in the memory of NPUs.
struct Layer {
    npus: Vec<Npu>,
    ids: Vec<Vec<i32>>,
    /// By argument, then by rank: memory, rows, columns, element.
    memory: Vec<Vec<(DeviceMemory, u64, u32, HpmoeElement)>>,
    /// The expected `y` of each rank.
    expected: Vec<Vec<u8>>,
}

/// Number of tokens of each rank.
const TOKENS: [usize; 2] = [41, 1];
/// The index of `y` among the arguments.
const Y: usize = 5;

fn bits(values: &[bf16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect()
}

impl Layer {
    /// Uses one NPU per rank, starting with this one.
    fn new(first: usize) -> Self {
        let (ep, npus) = (Ranks::new(TOKENS.len()), hpmoe_runtime::npus::open(first, TOKENS.len()).unwrap());
        let experts = ffn::EXPERTS / TOKENS.len();
        let number = |seed: usize, at: usize| ((seed * 31 + at * 7) % 64) as f32 / 64.0 - 0.5;
        let numbers =
            |seed: usize, count: usize| (0..count).map(|at| bf16::from_f32(number(seed, at))).collect::<Vec<_>>();
        let ids: Vec<Vec<i32>> = TOKENS
            .iter()
            .map(|tokens| {
                (0..*tokens).flat_map(|token| [token % 3, (token + 1 + token % 2) % 3]).map(|id| id as i32).collect()
            })
            .collect();
        let matrix = ffn::INTER * ffn::HIDDEN;
        let x = PerRank::from_fn(ep, |r| Tensor::from_vec(numbers(r.id(), TOKENS[r.id()] * ffn::HIDDEN)));
        let weights: PerRank<Tensor<f32, { ffn::TOP_K }>> =
            PerRank::from_fn(ep, |r| Tensor::from_f32(&vec![0.25; TOKENS[r.id()] * ffn::TOP_K]));
        let gate = PerRank::from_fn(ep, |r| Experts::from_vec(numbers(2 + r.id(), experts * matrix)));
        let up = PerRank::from_fn(ep, |r| Experts::from_vec(numbers(4 + r.id(), experts * matrix)));
        let down = PerRank::from_fn(ep, |r| Experts::from_vec(numbers(6 + r.id(), experts * matrix)));
        let of_rank = PerRank::from_fn(ep, |r| Tensor::<i32, { ffn::TOP_K }>::from_slice(&ids[r.id()]));
        let route = Route::new(ep, ffn::EXPERTS, &of_rank).unwrap();
        let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(TOKENS[r.id()]));
        ffn::forward(ep, &route, &x, &weights, &gate, &up, &down, &mut y);
        let on = |rank: Rank, bytes: &[u8]| {
            let memory = DeviceMemory::poisoned(&npus[rank.id()], bytes.len(), bytes.len()).unwrap();
            memory.write(0, bytes).unwrap();
            memory
        };
        let floats = |rank: Rank| weights[rank].to_vec().iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        let (tokens, hidden, inter) = (|rank: Rank| TOKENS[rank.id()] as u64, ffn::HIDDEN as u32, ffn::INTER as u32);
        let rows = (experts * ffn::INTER) as u64;
        let memory = vec![
            ep.into_iter().map(|r| (on(r, &bits(&x[r].to_vec())), tokens(r), hidden, HPMOE_BF16)).collect(),
            ep.into_iter().map(|r| (on(r, &floats(r)), tokens(r), ffn::TOP_K as u32, HPMOE_F32)).collect(),
            ep.into_iter().map(|r| (on(r, &bits(&gate[r].to_vec())), rows, hidden, HPMOE_BF16)).collect(),
            ep.into_iter().map(|r| (on(r, &bits(&up[r].to_vec())), rows, hidden, HPMOE_BF16)).collect(),
            ep.into_iter()
                .map(|r| (on(r, &bits(&down[r].to_vec())), (experts * ffn::HIDDEN) as u64, inter, HPMOE_BF16))
                .collect(),
            ep.into_iter()
                .map(|r| (on(r, &vec![0; bits(&y[r].to_vec()).len()]), tokens(r), hidden, HPMOE_BF16))
                .collect(),
        ];
        let expected = ep.into_iter().map(|r| bits(&y[r].to_vec())).collect();
        Self { npus, ids, memory, expected }
    }

    fn id_parts(&mut self) -> Vec<HpmoeTensor> {
        let part = |ids: &mut Vec<i32>| HpmoeTensor {
            data: ids.as_mut_ptr().cast(),
            rows: (ids.len() / ffn::TOP_K) as u64,
            columns: ffn::TOP_K as u32,
            element: HPMOE_I32,
            device: HPMOE_CPU,
        };
        self.ids.iter_mut().map(part).collect()
    }

    fn parts(&self) -> Vec<HpmoeTensor> {
        let part = |(memory, rows, columns, element): &(DeviceMemory, u64, u32, HpmoeElement)| HpmoeTensor {
            data: with_exposed_provenance_mut(memory.address() as usize),
            rows: *rows,
            columns: *columns,
            element: *element,
            device: HPMOE_NPU,
        };
        self.memory.iter().flatten().map(part).collect()
    }

    fn streams(&self) -> Vec<*mut c_void> {
        self.npus.iter().map(|npu| npu.stream()).collect()
    }

    fn enqueue(&mut self, group: HpmoeGroup) -> HpmoePending {
        let (ids, parts, streams) = (self.id_parts(), self.parts(), self.streams());
        let mut pending = 0;
        // SAFETY: memory and streams of this layer's NPUs, and ids of its own.
        let status = unsafe {
            let (ids, parts) = (ids.as_ptr(), parts.as_ptr());
            hpmoe_enqueue(group, c"ffn::forward".as_ptr(), ids, 2, parts, 6, streams.as_ptr(), &raw mut pending)
        };
        assert_eq!((status, error()), (HPMOE_OK, String::new()));
        pending
    }

    fn y(&self, rank: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.expected[rank].len()];
        self.memory[Y][rank].0.read(0, &mut bytes).unwrap();
        bytes
    }
}

fn error() -> String {
    // SAFETY: a string that lives until the next call.
    unsafe { CStr::from_ptr(hpmoe_last_error()) }.to_str().unwrap().to_owned()
}

fn group(options: HpmoeOptions) -> HpmoeGroup {
    let mut group = 0;
    // SAFETY: a structure and a variable of this function.
    assert_eq!(unsafe { hpmoe_group_new(2, &raw const options, &raw mut group) }, HPMOE_OK, "{}", error());
    group
}

fn on_npus() -> HpmoeOptions {
    HpmoeOptions { device: HPMOE_NPU, ..HpmoeOptions::default() }
}

/// The calls that the stand-in has logged after the first `since`.
fn calls(since: usize) -> Vec<String> {
    let log = read_to_string(std::env::var_os(LOG).unwrap()).unwrap_or_default();
    log.lines().skip(since).map(str::to_owned).collect()
}

fn on_streams() {
    let mut layer = Layer::new(0);
    let group = group(on_npus());
    let before = calls(0).len();
    let pending = layer.enqueue(group);
    let after = calls(before);
    // No kernel has started yet.
    assert!(!after.iter().any(|call| call.starts_with("kernel ")), "{after:#?}");
    assert!((0..2).all(|rank| layer.y(rank) == vec![0; layer.expected[rank].len()]));
    for (rank, npu) in layer.npus.iter().enumerate() {
        let stream = format!("stream {:p}", npu.stream());
        let place = |call: &str| after.iter().position(|line| line.starts_with(call) && line.ends_with(&stream));
        let last = after.iter().rposition(|line| line.starts_with("aclrtLaunchKernelWithHostArgs "));
        let (follows, precedes) = (place("aclrtRecordEvent "), place("aclrtStreamWaitEvent "));
        assert!(follows.is_some() && follows < last && last < precedes, "rank {rank}: {after:#?}");
    }
    // Only tables and records of each rank are copied, on the NPU's own stream, and no tensor.
    let copies = |call: &str| after.iter().filter(|line| line.starts_with(call)).count();
    assert_eq!((copies("aclrtMemcpyAsync "), copies("aclrtMemcpy ")), (2, 0), "{after:#?}");
    // Later work on the caller's streams runs after the launch.
    layer.npus.iter().for_each(|npu| npu.wait(Duration::from_secs(20)).unwrap());
    assert!((0..2).all(|rank| layer.y(rank) == layer.expected[rank]));
    assert_eq!((hpmoe_wait(pending), error()), (HPMOE_OK, String::new()));
    // SAFETY: a string that lives until the next launch.
    let report = unsafe { CStr::from_ptr(hpmoe_last_report()) }.to_str().unwrap();
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    assert_eq!(
        (&report["on_npus"], &report["copied"], report["received_rows"].as_array().unwrap().len()),
        (&true.into(), &serde_json::json!([]), 2)
    );
    hpmoe_group_free(group);
}

fn refused() {
    let mut layer = Layer::new(0);
    let group = group(on_npus());
    let (ids, fitting) = (layer.id_parts(), layer.parts());
    let launch = |ids: &[HpmoeTensor], parts: &[HpmoeTensor]| {
        // SAFETY: memory of this layer, or parts that are refused before they are used.
        let status =
            unsafe { hpmoe_launch(group, c"ffn::forward".as_ptr(), ids.as_ptr(), 2, parts.as_ptr(), 6, null()) };
        (status, error())
    };
    let said = |number: usize, change: &dyn Fn(&mut HpmoeTensor)| {
        let mut parts = fitting.clone();
        change(&mut parts[number]);
        let (status, said) = launch(&ids, &parts);
        assert_eq!(status, HPMOE_INVALID, "{said}");
        said
    };
    let (of_other, mut of_host) = (fitting[1].data, vec![0_u64; 1 << 16]);
    let text = said(0, &|part| part.data = of_other);
    assert!(
        text.starts_with("`x` of rank 0 lies at 0x")
            && text.contains(", in the memory of NPU 1, but the rank runs on NPU 0"),
        "{text}"
    );
    assert!(text.ends_with("pass a tensor of NPU 0, or make the group on NPU 1"), "{text}");
    let line: *mut u64 = of_host.as_mut_ptr().map_addr(|at| at.next_multiple_of(64));
    let text = said(5, &|part| part.data = line.cast());
    assert!(
        text.contains("`gate` of rank 1 lies at 0x")
            && text.contains("which is not memory of an NPU: the host's, or memory that has been freed"),
        "{text}"
    );
    let freed = DeviceMemory::new(&layer.npus[0], 1 << 16).unwrap().address();
    let text = said(0, &|part| part.data = with_exposed_provenance_mut(freed as usize));
    assert!(
        text.contains(
            "memory that has been freed, but the rank runs on NPU 0: pass a tensor of NPU 0, and keep it until"
        ),
        "{text}"
    );
    // A tensor that starts in memory of the NPU and ends after it.
    let short = DeviceMemory::new(&layer.npus[0], 64).unwrap();
    let begin = short.address() as usize;
    let text = said(0, &|part| part.data = with_exposed_provenance_mut(begin));
    assert!(text.contains("which is not memory of an NPU"), "{text}");
    drop(short);
    let text = said(0, &|part| part.data = part.data.wrapping_byte_add(32));
    assert!(text.contains("but parts start at multiples of 64 bytes: copy it to such an address"), "{text}");
    let text = said(1, &|part| (part.device, part.data) = (HPMOE_CPU, line.cast()));
    let mixed = "`x` of rank 0 lies in the memory of an NPU, but its part of rank 1 lies in this machine's memory: pass all parts of an argument in one kind of memory";
    assert_eq!(text, mixed);
    let text = said(10, &|part| part.data = fitting[0].data);
    assert_eq!(text, "`y` of rank 0 is written and shares memory with `x` of rank 0: give it memory of its own");
    let on_npu = [HpmoeTensor { device: HPMOE_NPU, ..ids[0] }, ids[1]];
    let (status, text) = launch(&on_npu, &fitting);
    assert!(
        status == HPMOE_INVALID
            && text.starts_with("the ids of rank 0 lie in the memory of an NPU, but the host makes the route"),
        "{text}"
    );
    // The group is still usable, and can also wait without streams.
    assert_eq!(launch(&ids, &fitting), (HPMOE_OK, String::new()));
    assert!((0..2).all(|rank| layer.y(rank) == layer.expected[rank]));
    hpmoe_group_free(group);
}

fn from_a_number_on() {
    let mut layer = Layer::new(4);
    let group = group(HpmoeOptions { npu: 5, ..on_npus() });
    let pending = layer.enqueue(group);
    assert_eq!((hpmoe_wait(pending), error()), (HPMOE_OK, String::new()));
    assert!((0..2).all(|rank| layer.y(rank) == layer.expected[rank]));
    hpmoe_group_free(group);
    let (options, mut group) = (HpmoeOptions { npu: 8, ..on_npus() }, 0);
    // SAFETY: a structure and a variable of this function.
    assert_eq!(unsafe { hpmoe_group_new(2, &raw const options, &raw mut group) }, HPMOE_INVALID);
    let said = "the group needs the NPUs 7 to 8, but this process sees 8, numbered from 0: choose a lower number, or let it see more by ASCEND_RT_VISIBLE_DEVICES";
    assert_eq!(error(), said);
}

fn left() {
    let mut layer = Layer::new(0);
    let group = group(on_npus());
    let pending = [layer.enqueue(group), layer.enqueue(group)];
    assert_eq!(hpmoe_group_free(group), HPMOE_OK);
    // The group has waited for the kernels, whose output tensors may be freed now.
    assert!((0..2).all(|rank| layer.y(rank) == layer.expected[rank]));
    assert_eq!(calls(0).iter().filter(|call| call.starts_with("kernel ")).count(), 4);
    assert_eq!(hpmoe_wait(pending[0]), HPMOE_INVALID);
    assert!(error().contains("its group has been freed"), "{}", error());
}

/// A layer that chooses its experts itself and whose tensors are in the memory of NPUs.
struct Evolving {
    npus: Vec<Npu>,
    /// By argument, then by rank: memory, rows, columns, element.
    memory: Vec<Vec<(DeviceMemory, u64, u32, HpmoeElement)>>,
    weights: PerRank<Tensor<f32, { evolving::TOP_K }>>,
    w: PerRank<Experts<bf16, { evolving::HIDDEN }, { evolving::HIDDEN }>>,
}

impl Evolving {
    /// The tokens of each rank.
    const TOKENS: [usize; 2] = [13, 5];

    fn new() -> Self {
        let (ep, npus) = (Ranks::new(2), hpmoe_runtime::npus::open(0, 2).unwrap());
        let weight = |r: Rank| (0..Self::TOKENS[r.id()] * evolving::TOP_K).map(|at| (at % 7) as f32 / 4.0).collect();
        let count = evolving::EXPERTS / 2 * evolving::HIDDEN * evolving::HIDDEN;
        let weights = PerRank::from_fn(ep, |r| Tensor::from_vec(weight(r)));
        let w = PerRank::from_fn(ep, |r| Experts::from_vec(Self::numbers(91 + r.id(), count)));
        let on = |rank: Rank, bytes: &[u8]| {
            let memory = DeviceMemory::poisoned(&npus[rank.id()], bytes.len(), bytes.len()).unwrap();
            memory.write(0, bytes).unwrap();
            memory
        };
        let (tokens, hidden, top_k) =
            (|r: Rank| Self::TOKENS[r.id()] as u64, evolving::HIDDEN as u32, evolving::TOP_K as u32);
        let token =
            |r: Rank| (on(r, &vec![0; Self::TOKENS[r.id()] * evolving::HIDDEN * 2]), tokens(r), hidden, HPMOE_BF16);
        let floats = |r: Rank| weight(r).iter().flat_map(|w: &f32| w.to_le_bytes()).collect::<Vec<u8>>();
        let rows = (evolving::EXPERTS / 2 * evolving::HIDDEN) as u64;
        let memory = vec![
            ep.into_iter().map(token).collect(),
            ep.into_iter().map(|r| (on(r, &floats(r)), tokens(r), top_k, HPMOE_F32)).collect(),
            ep.into_iter().map(|r| (on(r, &bits(&w[r].to_vec())), rows, hidden, HPMOE_BF16)).collect(),
            ep.into_iter().map(token).collect(),
        ];
        Self { npus, memory, weights, w }
    }

    /// Numbers between -1/2 and 1/2 that depend on the seed.
    fn numbers(seed: usize, count: usize) -> Vec<bf16> {
        let mixed = |at: usize| ((at + 7919 * seed) as u32).wrapping_mul(2_654_435_761) >> 16;
        (0..count).map(|at| bf16::from_f32(mixed(at) as f32 / 65536.0 - 0.5)).collect()
    }

    /// Writes other tokens to the same memory. Returns the expected `y` and the number of empty slots.
    fn write(&self, x: &PerRank<Tensor<bf16, { evolving::HIDDEN }>>) -> (Vec<Vec<u8>>, usize) {
        let ep = x.ranks();
        ep.into_iter().for_each(|r| self.memory[0][r.id()].0.write(0, &bits(&x[r].to_vec())).unwrap());
        let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(Self::TOKENS[r.id()]));
        evolving::forward(ep, x, &self.weights, &self.w, &mut y);
        let chosen = |x: &[bf16]| x[..evolving::EXPERTS].iter().filter(|x| x.to_f32() > evolving::LEAST).count();
        let empty = |x: &[bf16]| evolving::TOP_K.saturating_sub(chosen(x));
        let empty =
            |x: &Tensor<bf16, { evolving::HIDDEN }>| x.to_vec().chunks(evolving::HIDDEN).map(empty).sum::<usize>();
        (y.iter().map(|y| bits(&y.to_vec())).collect(), x.iter().map(empty).sum())
    }

    /// The tokens of a seed.
    fn tokens(seed: usize) -> PerRank<Tensor<bf16, { evolving::HIDDEN }>> {
        let count = |r: Rank| Self::TOKENS[r.id()] * evolving::HIDDEN;
        PerRank::from_fn(Ranks::new(2), |r| Tensor::from_vec(Self::numbers(2 * seed + r.id(), count(r))))
    }

    fn parts(&self) -> Vec<HpmoeTensor> {
        let part = |(memory, rows, columns, element): &(DeviceMemory, u64, u32, HpmoeElement)| HpmoeTensor {
            data: with_exposed_provenance_mut(memory.address() as usize),
            rows: *rows,
            columns: *columns,
            element: *element,
            device: HPMOE_NPU,
        };
        self.memory.iter().flatten().map(part).collect()
    }

    fn y(&self) -> Vec<Vec<u8>> {
        self.npus.iter().for_each(|npu| npu.wait(Duration::from_secs(20)).unwrap());
        let bytes = |(memory, rows, ..): &(DeviceMemory, u64, u32, HpmoeElement)| {
            let mut bytes = vec![0; *rows as usize * evolving::HIDDEN * 2];
            memory.read(0, &mut bytes).unwrap();
            bytes
        };
        self.memory[3].iter().map(bytes).collect()
    }

    fn streams(&self) -> Vec<*mut c_void> {
        self.npus.iter().map(|npu| npu.stream()).collect()
    }
}

fn fix(group: HpmoeGroup, parts: &[HpmoeTensor]) -> (HpmoeStatus, String, HpmoeFixed) {
    let mut number = 0;
    let flow = c"evolving::forward".as_ptr();
    // SAFETY: memory of NPUs that outlives the group, or parts that are refused.
    let status = unsafe { hpmoe_fix(group, flow, null(), 2, parts.as_ptr(), 4, &raw mut number) };
    (status, error(), number)
}

fn replay(number: HpmoeFixed, parts: &[HpmoeTensor], streams: &[*mut c_void]) -> (HpmoeStatus, String) {
    // SAFETY: memory and streams of NPUs that outlive the group, or parts that are refused.
    (unsafe { hpmoe_replay(number, 2, parts.as_ptr(), 4, streams.as_ptr()) }, error())
}

fn report() -> serde_json::Value {
    // SAFETY: a string that lives until the next launch.
    let report = unsafe { CStr::from_ptr(hpmoe_last_report()) }.to_str().unwrap();
    serde_json::from_str(report).unwrap_or_default()
}

/// The names of calls.
fn names(calls: &[String]) -> Vec<&str> {
    calls.iter().map(|call| call.split(' ').next().unwrap()).collect()
}

fn fixed() {
    let (layer, group, good) = (Evolving::new(), group(on_npus()), (HPMOE_OK, String::new()));
    let (parts, streams) = (layer.parts(), layer.streams());
    let (status, said, number) = fix(group, &parts);
    assert_eq!((status, said), good);
    let mut empty_slots = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let (expected, empty) = layer.write(&Evolving::tokens(seed));
        empty_slots.insert(empty);
        let before = calls(0).len();
        assert_eq!(replay(number, &parts, &streams), good);
        let after = calls(before);
        let allowed = ["aclrtGetDevice", "aclrtSetDevice", "aclrtRecordEvent", "aclrtStreamWaitEvent", "kernel"];
        let launched = names(&after).iter().filter(|name| **name == "aclrtLaunchKernelWithHostArgs").count();
        let others = names(&after).into_iter().filter(|name| *name != "aclrtLaunchKernelWithHostArgs");
        assert!(launched == 2 && others.into_iter().all(|name| allowed.contains(&name)), "{after:#?}");
        assert!(layer.y() == expected, "launch {seed}");
    }
    assert!(empty_slots.len() > 5 && empty_slots.iter().all(|empty| *empty > 0), "{empty_slots:?}");
    assert_eq!((hpmoe_wait(number), error()), good);
    let last = report();
    assert_eq!(
        (&last["kernel"], &last["on_npus"], &last["copied"]),
        (&"evolving::forward".into(), &true.into(), &serde_json::json!([]))
    );
    // There is nothing to wait for.
    assert_eq!(((hpmoe_wait(number), error()), report()), (good.clone(), serde_json::Value::Null));
    // Ten launches, of which only the last is waited for.
    let (expected, _) = layer.write(&Evolving::tokens(50));
    (0..10).for_each(|_| assert_eq!(replay(number, &parts, &streams), good));
    assert_eq!((hpmoe_wait(number), error()), good);
    assert!(layer.y() == expected);
    // A graph captures the kernel, and nothing else.
    let (expected, _) = layer.write(&Evolving::tokens(51));
    let before = calls(0).len();
    // SAFETY: memory and streams of NPUs that outlive the group.
    let status = unsafe { hpmoe_capture(number, 2, parts.as_ptr(), 4, streams.as_ptr()) };
    assert_eq!((status, error()), good);
    let after = calls(before);
    let made = names(&after).into_iter().filter(|name| !["aclrtGetDevice", "aclrtSetDevice", "kernel"].contains(name));
    assert_eq!(made.collect::<Vec<_>>(), ["aclrtLaunchKernelWithHostArgs"; 2], "{after:#?}");
    assert!(layer.y() == expected);
    assert_eq!((hpmoe_replayed(number, 1), error()), good);
    assert_eq!(((hpmoe_wait(number), error()), &report()["kernel"]), (good.clone(), &"evolving::forward".into()));
    assert_eq!((hpmoe_fixed_free(number), error()), good);
    assert_eq!(replay(number, &parts, &streams).0, HPMOE_INVALID);
    let said = format!(
        "there is no fixed launch {number}: it has been freed, or its group has, or it comes from hpmoe_enqueue; pass a handle from hpmoe_fix"
    );
    assert_eq!(error(), said);
    // A launch that is freed with its group while it runs.
    let (_, _, number) = fix(group, &parts);
    let (expected, _) = layer.write(&Evolving::tokens(52));
    assert_eq!(replay(number, &parts, &streams), good);
    assert_eq!(hpmoe_group_free(group), HPMOE_OK);
    assert!(layer.y() == expected);
    assert_eq!(hpmoe_wait(number), HPMOE_INVALID);
}

fn fixed_unrouted() {
    let (layer, good) = (Evolving::new(), (HPMOE_OK, String::new()));
    let group = group(HpmoeOptions { capacity_rows: 3, ..on_npus() });
    let (parts, streams) = (layer.parts(), layer.streams());
    let (_, said, number) = fix(group, &parts);
    assert_eq!(said, "");
    let before = layer.y();
    layer.write(&Evolving::tokens(0));
    assert_eq!(replay(number, &parts, &streams), good);
    let said = (hpmoe_wait(number), error());
    assert!(said.0 == HPMOE_INVALID && said.1.contains("but there is room for 3: raise it with"), "{said:?}");
    (0..2).for_each(|_| assert_eq!(replay(number, &parts, &streams), good));
    assert!(layer.y() == before);
    // Tokens that go to no expert.
    let none = PerRank::from_fn(Ranks::new(2), |r| Tensor::zeros(Evolving::TOKENS[r.id()]));
    let (expected, empty) = layer.write(&none);
    assert_eq!((replay(number, &parts, &streams), empty), (good.clone(), 18 * evolving::TOP_K));
    let said = (hpmoe_wait(number), error());
    assert!(
        said.0 == HPMOE_INVALID
            && said.1.starts_with("2 launches of evolving::forward before the last one had invalid ids"),
        "{said:?}"
    );
    assert!(layer.y() == expected);
    assert_eq!((replay(number, &parts, &streams), hpmoe_wait(number)), (good, HPMOE_OK));
    hpmoe_group_free(group);
}

fn fixed_refused() {
    let (layer, group, good) = (Evolving::new(), group(on_npus()), (HPMOE_OK, String::new()));
    let (fitting, streams) = (layer.parts(), layer.streams());
    let mut of_host = vec![0_u64; 1 << 12];
    let line: *mut u64 = of_host.as_mut_ptr().map_addr(|at| at.next_multiple_of(64));
    let changed = |change: &dyn Fn(&mut HpmoeTensor)| {
        let mut parts = fitting.clone();
        parts[..2].iter_mut().for_each(change);
        parts
    };
    let mut parts = fitting.clone();
    for (rank, x) in parts[..2].iter_mut().enumerate() {
        (x.device, x.data) = (HPMOE_CPU, line.wrapping_byte_add(rank << 12).cast());
    }
    let (status, said, _) = fix(group, &parts);
    let wanted = "`x` lies in this machine's memory, but a fixed launch on NPUs copies nothing: ";
    assert!(status == HPMOE_INVALID && said.starts_with(wanted), "{said}");
    let freed = DeviceMemory::new(&layer.npus[0], 1 << 16).unwrap().address();
    let (status, said, _) = fix(group, &changed(&|x| x.data = with_exposed_provenance_mut(freed as usize)));
    assert!(
        status == HPMOE_INVALID && said.contains("memory that has been freed, but the rank runs on NPU 0"),
        "{said}"
    );
    let (_, said, number) = fix(group, &fitting);
    assert_eq!(said, "");
    let moved = "`x` has a different address or number of rows than when the launch was fixed: ";
    let elsewhere = Evolving::new();
    let mut parts = fitting.clone();
    parts[1] = elsewhere.parts()[1];
    for parts in [changed(&|x| x.rows -= 1), parts] {
        let (status, said) = replay(number, &parts, &streams);
        assert!(status == HPMOE_INVALID && said.starts_with(moved), "{said}");
    }
    let (status, said) = replay(number, &fitting[..], &streams);
    assert_eq!((status, said), good);
    // SAFETY: parts of this layer, and no streams.
    let status = unsafe { hpmoe_capture(number, 2, fitting.as_ptr(), 4, null()) };
    assert_eq!(
        (status, error()),
        (HPMOE_INVALID, "`streams` is null: pass the streams that are being captured".to_owned())
    );
    assert_eq!(hpmoe_wait(number), HPMOE_OK);
    // SAFETY: a string that lives as long as the library.
    let text = unsafe { CStr::from_ptr(hpmoe_describe()) }.to_str().unwrap();
    let described: serde_json::Value = serde_json::from_str(text).unwrap();
    let flows =
        described["kernels"].as_array().unwrap().iter().flat_map(|kernel| kernel["taskflows"].as_array().unwrap());
    for flow in flows {
        let routes = [
            "evolving::",
            "kept::forward",
            "kept::backward",
            "kept::grouped",
            "kept_chunks::",
            "routed::forward",
            "routed::chunked",
            "stamped::",
        ]
        .iter()
        .any(|name| flow["name"].as_str().unwrap().starts_with(name));
        assert_eq!(
            (&flow["capturable"], flow["fixed"].as_array().unwrap().len()),
            (&routes.into(), 3 - usize::from(routes)),
            "{}",
            flow["name"]
        );
    }
    hpmoe_group_free(group);
}
