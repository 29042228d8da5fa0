//! `hpmoe place`, and simulations with `--placement`.

use crate::{LAYER, as_typed, hpmoe, json, prints, refuses};
use serde_json::json;
use std::path::Path;

/// Loads of a layer whose first expert has as many rows as all other experts together.
fn skewed() -> Vec<u64> {
    (0..16).map(|expert| if expert == 0 { 1500 } else { 100 }).collect()
}

fn write(folder: &Path, name: &str, value: &serde_json::Value) -> String {
    let file = folder.join(name);
    std::fs::write(&file, value.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn loads_become_placements_and_placements_are_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let loads = write(folder.path(), "loads.json", &json!([skewed(), vec![1; 16]]));
    let placed = folder.path().join("placement.json");
    let placed = placed.to_str().unwrap();
    let table = prints(&["place", &loads, "--ranks", "4", "--spare", "1", "--output", placed]);
    let fullest: Vec<Vec<&str>> = table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(fullest.len(), 2, "{table}");
    assert_eq!((fullest[0][1], fullest[1][1]), ("2.400", "1.000"), "{table}");
    assert!(fullest[0][2].parse::<f64>().unwrap() < 1.1, "{table}");
    let written: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(placed).unwrap()).unwrap();
    assert_eq!(written, json(&["place", &loads, "--ranks", "4", "--spare", "1", "--json"]));
    assert_eq!((&written["ranks"], &written["experts"]), (&json!(4), &json!(16)));

    // A routing with these loads takes less time with the copies.
    let counts: Vec<Vec<u64>> = (0..4).map(|_| skewed()).collect();
    let counts = write(folder.path(), "counts.json", &json!({ "counts": counts }));
    let size = "HIDDEN=1024,INTER=256,EXPERTS=16,TOP_K=2,TOKENS=2048";
    let simulate = |more: &[&str]| {
        let common = ["simulate", LAYER, "--ranks", "4", "--policy", "ours", "--routing", &counts, "--set", size];
        json(&[&common, more, &["--json"]].concat())["simulated_us"].as_f64().unwrap()
    };
    let placed_run = ["simulate", LAYER, "--ranks", "4", "--policy", "ours", "--routing", &counts, "--set", size];
    let placed_run = [&placed_run[..], &["--set", "SPARE=1", "--placement", placed]].concat();
    let text = prints(&placed_run);
    assert!(text.contains("top 2 of 16 experts in 20 places"), "{text}");
    assert!(text.contains(" places, 1.6 MB each: "), "{text}");
    let copies = &json(&[&placed_run[..], &["--json"]].concat())["placement"];
    // Three matrices of bf16.
    assert_eq!(copies["bytes_each"], 3 * 1024 * 256 * 2);
    assert!(copies["places_written"].as_u64().unwrap() >= 3 && copies["copies_us"].as_f64().unwrap() > 0.0, "{copies}");
    let (plain, copied) = (simulate(&[]), simulate(&["--set", "SPARE=1", "--placement", placed]));
    assert!(copied < 0.8 * plain, "{copied} against {plain}");
    let few = refuses(&["simulate", LAYER, "--ranks", "4", "--set", size, "--placement", placed]);
    assert!(few.contains("has 5 places on each rank, but the kernel has 4: --set SPARE=1"), "{few}");
    let layer = format!("{placed}:7");
    let missing = refuses(&["simulate", LAYER, "--ranks", "4", "--set", size, "--placement", &layer]);
    assert!(missing.contains("has 2 layers"), "{missing}");

    // Later loads move few experts.
    let mut later = skewed();
    later.swap(0, 5);
    let later = write(folder.path(), "later.json", &json!([later, vec![1; 16]]));
    let table = prints(&["place", &later, "--ranks", "4", "--current", placed, "--moves", "2"]);
    let first: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
    assert!(first[3].parse::<usize>().unwrap() <= 2, "{table}");
    assert!(first[2].parse::<f64>().unwrap() < first[1].parse().unwrap(), "{table}");
}

