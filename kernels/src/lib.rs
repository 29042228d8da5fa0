//! Tile operations, and the tensors and tiles that these operations work on.
//!
//! [`ops`] has one file per operation: the description that the compiler reads (an [`op::Operation`]), the meaning on the
//! host, and an example. Task bodies work on [`Tile`] and [`Value`]. Taskflows cut [`Tensor`], [`Experts`], [`Matrix`],
//! [`Received`], [`Once`] and [`Slots`] into tiles; each rank has its own ([`PerRank`]). A [`Route`] holds the experts that each
//! token goes to.
//!
//! Everything here runs on the host and defines the meaning of a program: the generated kernel must give the same bits. A task
//! that is called with tiles of its own ([`TileBuf`]) is a unit test:
//!
//! ```
//! use hpmoe_kernels::{Tile, TileBuf, bf16};
//!
//! fn swiglu(gate: &Tile<bf16, 16, 16>, up: &Tile<bf16, 16, 16>, h: &mut Tile<bf16, 16, 16>) {
//!     let gate = gate.load();
//!     h.store(gate.silu() * up.load());
//! }
//!
//! // Types say the largest size: here is one row of two columns.
//! let gate = TileBuf::<bf16>::from_f32(1, 2, &[0.0, 20.0]);
//! let up = TileBuf::<bf16>::from_f32(1, 2, &[3.0, 0.5]);
//! let h = TileBuf::like(&gate);
//! swiglu(&gate.tile(), &up.tile(), &mut h.tile());
//! assert_eq!(h.to_f32(), [0.0, 10.0]);
//! ```
//!
//! A route says where rows go:
//!
//! ```
//! use hpmoe_kernels::{PerRank, Rank, Ranks, Route, Tensor};
//!
//! // Two ranks with two experts each. The only token of rank 0 goes to the experts 1 and 2.
//! let ids = PerRank::from_vec(vec![Tensor::<i32, 2>::from_slice(&[1, 2]), Tensor::zeros(0)]);
//! let route = Route::new(Ranks::new(2), 4, &ids)?;
//! assert_eq!([0, 1].map(|rank| route.received(Rank::new(rank))), [1, 1]);
//! assert!(route.experts_of(Rank::new(1)).all(|expert| expert.owner() == Rank::new(1)));
//! # Ok::<(), hpmoe_kernels::RouteError>(())
//! ```
//!
//! Programs take all of this from `hpmoe_runtime::prelude`.
//!
//! The device library and the AscendC implementation for CPUs are C++, in folders next to this crate's sources:
//! [`INCLUDE_DIR`], [`HOST_DIR`]. [`abi`] has the structures that kernels share with the host. The package's README names all of its folders.

#![forbid(unsafe_code)]

#[macro_use]
mod library;

pub mod abi;
#[doc(hidden)]
pub mod digest;
pub mod formats;
pub mod helpers;
pub mod math;
pub mod memory;
pub mod op;
pub mod ops;
mod placement;
pub mod printable;
pub mod route;
pub mod taskflows;
pub mod tasks;
mod tensor;

#[doc(hidden)]
pub use placement::local_experts;
pub use placement::{LoadAverage, LogicalExpert, Move, Payoff, Placement, PlacementCosts, PlacementError};
pub use route::{Expert, Piece, Rank, Ranks, Route, RouteError, Routed, RowTile, TokenBlock};
pub use tensor::{
    Accumulator, Codes, CubeElement, Element, Experts, Float, Integers, Matrix, Number, Once, Operand, PerRank, RAGGED,
    RankTokens, Received, Rows, Slots, Stored, Tensor, Tile, TileBuf, Value, bf16, f16, i4x2,
};

/// Directory of the device library, the include path of generated kernels.
pub const INCLUDE_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// The CANN versions that kernels are promised to compile with. Each entry includes the bug-fix releases of that version. The
/// last entry also stands for later versions until they have been checked.
pub const CANN_VERSIONS: [&str; 5] = ["8.5.0", "9.0.0", "9.0.1", "9.1", "9.2"];

/// Directory of the implementation of AscendC for CPUs.
pub const HOST_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/host");
