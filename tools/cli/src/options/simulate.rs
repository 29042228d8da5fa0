//! The options of `hpmoe simulate`.

use super::target::TargetChoice;
use crate::placements::PlacementChoice;
use clap::{Args, ValueEnum};
use hpmoe_simulator::baseline::Direction;
use hpmoe_simulator::simulate::Policy;
use std::path::PathBuf;

/// A value of `--policy`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PolicyName {
    /// The file's kernel under hpmoe's schedule.
    Ours,
    /// HyperParallel-MoE's tasks, queues, counters and polling, if the kernel is the layer that it implements.
    Hyperparallel,
    /// The operators of the file's kernel one after another, each on the whole device.
    Serial,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Ours => Self::Ours,
            PolicyName::Hyperparallel => Self::Hyperparallel,
            PolicyName::Serial => Self::Serial,
        }
    }
}

/// A value of `--direction`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DirectionName {
    /// From tokens to outputs.
    Forward,
    /// From gradients of outputs to gradients of tokens and weights.
    Backward,
}

impl From<DirectionName> for Direction {
    fn from(name: DirectionName) -> Self {
        match name {
            DirectionName::Forward => Self::Forward,
            DirectionName::Backward => Self::Backward,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    On,
    Off,
}

/// A value of `--gradients`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GradientType {
    /// The kernel's type.
    Same,
    /// bf16, half the size of f32.
    Bf16,
}

/// A layer: its kernel, its schedule, the group and its routing, and the target.
#[derive(Args, Clone, Debug)]
pub(crate) struct LayerArgs {
    /// The Rust file with the `#[megakernel]` modules.
    #[arg(value_name = "FILE.rs")]
    pub(crate) file: PathBuf,
    /// Sets a constant in every kernel that declares it, or in one (`rms::HIDDEN=32`); can be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// The pass of the layer: chooses the taskflow of this name if the file has several; by default `forward`. An error if the taskflow computes
    /// the other pass.
    #[arg(long, value_enum)]
    pub(crate) direction: Option<DirectionName>,
    /// The taskflow, as NAME or KERNEL::NAME; by default the one with the name of the direction, or the only one.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Ignores schedules that `tune` has saved, and simulates the default schedule.
    #[arg(long)]
    pub(crate) untuned: bool,
    /// Turns off the warning about slow tile sizes.
    #[arg(long)]
    pub(crate) allow_slow_tile_sizes: bool,
    /// Simulates the schedule with these choices, in the format of `tune`'s file: `by_load=false put_cores=32`.
    #[arg(long, value_name = "KEY=VALUE …", conflicts_with = "untuned")]
    pub(crate) choices: Option<String>,
    /// Ranks of the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: u32,
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    /// `balanced`, `zipf:EXPONENT[:SEED]`, `drifting:EXPONENT[:SEED]`, or a JSON file (see docs/time.md).
    #[arg(long, value_name = "ROUTING", default_value = "balanced")]
    pub(crate) routing: String,
    /// The placement of experts: a file that `place` has written, or FILE:LAYER; by default its first layer.
    #[arg(long, value_name = "FILE.json[:LAYER]")]
    pub(crate) placement: Option<PlacementChoice>,
    /// Received rows of each chunk that a rank has room for; by default as in `hpmoe memory`. Only for kernels whose launches choose their number
    /// of chunks by this room (`chunks_at_most` of the build).
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    /// Polling by waiting cores of HyperParallel-MoE: `on` reads counters at intervals, as published; `off` reads them all the time.
    #[arg(long, value_enum, default_value = "on")]
    pub(crate) polling: Switch,
    /// The type of weight gradients under the other two policies: the kernel's, so that all policies do the same work, or bf16,
    /// as published for HyperParallel-MoE.
    #[arg(long, value_enum, default_value = "same")]
    pub(crate) gradients: GradientType,
}

#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) layer: LayerArgs,
    /// Simulates a single policy; by default all policies that apply to the kernel.
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyName>,
    /// Simulates `ours` once more for each optimisation of the scheduler, with that one turned off, and prints how much it gains.
    #[arg(long, conflicts_with_all = ["policy", "gantt", "trace", "traffic"])]
    pub(crate) ablate: bool,
    /// Writes a picture of the simulated run of --policy, by default `ours`: cores, links and waits (SVG).
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) gantt: Option<PathBuf>,
    /// Writes a trace of the simulated run of --policy, by default `ours`, for chrome://tracing or ui.perfetto.dev.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// Prints the simulated traffic: bytes from each rank to each other rank.
    #[arg(long)]
    pub(crate) traffic: bool,
    /// Prints JSON: one object with --policy, otherwise a list with an object for each policy.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) layer: LayerArgs,
    /// The HTML file to write. It is self-contained.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: PathBuf,
    /// Another source file of the same layer; its simulated run is drawn next to this one.
    #[arg(long, value_name = "OTHER.rs")]
    pub(crate) beside: Option<PathBuf>,
    /// The rank whose cores are drawn; by default the rank that finishes last.
    #[arg(long)]
    pub(crate) rank: Option<u32>,
    /// Prints a JSON list with an object for each policy, as `simulate` does.
    #[arg(long)]
    pub(crate) json: bool,
}
