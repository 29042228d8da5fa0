//! Builds the instrumented copy, and finds the mutants that don't compile.

use crate::part::Part;
use crate::tree::{Tree, Written};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program of tests, and the folder that it runs in.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    /// The package and target, as in `hpmoe-core::all`.
    pub(crate) name: String,
}

/// The most rounds of compiling; nested mistakes have needed fewer.
const MOST_ROUNDS: usize = 60;

/// Builds the tests of the copy with all mutants that compile. Returns the programs, and the names of the mutants that don't compile.
pub(crate) fn build(
    tree: &Tree,
    copy: &Path,
    target: &Path,
    mut refused: BTreeSet<String>,
    tell: impl Fn(String),
) -> Result<(Vec<Program>, BTreeSet<String>), String> {
    for round in 1..=MOST_ROUNDS {
        tell(format!("building, round {round}: {} mutants do not compile", refused.len()));
        let written = tree.write(&refused)?;
        let messages = cargo(tree.part, copy, target)?;
        let errors: Vec<&Value> = messages.iter().filter(|message| is_error(message)).collect();
        if errors.is_empty() {
            return Ok((programs(&messages), refused));
        }
        let before = refused.len();
        for error in &errors {
            refused.extend(culprit(error, &written));
        }
        if refused.len() == before {
            let texts = errors.iter().filter_map(|error| error["message"]["rendered"].as_str());
            return Err(format!("the instrumented copy does not compile:\n{}", texts.collect::<String>()));
        }
    }
    Err(format!("the instrumented copy does not compile after {MOST_ROUNDS} rounds"))
}

fn cargo(part: Part, copy: &Path, target: &Path) -> Result<Vec<Value>, String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--locked", "--keep-going", "--message-format=json", "--lib", "--tests"]);
    command.args(["-p", part.package()]);
    command.current_dir(copy).env("CARGO_TARGET_DIR", target).env("RUSTFLAGS", "--cap-lints=allow");
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "none");
    let output = command.stderr(Stdio::piped()).output().map_err(|error| format!("cargo can't be run: {error}"))?;
    let messages: Vec<Value> = output.stdout.split(|byte| *byte == b'\n').flat_map(serde_json::from_slice).collect();
    if !output.status.success() && !messages.iter().any(is_error) {
        return Err(format!("cargo ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(messages)
}

fn is_error(message: &Value) -> bool {
    message["reason"] == "compiler-message" && message["message"]["level"] == "error" && {
        let spans = message["message"]["spans"].as_array();
        spans.is_some_and(|spans| !spans.is_empty())
    }
}

/// The smallest mutants whose places contain the location of a compiler error.
fn culprit(error: &Value, written: &BTreeMap<String, Written>) -> Vec<String> {
    let spans = || error["message"]["spans"].as_array().into_iter().flatten();
    let around = |span: &Value| {
        let file = span["file_name"].as_str()?;
        let (start, end) = (span["byte_start"].as_u64()? as usize, span["byte_end"].as_u64()? as usize);
        let (_, written) = written.iter().find(|(path, _)| path.ends_with(file) || file.ends_with(path.as_str()))?;
        let holds = written.places.iter().filter(|(_, place)| place.start <= start && end <= place.end);
        holds.min_by_key(|(_, place)| place.len()).map(|(name, _)| name.clone())
    };
    let primary: Vec<String> = spans().filter(|span| span["is_primary"] == true).filter_map(around).collect();
    if primary.is_empty() { spans().filter_map(around).collect() } else { primary }
}

fn programs(messages: &[Value]) -> Vec<Program> {
    let program = |message: &Value| {
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        let package = folder.file_name()?.to_str()?.to_owned();
        let name = format!("{package}::{}", message["target"]["name"].as_str()?);
        Some(Program { path, folder, name })
    };
    let artifacts = messages.iter().filter(|message| message["reason"] == "compiler-artifact");
    artifacts.filter(|message| message["profile"]["test"] == true).filter_map(program).collect()
}
