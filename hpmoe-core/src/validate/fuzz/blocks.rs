//! Numbers of changed schedules, run block by block on all cores.

use super::kept::{Found, Kept, program};
use super::subjects::{Subject, subjects};
use super::tally::Outcome;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write as _;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of consecutive schedule numbers that share kernels' valid schedules and routings. A number means the same schedule in every run.
pub(super) const BLOCK: u64 = 10_000;

/// The numbers of schedules to try.
pub(super) struct Numbers {
    from: u64,
    count: u64,
    /// The file that keeps results, if any.
    kept: Option<PathBuf>,
}

impl Numbers {
    /// Reads the environment variables `variable`, `<variable>_FROM` and `<variable>_KEPT`.
    pub(super) fn new(variable: &str, usual: u64) -> Self {
        let number = |name: &str, usual: u64| {
            let Ok(text) = std::env::var(name) else { return usual };
            text.parse().unwrap_or_else(|_| panic!("`{name}` is `{text}`: it is a number"))
        };
        Self {
            from: number(&format!("{variable}_FROM"), 0),
            count: number(variable, usual),
            kept: std::env::var_os(format!("{variable}_KEPT")).map(PathBuf::from),
        }
    }

    pub(super) fn from(&self) -> u64 {
        self.from
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn blocks(&self) -> Vec<Range<u64>> {
        let end = self.from + self.count;
        let blocks = self.from / BLOCK..end.div_ceil(BLOCK);
        blocks.map(|block| self.from.max(block * BLOCK)..end.min((block + 1) * BLOCK)).collect()
    }

    /// Runs each number with the kernels of its block.
    pub(super) fn run(&self, each: impl Fn(&[Subject], u64) -> Outcome + Sync) -> Found {
        let blocks = self.blocks();
        let kept = Kept::open(self.kept.as_deref(), &program());
        let is_left = |block: &&Range<u64>| !kept.blocks.contains_key(&(block.start, block.end));
        let left: Vec<Range<u64>> = blocks.iter().filter(is_left).cloned().collect();
        let bar = bar(left.iter().map(|block| block.end - block.start).sum(), self.count);
        let (next, kept) = (AtomicUsize::new(0), Mutex::new(kept));
        // Graphs can't leave their thread.
        let work = || {
            let mut subjects = Vec::new();
            while let Some(block) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                let number_of_block = block.start / BLOCK;
                if subjects.is_empty() {
                    subjects = self::subjects(number_of_block);
                } else {
                    subjects.iter_mut().for_each(|subject| subject.renew(number_of_block));
                }
                let mut found = Found::default();
                for number in block.clone() {
                    let outcome = catch_unwind(AssertUnwindSafe(|| each(&subjects, number)))
                        .unwrap_or_else(|_| panic!("the change of number {number} can't be judged"));
                    if let Some(wrong) = &outcome.wrong {
                        bar.suspend(|| eprintln!("accepted and wrong: {wrong}"));
                    }
                    found.add(outcome);
                    bar.inc(1);
                }
                if bar.is_hidden() && left.len() > 1 {
                    let _ = writeln!(std::io::stderr(), "{} to {}: {}", block.start, block.end, found.tally.line());
                }
                kept.lock().expect("no thread panics while it holds the lock").add(block, found);
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..cores.min(left.len())).for_each(|_| drop(scope.spawn(work))));
        bar.finish_and_clear();
        let kept = kept.into_inner().expect("no thread panicked while it held the lock");
        let mut all = Found::default();
        blocks.iter().for_each(|block| all.merge(&kept.blocks[&(block.start, block.end)]));
        eprintln!("{}{}", all.tally, all.tally.line());
        all
    }
}

/// A progress bar, if several blocks run.
fn bar(left: u64, count: u64) -> ProgressBar {
    if count <= BLOCK {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} schedules, {eta} left").expect("the template is valid");
    ProgressBar::new(left).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_numbers_once() {
        let blocks = |from, count| {
            let blocks = Numbers { from, count, kept: None }.blocks().into_iter();
            blocks.map(|block| (block.start, block.end)).collect::<Vec<_>>()
        };
        assert_eq!(blocks(0, 500), [(0, 500)]);
        assert_eq!(blocks(BLOCK, BLOCK), [(BLOCK, 2 * BLOCK)]);
        let three = [(BLOCK - 3, BLOCK), (BLOCK, 2 * BLOCK), (2 * BLOCK, 2 * BLOCK + 2)];
        assert_eq!(blocks(BLOCK - 3, BLOCK + 5), three);
    }
}
