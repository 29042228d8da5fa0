//! A routing of a few tokens in which rows are shared in every possible way.

use crate::analyze::{CheckedGraph, Grid};
use crate::divisor::gcd;
use crate::graph::{Height, SpaceKind};
use crate::ids::SpaceId;
use std::ops::Range;

/// Number of ranks: a rank, its peer, and a third one.
pub(super) const RANKS: usize = 3;
/// Number of experts per rank; with two, one comes before the other.
const LOCAL: usize = 2;
/// Number of experts of all ranks.
const EXPERTS: usize = RANKS * LOCAL;
/// The experts of consecutive tokens. The last expert gets no token. The others get tokens of every rank that has
/// enough, and some tokens go to two experts of one rank.
const CHOSEN: [[usize; 2]; 8] = [[0, 1], [2, 4], [1, 2], [3, 0], [4, 1], [0, 2], [2, 3], [4, 0]];
/// Position in `CHOSEN` of each rank's first token. The last rank's only token goes to two experts of another rank.
const FIRST: [usize; RANKS] = [0, 3, 6];

/// A (token, k) that is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The rank that the token belongs to.
    pub(super) source: usize,
    pub(super) token: usize,
    /// The expert's position k among the choices of the token.
    pub(super) k: usize,
}

/// The tokens of each rank, and their rows.
///
/// The elements that tiles share depend only on which tile heights divide which others. Heights are therefore divided
/// by their common divisor, and a few tokens are as good as thousands.
pub(super) struct Instance {
    /// Number of tokens of each rank.
    pub(super) tokens: [usize; RANKS],
    /// Number of tokens with experts, for each rank; these tokens come first.
    routed: [usize; RANKS],
    /// Number of experts per token.
    pub(super) top_k: usize,
    /// The rows received for each expert, ordered by source and then in the sender's order.
    received: [Vec<Row>; EXPERTS],
    /// The rows stored under each expert if tokens are sent once: those whose token goes to no earlier expert of the same rank.
    once: [Vec<Row>; EXPERTS],
    /// Common divisor of the heights of row tiles and pieces.
    rows_unit: u32,
    /// Common divisor of the heights of token blocks.
    tokens_unit: u32,
}

impl Instance {
    pub(super) fn new(checked: &CheckedGraph) -> Self {
        let spaces = || checked.graph().spaces.iter().map(|(_, space)| *space);
        let heights_of_rows = spaces().filter(|space| !space.by_chunk()).map(|space| space.height);
        let heights_of_blocks = spaces().filter(|space| space.kind == SpaceKind::Blocks).map(|space| space.height);
        let heights_of_grids = checked.counters().iter().filter_map(|(_, counter)| match counter.grid {
            Grid::Blocks { height } => Some(Height::Rows(height)),
            Grid::RowTiles { .. } | Grid::Experts | Grid::Rank => None,
        });
        let (rows_unit, rows) = unit_and_most(heights_of_rows);
        let (tokens_unit, tokens) = unit_and_most(heights_of_blocks.chain(heights_of_grids));
        // Two of the largest tiles, and one more token. An expert gets about as many rows.
        let most = 2 * rows.max(tokens) + 1;
        let mut instance = Self {
            // More tokens follow whose slots are all empty, so that they fill a block of the largest height.
            tokens: [most + 2 * tokens, most, 1],
            routed: [most, most, 1],
            top_k: checked.graph().sizes.top_k.min(2),
            received: Default::default(),
            once: Default::default(),
            rows_unit,
            tokens_unit,
        };
        instance.route();
        instance
    }

    fn route(&mut self) {
        for source in ranks() {
            for token in 0..self.routed[source] {
                let experts = &CHOSEN[(FIRST[source] + token) % CHOSEN.len()][..self.top_k];
                for (k, &expert) in experts.iter().enumerate() {
                    let row = Row { source, token, k };
                    let before = experts.iter().any(|&other| owner(other) == owner(expert) && other < expert);
                    self.received[expert].push(row);
                    if !before {
                        self.once[expert].push(row);
                    }
                }
            }
        }
    }

