//! The run-time extents of all ranks: the items of each group, and the rows of each item.

use super::chunked::Chunked;
use super::once::{self, OnceRows};
use crate::simulate::Routing;
use hpmoe_core::graph::{CHUNK_BUFFERS, Height, Space, SpaceKind, TaskGraph};
use hpmoe_core::ids::{Arena, SpaceId};
use hpmoe_kernels::route::{ExpertOrder, arrival_order};
use std::collections::BTreeSet;
use std::ops::Range;

/// The rows of a routing at the owners of their experts, and the items of every space on every rank.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) ranks: u32,
    /// Number of expert chunks of one rank.
    pub(super) local: u32,
    pub(super) chunks: u32,
    /// For each rank, its expert chunks in the order of its queues.
    orders: Vec<Vec<u32>>,
    /// Number of tokens by rank and chunk.
    tokens: Vec<Vec<u32>>,
    /// For each expert chunk of the group, the position of each source's first row among the expert's rows, and then the number of the
    /// expert's rows.
    at: Vec<u32>,
    /// The once-sent rows, if the taskflow has any.
    once: Option<OnceRows>,
    spaces: Arena<SpaceId, Space>,
    /// For each space and rank, the number of items before each group, and then the number of all items.
    first: Arena<SpaceId, Vec<Vec<u32>>>,
    /// For each space, rank and group, the number of items before the group if groups are counted in the order of queues.
    counted: Arena<SpaceId, Vec<Vec<u32>>>,
    /// For each space, rank and expert chunk, its items in the order in which their rows arrive; empty for spaces processed in another
    /// order.
    arrival_orders: Arena<SpaceId, Vec<Vec<Vec<u32>>>>,
}

/// The rows or tokens of one item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ItemRows {
    /// The other rank of sends and arrivals; otherwise the rank itself.
    pub(super) peer: u32,
    /// The rank that receives the rows.
    pub(super) owner: u32,
    /// The rank that the rows' tokens belong to; for token blocks, the rank itself.
    pub(super) source: u32,
    /// The expert chunk, numbered among those of the owner.
    pub(super) expert: u32,
    pub(super) chunk: u32,
    /// Position of the first row among those of the expert, or the first token.
    pub(super) start: u32,
    /// Number of rows or tokens.
    pub(super) rows: u32,
}

impl Layout {
    /// Computes the layout of a routing. Queues list a rank's experts in the order `experts`. The items of the spaces in `by_arrival` are
    /// processed in the order in which their rows arrive if ranks send `turn` rows per turn.
    pub(super) fn new(
        graph: &TaskGraph,
        routing: &Routing,
        experts: ExpertOrder,
        (by_arrival, turn): (&BTreeSet<SpaceId>, u32),
    ) -> Self {
        let ranks = routing.ranks();
        let chunked = Chunked::new(&graph.sizes, routing);
        let local = routing.local_experts() * chunked.count;
        let tokens = |rank| (0..chunked.count).map(|chunk| chunked.tokens(routing, rank, chunk).len() as u32).collect();
        let sends_once = graph.spaces.iter().any(|(_, space)| space.kind == SpaceKind::SendsOnce);
        let mut layout = Self {
            ranks,
            local,
            chunks: chunked.count,
            orders: Vec::new(),
            tokens: (0..ranks).map(tokens).collect(),
            at: once::sums(local * ranks, ranks, |source, expert| chunked.rows(routing, source, expert)),
            once: sends_once.then(|| OnceRows::new(routing)),
            spaces: graph.spaces.iter().map(|(_, &space)| space).collect(),
            first: Arena::new(),
            counted: Arena::new(),
            arrival_orders: Arena::new(),
        };
        let order = |rank| {
            let rows: Vec<usize> = (0..local).map(|expert| layout.expert_rows(rank, expert) as usize).collect();
            experts.of(&rows, layout.chunks as usize).into_iter().map(|expert| expert as u32).collect()
        };
        layout.orders = (0..ranks).map(order).collect();
        let groups = |space: &Space| space.groups(&graph.sizes, ranks as usize) as u32;
        layout.first = graph.spaces.iter().map(|(_, space)| layout.first_items(space, groups(space))).collect();
        let counted = layout.first.iter().map(|(space, first)| {
            let of_rank = |(rank, first): (usize, &Vec<u32>)| layout.in_order(space, rank as u32, first);
            first.iter().enumerate().map(of_rank).collect()
        });
        layout.counted = counted.collect();
        let tiles = |rank, height| (0..local).map(|expert| layout.arrival_order(rank, expert, height, turn)).collect();
        let arrival_orders = graph.spaces.iter().map(|(id, space)| match by_arrival.contains(&id) {
            true => (0..ranks).map(|rank| tiles(rank, space.height.number())).collect(),
            false => Vec::new(),
        });
        layout.arrival_orders = arrival_orders.collect();
        layout
    }

