//! Names of a build's results for a taskflow, and the inputs that they depend on. Builds with different inputs have different names, unless
//! the inputs differ only in the numbers of ranks that the build names.

use crate::constant::{Constant, Overrides};
use crate::fingerprint::Fingerprint;
use crate::graph::TaskGraph;
use crate::names::ByName;
use hpmoe_expansion::expansion::below_out_dir;

/// Version of the ABI between generated code and runtime (`HPMOE_ABI` in `abi.h`); part of every symbol.
pub const ABI: u32 = hpmoe_kernels::abi::HPMOE_ABI;

/// Names of everything that belongs to one taskflow of one package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Artifact {
    /// The symbol of the compiled kernel, which is also the name of the kernel's library.
    pub symbol: String,
    /// The stem of the taskflow's files below [`FOLDER`](hpmoe_expansion::expansion::FOLDER): `{stem}.rs`, `{stem}.cpp` and so on.
    pub stem: String,
}

impl Artifact {
    /// Creates the names of a taskflow. The parts may have characters that symbols can't have (`my-crate`, `r#try`,
    /// `größe`).
    #[must_use]
    pub fn new(package: &str, kernel: &str, taskflow: &str, fingerprint: Fingerprint) -> Self {
        let (package, kernel, taskflow) = (plain(package), plain(kernel), plain(taskflow));
        let fingerprint = fingerprint.hex();
        Self {
            symbol: format!("hpmoe{ABI}_{package}_{kernel}_{taskflow}_{fingerprint}"),
            stem: format!("{kernel}_{taskflow}_{fingerprint}"),
        }
    }

    /// The name of the taskflow's file with this ending, below [`FOLDER`](hpmoe_expansion::expansion::FOLDER).
    #[must_use]
    pub fn file(&self, ending: &str) -> String {
        format!("{}.{ending}", self.stem)
    }

    /// The path of the taskflow's file with this ending below `OUT_DIR`, with a leading slash.
    #[must_use]
    pub fn below_out_dir(&self, ending: &str) -> String {
        below_out_dir(&self.stem, ending)
    }
}

/// A name as a part of a symbol: without `r#`, and with `_` for each character that symbols can't have.
#[must_use]
pub fn plain(name: &str) -> String {
    let name = name.trim_start_matches("r#");
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The settings with which a module is built, except for its constants and numbers of ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Resolved {
    /// The fingerprint of the target that the module's schedules are made for, in hexadecimal digits.
    pub target: String,
    /// The choices that differ from the default, as text, by taskflow.
    pub choices: ByName<String>,
    /// The fingerprints of the files of external operators, in hexadecimal digits, by file.
    pub externals: ByName<String>,
    /// Whether kernels keep time stamps of their tiles.
    pub time_stamps: bool,
}

impl Resolved {
    /// The fingerprint of one compiled taskflow. It hashes `module` (the fingerprint of the module's tokens), the taskflow's name, the
    /// constants after overrides, the target, the choices of the schedule, the files of external operators, whether the kernel keeps time
    /// stamps, and the version of this compiler. It leaves out the numbers of ranks that the build names.
    #[must_use]
    pub fn fingerprint_of(&self, module: Fingerprint, graph: &TaskGraph) -> Fingerprint {
        let choices = self.choices_of(&graph.taskflow);
        let named = module.text(env!("CARGO_PKG_VERSION")).text(&graph.taskflow).text(&self.target);
        let named = if choices.is_empty() { named } else { named.text(choices) };
        let externals = graph.tasks.iter().filter_map(|(_, task)| self.externals.get(&task.external.as_ref()?.file));
        let named = externals.fold(named, |hash, external| hash.text(external));
        let named = if self.time_stamps { named.text("time stamps") } else { named };
        let named = graph.named_ranks.iter().fold(named, |hash, ranks| hash.text("ranks").text(&ranks.to_string()));
        graph.constants.iter().fold(named, |hash, (name, value)| hash.text(name).text(&value.to_string()))
    }

    /// The choices of a taskflow, as text; empty for the default.
    #[must_use]
    pub fn choices_of(&self, flow: &str) -> &str {
        self.choices.get(flow).map_or("", String::as_str)
    }
}

/// A fault that only the build script finds: its text for users, and the task that it belongs to, if that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Name of the task; `None` if the fault is not known to belong to a task.
    pub task: Option<String>,
    /// The fault, with a way out.
    pub text: String,
}

