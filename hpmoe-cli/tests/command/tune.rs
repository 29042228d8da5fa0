//! The subcommand `hpmoe tune`.

use crate::{LAYER, SIZE, prints, refuses};

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
