//! `hpmoe report`: the page is self-contained, and shows the simulated run.

use crate::{LAYER, SIZE, hpmoe, json, refuses};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The numbers of a task's causes on the page.
const LAUNCH: u64 = 0;
const CORE: u64 = 1;
const SIGNAL: u64 = 2;
const READY: u64 = 3;

/// The page for the layer on two ranks.
fn page(folder: &Path, more: &[&str]) -> (PathBuf, String) {
    let path = folder.join("report.html");
    let name = path.to_str().unwrap();
    let output = hpmoe(&[&["report", LAYER, "--set", SIZE, "--ranks", "2", "--out", name], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

fn runs(page: &str) -> Vec<Value> {
    let data = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

fn column(run: &Value, name: &str) -> Vec<u64> {
    run["tasks"][name].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
}

#[test]
fn json_has_the_figures_of_simulate() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("report.html");
    let layer = [LAYER, "--set", SIZE, "--ranks", "2", "--json"];
    let output = hpmoe(&[&["report", "--out", name.to_str().unwrap()], &layer[..]].concat());
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures, json(&[&["simulate"], &layer[..]].concat()));
    assert!(std::fs::read_to_string(name).unwrap().starts_with("<!"));
}

#[test]
fn the_page_holds_the_runs_and_needs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (_, page) = page(folder.path(), &["--beside", LAYER]);
    let linked = page.replace("http://www.w3.org/2000/svg", "");
    assert!(
        !linked.contains("://") && !linked.contains("src=") && !linked.contains("<link"),
        "the page loads something"
    );
    let runs = runs(&page);
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[0]["tasks"], runs[2]["tasks"], "the same file beside");
    for (run, policy) in runs.iter().zip(["ours", "hyperparallel"]) {
        if policy == "ours" {
            let simulated = json(&["simulate", LAYER, "--set", SIZE, "--ranks", "2", "--policy", "ours", "--json"]);
            let latency =
                simulated["simulated_us"].as_f64().unwrap() - simulated["separate_kernels_us"].as_f64().unwrap();
            assert!((run["end"].as_f64().unwrap() / 1e3 - latency).abs() < 0.1, "{latency} {}", run["end"]);
        }
        let [cause, by, begun, end, looked] = ["cause", "by", "begun", "end", "looked"].map(|name| column(run, name));
        for task in 0..cause.len() {
            let before = by[task] as usize;
            match cause[task] {
                CORE => assert!(before < task && end[before] <= looked[task]),
                SIGNAL => assert!(end[before] <= begun[task]),
                READY => assert!(before < 2),
                LAUNCH => assert_eq!(before, 0),
                other => panic!("cause {other}"),
            }
        }
        let path: Vec<usize> =
            run["path"].as_array().unwrap().iter().map(|task| task.as_u64().unwrap() as usize).collect();
        assert!(path.windows(2).all(|pair| by[pair[1]] as usize == pair[0]));
        assert!([LAUNCH, READY].contains(&cause[path[0]]));
        assert_eq!(end[path[path.len() - 1]], *end.iter().max().unwrap());
    }
}

#[test]
fn memory_has_rows_that_are_sent_once_and_what_a_launch_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let page_of = |file: &str| {
        let output = hpmoe(&["report", file, "--ranks", "2", "--out", path.to_str().unwrap()]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(&path).unwrap()
    };
    let relay = page_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_relay.rs"));
    assert!(relay.contains("once, symmetric heap") && relay.contains("recv, workspace"));
    // Words of a head, of the counts of both ranks, and of 160 slots, twice.
    let kept = page_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/kernels/kept.rs"));
    assert!(kept.contains("routed, kept by the caller"));
    let words = 16 + 2 * 128 + 2 * 160;
    assert!(kept.contains(&format!("{words} rows of 1 × i32")), "{words} words");
}

