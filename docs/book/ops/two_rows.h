// max(x, 0), two rows at a time. Wrong on purpose: if the number of rows is odd, it skips the last row.
#pragma once

#include "hpmoe/kernel.h"

HPMOE_INLINE void two_rows(const hpmoe::View<bfloat16_t> &x, const hpmoe::View<bfloat16_t> &y) {
    using namespace hpmoe;
    constexpr uint32_t PAIR = 2 * kernel::HIDDEN;
    const LocalTensor<bfloat16_t> rows = Ub<bfloat16_t>(0, PAIR * 2);
    const LocalTensor<float> values = Ub<float>(PAIR * 2, PAIR * 4);
    const int32_t count = UbCount(2, y.cols);
    for (uint32_t row = 0; row + 2 <= y.rows; row += 2) {
        LoadRows(rows, x, row, 2);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Cast(values, rows, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
        PipeBarrier<PIPE_V>();
        Maxs(values, values, 0.0f, count);
        PipeBarrier<PIPE_V>();
        Cast(rows, values, RoundMode::CAST_RINT, static_cast<uint32_t>(count));
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        StoreRows(y, row, 2, rows);
        SetFlag<HardEvent::MTE3_MTE2>(0);
        WaitFlag<HardEvent::MTE3_MTE2>(0);
    }
}
