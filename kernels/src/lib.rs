//! Tile operations, and the tensors and tiles that they work on.
//!
//! [`ops`] has one file per operation: the description that the compiler reads (an [`op::Operation`]), the meaning on the
//! host, and an example. Task bodies work on [`Tile`] and [`Value`]. Taskflows cut [`Tensor`], [`Experts`], [`Matrix`],
//! [`Received`], [`Once`] and [`Slots`] into tiles, one of each per rank ([`PerRank`]). A [`Route`] holds which expert each
//! token goes to.
//!
//! Everything here runs on the host and defines the meaning of a program: the generated kernel must give the same bits.
//!
//! The device library and the AscendC implementation for CPUs are C++, in folders next to this crate's sources:
//! [`INCLUDE_DIR`], [`HOST_DIR`]. The package's README names all of its folders.

#![forbid(unsafe_code)]

pub mod math;
pub mod op;
pub mod ops;
pub mod route;
pub mod tasks;
mod tensor;

pub use route::{Expert, Piece, Rank, Ranks, Route, RouteError, RowTile, TokenBlock};
pub use tensor::{
    CubeElement, Element, Experts, Float, Matrix, Number, Once, Operand, PerRank, RAGGED, Received, Rows, Slots,
    Stored, Tensor, Tile, TileBuf, Value, bf16,
};

/// Directory of the device library, the include path of generated kernels.
pub const INCLUDE_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// Directory of the implementation of AscendC for CPUs.
pub const HOST_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/host");
