//! `--ablate`: the effect of each choice in the schedule.

use super::scenario::Scenario;
use crate::progress::{Progress, Reader};
use hpmoe_simulator::simulate::Time;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// An idea of the scheduler, and the choices that disable it.
struct Idea {
    name: &'static str,
    off: &'static str,
}

const IDEAS: [Idea; 8] = [
    Idea { name: "rows of tiles walked in bands", off: "matrix_band=1 put_band=1" },
    Idea { name: "short tiles dealt to all cores in turn", off: "rotation=0" },
    Idea { name: "gate and up walked together", off: "join=false" },
    Idea { name: "the next expert begun while one is on vector cores", off: "experts_ahead=0" },
    Idea { name: "experts in the order of their load", off: "by_load=false" },
    Idea { name: "lightest experts first on many ranks", off: "lightest_first=4096" },
    Idea { name: "peers served in turn on many ranks", off: "turn_rows=0" },
    Idea { name: "weights read before tiles begin", off: "read_ahead=false" },
];

/// The latency without an idea.
pub(super) struct Ablation {
    name: &'static str,
    off: &'static str,
    without: Time,
}

/// The latency with all ideas, and without each of them.
pub(super) struct Ablations {
    all: Time,
    ideas: Vec<Ablation>,
}

/// Simulates `ours` with each idea disabled in turn. The other choices are unchanged.
pub(super) fn ablations(scenario: &Scenario, reader: Reader) -> Result<Ablations, String> {
    let progress = Progress::new(IDEAS.len() + 1, reader);
    let run = |about: String, off: &str| {
        progress.begins(about);
        let time = scenario.ours_with(off);
        progress.ended();
        time
    };
    let all = run("simulating ours".to_owned(), "")?;
    let without = |idea: &Idea| {
        let without = run(format!("simulating ours with {}", idea.off), idea.off)?;
        Ok(Ablation { name: idea.name, off: idea.off, without })
    };
    Ok(Ablations { all, ideas: IDEAS.iter().map(without).collect::<Result<_, String>>()? })
}

impl Ablations {
    /// A line for each idea, which says how much longer the layer takes without it.
    pub(super) fn text(&self, heading: &str) -> String {
        let mut text =
            format!("{heading}\nsimulated latency {:.1} µs; without one idea at a time, simulated:\n\n", self.all.us());
        for Ablation { name, off, without } in &self.ideas {
            let _ = writeln!(text, "{name:<52} {:>12.1} µs {:>+7.1} %  {off}", without.us(), self.longer(*without));
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let ideas = self.ideas.iter().map(|Ablation { name, off, without }| {
            json!({"idea": name, "off": off, "simulated_us": without.us(), "longer_percent": self.longer(*without)})
        });
        json!({"policy": "ours", "simulated_us": self.all.us(), "without": ideas.collect::<Vec<_>>()})
    }

    fn longer(&self, without: Time) -> f64 {
        100.0 * (without.us() / self.all.us() - 1.0)
    }
}
