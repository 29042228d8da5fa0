//! The subcommand `hpmoe check`.

use crate::{LAYER, hpmoe, json};
use serde_json::Value;

#[test]
fn what_is_never_used_is_a_warning_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layer.rs");
    let text = std::fs::read_to_string(LAYER).unwrap();
    let spare = "let spare = PerRank::ragged::<bf16, HIDDEN>(ep, route);\n        let back =";
    std::fs::write(&path, text.replacen("let back =", spare, 1)).unwrap();
    let checked = |file: &str| {
        let output = hpmoe(&["check", file]);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("moe_ffn::forward is right"));
        String::from_utf8(output.stderr).unwrap()
    };
    let said = checked(path.to_str().unwrap());
    assert!(said.contains("warning: no call of `forward` reads or writes `spare`"), "{said}");
    assert!(said.contains("layer.rs:") && said.contains("help: use it in a call or delete it"), "{said}");
    assert_eq!(checked(LAYER), "");
}

#[test]
fn json_has_what_the_text_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("layer.rs");
    let text = std::fs::read_to_string(LAYER).unwrap();
    let right = json(&["check", LAYER, "--json"]);
    assert_eq!(right["file"], LAYER);
    let flow = &right["taskflows"][0];
    assert_eq!((&flow["kernel"], &flow["taskflow"]), (&"moe_ffn".into(), &"forward".into()));
    let counts = ["tasks", "calls", "tensors", "dependencies"].map(|key| flow[key].as_u64().unwrap());
    let said = String::from_utf8(hpmoe(&["check", LAYER]).stdout).unwrap();
    assert!(
        said.ends_with(&format!(
            "{} tasks, {} calls, {} tensors, {} dependencies\n",
            counts[0], counts[1], counts[2], counts[3]
        )),
        "{said}"
    );
    assert_eq!((&right["faults"], &right["warnings"]), (&Value::Array(vec![]), &Value::Array(vec![])));

    std::fs::write(&path, text.replacen("h.store(gate.silu()", "h.store(gates.silu()", 1)).unwrap();
    let output = hpmoe(&["check", path.to_str().unwrap(), "--json"]);
    assert!(!output.status.success() && output.stderr.is_empty());
    let wrong: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fault = &wrong["faults"][0];
    let line = 1 + text.lines().position(|line| line.contains("h.store(gate.silu()")).unwrap();
    assert_eq!(fault["line"], line);
    assert!(fault["column"].as_u64().unwrap() > 1 && fault["code"].as_str().unwrap().starts_with("HP"), "{fault}");
    assert!(fault["message"].as_str().unwrap().contains("gates"), "{fault}");
}

#[test]
fn every_subcommand_shows_the_faults_that_check_shows() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    for setting in ["PUT=0", "TILE_M=0", "TILE_N=0"] {
        let output = hpmoe(&["check", LAYER, "--set", setting]);
        assert!(!output.status.success());
        let shown = String::from_utf8(output.stderr).unwrap();
        assert!(shown.contains("moe_ffn.rs:"), "{shown}");
        let commands: [&[&str]; 9] = [
            &["simulate", LAYER],
            &["schedule", LAYER],
            &["schedule", LAYER, "--tile-tasks", "1000"],
            &["graph", LAYER],
            &["emit", LAYER],
            &["memory", LAYER],
            &["tune", LAYER, "--dry-run", "--seconds", "60"],
            &["report", LAYER, "--out", page],
            &["diff", LAYER, LAYER],
        ];
        for command in commands {
            let output = hpmoe(&[command, &["--set", setting]].concat());
            assert!(!output.status.success() && output.stdout.is_empty(), "{command:?} succeeds with {setting}");
            let said = String::from_utf8(output.stderr).unwrap();
            let (first, rest) = said.split_once("\n\n").unwrap();
            assert!(first.starts_with("error: kernel `moe_ffn` has "), "{command:?}: {said}");
            assert!(first.contains(&format!(" with {}", setting.replace('=', " = "))), "{command:?}: {said}");
            assert_eq!(rest.trim_end(), shown.trim_end(), "{command:?}");
        }
    }
}

#[test]
fn the_faults_of_all_kernels_of_a_file_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.rs");
    let text = std::fs::read_to_string(LAYER).unwrap();
    let second = &text[text.find("#[megakernel]").unwrap()..].replace("pub mod moe_ffn", "pub mod second");
    std::fs::write(&path, format!("{text}\n{second}")).unwrap();
    let path = path.to_str().unwrap();
    let faults = |command: &str| {
        let output = hpmoe(&[command, path, "--set", "TILE_M=0"]);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let (shown, said) = (faults("check"), faults("graph"));
    assert_eq!(said.matches("error[HP04]").count(), shown.matches("error[HP04]").count());
    for kernel in ["moe_ffn", "second"] {
        assert!(
            said.contains(&format!("error: kernel `{kernel}` has 1 fault with TILE_M = 0\n\nerror[HP04]")),
            "{said}"
        );
    }
}
