// Scales a tile by nearly the same factor as the task's body.
#pragma once

#include "tile.h"

HPMOE_INLINE void soften(const hpmoe::View<bfloat16_t> &x, const hpmoe::View<bfloat16_t> &y) {
    using namespace hpmoe;
    const LocalTensor<bfloat16_t> in = ops::Slot<bfloat16_t>(0);
    const LocalTensor<float> value = ops::Slot<float>(1);
    const int32_t count = UbCount(y.rows, y.cols);
    LoadRows(in, x, 0, y.rows);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Cast(value, in, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    PipeBarrier<PIPE_V>();
    Muls(value, value, kernel::SHARE * 1.005f, count);
    PipeBarrier<PIPE_V>();
    Cast(in, value, RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    StoreRows(y, 0, y.rows, in);
    // As at the end of a loop over pieces; the library uses the same flag.
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
}
