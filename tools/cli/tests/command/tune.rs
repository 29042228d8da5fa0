//! The subcommand `hpmoe tune`.

use crate::{LAYER, SIZE, json, layer_with, prints, refuses, tuned, tuned_until};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_search_lasts_a_finite_number_of_seconds() {
    for seconds in ["inf", "nan", "0", "-1"] {
        let refused = refuses(&["tune", LAYER, &format!("--seconds={seconds}"), "--dry-run"]);
        assert!(refused.contains("but must be a finite number above 0"), "{refused}");
    }
}

#[test]
fn nothing_is_kept_for_a_machine_that_it_was_not_found_on() {
    let folder = tempfile::tempdir().unwrap();
    let layer = folder.path().join("layer.rs");
    std::fs::copy(LAYER, &layer).unwrap();
    let base = [layer.to_str().unwrap(), "--set", SIZE, "--ranks", "2", "--routing", "balanced"];
    let changed = [&base[..], &["--constant", "link.other_package_ns=9290"]].concat();
    let refused = refuses(&[&["tune", "--seconds", "0.1"], &changed[..]].concat());
    assert!(
        refused.contains("link.other_package_ns") && refused.contains("use this schedule for the unchanged ascend-a3"),
        "{refused}"
    );
    let found = tuned(&[&changed[..], &["--dry-run", "--json", "--allow-slow-tile-sizes"]].concat());
    assert!(String::from_utf8(found.stdout).unwrap().contains("default_simulated_us"));
    assert!(!folder.path().join("layer.tuned.toml").exists());
}

/// A target file as `hpmoe measure` writes it with the stand-in for CANN; its times are meaningless.
const MEASURED: &str = include_str!("machine.toml");

#[test]
fn a_machine_that_was_measured_is_searched_and_simulated_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let [layer, machine] = ["layer.rs", "machine.toml"].map(|name| folder.path().join(name));
    std::fs::copy(LAYER, &layer).unwrap();
    std::fs::write(&machine, MEASURED).unwrap();
    let [layer, machine] = [&layer, &machine].map(|path| path.to_str().unwrap());
    let size = ["--set", SIZE, "--ranks", "2", "--routing", "balanced", "--target", machine];
    let simulated = || json(&[&["simulate", layer, "--policy", "ours", "--json"][..], &size].concat());
    let default = simulated();
    assert_eq!((&default["target"], &default["schedule"]), (&"stand-in".into(), &"default".into()), "{default}");
    let estimates = default["assumed"].to_string();
    assert!(estimates.contains("meaningless: "), "{estimates}");
    // On this target, launches are so expensive that many schedules are faster.
    let found = tuned_until(&[&[layer][..], &size].concat(), |found| !found.contains("nothing better"));
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(said.contains("simulated on stand-in: 0."), "{said}");
    let tuned = simulated();
    assert_eq!((&tuned["target"], &tuned["schedule"]), (&"stand-in".into(), &"tuned".into()), "{tuned}");
    assert!(tuned["simulated_us"].as_f64() < default["simulated_us"].as_f64(), "{tuned}");
}

/// Additional time that a loaded machine may take.
const NOISE: Duration = Duration::from_secs(20);

#[test]
fn the_time_given_is_kept_even_if_one_candidate_takes_longer() {
    let folder = tempfile::tempdir().unwrap();
    let layer = layer_with(folder.path(), "layer.rs", "16");
    // The product of a tile is cheap, but each of 40 simulations has a million of them.
    let size = "HIDDEN=7168,INTER=2048,EXPERTS=256,TOP_K=8,TOKENS=4096";
    let set = |sizes: &str| format!("{size}{sizes}");
    let tune = |settings: &str, seconds: &str, routings: &[&str]| {
        let start = Instant::now();
        let fixed = ["tune", &layer, "--set", settings, "--ranks", "8", "--dry-run", "--seconds", seconds];
        let said = refuses(&[&fixed[..], routings].concat());
        let limit = Duration::from_secs_f64(seconds.parse::<f64>().unwrap() * 1.1 + 1.0);
        assert!(start.elapsed() < limit + NOISE, "{:?} for {seconds} s: {said}", start.elapsed());
        said
    };
    // Sizes that are set stay: the start has small tiles as well.
    let all = set(",TILE_M=16,TILE_N=16,PUT=16,BLOCK=16,COLUMNS=16");
    let said = tune(&all, "4", &[]);
    assert!(said.starts_with("error: kernel `moe_ffn`: after 4 s the search was still "), "{said}");
    assert!(said.contains(", and has compared nothing: give it more time (`--seconds "), "{said}");
    assert!(said.ends_with("), or simulate fewer routings (`--routing balanced`)\n"), "{said}");
    let said = tune(&all, "0.5", &["--routing", "balanced"]);
    assert!(said.ends_with("or simulate fewer tokens or ranks (`--set TOKENS=…`, `--ranks`)\n"), "{said}");
}

