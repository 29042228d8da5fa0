//! The memory of a launch: rows, layout and table, computed in one place for the compiler's reports and for the runtime's allocation.
//!
//! A [`KernelShape`] has the properties of a kernel that its memory depends on. [`RankSizes`] has the sizes that it depends on in one
//! group. [`MemoryPlan`] places tensors and words in the workspace and the symmetric heap. [`MemoryTable`] lists these tensors and words,
//! and the caller's tensors, for people.

mod capacity;
mod constants;
mod counters;
mod kind;
mod plan;
mod shape;
mod sizes;
mod table;
mod tables;

pub use capacity::{balanced_rows, capacity_rule, default_capacity};
pub use constants::{CHUNK_BUFFERS, LINE};
pub use counters::CounterNumbers;
pub use kind::{RowKind, Storage};
pub use plan::{MemoryPlan, OffsetAllocator, Word};
pub use shape::{KernelShape, KernelSizes, TensorShape};
pub use sizes::RankSizes;
pub use table::{LaunchRows, MemoryLine, MemoryPlace, MemoryTable};
pub use tables::{Grid, SpaceTable};
