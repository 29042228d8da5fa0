//! Tile operations, and the tensors and tiles that they work on.
//!
//! [`ops`] has one file per operation: what the compiler must know about it (an [`op::Operation`]), what it means on
//! the host, and an example. [`Tile`] and [`Value`] are what task bodies see; [`Tensor`], [`Experts`], [`Matrix`],
//! [`Received`], [`Once`] and [`Slots`] are what a taskflow cuts into tiles, one of each per rank ([`PerRank`]); [`Route`] says which
//! token goes where.
//!
//! Everything here runs on the host and defines the meaning of a program: the generated kernel must give the same bits.
//!
//! The device library and the AscendC implementation for CPUs are C++ and lie beside this crate's sources:
//! [`INCLUDE_DIR`], [`HOST_DIR`].

#![forbid(unsafe_code)]

mod buffer;
mod element;
mod experts;
pub mod math;
mod matrix;
mod once;
pub mod op;
pub mod ops;
mod per_rank;
mod rank;
pub mod route;
pub mod tasks;
mod tensor;
mod tile;
mod value;
mod workspace;

pub use element::{CubeElement, Element, Float, Number};
pub use experts::Experts;
#[cfg(feature = "bf16")]
pub use half::bf16;
pub use matrix::Matrix;
pub use once::Once;
pub use per_rank::PerRank;
pub use rank::{Expert, Rank, Ranks};
pub use route::{Piece, Route, RouteError, RowTile, TokenBlock};
pub use tensor::Tensor;
pub use tile::{RAGGED, Tile, TileBuf};
pub use value::Value;
pub use workspace::{Received, Slots};

/// Directory of the device library: the include path that generated kernels need.
pub const INCLUDE_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// Directory of the implementation of AscendC for CPUs.
pub const HOST_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/host");