    /// Number of experts, on all ranks.
    #[cfg(test)]
    pub(super) fn experts(&self) -> usize {
        self.received.len()
    }

    /// Rows of an expert: received rows, or once-sent rows that are stored under it.
    pub(super) fn rows(&self, once: bool, expert: usize) -> &[Row] {
        if once { &self.once[expert] } else { &self.received[expert] }
    }

    /// The expert and row of a token among the once-sent rows of a rank.
    pub(super) fn place_once(&self, rank: usize, row: Row) -> (usize, usize) {
        let same = |other: &Row| (other.source, other.token) == (row.source, row.token);
        let place = |expert: usize| Some((expert, self.once[expert].iter().position(same)?));
        experts_of(rank).find_map(place).expect("a token that is received is sent")
    }

    /// Number of rows of a tile of this height.
    pub(super) fn height_of_rows(&self, height: Height) -> usize {
        scaled(height, self.rows_unit)
    }

    /// Number of tokens of a block of this height.
    pub(super) fn height_of_blocks(&self, height: Height) -> usize {
        scaled(height, self.tokens_unit)
    }

    /// Number of rows or tokens that one counter of a grid stands for.
    pub(super) fn height_of_grid(&self, checked: &CheckedGraph, grid: Grid) -> usize {
        let height = |space: SpaceId| checked.graph().spaces[space].height;
        match grid {
            Grid::RowTiles { space, .. } => self.height_of_rows(height(space)),
            Grid::Blocks { height } => self.height_of_blocks(Height::Rows(height)),
            Grid::Experts | Grid::Rank => usize::MAX,
        }
    }
}

/// The rank that owns an expert.
pub(super) const fn owner(expert: usize) -> usize {
    expert / LOCAL
}

/// The ranks of the instance.
pub(super) const fn ranks() -> Range<usize> {
    0..RANKS
}

/// The experts of a rank.
pub(super) fn experts_of(rank: usize) -> Range<usize> {
    rank * LOCAL..(rank + 1) * LOCAL
}

/// The greatest common divisor of all heights, and the largest height divided by it. Without heights: tiles of one row.
fn unit_and_most(heights: impl Iterator<Item = Height>) -> (u32, usize) {
    let rows = heights.filter_map(|height| match height {
        Height::Rows(rows) => Some(rows),
        Height::WholeExpert => None,
    });
    let rows: Vec<u32> = rows.collect();
    let unit = rows.iter().copied().reduce(gcd).unwrap_or(1);
    let most = rows.iter().max().map_or(1, |most| most / unit);
    (unit, most as usize)
}

