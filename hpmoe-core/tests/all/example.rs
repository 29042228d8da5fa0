//! The example kernels, with small tile sizes in place of open ones.

use std::sync::LazyLock;

/// `examples/moe_ffn.rs`.
pub(crate) static EXAMPLE: LazyLock<String> =
    LazyLock::new(|| with_small_tiles(include_str!("../../../examples/moe_ffn.rs")));

/// A source with numbers in place of its open tile sizes.
pub(crate) fn with_small_tiles(source: &str) -> String {
    let sizes = [
        ("TILE_M", 16),
        ("TILE_N", 16),
        ("TILE_COPY", 16),
        ("TILE_UNPACK", 16),
        ("GRAD_M", 32),
        ("GRAD_N", 32),
        ("PUT", 8),
        ("BLOCK", 4),
        ("COLUMNS", 64),
    ];
    sizes.into_iter().fold(source.to_owned(), |text, (name, size)| {
        text.replace(&format!("{name}: usize = _;"), &format!("{name}: usize = {size};"))
    })
}
