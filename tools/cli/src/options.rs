//! The command line.

mod memory;
mod simulate;
mod source;
mod target;

use crate::placements::PlacementChoice;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use memory::MemoryArgs;
pub(crate) use simulate::{GradientType, LayerArgs, ReportArgs, SimulateArgs, Switch};
pub(crate) use source::{DieArgs, SourceArgs};
pub(crate) use target::TargetChoice;

/// Checks, draws and schedules the kernels of a Rust source file.
#[derive(Parser, Debug)]
#[command(name = "hpmoe", version)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Checks every kernel and reports all its faults.
    Check(CheckArgs),
    /// Prints the task graph.
    Graph(GraphArgs),
    /// Prints the schedule.
    Schedule(ScheduleArgs),
    /// Prints the generated AscendC, or the contract of a task's external operator.
    Emit(EmitArgs),
    /// Simulates a launch of the kernel on a described target, and compares it with HyperParallel-MoE and with one operator after another.
    Simulate(SimulateArgs),
    /// Writes an HTML page with the graph, the simulated run task by task, traffic and memory.
    Report(ReportArgs),
    /// Lists the memory of a launch: every tensor with its place, rows and bytes.
    Memory(MemoryArgs),
    /// Fits three constants of the target to published latencies, and compares all twelve published latencies with simulated ones.
    Calibrate(CalibrateArgs),
    /// Searches for schedules that are faster in the simulator, and saves them in a file next to the source.
    Tune(TuneArgs),
    /// Computes placements that balance the experts' loads, for each layer in a file of loads.
    Place(PlaceArgs),
    /// Compares the schedules of two source files, or the runs of two traces, simulated or measured.
    Diff(DiffArgs),
    /// Checks hpmoe's assumptions about hardware on this machine's NPUs; runs the program hpmoe-doctor with these arguments.
    #[command(disable_help_flag = true)]
    Doctor(DoctorArgs),
    /// Measures constants of this machine's NPUs and writes a target file; runs the program hpmoe-doctor with these arguments.
    #[command(disable_help_flag = true)]
    Measure(DoctorArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Arguments of hpmoe-doctor; --help lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Prints one JSON object: taskflows, faults and warnings.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Prints a Mermaid flowchart.
    #[arg(long)]
    pub(crate) mermaid: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EmitArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Prints the contract of an external operator for this task, and a skeleton of its file.
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    pub(crate) task: Option<String>,
    /// The taskflow, as NAME or KERNEL::NAME; by default all taskflows of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Prints the code for devices, including device-only operators, instead of the code for the host.
    #[arg(long)]
    pub(crate) device: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ScheduleArgs {
    /// The Rust file with the `#[megakernel]` modules; not needed for --tile-tasks.
    #[arg(value_name = "FILE.rs", required_unless_present = "tile_tasks")]
    pub(crate) file: Option<PathBuf>,
    /// Sets a constant in every kernel that declares it, or in one (`rms::HIDDEN=32`); can be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) die: DieArgs,
    /// Ranks of the group; by default 8. With this option, open tile sizes are chosen for this number of ranks; without it, they are chosen as in
    /// a build. The picture and the export always have sizes chosen for the number of ranks.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: Option<u32>,
    /// Writes a picture of the schedule over simulated time (SVG).
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Measures the time of scheduling and validating about N tiles per rank: of a synthetic layer, or of the file's
    /// first taskflow with a suitable value of TOKENS.
    #[arg(long, value_name = "N", conflicts_with_all = ["svg", "export"])]
    pub(crate) tile_tasks: Option<u64>,
    /// Writes the queues of all ranks, task by task (see docs/export.md).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) export: Option<PathBuf>,
    /// The routing for figures, picture and export: `balanced`, `zipf:EXPONENT[:SEED]`, `drifting:EXPONENT[:SEED]`, or a JSON file (see docs/time.md).
    #[arg(long, value_name = "ROUTING", default_value = "balanced")]
    pub(crate) routing: String,
    /// The placement of experts for picture and export: a file that `place` has written, or FILE:LAYER; by default its first layer.
    #[arg(long, value_name = "FILE.json[:LAYER]")]
    pub(crate) placement: Option<PlacementChoice>,
    /// The taskflow, as NAME or KERNEL::NAME; by default all taskflows of the file. Picture and export need exactly one.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Ignores schedules that `tune` has saved, and shows the default schedule.
    #[arg(long)]
    pub(crate) untuned: bool,
    /// Turns off the warning about slow tile sizes.
    #[arg(long)]
    pub(crate) allow_slow_tile_sizes: bool,
    /// Prints one JSON object for each taskflow.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ScheduleArgs {
    /// Ranks of the group.
    pub(crate) fn group(&self) -> u32 {
        self.ranks.unwrap_or(8)
    }
}

#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// Loads of experts: a JSON file (see docs/placement.md).
    #[arg(value_name = "LOADS.json")]
    pub(crate) loads: PathBuf,
    /// Ranks of the group.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: u32,
    /// Places per rank beyond its share of the experts, for copies of experts.
    #[arg(long, default_value_t = 0)]
    pub(crate) spare: usize,
    /// File of the placement in force, written by this command. At most --moves places of each layer then change.
    #[arg(long, value_name = "FILE.json", conflicts_with = "spare")]
    pub(crate) current: Option<PathBuf>,
    /// Maximum number of places per layer that change, with --current.
    #[arg(long, value_name = "N", default_value_t = 4, requires = "current")]
    pub(crate) moves: usize,
    #[command(flatten)]
    pub(crate) payoff: PayoffArgs,
    /// Writes the placement.
    #[arg(long, short, value_name = "FILE.json")]
    pub(crate) output: Option<PathBuf>,
    /// Prints the placement as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PayoffArgs {
    /// Launches until the next placement. A layer's new placement is accepted only if it saves more time in these launches than its copies take.
    #[arg(
        long,
        value_name = "N",
        requires = "current",
        requires = "row_ns",
        requires = "copy_us",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) launches: Option<u64>,
    /// Number of launches that the loads were counted over, with --launches; by default the value of --launches.
    #[arg(long, value_name = "N", requires = "launches", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) counted: Option<u64>,
    /// Nanoseconds per received row of a rank, with --launches.
    #[arg(long, value_name = "NS", requires = "launches")]
    pub(crate) row_ns: Option<u64>,
    /// Microseconds to copy an expert's weights from another rank, with --launches.
    #[arg(long, value_name = "US", requires = "launches")]
    pub(crate) copy_us: Option<u64>,
    /// Microseconds to read an expert's weights from memory, with --launches; 0 ignores reads.
    #[arg(long, value_name = "US", requires = "launches", default_value_t = 0)]
    pub(crate) read_us: u64,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The source file of the old schedule, or a trace: of a launch, or from `hpmoe simulate --trace`.
    #[arg(value_name = "OLD.rs|OLD.json")]
    pub(crate) old: PathBuf,
    /// The source file of the new schedule, or another trace.
    #[arg(value_name = "NEW.rs|NEW.json")]
    pub(crate) new: PathBuf,
    /// Sets a constant in both files; can be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) die: DieArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    /// Prints a JSON list of the latencies.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct TuneArgs {
    /// The Rust file with the `#[megakernel]` modules.
    #[arg(value_name = "FILE.rs")]
    pub(crate) file: PathBuf,
    /// Sets a constant in every kernel that declares it, or in one (`rms::HIDDEN=32`); can be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Ranks of the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: u32,
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    /// `balanced`, `zipf:EXPONENT[:SEED]`, `drifting:EXPONENT[:SEED]`, or a JSON file; can be repeated. By default balanced, and Zipf 1.2 with four seeds.
    #[arg(long = "routing", value_name = "ROUTING")]
    pub(crate) routings: Vec<String>,
    /// Seconds to search per kernel; the command ends at most 10 % plus one second later. Ctrl-C ends the search earlier, and saves what
    /// it has found so far.
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Reports the results without writing a file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Turns off the warning about slow tile sizes.
    #[arg(long)]
    pub(crate) allow_slow_tile_sizes: bool,
    /// Prints one JSON object for each kernel.
    #[arg(long)]
    pub(crate) json: bool,
}
