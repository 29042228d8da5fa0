//! A routing of a few tokens, on which every way that rows are shared occurs.

use crate::divisor::gcd;
use hpmoe_language::analyze::{CheckedGraph, Grid};
use hpmoe_language::graph::{Height, SpaceKind};
use hpmoe_language::ids::SpaceId;

/// Ranks: one, its peer, and one that is neither.
pub(super) const RANKS: usize = 3;
/// Experts of a rank: with two, one comes before the other.
const LOCAL: usize = 2;
/// Experts of all ranks.
const EXPERTS: usize = RANKS * LOCAL;
/// The experts of one token after another. The last expert gets no token; the others get tokens of every rank that has
/// enough; some tokens go to two experts of one rank.
const CHOSEN: [[usize; 2]; 8] = [[0, 1], [2, 4], [1, 2], [3, 0], [4, 1], [0, 2], [2, 3], [4, 0]];

/// One (token, k) that is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// The rank that has the token.
    pub(super) source: usize,
    pub(super) token: usize,
    /// Which of the token's experts it is sent to.
    pub(super) k: usize,
}

/// Tokens of each rank and the rows that they become.
///
/// What is shared by whom depends on tile heights only by which of them divide which. So heights are divided by what they
/// have in common, and a few tokens are as good as thousands.
pub(super) struct Instance {
    /// Number of tokens, by rank.
    pub(super) tokens: [usize; RANKS],
    /// Experts of a token.
    pub(super) top_k: usize,
    /// By expert: rows by source, then in the sender's order.
    received: [Vec<Row>; EXPERTS],
    /// By expert: those whose token goes to no expert of the same rank before this one.
    once: [Vec<Row>; EXPERTS],
    /// What the heights of row tiles and pieces have in common.
    rows_unit: u32,
    /// What the heights of token blocks have in common.
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
        // An expert gets about as many rows as a rank has tokens: more than one of the largest tile.
        let most = 2 * rows.max(tokens) as usize + 1;
        let mut instance = Self {
            tokens: [most, most, 1],
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
        for source in 0..RANKS {
            for token in 0..self.tokens[source] {
                let experts = &CHOSEN[(token + 3 * source) % CHOSEN.len()][..self.top_k];
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

    /// Rows of an expert: received for it, or sent once and stored under it.
    pub(super) fn rows(&self, once: bool, expert: usize) -> &[Row] {
        if once { &self.once[expert] } else { &self.received[expert] }
    }

    /// Where a token lies among the rows sent once to a rank: the expert and the row.
    pub(super) fn place_once(&self, rank: usize, row: Row) -> (usize, usize) {
        let same = |other: &Row| (other.source, other.token) == (row.source, row.token);
        let place = |expert: usize| Some((expert, self.once[expert].iter().position(same)?));
        experts_of(rank).find_map(place).expect("a token that is received is sent")
    }

    /// Rows of a tile of this height.
    pub(super) fn height_of_rows(&self, height: Height) -> usize {
        scaled(height, self.rows_unit)
    }

    /// Tokens of a block of this height.
    pub(super) fn height_of_blocks(&self, height: Height) -> usize {
        scaled(height, self.tokens_unit)
    }

    /// What one counter of a grid stands for: so many rows or tokens.
    pub(super) fn height_of_grid(&self, checked: &CheckedGraph, grid: Grid) -> usize {
        let height = |space: SpaceId| checked.graph().spaces[space].height;
        match grid {
            Grid::RowTiles { space, .. } => self.height_of_rows(height(space)),
            Grid::Blocks { height } => self.height_of_blocks(Height::Rows(height)),
            Grid::Experts | Grid::Rank => usize::MAX,
        }
    }
}

/// The rank that has an expert.
pub(super) const fn owner(expert: usize) -> usize {
    expert / LOCAL
}

/// The experts of a rank.
pub(super) fn experts_of(rank: usize) -> std::ops::Range<usize> {
    rank * LOCAL..(rank + 1) * LOCAL
}

/// The greatest common divisor of all heights, and the largest of them divided by it.
fn unit_and_most(heights: impl Iterator<Item = Height>) -> (u32, u32) {
    let rows = heights.filter_map(|height| match height {
        Height::Rows(rows) => Some(rows),
        Height::WholeExpert => None,
    });
    let (unit, most) = rows.fold((0, 1), |(unit, most), rows| (gcd(unit, rows), rows.max(most)));
    (unit.max(1), most / unit.max(1))
}

fn scaled(height: Height, unit: u32) -> usize {
    match height {
        Height::Rows(rows) => (rows / unit) as usize,
        Height::WholeExpert => usize::MAX,
    }
}
