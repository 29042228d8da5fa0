//! Runs `moe_ffn` of a small layer on the simulator: compares its results, and compares the cycles of its tiles with those of `hpmoe
//! simulate`.

use super::machine::{Machine, absolute, for_toolkit};
use super::simulator::{LONGEST_WAIT, Libraries, Simulated, Simulator, collected};
use super::step::{Add, Ran, Status, Step, run};
use hpmoe_runtime::prelude::bf16;
use hpmoe_runtime::printable::printable_path;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BUILD: &str = "build moe_ffn";
const RUN: &str = "simulate moe_ffn";
const TILES: &str = "tiles of moe_ffn";

const HIDDEN: usize = 64;
const INTER: usize = 32;
const EXPERTS: usize = 4;
const TOP_K: usize = 2;
const TOKENS: usize = 16;
/// Sizes that are set explicitly, so that the build and `hpmoe simulate` do not choose different ones.
const TILE_SIZES: &str = "TILE_M=16,TILE_N=32,PUT=4,BLOCK=8,COLUMNS=64";

/// Maximum relative L2 error of a layer in bf16, as in the examples.
const TOLERANCE: f64 = 1e-2;

fn settings() -> String {
    format!("HIDDEN={HIDDEN},INTER={INTER},EXPERTS={EXPERTS},TOP_K={TOP_K},TOKENS={TOKENS},{TILE_SIZES}")
}

/// Builds the layer, even without a simulator, runs it on the simulator, and compares its tiles.
pub(super) fn steps(
    machine: &Machine<'_>,
    simulator: Result<&Simulator, &String>,
    add: &mut Add<'_>,
) -> Result<(), String> {
    let program = match &machine.options.layer {
        Some(program) => {
            add(Step::skipped(BUILD, format!("`{}` was given", printable_path(program))))?;
            Some(absolute(program.clone()))
        }
        None => {
            let (built, program) = build(machine);
            add(built)?;
            program
        }
    };
    let (program, simulator) = match (program, simulator) {
        (Some(program), Ok(simulator)) => (program, simulator),
        (program, simulator) => {
            let why = simulator.err().filter(|_| program.is_some()).cloned();
            let why = why.unwrap_or_else(|| format!("it needs `{BUILD}`"));
            add(Step::skipped(RUN, &*why))?;
            return add(Step::skipped(TILES, why));
        }
    };
    let trace = machine.folder.join("measured.json");
    add(simulate(machine, simulator, &program, &trace))?;
    add(tiles(machine, &trace))
}

fn build(machine: &Machine<'_>) -> (Step, Option<PathBuf>) {
    let checkout = &machine.options.checkout;
    if !checkout.join("examples/moe_ffn.rs").is_file() {
        let why = format!(
            "`{}` is not a checkout of hpmoe: run this in one, or name it (--checkout), or a program that was built (--layer)",
            printable_path(checkout)
        );
        return (Step::skipped(BUILD, why), None);
    }
    let target = machine.folder.join("target");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "-p", "hpmoe-example-moe_ffn", "--example", "moe_ffn"]).current_dir(checkout);
    for_toolkit(&mut command, &machine.toolkit);
    command.env("CARGO_TARGET_DIR", &target).env("HPMOE_DEVICE", "cann").env("HPMOE_SET", settings());
    command.env("HPMOE_MATRIX_CORES", machine.cores.to_string()).env("HPMOE_TIME_STAMPS", "on");
    let ran = run(command, machine.limit(), &machine.folder.join("build.log"));
    let program = (ran.status == Status::Ok).then(|| target.join("release/examples/moe_ffn"));
    let said = if program.is_some() { ran.end.clone() } else { format!("{}: {}", ran.end, ran.last().trim()) };
    let detail = json!({ "constants": settings(), "matrix_cores": machine.cores });
    (Step { name: BUILD.to_owned(), status: ran.status, seconds: ran.seconds, said, detail }, program)
}

