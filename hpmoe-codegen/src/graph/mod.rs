//! Sets and order of numbered things: of phases, of entries.
//!
//! Written here, although petgraph has them: with what it brings, it was a fifteenth of what the build of every user's crate compiles.
//! It is what these are tested against.

mod digraph;
mod sets;

pub(crate) use digraph::Digraph;
pub(crate) use sets::DisjointSets;