fn scaled(height: Height, unit: u32) -> usize {
    match height {
        Height::Rows(rows) => (rows / unit) as usize,
        Height::WholeExpert => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Layer, moe_ffn, once};
    use std::collections::BTreeSet;

    /// Tiles of 6 and of 24 rows, and blocks of 5 tokens.
    const LAYER: Layer = Layer { put: 6, tile_m: 24, block: 5, ..Layer::TINY };

    #[test]
    fn heights_keep_their_ratios() {
        let instance = Instance::new(&moe_ffn(&LAYER));
        assert_eq!([6, 24].map(|rows| instance.height_of_rows(Height::Rows(rows))), [1, 4]);
        assert_eq!(instance.height_of_blocks(Height::Rows(5)), 1);
        let instance = Instance::new(&moe_ffn(&Layer { put: 6, tile_m: 4, block: 5, ..Layer::TINY }));
        assert_eq!([6, 4].map(|rows| instance.height_of_rows(Height::Rows(rows))), [3, 2]);
        // A counter may stand for more tokens than a block has.
        let checked = moe_ffn(&LAYER);
        let mut counters = checked.counters().clone();
        let block = counters.position(|counter| matches!(counter.grid, Grid::Blocks { .. })).unwrap();
        counters[block].grid = Grid::Blocks { height: 15 };
        let checked = CheckedGraph::for_tests(checked.graph().clone(), counters, Vec::new());
        let instance = Instance::new(&checked);
        assert_eq!([5, 15].map(|tokens| instance.height_of_blocks(Height::Rows(tokens))), [1, 3]);
        assert_eq!(instance.height_of_grid(&checked, Grid::Blocks { height: 15 }), 3);
        assert_eq!(unit_and_most([Height::WholeExpert].into_iter()), (1, 1));
    }

    #[test]
    fn ranks_have_two_of_the_largest_tile_and_more_but_for_one_of_a_single_token() {
        let tokens = |put: usize, tile_m: usize, block: usize| {
            Instance::new(&moe_ffn(&Layer { put, tile_m, block, ..Layer::TINY })).tokens
        };
        // On the first rank, two blocks of tokens without an expert follow.
        assert_eq!(tokens(2, 12, 4), [2 * 6 + 1 + 2, 2 * 6 + 1, 1]);
        assert_eq!(tokens(5, 5, 3), [3 + 2, 3, 1]);
        let checked = moe_ffn(&Layer { put: 4, tile_m: 4, block: 2, ..Layer::TINY });
        let mut counters = checked.counters().clone();
        let block = counters.position(|counter| matches!(counter.grid, Grid::Blocks { .. })).unwrap();
        counters[block].grid = Grid::Blocks { height: 6 };
        let coarse = CheckedGraph::for_tests(checked.graph().clone(), counters, Vec::new());
        assert_eq!(Instance::new(&coarse).tokens, [2 * 3 + 1 + 2 * 3, 2 * 3 + 1, 1]);
    }

    #[test]
    fn every_way_of_sharing_rows_occurs() {
        let instance = Instance::new(&moe_ffn(&LAYER));
        let sources =
            |expert: usize| instance.rows(false, expert).iter().map(|row| row.source).collect::<BTreeSet<_>>();
        assert!(sources(EXPERTS - 1).is_empty());
        for expert in 0..EXPERTS - 1 {
            assert!(sources(expert).contains(&0) && sources(expert).contains(&1), "expert {expert}");
        }
        let tokens_of = |expert: usize| {
            instance.rows(false, expert).iter().map(|row| (row.source, row.token)).collect::<BTreeSet<_>>()
        };
        // A token of each rank goes to two experts of one rank.
        let both = |rank: usize| &tokens_of(2 * rank) & &tokens_of(2 * rank + 1);
        let twice: BTreeSet<usize> =
            ranks().flat_map(|rank| both(rank).into_iter().map(|(source, _)| source)).collect();
        assert_eq!(twice, ranks().collect());
    }

    #[test]
    fn a_token_is_sent_once_for_its_lowest_expert_on_a_rank() {
        let instance = Instance::new(&once(&Layer::TINY));
        let token = |row: &Row| (row.source, row.token);
        for rank in ranks() {
            let received: BTreeSet<_> = experts_of(rank).flat_map(|e| instance.rows(false, e)).map(token).collect();
            let sent: Vec<_> = experts_of(rank).flat_map(|e| instance.rows(true, e)).map(token).collect();
            assert_eq!(sent.len(), received.len());
            assert_eq!(sent.into_iter().collect::<BTreeSet<_>>(), received);
            for &row in experts_of(rank).flat_map(|expert| instance.rows(false, expert)) {
                let goes_to =
                    |&expert: &usize| instance.rows(false, expert).iter().any(|other| token(other) == token(&row));
                let (expert, place) = instance.place_once(rank, row);
                assert_eq!(Some(expert), experts_of(rank).find(goes_to));
                assert_eq!(token(&instance.rows(true, expert)[place]), token(&row));
            }
        }
    }
}
