//! Readiness: which counters exist, what a producer adds and what a consumer waits for.

use crate::graph::{Height, Sizes, Space, SpaceKind};
use crate::ids::{CounterId, PhaseId, SpaceId, TensorId};

/// What one counter of an array stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Grid {
    /// A row tile of received rows, or one column tile of it: `columns` counters per row tile.
    RowTiles {
        /// The row tiles: a space of kind `RowTiles`.
        space: SpaceId,
        /// Counters per row tile.
        columns: u32,
    },
    /// All rows of one local expert.
    Experts,
    /// A block of consecutive tokens.
    Blocks {
        /// Tokens of a block.
        height: u32,
    },
    /// Everything that the tensor holds on a rank, of one chunk.
    Rank,
}

/// An array of counters on every rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Counter {
    /// The data it speaks of.
    pub tensor: TensorId,
    /// What one counter stands for.
    pub grid: Grid,
    /// It tells that a phase is through with the data, not that they are there.
    pub through: bool,
}

/// Which counter of an array, from the coordinates of a tile of the phase that signals or waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Index {
    /// The row tile of the grid's height that holds the item's rows. A row tile or an arriving piece: on this rank; a
    /// piece that is sent: at the peer.
    RowTile,
    /// That row tile and the tile's column, which counts the phase's ranges.
    Tile,
    /// The item's expert; for a piece that is sent, at the peer.
    Expert,
    /// Each row tile, among those of rows sent once, that has a token of the item's rows; these may be of any expert of this
    /// rank up to the item's own.
    OnceTiles,
    /// The item itself, a block.
    Block,
    /// Every block that the piece's tokens belong to, each with its own rows of the piece. Arrivals: at the peer;
    /// sends: on this rank.
    PieceBlocks,
    /// The chunk's.
    Rank,
}

/// What a producer adds when a tile is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Amount {
    /// Its rows (vector cores); with [`Index::PieceBlocks`]: the rows that belong to the block.
    Rows,
    /// One (matrix cores, and tiles of an expert's matrix).
    One,
}

/// What a counter holds when the data it speaks of is complete: with `rows` the rows that the counter stands for,
/// `fixed + per_row * rows + Σ count * ⌈rows / height⌉`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Need {
    /// Added for an expert's matrix, whatever its rows: one for each tile of it.
    pub fixed: u32,
    /// Added by vector cores for each row.
    pub per_row: u32,
    /// Added by matrix cores: `(height, count)`, for each started tile of that height `count` of them.
    pub pieces: Vec<(Height, u32)>,
}

impl Need {
    /// The threshold for that many rows.
    #[must_use]
    pub fn at(&self, rows: u64) -> u64 {
        let pieces = self.pieces.iter().map(|&(height, count)| u64::from(count) * height.tiles(rows));
        u64::from(self.fixed) + u64::from(self.per_row) * rows + pieces.sum::<u64>()
    }

    /// The threshold for the rows of several experts, each cut into pieces by itself.
    #[must_use]
    pub fn over(&self, experts: impl Iterator<Item = u64>) -> u64 {
        let cut = Self { fixed: 0, ..self.clone() };
        u64::from(self.fixed) + experts.map(|rows| cut.at(rows)).sum::<u64>()
    }
}

/// A signal: made by a tile of a phase after its data are visible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signal {
    /// The array.
    pub counter: CounterId,
    /// Which of its counters.
    pub index: Index,
    /// How much.
    pub amount: Amount,
    /// At the item's peer rather than on this rank.
    pub remote: bool,
}

/// A wait: made by a tile of a phase before it reads. Waits are always local.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Wait {
    /// The array.
    pub counter: CounterId,
    /// Which of its counters.
    pub index: Index,
    /// How much is enough.
    pub need: Need,
}

/// Why one phase comes after another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// It reads what the other wrote.
    ReadAfterWrite,
    /// It overwrites what the other read.
    WriteAfterRead,
    /// It overwrites what the other wrote.
    WriteAfterWrite,
}

/// Whether a dependency needs a counter of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cover {
    /// Yes, as far as the graph tells; the schedule may still find it implied by the order of a queue.
    Counter,
    /// No: these phases, one waiting for the other, lead from `before` to `after` for the same rows.
    Path(Vec<PhaseId>),
}

/// One dependency between two phases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The earlier phase.
    pub before: PhaseId,
    /// The later one.
    pub after: PhaseId,
    /// What they share.
    pub tensor: TensorId,
    /// How.
    pub hazard: Hazard,
    /// What covers it.
    pub cover: Cover,
    /// What `before` would signal.
    pub signal: Signal,
    /// What `after` would wait for. Where several phases produce what one counter stands for, `need` counts all.
    pub wait: Wait,
}

impl Grid {
    /// Most counters of such an array on a rank with so many expert chunks that may receive `capacity` rows of each chunk.
    #[must_use]
    pub fn len(self, space_of: impl Fn(SpaceId) -> Space, sizes: &Sizes, expert_chunks: u64, capacity: u64) -> u64 {
        match self {
            Self::RowTiles { space, columns } => {
                let Space { kind, height } = space_of(space);
                let ranks = sizes.experts as u64 * sizes.chunks as u64 / expert_chunks;
                let once = kind == SpaceKind::OnceTiles;
                let rows = if once { capacity.min(ranks * sizes.tokens as u64) } else { capacity };
                let full = rows / u64::from(height.number()) * sizes.chunks as u64;
                (full + expert_chunks) * u64::from(columns)
            }
            Self::Experts => expert_chunks,
            Self::Blocks { height } => sizes.blocks(height) * sizes.chunks as u64,
            Self::Rank => sizes.chunks as u64,
        }
    }
}
