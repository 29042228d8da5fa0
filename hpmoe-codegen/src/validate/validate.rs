//! The only function that makes a [`ValidSchedule`].

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
    /// The schedule, which nobody has changed since it was checked.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The memory that a rank needs when it may receive `rows` rows of each chunk.
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
/// All violations; if the schedule does not have the structure of one for this graph, those of its structure alone.
pub fn validate(checked: &CheckedGraph, schedule: Schedule) -> Result<ValidSchedule, Vec<Violation>> {
    let mut violations = Vec::new();
    structure(checked, &schedule, &mut violations);
    forms(checked, &schedule, &mut violations);
    if !violations.is_empty() {
        return Err(violations);
    }
    derive(checked, &mut violations);
    joins(checked, &schedule, &mut violations);
    coverage(checked, &schedule, &mut violations);
    reuse(checked, &schedule, &mut violations);
    sums(checked, &schedule, &mut violations);
    total_order(checked, &schedule, &mut violations);
    thresholds(checked, &schedule, &mut violations);
    budgets(checked, &schedule, &mut violations);
    if violations.is_empty() { Ok(ValidSchedule { schedule }) } else { Err(violations) }
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
