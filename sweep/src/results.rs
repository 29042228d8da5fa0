//! What has been simulated, in a file that grows case by case, and as a table.

use crate::cases::{self, Case};
use crate::figures::{COLUMNS, Figures};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::Path;

/// The results of earlier runs of this program, and of this one.
pub(crate) struct Results {
    pub(crate) known: BTreeMap<Case, Figures>,
    file: File,
}

impl Results {
    /// Opens the file of results. Those of another build of this program are dropped unless they are to be kept.
    pub(crate) fn open(path: &Path, keep: bool) -> Result<Self, String> {
        let refused = |error: std::io::Error| format!("{}: {error}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(refused)?;
        }
        let first = format!("# {:016x}", build()?);
        let text = fs::read_to_string(path).unwrap_or_default();
        let fits = keep || text.lines().next() == Some(&first);
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(refused)?;
        if !fits || text.is_empty() {
            file.set_len(0).map_err(refused)?;
            writeln!(file, "{first}").map_err(refused)?;
        }
        Ok(Self { known: if fits { known(&text) } else { BTreeMap::new() }, file })
    }

    /// Keeps the figures of a case.
    pub(crate) fn add(&mut self, case: Case, figures: Figures) -> Result<(), String> {
        // One call, so that a run that is stopped leaves whole lines; a line that is cut off is not read.
        let line = format!("{case},{}\n", figures.written());
        self.file.write_all(line.as_bytes()).map_err(|error| format!("can't keep {case}: {error}"))?;
        self.known.insert(case, figures);
        Ok(())
    }
}

/// The cases that a file of results holds.
fn known(text: &str) -> BTreeMap<Case, Figures> {
    let names: BTreeMap<String, Case> = cases::all().map(|case| (case.to_string(), case)).collect();
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let read = |line: &str| {
        let (name, figures) = line.split_once(',')?;
        Some((*names.get(name)?, Figures::read(figures)?))
    };
    whole.filter_map(read).collect()
}

/// A number that differs from build to build of this program.
fn build() -> Result<u64, String> {
    let program =
        std::env::current_exe().and_then(fs::read).map_err(|error| format!("can't read this program: {error}"))?;
    let mut hasher = DefaultHasher::new();
    program.hash(&mut hasher);
    Ok(hasher.finish())
}

/// The table as comma-separated values.
pub(crate) fn table(known: &BTreeMap<Case, Figures>) -> String {
    let mut text = format!("model,pass,tokens,ranks,routing,tile_overhead_ns,{}\n", COLUMNS.join(","));
    for (case, figures) in known {
        let layer = case.layer;
        text.push_str(&format!(
            "{},{},{},{},{},{},{}\n",
            layer.model().name,
            layer.direction.name(),
            layer.tokens,
            case.ranks,
            case.routing.name(),
            layer.overhead,
            figures.written()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_known_and_what_was_cut_off_is_not() {
        let figures = Figures { ours: 1.0, original: 2.0, serial: 3.0, bound: 0.5, idle: [0.0; 5] };
        let [first, second] = [0, 1].map(|at| cases::all().nth(at).unwrap());
        let line = |case: Case| format!("{case},{}\n", figures.written());
        let text = format!("# 0\n{}nothing,1\n{}", line(first), line(second));
        assert_eq!(known(&text), BTreeMap::from([(first, figures), (second, figures)]));
        assert_eq!(known(text.trim_end()).len(), 1);
        let table = table(&known(&text));
        assert_eq!(
            (table.lines().count(), table.lines().nth(1)),
            (3, Some("Qwen3-235B,forward,16,2,balanced,200,1.0,2.0,3.0,0.5,0.0000,0.0000,0.0000,0.0000,0.0000"))
        );
    }
}
