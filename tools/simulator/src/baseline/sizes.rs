//! The sizes that the original fixes: rows of a tile, cores of a die.

/// Rows per put or vector task.
pub(super) const ROWS: u32 = 128;
/// Matrix cores that share a product.
pub(super) const CUBE_CORES: u32 = 24;
/// Vector cores that take tasks.
pub(super) const AIV_WORKERS: u32 = 24;
/// Vector cores per die.
pub(super) const AIV_CORES: u32 = 48;
