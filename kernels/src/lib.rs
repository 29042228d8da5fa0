//! Tile operations, tile and tensor types.

pub mod op;
