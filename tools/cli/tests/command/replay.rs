//! An exported schedule, timed by an interpreter that knows only the file and the formulae of `docs/export.md`. The latency equals that of
//! `hpmoe simulate` within 3 %. With a placement, ranks send as many bytes as the formula in docs/placement.md says.

use crate::{hpmoe, json};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

const FORWARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_ffn.rs");
const BACKWARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_backward.rs");

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {value}"))
}

fn index(value: &Value, key: &str) -> usize {
    number(value, key) as usize
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key} in {value}"))
}

/// A task or reading ahead that is in progress, on a die's memories or on the links.
#[derive(Clone, Debug)]
struct Job {
    core: usize,
    /// The remaining work: nanoseconds at full speed, or bytes.
    left: f64,
    rate: f64,
    hbm: f64,
    l2: f64,
    /// For reading ahead, the time at full speed in nanoseconds; the next field is the share of the weights. For a task, both are zero.
    ahead: f64,
    share: f64,
}

#[derive(Default)]
struct Counter {
    value: f64,
    seen: f64,
    waiting: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct At(f64);
impl Eq for At {}
impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    Read,
    Look,
    Leave,
    Finish,
}

/// Number of link ends of a die: outgoing and incoming ones, to its own package and to other packages.
const ENDS: usize = 4;

