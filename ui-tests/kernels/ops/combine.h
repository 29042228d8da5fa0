// The sum over k, with an instruction that the host's AscendC does not have.
#pragma once

#include "hpmoe/kernel.h"

HPMOE_INLINE void combine(const hpmoe::View<bfloat16_t> &slots, const hpmoe::View<float> &weights,
                          const hpmoe::View<bfloat16_t> &y) {
    using namespace hpmoe;
    constexpr uint32_t BYTES = kernel::COLUMNS * 4;
    const LocalTensor<float> sum = Ub<float>(0, BYTES);
    const LocalTensor<float> row = Ub<float>(BYTES, BYTES);
    const LocalTensor<float> weight = Ub<float>(2 * BYTES, BYTES);
    const LocalTensor<bfloat16_t> half = Ub<bfloat16_t>(3 * BYTES, BYTES / 2);
    const int32_t count = UbCount(1, y.cols);
    for (uint32_t token = 0; token < y.rows; token++) {
        Duplicate(sum, 0.0F, count);
        for (uint32_t k = 0; k < kernel::TOP_K; k++) {
            LoadRows(half, slots, token * kernel::TOP_K + k, 1);
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            Cast(row, half, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
            Duplicate(weight, weights.At(token, k).GetValue(0), count);
            SetFlag<HardEvent::V_MTE2>(0);
            PipeBarrier<PIPE_V>();
            AscendC::MulAddDst(sum, row, weight, count);
            PipeBarrier<PIPE_V>();
            WaitFlag<HardEvent::V_MTE2>(0);
        }
        Cast(half, sum, RoundMode::CAST_RINT, static_cast<uint32_t>(count));
        PipeBarrier<PIPE_V>();
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        StoreRows(y, token, 1, half);
        SetFlag<HardEvent::MTE3_MTE2>(0);
        WaitFlag<HardEvent::MTE3_MTE2>(0);
    }
}
