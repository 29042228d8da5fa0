//! Sizes that the original fixes.

/// Number of rows per put or vector task.
pub(super) const ROWS: u32 = 128;
/// Number of matrix cores that share a product.
pub(super) const CUBE_CORES: u32 = 24;
/// Number of vector cores per rank that take tasks.
pub(super) const AIV_WORKERS: u32 = 24;
/// Number of vector cores per die.
pub(super) const AIV_CORES: u32 = 48;
