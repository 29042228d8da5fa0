//! Graphs and schedules for people: texts that are the same for the same program, and pictures.

pub mod drawing;
mod graph_text;
mod memory;
mod mermaid;
pub(crate) mod names;
mod runs;
mod schedule_svg;
mod schedule_text;
mod summary;
mod totals;

pub use graph_text::graph_text;
pub use memory::{high_water, memory_table, tensor_uses};
pub use mermaid::mermaid;
pub use schedule_svg::{schedule_svg, simulated_svg};
pub use schedule_text::schedule_text;
pub use summary::summary;
pub use totals::{Totals, totals};
