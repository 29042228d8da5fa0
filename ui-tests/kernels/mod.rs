//! The small kernels of this package, one file each, like a user's kernels.

// The code that `#[megakernel]` adds is allowed in crates without unsafe code.
#![forbid(unsafe_code)]
#![allow(dead_code, unused_imports, reason = "a program takes the kernels that it tests, and of these what it needs")]

#[path = "bodies.rs"]
mod bodies_file;
#[path = "bytes.rs"]
mod bytes_file;
#[path = "chosen.rs"]
mod chosen_file;
#[path = "chunks.rs"]
mod chunks_file;
#[path = "coarse.rs"]
mod coarse_file;
#[path = "codes.rs"]
mod codes_file;
#[path = "columns.rs"]
mod columns_file;
#[path = "deep.rs"]
mod deep_file;
#[path = "echo.rs"]
mod echo_file;
#[path = "elementwise.rs"]
mod elementwise_file;
#[path = "external.rs"]
mod external_file;
#[path = "ffn.rs"]
mod ffn_file;
#[path = "floats.rs"]
mod floats_file;
#[path = "fused.rs"]
mod fused_file;
#[path = "home.rs"]
mod home_file;
#[path = "kept_chunks.rs"]
mod kept_chunks_file;
#[path = "kept.rs"]
mod kept_file;
#[path = "mixed.rs"]
mod mixed_file;
#[path = "odd.rs"]
mod odd_file;
#[path = "once.rs"]
mod once_file;
#[path = "placed.rs"]
mod placed_file;
#[path = "products.rs"]
mod products_file;
#[path = "routed.rs"]
mod routed_file;
#[path = "routers.rs"]
mod routers_file;
#[path = "rows.rs"]
mod rows_file;
#[path = "stacked.rs"]
mod stacked_file;
#[path = "sums.rs"]
mod sums_file;

pub use bodies_file::bodies;
pub use bytes_file::bytes;
pub use chosen_file::chosen;
pub use chunks_file::chunks;
pub use coarse_file::coarse;
pub use codes_file::codes;
pub use columns_file::columns;
pub use deep_file::deep;
pub use echo_file::echo;
pub use elementwise_file::elementwise;
pub use external_file::external;
pub use ffn_file::ffn;
pub use floats_file::floats;
pub use fused_file::fused;
pub use home_file::home;
pub use kept_chunks_file::kept_chunks;
pub use kept_file::kept;
pub use mixed_file::mixed;
pub use odd_file::odd;
pub use once_file::once;
pub use placed_file::placed;
pub use products_file::products;
pub use routed_file::routed;
pub use routers_file::{particular, scored, shared_out, with_products};
pub use rows_file::rows;
pub use stacked_file::stacked;
pub use sums_file::sums;
