//! The command line.

use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// Checks hpmoe's assumptions about NPUs: compiles small kernels with known answers by the installed CANN, and runs them on the NPUs of
/// this process. The exit status is 0 if no assumption fails, 1 if one does, and 2 if the probes could not run.
#[derive(Parser, Debug)]
#[command(name = "hpmoe-doctor", version)]
pub(crate) struct Options {
    /// Number of NPUs of this process; each is a rank [default: 1].
    #[arg(long, value_name = "N", conflicts_with = "processes")]
    pub(crate) ranks: Option<usize>,
    /// Number of ranks as processes: starts N - 1 more processes of this program. Under a launcher (torchrun, mpirun, srun), leave it out.
    #[arg(long, value_name = "N")]
    pub(crate) processes: Option<usize>,
    /// Repetitions of operations that may fail only sometimes: blocks that a core sends, adds to a word.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) tries: u32,
    /// Longest wait of a core for a word, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    limit: f64,
    /// Maximum number of matrix cores of a launch; it has twice as many vector cores [default: all of the NPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) matrix_cores: Option<u32>,
    /// Probes to skip, separated by commas.
    #[arg(long, value_name = "PROBE", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
    /// File for results: one line of JSON per probe, as soon as the probe has ended.
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) answers: Option<PathBuf>,
    /// The folder for the probes' compiled kernel [default: the system's folder for temporary files].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) objects: Option<PathBuf>,
    /// Measures constants of a target on these NPUs, if no assumption fails, and writes a target file for `hpmoe simulate`, `hpmoe tune`
    /// and builds. Same as `hpmoe measure`.
    #[arg(long)]
    pub(crate) measure: bool,
    /// The target file that --measure writes.
    #[arg(long, value_name = "FILE.toml", default_value = "machine.toml", requires = "measure")]
    pub(crate) out: PathBuf,
    /// The target for constants that are not measured: a file, or the built-in target.
    #[arg(long, value_name = "FILE.toml|NAME", default_value = "ascend-a3", requires = "measure")]
    pub(crate) target: String,
    /// MiB of memory that all vector cores read once, with --measure, to measure HBM; must exceed the L2.
    #[arg(long, value_name = "MIB", default_value_t = 768, value_parser = clap::value_parser!(u32).range(1..=32_768), requires = "measure")]
    pub(crate) hbm_mib: u32,
    /// Prints one JSON object as the last line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Without an NPU: compiles all kernels and probes by the installed CANN, and runs probes and a small layer on CANN's simulator. Writes
    /// all results to one file. If a step fails or takes too long, the other steps still run.
    #[arg(long, conflicts_with_all = ["ranks", "processes", "measure"])]
    pub(crate) no_npu: bool,
    /// The file that --no-npu writes all its results to.
    #[arg(long, value_name = "FILE.json", default_value = "no-npu.json", requires = "no_npu")]
    pub(crate) report: PathBuf,
    /// Time limit of a step, in minutes, with --no-npu.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=2880), requires = "no_npu")]
    pub(crate) minutes: u32,
    /// The folder of a checkout of hpmoe, whose examples --no-npu compiles and runs.
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "no_npu")]
    pub(crate) checkout: PathBuf,
    /// The simulator's chip, a folder of `tools/simulator` in the toolkit [default: the first of Ascend910B1, Ascend910B…, Ascend910_93… and dav_2201].
    #[arg(long, value_name = "CHIP", requires = "no_npu")]
    pub(crate) chip: Option<String>,
    /// A `moe_ffn` that was already built for the simulator: --no-npu uses it instead of building one.
    #[arg(long, value_name = "PROGRAM", requires = "no_npu")]
    pub(crate) layer: Option<PathBuf>,
    /// Compiles a file of kernels, and prints the result of each: a step of `--no-npu`.
    #[arg(long, value_name = "FILE.rs", hide = true, conflicts_with = "no_npu")]
    pub(crate) compile: Option<PathBuf>,
}

impl Options {
    /// Longest wait of a core for a word.
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
