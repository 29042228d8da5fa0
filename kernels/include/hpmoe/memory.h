// How the library divides on-chip memory. `hpmoe-core/src/plan` has the same numbers.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// UB: [0, UB_TASKS) belongs to tasks; the rest, up to the scratch of AscendC's headers, belongs to the library.
constexpr uint32_t UB_LINES = 4;                               // pending signals
constexpr uint32_t UB_END = 184 * 1024 - 256;                  // above it: scratch of AscendC's headers
constexpr uint32_t UB_TASKS = UB_END - UB_LINES * BLOCK_BYTES; // above it: the signal lines
constexpr uint32_t UB_ZEROS = 8 * 1024;                        // zeros at address 0, while a launch starts

// UB during a put: two halves with rows, then the (token, k) of rows.
constexpr uint32_t UB_HALF = 88 * 1024;
constexpr uint32_t UB_ORIGINS = 2 * UB_HALF;

// L1: two stages for both operands, then a constant line that a matrix core copies to global memory.
constexpr uint32_t L1_END = 512 * 1024 - 256;
constexpr uint32_t L1_ONES = L1_END - BLOCK_BYTES;
constexpr uint32_t L1_STAGES = 2;
constexpr uint32_t L1_STAGE = L1_ONES / L1_STAGES / 512 * 512;

// L0A and L0B: two stages each; L0C: one accumulator.
constexpr uint32_t L0_STAGE = 32 * 1024;
constexpr uint32_t L0C_BYTES = 128 * 1024;

template <typename T> HPMOE_INLINE LocalTensor<T> Local(TPosition position, uint32_t address, uint32_t bytes) {
    return LocalTensor<T>(position, address, bytes / static_cast<uint32_t>(sizeof(T)));
}

// Parameters for filling `blocks` consecutive blocks with a value. A block has 32 bytes in L1, and 512 bytes in L0.
HPMOE_INLINE InitConstValueParams<int32_t> BlocksOf(uint32_t blocks, int32_t value) {
    InitConstValueParams<int32_t> fill;
    fill.repeatTimes = 1;
    fill.blockNum = static_cast<uint16_t>(blocks);
    fill.initValue = value;
    return fill;
}

template <typename T> HPMOE_INLINE LocalTensor<T> Ub(uint32_t address, uint32_t bytes) {
    return Local<T>(TPosition::VECCALC, address, bytes);
}

// The tensor that starts at an address of UB.
template <typename T> HPMOE_INLINE LocalTensor<T> UbFrom(uint32_t address) {
    return Ub<T>(address, UB_TASKS - address);
}

} // namespace hpmoe
