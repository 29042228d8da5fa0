//! The pieces of tiles in vector tasks: as high as UB allows, and in some rows of launches half as high.
//!
//! Tiles of these kernels are so low that each is a single piece. The first row of a piece is then always 0, and its
//! stage always the first. Lower pieces are equally correct.

use libloading::Library;
use std::cell::Cell;

/// The variable that selects half-height pieces.
const HALVES: &str = "hpmoe_halves";

/// The text of a generated file in which the height is chosen at run time. Line numbers stay the same.
pub fn cut(text: &str) -> String {
    format!(
        "extern \"C\" {{ __attribute__((weak)) unsigned char {HALVES}; }} \
         static inline unsigned hpmoe_height(unsigned rows) {{ return {HALVES} ? (rows + 1) / 2 : rows; }} {}",
        text.replace(", ROWS", ", hpmoe_height(ROWS)")
    )
}

/// The cell that selects the height for the kernel of a library.
#[expect(unsafe_code, reason = "mutants come as libraries")]
pub fn halves(library: &'static Library) -> &'static Cell<bool> {
    // SAFETY: the symbol is a byte that is 0 or 1, which only this process writes, and only while no kernel runs.
    unsafe { &**library.get::<*const Cell<bool>>(HALVES.as_bytes()).expect("the library has pieces of two heights") }
}
