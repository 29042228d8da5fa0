//! Validation: checks that a schedule keeps every promise of its graph. The checks import no pass of the scheduler. A
//! [`Violation`] is one broken promise as data, and `words.rs` has the text of each.
//!
//! | promise | file | violation |
//! |---|---|---|
//! | Every core is in one role and, for each number of ranks, in one part of a role | `structure.rs` | `Roles` |
//! | Every phase has a row in the schedule, with a role that can run it, a band, and a rotation less than the number of cores of a queue; tiles that precede its own in the deal belong to spaces of phases | `structure.rs` | `Table`, `WrongCores`, `Band`, `Rotation`, `Preceding` |
//! | There is an order for each number of ranks, with each entry once, in a queue of its phase's role | `structure.rs` | `Orders`, `Missing`, `Twice`, `Misplaced` |
//! | There are orders for each number of chunks that launches choose from, and no others | `validate.rs` | `Chunks` |
//! | A tile can address every counter that it signals or awaits, and some tile signals what it awaits; the route waits for its ids | `forms.rs` | `Form`, `RouteForm` |
//! | Phases that are walked together have the same tiles on the same cores | `joins.rs` | `Joins` |
//! | The tables of a route are made once, before anything reads them and after all ids are written | `route.rs` | `Unrouted`, `NeedsRoute`, `RoutedEarly`, `SecondRoute` |
//! | Dependencies order tiles that share an element which one of them writes, and words order chunks that share memory | `derive.rs` | `Unordered`, `FreedEarly`, `WrittenEarly` |
//! | Every dependency is kept: by a counter, a core's own order, or a path of others | `coverage.rs` | `Uncovered` |
//! | Words that free the memory of chunks come in order | `reuse.rs` | `NoWord`, `WordsOutOfOrder` |
//! | Chunks add to shared sums in the order of chunks | `sums.rs` | `SumsOutOfOrder` |
//! | Everything that is read before a tile's waits is the caller's, and no phase writes it | `read_ahead.rs` | `NothingAhead`, `ReadEarly` |
//! | One order of all entries of all ranks exists, so no run deadlocks | `total_order.rs` | `Cycle`, `OnceByLoad` |
//! | Each wait is for exactly what is signalled, and each signal is awaited | `thresholds.rs` | `Threshold`, `RouteThreshold`, `Inexact`, `Unawaited` |
//! | Numbers fit their fields, and buffers the memory | `budgets.rs` | `TooLarge` |
//!
//! `execute` runs schedules tile by tile on random routings, only in tests: accepted schedules run right, and broken
//! schedules are refused and fail. `fuzz` changes the schedules of all kernels field by field, and `execute` judges the
//! accepted ones.

#[cfg(test)]
mod broken;
mod budgets;
mod coverage;
mod derive;
#[cfg(test)]
mod execute;
mod footprint;
mod forms;
#[cfg(test)]
mod fuzz;
mod joins;
#[cfg(test)]
mod kernels;
#[cfg(test)]
mod programs;
mod read_ahead;
mod reuse;
mod route;
mod same_core;
mod shape;
mod structure;
mod sums;
mod thresholds;
mod total_order;
#[expect(clippy::module_inception, reason = "a pass is one function in a file of its name")]
mod validate;
mod violation;
mod words;

pub use derive::{OrderStep, ways};
pub use footprint::{Footprint, default_rows, footprint};
pub(crate) use shape::used_counters;
pub use shape::{kernel_shape, kernel_sizes};
pub use validate::{ValidSchedule, validate};
pub use violation::Violation;
