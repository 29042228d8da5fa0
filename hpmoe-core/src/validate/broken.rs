//! Runs one check on a schedule that a test has broken.

use super::Violation;
use crate::analyze::CheckedGraph;
use crate::fixture::{Layer, moe_ffn};
use crate::schedule::{Cores, Schedule, schedule};

/// A check of the validation.
pub(super) type Check = fn(&CheckedGraph, &Schedule, &mut Vec<Violation>);

/// The violations of the small layer's schedule, after `break_it` has changed it.
pub(super) fn broken(check: Check, break_it: impl FnOnce(&mut Schedule)) -> Vec<Violation> {
    broken_of(&moe_ffn(&Layer::SMALL), check, break_it)
}

/// The violations of this graph's schedule, after `break_it` has changed it.
pub(super) fn broken_of(checked: &CheckedGraph, check: Check, break_it: impl FnOnce(&mut Schedule)) -> Vec<Violation> {
    let mut schedule = schedule(checked, Cores::ASCEND_A3);
    break_it(&mut schedule);
    let mut violations = Vec::new();
    check(checked, &schedule, &mut violations);
    violations
}
