//! Every command that prints a figure prints the same value.

use crate::replay::Replay;
use crate::{as_typed, hpmoe, json, prints};
use serde_json::Value;
use std::path::Path;

/// A kernel: its file relative to the root, the taskflow, and the number of ranks.
type Kernel = (&'static str, &'static str, &'static str);

/// Bundled layers of both passes, and kernels of the tests: with chunks, with routes that they make, with tokens that are sent once, with
/// operators without experts, with several taskflows.
const KERNELS: [Kernel; 12] = [
    ("examples/moe_ffn.rs", "forward", "4"),
    ("examples/moe_backward.rs", "backward", "2"),
    ("examples/moe_chunked.rs", "forward", "4"),
    ("examples/moe_relay.rs", "forward", "4"),
    ("examples/moe_router.rs", "forward", "8"),
    ("examples/moe_w8a8.rs", "forward", "2"),
    ("ui-tests/kernels/routed.rs", "forward", "2"),
    ("ui-tests/kernels/chosen.rs", "forward", "2"),
    ("ui-tests/kernels/elementwise.rs", "forward", "2"),
    ("ui-tests/kernels/fused.rs", "forward", "1"),
    ("ui-tests/kernels/kept.rs", "forward", "2"),
    ("ui-tests/kernels/stacked.rs", "forward", "2"),
];

/// The name of the steps in which a core makes the route. These are not tasks.
const ROUTE: &str = "tables of the route";

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The first number after the given words.
fn after(text: &str, words: &str) -> f64 {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("no `{words}` in {text}")).1.trim_start();
    let end = rest.find(|one: char| !(one.is_ascii_digit() || one == '.')).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or_else(|_| panic!("no number after `{words}`: {rest:.40}"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

struct Commands {
    kernel: Kernel,
    file: String,
    folder: tempfile::TempDir,
}

impl Commands {
    fn new(kernel: Kernel) -> Self {
        let file = format!("{}/../../{}", env!("CARGO_MANIFEST_DIR"), kernel.0);
        Self { kernel, file, folder: tempfile::tempdir().unwrap() }
    }

    /// The arguments that run a command on the kernel.
    fn arguments<'a>(&'a self, command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let (_, taskflow, ranks) = self.kernel;
        [&[command, &self.file, "--taskflow", taskflow, "--ranks", ranks], more].concat()
    }

    fn json(&self, command: &str, more: &[&str]) -> Value {
        json(&self.arguments(command, &[more, &["--json"]].concat()))
    }

    /// Runs a command with an option that names a file, and returns the content of the file.
    fn written(&self, command: &str, option: &str, more: &[&str]) -> String {
        let path = self.folder.path().join(format!("{command}{option}"));
        let output = hpmoe(&self.arguments(command, &[&[option, path.to_str().unwrap()], more].concat()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        read(&path)
    }

    fn check(&self) {
        let list = self.json("simulate", &[]);
        let runs: Vec<&Value> =
            list.as_array().unwrap().iter().filter(|run| run.get("does_not_apply").is_none()).collect();
        let ours = *runs.iter().find(|run| run["policy"] == "ours").unwrap();
        let (latency, tasks) = (number(ours, "simulated_us"), number(ours, "tasks"));
        // No task is empty, and `ours` needs no other kernel.
        assert_eq!((number(ours, "empty_tasks"), number(ours, "separate_kernels_us")), (0.0, 0.0));
        self.check_tables(&runs, latency);
        self.check_schedule(ours, (latency, tasks));
        self.check_trace(latency, tasks);
        let ablated = self.json("simulate", &["--ablate"]);
        assert_eq!(number(&ablated, "simulated_us"), latency);
        let alone = self.json("simulate", &["--policy", "ours"]);
        assert_eq!(&alone, ours);
    }

    /// Checks the tables of `simulate` and `report`, and the headings of pictures.
    fn check_tables(&self, runs: &[&Value], latency: f64) {
        let table = prints(&self.arguments("simulate", &[]));
        let page = self.written("report", "--out", &[]);
        for run in runs {
            let (name, time, bound) =
                (run["policy"].as_str().unwrap(), number(run, "simulated_us"), number(run, "bound_us"));
            let printed = [format!("{time:.1}"), format!("{bound:.1}"), format!("{:.3}", time / bound)];
            let useful = format!("{:.1}", 100.0 * number(run, "aic_useful"));
            let line = table.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
            let cells: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(cells[1..4], printed, "{line}");
            assert_eq!(cells[4], useful, "{line}");
            let counted = [number(run, "tasks"), number(run, "empty_tasks")].map(|count| count.to_string());
            assert_eq!(cells[6..8], counted, "{line}");
            let over = format!("{:.3}", time / latency);
            let row = format!("<tr><td>{name}<td>{}<td>{over}<td>{useful} %", printed.join("<td>"));
            assert!(page.contains(&row), "{row} is not in the page of {}", self.file);
            assert!(name == "ours" || table.contains(&format!("{name}/ours {over}")), "{table}");
        }
        let data = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(data).unwrap();
        assert!((number(&data[0], "end") / 1e3 - latency).abs() < 1e-3, "{}", data[0]["end"]);
        let gantt = self.written("simulate", "--gantt", &["--policy", "ours"]);
        assert!((after(&gantt, "Simulated latency ") - latency).abs() < 0.06, "{latency}");
    }

    /// Checks the figures, the picture and the export of `schedule`.
    fn check_schedule(&self, ours: &Value, (latency, tasks): (f64, f64)) {
        let schedule = self.json("schedule", &[]);
        assert_eq!((number(&schedule, "tasks"), &schedule["tile_sizes"]), (tasks, &ours["tile_sizes"]));
        let text = prints(&self.arguments("schedule", &[]));
        let ranks = self.kernel.2;
        let plural = if ranks == "1" { "" } else { "s" };
        assert_eq!(after(&text, &format!("\n{ranks} rank{plural}, ")), number(&schedule, "entries"));
        let picture = self.written("schedule", "--svg", &[]);
        assert!((after(&picture, "simulated latency ") - latency).abs() < 6e-3, "{latency}");
        let exported: Value = serde_json::from_str(&self.written("schedule", "--export", &[])).unwrap();
        let queues = exported["queues"].as_array().unwrap();
        let all = queues.iter().flat_map(|queue| queue["tasks"].as_array().unwrap());
        assert_eq!(all.filter(|task| task["op"] != ROUTE).count() as f64, tasks);
        let replayed = Replay::new(&exported).run();
        assert!((replayed / latency - 1.0).abs() < 0.03, "replayed {replayed}, simulated {latency}");
    }

    /// Checks the trace, and the output of `diff` for it.
    fn check_trace(&self, latency: f64, tasks: f64) {
        let trace: Value = serde_json::from_str(&self.written("simulate", "--trace", &["--policy", "ours"])).unwrap();
        let slices = || trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "task");
        assert_eq!(slices().filter(|slice| slice["name"] != ROUTE).count() as f64, tasks);
        // A core may go on after its last task, to the end of its queue.
        let end = slices().map(|slice| number(slice, "ts") + number(slice, "dur")).fold(0.0, f64::max);
        assert!(end <= latency && end > 0.9 * latency, "{end} of {latency}");
        // `diff` takes traces by the ending of their names.
        let path = self.folder.path().join("run.json");
        std::fs::write(&path, trace.to_string()).unwrap();
        let path = path.to_str().unwrap();
        let same = prints(&["diff", path, path]);
        // Its time begins with the first task, as that of a measured run, which has no launch.
        let all = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let begin = all.map(|slice| number(slice, "ts")).fold(f64::INFINITY, f64::min);
        let said = same.lines().next().unwrap();
        let (time, _) = said.split_once(" µs from its first task to its last").unwrap();
        let time: f64 = time.rsplit_once(", ").unwrap().1.parse().unwrap();
        assert!((time - (end - begin)).abs() < 0.02, "{said}: {begin} to {end}");
    }
}

/// Two tests, which run at the same time.
fn check(kernels: &[Kernel]) {
    for &kernel in kernels {
        println!("{kernel:?}");
        Commands::new(kernel).check();
    }
}

#[test]
fn all_commands_agree_on_the_bundled_layers() {
    check(&KERNELS[..6]);
}

#[test]
fn all_commands_agree_on_the_kernels_of_the_tests() {
    check(&KERNELS[6..]);
}

#[test]
fn a_search_starts_from_what_is_simulated() {
    for (file, ranks) in
        [("examples/moe_ffn.rs", "4"), ("examples/moe_shared.rs", "8"), ("ui-tests/kernels/stacked.rs", "2")]
    {
        let file = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
        let search =
            ["tune", &file, "--ranks", ranks, "--seconds", "2", "--dry-run", "--routing", "balanced", "--json"];
        let output = as_typed(&search);
        let found: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let simulated = json(&["simulate", &file, "--ranks", ranks, "--policy", "ours", "--untuned", "--json"]);
        let default = found["default_simulated_us"][0].as_f64().expect("the default is simulated");
        assert_eq!(default, number(&simulated, "simulated_us"));
    }
}

#[test]
fn launches_that_choose_their_chunks_are_scheduled_and_searched_in_the_chosen_ones() {
    let file = format!("{}/../../examples/moe_chunked.rs", env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let base = [&file, "--ranks", "8", "--set", "CHUNKS_AT_MOST=4,TOKENS=1024", "--routing", "zipf:1.2:1"];
    let of = |command: &'static str, more: &[&str]| json(&[&[command], &base[..], more].concat());
    let simulated = of("simulate", &["--policy", "ours", "--untuned", "--json"]);
    let (chunks, latency) = (number(&simulated, "chunks"), number(&simulated, "simulated_us"));
    assert!(chunks > 1.0, "one chunk has room for the rows: {simulated}");
    let scheduled = of("schedule", &["--untuned", "--json"]);
    assert_eq!((number(&scheduled, "chunks"), &scheduled["tasks"]), (chunks, &simulated["tasks"]));
    // One run of the command writes both files.
    let files = [path("schedule.svg"), path("schedule.json")];
    let written =
        hpmoe(&[&["schedule"], &base[..], &["--untuned", "--svg", &files[0], "--export", &files[1]]].concat());
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    assert!((after(&read(files[0].as_ref()), "simulated latency ") - latency).abs() < 6e-3, "{latency}");
    let exported: Value = serde_json::from_str(&read(files[1].as_ref())).unwrap();
    assert_eq!(number(&exported, "chunks"), chunks);
    let replayed = Replay::new(&exported).run();
    assert!((replayed / latency - 1.0).abs() < 0.03, "replayed {replayed}, simulated {latency}");
    let searched = as_typed(&[&["tune"], &base[..], &["--seconds", "2", "--dry-run", "--json"]].concat());
    let found: Value = serde_json::from_slice(&searched.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&searched.stderr)));
    assert_eq!(found["default_simulated_us"][0].as_f64(), Some(latency));
}
