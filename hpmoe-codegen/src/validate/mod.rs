//! Is this schedule right? Code of its own, which knows nothing of how schedules are made.

#[cfg(test)]
mod broken;
mod budgets;
mod coverage;
#[cfg(test)]
mod execute;
mod footprint;
mod forms;
mod joins;
mod reuse;
mod same_core;
mod structure;
mod sums;
mod thresholds;
mod total_order;
#[expect(clippy::module_inception, reason = "a pass is one function in a file of its name")]
mod validate;
mod violation;
mod words;

pub use footprint::{Footprint, footprint, lossless_rows};
pub use validate::{ValidSchedule, validate};
pub use violation::Violation;
