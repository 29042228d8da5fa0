//! The subcommand `hpmoe simulate`.

use crate::{BACKWARD, CHUNKED, LAYER, ROUTER, SIZE, hpmoe, json, prints, refuses};
use serde_json::Value;
use std::path::Path;

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["simulate", LAYER, "--set", SIZE, "--ranks", "4"], more].concat()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn all_policies_stand_in_one_table_with_what_it_rests_on() {
    let table = prints(&with(&[]));
    for part in ["ours ", "hyperparallel ", "serial ", "dependency", "communication", "contention", "tail"] {
        assert!(table.contains(part), "{part} is missing in\n{table}");
    }
    assert!(table.lines().next().unwrap().contains("simulated on ascend-a3: 4 ranks of 256 tokens"));
    assert!(table.contains("sync.tile_overhead_ns = 200 (assumed") && table.contains("original.empty_task_us = 1.5"));
    // A single policy depends on fewer constants.
    let serial = prints(&with(&["--policy", "serial"]));
    assert!(serial.contains("vector.elementwise_gb_per_s = 50") && !serial.contains("original."));
}

#[test]
fn a_policy_is_one_object() {
    for policy in ["ours", "hyperparallel", "serial"] {
        let found = json(&with(&["--policy", policy, "--json"]));
        assert_eq!((found["policy"].as_str(), found["ranks"].as_u64()), (Some(policy), Some(4)));
        assert_eq!((found["direction"].as_str(), found["target"].as_str()), (Some("forward"), Some("ascend-a3")));
        let (time, bound) = (number(&found, "simulated_us"), number(&found, "bound_us"));
        assert!(0.0 < bound && bound <= time, "{bound} of {time}");
        assert!((0.0..=1.0).contains(&number(&found, "aic_useful")));
        // Busy and idle times of a core add up to the latency.
        for kind in ["aic", "aiv"] {
            let parts = ["idle", "busy"].into_iter().flat_map(|half| found[half].as_object().unwrap().values());
            let sum: f64 = parts.map(|part| number(part, kind)).sum();
            let in_kernel = time - number(&found, "separate_kernels_us");
            assert!((sum / in_kernel - 1.0).abs() < 1e-3, "{sum} of {in_kernel}");
        }
        let empty = number(&found, "empty_tasks") / number(&found, "tasks");
        assert!(policy != "ours" || empty == 0.0, "{empty}");
        assert!(policy != "hyperparallel" || empty > 0.5, "{empty}");
    }
    assert_eq!(json(&with(&["--json"])).as_array().map(Vec::len), Some(3));
}

#[test]
fn the_others_have_the_backward_pass_of_the_kernel() {
    let sizes = "HIDDEN=1024,INTER=256,EXPERTS=16,TOP_K=4,TOKENS=256";
    let simulated = |policy: &str, direction: &str| {
        let kernel = ["simulate", BACKWARD, "--set", sizes, "--ranks", "4", "--json"];
        number(&json(&[&kernel[..], &["--policy", policy, "--direction", direction]].concat()), "simulated_us")
    };
    for policy in ["hyperparallel", "serial"] {
        assert!(simulated(policy, "backward") > simulated(policy, "forward"), "{policy}");
    }
    let refused = refuses(&with(&["--taskflow", "sideways"]));
    assert!(refused.contains("no taskflow `sideways`") && refused.contains("moe_ffn::forward"), "{refused}");
}

#[test]
fn a_direction_that_the_taskflow_does_not_compute_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let report = ["report", LAYER, "--out", page.to_str().unwrap()];
    let backward = &["--direction", "backward"];
    for command in [with(&[]), with(&["--policy", "serial"]), with(&["--ablate"]), report.to_vec()] {
        let refused = refuses(&[&command[..], backward].concat());
        assert!(
            refused.contains(
                "--direction backward: `moe_ffn::forward` is a forward pass, and kernel `moe_ffn` has no other taskflow: \
                 leave --direction out"
            ),
            "{refused}"
        );
    }
    // A given taskflow takes precedence over the direction, but must not contradict it.
    for (taskflow, direction, other) in
        [("forward", "backward", "forward"), ("backward_dispatching", "forward", "backward")]
    {
        let refused = refuses(&["simulate", BACKWARD, "--taskflow", taskflow, "--direction", direction]);
        let pass =
            format!("--direction {direction}: `moe_train::{taskflow}` is a {other} pass: choose --taskflow among");
        assert!(refused.contains(&pass) && refused.contains("moe_train::backward_recomputing"), "{refused}");
    }
    // No taskflow has the name, and there are several.
    let text = std::fs::read_to_string(BACKWARD).unwrap().replace("pub fn backward(", "pub fn back(");
    let path = folder.path().join("several.rs");
    std::fs::write(&path, text).unwrap();
    let several = path.to_str().unwrap();
    let refused = refuses(&["simulate", several, "--direction", "backward"]);
    assert!(
        refused.contains("--direction backward: no taskflow is called `backward`: choose --taskflow among")
            && refused.contains("moe_train::back,"),
        "{refused}"
    );
    let named = ["simulate", several, "--taskflow", "back", "--direction", "backward", "--policy", "ours", "--json"];
    assert_eq!(json(&named)["direction"], "backward");
    // The only taskflow may have any name. The direction of another layer than the original's is the one that is given.
    let renamed = std::fs::read_to_string(ROUTER).unwrap().replace("pub fn forward(", "pub fn layer(");
    std::fs::write(&path, renamed).unwrap();
    for given in ["forward", "backward"] {
        let found = json(&["simulate", several, "--direction", given, "--policy", "ours", "--json"]);
        assert_eq!(found["direction"], given);
    }
    let chunked = json(&["simulate", CHUNKED, "--policy", "ours", "--json"]);
    assert_eq!(chunked["direction"], "backward");
}

