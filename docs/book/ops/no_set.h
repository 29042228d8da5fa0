// max(x, 0) of a tile. Wrong on purpose: it waits for a flag that nothing sets.
#pragma once

#include "hpmoe/kernel.h"

HPMOE_INLINE void no_set(const hpmoe::View<bfloat16_t> &x, const hpmoe::View<bfloat16_t> &y) {
    using namespace hpmoe;
    constexpr uint32_t TILE = kernel::BLOCK * kernel::HIDDEN;
    const LocalTensor<bfloat16_t> rows = Ub<bfloat16_t>(0, TILE * 2);
    const LocalTensor<float> values = Ub<float>(TILE * 2, TILE * 4);
    const int32_t count = UbCount(y.rows, y.cols);
    LoadRows(rows, x, 0, y.rows);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(1);
    Cast(values, rows, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    PipeBarrier<PIPE_V>();
    Maxs(values, values, 0.0f, count);
    PipeBarrier<PIPE_V>();
    Cast(rows, values, RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    StoreRows(y, 0, y.rows, rows);
}
