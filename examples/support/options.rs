//! Command line of the examples.

use super::team::TeamSize;
use getopts::Matches;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;

/// The options of a program.
pub trait CommandLine: Sized {
    /// The first line of its help.
    const ABOUT: &'static str;
    /// Declares the options, each with its help.
    fn declare(options: &mut getopts::Options);
    /// Reads the options that were given.
    fn read(given: &Matches) -> Result<Self, String>;
}

/// Reads the arguments of a program; `None` if they ask for help.
pub fn parse<O: CommandLine>(arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Result<Option<O>, String> {
    let given = declared::<O>().parse(arguments).map_err(|problem| problem.to_string())?;
    if given.opt_present("help") {
        return Ok(None);
    }
    match given.free.first() {
        Some(argument) => Err(format!("unexpected argument `{argument}`: options begin with `--`")),
        None => O::read(&given).map(Some),
    }
}

/// The help of a program.
pub fn help<O: CommandLine>() -> String {
    declared::<O>().usage(O::ABOUT)
}

/// The value of an option that takes a number.
pub fn number<T: FromStr>(given: &Matches, name: &str) -> Result<Option<T>, String> {
    let number = |text: String| text.parse().map_err(|_| format!("--{name} takes a number, not `{text}`"));
    given.opt_str(name).map(number).transpose()
}

fn declared<O: CommandLine>() -> getopts::Options {
    let mut options = getopts::Options::new();
    O::declare(&mut options);
    options.optflag("h", "help", "Prints this help.");
    options
}

/// The options of every example that runs a layer.
#[derive(Debug)]
pub struct Options {
    pub team: TeamSize,
    /// The file of a layer; `None` for the bundled one.
    pub data: Option<PathBuf>,
    pub json: bool,
    /// The file to which the times of tiles are written.
    pub trace: Option<PathBuf>,
    pub seed: u64,
    /// Folder for the graph and the schedule.
    pub out: PathBuf,
}

impl CommandLine for Options {
    const ABOUT: &'static str =
        "Runs the layer's megakernel on this machine's CPU and checks it against an independent oracle";

    fn declare(options: &mut getopts::Options) {
        TeamSize::declare(options);
        let (data, trace, out) = (
            "A layer in safetensors form: hidden_states, topk_ids, topk_weights, gate_up_proj, down_proj, output.",
            "Writes a trace of the tiles of each core, for chrome://tracing, ui.perfetto.dev or `hpmoe diff`; the program must \
             have been built with HPMOE_TIME_STAMPS=on.",
            "Folder for the graph and the schedule [default: target/hpmoe].",
        );
        options.optopt("", "data", data, "FILE.safetensors").optopt("", "trace", trace, "FILE.json");
        options.optopt("", "out", out, "DIR");
        declare_common(options);
    }

    fn read(given: &Matches) -> Result<Self, String> {
        let path = |name| given.opt_str(name).map(PathBuf::from);
        Ok(Self {
            team: TeamSize::read(given)?,
            data: path("data"),
            json: given.opt_present("json"),
            trace: path("trace"),
            seed: number(given, "seed")?.unwrap_or(0),
            out: path("out").unwrap_or_else(|| PathBuf::from("target/hpmoe")),
        })
    }
}

/// Declares `--json` and `--seed`.
pub fn declare_common(options: &mut getopts::Options) {
    let seed = "Seed of the order in which pipes, copies and signals of the host run are served [default: 0].";
    options.optflag("", "json", "Prints one JSON object as the last line.").optopt("", "seed", seed, "N");
}

#[cfg(test)]
mod tests {
    use super::{Options, help, parse};
    use std::path::Path;

    fn refused(arguments: &[&str]) -> String {
        parse::<Options>(arguments).unwrap_err()
    }

    #[test]
    fn options_are_read() {
        let given = [
            "--data",
            "a.safetensors",
            "--trace=b.json",
            "--out",
            "c",
            "--json",
            "--seed",
            "7",
            "--ranks=2",
            "--time-limit",
            "9",
        ];
        let options = parse::<Options>(given).unwrap().unwrap();
        let paths = [options.data.as_deref(), options.trace.as_deref(), Some(options.out.as_path())];
        assert_eq!(paths, ["a.safetensors", "b.json", "c"].map(|path| Some(Path::new(path))));
        assert!(options.json && options.seed == 7, "{options:?}");
        assert_eq!(
            format!("{:?}", options.team),
            "TeamSize { ranks: Some(2), processes: None, device: Host, time_limit: Some(9s) }"
        );
    }

    #[test]
    fn options_that_are_left_out_have_the_values_of_the_help() {
        let options = parse::<Options>([""; 0]).unwrap().unwrap();
        assert!(options.data.is_none() && options.trace.is_none() && !options.json, "{options:?}");
        let (seed, out) = (options.seed, options.out.display());
        let help = help::<Options>().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(&format!("are served [default: {seed}].")), "{help}");
        assert!(help.contains(&format!("and the schedule [default: {out}].")), "{help}");
    }

    #[test]
    fn help_wins_over_what_is_missing() {
        assert!(parse::<Options>(["--seed", "x", "--help"]).unwrap().is_none());
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(refused(&["--rank", "2"]), "Unrecognized option: 'rank'");
        assert_eq!(refused(&["--seed", "-1"]), "--seed takes a number, not `-1`");
        assert_eq!(refused(&["--json", "--json"]), "Option 'json' given more than once");
        assert_eq!(refused(&["2"]), "unexpected argument `2`: options begin with `--`");
        assert_eq!(
            refused(&["--time-limit", "0"]),
            "--time-limit 0 leaves no time to wait: ask for one second or more"
        );
        assert_eq!(refused(&["--device", "gpu"]), "--device takes `host` or `npu`, not `gpu`");
        assert_eq!(refused(&["--ranks", "2", "--processes", "2"]), "--ranks and --processes exclude each other");
    }
}