#[test]
fn what_can_not_be_drawn_is_said() {
    let layer = ["report", LAYER, "--set", SIZE, "--ranks", "2"];
    let said = refuses(&[&layer[..], &["--out", "/nowhere/report.html"]].concat());
    assert!(said.contains("can't write /nowhere/report.html"), "{said}");
    let said = refuses(&[&layer[..], &["--out", "/nowhere/report.html", "--rank", "2"]].concat());
    assert!(said.contains("--rank 2: the ranks are 0 to 1"), "{said}");
    let said = refuses(&[&layer[..], &["--out", "/nowhere/report.html", "--beside", "/nowhere/moe.rs"]].concat());
    assert!(said.contains("--beside /nowhere/moe.rs"), "{said}");
}

/// A script that moves the pointer to the first task of the first matrix core that has one, clicks it, and turns the
/// wheel there.
const VISIT: &str = r#"<script type="module">
const run = JSON.parse(document.getElementById("data").textContent)[0], { rank, lane, begun, end } = run.tasks;
const task = rank.findIndex((one, at) => one === run.rank && lane[at] === 0 && end[at] > begun[at]);
const picture = document.querySelector("svg.timeline"), frame = picture.getBoundingClientRect(), scale = frame.width / 1400;
const whole = run.end;
const at = { bubbles: true, cancelable: true, clientX: frame.left + scale * (60 + (1340 * (begun[task] + end[task])) / 2 / whole), clientY: frame.top + scale * 26 };
picture.dispatchEvent(new PointerEvent("pointermove", at));
const seen = { hint: document.getElementById("hint").textContent, before: document.getElementById("window").textContent };
picture.dispatchEvent(new PointerEvent("pointerdown", at));
picture.dispatchEvent(new PointerEvent("pointerup", at));
seen.chain = [...document.querySelectorAll(".chain tr")].map((row) => row.innerText);
seen.path = [...document.querySelectorAll(".below > div:first-child tr")].length;
picture.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: -1 }));
seen.after = document.getElementById("window").textContent;
seen.boxes = picture.querySelectorAll("path").length;
seen.requests = performance.getEntriesByType("resource").length;
document.body.append(Object.assign(document.createElement("pre"), { id: "seen", textContent: JSON.stringify(seen) }));
</script></body>"#;

#[test]
#[ignore = "needs the browser chromium: .ci/sweep report"]
fn a_browser_shows_tasks_and_follows_what_they_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (path, page) = page(folder.path(), &[]);
    std::fs::write(&path, page.replace("</body>", VISIT)).unwrap();
    let browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1440,2400", "--dump-dom"])
        .arg(format!("file://{}", path.display()))
        .output()
        .expect("chromium starts");
    let shown = String::from_utf8_lossy(&browser.stdout);
    let seen = shown.split_once("<pre id=\"seen\">").expect("the page's script ran").1.split_once("</pre>").unwrap().0;
    let seen: Value =
        serde_json::from_str(&seen.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")).unwrap();
    let hint = seen["hint"].as_str().unwrap();
    assert!(hint.contains("project") && hint.contains("expert") && hint.contains("moe_ffn.rs:"), "{hint}");
    let chain: Vec<&str> = seen["chain"].as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
    assert!(chain.len() > 1, "{chain:?}");
    assert!(chain[0].contains("after the launch") || chain[0].contains("to be ready"), "{}", chain[0]);
    assert!(
        chain[chain.len() - 1].contains("project") && chain[1..].iter().any(|row| row.contains("waited")),
        "{chain:?}"
    );
    // At first, the page shows all of the kernel, even if the original takes longer.
    let data = runs(&page);
    let end = data[0]["end"].as_f64().unwrap() / 1e3;
    assert_eq!(seen["before"].as_str(), Some(format!("0.0 µs to {end:.1} µs").as_str()));
    assert!(data[1]["end"].as_f64() > data[0]["end"].as_f64() && shown.contains("it goes on after"), "{seen}");
    assert_ne!(seen["before"], seen["after"], "the wheel zooms");
    assert!(seen["boxes"].as_u64() > Some(3) && seen["path"].as_u64() > Some(3), "{seen}");
    assert_eq!(seen["requests"], 0, "{seen}");
}