fn simulate(machine: &Machine<'_>, simulator: &Simulator, program: &Path, trace: &Path) -> Step {
    let data = machine.folder.join("layer.safetensors");
    if let Err(error) = fs::write(&data, layer()) {
        return Step::skipped(RUN, format!("can't write `{}`: {error}", printable_path(&data)));
    }
    let mut arguments: Vec<OsString> =
        ["--device", "npu", "--ranks", "1", "--json", "--time-limit", LONGEST_WAIT, "--data"]
            .map(OsString::from)
            .into();
    arguments.extend([data.into(), "--trace".into(), trace.into(), "--out".into(), machine.folder.join("out").into()]);
    let folder = machine.folder.join("moe_ffn");
    let simulated =
        Simulated { program, arguments, folder, result: trace.to_owned(), minutes: machine.options.minutes };
    match simulator.run(&simulated) {
        Err(problem) => Step::skipped(RUN, problem),
        Ok((ran, libraries)) => told(&ran, libraries, collected(&simulated)),
    }
}

/// The outcome of the launch, which a line of JSON in the output states.
fn told(ran: &Ran, libraries: Libraries, cycles: Result<Value, String>) -> Step {
    let found = ran.text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let launch = found.into_iter().find(|value| value.get("bitwise_equal").is_some());
    let error = launch.as_ref().and_then(|launch| launch["relative_l2"].as_f64());
    let bits = match (&launch, error) {
        (Some(launch), _) if launch["bitwise_equal"] == true => "equal bit for bit with the reference".to_owned(),
        // Not a fault: the cube may add in another order.
        (_, Some(error)) => format!("different bits than the reference's, with a relative L2 error of {error:.2e}"),
        _ => format!("no result: {}: {}", ran.end, ran.last().trim()),
    };
    let right = error.is_some_and(|error| error < TOLERANCE);
    let status = match ran.status {
        Status::TimedOut => Status::TimedOut,
        _ if right && cycles.is_ok() => Status::Ok,
        _ => Status::Failed,
    };
    let (cycles, lacking) = match cycles {
        Ok(cycles) => (cycles, String::new()),
        Err(lacking) => (Value::Null, format!("; {lacking}")),
    };
    let detail = json!({ "launch": launch, "libraries": libraries.json(), "cores": cycles });
    let lacking = lacking + libraries.said();
    Step { name: RUN.to_owned(), status, seconds: ran.seconds, said: format!("{bits}{lacking}"), detail }
}

/// Simulates the same launch by `hpmoe simulate`, and compares the durations of tiles, kind by kind.
fn tiles(machine: &Machine<'_>, trace: &Path) -> Step {
    if !trace.is_file() {
        return Step::skipped(TILES, "the launch wrote no trace");
    }
    let hpmoe = machine.program.with_file_name("hpmoe");
    if !hpmoe.is_file() {
        let why = format!("there is no `{}`: cargo build --release -p hpmoe-cli", printable_path(&hpmoe));
        return Step::skipped(TILES, why);
    }
    let [routing, simulated] = ["routing.json", "simulated.json"].map(|name| machine.folder.join(name));
    if let Err(error) = fs::write(&routing, json!({ "topk_ids": [ids()] }).to_string()) {
        return Step::skipped(TILES, format!("can't write `{}`: {error}", printable_path(&routing)));
    }
    let mut command = Command::new(&hpmoe);
    command.arg("simulate").arg(machine.options.checkout.join("examples/moe_ffn.rs"));
    command.args(["--set", &settings(), "--ranks", "1", "--policy", "ours", "--allow-slow-tile-sizes", "--routing"]);
    command.arg(&routing).arg("--trace").arg(&simulated);
    command.arg("--constant").arg(format!("cores.aic={}", machine.cores));
    command.arg("--constant").arg(format!("cores.aiv={}", 2 * machine.cores));
    let limit = Duration::from_secs(120);
    let mut ran = run(command, limit, &machine.folder.join("simulate.log"));
    if ran.status == Status::Ok {
        let mut command = Command::new(&hpmoe);
        command.arg("diff").arg(&simulated).arg(trace);
        ran = run(command, limit, &machine.folder.join("diff.log"));
    }
    let said = match ran.status {
        Status::Ok => {
            "compared the times of tiles that hpmoe and CANN simulate: see `detail` of this step in the report file"
                .to_owned()
        }
        _ => format!("{}: {}", ran.end, ran.last().trim()),
    };
    let lines: Vec<&str> = ran.text.lines().collect();
    Step { name: TILES.to_owned(), status: ran.status, seconds: ran.seconds, said, detail: json!({ "diff": lines }) }
}

