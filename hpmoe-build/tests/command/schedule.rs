//! `hpmoe schedule`.

use crate::{LAYER, SIZE, json, refuses};

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
