//! A source file and the die that its kernels are for.

use clap::Args;
use std::path::PathBuf;

/// The die that kernels are scheduled for.
#[derive(Args, Clone, Debug)]
pub(crate) struct DieArgs {
    /// The name of a built-in target, or a target file.
    #[arg(long, value_name = "FILE.toml|NAME", default_value = "ascend-a3")]
    pub(crate) target: String,
    /// Matrix cores per rank, instead of the 24 of the built-in target; vector cores are twice as many.
    #[arg(long)]
    pub(crate) matrix_cores: Option<u32>,
}

/// A source file, the constants that are set, and the die.
#[derive(Args, Clone, Debug)]
pub(crate) struct SourceArgs {
    /// The Rust file with the `#[megakernel]` modules.
    #[arg(value_name = "FILE.rs")]
    pub(crate) file: PathBuf,
    /// Sets a constant in every kernel that declares it, or in one (`rms::HIDDEN=32`); can be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) die: DieArgs,
}