/// The experts of a token, chosen so that each expert has some tokens, and the numbers of tokens differ.
fn ids() -> Vec<[usize; TOP_K]> {
    (0..TOKENS).map(|token| [token * token % EXPERTS, (token * token + 1 + token % 3) % EXPERTS]).collect()
}

/// Numbers that bf16 holds, between -1 and 1.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let number = |at: u64| {
        let mixed = (at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bf16::from_f32((mixed.wrapping_mul(0x94D0_49BB_1331_11EB) >> 56) as f32 / 128.0 - 1.0).to_f32()
    };
    (0..count as u64).map(number).collect()
}

/// A small layer in safetensors form, with its outputs in f32.
fn layer() -> Vec<u8> {
    let x = numbers(1, TOKENS * HIDDEN);
    let gate_up: Vec<f32> = numbers(2, EXPERTS * 2 * INTER * HIDDEN).iter().map(|number| number / 8.0).collect();
    let down: Vec<f32> = numbers(3, EXPERTS * HIDDEN * INTER).iter().map(|number| number / 8.0).collect();
    let (ids, weights) = (ids(), [0.75_f32, 0.25]);
    let mut output = vec![0.0_f32; TOKENS * HIDDEN];
    for token in 0..TOKENS {
        let row = &x[token * HIDDEN..][..HIDDEN];
        for (expert, weight) in ids[token].iter().zip(weights) {
            let of_row = |at: usize| dot(row, &gate_up[(expert * 2 * INTER + at) * HIDDEN..][..HIDDEN]);
            let hidden = |at: usize| (of_row(at) / (1.0 + (-of_row(at)).exp())) * of_row(INTER + at);
            let hidden: Vec<f32> = (0..INTER).map(hidden).collect();
            for column in 0..HIDDEN {
                output[token * HIDDEN + column] +=
                    weight * dot(&hidden, &down[(expert * HIDDEN + column) * INTER..][..INTER]);
            }
        }
    }
    let halves =
        |numbers: &[f32]| numbers.iter().flat_map(|number| bf16::from_f32(*number).to_le_bytes()).collect::<Vec<u8>>();
    let wholes = |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let ids: Vec<u8> = ids.iter().flatten().flat_map(|id| (*id as i32).to_le_bytes()).collect();
    file(&[
        ("hidden_states", "BF16", vec![TOKENS, HIDDEN], halves(&x)),
        ("topk_ids", "I32", vec![TOKENS, TOP_K], ids),
        ("topk_weights", "F32", vec![TOKENS, TOP_K], wholes(&weights.repeat(TOKENS))),
        ("gate_up_proj", "BF16", vec![EXPERTS, 2 * INTER, HIDDEN], halves(&gate_up)),
        ("down_proj", "BF16", vec![EXPERTS, HIDDEN, INTER], halves(&down)),
        ("output", "F32", vec![TOKENS, HIDDEN], wholes(&output)),
    ])
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// A file of tensors: length of the header, header in JSON, data of all tensors.
fn file(tensors: &[(&str, &str, Vec<usize>, Vec<u8>)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, kind, shape, bytes) in tensors {
        let from = data.len();
        data.extend_from_slice(bytes);
        header.insert((*name).to_owned(), json!({ "dtype": kind, "shape": shape, "data_offsets": [from, data.len()] }));
    }
    let header = Value::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}