    /// The number of items before each group, if groups are counted in the order of queues: by expert, then by peer.
    fn in_order(&self, space: SpaceId, rank: u32, first: &[u32]) -> Vec<u32> {
        let kind = self.kind(space);
        let mut counted = vec![0; first.len() - 1];
        let mut sum = 0;
        if self.spaces[space].height == Height::WholeExpert && self.chunks > 1 {
            // One item per expert, counted alike in every chunk, so that the same core adds to a matrix in all chunks.
            return (0..self.local).map(|expert| expert % (self.local / self.chunks)).collect();
        }
        let (experts, peers) = match kind {
            SpaceKind::Sends | SpaceKind::SendsOnce | SpaceKind::Arrivals => (self.local, self.ranks),
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => (self.local, 1),
            SpaceKind::Blocks => (self.chunks, 1),
            // One core writes all freed words of a rank.
            SpaceKind::Chunks => return counted,
        };
        for place in 0..experts {
            for peer in 0..peers {
                let group = self.group_at(kind, (rank, peer), place) as usize;
                counted[group] = sum;
                sum += first[group + 1] - first[group];
            }
        }
        counted
    }

    /// The group of the expert at position `place` of its owner's order; if groups are pairs, the group of that expert and `peer`.
    pub(super) fn group_at(&self, kind: SpaceKind, (rank, peer): (u32, u32), place: u32) -> u32 {
        let expert = |owner: u32| self.orders[owner as usize][place as usize];
        match kind {
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts => expert(rank),
            SpaceKind::Sends | SpaceKind::SendsOnce => peer * self.local + expert(peer),
            SpaceKind::Arrivals => peer * self.local + expert(rank),
            SpaceKind::Blocks | SpaceKind::Chunks => place,
        }
    }

    fn first_items(&self, space: &Space, groups: u32) -> Vec<Vec<u32>> {
        let of_rank = |rank| {
            let mut first = Vec::with_capacity(groups as usize + 1);
            let mut sum = 0;
            first.push(0);
            for group in 0..groups {
                sum += self.items_of(space, rank, group);
                first.push(sum);
            }
            first
        };
        (0..self.ranks).map(of_rank).collect()
    }

    fn items_of(&self, space: &Space, rank: u32, group: u32) -> u32 {
        let height = space.height.number();
        let pieces = |(start, end): (u32, u32)| {
            if start == end { 0 } else { (end - 1) / height - start / height + 1 }
        };
        match space.kind {
            SpaceKind::RowTiles => self.expert_rows(rank, group).div_ceil(height),
            SpaceKind::OnceTiles => self.expert_rows_once(rank, group).div_ceil(height),
            SpaceKind::Experts => 1,
            SpaceKind::Sends => pieces(self.pair(rank, group / self.local, group % self.local)),
            SpaceKind::SendsOnce => pieces(self.pair_once(rank, group / self.local, group % self.local)),
            SpaceKind::Arrivals => pieces(self.pair(group / self.local, rank, group % self.local)),
            SpaceKind::Blocks => self.tokens(rank, group).div_ceil(height),
            SpaceKind::Chunks => u32::from(group + (CHUNK_BUFFERS as u32) < self.chunks),
        }
    }

    /// Number of tokens of a rank in a chunk.
    pub(super) fn tokens(&self, rank: u32, chunk: u32) -> u32 {
        self.tokens[rank as usize][chunk as usize]
    }

    /// Number of rows that an expert chunk of a rank receives.
    pub(super) fn expert_rows(&self, owner: u32, expert: u32) -> u32 {
        self.pair(self.ranks - 1, owner, expert).1
    }

    /// The range of a source's rows among those of an expert chunk: first row and end.
    pub(super) fn pair(&self, source: u32, owner: u32, expert: u32) -> (u32, u32) {
        let place = ((owner * self.local + expert) * (self.ranks + 1) + source) as usize;
        (self.at[place], self.at[place + 1])
    }

    /// The range of the rows of a rank and an expert (`group`) among those of the expert.
    pub(super) fn rows_of_pair(&self, space: SpaceId, rank: u32, group: u32) -> Range<u32> {
        let (expert, peer) = (group % self.local, group / self.local);
        let (start, end) = match self.kind(space) {
            SpaceKind::Sends => self.pair(rank, peer, expert),
            SpaceKind::SendsOnce => self.pair_once(rank, peer, expert),
            SpaceKind::Arrivals => self.pair(peer, rank, expert),
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts | SpaceKind::Blocks | SpaceKind::Chunks => {
                unreachable!("groups of this space are not pairs")
            }
        };
        start..end
    }

