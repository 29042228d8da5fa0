//! Readiness: the data that each counter stands for, the amounts that producers add, and the thresholds that consumers
//! wait for.

use crate::graph::Height;
use crate::ids::{CounterId, PhaseId, SpaceId, TensorId};
use std::fmt;

/// The part of a tensor that each counter of an array stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Grid {
    /// A row tile of received or once-sent rows, or one column tile of it.
    RowTiles {
        /// The row tiles: a space of kind `RowTiles` or `OnceTiles`.
        space: SpaceId,
        /// The number of counters per row tile: 1, or the number of column tiles if each column tile has a counter.
        columns: u32,
    },
    /// All received rows of one expert chunk, or the matrix of its expert.
    Experts,
    /// A block of consecutive tokens.
    Blocks {
        /// The maximum number of tokens of a block.
        height: u32,
    },
    /// All rows of one chunk on a rank.
    Rank,
}

/// An array of counters on every rank. A counter stands for a part of a tensor: it shows when the data of the part are complete or, with
/// `through`, no longer needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Counter {
    /// The tensor that the counters stand for.
    pub tensor: TensorId,
    /// The part of the tensor that each counter stands for.
    pub grid: Grid,
    /// Whether the counters show that a phase no longer needs the data; if not, they show that the data are complete.
    pub through: bool,
}

/// The counters of an array that a tile signals or waits for, as a function of the tile's coordinates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Index {
    /// The counter of the row tile, of the grid's height, that holds the item's rows. For a row tile or an arriving piece, the counter is
    /// on this rank; for a piece that is sent, at the peer.
    RowTile,
    /// The counter of the tile's column in the item's row tile. Columns are counted over all ranges of the phase.
    Tile,
    /// The counter of the item's expert chunk: on this rank or, for a piece that is sent, at the peer.
    Expert,
    /// The counters of all row tiles of once-sent rows that hold a token of the item's rows. These row tiles can belong to the item's local
    /// expert and to local experts with lower numbers.
    OnceTiles,
    /// The counter of the item's block.
    Block,
    /// The counters of all blocks that hold tokens of the piece: at the peer for arrivals, on this rank for sends.
    PieceBlocks,
    /// The one counter of the item's chunk.
    Rank,
}

/// The amount that a producer adds to a counter when a tile is complete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Amount {
    /// The number of rows of the tile (vector cores). With [`Index::PieceBlocks`], each block's counter gets the number of rows whose
    /// tokens are in the block.
    Rows,
    /// 1 for each tile (matrix cores, and tiles of an expert's matrix).
    One,
}

/// The formula of a threshold, the value of a counter when its data are complete: `fixed + per_row * rows + per_slot * slots + Σ count *
/// ⌈rows / height⌉`. `rows` are the rows that the counter stands for; if they are tokens, `slots` are the non-empty slots of these
/// tokens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Need {
    /// Added for an expert's matrix, even if the expert has no rows: 1 for each tile of the matrix.
    pub fixed: u32,
    /// Added by vector cores for each row.
    pub per_row: u32,
    /// Added by puts to or from single slots, for each non-empty slot.
    pub per_slot: u32,
    /// Added by matrix cores: `count` for each started tile of `height` rows, as `(height, count)`.
    pub pieces: Vec<(Height, u32)>,
}

impl Need {
    /// The threshold of a counter for `rows` rows of one expert, or `rows` tokens with `slots` non-empty slots.
    #[must_use]
    pub fn at(&self, rows: u64, slots: u64) -> u64 {
        let pieces = self.pieces.iter().map(|&(height, count)| u64::from(count) * height.tiles(rows));
        let by_number = u64::from(self.per_row) * rows + u64::from(self.per_slot) * slots;
        u64::from(self.fixed) + by_number + pieces.sum::<u64>()
    }

    /// The threshold of a counter that stands for the rows of several experts, each cut into tiles separately. `experts` gives the number
    /// of rows of each expert.
    #[must_use]
    pub fn over(&self, experts: impl Iterator<Item = u64>) -> u64 {
        let by_rows = Self { fixed: 0, ..self.clone() };
        u64::from(self.fixed) + experts.map(|rows| by_rows.at(rows, 0)).sum::<u64>()
    }
}

