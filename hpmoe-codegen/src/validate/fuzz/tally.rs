//! Counts of changed schedules, by what was changed.

use std::collections::BTreeMap;
use std::fmt;

/// What became of a changed schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Accepted, and right on every routing.
    Right,
    /// Accepted, and wrong on one.
    Wrong,
    /// Refused since it has not the structure of a schedule of its graph: it can't run.
    Malformed,
    /// Refused, and wrong on one routing.
    RefusedWrong,
    /// Refused, though right on every routing.
    RefusedRight,
}

/// Counts by change and verdict.
#[derive(Clone, Default)]
pub(super) struct Tally {
    by_change: BTreeMap<String, [u64; 5]>,
}

impl Tally {
    pub(super) fn count(&mut self, change: &str, verdict: Verdict) {
        self.by_change.entry(change.to_owned()).or_default()[verdict as usize] += 1;
    }

    pub(super) fn total(&self, verdict: Verdict) -> u64 {
        self.by_change.values().map(|counts| counts[verdict as usize]).sum()
    }

    /// All counts in one line.
    pub(super) fn line(&self) -> String {
        let [right, wrong, malformed, refused_wrong, refused_right] =
            [Verdict::Right, Verdict::Wrong, Verdict::Malformed, Verdict::RefusedWrong, Verdict::RefusedRight]
                .map(|verdict| self.total(verdict));
        let refused = malformed + refused_wrong + refused_right;
        format!(
            "{} schedules: {right} accepted and right, {wrong} accepted and wrong, {refused} refused \
             ({malformed} malformed, {refused_wrong} seen wrong, {refused_right} never seen wrong)",
            right + wrong + refused
        )
    }
}

impl fmt::Display for Tally {
    /// One row for each change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>8} {:>8} {:>9} {:>8} {:>10}  change", "right", "wrong", "malformed", "ref.bad", "ref.right")?;
        for (change, [right, wrong, malformed, refused_wrong, refused_right]) in &self.by_change {
            writeln!(f, "{right:>8} {wrong:>8} {malformed:>9} {refused_wrong:>8} {refused_right:>10}  {change}")?;
        }
        Ok(())
    }
}
