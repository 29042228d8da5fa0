//! The target of a command.

use clap::Args;

/// A target and the constants that are changed in it.
#[derive(Args, Clone, Debug)]
pub(crate) struct TargetChoice {
    /// The name of a built-in target, or a target file.
    #[arg(long, value_name = "FILE.toml|NAME", default_value = "ascend-a3")]
    pub(crate) target: String,
    /// Changes a constant of the target; can be repeated.
    #[arg(long = "constant", value_name = "SECTION.KEY=VALUE")]
    pub(crate) constants: Vec<String>,
}
