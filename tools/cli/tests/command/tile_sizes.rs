//! The commands warn once if fixed tile sizes make a kernel slower, and name better ones.

use crate::{as_typed, json, layer_with, prints, tuned};

const SIZE: [&str; 4] = ["--set", "HIDDEN=1024,INTER=512,EXPERTS=16,TOP_K=4,TOKENS=256", "--ranks", "2"];

/// Runs a command that succeeds; returns its output and its warnings.
fn warnings(arguments: &[&str]) -> (String, Vec<String>) {
    let output = as_typed(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let warnings = said.lines().filter(|line| line.starts_with("warning: ")).map(str::to_owned).collect();
    (String::from_utf8(output.stdout).unwrap(), warnings)
}

#[test]
fn fixed_sizes_that_cost_time_are_warned_of_once() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = layer_with(folder.path(), "fixed.rs", "16");
    for command in
        [&["simulate", &fixed, "--policy", "ours"][..], &["schedule", &fixed], &["schedule", &fixed, "--json"]]
    {
        let typed = [command, &SIZE].concat();
        let (printed, warnings) = warnings(&typed);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.starts_with("warning: kernel `moe_ffn` is estimated to take "), "{warning}");
        assert!(
            warning.contains(" TILE_M = 16, TILE_N = 16 as with ") && warning.contains(" TILE_M = 128,"),
            "{warning}"
        );
        assert!(warning.contains(": usize = _;` in the source, and likewise "), "{warning}");
        // The option that the warning offers exists.
        assert!(warning.ends_with(". `--allow-slow-tile-sizes` keeps the sizes without this warning"), "{warning}");
        assert_eq!(prints(&typed), printed);
    }
}

#[test]
fn a_kernel_with_several_taskflows_is_warned_of_once() {
    let layer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_backward.rs");
    let tiny = "HIDDEN=512,INTER=256,EXPERTS=8,TOP_K=2,TOKENS=128,TILE_M=16,TILE_N=16,GRAD_M=32,GRAD_N=32,PUT=4,BLOCK=4,COLUMNS=64";
    let (printed, warnings) = warnings(&["schedule", layer, "--json", "--set", tiny]);
    assert_eq!((printed.lines().count(), warnings.len()), (4, 1), "{warnings:?}");
    assert!(warnings[0].contains("kernel `moe_train` is estimated to take "), "{warnings:?}");
}

#[test]
fn sizes_that_are_left_open_are_not_warned_of_and_those_that_are_set_are() {
    let folder = tempfile::tempdir().unwrap();
    let open = layer_with(folder.path(), "open.rs", "_");
    for command in ["simulate", "schedule"] {
        let policy: &[&str] = if command == "simulate" { &["--policy", "ours"] } else { &[] };
        let typed = [&[command, open.as_str()], &SIZE[..], policy].concat();
        let (printed, said) = warnings(&typed);
        assert!(said.is_empty() && printed.contains(", left open: BLOCK = "), "{said:?} {printed}");
        let found = json(&[&typed[..], &["--json"]].concat());
        let sizes = found["tile_sizes"].as_object().unwrap().iter().map(|(name, size)| format!("{name} = {size}"));
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        assert!(printed.contains(&format!(", left open: {sizes}\n")), "{sizes}: {printed}");
        let (_, said) = warnings(&[&typed[..], &["--set", "TILE_M=16"]].concat());
        assert!(said.len() == 1 && said[0].contains("leave `TILE_M` out of `--set`, to have them chosen"), "{said:?}");
    }
    let tune = [&open, "--set", "TILE_M=16", "--routing", "balanced", "--dry-run"];
    let said = String::from_utf8(tuned(&[&tune[..], &SIZE].concat()).stderr).unwrap();
    assert!(said.lines().count() == 1 && said.contains("leave `TILE_M` out of `--set`"), "{said:?}");
}
