//! `hpmoe simulate --gantt`.

use crate::{LAYER, SIZE, hpmoe, refuses};

#[test]
fn a_run_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.svg");
    let path = path.to_str().unwrap();
    let output =
        hpmoe(&["simulate", LAYER, "--set", SIZE, "--ranks", "2", "--policy", "ours", "--json", "--gantt", path]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read_to_string(path).unwrap().contains("Simulated latency"));
}

#[test]
fn a_picture_that_can_not_be_written_is_an_error() {
    let refused = refuses(&["simulate", LAYER, "--set", SIZE, "--ranks", "2", "--gantt", "/nowhere/at/all.svg"]);
    assert!(refused.contains("can't write /nowhere/at/all.svg"), "{refused}");
}
