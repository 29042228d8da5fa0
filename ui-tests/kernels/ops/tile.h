// Helpers of the operators in this folder.
#pragma once

#include "hpmoe/kernel.h"

namespace ops {

// Number of elements of a tile in UB, and the address of tile `number` if all elements have four bytes.
constexpr uint32_t TILE = kernel::TILE_M * kernel::TILE_N;

template <typename T> HPMOE_INLINE hpmoe::LocalTensor<T> Slot(uint32_t number) {
    return hpmoe::Ub<T>(number * TILE * 4, TILE * static_cast<uint32_t>(sizeof(T)));
}

} // namespace ops
