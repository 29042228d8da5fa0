//! Directed graphs.

use std::collections::VecDeque;

/// A directed graph of numbered nodes.
#[derive(Clone, Debug)]
pub(crate) struct Digraph {
    /// For each node, the start of its successors in the list; then the length of the list.
    starts: Vec<u32>,
    successors: Vec<u32>,
}

impl Digraph {
    /// The graph of `nodes` nodes, numbered from 0, with these edges, each from a node to a successor.
    pub(crate) fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; nodes + 1];
        edges.iter().for_each(|&(from, _)| starts[from as usize] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut successors = vec![0; edges.len()];
        for &(from, to) in edges {
            let place = &mut starts[from as usize];
            *place -= 1;
            successors[*place as usize] = to;
        }
        Self { starts, successors }
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The successors of a node, the most recent edges first.
    pub(crate) fn successors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let all = &self.successors[self.starts[node] as usize..self.starts[node + 1] as usize];
        all.iter().map(|&next| next as usize)
    }

    /// Number of edges that lead to each node.
    pub(crate) fn incoming(&self) -> Vec<u32> {
        let mut incoming = vec![0; self.len()];
        self.successors.iter().for_each(|&next| incoming[next as usize] += 1);
        incoming
    }

    /// All nodes, each after its predecessors; `None` if the graph has a cycle.
    pub(crate) fn sorted(&self) -> Option<Vec<usize>> {
        let (sorted, _) = self.as_far_as_sorted();
        (sorted.len() == self.len()).then_some(sorted)
    }

    /// The nodes that no cycle leads to, each after its predecessors; and for each node, the number of its incoming edges from other nodes.
    fn as_far_as_sorted(&self) -> (Vec<usize>, Vec<u32>) {
        let mut open = self.incoming();
        let mut sorted: Vec<usize> = (0..self.len()).filter(|&node| open[node] == 0).collect();
        let mut at = 0;
        while let Some(&node) = sorted.get(at) {
            at += 1;
            for next in self.successors(node) {
                open[next] -= 1;
                if open[next] == 0 {
                    sorted.push(next);
                }
            }
        }
        (sorted, open)
    }

    /// The nodes of a cycle in order, if the graph has one. It is the shortest cycle through one of its nodes.
    pub(crate) fn cycle(&self) -> Option<Vec<usize>> {
        let (_, open) = self.as_far_as_sorted();
        let mut node = open.iter().position(|&left| left > 0)?;
        // Each of these nodes has another one of them before it, so following predecessors leads to a cycle.
        let mut before = vec![None; self.len()];
        for node in (0..self.len()).filter(|&node| open[node] > 0) {
            self.successors(node).for_each(|next| before[next] = Some(node));
        }
        for _ in 0..self.len() {
            node = before[node]?;
        }
        self.way_round(node)
    }

    /// The nodes of a shortest path from a node back to itself.
    fn way_round(&self, node: usize) -> Option<Vec<usize>> {
        let mut before = vec![None; self.len()];
        let mut open = VecDeque::from([node]);
        while let Some(at) = open.pop_front() {
            for next in self.successors(at) {
                if before[next].is_none() {
                    before[next] = Some(at);
                    open.push_back(next);
                }
            }
        }
        let mut way = vec![before[node]?];
        while way[way.len() - 1] != node {
            way.push(before[way[way.len() - 1]]?);
        }
        way.reverse();
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use petgraph::algo::{astar, toposort};
    use petgraph::graph::{DiGraph, NodeIndex};
    use proptest::prelude::*;

    const NODES: usize = 12;

    fn edges() -> impl Strategy<Value = Vec<(u32, u32)>> {
        proptest::collection::vec((0..NODES as u32, 0..NODES as u32), 0..24)
    }

    fn expected(edges: &[(u32, u32)]) -> DiGraph<(), ()> {
        let mut graph = DiGraph::new();
        (0..NODES).for_each(|_| _ = graph.add_node(()));
        graph.extend_with_edges(edges);
        graph
    }

    #[test]
    fn the_shortest_way_round_is_named() {
        // Four nodes with edges both ways, but for one: a way from the first over the last is longer.
        let both_ways = (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|&(from, to)| from != to);
        let edges: Vec<(u32, u32)> = both_ways.filter(|&edge| edge != (3, 0)).collect();
        for turn in 0..4 {
            for twist in [1, 3] {
                let name = |node: u32| (node * twist + turn) % 4;
                let edges: Vec<(u32, u32)> = edges.iter().map(|&(from, to)| (name(from), name(to))).collect();
                assert_eq!(Digraph::new(4, &edges).cycle().unwrap().len(), 2, "{turn} {twist}");
            }
        }
        assert_eq!(Digraph::new(3, &[(0, 1), (1, 2)]).cycle(), None);
        assert_eq!(Digraph::new(3, &[(0, 1), (1, 1)]).cycle(), Some(vec![1]));
    }

    proptest! {
        #[test]
        fn is_that_of_petgraph(edges in edges()) {
            let (graph, expected) = (Digraph::new(NODES, &edges), expected(&edges));
            prop_assert_eq!(graph.len(), NODES);
            for node in 0..NODES {
                let after = expected.neighbors(NodeIndex::new(node)).map(NodeIndex::index);
                prop_assert!(graph.successors(node).eq(after));
                prop_assert_eq!(graph.incoming()[node] as usize, edges.iter().filter(|&&(_, to)| to as usize == node).count());
            }
            prop_assert_eq!(graph.sorted().is_some(), toposort(&expected, None).is_ok());
            prop_assert_eq!(graph.cycle().is_some(), graph.sorted().is_none());
        }

        #[test]
        fn nodes_come_after_those_before_them(edges in edges()) {
            let forward: Vec<(u32, u32)> = edges.into_iter().filter(|(from, to)| from < to).collect();
            let sorted = Digraph::new(NODES, &forward).sorted().unwrap();
            let place = |node: u32| sorted.iter().position(|&other| other == node as usize).unwrap();
            prop_assert_eq!(sorted.len(), NODES);
            prop_assert!(forward.iter().all(|&(from, to)| place(from) < place(to)));
        }

        #[test]
        fn a_cycle_is_a_shortest_through_its_first_node(edges in edges()) {
            let Some(cycle) = Digraph::new(NODES, &edges).cycle() else { return Ok(()) };
            let steps = cycle.iter().zip(cycle.iter().cycle().skip(1));
            for (&from, &to) in steps {
                prop_assert!(edges.contains(&(from as u32, to as u32)), "{:?} in {:?}", cycle, edges);
            }
            let expected = expected(&edges);
            let first = NodeIndex::new(cycle[0]);
            let ways = expected.neighbors(first).filter_map(|next| astar(&expected, next, |node| node == first, |_| 1, |_| 0));
            prop_assert_eq!(ways.map(|(length, _)| length + 1).min(), Some(cycle.len()));
        }
    }
}
