//! The static schedule: an ordered queue of entries for every core.

mod queue;

pub use queue::{Elision, Entry, Implied, Order, Role, Schedule, Unit};