/// As in `2 per row + 4 per 32 rows`.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fixed = (self.fixed > 0).then(|| self.fixed.to_string());
        let rows = (self.per_row > 0).then(|| format!("{} per row", self.per_row));
        let slots = (self.per_slot > 0).then(|| format!("{} per slot", self.per_slot));
        let pieces = self.pieces.iter().map(|(height, count)| match height {
            Height::Rows(rows) => format!("{count} per {rows} rows"),
            Height::WholeExpert => format!("{count} per expert with rows"),
        });
        let terms: Vec<String> = fixed.into_iter().chain(rows).chain(slots).chain(pieces).collect();
        f.write_str(&if terms.is_empty() { "nothing".to_owned() } else { terms.join(" + ") })
    }
}

/// An addition to counters by each tile of a phase, after the tile's data are visible to the phases that wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signal {
    /// The array of counters.
    pub counter: CounterId,
    /// The counters of the array that are added to.
    pub index: Index,
    /// The amount added to each counter.
    pub amount: Amount,
    /// Whether the counters are at the item's peer, rather than on the rank that runs the tile.
    pub remote: bool,
}

/// A wait of each tile of a phase, before the tile starts, for counters of the rank that runs the tile.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Wait {
    /// The array of counters.
    pub counter: CounterId,
    /// The counters of the array that are waited for.
    pub index: Index,
    /// The formula of the threshold that each of these counters must reach.
    pub need: Need,
}

/// The wait of a kernel for the ids that it makes its route from. Each rank waits for its own ids, chunk by chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteInput {
    /// The phases that write ids, and the signal of each of their tiles.
    pub signals: Vec<(PhaseId, Signal)>,
    /// The wait of vector cores before they read ids.
    pub wait: Wait,
}

/// The reason why one phase must come after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// The later phase reads elements that the earlier phase wrote.
    ReadAfterWrite,
    /// The later phase overwrites elements that the earlier phase read.
    WriteAfterRead,
    /// The later phase overwrites elements that the earlier phase wrote.
    WriteAfterWrite,
}

/// The mechanism that enforces a dependency.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cover {
    /// A counter, unless the schedule finds that the order of a queue implies the dependency.
    Counter,
    /// A path: the phases from `before` to `after`, both included. Each phase waits for the previous one, and together these waits cover
    /// the rows of the dependency.
    Path(Vec<PhaseId>),
}

/// A dependency between two phases that touch the same elements of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The phase that comes first.
    pub before: PhaseId,
    /// The phase that must come after `before`.
    pub after: PhaseId,
    /// The tensor that both phases touch.
    pub tensor: TensorId,
    /// The reason why `after` must come after `before`.
    pub hazard: Hazard,
    /// The mechanism that enforces the order.
    pub cover: Cover,
    /// The signal that tiles of `before` give if a counter enforces the order.
    pub signal: Signal,
    /// The wait of tiles of `after` if a counter enforces the order. Its `need` is the sum over all phases that produce the counter's data,
    /// not only `before`.
    pub wait: Wait,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_what_tiles_add_one_by_one() {
        let need =
            Need { fixed: 5, per_row: 2, per_slot: 3, pieces: vec![(Height::Rows(4), 7), (Height::WholeExpert, 1)] };
        for rows in 0..20 {
            for slots in [0, 1, 6] {
                let mut all = 5;
                (0..rows).for_each(|row| all += 2 + if row % 4 == 0 { 7 } else { 0 } + u64::from(row == 0));
                (0..slots).for_each(|_| all += 3);
                assert_eq!(need.at(rows, slots), all, "{rows} rows and {slots} slots");
            }
        }
        // Of several experts each has its own tiles, and no slots; what is fixed counts once.
        let experts = [0, 1, 4, 9];
        let apart: u64 = experts.iter().map(|&rows| need.at(rows, 0) - 5).sum();
        assert_eq!(need.over(experts.into_iter()), 5 + apart);
    }
}
