//! The command line.

use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// Looks at what hpmoe assumes of NPUs and can't see: small kernels with a known answer, compiled by the installed CANN and run on the
/// NPUs of this process. The exit status is 0 if no assumption fails, 1 if one does, 2 if the probes could not be asked.
#[derive(Parser, Debug)]
#[command(name = "hpmoe-doctor", version)]
pub(crate) struct Options {
    /// NPUs of this process, each of which is a rank [default: 1].
    #[arg(long, value_name = "N", conflicts_with = "processes")]
    pub(crate) ranks: Option<usize>,
    /// Ranks as processes: starts N - 1 more of this program. A process of a launcher (torchrun, mpirun, srun) is a rank without
    /// this.
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<usize>,
    /// How often a probe tries what may go wrong now and then: blocks that a core sends, adds to a word.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) tries: u32,
    /// The longest that a core waits for a word, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    limit: f64,
    /// The folder for the probes' compiled kernel [default: a folder of the system's for temporary files].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) objects: Option<PathBuf>,
    /// Times constants of a target on these NPUs, if no assumption fails, and writes the file of a machine for `hpmoe simulate`, `hpmoe tune`
    /// and builds. `hpmoe measure` is the same.
    #[arg(long)]
    pub(crate) measure: bool,
    /// The file of the machine.
    #[arg(long, value_name = "FILE.toml", default_value = "machine.toml", requires = "measure")]
    pub(crate) out: PathBuf,
    /// The target whose values stay where nothing is timed: a file, or the built-in one.
    #[arg(long, value_name = "FILE.toml|NAME", default_value = "ascend-a3", requires = "measure")]
    pub(crate) target: String,
    /// MiB of memory that all vector cores read once, to time HBM: more than the L2 holds.
    #[arg(long, value_name = "MIB", default_value_t = 768, value_parser = clap::value_parser!(u32).range(1..=32_768), requires = "measure")]
    pub(crate) hbm_mib: u32,
    /// Prints one JSON object as the last line.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Options {
    /// The longest that a core waits for a word.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.limit)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.1 to 600".to_owned()),
    }
}
