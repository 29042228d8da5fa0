//! The only way to a [`ValidSchedule`].

use super::budgets::budgets;
use super::coverage::coverage;
use super::derive::derive;
use super::forms::forms;
use super::joins::joins;
use super::reuse::reuse;
use super::structure::structure;
use super::sums::sums;
use super::thresholds::thresholds;
use super::total_order::total_order;
use super::{Footprint, Violation, footprint};
use crate::schedule::Schedule;
use hpmoe_language::analyze::CheckedGraph;

/// A schedule that keeps every promise of its graph. Only [`validate`] makes one, and only this is emitted.
#[derive(Clone, Debug)]
pub struct ValidSchedule {
    schedule: Schedule,
}

impl ValidSchedule {
    /// The schedule.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What a rank needs for it when it may receive `rows` rows.
    #[must_use]
    pub fn footprint(&self, checked: &CheckedGraph, ranks: u32, rows: u64) -> Footprint {
        footprint(checked, &self.schedule, ranks, rows)
    }
}

/// Checks a schedule against the graph it was made for: every entry once, every shared element
/// ordered by a dependency, every dependency covered, an order of all
/// entries of all ranks that nothing contradicts, thresholds that are reached exactly, and numbers that fit.
///
/// # Errors
///
/// Everything that is wrong. Where the schedule is no schedule of this graph at all, only that.
pub fn validate(checked: &CheckedGraph, schedule: Schedule) -> Result<ValidSchedule, Vec<Violation>> {
    let mut found = Vec::new();
    structure(checked, &schedule, &mut found);
    forms(checked, &schedule, &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    derive(checked, &mut found);
    joins(checked, &schedule, &mut found);
    coverage(checked, &schedule, &mut found);
    reuse(checked, &schedule, &mut found);
    sums(checked, &schedule, &mut found);
    total_order(checked, &schedule, &mut found);
    thresholds(checked, &schedule, &mut found);
    budgets(checked, &schedule, &mut found);
    if found.is_empty() { Ok(ValidSchedule { schedule }) } else { Err(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cores, schedule};
    use hpmoe_language::fixture::{Layer, gated, moe_ffn};

    #[test]
    fn schedules_of_the_example_are_right() {
        for layer in [Layer::TINY, Layer::SMALL, Layer::DEEPSEEK] {
            for checked in [moe_ffn(&layer), gated(&layer)] {
                for cores in [Cores::ASCEND_A3, Cores { aic: 20, aiv: 40 }, Cores { aic: 1, aiv: 1 }] {
                    let made = schedule(&checked, cores);
                    let valid = validate(&checked, made.clone());
                    assert_eq!(valid.map(|valid| valid.schedule().clone()), Ok(made));
                }
            }
        }
    }
}
