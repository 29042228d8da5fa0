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
    /// How often a probe tries operations that may fail only sometimes: blocks that a core sends, adds to a word.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) tries: u32,
    /// The longest that a core waits for a word, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    limit: f64,
    /// Matrix cores that launches take at most, with twice as many vector cores [default: all of the NPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) matrix_cores: Option<u32>,
    /// Probes that are left out, with commas between them.
    #[arg(long, value_name = "PROBE", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
    /// A file that gets a line of JSON for each probe as soon as it has an answer.
    #[arg(long, value_name = "FILE.jsonl")]
    pub(crate) answers: Option<PathBuf>,
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
    /// Without an NPU: compiles all kernels and probes by the installed CANN, and runs probes and a small layer on its simulator of operators.
    /// Everything is written to one file. A step that fails or takes too long does not keep others from being run.
    #[arg(long, conflicts_with_all = ["ranks", "processes", "measure"])]
    pub(crate) no_npu: bool,
    /// The file with all results.
    #[arg(long, value_name = "FILE.json", default_value = "no-npu.json", requires = "no_npu")]
    pub(crate) report: PathBuf,
    /// The longest that a step may take, in minutes.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=2880), requires = "no_npu")]
    pub(crate) minutes: u32,
    /// The folder of a checkout of hpmoe, whose examples are compiled and run.
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "no_npu")]
    pub(crate) checkout: PathBuf,
    /// The simulator's chip, a folder of `tools/simulator` in the toolkit [default: one that kernels are generated for].
    #[arg(long, value_name = "CHIP", requires = "no_npu")]
    pub(crate) chip: Option<String>,
    /// A `moe_ffn` that was built for the simulator before, instead of building one.
    #[arg(long, value_name = "PROGRAM", requires = "no_npu")]
    pub(crate) layer: Option<PathBuf>,
    /// Compiles a file of kernels, and prints what came of each: a step of `--no-npu`.
    #[arg(long, value_name = "FILE.rs", hide = true, conflicts_with = "no_npu")]
    pub(crate) compile: Option<PathBuf>,
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
