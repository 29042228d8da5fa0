//! The simulated cases: in a file that grows with each case, and as a table.

use crate::cases::{self, Case};
use crate::figures::{COLUMNS, Figures};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// The state of the tree that this program simulates: a hash of all sources that figures depend on.
const STATE: &str = env!("HPMOE_SWEEP_STATE");

/// The columns of the table that identify a case.
const NAMES: [&str; 6] = ["model", "pass", "tokens", "ranks", "routing", "tile_overhead_ns"];

/// The figures of a case, and the number of the state that simulated them: 1 is the state of this program, larger numbers are older states.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) figures: Figures,
    pub(crate) state: u32,
}

/// The known figures, by case.
pub(crate) type Rows = BTreeMap<Case, Row>;

/// The results of earlier runs of this program, and of this one.
pub(crate) struct Results {
    pub(crate) rows: Rows,
    file: File,
}

impl Results {
    /// Opens the file of results, and adds the table's results of older states for cases without a newer result. With `keep`, results of
    /// other states of the tree count as results of this one.
    pub(crate) fn open(path: &Path, table: &Path, keep: bool) -> Result<Self, String> {
        let refused = |error: std::io::Error| format!("{}: {error}", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(refused)?;
        }
        let kept = fs::read_to_string(path).unwrap_or_default();
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(refused)?;
        let mut rows = older(&fs::read_to_string(table).unwrap_or_default());
        rows.extend(known(&kept, keep).into_iter().map(|(case, figures)| (case, Row { figures, state: 1 })));
        Ok(Self { rows, file })
    }

    /// Stores the figures of a case.
    pub(crate) fn add(&mut self, case: Case, figures: Figures) -> Result<(), String> {
        // One call, so that a run that is stopped leaves whole lines; a line that is cut off is not read.
        let line = format!("{case},{},{STATE}\n", figures.written());
        self.file.write_all(line.as_bytes()).map_err(|error| format!("can't keep {case}: {error}"))?;
        self.rows.insert(case, Row { figures, state: 1 });
        Ok(())
    }
}

/// The cases in a file of results that the state of this program or, with `all`, any state has simulated.
fn known(text: &str, all: bool) -> BTreeMap<Case, Figures> {
    let names: BTreeMap<String, Case> = cases::all().map(|case| (case.to_string(), case)).collect();
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let read = |line: &str| {
        let (line, state) = line.rsplit_once(',')?;
        let (name, figures) = line.split_once(',')?;
        Some((*names.get(name).filter(|_| all || state == STATE)?, Figures::read(figures)?))
    };
    whole.filter_map(read).collect()
}

/// The rows of a table, marked as results of older states.
fn older(table: &str) -> Rows {
    let names: BTreeMap<String, Case> = cases::all().map(|case| (named(case), case)).collect();
    let read = |line: &str| {
        let (line, state) = line.rsplit_once(',')?;
        let end = line.match_indices(',').nth(NAMES.len() - 1)?.0;
        let figures = Figures::read(&line[end + 1..])?;
        Some((*names.get(&line[..end])?, Row { figures, state: 1 + state.parse::<u32>().ok()? }))
    };
    table.lines().filter_map(read).collect()
}

/// The rows with states numbered consecutively from 1, the newest first.
pub(crate) fn numbered(rows: &Rows) -> Rows {
    let mut states: Vec<u32> = rows.values().map(|row| row.state).collect();
    states.sort_unstable();
    states.dedup();
    let number = |state| 1 + states.partition_point(|&newer| newer < state) as u32;
    rows.iter().map(|(&case, row)| (case, Row { state: number(row.state), ..*row })).collect()
}

/// The name of a case in the table.
fn named(case: Case) -> String {
    let layer = case.layer;
    format!(
        "{},{},{},{},{},{}",
        layer.model().name,
        layer.direction.name(),
        layer.tokens,
        case.ranks,
        case.routing.name(),
        layer.overhead
    )
}

/// The table as comma-separated values.
pub(crate) fn table(rows: &Rows) -> String {
    let mut text = format!("{},{},state\n", NAMES.join(","), COLUMNS.join(","));
    for (&case, row) in rows {
        text.push_str(&format!("{},{},{}\n", named(case), row.figures.written(), row.state));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: Figures = Figures { ours: 1.0, original: 2.0, serial: 3.0, bound: 0.5, idle: [0.0; 5] };

    #[test]
    fn what_was_kept_is_known_and_what_was_cut_off_is_not() {
        let [first, second, third] = [0, 1, 2].map(|at| cases::all().nth(at).unwrap());
        let line = |case: Case, state: &str| format!("{case},{},{state}\n", FIGURES.written());
        let text = format!("{}nothing,1\n{}{}", line(first, STATE), line(second, "another state"), line(third, STATE));
        assert_eq!(known(&text, false), BTreeMap::from([(first, FIGURES), (third, FIGURES)]));
        assert_eq!(known(&text, true).len(), 3);
        assert_eq!(known(text.trim_end(), true).len(), 2);
    }

    #[test]
    fn rows_of_a_table_are_older_than_what_is_simulated() {
        let [first, second] = [0, 1].map(|at| cases::all().nth(at).unwrap());
        let row = |state| Row { figures: FIGURES, state };
        let text = table(&BTreeMap::from([(first, row(1)), (second, row(2))]));
        assert_eq!(
            (text.lines().count(), text.lines().nth(1)),
            (3, Some("Qwen3-235B,forward,16,2,balanced,200,1.0,2.0,3.0,0.5,0.0000,0.0000,0.0000,0.0000,0.0000,1"))
        );
        let mut rows = older(&text);
        assert_eq!(rows, BTreeMap::from([(first, row(2)), (second, row(3))]));
        rows.insert(first, row(1));
        assert_eq!(numbered(&rows), BTreeMap::from([(first, row(1)), (second, row(2))]));
    }
}
