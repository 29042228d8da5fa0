//! Counts changed schedules, by kind of change.

use std::collections::BTreeMap;
use std::fmt;

/// The verdict on a changed schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Accepted, and right on every routing.
    Right,
    /// Accepted, but wrong on one routing.
    Wrong,
    /// Refused because it does not have the structure of a schedule of its graph; it can't run.
    Malformed,
    /// Refused, and wrong on one routing.
    RefusedWrong,
    /// Refused, although right on every routing.
    RefusedRight,
}

/// A verdict, the kind of change, and a description if an accepted schedule is wrong.
pub(super) struct Outcome {
    pub(super) change: String,
    pub(super) verdict: Verdict,
    pub(super) wrong: Option<String>,
}

/// Counts by kind of change and verdict.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    by_change: BTreeMap<String, [u64; 5]>,
}

impl Tally {
    pub(super) fn count(&mut self, change: &str, verdict: Verdict) {
        let mut counts = [0; 5];
        counts[verdict as usize] = 1;
        self.add(change, counts);
    }

    pub(super) fn add(&mut self, change: &str, counts: [u64; 5]) {
        let known = self.by_change.entry(change.to_owned()).or_default();
        known.iter_mut().zip(counts).for_each(|(known, count)| *known += count);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.rows().for_each(|(change, counts)| self.add(change, counts));
    }

    /// The counts of each change.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, [u64; 5])> {
        self.by_change.iter().map(|(change, counts)| (change.as_str(), *counts))
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
        let all = right + wrong + refused;
        let share = 100.0 * refused_right as f64 / all.max(1) as f64;
        format!(
            "{all} schedules: {right} accepted and right, {wrong} accepted and wrong, {refused} refused \
             ({malformed} malformed, {refused_wrong} seen wrong, {refused_right} never seen wrong, {share:.1} % of all)"
        )
    }
}

impl fmt::Display for Tally {
    /// One row for each change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>8} {:>8} {:>9} {:>8} {:>10}  change", "right", "wrong", "malformed", "ref.bad", "ref.right")?;
        for (change, [right, wrong, malformed, refused_wrong, refused_right]) in self.rows() {
            writeln!(f, "{right:>8} {wrong:>8} {malformed:>9} {refused_wrong:>8} {refused_right:>10}  {change}")?;
        }
        Ok(())
    }
}