#[test]
fn constants_and_polling_change_what_is_simulated() {
    let time = |more: &[&str]| {
        let base = with(&["--policy", "hyperparallel", "--json"]);
        number(&json(&[&base, more].concat()), "simulated_us")
    };
    assert!(time(&["--polling", "off"]) < time(&[]));
    assert!(time(&["--constant", "sync.tile_overhead_ns=9000"]) > time(&[]));
    let table = prints(&with(&["--constant", "sync.tile_overhead_ns=900"]));
    assert!(table.contains("constants set for this run:\n  sync.tile_overhead_ns = 900"), "{table}");
}

#[test]
fn the_kernel_is_simulated_whole_and_others_do_all_that_it_does() {
    let run = |policy: &str| json(&with(&["--policy", policy, "--json"]));
    let separate = |policy: &str| number(&run(policy), "separate_kernels_us");
    assert_eq!((separate("ours"), separate("serial")), (0.0, 0.0));
    // Permutation and sum over k: two launches of 6.5 µs, and their bytes.
    let (rows, row) = (256.0 * 4.0, 2.0 * 1024.0);
    let moved = (2.0 * rows * row + rows * row + 256.0 * row) / 1450.0 / 1e3;
    assert!((separate("hyperparallel") - (13.0 + moved)).abs() < 0.1, "{}", separate("hyperparallel"));
    // The sum over k is the last that the kernel does: the simulated run ends with it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let path = path.to_str().unwrap();
    assert!(hpmoe(&with(&["--policy", "ours", "--json", "--trace", path])).status.success());
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "task");
    let end = |event: &&Value| (event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap()).to_bits();
    assert_eq!(slices.max_by_key(end).unwrap()["name"], "combine");
}

