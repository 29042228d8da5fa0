//! Command line of the examples.

use super::team::TeamSize;
use clap::Parser;
use std::path::PathBuf;

/// Options of every example.
#[derive(Parser, Debug)]
#[command(about = "Runs the layer's megakernel on this machine's CPU and checks it against an independent oracle")]
pub struct Options {
    #[command(flatten)]
    pub team: TeamSize,
    /// A layer in safetensors form: hidden_states, topk_ids, topk_weights, gate_up_proj, down_proj, output.
    #[arg(long, value_name = "FILE.safetensors")]
    pub data: Option<PathBuf>,
    /// Prints one JSON object as the last line.
    #[arg(long)]
    pub json: bool,
    /// Writes when each core ran its tiles, for chrome://tracing, ui.perfetto.dev or `hpmoe diff`, of a kernel that was built with time stamps
    /// (HPMOE_TIME_STAMPS=on).
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Seed of the order in which pipes, copies and signals of the host run are served.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Folder for the graph and the schedule.
    #[arg(long, value_name = "DIR", default_value = "target/hpmoe")]
    pub out: PathBuf,
}
