// What the operators of this folder share.
#pragma once

#include "hpmoe/kernel.h"

namespace ops {

// Elements of a tile in UB, and where the tile of that number begins if all are of four bytes.
constexpr uint32_t TILE = kernel::TILE_M * kernel::TILE_N;

template <typename T> HPMOE_INLINE hpmoe::LocalTensor<T> Slot(uint32_t number) {
    return hpmoe::Ub<T>(number * TILE * 4, TILE * static_cast<uint32_t>(sizeof(T)));
}

} // namespace ops
