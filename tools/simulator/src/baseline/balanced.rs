//! The real work of each task under balanced routing, without padding.

use super::product::Tiles;
use super::sizes::{CUBE_CORES, ROWS};
use super::{OperatorKind, Original, OriginalTask, OriginalWork};

/// A matrix core's share of one expert's product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// Number of base tiles of the core.
    pub tiles: u32,
    /// Number of base tiles of the whole product.
    pub total: u32,
    /// FLOPs of the core: the product's FLOPs in proportion to the core's tiles.
    pub flops: f64,
}

/// Number of real rows in tile `tile` of 128 rows, if there are `count` rows in all tiles.
#[must_use]
pub fn rows_of(tile: u32, count: u32) -> u32 {
    count.saturating_sub(tile * ROWS).min(ROWS)
}

impl Original {
    /// Number of real rows of a task under balanced routing; `None` for the task of [`Operator::Terminate`](super::Operator::Terminate).
    #[must_use]
    pub fn balanced_rows(&self, task: &OriginalTask) -> Option<u32> {
        let from_each = self.shape().balanced_rows();
        match task.work {
            OriginalWork::Put { tile, .. } => Some(rows_of(tile, from_each)),
            OriginalWork::Vector { tile, .. } => Some(rows_of(tile, from_each * self.shape().ranks)),
            OriginalWork::Product { .. } => Some(from_each * self.shape().ranks),
            OriginalWork::Terminate => None,
        }
    }
    /// The share of a task in its expert's product if the expert received `rows` rows; `None` if the task is not part of a
    /// product.
    #[must_use]
    pub fn share(&self, task: &OriginalTask, rows: u32) -> Option<Share> {
        let (OriginalWork::Product { core, .. }, OperatorKind::Product(product)) =
            (task.work, task.operator.kind(self.shape()))
        else {
            return None;
        };
        let total = product.base_tiles(rows);
        let tiles = Tiles { before: 0, cores: CUBE_CORES, core }.among(total);
        let flops = product.flops(rows) as f64 * f64::from(tiles) / f64::from(total.max(1));
        Some(Share { tiles, total, flops })
    }
}
