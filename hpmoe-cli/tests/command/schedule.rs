//! `hpmoe schedule`.

use crate::{LAYER, SIZE, hpmoe, json, prints, refuses};

#[test]
fn a_synthetic_layer_has_about_as_many_tiles_as_asked_for() {
    for (wanted, more) in [("2000", vec![]), ("30000", vec![]), ("5000", vec![LAYER])] {
        let found = json(&[&["schedule", "--tile-tasks", wanted, "--json"], &more[..]].concat());
        let (tasks, wanted) = (found["tasks"].as_f64().unwrap(), wanted.parse::<f64>().unwrap());
        assert!((0.7..1.4).contains(&(tasks / wanted)), "{found}");
        assert!(found["seconds"].as_f64().unwrap() > 0.0);
        let bytes = found["bytes_per_task"].as_f64().unwrap();
        assert!(bytes > 0.0 && bytes <= 200.0, "{bytes}");
    }
}

#[test]
fn bad_input_is_told_in_a_line() {
    let refused = refuses(&["schedule", LAYER, "--export", "/nowhere/at/all.json"]);
    assert!(refused.contains("can't write /nowhere/at/all.json"), "{refused}");
    let refused = refuses(&["schedule", LAYER, "--export", "x.json", "--taskflow", "sideways"]);
    assert!(refused.contains("no taskflow `sideways`: choose --taskflow among moe_ffn::forward"), "{refused}");
    assert!(refuses(&["schedule", "--tile-tasks", "900", "--matrix-cores", "0"]).contains("at least one"));
    let refused = refuses(&["schedule", LAYER, "--set", SIZE, "--ranks", "3", "--export", "x.json"]);
    assert!(refused.contains("3 ranks don't share 16 experts"), "{refused}");
}

#[test]
fn a_file_says_how_many_cores_there_are() {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../ui-tests/targets/twenty-cores.toml");
    let of = |more: &[&str]| prints(&[&["schedule", LAYER, "--set", SIZE], more].concat());
    let described = of(&["--target", target]);
    assert!(described.contains("for 20 matrix and 40 vector cores"), "{described}");
    assert_eq!(of(&["--target", target, "--matrix-cores", "20"]), described);
    let numbered = of(&["--matrix-cores", "20"]);
    assert!(numbered.contains("for 20 matrix and 40 vector cores"), "{numbered}");
    let refused = hpmoe(&["check", LAYER, "--target", target, "--matrix-cores", "24"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("24 matrix cores contradict") && said.contains("line "),
        "{said}"
    );
}
