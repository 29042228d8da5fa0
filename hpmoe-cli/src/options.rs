//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Checks, draws and schedules the kernels of a Rust source file.
#[derive(Parser, Debug)]
#[command(name = "hpmoe", version)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Checks every kernel and says all that is wrong.
    Check(Source),
    /// Prints the task graph.
    Graph(Graph),
    /// Prints the schedule.
    Schedule(Schedule),
    /// Simulates the kernel, the original system and the operator-by-operator execution on a described target.
    Simulate(Simulate),
    /// Fits three constants to published latencies and shows all twelve beside the simulated ones.
    Calibrate(Calibrate),
    /// Searches for schedules that are faster in the simulator, and keeps them in a file beside the source.
    Tune(Tune),
    /// Compares the schedules of two files.
    Diff(Diff),
}

/// The machine that kernels are scheduled for, as a build script names it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Die {
    /// A built-in target, or a file like it.
    #[arg(long, value_name = "FILE.toml|NAME", default_value = "ascend-a3")]
    pub(crate) target: String,
    /// Matrix cores of a rank, instead of the built-in target's 24; it has twice as many vector cores.
    #[arg(long)]
    pub(crate) matrix_cores: Option<u32>,
}

/// A source file and how to read it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Source {
    /// The Rust file with the `#[megakernel]` modules.
    #[arg(value_name = "FILE.rs")]
    pub(crate) file: PathBuf,
    /// Sets a constant, in every kernel that declares it; may be given again and again.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) die: Die,
}

#[derive(Args, Debug)]
pub(crate) struct Graph {
    #[command(flatten)]
    pub(crate) source: Source,
    /// As a Mermaid flowchart.
    #[arg(long)]
    pub(crate) mermaid: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Schedule {
    /// The Rust file with the `#[megakernel]` modules; not needed for --tile-tasks.
    #[arg(value_name = "FILE.rs", required_unless_present = "tile_tasks")]
    pub(crate) file: Option<PathBuf>,
    /// Sets a constant, in every kernel that declares it; may be given again and again.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) die: Die,
    /// Numbers and picture for a group of that many ranks.
    #[arg(long, default_value_t = 8)]
    pub(crate) ranks: u32,
    /// Writes the modelled schedule as a picture.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Tells how long scheduling and validating takes when a rank has about that many tiles: of a synthetic layer, or of
    /// the file's first kernel with as many TOKENS.
    #[arg(long, value_name = "N")]
    pub(crate) tile_tasks: Option<u64>,
    /// Writes the queues of all ranks, task by task (see docs/export.md).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) export: Option<PathBuf>,
    /// The routing of the export: `balanced`, `zipf:EXPONENT[:SEED]`, or a JSON file (see docs/time.md).
    #[arg(long, value_name = "ROUTING", default_value = "balanced")]
    pub(crate) routing: String,
    /// The taskflow of the export, as NAME or KERNEL::NAME, where there are several.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Schedule {
    /// The file, with what is set.
    pub(crate) fn source(&self) -> Result<Source, String> {
        let file = self.file.clone().ok_or("which FILE.rs?")?;
        Ok(Source { file, settings: self.settings.clone(), die: self.die.clone() })
    }
}

#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// The schedule to compare with.
    #[arg(value_name = "OLD.rs")]
    pub(crate) old: PathBuf,
    /// The other one.
    #[arg(value_name = "NEW.rs")]
    pub(crate) new: PathBuf,
    /// Sets a constant in both.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) die: Die,
}

/// Who plans and runs the layer.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// The kernel of the file, as scheduled.
    Ours,
    /// HyperParallel-MoE: its tasks, queues, counters and polling.
    Hyperparallel,
    /// One operator after another, over the whole device.
    Serial,
}

/// Which pass of the layer.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// Tokens to outputs.
    Forward,
    /// Gradients of outputs to gradients of tokens and weights.
    Backward,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    On,
    Off,
}

/// A target and what is changed of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetChoice {
    /// A built-in target, or a file like it.
    #[arg(long, value_name = "FILE.toml|NAME", default_value = "ascend-a3")]
    pub(crate) target: String,
    /// Changes a constant of the target; may be given again and again.
    #[arg(long = "constant", value_name = "SECTION.KEY=VALUE")]
    pub(crate) constants: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Simulate {
    /// The Rust file with the `#[megakernel]` modules.
    #[arg(value_name = "FILE.rs")]
    pub(crate) file: PathBuf,
    /// Sets a constant, in every kernel that declares it; may be given again and again.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Only this policy; without, all three.
    #[arg(long, value_enum)]
    pub(crate) policy: Option<Policy>,
    /// Which pass.
    #[arg(long, value_enum, default_value = "forward")]
    pub(crate) direction: Direction,
    /// The taskflow of `ours`, as NAME or KERNEL::NAME; without, the one called as the direction.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Leaves alone what `tune` has kept, and simulates the default schedule.
    #[arg(long)]
    pub(crate) untuned: bool,
    /// Simulates the schedule with these choices, as `tune` keeps them, instead: `by_load=0 put_cores=32`.
    #[arg(long, value_name = "KEY=VALUE …", conflicts_with = "untuned")]
    pub(crate) choices: Option<String>,
    /// Ranks of the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: u32,
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    /// `balanced`, `zipf:EXPONENT[:SEED]`, or a JSON file (see docs/time.md).
    #[arg(long, value_name = "ROUTING", default_value = "balanced")]
    pub(crate) routing: String,
    /// Whether waiting cores of the original look at their counters only now and then, as they do.
    #[arg(long, value_enum, default_value = "on")]
    pub(crate) polling: Switch,
    /// Counts the permutation and the top-k sum: in `ours` as it has them, in the others as kernels of their own.
    #[arg(long)]
    pub(crate) count_extras: bool,
    /// Draws the simulated run: cores, links and waits. Of `ours`, where no --policy is given.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) gantt: Option<PathBuf>,
    /// Writes the simulated run for chrome://tracing or ui.perfetto.dev. Of `ours`, where no --policy is given.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// Prints the bytes that each rank puts to each, simulated.
    #[arg(long)]
    pub(crate) traffic: bool,
    /// Prints JSON: one object with --policy, else a list of them.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Calibrate {
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    /// Prints a JSON list of the latencies.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Tune {
    /// The Rust file with the `#[megakernel]` modules.
    #[arg(value_name = "FILE.rs")]
    pub(crate) file: PathBuf,
    /// Sets a constant, in every kernel that declares it; may be given again and again.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Ranks of the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) ranks: u32,
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    /// `balanced`, `zipf:EXPONENT[:SEED]`, or a JSON file; may be given again and again. Without: balanced, and Zipf 1.2 with
    /// four seeds.
    #[arg(long = "routing", value_name = "ROUTING")]
    pub(crate) routings: Vec<String>,
    /// How long to search for each kernel.
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Writes no file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Prints one JSON object for each kernel.
    #[arg(long)]
    pub(crate) json: bool,
}
