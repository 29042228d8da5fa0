//! Sets and graphs of numbered things, such as phases and queue entries.
//!
//! petgraph has them too, but compiling it took a fifteenth of every user's build. Tests compare these collections with petgraph.

mod digraph;
mod disjoint_sets;
mod id_set;
mod sorted_set;

pub(crate) use digraph::Digraph;
pub(crate) use disjoint_sets::DisjointSets;
pub(crate) use id_set::IdSet;
pub(crate) use sorted_set::SortedSet;