#[test]
fn routings_that_take_long_are_named_if_time_is_short() {
    let folder = tempfile::tempdir().unwrap();
    let layer = layer_with(folder.path(), "layer.rs", "64");
    let set = "HIDDEN=256,INTER=128,EXPERTS=16,TOP_K=4,TOKENS=200000000";
    let given = ["tune", &layer, "--set", set, "--set", "TILE_M=64,TILE_N=64,PUT=64,BLOCK=64,COLUMNS=64"];
    let short = ["--ranks", "2", "--dry-run", "--seconds", "2", "--routing", "zipf:1"];
    let said = refuses(&[&given[..], &short].concat());
    assert!(said.contains("after 2 s the search was still drawing routings, and has compared nothing"), "{said}");
    assert!(said.ends_with("or simulate fewer tokens or ranks (`--set TOKENS=…`, `--ranks`)\n"), "{said}");
}

#[test]
fn a_search_starts_from_the_sizes_that_a_build_would_choose() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = layer_with(folder.path(), "fixed.rs", "16");
    let open = layer_with(folder.path(), "open.rs", "_");
    let size = ["--set", "HIDDEN=1024,INTER=512,EXPERTS=16,TOP_K=4,TOKENS=256", "--ranks", "2"];
    let search = ["--routing", "balanced", "--dry-run", "--json"];
    let simulated = prints(&[&["simulate", &open, "--policy", "ours"][..], &size].concat());
    let (_, chosen) = simulated.split_once(", left open: ").unwrap();
    let chosen: Vec<String> = chosen.lines().next().unwrap().split(", ").map(str::to_owned).collect();
    let tune = |file: &str, more: &[&str]| -> Value {
        let found = tuned(&[&[file][..], &size, &search, more].concat());
        serde_json::from_slice(&found.stdout).unwrap()
    };
    let listed = |found: &Value| -> Vec<String> {
        let sizes = found["start_sizes"].as_object().unwrap();
        sizes.iter().map(|(name, size)| format!("{name} = {size}")).collect()
    };
    let found = tune(&fixed, &[]);
    assert_eq!((chosen.len(), listed(&found)), (5, chosen.clone()), "{found}");
    let sum = |times: &Value| times.as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).sum::<f64>();
    assert!(sum(&found["simulated_us"]) <= sum(&found["start_simulated_us"]), "{found}");
    // The default kernel has small tiles: its estimate is far slower, so it is not simulated.
    assert!(found["default_simulated_us"].is_null() && found["sizes"]["TILE_M"].as_u64() > Some(16), "{found}");
    let same = tune(&open, &[]);
    assert_eq!((listed(&same), &same["default_simulated_us"]), (chosen.clone(), &same["start_simulated_us"]), "{same}");
    // Set sizes stay.
    let set = tune(&fixed, &["--set", "TILE_N=64"]);
    assert!(!listed(&set).iter().any(|size| size.starts_with("TILE_N")) && set["sizes"]["TILE_N"].is_null(), "{set}");
}

#[test]
fn what_was_found_before_an_interrupt_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let layer = layer_with(folder.path(), "layer.rs", "16");
    let size = "HIDDEN=1024,INTER=512,EXPERTS=16,TOP_K=4,TOKENS=256";
    let interrupted_after = |seconds| {
        let search = Command::new(env!("CARGO_BIN_EXE_hpmoe"))
            .args(["tune", &layer, "--set", size, "--ranks", "2", "--routing", "balanced", "--seconds", "6000"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        std::thread::sleep(Duration::from_secs(seconds));
        let interrupt = Command::new("kill").args(["-INT", &search.id().to_string()]).status();
        assert!(interrupt.expect("`kill` is there").success());
        let output = search.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("interrupted"), "{said}");
        (output.status.code(), said)
    };
    let start = Instant::now();
    // On a loaded machine, there may be no result after a second.
    let mut interrupted = [1, 8, 64].into_iter().map(interrupted_after);
    let said = interrupted.find_map(|(code, said)| (code == Some(130)).then_some(said)).expect("something is found");
    assert!(said.ends_with("interrupted: the search ended early\n"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(600), "{:?}", start.elapsed());
    // The start's tiles are better than those of the source.
    let kept = std::fs::read_to_string(folder.path().join("layer.tuned.toml")).unwrap();
    let sizes = kept.lines().find(|line| line.starts_with("sizes = ")).expect("sizes are kept");
    assert!(["TILE_M = 16,", "TILE_N = 16 "].iter().all(|size| !sizes.contains(size)), "{kept}");
    assert!(kept.contains("(BLOCK = 16, COLUMNS = 16, PUT = 16, TILE_M = 16, TILE_N = 16) are estimated"), "{kept}");
}
