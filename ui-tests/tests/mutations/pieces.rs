//! The pieces that vector tasks cut their tiles into: as high as there is room for, and in some rows half as high.
//!
//! Tiles of these kernels are low enough to be one piece each. Then the first row of a piece is always 0, and its stage always the first.
//! A lower piece is as right as a high one.

use libloading::Library;
use std::cell::Cell;

/// The variable that says whether pieces are half as high.
const HALVES: &str = "hpmoe_halves";

/// The text of a generated file in which that is chosen at run time. Its lines stay where they are.
pub fn cut(text: &str) -> String {
    format!(
        "extern \"C\" {{ __attribute__((weak)) unsigned char {HALVES}; }} \
         static inline unsigned hpmoe_height(unsigned rows) {{ return {HALVES} ? (rows + 1) / 2 : rows; }} {}",
        text.replace(", ROWS", ", hpmoe_height(ROWS)")
    )
}

/// What chooses for the kernel of a library.
#[expect(unsafe_code, reason = "mutants come as libraries")]
pub fn halves(library: &'static Library) -> &'static Cell<bool> {
    // SAFETY: the symbol is a byte that is 0 or 1, which only this process writes, and only while no kernel runs.
    unsafe { &**library.get::<*const Cell<bool>>(HALVES.as_bytes()).expect("the library has pieces of two heights") }
}
