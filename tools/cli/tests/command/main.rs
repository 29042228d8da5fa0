//! The command `hpmoe`, run in the same way as by users.

mod book;
mod calibrate;
mod check;
mod damaged;
mod diff;
mod emit;
mod export;
mod figures;
mod memfine;
mod memory;
mod output;
mod pictures;
mod place;
mod replay;
mod report;
mod schedule;
mod simulate;
mod tile_sizes;
mod trace;
mod tune;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The forward layer.
const LAYER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_ffn.rs");
/// The forward and the backward pass.
const BACKWARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_backward.rs");
/// A backward pass in chunks, alone in its file.
const CHUNKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_backward_chunked.rs");
/// A layer that makes its route, which the original does not implement.
const ROUTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_router.rs");
/// Sizes that are simulated quickly, with tiles as large as on a device.
const SIZE: &str =
    "HIDDEN=1024,INTER=256,EXPERTS=16,TOP_K=4,TOKENS=256,TILE_M=128,TILE_N=256,PUT=16,BLOCK=16,COLUMNS=1024";

/// Runs the command without the warning about tile sizes, which tests set on purpose.
fn hpmoe(arguments: &[&str]) -> Output {
    let judges = arguments.first().is_some_and(|name| ["schedule", "simulate", "report", "tune"].contains(name));
    let allow: &[&str] = if judges { &["--allow-slow-tile-sizes"] } else { &[] };
    as_typed(&[arguments, allow].concat())
}

/// Runs the command with exactly these arguments.
fn as_typed(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hpmoe")).args(arguments).output().expect("the command runs")
}

/// Runs `tune` with these arguments. If it has compared nothing, because the machine is loaded, runs it again with more
/// time.
fn tuned(arguments: &[&str]) -> Output {
    tuned_until(arguments, |_| true)
}

/// Runs `tune` with these arguments, with more and more time until the printed text meets a condition.
fn tuned_until(arguments: &[&str], wanted: impl Fn(&str) -> bool) -> Output {
    let search = |seconds| as_typed(&[&["tune", "--seconds", seconds][..], arguments].concat());
    let enough = |output: &Output| {
        let short = String::from_utf8_lossy(&output.stderr).contains("has compared nothing");
        !short && wanted(&String::from_utf8_lossy(&output.stdout))
    };
    ["1", "4", "16", "64"].into_iter().map(search).find(enough).expect("64 s are enough for a small layer")
}

/// Runs a command that must succeed, and returns its output.
fn prints(arguments: &[&str]) -> String {
    let output = hpmoe(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&prints(arguments)).expect("JSON")
}

/// Runs a command that must fail, and returns its error, which must be one line.
fn refuses(arguments: &[&str]) -> String {
    let output = hpmoe(arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?} succeeds");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

/// The layer with all tile sizes set to one value or left open.
fn layer_with(folder: &Path, name: &str, size: &str) -> String {
    let text = std::fs::read_to_string(LAYER).unwrap();
    let sized =
        text.lines().map(|line| match line.trim().strip_prefix("pub const ").and_then(|rest| rest.split_once(':')) {
            Some(("TILE_M" | "TILE_N" | "PUT" | "BLOCK" | "COLUMNS", _)) => {
                format!("{} = {size};\n", line.split(" = ").next().unwrap())
            }
            _ => format!("{line}\n"),
        });
    let (path, text) = (folder.join(name), sized.collect::<String>());
    assert!(
        text.contains(&format!("TILE_N: usize = {size};")) && text.contains(&format!("PUT: usize = {size};")),
        "{text}"
    );
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}
