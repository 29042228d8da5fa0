//! The command line.

use clap::{Args, Parser, Subcommand};
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
    /// Compares the schedules of two files.
    Diff(Diff),
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
    /// Matrix cores of a rank; it has twice as many vector cores.
    #[arg(long, default_value_t = 24)]
    pub(crate) matrix_cores: u32,
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
    #[command(flatten)]
    pub(crate) source: Source,
    /// Numbers and picture for a group of that many ranks.
    #[arg(long, default_value_t = 8)]
    pub(crate) ranks: u32,
    /// Writes the modelled schedule as a picture.
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Raises TOKENS until a rank has about that many tiles, and tells how long scheduling and validating took.
    #[arg(long, value_name = "N")]
    pub(crate) tile_tasks: Option<u64>,
    /// Prints one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
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
    /// Matrix cores of a rank.
    #[arg(long, default_value_t = 24)]
    pub(crate) matrix_cores: u32,
}
