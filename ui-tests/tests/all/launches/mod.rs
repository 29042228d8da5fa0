//! Launches: broken rules, launches without progress, launches in a row, and groups of every size.

mod faults;
mod groups;
mod layer;
mod row;
mod rules;
mod stuck;
