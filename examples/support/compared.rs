//! Differences between gradients and the oracle's.

use super::compare::Comparison;
use hpmoe_runtime::prelude::*;
use jzon::JsonValue;
use jzon::object::Object;
use std::fmt;

/// The differences of each gradient, by its name in the oracle's file.
#[derive(Clone, Debug)]
pub struct Compared(Vec<(&'static str, Comparison)>);

impl Compared {
    pub fn is_good(&self) -> bool {
        self.0.iter().all(|(_, comparison)| comparison.is_good())
    }

    /// The output of `--json` for a backward pass. `equal` says whether the gradients have the reference's bits.
    pub fn json(&self, equal: bool, report: &Report, processes: usize) -> JsonValue {
        let figures = |comparison: &Comparison| {
            jzon::object! { relative_l2: comparison.relative_l2, max_error: comparison.max_error }
        };
        let gradients: Object = self.0.iter().map(|(name, comparison)| (name, figures(comparison))).collect();
        jzon::object! {
            gradients: gradients,
            bitwise_equal: equal,
            ranks: report.ranks,
            processes: processes,
            empty_tasks: report.empty_tasks,
            workspace_bytes: report.workspace_bytes,
        }
    }
}

impl FromIterator<(&'static str, Comparison)> for Compared {
    fn from_iter<I: IntoIterator<Item = (&'static str, Comparison)>>(gradients: I) -> Self {
        Self(gradients.into_iter().collect())
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gradients, compared with the oracle's")?;
        self.0.iter().try_for_each(|(name, comparison)| write!(f, "\n  {name:<20} {comparison}"))
    }
}
