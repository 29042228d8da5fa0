//! Damaged files: the command does its work or reports an error within its time limit.

use super::{LAYER, SIZE};
use hpmoe_core::random::Random;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TARGET: &str = include_str!("../../../../hpmoe-core/targets/ascend-a3.toml");
const TUNED: &str = include_str!("../../../../ui-tests/kernels/mixed.tuned.toml");
const TUNED_KERNEL: &str = include_str!("../../../../ui-tests/kernels/mixed.rs");
const TRACE: &str = include_str!("measured.json");
const COUNTS: &str = "{\"counts\": [[200, 100, 0, 24, 200, 100, 0, 24, 100, 50, 50, 50, 26, 50, 50, 0],\n\
    [0, 0, 0, 0, 0, 0, 0, 0, 200, 200, 200, 200, 100, 50, 50, 24]]}\n";
const IDS: &str = "{\"topk_ids\": [[[0, 1, 2, 3],\n[4, 5, 6, 7]],\n[[15, 14, 13, 12],\n[0, 8, 9, 10]]]}\n";

/// Extreme numbers.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "0x10",
    "1.5",
];

/// Time limit, which is more than the command needs for any of these inputs.
const LIMIT: Duration = Duration::from_secs(60);

/// The text with one to three changes.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let place = |random: &mut Random, text: &str| {
            let at = random.index(text.len() + 1);
            (at..=text.len()).find(|&at| text.is_char_boundary(at)).expect("the end is a boundary")
        };
        let (a, b) = (place(random, &text), place(random, &text));
        let (from, to) = (a.min(b), a.max(b));
        let numbers: Vec<(usize, usize)> = {
            let starts = text
                .char_indices()
                .filter(|(at, c)| c.is_ascii_digit() && !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric()));
            starts
                .map(|(at, _)| (at, at + text[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - at)))
                .collect()
        };
        match random.below(8) {
            0 => text.truncate(from),
            1 => {
                let near = (from..=to.min(from + 40)).rev().find(|&at| text.is_char_boundary(at));
                text.replace_range(from..near.expect("it starts at a boundary"), "");
            }
            2 => text
                .insert_str(from, ["\"", "é", "]", "[[", "{", "}", "=", "\0", "#", "\n", "//", "'"][random.index(12)]),
            3 => {
                let mut lines: Vec<&str> = text.lines().collect();
                if !lines.is_empty() {
                    let line = lines[random.index(lines.len())];
                    lines.insert(random.index(lines.len()), line);
                }
                text = lines.join("\n");
            }
            4 => {
                let mut lines: Vec<&str> = text.lines().collect();
                if !lines.is_empty() {
                    lines.remove(random.index(lines.len()));
                }
                text = lines.join("\n");
            }
            _ if !numbers.is_empty() => {
                let (start, end) = numbers[random.index(numbers.len())];
                text.replace_range(start..end, NUMBERS[random.index(NUMBERS.len())]);
            }
            _ => text.clear(),
        }
    }
    text
}

/// Runs the command. It must end by itself, either successfully or with one error, and never panic.
fn survives(arguments: &[&str], text: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hpmoe"));
    let mut child =
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments:?} takes more than {LIMIT:?} with\n{text}");
        }
        sleep(Duration::from_millis(3));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(
        code == Some(0) || (code == Some(1) && !said.is_empty()),
        "{arguments:?}: {}\n{said}\nwith\n{text}",
        output.status
    );
    assert!(!said.contains("fault of hpmoe"), "{arguments:?}: {said}\nwith\n{text}");
}

/// Damages a text repeatedly, and runs the command on each result.
fn damage(text: &str, name: &str, arguments: impl Fn(&Path) -> Vec<String>) {
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |value| value.parse().expect("it is a number"));
    let (first, count) = (number("HPMOE_DAMAGED_FROM", 0), number("HPMOE_DAMAGED", 12));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    for seed in first..first + count {
        let text = damaged(text, &mut Random(seed));
        std::fs::write(&file, &text).unwrap();
        let arguments = arguments(&file);
        survives(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &format!("seed {seed}:\n{text}"));
    }
}

fn simulate(more: &[&str]) -> Vec<String> {
    ["simulate", LAYER, "--set", SIZE, "--ranks", "2", "--policy", "ours"]
        .iter()
        .chain(more)
        .map(|&word| word.to_owned())
        .collect()
}

#[test]
fn targets() {
    damage(TARGET, "machine.toml", |file| simulate(&["--target", file.to_str().unwrap()]));
}

#[test]
fn counts() {
    damage(COUNTS, "counts.json", |file| simulate(&["--routing", file.to_str().unwrap()]));
}

#[test]
fn ids() {
    damage(IDS, "ids.json", |file| simulate(&["--routing", file.to_str().unwrap()]));
}

#[test]
fn tuned_schedules() {
    damage(TUNED, "mixed.tuned.toml", |file| {
        let kernel = file.with_file_name("mixed.rs");
        std::fs::write(&kernel, TUNED_KERNEL).unwrap();
        ["schedule", kernel.to_str().unwrap()].map(str::to_owned).to_vec()
    });
}

#[test]
fn kernels() {
    let layer = std::fs::read_to_string(LAYER).unwrap();
    damage(&layer, "layer.rs", |file| ["check", file.to_str().unwrap()].map(str::to_owned).to_vec());
}

#[test]
fn traces() {
    damage(TRACE, "damaged.json", |file| {
        let whole = file.with_file_name("whole.json");
        std::fs::write(&whole, TRACE).unwrap();
        [Path::new("diff"), file, &whole].map(|word| word.to_str().unwrap().to_owned()).to_vec()
    });
}

#[test]
fn settings() {
    damage(SIZE, "settings", |file| {
        let settings = std::fs::read_to_string(file).unwrap().replace('\0', "");
        ["check", LAYER, "--set", &settings].map(str::to_owned).to_vec()
    });
}