    /// The range of a source's once-sent rows among those of an expert: first row and end.
    fn pair_once(&self, source: u32, owner: u32, expert: u32) -> (u32, u32) {
        let once = self.once.as_ref().expect("spaces of once-sent rows exist");
        once.pair(self.ranks, source, owner * self.local + expert)
    }

    /// Number of once-sent rows of an expert.
    pub(super) fn expert_rows_once(&self, owner: u32, expert: u32) -> u32 {
        self.pair_once(self.ranks - 1, owner, expert).1
    }

    /// For each row of a row tile, the once-sent row of its token: the local expert under which it is sent, and its position there.
    pub(super) fn rows_once(&self, rank: u32, item: &ItemRows) -> &[(u32, u32)] {
        let once = self.once.as_ref().expect("spaces of once-sent rows exist");
        once.rows(rank * self.local + item.expert, item.start, item.rows)
    }

    /// Number of rows that a rank receives in a chunk, for each expert.
    pub(super) fn rows_of_experts(&self, rank: u32, chunk: u32) -> impl Iterator<Item = u32> {
        let own = self.local / self.chunks;
        (chunk * own..(chunk + 1) * own).map(move |expert| self.expert_rows(rank, expert))
    }

    /// The range of items of a group, among all items of the space on a rank: first item and end.
    pub(super) fn group(&self, space: SpaceId, rank: u32, group: u32) -> (u32, u32) {
        let first = &self.first[space][rank as usize];
        (first[group as usize], first[group as usize + 1])
    }

    /// Number of items of a space on a rank before a group, counted in the order of queues.
    pub(super) fn counted(&self, space: SpaceId, rank: u32, group: u32) -> u32 {
        self.counted[space][rank as usize][group as usize]
    }

    /// Number of items of a space on a rank.
    pub(super) fn items(&self, space: SpaceId, rank: u32) -> u32 {
        let first = &self.first[space][rank as usize];
        first[first.len() - 1]
    }

    fn arrival_order(&self, rank: u32, expert: u32, height: u32, turn: u32) -> Vec<u32> {
        let rows = (0..self.ranks).map(|source| {
            let (start, end) = self.pair(source, rank, expert);
            (end - start) as usize
        });
        let tiles = arrival_order(&rows.collect::<Vec<_>>(), rank as usize, height as usize, turn as usize);
        tiles.into_iter().map(|tile| tile as u32).collect()
    }

    /// The item that is processed at position `place` of a group. Row tiles are processed in the order in which their rows arrive. Without
    /// `by_arrival`, the first one is the first tile that starts with the rank's own rows, which need not travel; the tile before it, whose
    /// rows arrive last, comes last.
    pub(super) fn walked(&self, space: SpaceId, (rank, group): (u32, u32), place: u32, by_arrival: bool) -> u32 {
        if self.kind(space) != SpaceKind::RowTiles {
            return place;
        }
        if by_arrival {
            return self.arrival_orders[space][rank as usize][group as usize][place as usize];
        }
        let items = self.expert_rows(rank, group).div_ceil(self.height(space));
        let own = self.pair(rank, rank, group).0.div_ceil(self.height(space));
        (place + own) % items
    }

    /// The rows of an item of a group.
    pub(super) fn item(&self, space: SpaceId, rank: u32, group: u32, item: u32) -> ItemRows {
        let Space { kind, height } = self.spaces[space];
        let height = height.number();
        let (mut peer, mut owner, mut source) = (rank, rank, rank);
        let (expert, chunk) = match kind {
            SpaceKind::Blocks | SpaceKind::Chunks => (0, group),
            _ => (group % self.local, group % self.local / (self.local / self.chunks)),
        };
        let Range { start: from, end: to } = match kind {
            SpaceKind::Chunks => 0..1,
            SpaceKind::RowTiles | SpaceKind::Experts => 0..self.expert_rows(rank, expert),
            SpaceKind::OnceTiles => 0..self.expert_rows_once(rank, expert),
            SpaceKind::Blocks => 0..self.tokens(rank, chunk),
            SpaceKind::Sends | SpaceKind::SendsOnce => {
                peer = group / self.local;
                owner = peer;
                self.rows_of_pair(space, rank, group)
            }
            SpaceKind::Arrivals => {
                peer = group / self.local;
                source = peer;
                self.rows_of_pair(space, rank, group)
            }
        };
        let tile = from / height + item;
        let start = from.max(tile * height);
        ItemRows { peer, owner, source, expert, chunk, start, rows: to.min((tile + 1) * height) - start }
    }

    /// Maximum number of rows of an item of a space.
    pub(super) fn height(&self, space: SpaceId) -> u32 {
        self.spaces[space].height.number()
    }

    /// The kind of a space.
    pub(super) fn kind(&self, space: SpaceId) -> SpaceKind {
        self.spaces[space].kind
    }
}