pub(crate) struct Replay<'a> {
    rates: BTreeMap<&'a str, f64>,
    queues: &'a [Value],
    next: Vec<usize>,
    /// For each core, the share that has been read ahead, and whether the core has checked its counters.
    read: Vec<(f64, bool)>,
    counters: BTreeMap<(usize, usize), Counter>,
    timers: BinaryHeap<Reverse<(At, Step, usize)>>,
    dies: Vec<Vec<Job>>,
    puts: Vec<Job>,
    now: f64,
    end: f64,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(file: &'a Value) -> Self {
        let rates = file["rates"].as_object().expect("rates");
        let rates = rates.iter().map(|(key, value)| (key.as_str(), value.as_f64().expect("a number"))).collect();
        let (queues, ranks) = (list(file, "queues"), index(file, "ranks"));
        Self {
            rates,
            queues,
            next: vec![0; queues.len()],
            read: vec![(0.0, false); queues.len()],
            counters: BTreeMap::new(),
            timers: BinaryHeap::new(),
            dies: vec![Vec::new(); ranks],
            puts: Vec::new(),
            now: 0.0,
            end: 0.0,
        }
    }

    fn rate(&self, name: &str) -> f64 {
        self.rates[name]
    }

    fn rank(&self, core: usize) -> usize {
        index(&self.queues[core], "rank")
    }

    fn task(&self, core: usize) -> &'a Value {
        &list(&self.queues[core], "tasks")[self.next[core]]
    }

    fn same_package(&self, a: usize, b: usize) -> bool {
        let dies = self.rate("dies_per_package") as usize;
        a / dies == b / dies
    }

    fn timer(&mut self, at: f64, step: Step, core: usize) {
        self.timers.push(Reverse((At(at), step, core)));
    }

    /// Replays the schedule, and returns the latency in µs.
    pub(crate) fn run(&mut self) -> f64 {
        let launch = self.rate("launch_ns");
        (0..self.queues.len()).for_each(|core| self.come(core, launch));
        while let Some(at) = self.next_event() {
            self.advance(at);
            let mut moved = Vec::new();
            for die in 0..self.dies.len() {
                let (ended, left) = self.dies[die].drain(..).partition(|job| job.left <= 1e-6);
                self.dies[die] = left;
                moved.extend::<Vec<Job>>(ended);
            }
            let (landed, left): (Vec<Job>, _) = self.puts.drain(..).partition(|job| job.left <= 1e-3);
            self.puts = left;
            let mut changed = !moved.is_empty() || !landed.is_empty();
            for job in moved {
                if job.ahead == 0.0 {
                    self.finish(job.core);
                    continue;
                }
                let (read, waits) = &mut self.read[job.core];
                *read += job.share;
                if *waits {
                    self.read_ahead(job.core, 1.0);
                }
            }
            let fence = self.rate("fence_ns");
            for job in &landed {
                let fenced = self.task(job.core)["work"]["fenced"].as_bool().unwrap();
                self.timer(if fenced { at + fence } else { at }, Step::Finish, job.core);
            }
            while let Some(&Reverse((time, step, core))) = self.timers.peek() {
                if time.0 > at {
                    break;
                }
                self.timers.pop();
                match step {
                    Step::Read => changed |= self.read_ahead(core, number(&self.task(core)["ahead"], "first")),
                    Step::Look => changed |= self.look(core),
                    Step::Leave => changed |= self.leave(core),
                    Step::Finish => self.finish(core),
                }
            }
            if changed {
                self.share();
            }
        }
        assert!((0..self.queues.len()).all(|core| self.next[core] == list(&self.queues[core], "tasks").len()));
        self.end / 1e3
    }

    fn next_event(&self) -> Option<f64> {
        let timer = self.timers.peek().map(|Reverse((at, ..))| at.0);
        let jobs = self.dies.iter().flatten().chain(&self.puts);
        jobs.map(|job| self.now + job.left / job.rate).chain(timer).reduce(f64::min)
    }

    fn advance(&mut self, to: f64) {
        let took = to - self.now;
        self.dies.iter_mut().flatten().chain(&mut self.puts).for_each(|job| job.left -= took * job.rate);
        self.now = to;
    }

    /// Called when a core arrives at its next task.
    fn come(&mut self, core: usize, at: f64) {
        if self.next[core] == list(&self.queues[core], "tasks").len() {
            self.end = self.end.max(at + number(&self.queues[core], "after_ns"));
            return;
        }
        let task = self.task(core);
        if !task["ahead"].is_null() {
            self.timer(at + number(&task["ahead"], "after_ns"), Step::Read, core);
        }
        let ready = at + number(task, "before_ns");
        self.timer(ready.max(task["not_before_ns"].as_f64().unwrap_or(0.0)), Step::Look, core);
    }

    /// Begins a task if all of its counters have reached their thresholds. Returns true if the core uses memories or links from now on.
    fn look(&mut self, core: usize) -> bool {
        let (task, rank) = (self.task(core), self.rank(core));
        let mut from = self.now;
        for wait in list(task, "waits") {
            let counter = self.counters.entry((rank, index(wait, "counter"))).or_default();
            if counter.value < number(wait, "threshold") {
                counter.waiting.push(core);
                return self.waits(core);
            }
            from = from.max(counter.seen);
        }
        if from > self.now {
            self.timer(from, Step::Look, core);
            return self.waits(core);
        }
        match task["work"]["kind"].as_str() {
            Some("put" | "copy") => {
                self.timer(self.now + self.rate("put_start_ns"), Step::Leave, core);
                false
            }
            _ => self.leave(core),
        }
    }

    /// Lets a waiting core read ahead as much as it has room for. Returns true if it uses memories from now on.
    fn waits(&mut self, core: usize) -> bool {
        self.read[core].1 = true;
        !self.task(core)["ahead"].is_null() && self.read_ahead(core, 1.0)
    }

    /// Reads ahead up to a share of the room, unless the core is reading already. Returns true if the core uses memories from now on.
    fn read_ahead(&mut self, core: usize, room: f64) -> bool {
        let (ahead, rank) = (&self.task(core)["ahead"], self.rank(core));
        let share = room - self.read[core].0;
        if share <= 0.0 || self.dies[rank].iter().any(|job| job.core == core) {
            return false;
        }
        let [hbm, l2] = ["hbm_read", "l2_read"].map(|bytes| share * number(ahead, bytes));
        let time = (hbm / self.rate("hbm_read_core")).max(l2 / self.rate("l2_read_core"));
        self.dies[rank].push(Job { ahead: time, share, ..job(core, time, hbm, l2) });
        true
    }

    /// Ends reading ahead, and returns how many bytes of the core's task were read, from HBM and through L2.
    fn was_read(&mut self, core: usize) -> [f64; 2] {
        let (ahead, rank) = (&self.task(core)["ahead"], self.rank(core));
        let mut share = self.read[core].0;
        if let Some(at) = self.dies[rank].iter().position(|job| job.core == core) {
            let job = self.dies[rank].remove(at);
            share += job.share * (1.0 - job.left / job.ahead);
        }
        ["hbm_read", "l2_read"].map(|bytes| ahead[bytes].as_f64().map_or(0.0, |bytes| bytes * share))
    }

    fn leave(&mut self, core: usize) -> bool {
        let (work, rank) = (&self.task(core)["work"], self.rank(core));
        match work["kind"].as_str().expect("a kind") {
            "put" => self.puts.push(Job {
                core,
                left: number(work, "bytes"),
                rate: 1.0,
                hbm: 0.0,
                l2: 0.0,
                ahead: 0.0,
                share: 0.0,
            }),
            "product" => {
                let read = self.was_read(core);
                let (hbm_read, l2_read) = (number(work, "hbm_read") - read[0], number(work, "l2_read") - read[1]);
                let cube = if work["int8"] == true { "cube_int8_gops_core" } else { "cube_gflops_core" };
                let time = (number(work, "padded_flops") / self.rate(cube))
                    .max(l2_read / self.rate("l2_read_core"))
                    .max(hbm_read / self.rate("hbm_read_core"))
                    .max(number(work, "written") / self.rate("l2_write_core"));
                self.dies[rank].push(job(core, time, hbm_read + number(work, "written"), l2_read));
            }
            "vector" | "copy" => {
                let hbm = number(work, "hbm_read") + number(work, "written");
                let time = hbm / self.rate("vector_core");
                self.dies[rank].push(job(core, time, hbm, number(work, "hbm_read")));
            }
            // A step of making a route.
            kind @ ("fixed" | "none") => {
                let time = if kind == "fixed" { number(work, "ns") } else { 0.0 };
                self.timer(self.now + time, Step::Finish, core);
                return false;
            }
            other => panic!("no such work: {other}"),
        }
        true
    }

    fn finish(&mut self, core: usize) {
        let (task, rank) = (self.task(core), self.rank(core));
        let mut at = self.now;
        for (place, signal) in list(task, "signals").iter().enumerate() {
            at = self.now + place as f64 * self.rate("signal_ns");
            let to = index(signal, "rank");
            let way = match (to == rank, self.same_package(to, rank)) {
                (true, _) => 0.0,
                (false, true) => self.rate("same_package_ns"),
                (false, false) => self.rate("other_package_ns"),
            };
            let seen = at + way + self.rate("visible_ns");
            let counter = self.counters.entry((to, index(signal, "counter"))).or_default();
            counter.value += number(signal, "amount");
            counter.seen = counter.seen.max(seen);
            let waiting = std::mem::take(&mut counter.waiting);
            let now = self.now;
            waiting.into_iter().for_each(|other| self.timer(now, Step::Look, other));
        }
        self.next[core] += 1;
        self.read[core] = (0.0, false);
        self.come(core, at);
    }

    /// Sets the rates of the jobs in progress, which share memories and links.
    fn share(&mut self) {
        let link = [self.rate("same_package_die"), self.rate("other_package_die")];
        let put = self.rate("put_core");
        let ends = |job: &Job| {
            let to = index(&self.task(job.core)["work"], "to");
            let beyond = usize::from(!self.same_package(self.rank(job.core), to));
            [self.rank(job.core) * ENDS + 2 * beyond, to * ENDS + 2 * beyond + 1]
        };
        let flows: Vec<[usize; 2]> = self.puts.iter().map(ends).collect();
        let mut used = vec![0.0; self.dies.len() * ENDS];
        flows.iter().flatten().for_each(|&end| used[end] += put);
        for (die, jobs) in self.dies.iter_mut().enumerate() {
            let gone: f64 = (0..ENDS).map(|end| used[die * ENDS + end].min(link[end / 2])).sum();
            let all = self.rates["hbm_die"];
            let hbm = level((all - gone).max(all / 4.0), jobs.iter().map(|job| job.hbm).collect());
            let l2 = level(self.rates["l2_die"], jobs.iter().map(|job| job.l2).collect());
            jobs.iter_mut().for_each(|job| job.rate = (hbm / job.hbm).min(l2 / job.l2).min(1.0));
        }
        let mut left: Vec<f64> = (0..used.len()).map(|end| link[end % ENDS / 2]).collect();
        let mut open: Vec<usize> = (0..flows.len()).collect();
        while !open.is_empty() {
            let mut through = vec![0.0; left.len()];
            open.iter().flat_map(|&flow| flows[flow]).for_each(|end| through[end] += 1.0);
            let share = |end: usize| if through[end] > 0.0 { left[end] / through[end] } else { f64::INFINITY };
            let least = (0..left.len()).map(share).fold(put, f64::min);
            let full: Vec<bool> = (0..left.len()).map(|end| share(end) <= least * (1.0 + 1e-9)).collect();
            let (done, rest): (Vec<usize>, _) =
                open.into_iter().partition(|&flow| least >= put || flows[flow].iter().any(|&end| full[end]));
            for flow in done {
                self.puts[flow].rate = least;
                flows[flow].iter().for_each(|&end| left[end] -= least);
            }
            open = rest;
        }
    }
}