#[test]
fn a_placement_is_accepted_if_it_saves_more_than_its_copies_take() {
    let folder = tempfile::tempdir().unwrap();
    let loads = write(folder.path(), "loads.json", &json!([skewed(), vec![1; 16]]));
    let placed = folder.path().join("placement.json");
    let placed = placed.to_str().unwrap();
    prints(&["place", &loads, "--ranks", "4", "--spare", "1", "--output", placed]);
    let mut later = skewed();
    later.swap(0, 5);
    let later = write(folder.path(), "later.json", &json!([later, vec![1; 16]]));
    let place = ["place", &later, "--ranks", "4", "--current", placed, "--launches", "50", "--row-ns", "1000"];
    let accepted = |more: &[&str]| -> Vec<bool> {
        let answer = json(&[&place[..], more, &["--json"]].concat());
        answer["payoffs"].as_array().unwrap().iter().map(|layer| layer["accepted"].as_bool().unwrap()).collect()
    };
    // Layer 1 is as even as it can be. Layer 0 saves some hundred rows of a microsecond each.
    assert_eq!(accepted(&["--copy-us", "10"]), [true, false]);
    assert_eq!(accepted(&["--copy-us", "2000"]), [false, false]);
    // If the loads were counted over a tenth of the launches, there are ten times as many rows.
    assert_eq!(accepted(&["--copy-us", "2000", "--counted", "5"]), [true, false]);
    let table = prints(&[&place[..], &["--copy-us", "10"]].concat());
    assert!(table.contains("  yes\n") && table.contains("  no: the new placement is not faster\n"), "{table}");
    let next = folder.path().join("next.json");
    let table = prints(&[&place[..], &["--copy-us", "2000", "--output", next.to_str().unwrap()]].concat());
    assert!(table.contains("no: the copies take longer than the launches save"), "{table}");
    // The placement in force stays.
    let read =
        |path: &Path| -> serde_json::Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    assert_eq!(read(&next)["layers"], read(Path::new(placed))["layers"]);
    prints(&["place", &later, "--ranks", "4", "--current", next.to_str().unwrap()]);
    for missing in [&place[..], &[&place[..1], &[&later, "--ranks", "4", "--launches", "9"]].concat()] {
        let output = as_typed(missing);
        assert!(!output.status.success());
        assert!(String::from_utf8(output.stderr).unwrap().contains("--copy-us"));
    }
}

#[test]
fn what_can_not_be_placed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let loads = write(folder.path(), "loads.json", &json!([[1, 2, 3, 4]]));
    let placed = write(folder.path(), "placed.json", &json!({"ranks": 2, "experts": 4, "layers": []}));
    let refused = |arguments: &[&str]| {
        let output = as_typed(&[&["place"], arguments].concat());
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["nowhere.json", "--ranks", "2"]).contains("can't read nowhere.json"));
    assert!(refused(&[&loads, "--ranks", "0"]).contains("1..=256"));
    assert!(refused(&[&loads]).contains("--ranks"));
    assert!(refused(&[&loads, "--ranks", "2", "--moves", "1"]).contains("--current"));
    assert!(refused(&[&loads, "--ranks", "2", "--current", &placed]).contains("has 0 layers, but the loads have 1"));
    let empty = write(folder.path(), "empty.json", &json!([]));
    assert!(refused(&[&empty, "--ranks", "2"]).contains("there are no loads"));
}

#[test]
fn ranks_need_not_divide_the_experts() {
    let size = "HIDDEN=256,INTER=128,EXPERTS=9,TOP_K=2,TOKENS=64";
    let on = |ranks| {
        let output = hpmoe(&["simulate", LAYER, "--policy", "ours", "--ranks", ranks, "--set", size]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    on("3");
    on("4");
    on("16");
}
