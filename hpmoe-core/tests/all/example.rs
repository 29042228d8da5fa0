//! The forward layer, with small tile sizes in place of open ones.

use hpmoe_core::fixture::with_small_tiles;
use std::sync::LazyLock;

/// `examples/moe_ffn.rs`.
pub(crate) static EXAMPLE: LazyLock<String> =
    LazyLock::new(|| with_small_tiles(include_str!("../../../examples/moe_ffn.rs")));
