// silu(gate) · up of a whole tile at once. Each row has its gate columns first, then its up columns.
#pragma once

#include "hpmoe/kernel.h"

namespace ops {

HPMOE_INLINE void silu_and_mul(const hpmoe::View<bfloat16_t> &x, const hpmoe::View<bfloat16_t> &y) {
    using namespace hpmoe;
    constexpr uint32_t TILE = kernel::BLOCK * kernel::INTER;
    const LocalTensor<bfloat16_t> gate = Ub<bfloat16_t>(0, TILE * 2);
    const LocalTensor<bfloat16_t> up = Ub<bfloat16_t>(TILE * 2, TILE * 2);
    const LocalTensor<float> g = Ub<float>(TILE * 4, TILE * 4);
    const LocalTensor<float> u = Ub<float>(TILE * 8, TILE * 4);
    const LocalTensor<float> power = Ub<float>(TILE * 12, TILE * 4);
    const int32_t count = UbCount(y.rows, y.cols);
    LoadRows(gate, x.Cols(0, kernel::INTER), 0, y.rows);
    LoadRows(up, x.Cols(kernel::INTER, kernel::INTER), 0, y.rows);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Cast(g, gate, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    Cast(u, up, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    PipeBarrier<PIPE_V>();
    Muls(power, g, -1.0f, count);
    PipeBarrier<PIPE_V>();
    Exp(power, power, count);
    PipeBarrier<PIPE_V>();
    Adds(power, power, 1.0f, count);
    PipeBarrier<PIPE_V>();
    Div(g, g, power, count);
    PipeBarrier<PIPE_V>();
    Mul(g, g, u, count);
    PipeBarrier<PIPE_V>();
    Cast(gate, g, RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    StoreRows(y, 0, y.rows, gate);
}

} // namespace ops
