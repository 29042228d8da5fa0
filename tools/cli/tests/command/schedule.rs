//! The subcommand `hpmoe schedule`.

use crate::{LAYER, SIZE, hpmoe, json, prints, refuses};
use serde_json::Value;
use std::path::Path;

#[test]
fn a_synthetic_layer_has_about_as_many_tiles_as_asked_for() {
    for (wanted, more) in [("2000", vec![]), ("30000", vec![]), ("5000", vec![LAYER])] {
        let found = json(&[&["schedule", "--tile-tasks", wanted, "--json"], &more[..]].concat());
        let (tasks, wanted) = (found["tasks"].as_f64().unwrap(), wanted.parse::<f64>().unwrap());
        assert!((0.7..1.4).contains(&(tasks / wanted)), "{found}");
        assert!(found["seconds"].as_f64().unwrap() > 0.0);
        let bytes = found["bytes_per_task"].as_f64().unwrap();
        assert!(bytes > 0.0 && bytes <= 200.0, "{bytes}");
        // One descriptor stands for the entries of several peers.
        assert!(bytes * tasks < 0.8 * 64.0 * found["entries"].as_f64().unwrap(), "{found}");
    }
}

#[test]
fn bad_input_is_told_in_a_line() {
    let refused = refuses(&["schedule", LAYER, "--export", "/nowhere/at/all.json"]);
    assert!(refused.contains("can't write /nowhere/at/all.json"), "{refused}");
    let refused = refuses(&["schedule", LAYER, "--export", "x.json", "--taskflow", "sideways"]);
    assert!(refused.contains("no taskflow `sideways`: choose --taskflow among moe_ffn::forward"), "{refused}");
    assert!(
        refuses(&["schedule", "--tile-tasks", "900", "--matrix-cores", "0"])
            .contains("a rank can't have 0 matrix cores: choose from 1 to 512")
    );
}

/// A copy of the layer with a tuned schedule next to it.
fn tuned_layer(folder: &Path) -> String {
    let layer = folder.join("layer.rs");
    let source = std::fs::read_to_string(LAYER).unwrap().replace("const PUT: usize = _;", "const PUT: usize = 8;");
    std::fs::write(&layer, source).unwrap();
    let text = "[[tuned]]\nkernel = \"moe_ffn\"\ntarget = \"ascend-a3\"\nmatrix_cores = 24\n\
        shape = { EXPERTS = 16, HIDDEN = 1024, INTER = 256, TOKENS = 256, TOP_K = 4 }\nsizes = { PUT = 32 }\n\
        choices.forward = { put_cores = 3 }\n";
    std::fs::write(folder.join("layer.tuned.toml"), text).unwrap();
    layer.to_str().unwrap().to_owned()
}

#[test]
fn a_tuned_schedule_is_shown_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let layer = tuned_layer(folder.path());
    // PUT is left to the file.
    let size = SIZE.replace("PUT=16,", "");
    let shown = |more: &[&str]| prints(&[&["schedule", &layer, "--set", &size], more].concat());
    let (tuned, untuned) = (shown(&[]), shown(&["--untuned"]));
    let heading = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(heading(&tuned), "moe_ffn::forward, tuned schedule, with PUT = 32 (in the source: 8)");
    assert_eq!(heading(&untuned), "moe_ffn::forward, default schedule");
    assert_ne!(tuned.lines().skip(1).collect::<Vec<_>>(), untuned.lines().skip(1).collect::<Vec<_>>());
    assert_eq!(json(&["schedule", &layer, "--set", &size, "--json"])["schedule"], "tuned");
    // Set sizes win over tuned ones, whose choices are not for them.
    let others = hpmoe(&["schedule", &layer, "--set", SIZE]);
    assert_eq!(heading(&String::from_utf8(others.stdout).unwrap()), "moe_ffn::forward, default schedule");
    let same = SIZE.replace("PUT=16", "PUT=32");
    assert_eq!(heading(&prints(&["schedule", &layer, "--set", &same])), "moe_ffn::forward, tuned schedule");
    // An export also says which schedule it has.
    let path = folder.path().join("schedule.json");
    let path = path.to_str().unwrap();
    for (more, origin) in [(&[][..], "tuned"), (&["--untuned"], "default")] {
        let output = hpmoe(&[&["schedule", &layer, "--set", &size, "--ranks", "2", "--export", path], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("{origin} schedule")));
        let export: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(export["schedule"], origin);
    }
}

/// Each command that reads the file says once why it does not use it.
#[test]
fn choices_are_used_only_for_the_sizes_that_they_were_found_for() {
    let folder = tempfile::tempdir().unwrap();
    let layer = tuned_layer(folder.path());
    let notes = |command: &str, size: &str, more: &[&str]| {
        let output = hpmoe(&[&[command, &layer, "--set", size], more].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said.lines().filter(|line| line.contains("tuned.toml")).map(str::to_owned).collect::<Vec<_>>()
    };
    let found = SIZE.replace("PUT=16", "PUT=32");
    let of_other_constants = SIZE.replace("TOKENS=256", "TOKENS=128");
    let html = folder.path().join("layer.html");
    let report = ["--ranks", "4", "--out", html.to_str().unwrap()];
    let ranks = ["--ranks", "4"];
    for (command, more) in [
        ("schedule", &[][..]),
        ("simulate", &ranks),
        ("report", &report),
        ("emit", &[]),
        ("graph", &[]),
        ("memory", &ranks),
    ] {
        for size in [&found, &of_other_constants] {
            assert_eq!(notes(command, size, more), [""; 0], "{command}");
        }
        let said = notes(command, SIZE, more);
        let [said] = &said[..] else { panic!("{command}: {said:?}") };
        assert!(said.starts_with("warning: kernel `moe_ffn` has the default schedule: `"), "{said}");
        assert!(
            said.contains(
                "has no schedule found with PUT = 16 (one was found with PUT = 32) on ascend-a3 (`hpmoe tune`"
            )
        );
    }
    assert_eq!(notes("schedule", SIZE, &["--untuned"]), [""; 0]);
}

#[test]
fn a_file_says_how_many_cores_there_are() {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/targets/twenty-cores.toml");
    let shown = |more: &[&str]| prints(&[&["schedule", LAYER, "--set", SIZE], more].concat());
    let described = shown(&["--target", target]);
    assert!(described.contains("for 20 matrix and 40 vector cores"), "{described}");
    assert_eq!(shown(&["--target", target, "--matrix-cores", "20"]), described);
    let numbered = shown(&["--matrix-cores", "20"]);
    assert!(numbered.contains("for 20 matrix and 40 vector cores"), "{numbered}");
    let refused = hpmoe(&["check", LAYER, "--target", target, "--matrix-cores", "24"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("24 matrix cores contradict") && said.contains("line "),
        "{said}"
    );
}
