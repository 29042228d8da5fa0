//! What `hpmoe memory` takes.

use super::source::SourceArgs;
use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct MemoryArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The taskflow, as NAME or KERNEL::NAME; by default all of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Ranks of the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: u32,
    /// Tokens that each rank brings: sets `TOKENS`, the most that it may bring.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tokens: Option<u32>,
    /// Received rows (of each chunk) that a rank has room for, as `Group::capacity_rows` says; by default the most that any routing brings.
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<u64>,
    /// Chunks that the tokens of each rank are cut into: sets `CHUNKS`.
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunks: Option<u32>,
    /// For ranks that are processes, which write each other's tensors in the symmetric heap.
    #[arg(long)]
    pub(crate) processes: bool,
    /// Prints one JSON object for each taskflow.
    #[arg(long)]
    pub(crate) json: bool,
}
