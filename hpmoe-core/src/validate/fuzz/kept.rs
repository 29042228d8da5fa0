//! Results of blocks of changed schedules, kept in a file so that an interrupted run can continue.

use super::tally::{Outcome, Tally};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

/// The outcomes of changed schedules.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) tally: Tally,
    /// The schedules that were accepted but ran wrong.
    pub(super) wrong: Vec<String>,
}

impl Found {
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.tally.count(&outcome.change, outcome.verdict);
        self.wrong.extend(outcome.wrong);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        self.wrong.extend_from_slice(&other.wrong);
    }
}

/// Known blocks, by their first number and the number after their last.
pub(super) struct Kept {
    pub(super) blocks: BTreeMap<(u64, u64), Found>,
    file: Option<File>,
}

impl Kept {
    /// Reads the results of a file if the same program wrote it; otherwise clears the file. Without a file, nothing is
    /// kept.
    pub(super) fn open(path: Option<&Path>, program: &str) -> Self {
        let Some(path) = path else { return Self { blocks: BTreeMap::new(), file: None } };
        let text = fs::read_to_string(path).unwrap_or_default();
        let first = format!("program {program}\n");
        let blocks = text.strip_prefix(&first).map(blocks).unwrap_or_default();
        // Overwrites a line that was cut off.
        let lines: String = blocks.iter().map(|(block, found)| lines(*block, found)).collect();
        let written = fs::write(path, first + &lines).and_then(|()| OpenOptions::new().append(true).open(path));
        let file = written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { blocks, file: Some(file) }
    }

    pub(super) fn add(&mut self, block: &Range<u64>, found: Found) {
        let block = (block.start, block.end);
        if let Some(file) = &mut self.file {
            file.write_all(lines(block, &found).as_bytes()).expect("results can be written to the file");
        }
        self.blocks.insert(block, found);
    }
}

/// A hash that differs between builds of this program.
pub(super) fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read).expect("the file of this program can be read");
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    format!("{:016x}", hasher.finish())
}

/// The lines of one block. The last line marks the block as complete.
fn lines((from, end): (u64, u64), found: &Found) -> String {
    let counts = found.tally.rows().map(|(change, counts)| {
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        format!("{from} {end}\tcounts\t{}\t{change}\n", counts.join(" "))
    });
    let wrong = found.wrong.iter().map(|text| format!("{from} {end}\twrong\t{}\n", text.replace(['\n', '\t'], " ")));
    counts.chain(wrong).chain([format!("{from} {end}\tend\n")]).collect()
}

/// All complete blocks.
fn blocks(text: &str) -> BTreeMap<(u64, u64), Found> {
    let mut open: BTreeMap<(u64, u64), Found> = BTreeMap::new();
    let mut whole = BTreeMap::new();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let mut parts = line.splitn(4, '\t');
        let mut next = || parts.next().unwrap_or_default();
        let Some((from, end)) = next().split_once(' ') else { continue };
        let (Ok(from), Ok(end)) = (from.parse(), end.parse()) else { continue };
        let block = (from, end);
        match next() {
            "counts" => {
                let counts: Vec<u64> = next().split(' ').filter_map(|count| count.parse().ok()).collect();
                if let Ok(counts) = counts.try_into() {
                    open.entry(block).or_default().tally.add(next(), counts);
                }
            }
            "wrong" => open.entry(block).or_default().wrong.push(next().to_owned()),
            "end" => whole.extend(open.remove_entry(&block)),
            _ => {}
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::super::tally::Verdict;
    use super::*;

    fn found(verdicts: &[Verdict]) -> Found {
        let mut found = Found::default();
        for &verdict in verdicts {
            let wrong = (verdict == Verdict::Wrong).then(|| "3: a\tchange\nof a kernel".to_owned());
            found.add(Outcome { change: ".waits.index of two".to_owned(), verdict, wrong });
        }
        found
    }

    #[test]
    fn whole_blocks_of_the_same_program_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.txt");
        let mut kept = Kept::open(Some(&path), "one");
        assert_eq!(kept.blocks.len(), 0);
        kept.add(&(0..10), found(&[Verdict::Right, Verdict::Wrong, Verdict::RefusedRight]));
        kept.add(&(20..25), found(&[Verdict::Malformed]));
        drop(kept);
        // The program was stopped while it wrote.
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, whole + "30 40\tcounts\t1 0 0 0 0\t.band\n40 50\tcou").unwrap();
        let mut again = Kept::open(Some(&path), "one");
        let one_line = "3: a change of a kernel";
        let mut wanted = found(&[Verdict::Right, Verdict::RefusedRight, Verdict::Wrong]);
        wanted.wrong = vec![one_line.to_owned()];
        assert_eq!(again.blocks, BTreeMap::from([((0, 10), wanted), ((20, 25), found(&[Verdict::Malformed]))]));
        again.add(&(30..40), found(&[Verdict::RefusedWrong]));
        assert_eq!(Kept::open(Some(&path), "one").blocks.len(), 3);
        assert_eq!(Kept::open(Some(&path), "other").blocks.len(), 0);
        assert_eq!(Kept::open(Some(&path), "one").blocks.len(), 0, "the other program starts again");
        assert_eq!(Kept::open(None, "one").blocks.len(), 0);
    }
}
