//! The subcommand `hpmoe tune`.

use crate::{LAYER, SIZE, hpmoe, json, prints, refuses};

#[test]
fn nothing_is_kept_for_a_machine_that_it_was_not_found_on() {
    let folder = tempfile::tempdir().unwrap();
    let layer = folder.path().join("layer.rs");
    std::fs::copy(LAYER, &layer).unwrap();
    let base =
        ["tune", layer.to_str().unwrap(), "--set", SIZE, "--ranks", "2", "--routing", "balanced", "--seconds", "0.1"];
    let changed = [&base[..], &["--constant", "link.other_package_ns=9290"]].concat();
    let refused = refuses(&changed);
    assert!(refused.contains("link.other_package_ns") && refused.contains("taken for ascend-a3"), "{refused}");
    assert!(prints(&[&changed[..], &["--dry-run", "--json"]].concat()).contains("default_simulated_us"));
    assert!(!folder.path().join("layer.tuned.toml").exists());
}

/// As `hpmoe measure` writes it, with the stand-in for CANN: times of which none is that of a machine.
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
    // Launches cost so much there that many a schedule is faster.
    let found = hpmoe(&[&["tune", layer, "--seconds", "0.5"][..], &size].concat());
    let said = String::from_utf8_lossy(&found.stdout);
    assert!(said.contains("simulated on stand-in: 0."), "{said}");
    let tuned = simulated();
    assert_eq!((&tuned["target"], &tuned["schedule"]), (&"stand-in".into(), &"tuned".into()), "{tuned}");
    assert!(tuned["simulated_us"].as_f64() < default["simulated_us"].as_f64(), "{tuned}");
}
