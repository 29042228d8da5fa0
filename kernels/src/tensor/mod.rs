//! The types that kernels are written with: tensors, one of each per rank, and the tiles and values that task bodies see.
//!
//! | file | holds |
//! |---|---|
//! | `dense`, `received`, `once`, `slots` | rows: of tokens, of (token, k) at the expert's owner, of tokens sent once, of (token, k) at the sender |
//! | `experts`, `matrix` | matrices: one per expert, one per rank |
//! | `per_rank` | one of them on each rank |
//! | `tile`, `value`, `integers`, `operand` | a view in global memory, numbers on chip, products of i8 on chip, right operands |
//! | `element`, `bfloat16`, `float16`, `half_precision`, `nibbles`, `buffer` | element types, the three of them that Rust lacks, memory |

mod bfloat16;
pub(crate) mod buffer;
mod dense;
mod element;
mod experts;
mod float16;
mod half_precision;
mod integers;
mod matrix;
mod nibbles;
mod once;
mod operand;
mod per_rank;
mod received;
mod slots;
mod tile;
mod value;

pub use bfloat16::bf16;
pub use dense::{RankTokens, Tensor};
pub use element::{Accumulator, Codes, CubeElement, Element, Float, Number, Stored};
pub use experts::Experts;
pub use float16::f16;
pub use integers::Integers;
pub use matrix::Matrix;
pub use nibbles::i4x2;
pub use once::Once;
pub use operand::{Operand, Rows};
pub use per_rank::PerRank;
pub use received::Received;
pub use slots::Slots;
pub use tile::{AnyTile, RAGGED, Tile, TileBuf};
pub use value::{AnyValue, MOST, Value};