impl Fault {
    /// The text of the file that passes the fault to the macro.
    #[must_use]
    pub fn write(&self) -> String {
        match &self.task {
            Some(task) => format!("@{task}\n{}", self.text),
            None => self.text.clone(),
        }
    }

    /// Reads a text that [`write`](Self::write) has made.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let named = text.strip_prefix('@').and_then(|rest| rest.split_once('\n'));
        let (task, text) = named.map_or((None, text), |(task, text)| (Some(task.to_owned()), text));
        Self { task, text: text.to_owned() }
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self { task: None, text }
    }
}

/// Reads settings in the form of `HPMOE_SET`: `NAME=value,NAME=value`.
///
/// # Errors
///
/// If a part is not `NAME=value`, a value is neither a whole number nor a finite `f32`, or a name has two different values. The sentence
/// names the first such part.
pub fn parse_settings(text: &str) -> Result<Overrides, String> {
    let mut overrides = Overrides::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is not a setting: write NAME=value, separated by commas"))?;
        let number = Constant::read(value.trim())
            .ok_or_else(|| format!("`{name}` is set to `{value}`, which is neither a whole number nor a finite f32"))?;
        let name = name.trim();
        match overrides.get(name) {
            Some(earlier) if *earlier != number => {
                return Err(format!("`{name}` is set to {earlier} and to {number}: choose one"));
            }
            _ => overrides.insert(name.to_owned(), number),
        }
    }
    Ok(overrides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn};

    #[test]
    fn settings_are_read_and_bad_ones_named() {
        let settings = parse_settings("HIDDEN=96, TOKENS = 4_096, LIMIT=-7.5,").unwrap();
        assert_eq!(settings.get("HIDDEN"), Some(&96.into()));
        assert_eq!(settings.get("TOKENS"), Some(&4096.into()));
        assert_eq!(settings.get("LIMIT"), Some(&(-7.5).into()));
        assert!(parse_settings("HIDDEN").unwrap_err().contains("`HIDDEN` is not a setting"));
        assert_eq!(parse_settings("A=1,A=2").unwrap_err(), "`A` is set to 1 and to 2: choose one");
        assert!(parse_settings("A=1,A=1").is_ok());
        assert!(parse_settings("HIDDEN=inf").unwrap_err().contains("`inf`"));
    }

    #[test]
    fn symbols_name_the_abi_of_the_header() {
        let header = include_str!("../../kernels/include/hpmoe/abi.h");
        assert!(header.contains(&format!("#define HPMOE_ABI {ABI}\n")));
    }

    #[test]
    fn builds_for_other_ranks_have_other_symbols() {
        let resolved =
            Resolved { target: String::new(), choices: ByName::new(), externals: ByName::new(), time_stamps: false };
        let of = |ranks: &[u32]| {
            let layer = moe_ffn(&Layer::SMALL).changed(|graph| graph.named_ranks = ranks.to_vec());
            resolved.fingerprint_of(Fingerprint::default(), layer.graph()).hex()
        };
        let all: std::collections::BTreeSet<String> = [&[][..], &[4], &[12], &[4, 12]].map(of).into();
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn symbols_hold_no_odd_character() {
        let artifact = Artifact::new("my-crate", "moe", "forward", Fingerprint::default());
        assert_eq!(artifact.symbol, "hpmoe5_my_crate_moe_forward_cbf29ce484222325");
        let artifact = Artifact::new("a", "größe", "r#try", Fingerprint::default());
        assert_eq!(artifact.stem, "gr__e_try_cbf29ce484222325");
    }
}