fn job(core: usize, time: f64, hbm: f64, l2: f64) -> Job {
    let left = time.max(1e-3);
    Job { core, left, rate: 1.0, hbm: hbm / left, l2: l2 / left, ahead: 0.0, share: 0.0 }
}

/// The maximum share of each user of a resource if the users want more than its capacity.
fn level(capacity: f64, mut wants: Vec<f64>) -> f64 {
    if wants.iter().sum::<f64>() <= capacity {
        return f64::INFINITY;
    }
    wants.sort_by(f64::total_cmp);
    let mut left = capacity;
    for (place, &want) in wants.iter().enumerate() {
        let share = left / (wants.len() - place) as f64;
        if want > share {
            return share;
        }
        left -= want;
    }
    f64::INFINITY
}

/// A case: pass, sizes, ranks and routing.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str);

fn compare(case: Case<'_>) {
    compare_placed(case, None);
}

/// Replays a case and returns its exported schedule. The placement is the path of a file.
fn compare_placed((direction, sizes, ranks, routing): Case<'_>, placement: Option<&str>) -> Value {
    let file = if direction == "forward" { FORWARD } else { BACKWARD };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("schedule.json");
    let path = path.to_str().unwrap();
    let mut common = vec!["--set", sizes, "--ranks", ranks, "--routing", routing, "--untuned"];
    common.extend(placement.iter().flat_map(|file| ["--placement", file]));
    let export = ["schedule", file, "--taskflow", direction, "--export", path];
    let output = hpmoe(&[&export, &common[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let exported: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let replayed = Replay::new(&exported).run();
    let simulate = ["simulate", file, "--policy", "ours", "--direction", direction, "--json"];
    let run = json(&[&simulate, &common[..]].concat());
    let simulated = number(&run, "simulated_us") - number(&run, "separate_kernels_us");
    let error = replayed / simulated - 1.0;
    println!(
        "{direction} {sizes} {ranks} {routing}: replayed {replayed:.1} µs, simulated {simulated:.1} µs, {:+.2} %",
        100.0 * error
    );
    assert!(
        error.abs() < 0.03,
        "replayed {replayed} µs, simulated {simulated} µs: {direction} {sizes} {ranks} {routing}"
    );
    exported
}

const TILES: &str = "TILE_M=128,TILE_N=256,PUT=16,BLOCK=16,COLUMNS=1024";
const BACKWARD_TILES: &str = "TILE_M=128,TILE_N=128,PUT=16,BLOCK=16,COLUMNS=512,GRAD_M=256,GRAD_N=256";

#[test]
fn a_replay_takes_as_long_as_the_simulation() {
    let sizes = |sizes: &str| format!("{sizes},{TILES}");
    compare(("forward", &sizes("HIDDEN=2048,INTER=512,EXPERTS=8,TOP_K=2,TOKENS=256"), "2", "balanced"));
    compare(("forward", &sizes("HIDDEN=1536,INTER=768,EXPERTS=32,TOP_K=4,TOKENS=200"), "8", "zipf:1.2:3"));
    let backward = format!("HIDDEN=1024,INTER=512,EXPERTS=16,TOP_K=4,TOKENS=150,{BACKWARD_TILES}");
    compare(("backward", &backward, "4", "zipf:0.8:5"));
}

/// The number of rows that each rank has for each expert. One in three experts has most of them.
fn skewed_rows(ranks: usize, experts: usize, tokens: usize, top_k: usize) -> Vec<Vec<usize>> {
    let of_rank = |rank: usize| {
        let mut counts: Vec<usize> = (0..experts).map(|expert| (expert + rank) % 3).collect();
        let mut left = tokens * top_k - counts.iter().sum::<usize>();
        for expert in (0..3).flat_map(|first| (first..experts).step_by(3)) {
            let more = left.min((tokens - counts[expert]) * 2 / 3);
            counts[expert] += more;
            left -= more;
        }
        assert_eq!(left, 0);
        counts
    };
    (0..ranks).map(of_rank).collect()
}

/// The number of rows that each rank sends to each other rank. A rank divides its rows for an expert among the expert's copies by their
/// shares in 4096ths, and rounds each cut down after adding an offset that depends on the rank.
fn rows_between(rows: &[Vec<usize>], placed: &Value) -> Vec<Vec<usize>> {
    let ranks = rows.len();
    let expert_of: Vec<i64> = list(placed, "physical_to_logical").iter().map(|e| e.as_i64().unwrap()).collect();
    let shares: Vec<usize> = list(placed, "shares").iter().map(|share| share.as_u64().unwrap() as usize).collect();
    let mut sent = vec![vec![0; ranks]; ranks];
    for (from, rows) in rows.iter().enumerate() {
        let turn: usize = (0..12).filter(|bit| from >> bit & 1 == 1).map(|bit| 1 << (11 - bit)).sum();
        for (expert, &count) in rows.iter().enumerate() {
            let mut begin = 0;
            for place in (0..expert_of.len()).filter(|&place| expert_of[place] == expert as i64) {
                let cut = |at: usize| (count * at + turn) / 4096;
                sent[from][place * ranks / expert_of.len()] += cut(begin + shares[place]) - cut(begin);
                begin += shares[place];
            }
            assert_eq!(begin, 4096, "all rows of expert {expert} go somewhere");
        }
    }
    sent
}

#[test]
fn placed_layers_put_the_bytes_of_the_formula_and_a_replay_takes_as_long() {
    const HIDDEN: usize = 1024;
    const TOP_K: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (ranks, experts, spare, tokens) in [(4, 16, 1, 256), (3, 10, 2, 120), (8, 32, 1, 64)] {
        let rows = skewed_rows(ranks, experts, tokens, TOP_K);
        let loads: Vec<usize> = (0..experts).map(|expert| rows.iter().map(|rows| rows[expert]).sum()).collect();
        let loads = file("loads.json", &serde_json::json!([loads]));
        let counts = file("counts.json", &serde_json::json!({ "counts": rows }));
        let (ranks_text, spare_text) = (ranks.to_string(), spare.to_string());
        let placed = json(&["place", &loads, "--ranks", &ranks_text, "--spare", &spare_text, "--json"]);
        let placement = file("placement.json", &placed);
        let sizes =
            format!("HIDDEN={HIDDEN},INTER=256,EXPERTS={experts},TOP_K={TOP_K},TOKENS={tokens},SPARE={spare},{TILES}");
        let exported = compare_placed(("forward", &sizes, &ranks_text, &counts), Some(&placement));
        let sent = rows_between(&rows, &placed["layers"][0]);
        let mut put = vec![vec![0; ranks]; ranks];
        for queue in list(&exported, "queues") {
            for work in list(queue, "tasks").iter().map(|task| &task["work"]).filter(|work| work["kind"] == "put") {
                put[index(queue, "rank")][index(work, "to")] += index(work, "bytes");
            }
        }
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            // Each row of bf16 goes there with its origin of four bytes, and a row comes back.
            let (there, back) = ((2 * HIDDEN + 4) * sent[from][to], 2 * HIDDEN * sent[to][from]);
            let expected = if from == to { 0 } else { there + back };
            assert_eq!(put[from][to], expected, "{from} to {to} of {ranks} ranks");
        }
        assert!(put.iter().flatten().any(|&bytes| bytes > 0));
    }
}

/// Replays the cases in `HPMOE_REPLAY`, one per line: pass, sizes, ranks, routing.
#[test]
#[ignore = "runs the cases that HPMOE_REPLAY gives"]
fn replays_of_given_cases_take_as_long() {
    let cases = std::env::var("HPMOE_REPLAY").expect("cases");
    for case in cases.lines().filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = case.split_whitespace().collect();
        let [direction, sizes, ranks, routing] = words[..] else { panic!("`{case}` has not four words") };
        compare((direction, sizes, ranks, routing));
    }
}
