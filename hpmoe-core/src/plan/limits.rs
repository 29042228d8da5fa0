//! Sizes of on-chip memories without the parts that the device library reserves: the numbers of
//! `include/hpmoe/memory.h`.

use crate::units::Bytes;

/// UB that tasks own: below the scratch of the headers and the library's signal lines.
pub(super) const UB_TASKS: Bytes = Bytes(184 * 1024 - 256 - 4 * 32);
/// One half of UB during a put.
pub(super) const UB_HALF: Bytes = Bytes::kib(88);
/// UB for the (token, k) of the rows of a put.
pub(super) const UB_ORIGINS: Bytes = Bytes(UB_TASKS.0 - 2 * UB_HALF.0);
/// L1 that a mixed kernel may use.
pub(super) const L1: Bytes = Bytes(512 * 1024 - 256);
/// The library's constant line in L1.
pub(super) const L1_LINES: Bytes = Bytes(32);
/// Number of L1 stages that hold the operands of a product alternately.
pub const L1_STAGES: u32 = 2;
/// L1 for one stage of both operands.
pub(super) const L1_STAGE: Bytes = Bytes((L1.0 - L1_LINES.0) / L1_STAGES as u64 / 512 * 512);
/// The capacity of L0A, which is also that of L0B.
pub(super) const L0: Bytes = Bytes::kib(64);
/// One of two stages of an operand in L0A or L0B.
pub(super) const L0_STAGE: Bytes = Bytes::kib(32);
/// The accumulator, L0C.
pub(super) const L0C: Bytes = Bytes::kib(128);
/// Maximum number of blocks of one `DataCopyPad`, and of fractals of one `LoadData`.
pub(super) const COPY_BLOCKS: u64 = 4095;
/// Maximum number of repeats of one `LoadData`.
pub(super) const LOAD_REPEATS: u64 = 255;
/// Bytes per block of UB, on which every row starts.
pub(super) const BLOCK: u64 = 32;
/// Rows of values in UB start on this many elements.
pub(super) const ROW_ALIGN: u64 = 16;

#[cfg(test)]
mod tests {
    #[test]
    fn the_device_library_has_the_same_numbers() {
        let header = include_str!("../../../kernels/include/hpmoe/memory.h");
        for line in [
            "UB_LINES = 4;",
            "UB_END = 184 * 1024 - 256;",
            "UB_TASKS = UB_END - UB_LINES * BLOCK_BYTES;",
            "UB_HALF = 88 * 1024;",
            "UB_ORIGINS = 2 * UB_HALF;",
            "L1_END = 512 * 1024 - 256;",
            "L1_ONES = L1_END - BLOCK_BYTES;",
            "L1_STAGES = 2;",
            "L1_STAGE = L1_ONES / L1_STAGES / 512 * 512;",
            "L0_STAGE = 32 * 1024;",
            "L0C_BYTES = 128 * 1024;",
        ] {
            assert!(header.contains(&format!("constexpr uint32_t {line}")), "memory.h no longer says `{line}`");
        }
        let base = include_str!("../../../kernels/include/hpmoe/base.h");
        assert!(base.contains("constexpr uint32_t ROW_ALIGN = 16;"), "base.h no longer says what a row is aligned to");
    }
}
