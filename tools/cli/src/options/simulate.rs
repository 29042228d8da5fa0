//! What `hpmoe simulate` takes.

use super::target::TargetChoice;
use crate::placements::PlacementChoice;
use clap::{Args, ValueEnum};
use hpmoe_simulator::baseline::Direction;
use hpmoe_simulator::simulate::Policy;
use std::path::PathBuf;

/// A value of `--policy`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PolicyName {
    /// The kernel of the file, as hpmoe schedules it.
    Ours,
    /// HyperParallel-MoE: its tasks, queues, counters and polling, if the kernel is the layer that it implements.
    Hyperparallel,
    /// The operators of the file's kernel one after another, each over the whole device.
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
    /// Tokens to outputs.
    Forward,
    /// Gradients of outputs to gradients of tokens and weights.
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
    /// That of the kernel.
    Same,
    /// Half of f32.
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
    /// The pass of the layer.
    #[arg(long, value_enum, default_value = "forward")]
    pub(crate) direction: DirectionName,
    /// The taskflow, as NAME or KERNEL::NAME; by default the one with the name of the direction, or the only one.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Ignores what `tune` has kept, and simulates the default schedule.
    #[arg(long)]
    pub(crate) untuned: bool,
    /// Says nothing about tile sizes that cost time.
    #[arg(long)]
    pub(crate) allow_slow_tile_sizes: bool,
    /// Simulates the schedule with these choices, written as `tune` keeps them: `by_load=false put_cores=32`.
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
    /// Where experts lie: a file that `place` has written, or FILE:LAYER for another layer than the first.
    #[arg(long, value_name = "FILE.json[:LAYER]")]
    pub(crate) placement: Option<PlacementChoice>,
    /// Whether waiting cores of the original read their counters at intervals (as they do) or all the time.
    #[arg(long, value_enum, default_value = "on")]
    pub(crate) polling: Switch,
    /// The type of weight gradients of the original and of `serial`: that of the kernel, so that all do the same work, or bf16, in
    /// which the original is published.
    #[arg(long, value_enum, default_value = "same")]
    pub(crate) gradients: GradientType,
}

#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    pub(crate) layer: LayerArgs,
    /// Simulates one policy; by default all that apply to the kernel.
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyName>,
    /// Simulates `ours` with each of the scheduler's ideas turned off in turn, and prints what each of them brings.
    #[arg(long, conflicts_with_all = ["policy", "gantt", "trace", "traffic"])]
    pub(crate) ablate: bool,
    /// Draws the simulated run of --policy, by default of `ours`: cores, links and waits.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) gantt: Option<PathBuf>,
    /// Writes the simulated run of --policy, by default of `ours`, for chrome://tracing or ui.perfetto.dev.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) trace: Option<PathBuf>,
    /// Prints the simulated bytes that each rank puts to each other.
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
    /// The page. It needs nothing but itself.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: PathBuf,
    /// Another source file of the same layer, whose simulated run is drawn beside.
    #[arg(long, value_name = "OTHER.rs")]
    pub(crate) beside: Option<PathBuf>,
    /// The rank whose cores are drawn; by default the last one to end.
    #[arg(long)]
    pub(crate) rank: Option<u32>,
    /// Prints a JSON list with an object for each policy, as `simulate` does.
    #[arg(long)]
    pub(crate) json: bool,
}
