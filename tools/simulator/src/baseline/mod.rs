//! The programs that hpmoe's kernels are compared with: the program of the original system, and the execution of one operator after
//! another.
//!
//! [`Original`] builds the tasks, counters and queues of HyperParallel-MoE (arXiv 2605.23764) from its published rules. Under balanced
//! routing, they equal the output of the original's own scheduler, task by task.

mod balanced;
mod collective;
mod counters;
mod extra;
mod limits;
mod operator;
mod original;
mod product;
mod queues;
mod replay;
mod same_layer;
mod serial;
mod shape;
mod sizes;
mod task;
#[cfg(test)]
mod work;

pub use balanced::{Share, rows_of};
pub use counters::{OriginalCounter, OriginalCounters};
pub use extra::{Extra, extras, routing_tables};
pub use limits::Limit;
pub use operator::{BASE_TILE, Operator, OperatorKind, OperatorProduct, ProductExtent};
pub use original::{Listed, Original};
pub use queues::Queues;
pub use replay::Replay;
pub use same_layer::{ForeignLayer, SameLayer, same_layer};
pub use serial::{MovedBytes, RowClass, Serial, SerialOperator, SerialProduct, SerialWork, Way};
pub use shape::{Direction, LayerShape};
pub use task::{OriginalTask, OriginalWork};