/// Writes a copy of the layer with other names for HIDDEN and INTER.
fn without_names(folder: &Path) -> String {
    let path = folder.join("other.rs");
    let text = std::fs::read_to_string(LAYER).unwrap().replace("HIDDEN", "WIDE").replace("INTER", "DEEP");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_original_is_compared_with_kernels_whose_graph_is_its_layer() {
    let folder = tempfile::tempdir().unwrap();
    // Names of constants play no part.
    let renamed = without_names(folder.path());
    let size = SIZE.replace("HIDDEN", "WIDE").replace("INTER", "DEEP");
    let found = json(&["simulate", &renamed, "--set", &size, "--ranks", "4", "--json"]);
    assert_eq!(found, json(&with(&["--json"])));
    for (example, said) in [
        ("moe_clipped", "`swiglu` computes `at_most`"),
        ("moe_shared", "is a product without experts"),
        ("moe_w8a8", "is one more operator"),
        ("moe_relay", "sends each token once to a rank"),
        ("moe_prescaled", "`dispatch + send_weights` sends 260 bytes"),
        ("moe_biased", "there are 2 elementwise operators on received rows"),
    ] {
        let file = format!("{}/../../examples/{example}.rs", env!("CARGO_MANIFEST_DIR"));
        let line = ["simulate", &file, "--ranks", "4"];
        let table = prints(&line);
        let why: Vec<&str> = table.lines().filter(|line| line.starts_with("hyperparallel does not apply: ")).collect();
        assert!(why.len() == 1 && why[0].contains(said), "{example}: {table}");
        assert!(table.contains("serial/ours") && !table.contains("hyperparallel/ours"), "{table}");
        let refused = refuses(&[&line[..], &["--policy", "hyperparallel"]].concat());
        assert!(refused.contains(why[0]), "{refused}");
        let list = json(&[&line[..], &["--json"]].concat());
        let policies: Vec<_> = list.as_array().unwrap().iter().map(|run| run["policy"].as_str().unwrap()).collect();
        assert_eq!(policies, ["ours", "serial", "hyperparallel"]);
        assert_eq!(list[2]["does_not_apply"].as_str(), Some(why[0]));
    }
    let chunked = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_chunked.rs");
    assert!(prints(&["simulate", chunked, "--ranks", "4"]).contains("hyperparallel/ours"));
}

#[test]
fn serial_follows_the_kernel() {
    let serial = |file: &str, more: &[&str]| {
        let line = ["simulate", file, "--ranks", "4", "--policy", "serial", "--json"];
        number(&json(&[&line[..], more].concat()), "simulated_us")
    };
    let example = |name: &str| format!("{}/../../examples/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    // A shared expert is more work, and the router before it is still more.
    let [plain, shared, router] = ["moe_ffn", "moe_shared", "moe_router"].map(|name| serial(&example(name), &[]));
    assert!(plain < shared && shared < router, "{plain} {shared} {router}");
    let size = "HIDDEN=2048,INTER=1024,TILE_M=128,TILE_N=256,COLUMNS=1024";
    assert!(serial(LAYER, &["--set", size]) > plain);
}

#[test]
fn a_layer_in_int8_is_compared_with_its_own_operators_in_int8() {
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_w8a8.rs");
    let sizes = "HIDDEN=2048,INTER=1024,TILE_M=128,TILE_N=256,COLUMNS=1024";
    let table = |file: &str, more: &[&str]| {
        prints(
            &[&["simulate", file, "--set", sizes, "--ranks", "4", "--constant", "cube.int8_efficiency=0.8"], more]
                .concat(),
        )
    };
    let (narrow, wide) = (table(kernel, &["--policy", "serial"]), table(LAYER, &["--policy", "serial"]));
    // Only the products of the int8 layer depend on the constant.
    assert!(narrow.contains("cube.int8_efficiency = 0.8") && !wide.contains("cube.int8_efficiency"), "{narrow}");
}

#[test]
fn routings_come_from_names_and_files() {
    let skewed = json(&with(&["--routing", "zipf:1.2:3", "--policy", "ours", "--json"]));
    let even = json(&with(&["--policy", "ours", "--json", "--traffic"]));
    assert!(number(&skewed, "simulated_us") > number(&even, "simulated_us"));
    let sent: u64 = even["traffic_bytes"][0].as_array().unwrap().iter().filter_map(Value::as_u64).sum();
    // Out and back, with four bytes that tell where a row came from.
    assert_eq!(sent, 256 * 4 * (2 * 2048 + 4));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.json");
    std::fs::write(&path, format!("{{\"counts\":{:?}}}", vec![vec![64; 16]; 4])).unwrap();
    let path = path.to_str().unwrap();
    let file = json(&with(&["--routing", path, "--policy", "ours", "--json"]));
    assert_eq!(file["simulated_us"], even["simulated_us"]);
    let refused = refuses(&["simulate", LAYER, "--set", SIZE, "--ranks", "8", "--routing", path]);
    assert!(refused.contains("4 ranks and 16 experts") && refused.contains("8 ranks"), "{refused}");
}

#[test]
fn what_was_tuned_is_simulated_unless_refused() {
    let folder = tempfile::tempdir().unwrap();
    let layer = folder.path().join("layer.rs");
    std::fs::copy(LAYER, &layer).unwrap();
    let text = "[[tuned]]\nkernel = \"moe_ffn\"\ntarget = \"ascend-a3\"\nmatrix_cores = 24\n\
        shape = { EXPERTS = 16, HIDDEN = 1024, INTER = 256, TOKENS = 256, TOP_K = 4 }\n\
        choices.forward = { put_cores = 3 }\n";
    std::fs::write(folder.path().join("layer.tuned.toml"), text).unwrap();
    let of_size = |size: &str, more: &[&str]| {
        let base = ["simulate", layer.to_str().unwrap(), "--set", size, "--ranks", "4", "--policy", "ours", "--json"];
        json(&[&base, more].concat())
    };
    let run = |more: &[&str]| of_size(SIZE, more);
    let (tuned, untuned) = (run(&[]), run(&["--untuned"]));
    assert_eq!((tuned["schedule"].as_str(), untuned["schedule"].as_str()), (Some("tuned"), Some("default")));
    // Three cores that put are too few.
    assert!(number(&tuned, "simulated_us") > number(&untuned, "simulated_us"));
    assert_eq!(of_size(&SIZE.replace("TOKENS=256", "TOKENS=128"), &[])["schedule"], "default");
    let given = run(&["--choices", "put_cores=3"]);
    assert_eq!((&given["schedule"], &given["simulated_us"]), (&Value::from("given"), &tuned["simulated_us"]));
}

/// If tokens waited for experts that are chosen once in 2^30 draws, this would not end.
#[test]
fn a_routing_may_be_as_skewed_as_one_likes() {
    for routing in ["zipf:30", "zipf:1e300", "drifting:1000:4"] {
        let skewed = json(&with(&["--routing", routing, "--policy", "ours", "--json"]));
        assert!(number(&skewed, "simulated_us") > 0.0, "{skewed}");
    }
}

#[test]
fn bad_input_is_told_in_a_line() {
    for (more, said) in [
        (["--constant", "sync.tile_overhed_ns=1"], "is `sync.tile_overhead_ns` meant?"),
        (["--constant", "cores.aic=0.5"], "`cores.aic` must be a whole number from 1 to 1024, not `0.5`"),
        (["--target", "nowhere.toml"], "neither built in"),
        (["--routing", "zipf:-1"], "an exponent, zero or above"),
        (["--routing", "drifting:NaN"], "an exponent, zero or above and finite"),
        (["--choices", "by_laod=0"], "there is no choice `by_laod`"),
        (["--set", "HIDEN=4"], "HIDDEN"),
        (
            ["--set", "SLOTS=4"],
            "`SLOTS` can't be set, because kernel `moe_ffn` computes it from other constants (`BLOCK * TOP_K`)",
        ),
        (["--set", "moe_ffn::SLOTS=4"], "set `BLOCK` or `TOP_K` instead"),
    ] {
        let refused = refuses(&with(&more));
        assert!(refused.starts_with("error: ") && refused.contains(said), "{refused}");
    }
    assert!(!hpmoe(&with(&["--policy", "best"])).status.success());
}

#[test]
fn each_idea_of_the_schedule_is_turned_off_in_turn() {
    let routing = ["--routing", "zipf:1.2:3"];
    let line = [&["simulate", LAYER, "--set", SIZE, "--ranks", "4", "--ablate"][..], &routing].concat();
    let found = json(&[&line[..], &["--json"]].concat());
    let without = found["without"].as_array().unwrap();
    assert_eq!(without.len(), 8);
    for idea in without {
        let off = idea["off"].as_str().unwrap();
        let given = ["simulate", LAYER, "--set", SIZE, "--ranks", "4", "--policy", "ours", "--json", "--choices", off];
        let alone = json(&[&given[..], &routing].concat());
        assert_eq!(idea["simulated_us"], alone["simulated_us"], "{off}");
        let longer = 100.0 * (idea["simulated_us"].as_f64().unwrap() / found["simulated_us"].as_f64().unwrap() - 1.0);
        assert!((idea["longer_percent"].as_f64().unwrap() - longer).abs() < 1e-9);
    }
    assert!(
        without.iter().any(|idea| idea["longer_percent"].as_f64().unwrap() > 0.5),
        "nothing brings anything: {found}"
    );
    let text = prints(&line);
    assert!(text.contains("simulated latency") && text.contains("experts in the order of their load"), "{text}");
}

/// If launches choose the number of chunks, the simulated number is the one that the routing and the capacity require.
#[test]
fn the_number_of_chunks_is_that_of_a_launch() {
    const CHUNKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_chunked.rs");
    // An even load brings each of four ranks 1,024 rows.
    let set = format!("{SIZE},CHUNKS_AT_MOST=8");
    let kernel = |more: &[&'static str]| {
        [&["simulate", CHUNKED, "--set", &set, "--ranks", "4", "--policy", "ours"], more].concat()
    };
    let chunks = |rows: &'static str| number(&json(&kernel(&["--rows", rows, "--json"])), "chunks") as usize;
    assert_eq!(["1024", "1023", "512", "300", "128"].map(chunks), [1, 2, 2, 4, 8]);
    assert_eq!(number(&json(&kernel(&["--json"])), "chunks"), 1.0);
    let told = prints(&kernel(&["--rows", "300"]));
    assert!(
        told.contains(
            "a launch of 4 chunks of at most 8, the fewest with room for their rows (300 per rank and chunk)"
        ),
        "{told}"
    );
    let words = "a rank would receive 128 rows in one of 8 chunks, but there is room for 127: pass --rows 128, or another routing";
    let said = refuses(&kernel(&["--rows", "127"]));
    assert!(said.contains(words), "{said}");
    let said = refuses(&with(&["--rows", "9"]));
    assert!(said.contains("--rows 9: launches of moe_ffn::forward have a constant number of chunks"), "{said}");
}
