//! The options of `hpmoe memory`.

use super::source::SourceArgs;
use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct MemoryArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// The taskflow, as NAME or KERNEL::NAME; by default all taskflows of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) taskflow: Option<String>,
    /// Ranks of the group.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) ranks: u32,
    /// Tokens per rank: sets the constant `TOKENS`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tokens: Option<u32>,
    /// Received rows (of each chunk) that a rank has room for, as set by `Group::capacity_rows`; by default the maximum over all routings,
    /// or 1.5 times an even load if launches choose their number of chunks
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<u64>,
    /// Number of chunks that each rank's tokens are divided into: sets the constant `CHUNKS`.
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunks: Option<u32>,
    /// Shows the memory for ranks that are processes: tensors that peers write then lie in the symmetric heap.
    #[arg(long)]
    pub(crate) processes: bool,
    /// Prints one JSON object for each taskflow.
    #[arg(long)]
    pub(crate) json: bool,
}
