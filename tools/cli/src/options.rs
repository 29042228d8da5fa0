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
    /// Prints the generated AscendC, or what an external operator of a task is given and must keep to.
    Emit(EmitArgs),
    /// Simulates the kernel, the original system and one operator after another on a described target.
    Simulate(SimulateArgs),
    /// Writes one page with the graph, the simulated run task by task, traffic and memory.
    Report(ReportArgs),
    /// Lists the memory of a launch: every tensor with its place, rows and bytes.
    Memory(MemoryArgs),
    /// Fits three constants to published latencies and compares all twelve with the simulated ones.
    Calibrate(CalibrateArgs),
    /// Searches for schedules that are faster in the simulator, and keeps them in a file next to the source.
    Tune(TuneArgs),
    /// Places experts by their loads, which a file has layer by layer.
    Place(PlaceArgs),
    /// Compares the schedules of two source files, or the runs of two traces, simulated or measured.
    Diff(DiffArgs),
    /// Probes what is assumed of the NPUs of this machine: runs the program hpmoe-doctor with these arguments.
    #[command(disable_help_flag = true)]
    Doctor(DoctorArgs),
    /// Times constants of a target on the NPUs of this machine and writes its file: runs the program hpmoe-doctor, whose options it takes.
    #[command(disable_help_flag = true)]
    Measure(DoctorArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// What hpmoe-doctor takes; --help lists it.
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
    /// Prints the contract of an external operator for this task, and a skeleton: the beginning of its file.
    #[arg(long, value_name = "NAME", conflicts_with = "device")]
    pub(crate) task: Option<String>,
    /// The taskflow, as NAME or KERNEL::NAME; by default all of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Prints what devices run, with operators that are for devices only, instead of what the host runs.
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
    /// Ranks of the group, by default 8. Open tile sizes are then those that suit these ranks, otherwise those of a build; picture and
    /// export always have the former.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: Option<u32>,
    /// Draws the schedule along its simulated times.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Measures how long scheduling and validating takes for about N tiles of a rank: of a synthetic layer, or of the file's
    /// first taskflow with TOKENS set to give as many.
    #[arg(long, value_name = "N")]
    pub(crate) tile_tasks: Option<u64>,
    /// Writes the queues of all ranks, task by task (see docs/export.md).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) export: Option<PathBuf>,
    /// The routing of numbers, picture and export: `balanced`, `zipf:EXPONENT[:SEED]`, `drifting:EXPONENT[:SEED]`, or a JSON file (see docs/time.md).
    #[arg(long, value_name = "ROUTING", default_value = "balanced")]
    pub(crate) routing: String,
    /// Where experts lie in picture and export: a file that `place` has written, or FILE:LAYER for another layer than the first.
    #[arg(long, value_name = "FILE.json[:LAYER]")]
    pub(crate) placement: Option<PlacementChoice>,
    /// The taskflow, as NAME or KERNEL::NAME; by default all of the file. Picture and export are of one.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Ignores what `tune` has kept, and shows the default schedule.
    #[arg(long)]
    pub(crate) untuned: bool,
    /// Says nothing about tile sizes that cost time.
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
    /// Places of each rank beyond its share of the experts, which copies take.
    #[arg(long, default_value_t = 0)]
    pub(crate) spare: usize,
    /// The placement in force, in a file that this command has written: of each layer only some places are written anew.
    #[arg(long, value_name = "FILE.json", conflicts_with = "spare")]
    pub(crate) current: Option<PathBuf>,
    /// The most places of a layer that may be written, with --current.
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
    /// Launches until the next placement: a layer's new placement is accepted only if these save more time than its copies take.
    #[arg(
        long,
        value_name = "N",
        requires = "current",
        requires = "row_ns",
        requires = "copy_us",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) launches: Option<u64>,
    /// Launches that the loads were counted in, with --launches. By default as many as --launches.
    #[arg(long, value_name = "N", requires = "launches", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) counted: Option<u64>,
    /// Nanoseconds of a layer for each row on a rank, with --launches.
    #[arg(long, value_name = "NS", requires = "launches")]
    pub(crate) row_ns: Option<u64>,
    /// Microseconds that copying an expert's weights from another rank takes, with --launches.
    #[arg(long, value_name = "US", requires = "launches")]
    pub(crate) copy_us: Option<u64>,
    /// Microseconds that reading an expert's weights from memory takes, with --launches. 0 counts rows alone.
    #[arg(long, value_name = "US", requires = "launches", default_value_t = 0)]
    pub(crate) read_us: u64,
}

#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// The source file of the old schedule, or a trace (`hpmoe simulate --trace`, or of a launch).
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
    /// Seconds to search for each kernel; the command ends at most 10 % and one second later. Ctrl-C ends the search earlier, and keeps what
    /// it has found.
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Reports what is found and writes no file.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Says nothing about tile sizes that cost time.
    #[arg(long)]
    pub(crate) allow_slow_tile_sizes: bool,
    /// Prints one JSON object for each kernel.
    #[arg(long)]
    pub(crate) json: bool,
}
