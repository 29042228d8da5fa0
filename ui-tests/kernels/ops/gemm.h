// A tile of x · wᵀ: the whole contraction in L1, in steps through L0. Sums run in ascending k, like those of the task's body.
#pragma once

#include "hpmoe/kernel.h"

namespace ops {

constexpr uint32_t STEP = 48;

template <uint32_t K>
HPMOE_INLINE void project(const hpmoe::View<bfloat16_t> &x, const hpmoe::View<bfloat16_t> &w,
                          const hpmoe::View<bfloat16_t> &y) {
    using namespace hpmoe;
    const uint32_t m = hpmoe::AlignUp(x.rows, 16);
    const uint32_t n = hpmoe::AlignUp(w.rows, 16);
    const LocalTensor<bfloat16_t> l1_x = Local<bfloat16_t>(TPosition::A1, 0, m * K * 2);
    const LocalTensor<bfloat16_t> l1_w = Local<bfloat16_t>(TPosition::B1, m * K * 2, n * K * 2);
    const LocalTensor<bfloat16_t> a = Local<bfloat16_t>(TPosition::A2, 0, m * STEP * 2);
    const LocalTensor<bfloat16_t> b = Local<bfloat16_t>(TPosition::B2, 0, n * STEP * 2);
    const LocalTensor<float> sums = Local<float>(TPosition::CO1, 0, m * n * 4);
    DataCopy(l1_x, x.At(0, 0),
             Nd2NzParams(1, static_cast<uint16_t>(x.rows), K, 0, static_cast<uint16_t>(x.pitch),
                         static_cast<uint16_t>(m), 1, 0));
    DataCopy(l1_w, w.At(0, 0),
             Nd2NzParams(1, static_cast<uint16_t>(w.rows), K, 0, static_cast<uint16_t>(w.pitch),
                         static_cast<uint16_t>(n), 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(5);
    WaitFlag<HardEvent::MTE2_MTE1>(5);
    for (uint32_t k = 0; k < K; k += STEP) {
        const uint32_t depth = Min(STEP, K - k);
        const uint32_t blocks = depth / 16;
        if (k > 0) {
            WaitFlag<HardEvent::M_MTE1>(0);
        }
        for (uint32_t i = 0; i < blocks; ++i) {
            LoadData(
                a[i * 256], l1_x[(k + i * 16) * m],
                LoadData2DParams(0, static_cast<uint8_t>(m / 16), 1, 0, static_cast<uint16_t>(blocks - 1), false, 0));
        }
        LoadData(b, l1_w[k * n], LoadData2DParams(0, static_cast<uint8_t>(n / 16 * blocks), 1, 0, 0, false, 0));
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        // With a single row, the cube would read x as a plain vector.
        const uint32_t rows = x.rows == 1 ? 16 : x.rows;
        Mmad(sums, a, b,
             MmadParams(static_cast<uint16_t>(rows), static_cast<uint16_t>(w.rows), static_cast<uint16_t>(depth), 0,
                        false, k == 0));
        PipeBarrier<PIPE_M>();
        if (k + STEP < K) {
            SetFlag<HardEvent::M_MTE1>(0);
        }
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe<bfloat16_t, float, CFG_ROW_MAJOR>(y.At(0, 0), sums,
                                              FixpipeParamsV220(static_cast<uint16_t>(w.rows),
                                                                static_cast<uint16_t>(x.rows), static_cast<uint16_t>(m),
                                                                y.pitch, false, F322BF16, 0, 1, 0, 0, 0));
}

} // namespace ops
