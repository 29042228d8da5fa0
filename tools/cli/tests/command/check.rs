//! The subcommand `hpmoe check`.

use crate::{LAYER, hpmoe};

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
